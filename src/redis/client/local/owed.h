/* SPDX-License-Identifier: MIT
   What was let pass while the engine was away, and is charged to it when it is back.

   See owed.c. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_OWED_H
#define WEIR_REDIS_CLIENT_LOCAL_OWED_H

#include "redis/client/engine.h"

/* A limit's share let pass so many, one cost for each limit; `charge`: whatever it held.  false: there is no room. */
bool owed_add(struct pool *pool, const weir_engine_ask *ask, const weir_plan *share, const uint64_t cost[],
              uint64_t now_ns);

/* Does any key owe something; does this one? */
static inline bool owed_any(const struct pool *pool)
{
    return atomic_load_explicit(&pool->owed_count, memory_order_relaxed) != 0;
}
bool owed_by(struct pool *pool, const weir_engine_ask *ask);

/* Takes out what the key of this question owes.  false: nothing. */
bool owed_take(struct pool *pool, const weir_engine_ask *ask, uint64_t now_ns, uint64_t cost[WEIR_LIMITS_MAX]);

/* The same, written to its server: before the question, on the same link.  What is not answered is owed again. */
void owed_send(struct weir_engine *engine, struct link *link, const weir_engine_ask *ask, bool whole_script);

/* Drops some of those that are void by now. */
void owed_sweep(struct pool *pool, uint64_t now_ns);

void owed_close(struct pool *pool);

#endif
