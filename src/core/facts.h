/* SPDX-License-Identifier: MIT
   What a limit lets through, in numbers: for explain, for documents, for tests to hold the limit against. */
#ifndef WEIR_CORE_FACTS_H
#define WEIR_CORE_FACTS_H

#include "core/algorithm.h"

/* Only for limits with a rate. */
struct facts facts_of(const struct limit *limit, const struct rule *rule);

/* Only that one of them. */
uint64_t facts_at_once(const struct limit *limit, const struct rule *rule);

/* A thread that waits sleeps so long at least where nothing else was asked for. */
enum { MIN_SLEEP_USUAL_NS = 50000 };

/* A thread that wakes later than a pool lasts has lost its start; but this late it may always be. */
enum { LATE_LEAST_NS = 1000000 };

/* One thread that sleeps min_sleep_ns at a time finds what the limit lets through at once, and has one call of this
   cost, 1 or more, waiting: so many permits a second at most, or UINT64_MAX when that keeps up with the rate. */
uint64_t facts_slept_per_s(const struct limit *limit, const struct rule *rule, uint64_t cost, uint64_t min_sleep_ns);

/* The most permits that pass in any window [t, t + window_ns), cost 1 each. */
uint64_t facts_most_in(const struct limit *limit, uint64_t window_ns);

/* The permits that the rate gives in a window, in 2^-20. */
uint64_t facts_mean_in(const struct limit *limit, uint64_t window_ns);

/* ---- for the lines' own facts ---- */

/* From empty to full. */
uint64_t facts_linear_full_ns(const struct limit *limit);

/* The most in a window of ratio * (burst + permits * time / period). */
uint64_t facts_linear_most_in(const struct limit *limit, struct decimal ratio, uint64_t window_ns);

/* The most where each starts at the earliest period / (permits * ratio) after the one before. */
uint64_t facts_linear_most_spaced(const struct limit *limit, struct decimal ratio, uint64_t window_ns);

#endif
