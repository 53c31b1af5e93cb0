/* SPDX-License-Identifier: MIT
   leaky.c - known, and not built yet. */
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

const struct algorithm *leaky_algorithm(void)
{
    static const struct algorithm leaky = {
        .name = "leaky",
        .options = WITH(BURST) | WITH(DELAY) | WITH(NODELAY),
        .compile = compile,
        .possible = possible,
    };
    return &leaky;
}
