/* SPDX-License-Identifier: MIT
   open.c - the two limits without a rate: `unlimited` lets everything through, `none` lets nothing.

   May touch: its arguments.  Promises: no state, so `possible` is all there is to ask.  Leaves to others: everything
   else. */
#include "core/algorithm.h"

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    (void)limit;
    limit_plain_clock(rule);
    return limit_fine();
}

static bool always(const struct rule *rule, uint64_t permits)
{
    (void)rule;
    (void)permits;
    return true;
}

static bool never(const struct rule *rule, uint64_t permits)
{
    (void)rule;
    return permits == 0;
}

const struct algorithm *unlimited_algorithm(void)
{
    static const struct algorithm unlimited = {.name = "unlimited", .compile = compile, .possible = always};
    return &unlimited;
}

const struct algorithm *none_algorithm(void)
{
    static const struct algorithm none = {.name = "none", .compile = compile, .possible = never};
    return &none;
}
