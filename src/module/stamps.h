/* SPDX-License-Identifier: MIT
   stamps.h - a sliding-log in a sorted set of the engine.

   See stamps.c. */
#ifndef WEIR_MODULE_STAMPS_H
#define WEIR_MODULE_STAMPS_H

#include "micro/micro.h"
#include "module/call.h"

struct stamps {
    const struct call *call;
    struct RedisModuleString *key;
    uint64_t size;
    uint64_t oldest, newest, newest_order; /* where there are any */
    uint64_t known_at, known;              /* another one, that was asked for last: its index, 0 for none */
    uint64_t out_by, out;                  /* so many are not later than out_by - 1; 0: not counted */
    bool foreign;                          /* something in it is not ours */
};

/* Begins: size, and whether what is there is ours. */
void stamps_open(struct stamps *, const struct call *, struct RedisModuleString *key, uint64_t size,
                 struct micro_log *);
/* What a decision has left in the log; kept until idle_us at least. */
void stamps_write(struct stamps *, const struct micro_log *, uint64_t idle_us);

#endif
