/* SPDX-License-Identifier: MIT
   A limit in a 16-byte slot as a call sees it, and the arithmetic of its times. */
#ifndef WEIR_API_TABLE_SLOTS_H
#define WEIR_API_TABLE_SLOTS_H

#include "api/table/keyed.h"
#include "core/num.h"
#include "core/slot.h"

/* One limit of the call, and its result. */
struct part {
    struct slot_rule rule;
    uint64_t hash, cost, spare;    /* spare: that has to be left beside the cost */
    const struct table_part *home; /* the key's part */
    bool owes;                     /* charged whatever it has, as far as a slot can count */
    struct table_answer answer;
};

/* The time of one call, in units. */
struct slots_moment {
    uint64_t now, now_ns, wait_ns; /* now_ns is in the region's time */
};

/* The units in ns, rounded up. */
static inline uint64_t slots_ns_of(const weir_table *table, uint64_t units)
{
    if (table->unit < 0) return units << -table->unit;
    const uint64_t rest = (UINT64_C(1) << table->unit) - 1;
    return (units + rest) >> table->unit;
}

/* From this moment until those units, in ns.  If a unit is longer than a ns, this one began before now.  Both may be
   beyond what 64 bits of units can count; their difference is not. */
static inline uint64_t slots_ns_until(const weir_table *table, const struct slots_moment *moment, uint64_t units)
{
    const uint64_t begun_ns = table->unit < 0 ? moment->now_ns - (moment->now << -table->unit) : 0;
    return subtract_to_zero(slots_ns_of(table, units - moment->now), begun_ns);
}

static inline struct slots_moment slots_moment_of(const weir_table *table, const struct ask *ask)
{
    const uint64_t now_ns = ask->now_ns + table->offset_ns;
    return (struct slots_moment){keyed_units_of(table, now_ns), now_ns, ask->wait_max_ns};
}

/* How long a call may wait: until the last unit that is not after now + wait, and not beyond what a word can hold. */
static inline uint64_t slots_wait_of(const weir_table *table, const struct slots_moment *moment,
                                     const struct part *part)
{
    if (moment->wait_ns == 0) return 0;
    const uint64_t horizon = subtract_to_zero(table->longest, part->rule.burst);
    if (moment->wait_ns >= slots_ns_of(table, horizon)) return horizon;
    return least(keyed_units_of(table, moment->now_ns + moment->wait_ns) - moment->now, horizon);
}

/* How far `drained` is ahead of now. */
static inline uint64_t slots_ahead(const struct part *part, uint64_t now)
{
    const int64_t ahead = (int64_t)(part->answer.drained - now);
    return ahead > 0 ? (uint64_t)ahead : 0;
}

static inline uint64_t slots_permits_left(const struct part *part, uint64_t ahead)
{
    return subtract_to_zero(part->rule.burst, ahead) / part->rule.interval;
}

/* From now until the start, in units; of a refusal, until it could start. */
static inline uint64_t slots_start_after(const struct part *part, uint64_t ahead)
{
    return subtract_to_zero(ahead, part->rule.burst);
}

#endif
