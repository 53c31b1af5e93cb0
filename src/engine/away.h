/* SPDX-License-Identifier: MIT
   away.h - what is answered while the engine does not.

   See away.c. */
#ifndef WEIR_ENGINE_AWAY_H
#define WEIR_ENGINE_AWAY_H

#include "engine/hub.h"

/* The share of a limit, kept for the next question of the same batch.  limit NULL: of none yet. */
struct away_share {
    const weir_engine_limit *limit;
    uint64_t now_ns; /* of the answers */
    weir_plan plan;
};

/* By the limit's policy; server: who should have answered, or NOWHERE. */
void away_answer(struct hub *hub, weir_engine_ask *ask, unsigned server, struct away_share *share);

/* One node's share of a plan: rate / nodes, from max(1, burst / nodes), by gcra whatever it was. */
void away_plan(weir_plan *share, const weir_plan *plan, uint64_t nodes);

#endif
