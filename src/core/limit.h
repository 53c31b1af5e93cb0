/* SPDX-License-Identifier: MIT
   limit.h - a limit as a person says it, and its way to a rule.

   See limit.c. */
#ifndef WEIR_CORE_LIMIT_H
#define WEIR_CORE_LIMIT_H

#include <weir/weir.h>

#include "core/rule.h"

/* digits / 10^places, exact. */
struct decimal {
    uint64_t digits;
    uint32_t places;
};

enum amount_kind { AMOUNT_NONE, AMOUNT_COUNT, AMOUNT_TIME };

enum pay { PAY_DEFAULT, PAY_SELF, PAY_NEXT };
enum align { ALIGN_DEFAULT, ALIGN_CLOCK, ALIGN_FIRST };
enum edge { EDGE_DEFAULT, EDGE_OPEN, EDGE_CLOSED };
enum start { START_DEFAULT, START_FULL, START_EMPTY };

struct limit {
    struct decimal count;  /* permits ... */
    uint64_t period_ns;    /* ... in this time */
    uint64_t burst;        /* permits or ns, see burst_kind */
    struct decimal factor; /* catchup of hybrid and timeline, cold of warmup */
    struct decimal strictness;
    uint64_t time_ns;     /* warmup of warmup, gap of sliding-log, block of fixed-window */
    uint64_t delay, debt; /* permits */
    uint8_t algorithm;    /* an enum algorithm_name */
    uint8_t burst_kind;   /* an enum amount_kind */
    uint8_t pay, align, edge, start;
    bool nodelay, count_refused, shadow, has_time, has_strictness, has_delay, has_debt;
    char unit[WEIR_UNIT_SIZE];
};

/* The argument at fault, so that whoever read the text can point at it. */
enum limit_part { PART_NONE, PART_RATE, PART_BURST, PART_CATCHUP, PART_ALGORITHM, PART_DEBT, PART_SHADOW, PARTS };

struct limit_problem {
    enum limit_part part;
    const char *message;
};

/* Fills the rule, its clock set to tick 1 at 0 ns; PART_NONE when all is well. */
struct limit_problem limit_compile(const struct limit *limit, struct rule *rule);

/* Fills what was not said and depends on nothing but the rest: burst and catchup. */
void limit_defaults(struct limit *limit);

/* permits / period_ns, reduced; false when they do not fit in 64 bits. */
bool limit_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns);

#endif
