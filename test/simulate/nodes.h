/* SPDX-License-Identifier: MIT
   The nodes: each a `weir serve` behind its I/O seam, with its clients, its clock, and its part of the engine's client.

   A worker's loop is played by events (see worker.c): a batch for what has arrived, a timer for the engine, a tick each
   second. */
#ifndef WEIR_TEST_SIMULATE_NODES_H
#define WEIR_TEST_SIMULATE_NODES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NODES_MOST = 8,
    LIMITS = 4,
    LIMIT_TEXT_SIZE = 64,
    HERE = LIMITS - 1 /* the limit that each node keeps for itself */
};

/* How one hour is set up. */
struct fleet {
    unsigned nodes, nodes_said; /* said: in weir.yaml; 0: counted by heartbeats */
    bool sentinel, closed;      /* closed: away: closed, else local */
    uint64_t lease_ns, deadline_ns;
    char limit[LIMITS][LIMIT_TEXT_SIZE];
    unsigned keys[LIMITS];
};

void nodes_begin(const struct fleet *fleet);
void nodes_end(void);

/* As the operator has it now: each node reads it in a while. */
void nodes_change(unsigned limit, const char *text);

/* ---- faults ---- */

void nodes_freeze(unsigned node, uint64_t until);
void nodes_lag(unsigned node, uint64_t until);               /* stopped between reading its clock and acting */
void nodes_kill(unsigned node, uint64_t until, bool kindly); /* kindly: leases are given back */
void nodes_drift(unsigned node, double rate);
void nodes_demand(double times, uint64_t until);
void nodes_calm(void); /* from now on little is asked */

/* ---- what is asked by wires.c, and by who judges ---- */

unsigned nodes_current(void);
uint64_t nodes_clock_ns(void); /* of the current node; of none the true time */
bool nodes_is_dying(unsigned node);
void nodes_wait(uint64_t ns);
void nodes_hear(unsigned node);
bool nodes_is_lagging(void);          /* the current one */
uint64_t nodes_burst(unsigned limit); /* as the current one has it */
bool nodes_is_here(unsigned node);
uint64_t nodes_asked(void); /* requests so far */

/* Asks one thing there, for a key of its own: is it answered by the engine, and allowed?  See judge.c. */
void nodes_probe(unsigned node, unsigned limit, unsigned key);

#endif
