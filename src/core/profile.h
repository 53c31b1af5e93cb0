/* SPDX-License-Identifier: MIT
   A rate that changes with time: how many permits are due by when, and when so many are.

   A profile is a list of phases, each with a rate or a ramp from one rate to another.  What is due grows linearly in
   the first and with the square of the time in the second:

       due(x) = due at its beginning + from * x + (to - from) * x^2 / (2 * lasts)          x: since its beginning

   All of it is exact.  Rates are fractions, so there is one denominator for all phases, twice their common period, and
   comparing with a position takes no division.

   Where the last phase ends nothing is due any more: the clock stands from the ns before on, so that a phase of 1 s at
   100/s has 100 starts and not, at its very end, one more. */
#ifndef WEIR_CORE_PROFILE_H
#define WEIR_CORE_PROFILE_H

#include "core/limit.h"

/* from and to: permits a period, the same one for all phases. */
struct profile_phase {
    uint64_t lasts_ns; /* UINT64_MAX: for good, and then from = to */
    uint64_t from, to;
    uint64_t begins_ns;   /* since the profile began */
    uint64_t whole, part; /* due at its beginning: whole + part / (2 * period) */
};

struct profile {
    uint64_t count, period_ns;
    uint64_t multiplier; /* of its highest rate, as in a rule */
    uint32_t shift;
    struct profile_phase phase[PHASES_MAX + 1]; /* behind the last one, where it ends: begins_ns 0 if it does not */
};

enum profile_problem { PROFILE_FINE, PROFILE_TOO_LONG, PROFILE_TOO_MANY, PROFILE_TOO_DIFFERENT };

/* Of a limit that has phases (limit.h); *at is the phase with a problem.  TOO_LONG: the phases together, beyond 2^62
   ns.  TOO_MANY: the permits of this one, more than can be counted exactly.  TOO_DIFFERENT: its period has too large a
   common multiple with those before. */
enum profile_problem profile_make(struct profile *profile, const struct limit *limit, size_t *at);

/* Makes it the clock of a rule that was compiled for its limit; borrowed as long as the rule is used. */
void profile_pace(struct profile *profile, struct rule *rule);

/* What is due so many ns after it began; rounded down, and UINT64_MAX where it does not fit. */
uint64_t profile_position(const struct profile *profile, uint64_t elapsed_ns);

/* The first ns by which that much is due; UINT64_MAX: never.  The exact inverse. */
uint64_t profile_reach(const struct profile *profile, uint64_t position);

/* Operations of cost 1 that start before this phase, or for `phase` = count in all; UINT64_MAX: without an end. */
uint64_t profile_starts(const struct profile *profile, size_t phase);

/* Permits a second at this moment, for people. */
double profile_rate(const struct profile *profile, uint64_t elapsed_ns);

#endif
