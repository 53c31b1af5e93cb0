/* SPDX-License-Identifier: MIT
   A limit compiled to numbers: all that a decision needs, in one cache line.

       | anchor_ns | anchor_tick | multiplier | burst | second | third | generation, scale, ... flags | fourth |
         8           8             8            8       8        8       8                              8

   The first three are the limit's clock (clock.h).  What the others hold is said by the algorithm; where a tick is a
   ns, a permit is 1.  There are no pointers, so it can be copied word by word while another thread rewrites it; but for
   that to a profile, which is only in rules that one thread at a time can reach. */
#ifndef WEIR_CORE_RULE_H
#define WEIR_CORE_RULE_H

#include <stdint.h>

/* anchor_ns of a profile that begins with the first call. */
#define RULE_NOT_BEGUN UINT64_MAX

enum { RULE_WORDS = 8, STATE_WORDS_MAX = 7 /* of those whose state does not grow with the limit */ };

enum rule_flag {
    RULE_STARTS_FULL = 1,
    RULE_PROFILE = 2,        /* the clock changes its speed, see profile.h */
    RULE_COUNTS_REFUSED = 4, /* refused calls are counted like those that pass */
    RULE_A = 8,              /* three for each algorithm to name */
    RULE_B = 16,
    RULE_C = 32,
    RULE_GUARANTEED = 128, /* gcra: a tenant is owed so much, see tenants.h */
    RULE_ARRIVALS = 64     /* hybrid: permits move the position by gaps of their own, see arrivals.h */
};

struct rule {
    uint64_t anchor_ns;   /* where the limit's clock was set ... */
    uint64_t anchor_tick; /* ... to this tick */
    union {
        uint64_t multiplier; /* ticks per ns, in 2^-shift */
        uint64_t profile;    /* with RULE_PROFILE: the address of a struct profile, borrowed */
    };
    uint64_t burst; /* how much at once: ticks, or permits where a tick is a ns */
    union {
        uint64_t over;      /* hybrid: ticks of pool and burst pool together */
        uint64_t period_ns; /* cycle, windows, sliding-log */
        uint64_t threshold; /* warmup: ticks stored at which it is warm */
        uint64_t second;    /* timeline: the share of a gap that is closed is 2^-this; 64: none.  leaky: in a ms leak
                               second / third thousandths of a permit */
    };
    union {
        uint64_t ratio;     /* hybrid: how much faster while behind, in 2^-32 */
        uint64_t offset_ns; /* aligned windows: from the limit's time to the epoch they are aligned to */
        uint64_t gap_ns;    /* sliding-log: at least this long between two calls */
        uint64_t third;     /* timeline: 1 / catchup in 2^-64, rounded up; 0: no catchup */
    };
    uint32_t generation; /* which change of its limiter this is */
    uint8_t scale;       /* one permit is 2^scale ticks */
    uint8_t shift;       /* see multiplier */
    uint8_t algorithm;   /* an enum algorithm_name */
    uint8_t flags;       /* of enum rule_flag */
    union {
        uint64_t debt;     /* the most that may be owed beyond an empty state, in units of burst; UINT64_MAX: any */
        uint64_t block_ns; /* fixed-window: how long a key is blocked once it asks for too much */
        uint64_t seed;     /* with RULE_ARRIVALS, which knows no debt */
        uint64_t fourth;   /* leaky: how many above the first start at once; sliding-log: entries kept, above burst */
    };
};

/* The same as words, for copying one by one. */
union rule_words {
    struct rule rule;
    uint64_t word[RULE_WORDS];
};

_Static_assert(sizeof(struct rule) == RULE_WORDS * sizeof(uint64_t), "a rule is one cache line");

#endif
