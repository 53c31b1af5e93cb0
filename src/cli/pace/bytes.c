/* SPDX-License-Identifier: MIT
   What a limit of weir pace counts, and pieces of lines where it counts bytes.

   A take has one cost for all limits of a list, so they have to count the same.  A line that costs more than the pool
   leaves all at once and is paid for afterwards; cut into pieces of 100 ms it leaves as evenly as people look. */
#include "cli/pace/bytes.h"

#include <string.h>

#include "core/num.h"

enum { PIECE_NS = 100000000 };

static bool counts_bytes(const struct limit *limit)
{
    return strcmp(limit->unit, "bytes") == 0;
}

static bool is_rated(const struct limit *limit)
{
    uint64_t permits, period_ns;
    return limit_rate(limit, &permits, &period_ns);
}

/* Is it 1, or what the limit has when none is said? */
static bool goes_without_saying(const struct limit *limit)
{
    struct limit usual = {.count = limit->count, .period_ns = limit->period_ns, .algorithm = limit->algorithm};
    const uint64_t factor = limit_factor(limit->factor);
    struct rule rule;
    limit_compile(&usual, &rule);
    return factor == limit_factor((struct decimal){1, 0}) || factor == limit_factor(usual.factor);
}

enum pace_unit pace_unit_of(const struct plan *plan)
{
    enum pace_unit unit = PACE_UNIT_ANY;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!is_rated(&plan->limit[i])) continue;
        const enum pace_unit its = counts_bytes(&plan->limit[i]) ? PACE_UNIT_BYTES : PACE_UNIT_LINES;
        unit = unit == PACE_UNIT_ANY || unit == its ? its : PACE_UNIT_MIXED;
    }
    return unit;
}

void pace_in_bytes(const struct plan *plan, struct writer *writer)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        const struct limit *limit = &plan->limit[i];
        if (!is_rated(limit) || counts_bytes(limit)) continue;
        write_decimal(writer, limit->count.digits, limit->count.places);
        write_text(writer, "B/");
        write_period(writer, limit->period_ns);
        if (limit->algorithm != ALGORITHM_HYBRID || goes_without_saying(limit)) return;
        write_text(writer, " catchup=");
        write_decimal(writer, limit->factor.digits, limit->factor.places);
        return;
    }
}

size_t pace_piece_of(const struct plan *plan)
{
    uint64_t piece = PACE_PIECE_MAX;
    for (uint64_t i = 0; i < plan->count; i++) {
        uint64_t permits, period_ns;
        if (!limit_rate(&plan->limit[i], &permits, &period_ns)) continue;
        piece = least(piece, multiply_divide_floor(permits, PIECE_NS, period_ns));
        piece = least(piece, facts_of(&plan->limit[i], &plan->rule[i]).largest);
    }
    return (size_t)most(piece, 1);
}
