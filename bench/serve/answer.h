/* SPDX-License-Identifier: MIT
   Bytes in, bytes out: the protocol side of the bare server.  See answer.c. */
#ifndef WEIR_BENCH_ANSWER_H
#define WEIR_BENCH_ANSWER_H

#include <stddef.h>

enum mode { MODE_CONSTANT, MODE_NAIVE, MODE_HTTP };

enum { ANSWER_SIZE_MAX = 512, ANSWER_BAD = -1, ANSWER_MORE = 0 };

/* Answers the first request of bytes[0..size): its length, ANSWER_MORE when the end of it has not come, ANSWER_BAD when
   it is none.  Writes at most ANSWER_SIZE_MAX bytes at *out and moves *out behind them. */
typedef long answer_function(const char *bytes, size_t size, char **out);

answer_function *answer_for(enum mode mode);

#endif
