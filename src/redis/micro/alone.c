/* SPDX-License-Identifier: MIT
   The question that is asked most, from bytes to bytes: one gcra limit, alone at its key.

       | w e i r | 2 | 1 | 0 | 0 |  kind, words, burst  |  permit  |  seen  |  level  |
       '------------------ the same for all calls of a limit ------------------'

   The value begins as this limit writes it, so it needs no reading, no change of its rule and no lease: what is left is
   gcra's arithmetic (gcra.c) on two words.  Everything else is left to micro_take, and says the same; weir.lua has the
   same shortcut (take_gcra).

   No number here comes near 2^64: all are up to 2^52, but for a product, which is of a level at most. */
#include "redis/micro/kinds.h"

enum { CELL_AT = MICRO_HEAD, PERMIT_AT = CELL_AT + 8, SEEN_AT = PERMIT_AT + 8, LEVEL_AT = SEEN_AT + 8 };

_Static_assert((int)LEVEL_AT + 8 == (int)MICRO_ALONE, "a cell of gcra has two words");

/* "weir", the format, one cell. */
#define HEAD (UINT64_C(0x72696577) | (uint64_t)MICRO_FORMAT << 32 | UINT64_C(1) << 40)

static uint64_t cell_of(const struct micro_rule *rule)
{
    return MICRO_GCRA | (uint64_t)GCRA_WORDS << 8 | rule->fits << 16;
}

/* false: it is not as this limit writes it, or was seen later than now. */
static bool read_level(const struct micro_rule *rule, const unsigned char *bytes, uint64_t now, uint64_t *level)
{
    const uint64_t seen = word_read(bytes + SEEN_AT), was = word_read(bytes + LEVEL_AT), elapsed = now - seen;
    if (word_read(bytes) != HEAD || word_read(bytes + CELL_AT) != cell_of(rule)) return false;
    if (word_read(bytes + PERMIT_AT) != rule->permit || seen > now || was > rule->top) return false;
    *level = elapsed > was / rule->per ? 0 : was - elapsed * rule->per;
    return true;
}

static void write_level(const struct micro_rule *rule, unsigned char *bytes, uint64_t now, uint64_t level)
{
    word_write(bytes, HEAD);
    word_write(bytes + CELL_AT, cell_of(rule));
    word_write(bytes + PERMIT_AT, rule->permit);
    word_write(bytes + SEEN_AT, now);
    word_write(bytes + LEVEL_AT, level);
}

bool micro_may_be_alone(const struct micro_plan *plan, const struct micro_ask *ask)
{
    const struct micro_rule *rule = &plan->rule[0];
    return plan->count == 1 && rule->kind == MICRO_GCRA && !ask->peek && ask->wait == 0 && ask->now <= MICRO_MOST &&
           ask->cost[0] <= rule->burst;
}

bool micro_take_alone(const struct micro_plan *plan, const struct micro_ask *ask, const void *bytes, size_t size,
                      void *after, struct micro_answer *answer)
{
    const struct micro_rule *rule = &plan->rule[0];
    const uint64_t now = ask->now, ticks = ask->cost[0] * rule->permit;
    uint64_t level = 0;
    if (size != 0 && (size != MICRO_ALONE || !read_level(rule, bytes, now, &level))) return false;
    const bool passes = ticks <= rule->top - level;
    *answer = (struct micro_answer){.verdict = passes ? WEIR_ALLOW : WEIR_DENY, .taken = now};
    if (passes) level += ticks;
    else answer->retry = divide_ceil(level + ticks - rule->top, rule->per);
    answer->remaining = (rule->top - level) / rule->permit;
    answer->full = divide_ceil(level, rule->per);
    answer->idle = now + answer->full;
    answer->changed = passes && ticks != 0;
    if (answer->changed) write_level(rule, after, now, level);
    return true;
}
