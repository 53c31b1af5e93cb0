/* SPDX-License-Identifier: MIT
   Text and numbers to an open file by way of a buffer, and bytes of any kind as strings of JSON.

   See json.c. */
#ifndef WEIR_CLI_COMMON_JSON_H
#define WEIR_CLI_COMMON_JSON_H

#include <stdint.h>
#include <stdio.h>

enum { JSON_BUFFER = 1 << 16 };

struct json {
    FILE *out;
    size_t filled;
    char buffer[JSON_BUFFER];
};

void json_flush(struct json *json);
void json_text(struct json *json, const char *text);
void json_bytes(struct json *json, const char *bytes, size_t size);
void json_number(struct json *json, uint64_t number);

/* In quotes.  What is no UTF-8 becomes U+FFFD. */
void json_string(struct json *json, const char *bytes, size_t size);

#endif
