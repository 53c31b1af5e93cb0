/* SPDX-License-Identifier: MIT
   fixed_window.c - known, and not built yet. */
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

const struct algorithm *fixed_window_algorithm(void)
{
    static const struct algorithm fixed_window = {
        .name = "fixed-window",
        .options = WITH(ALIGN) | WITH(BLOCK) | WITH(COUNT_REFUSED),
        .compile = compile,
        .possible = possible,
    };
    return &fixed_window;
}
