/* SPDX-License-Identifier: MIT
   A named limit gets another rule: what becomes of its keys' usage under the rule before, in slots.

   A slot is a time, and does not say under which rule: 60 of 100/d are 14 h, during which 10/s would let nothing
   through.  So each rule of a limit has identities of its own, distinguished by the number of the change.  A key
   without a slot under this rule is searched under the earlier ones, and its usage there is charged here: as many
   permits, but at most the new burst.  What lies above the old burst is waited for or owed, and is added as as many
   permits.  Then the slot under the earlier rule is forgotten.

   An override is a rule for a few keys.  It has no row: its number is a hash of it, so an override that is changed
   starts fresh.

   Two threads that do this for one key at once charge it twice, still at most the burst; a thread that dies in between
   leaves both slots.

       rows    | row of part 0 | row of part 1 | ...       in a part of the table, so a restart finds them
       row     number, then the newest rules, in turn

   Usage is rounded up by less than a unit, and nothing in the rows is used as a place or a length. */
#include "api/table/keyed.h"
#include "core/num.h"

enum { RULES = PLAN_BEFORE + 1, ROWS = KEYED_PARTS_MAX + 1, BYTES_OF_KEY = 2 * sizeof(struct table_slot) };

struct keyed_row {
    uint64_t number; /* changes so far */
    struct plan_before rule[RULES];
};

#define OVERRIDES (UINT32_C(1) << 31) /* numbers from here on belong to overrides */

static const weir_key rows_name = {"\1rules", 6};

uint64_t keyed_rules_keys(void)
{
    return ROWS * sizeof(struct keyed_row) / BYTES_OF_KEY + 1;
}

weir_key keyed_rules_name(void)
{
    return rows_name;
}

static struct plan_before rule_before(const struct plan *plan)
{
    struct plan_before rule = {.count = plan->count};
    for (uint64_t i = 0; i < plan->count; i++) {
        rule.interval[i] = plan->interval[i];
        rule.permits[i] = plan->rule[i].burst >> plan->rule[i].scale;
    }
    return rule;
}

static bool same_rule(const struct plan_before *one, const struct plan_before *other)
{
    bool same = one->count == other->count;
    for (uint64_t i = 0; same && i < one->count; i++)
        same = one->interval[i] == other->interval[i] && one->permits[i] == other->permits[i];
    return same;
}

void keyed_rules_of_override(const weir_table *table, struct plan *plan)
{
    const struct plan_before rule = rule_before(plan);
    if (keyed_is_wide(table)) return;
    plan->change = OVERRIDES | (uint32_t)(hash_key(&table->secret, &rule, sizeof rule, 0) & (OVERRIDES - 1));
}

void keyed_rules_enter(weir_table *table, struct plan *plan, unsigned rows)
{
    if (rows == 0 || plan->part == 0 || keyed_is_wide(table)) return;
    struct keyed_row *row = (struct keyed_row *)table->part[rows - 1]->memory + (plan->part - 1);
    const struct plan_before now = rule_before(plan);
    struct plan_before *newest = &row->rule[row->number % RULES];
    if (newest->count == 0) *newest = now;
    if (!same_rule(newest, &now)) {
        row->rule[(row->number + 1) % RULES] = now;
        row->number = row->number + 1;
    }
    plan->change = (uint32_t)row->number;
    for (uint32_t back = 1; back <= PLAN_BEFORE && back <= plan->change; back++)
        plan->before[back - 1] = row->rule[(row->number - back) % RULES];
}

/* The usage under that rule, in units of this one; *waiting: the part of it above the burst. */
static uint64_t carried_usage(const weir_table *table, const struct plan *plan, uint64_t limit,
                              const struct plan_before *before, uint64_t ahead, uint64_t *waiting)
{
    const struct slot_rule to = slot_rule_of(&plan->rule[limit], plan->interval[limit], table->unit);
    const struct slot_rule from = slot_rule_of(&plan->rule[limit], before->interval[limit], table->unit);
    const uint64_t used = least(ahead, multiply_shift_floor(before->permits[limit], from.interval, 0));
    *waiting = multiply_divide_ceil(ahead - used, to.interval, from.interval);
    return least(multiply_divide_ceil(used, to.interval, from.interval), to.burst);
}

static void carry_limit(weir_table *table, const struct plan *plan, weir_key key, uint64_t limit, uint32_t back,
                        uint64_t now)
{
    const struct plan_before *before = &plan->before[back - 1];
    if (limit >= before->count || before->interval[limit] == 0 || plan->interval[limit] == 0) return;
    const uint64_t old = keyed_identity(table, key, plan->change - back, limit);
    const struct table_part *part = keyed_slots_part(table, plan);
    struct table_answer answer;
    keyed_ask_table(table, &(struct table_question){.hash = old, .now = now, .how = TABLE_PEEK, .part = part}, &answer);
    if ((answer.events & TABLE_FULL) != 0 || answer.drained == now) return;
    uint64_t waiting;
    const uint64_t used = carried_usage(table, plan, limit, before, answer.drained - now, &waiting);
    const struct slot_rule rule = slot_rule_of(&plan->rule[limit], plan->interval[limit], table->unit);
    keyed_ask_table(table,
                    &(struct table_question){.hash = keyed_identity(table, key, plan->change, limit),
                                             .now = now,
                                             .cost = add_saturating(used, waiting),
                                             .burst = rule.burst,
                                             .debt = waiting,
                                             .how = TABLE_CHARGE,
                                             .part = part},
                    &answer);
    if ((answer.events & TABLE_FULL) == 0) table_forget(keyed_slots(table), part, old, now);
}

void keyed_rules_carry(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns)
{
    const uint64_t now = keyed_units_of(table, now_ns + table->offset_ns);
    for (uint32_t back = 1; back <= PLAN_BEFORE && back <= plan->change; back++)
        for (uint64_t i = 0; i < plan->count; i++) carry_limit(table, plan, key, i, back, now);
}

void keyed_rules_forget(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns)
{
    const uint64_t now = keyed_units_of(table, now_ns + table->offset_ns);
    keyed_keep_rested(table, now_ns + table->offset_ns);
    for (uint32_t back = 0; back <= PLAN_BEFORE && back <= plan->change; back++)
        for (uint64_t i = 0; i < plan->count; i++)
            table_forget(keyed_slots(table), keyed_slots_part(table, plan),
                         keyed_identity(table, key, plan->change - back, i), now);
}
