/* SPDX-License-Identifier: MIT
   Is it a well-formed answer, and does it allow?  See reply.c. */
#ifndef WEIR_BENCH_REPLY_H
#define WEIR_BENCH_REPLY_H

#include <stddef.h>
#include <stdint.h>

struct replies {
    uint64_t allowed, denied;
};

enum { REPLY_BAD = -1, REPLY_MORE = 0 };

/* Looks at the first reply of bytes[0..size) and counts it: its length, REPLY_MORE when its end has not come, REPLY_BAD
   when it is an error or no reply at all. */
typedef long reply_function(const char *bytes, size_t size, struct replies *replies);

reply_function reply_resp, reply_http;

#endif
