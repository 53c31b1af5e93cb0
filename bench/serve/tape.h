/* SPDX-License-Identifier: MIT
   The requests of a run, written before it begins.  See tape.c. */
#ifndef WEIR_BENCH_TAPE_H
#define WEIR_BENCH_TAPE_H

#include <stddef.h>
#include <stdint.h>

enum kind {
    KIND_PING,
    KIND_SET,
    KIND_SET_UNTIL,
    KIND_THROTTLE,
    KIND_OWING,
    KIND_TAKE,
    KIND_EVALSHA,
    KIND_FCALL,
    KIND_EVALSHA_OWING,
    KIND_FCALL_OWING,
    KIND_HTTP_QUERY,
    KIND_HTTP_HEADER,
    KIND_HTTP_POST,
    KINDS
};

const char *kind_name(enum kind kind);

enum { SCRIPT_ID_SIZE = 40 };

struct tape_order {
    enum kind kind;
    uint32_t keys, hot_percent;
    size_t at_least; /* requests */
    const char *host, *path;
    char script_id[SCRIPT_ID_SIZE + 1];
};

/* Requests that are equally long, one behind the other. */
struct tape {
    char *bytes; /* owned */
    size_t request_size, count;
};

struct tape tape_write(const struct tape_order *order);

#endif
