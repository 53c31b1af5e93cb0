/* SPDX-License-Identifier: MIT
   bursty.c - known, and not built yet. */
#include "core/algorithm.h"

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    (void)limit;
    (void)rule;
    return limit_wrong(OPTION_ALGORITHM, " is known, but not built yet");
}

static bool possible(const struct rule *rule, uint64_t permits)
{
    (void)rule;
    return permits == 0;
}

const struct algorithm *bursty_algorithm(void)
{
    static const struct algorithm bursty = {
        .name = "bursty",
        .options = WITH(BURST) | WITH(PAY) | WITH(START) | WITH(DEBT),
        .compile = compile,
        .possible = possible,
    };
    return &bursty;
}
