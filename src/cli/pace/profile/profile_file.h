/* SPDX-License-Identifier: MIT
   A profile that stands in a file, one phase a line.

   See profile_file.c. */
#ifndef WEIR_CLI_PACE_PROFILE_PROFILE_FILE_H
#define WEIR_CLI_PACE_PROFILE_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { PROFILE_TEXT_MAX = 4096, PROFILE_LINES_MAX = 256 };

struct profile_file {
    const char *path;
    char text[PROFILE_TEXT_MAX]; /* as one line, to be parsed as a limit */
    size_t size;
    int lines;
    struct {
        size_t at; /* where in the text it begins */
        int line, column;
    } line[PROFILE_LINES_MAX];
};

/* False: says what is wrong with the file. */
bool profile_file_read(struct profile_file *file, const char *path);

/* Prints what is wrong with the text, at its place in the file; returns STATUS_TROUBLE. */
int profile_file_trouble(const struct profile_file *file, int column, const char *message);

#endif
