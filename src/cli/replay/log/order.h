/* SPDX-License-Identifier: MIT
   Puts the requests of a log in the order in which they came, within a window.

   See order.c. */
#ifndef WEIR_CLI_REPLAY_LOG_ORDER_H
#define WEIR_CLI_REPLAY_LOG_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_HELD_MAX = 1 << 20 };

struct order_entry {
    uint64_t time_ns; /* when the request came */
    uint64_t end_ns;  /* and when it was over, where lines have durations */
    uint64_t line;    /* counts the requests in the order of their lines */
    uint64_t cost;
    uint32_t client;
};

/* Zeroed = empty. */
struct order {
    struct order_entry *run; /* sorted, a ring */
    size_t run_size, run_begin, run_count;
    struct order_entry *heap; /* what would have to go far into the run */
    size_t heap_size, heap_count;
    uint64_t window_ns, stamp_ns; /* what came before stamp_ns - window_ns is complete */
    uint64_t from_ns;             /* until stamp_ns is as late as this nothing is complete */
    uint64_t taken_ns;            /* of the last one taken */
    uint64_t late;                /* came after that had been taken which it should have preceded */
    bool all;                     /* nothing more is waited for */
};

/* stamp_ns: what the log was in order of.  duration_ns: so much later than the request it was written.  False: no
   memory. */
bool order_put(struct order *order, struct order_entry entry, uint64_t stamp_ns, uint64_t duration_ns);

/* The next in time, when nothing earlier can come any more. */
bool order_take(struct order *order, struct order_entry *entry);

/* All that is held may be taken, until something is put again. */
void order_finish(struct order *order);

void order_close(struct order *order);

#endif
