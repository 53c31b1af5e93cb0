/* SPDX-License-Identifier: MIT
   sliding_log.c - known, and not built yet. */
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

const struct algorithm *sliding_log_algorithm(void)
{
    static const struct algorithm sliding_log = {
        .name = "sliding-log",
        .options = WITH(GAP) | WITH(EDGE) | WITH(COUNT_REFUSED),
        .compile = compile,
        .possible = possible,
    };
    return &sliding_log;
}
