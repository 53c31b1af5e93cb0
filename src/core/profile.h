/* SPDX-License-Identifier: MIT
   A rate that changes with time: how many permits are due by when, and when so many are.

   A profile is a list of phases, each with a rate or a ramp from one rate to another.  What is due grows linearly in
   the first and with the square of the time in the second:

       due(x) = due at its beginning + from * x + (to - from) * x^2 / (2 * lasts)          x: since its beginning

   All of it is exact.  Rates are fractions, so there is one denominator for all phases, twice their common period, and
   comparing with a position takes no division. */
#ifndef WEIR_CORE_PROFILE_H
#define WEIR_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILE_SCALE = 16 }; /* a position counts in 2^-16 permits */

/* from and to, permits a period; as asked for, or as compiled, when all have the same period. */
struct profile_phase {
    uint64_t lasts_ns; /* UINT64_MAX: for good, and then from = to */
    uint64_t from, to;
    uint64_t period_ns[2]; /* of from and of to */
    /* ---- compiled ---- */
    uint64_t begins_ns;   /* since the profile began */
    uint64_t whole, part; /* due at its beginning: whole + part / (2 * period) */
};

enum profile_problem { PROFILE_FINE, PROFILE_TOO_LONG, PROFILE_TOO_MANY, PROFILE_TOO_DIFFERENT };

/* Compiles phases in place; *at is the phase with a problem.  TOO_LONG: the phases together, beyond 2^62 ns.  TOO_MANY:
   the permits of this one, more than can be counted exactly.  TOO_DIFFERENT: its period has too large a common multiple
   with those before.  Where the last phase ends, nothing is due any more. */
enum profile_problem profile_compile(struct profile_phase *phase, size_t count, size_t *at);

/* What is due so many ns after it began; rounded down, and UINT64_MAX where it does not fit. */
uint64_t profile_position(const struct profile_phase *phase, size_t count, uint64_t elapsed_ns);

/* The first ns by which that much is due; UINT64_MAX: never.  The exact inverse. */
uint64_t profile_reach(const struct profile_phase *phase, size_t count, uint64_t position);

#endif
