/* SPDX-License-Identifier: MIT
   rule.h - a limit compiled to numbers: all that a decision needs, in one cache line.

       | anchor_ns | anchor_tick | multiplier | burst | over | ratio | generation, scale, shift, algorithm, flags | - |
         8           8             8            8       8      8       8                                            8

   May touch: nothing, it is data.  Promises: 64 bytes without pointers, so it can be copied word by word while another
   thread rewrites it.  Leaves to others: making it (limit.c), reading it (clock.h and a file per algorithm). */
#ifndef WEIR_CORE_RULE_H
#define WEIR_CORE_RULE_H

#include <stdint.h>

enum { RULE_WORDS = 8, STATE_WORDS_MAX = 4 };

enum rule_flag { RULE_STARTS_FULL = 1 };

struct rule {
    uint64_t anchor_ns;   /* where the limit's clock was set ... */
    uint64_t anchor_tick; /* ... to this tick */
    uint64_t multiplier;  /* ticks per ns, in 2^-shift */
    uint64_t burst;       /* ticks of tolerance: gcra's burst, hybrid's pool */
    uint64_t over;        /* hybrid: ticks of pool and burst pool together */
    uint64_t ratio;       /* hybrid: how much faster while behind, in 2^-32 */
    uint32_t generation;  /* which change of its limiter this is */
    uint8_t scale;        /* one permit is 2^scale ticks */
    uint8_t shift;        /* see multiplier */
    uint8_t algorithm;    /* an enum algorithm_name */
    uint8_t flags;        /* of enum rule_flag */
    uint64_t spare;
};

/* The same as words, for copying one by one. */
union rule_words {
    struct rule rule;
    uint64_t word[RULE_WORDS];
};

_Static_assert(sizeof(struct rule) == RULE_WORDS * sizeof(uint64_t), "a rule is one cache line");

#endif
