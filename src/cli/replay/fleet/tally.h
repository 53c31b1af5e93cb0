/* SPDX-License-Identifier: MIT
   What a design of a fleet came to: counts, engine calls, and how far it went over its bound.

   See tally.c. */
#ifndef WEIR_CLI_REPLAY_FLEET_TALLY_H
#define WEIR_CLI_REPLAY_FLEET_TALLY_H

#include "cli/replay/fleet/pairs.h"

struct fleet_figures {
    uint64_t allowed, denied;   /* requests */
    uint64_t wrongly_denied;    /* though one limiter for all would have let them pass */
    uint64_t wrongly_allowed;   /* though it would have refused them */
    uint64_t waited;            /* for an answer over the network */
    uint64_t calls, calls_most; /* of the engine; most: in a second of the clock */
    uint64_t node_least;        /* permits of the node that got the fewest; see tally_finish */
    double excess; /* permits above burst + rate * time, at the client and in the window where it is most; the bound
                      holds where it is not above 0 */
};

struct fleet_tally {
    struct fleet_figures figures;
    double per_us, burst; /* permits */
    struct pairs meters;  /* one for each client */
    struct pairs passed;  /* permits at each node */
    uint64_t second, in_second;
};

struct fleet_verdict {
    uint64_t time_us; /* when it was decided; never before the one before */
    uint64_t cost;
    uint32_t client, node;
    bool allowed, exact; /* exact: what one limiter for all said */
    bool waited;
};

void tally_open(struct fleet_tally *tally, double permits_per_us, double burst);
void tally_close(struct fleet_tally *tally);

/* False: no memory. */
bool tally_verdict(struct fleet_tally *tally, const struct fleet_verdict *verdict);

/* Of so many nodes: says what the one that got the fewest permits got. */
void tally_finish(struct fleet_tally *tally, uint64_t nodes);

/* The engine is called; never before the call before. */
void tally_call(struct fleet_tally *tally, uint64_t time_us);

#endif
