/* SPDX-License-Identifier: MIT
   What is answered while the engine does not.

   See away.c. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_AWAY_H
#define WEIR_REDIS_CLIENT_LOCAL_AWAY_H

#include "redis/client/engine.h"

/* By the limit's policy; server: the one that should have answered, or NOWHERE. */
void away_answer(struct weir_engine *engine, weir_engine_ask *ask, unsigned server);

/* The engine has answered this: so much at most has the share when it goes away. */
void away_heard(struct weir_engine *engine, const weir_engine_ask *ask);

/* So many new keys found no room, in the table of shares or among what is owed. */
uint64_t away_full(const struct pool *pool);

/* One node's share of a plan: rate / nodes, from max(1, burst / nodes), by gcra whatever it was. */
void away_plan(weir_plan *share, const weir_plan *plan, uint64_t nodes);

#endif
