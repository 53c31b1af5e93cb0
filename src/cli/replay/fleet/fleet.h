/* SPDX-License-Identifier: MIT
   What a limit would have done on many servers, by each design that there is for it.

       request -> which node? -+-> one        one limiter for all: what the others are held against
                               +-> engine     every node asks the engine                    (ask.c)
                               +-> leases     every node asks, and takes permits along      (ask.c)
                               +-> shares     rate / nodes at every node, beginning with max(1, burst / nodes)
                               +-> alone      the whole limit at every node
                               +-> sticky     the same, and all requests of a client go to one node

   Time is that of the log; nothing is drawn by chance, so a log gives the same figures again. */
#ifndef WEIR_CLI_REPLAY_FLEET_FLEET_H
#define WEIR_CLI_REPLAY_FLEET_FLEET_H

#include <weir/weir.h>

#include "format/json.h"
#include "cli/replay/candidate.h"
#include "cli/replay/fleet/pairs.h"
#include "cli/replay/fleet/tally.h"

enum { FLEET_NODES_MAX = 1000000 };

enum fleet_design { FLEET_ONE, FLEET_ENGINE, FLEET_LEASES, FLEET_SHARES, FLEET_ALONE, FLEET_STICKY, FLEET_DESIGNS };

/* A zero field was not asked for. */
struct fleet_options {
    uint64_t nodes; /* 0: no fleet at all */
    uint64_t lease; /* permits */
    uint64_t lease_life_ns, rtt_ns;
    uint64_t away_from_ns, away_to_ns; /* since the log's first request */
    bool sticky;                       /* which nodes clients meet where a design leaves it open */
    bool rtt_said, life_said, spread_said, away_said;
};

/* Decides at each node for itself. */
struct fleet_local {
    weir_plan plan;
    struct pairs states;
};

struct fleet_request {
    uint64_t time_us, cost;
    uint32_t client, node;
    bool exact; /* what one limiter for all said */
};

struct fleet_asking;

/* One limit. */
struct fleet_limit {
    struct fleet_local one, shares, alone, sticky;
    struct fleet_asking *engine, *leases; /* NULL: not asked for */
    struct fleet_tally tally[FLEET_DESIGNS];
};

struct fleet {
    struct fleet_options options;
    struct fleet_limit *limit;
    int limits;
    uint64_t requests, first_us, last_us;
};

/* ---- options.c ---- */

/* What goes for whatever is not said. */
struct fleet_options fleet_usual(void);

/* An option by its name; prints what is wrong with the value. */
bool fleet_set(struct fleet_options *options, const char *option, const char *value);

/* Checks that these fit together and with the rest of the command line; prints what does not. */
bool fleet_options_fit(const struct fleet_options *options, bool each, bool follow);

/* ---- replay/fleet.c ---- */

/* False: said what is wrong. */
bool fleet_open(struct fleet *fleet, const struct fleet_options *options, const struct candidate *candidate,
                int limits);
void fleet_close(struct fleet *fleet);

/* One request after the other, in order of time.  False: no memory. */
bool fleet_take(struct fleet *fleet, uint32_t client, uint64_t time_ns, uint64_t cost);

/* What is still on its way arrives.  False: no memory. */
bool fleet_finish(struct fleet *fleet);

static inline const struct fleet_figures *fleet_figures(const struct fleet *fleet, int limit, int design)
{
    return &fleet->limit[limit].tally[design].figures;
}

static inline bool fleet_has(const struct fleet *fleet, int design)
{
    return design != FLEET_LEASES || fleet->options.lease != 0;
}

/* ---- local.c ---- */

void local_open(struct fleet_local *local, const weir_plan *plan);
void local_close(struct fleet_local *local);

/* What a node of so many is given of a limit.  0, or as weir_plan_parse. */
int local_share(weir_plan *share, const weir_plan *plan, uint64_t nodes, weir_error *error);

/* False: no memory. */
bool local_take(struct fleet_local *local, uint32_t client, uint32_t node, uint64_t time_us, uint64_t cost,
                bool *allowed);

/* ---- ask.c ---- */

/* lease: permits, 0 for none.  shares: who decides while the engine is away.  NULL: error says what is wrong. */
struct fleet_asking *asking_open(const struct fleet_options *options, uint64_t lease, const weir_plan *plan,
                                 const weir_plan *share, struct fleet_tally *tally, weir_error *error);
void asking_close(struct fleet_asking *asking);

/* away: the engine does not answer.  False: no memory. */
bool asking_take(struct fleet_asking *asking, const struct fleet_request *request, bool away);
bool asking_finish(struct fleet_asking *asking);

/* ---- show.c ---- */
void fleet_text(const struct fleet *fleet, const char *const texts[], int width);

/* The fleet, and what its designs came to by one limit. */
void fleet_json(const struct fleet *fleet, struct json *json);
void fleet_json_limit(const struct fleet *fleet, int limit, struct json *json);

#endif
