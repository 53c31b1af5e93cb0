/* SPDX-License-Identifier: MIT
   One limit that is tried on a log: a state for each client, and what came of it.

   See candidate.c. */
#ifndef WEIR_CLI_REPLAY_CANDIDATE_H
#define WEIR_CLI_REPLAY_CANDIDATE_H

#include <weir/weir.h>

#include "cli/common/rows.h"
#include "cli/replay/states.h"
#include "core/rule.h"
#include "share/histogram.h"

/* Of one client; behind it the states, of the requests as they are stamped and spread. */
struct candidate_row {
    uint64_t drained, highest; /* ticks: a bucket that leaks at the rate and refuses nobody, and its highest level */
    uint32_t denied, delayed;
    uint64_t state[];
};

struct candidate {
    const char *text; /* as it was typed; borrowed */
    weir_plan plan;
    uint64_t wait_max_ns; /* leaky without nodelay lets wait */
    bool has_rate;
    struct rule rate; /* its clock */
    struct states states;
    struct rows rows;
    uint32_t clients;
    bool spread, no_memory; /* once there was none nothing is decided */

    uint64_t allowed, denied, delayed, denied_spread;
    struct histogram delays_ns;
};

/* 0, or as weir_plan_parse.  spread: whether candidate_spread will be asked. */
int candidate_open(struct candidate *candidate, const char *text, weir_error *error);
void candidate_close(struct candidate *candidate);

/* Before the first client.  spread: candidate_spread will be asked. */
void candidate_begin(struct candidate *candidate, bool spread);

/* Clients 0 .. count - 1 have a state from now on; false: no memory. */
static inline bool candidate_reach(struct candidate *candidate, uint32_t count)
{
    const bool reached = rows_reach(&candidate->rows, count);
    if (reached) candidate->clients = count;
    return reached;
}

struct candidate_verdict {
    uint64_t delay_ns, retry_ns;
    bool allowed;
};

/* Times never go back.  no_memory says whether there was any. */
struct candidate_verdict candidate_ask(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t cost);

/* The same request at another time of its second, in a state of its own; only refusals are counted.  Times may go back
   within a second. */
void candidate_spread(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t cost);

static inline const struct candidate_row *candidate_row(const struct candidate *candidate, uint32_t client)
{
    return rows_at(&candidate->rows, client);
}

/* It will be asked soon; its row is there, see rows_fetch. */
static inline void candidate_fetch(const struct candidate *candidate, uint32_t client)
{
    if (candidate->states.logs != 0) __builtin_prefetch(states_block(candidate_row(candidate, client)->state), 1);
}

/* The least burst at this rate that refuses nothing to a client whose level was at most this high. */
uint64_t candidate_burst(const struct candidate *candidate, uint64_t highest);

#endif
