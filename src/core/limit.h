/* SPDX-License-Identifier: MIT
   A limit as a person says it, and the tools that make a rule of it. */
#ifndef WEIR_CORE_LIMIT_H
#define WEIR_CORE_LIMIT_H

#include <weir/weir.h>

#include "core/algorithms.h"
#include "core/rule.h"

/* In the order of the canonical text; the rows are in plan/option.c. */
enum option_kind {
    OPTION_BURST,
    OPTION_COLD,
    OPTION_CATCHUP,
    OPTION_STRICTNESS,
    OPTION_ALGORITHM,
    OPTION_NODELAY,
    OPTION_DELAY,
    OPTION_DEBT,
    OPTION_WARMUP,
    OPTION_GAP,
    OPTION_BLOCK,
    OPTION_PAY,
    OPTION_ALIGN,
    OPTION_EDGE,
    OPTION_START,
    OPTION_ARRIVALS,
    OPTION_SEED,
    OPTION_COUNT_REFUSED,
    OPTION_SHADOW,
    OPTION_LEASE,
    OPTION_GUARANTEED,
    OPTION_WEIGHT,
    OPTIONS,
    OPTION_RATE = OPTIONS /* what stands before the options */
};

#define WITH(option) (UINT32_C(1) << (OPTION_##option))

/* digits / 10^places, exact; as long where 64 bits are aligned to 32. */
struct decimal {
    uint64_t digits;
    uint32_t places, : 32;
};

/* A limit whose rate changes with time is a list of these, the rate at the end of each; see profile.h. */
struct phase {
    uint64_t digits, period_ns; /* digits / 10^places permits a period; digits 0: a pause */
    uint64_t lasts_ns;          /* UINT64_MAX: for good */
    uint32_t places;
    uint32_t ramps; /* 1: from the rate before it, or from nothing, to this one; without a gap, so that plans compare */
};

enum { PROFILE_SCALE = 16 /* its clock ticks so many times 2 per permit */, PHASES_MAX = 28 };

enum amount_kind { AMOUNT_NONE, AMOUNT_COUNT, AMOUNT_TIME };

enum pay { PAY_DEFAULT, PAY_SELF, PAY_NEXT };
enum align { ALIGN_DEFAULT, ALIGN_CLOCK, ALIGN_FIRST };
enum edge { EDGE_DEFAULT, EDGE_OPEN, EDGE_CLOSED };
enum start { START_DEFAULT, START_FULL, START_EMPTY };
enum arrival_process { ARRIVALS_DEFAULT, ARRIVALS_UNIFORM, ARRIVALS_POISSON };

struct limit {
    struct decimal count;  /* permits ... */
    uint64_t period_ns;    /* ... in this time; 0: unlimited */
    uint64_t burst;        /* permits or ns, see burst_kind */
    struct decimal factor; /* catchup of hybrid and timeline, cold of warmup */
    struct decimal strictness;
    uint64_t time_ns; /* warmup of warmup, gap of sliding-log, block of fixed-window, lease of concurrent */
    union {
        uint64_t delay;  /* leaky: permits */
        uint64_t seed;   /* hybrid: of its arrivals */
        uint64_t weight; /* gcra, unlimited: of a tenant, see tenants.h; 0: none */
    };
    uint64_t debt;      /* permits */
    uint8_t algorithm;  /* an enum algorithm_name */
    uint8_t burst_kind; /* an enum amount_kind */
    uint8_t pay, align, edge, start, arrivals;
    uint8_t phases; /* 0: no profile; else count and period_ns are its highest rate, and see limit_phases */
    bool nodelay, count_refused, shadow, guaranteed, has_time, has_strictness, has_debt;
    union {
        bool has_delay, has_seed, has_weight;
    };
    char unit[WEIR_UNIT_SIZE];
};

/* The phases of a profile, which is alone in its text: they are where seven further limits would be.  A copy of the
   limit is without them. */
static inline struct phase *limit_phases(const struct limit *limit)
{
    return (struct phase *)(uintptr_t)(limit + 1);
}

_Static_assert(PHASES_MAX * sizeof(struct phase) <= (WEIR_LIMITS_MAX - 1) * sizeof(struct limit), "phases fit there");

/* The option at fault, so that the reader of the text can point at it; message NULL when all is well, and "" when the
   value is outside of the option's range, which the option's row (plan/option.c) words. */
struct limit_problem {
    int option; /* an enum option_kind */
    const char *message;
};

static inline struct limit_problem limit_fine(void)
{
    return (struct limit_problem){OPTION_RATE, NULL};
}

static inline struct limit_problem limit_wrong(enum option_kind option, const char *message)
{
    return (struct limit_problem){(int)option, message};
}

static inline struct limit_problem limit_out_of_range(enum option_kind option)
{
    return limit_wrong(option, "");
}

enum { WEIGHT_MAX = 1000 };

/* Of the algorithms that know one. */
static inline struct limit_problem limit_check_weight(const struct limit *limit)
{
    const bool fits = !limit->has_weight || (limit->weight != 0 && limit->weight <= WEIGHT_MAX);
    return fits ? limit_fine() : limit_out_of_range(OPTION_WEIGHT);
}

static inline uint64_t limit_weight(const struct limit *limit)
{
    const bool knows = limit->algorithm == ALGORITHM_GCRA || limit->algorithm == ALGORITHM_UNLIMITED;
    return knows && limit->has_weight ? limit->weight : 0;
}

/* Fills what was not said, and the rule, its clock set to tick 1 at 0 ns. */
struct limit_problem limit_compile(struct limit *limit, struct rule *rule);

/* permits / period_ns, reduced; false, and 1 / 1, where there is no rate or it does not fit in 64 bits. */
bool limit_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns);

/* ---- for the algorithms' own compile ---- */

/* The same, or what is wrong with the rate. */
struct limit_problem limit_too_many_digits(void);
struct limit_problem limit_read_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns);

/* The clock of a line, 2^scale ticks per permit; and burst in its ticks, which may be 0. */
struct limit_problem limit_line(const struct limit *limit, struct rule *rule);

/* The plain clock, a tick is a ns; burst = whole permits per period, and the period. */
struct limit_problem limit_window(const struct limit *limit, struct rule *rule);

/* Only the plain clock. */
void limit_plain_clock(struct rule *rule);

/* The debt that was said, in the rule's units of cost; UINT64_MAX when none was. */
uint64_t limit_debt(const struct limit *limit, const struct rule *rule);

/* A decimal in 2^-32, rounded down; UINT64_MAX when it does not fit. */
uint64_t limit_factor(struct decimal factor);

/* Is the factor a catchup? */
struct limit_problem limit_catchup(const struct limit *limit);

/* Burst = the count, as 3/h says it. */
void limit_default_burst(struct limit *limit);

/* ns between two permits, rounded to the nearest. */
uint64_t limit_spacing_ns(const struct limit *limit);

#endif
