/* SPDX-License-Identifier: MIT
   Keys and times of a log as people are shown them, on a terminal among others.

   See show.c. */
#ifndef WEIR_CLI_REPLAY_SHOW_H
#define WEIR_CLI_REPLAY_SHOW_H

#include <stdint.h>

#include "plan/write.h"

enum { SHOWN_KEY_MAX = 1 << 12, SHOWN_COLUMNS_MAX = 60, WIDTH_USUAL = 80, WIDTH_LEAST = 40, WIDTH_MAX = 250 };

/* The parts of a key with spaces between them, cut to SHOWN_KEY_MAX; returns the size. */
size_t show_parts(const char *key, size_t size, char out[SHOWN_KEY_MAX]);

/* A key cut to so many columns, with nothing in it that a terminal would obey; returns its columns. */
int show_key(struct writer *writer, const char *key, size_t size, int columns_max);

/* Of the unix epoch, in UTC, to this resolution: 2026-11-21 17:46:01.123 */
void show_time(struct writer *writer, uint64_t time_ns, uint64_t resolution_ns);

/* Columns that a text of UTF-8 takes, every character being one wide. */
int show_columns(const char *text);

/* Ends a text of UTF-8 after so many columns. */
void show_cut(char *text, int columns);

/* $COLUMNS, or the terminal's, or 80. */
int show_width(int fd);

#endif
