/* SPDX-License-Identifier: MIT
   One limit that is tried on a log: a state for each client, and what came of it.

   See candidate.c. */
#ifndef WEIR_CLI_REPLAY_CANDIDATE_H
#define WEIR_CLI_REPLAY_CANDIDATE_H

#include <weir/weir.h>

#include "cli/common/rows.h"
#include "cli/replay/log/clients.h"
#include "cli/replay/states.h"
#include "cli/replay/tenants/tenants.h"
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
    int rate_limit;   /* and which of the limits it is */
    int holder;       /* the limit of what runs at once; -1: none */
    uint32_t costs;   /* a bit for each limit that is charged the cost of a request; the others are charged 1 */
    struct states states;
    struct rows rows;
    uint32_t clients;
    struct tenants *tenants; /* borrowed: they decide, for the keys of these clients; NULL: each client has a state */
    const struct clients *keys; /* borrowed */
    bool shared;                /* all clients have one state */
    bool spread, no_memory;     /* once there was none nothing is decided */

    uint64_t allowed, denied, delayed, denied_spread;
    uint64_t outlasted; /* allowed, and still running when the lease was over */
    struct histogram delays_ns;
};

/* 0, or as weir_plan_parse.  spread: whether candidate_spread will be asked. */
int candidate_open(struct candidate *candidate, const char *text, weir_error *error);
/* The cost of a request is in this unit, and all else costs 1; NULL: it is charged to all limits.  Before the first
   client.  False with *error filled: it does not say what this limit counts, or is not in its only unit. */
bool candidate_unit(struct candidate *candidate, const char *unit, size_t size, const char *field, weir_error *error);

void candidate_close(struct candidate *candidate);

/* Of what runs at once; 0: it does not limit that. */
uint64_t candidate_lease_ns(const struct candidate *candidate);

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

/* A request, which runs until end_ns.  Times never go back.  no_memory says whether there was any. */
struct candidate_verdict candidate_ask(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t end_ns,
                                       uint64_t cost);

/* The same request at another time of its second, in a state of its own; only refusals are counted.  Times may go back
   within a second. */
void candidate_spread(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t end_ns, uint64_t cost);

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
