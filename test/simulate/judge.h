/* SPDX-License-Identifier: MIT
   Who judges: every window of every key against the row of doc/bounds.md that the faults allow, every answer, and that
   all nodes serve again.

   A window's bound is B + r t and what the faults within it cost.  So a level is kept that falls by r, and that each
   fault lowers by its cost: the most, over all beginnings of a window, of what passed since then beyond what was
   allowed.  It is never above B. */
#ifndef WEIR_TEST_SIMULATE_JUDGE_H
#define WEIR_TEST_SIMULATE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/resp.h"
#include "simulate/nodes.h"

enum judge_from { JUDGE_ENGINE, JUDGE_LEASE, JUDGE_AWAY, JUDGE_HERE, JUDGE_FROMS };

/* What a level is kept of: engine and leases; shares of nodes that have no engine; both together, of keys that are
   asked for all the time; the limit that each node keeps for itself. */
enum judge_gauge { GAUGE_ENGINE, GAUGE_SHARES, GAUGE_ALL, GAUGE_HERE, GAUGES };

enum { JUDGE_PROBES = 1000 }; /* keys from here on are probes: see judge_probed */

void judge_begin(const struct fleet *fleet);

/* A command of the module, and its answer. */
void judge_executed(const struct resp_command *command, struct slice answer);

/* Decided at the current node, for "a|17". */
void judge_passed(enum judge_from from, struct slice key, uint64_t cost);

/* A client of this node was answered. */
void judge_answered(unsigned node, unsigned limit, unsigned key, uint64_t cost, bool allowed, uint64_t took_ns);

/* ---- what faults cost ---- */

void judge_lost(uint64_t lost_ns); /* the engine's last writes */
void judge_empty(void);            /* all of them */
void judge_step(uint64_t ns);      /* its clock went forward */
void judge_split(bool begins);
void judge_killed(unsigned node);
void judge_change(unsigned limit, const char *text); /* from now on, and for a while both */
bool judge_is_changing(unsigned limit);

/* ---- the end ---- */

/* Was this probe answered, by the engine, and allowed? */
bool judge_probed(unsigned probe);

void judge_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What was wrong first; "": nothing. */
const char *judge_problem(void);

struct judge_counts {
    uint64_t passed[JUDGE_FROMS], refused, answers;
    double worst[GAUGES]; /* levels, in parts of the bound */
};
const struct judge_counts *judge_counts(void);

#endif
