/* SPDX-License-Identifier: MIT
   JSON to an open file, by way of a buffer. */
#ifndef WEIR_CLI_COMMON_JSON_FILE_H
#define WEIR_CLI_COMMON_JSON_FILE_H

#include <stdio.h>

#include "format/json.h"

struct json_file {
    struct json json; /* what the functions of format/json.h write to */
    struct bytes bytes;
    FILE *file;
    char buffer[1 << 16];
};

/* file: borrowed. */
void json_file_open(struct json_file *out, FILE *file);

/* What was written so far goes to the file. */
void json_file_flush(struct json_file *out);

/* Ends an object that stands alone, and its line. */
void json_file_end(struct json_file *out);

/* With so many places behind the point; null for what is no number. */
void json_file_double(struct json *json, const char *name, double value, int places);

#endif
