/* SPDX-License-Identifier: MIT
   The slots of a concurrent limit, in the sorted set that is at its key.

   See held.c. */
#ifndef WEIR_REDIS_MODULE_HELD_H
#define WEIR_REDIS_MODULE_HELD_H

#include "redis/micro/micro.h"
#include "redis/module/call.h"

/* One set, whose key nobody has open. */
struct held {
    const struct call *call;
    struct RedisModuleString *key;
    struct micro_slots *slots;
};

/* Counts what is there.  false: it is none of ours. */
bool held_read(const struct held *, uint64_t now);
/* Finds when this cost passes, if it does not now. */
void held_find(const struct held *, const struct micro_rule *, uint64_t cost);
/* How many are held under this id. */
uint64_t held_count(const struct held *, uint64_t id);

/* Writes what a verb left to be added, under an id of its own, which is returned; 0: nothing.  until_us: by the
   engine's clock, as everywhere. */
uint64_t held_add(const struct held *, const struct micro_rule *, uint64_t now, uint64_t until_us);
/* Ends so many of those that are held under this id; when nothing is held any more there is nothing to be kept. */
void held_free(const struct held *, uint64_t id, uint64_t count);
/* Moves the end of all that are held under this id to one lease from now.  false: none is. */
bool held_renew(const struct held *, const struct micro_rule *, uint64_t id);

#endif
