/* SPDX-License-Identifier: MIT
   Weights of tenants (core/tenants.h): the finish of each and the lead of their parent, in the table beside their
   limits.

   They are read before a call and moved on after one that was lent something.  Nothing holds them meanwhile: of two
   calls at one time, each reads what was before both, and both are counted. */
#include "api/table/keyed.h"
#include "core/num.h"
#include "core/slot.h"

enum { LINE = WEIR_LIMITS_MAX /* a limit's number that no limit has */ };

static uint64_t ahead_in_slots(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t more)
{
    const uint64_t now = keyed_units_of(table, now_ns + table->offset_ns);
    const struct table_question question = {.hash = keyed_identity(table, key, plan->change, LINE),
                                            .now = now,
                                            .cost = more,
                                            .debt = UINT64_MAX,
                                            .part = keyed_slots_part(table, plan),
                                            .how = more != 0 ? TABLE_CHARGE : TABLE_PEEK};
    struct table_answer answer;
    keyed_ask_table(table, &question, &answer);
    const int64_t ahead = (int64_t)(answer.drained - now);
    return ahead > 0 ? (uint64_t)ahead : 0;
}

/* There a key has the states of one text, so each of these has a key of its own. */
static uint64_t ahead_in_wide(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t more)
{
    const uint64_t name[2] = {keyed_identity(table, key, plan->change, LINE),
                              keyed_identity(table, key, plan->change, LINE + 1)};
    const uint64_t each[WEIR_LIMITS_MAX] = {more};
    const struct ask ask = {.now_ns = now_ns, .each = each, .charge = more != 0, .peek = more == 0};
    const struct plan *weights = plan_inside_const(&table->weights);
    weir_decision decision;
    uint32_t events = 0;
    keyed_wide_ask(table, weights, (weir_key){name, sizeof name}, &ask, &decision, &events);
    return keyed_wide_full_ns(table, weights, &decision);
}

/* How far it is ahead of now, in the units of keyed_lend; first moved on by so many. */
static uint64_t ahead_of(weir_table *table, const weir_ask *ask, uint64_t now_ns, uint64_t more)
{
    const struct plan *plan = plan_inside_const(ask->plan);
    return keyed_is_wide(table) ? ahead_in_wide(table, plan, ask->key, now_ns, more)
                                : ahead_in_slots(table, plan, ask->key, now_ns, more);
}

static uint64_t weight_of(const weir_ask *ask)
{
    return limit_weight(&plan_inside_const(ask->plan)->limit[0]);
}

/* The limit whose room is shared, the first by gcra; -1: there is none. */
static int shared_limit(const struct plan *parent)
{
    for (int i = 0; i < (int)parent->count; i++) {
        if (parent->interval[i] != 0) return i;
    }
    return -1;
}

bool keyed_lend(weir_table *table, const weir_ask asks[], size_t count, uint64_t now_ns, struct keyed_lent *lent)
{
    size_t tenant = 0;
    while (tenant + 1 < count && weight_of(&asks[tenant]) == 0) tenant++;
    *lent = (struct keyed_lent){.limit = -1};
    if (tenant + 1 >= count) return false;
    const weir_ask *parent = &asks[count - 1];
    const struct plan *plan = plan_inside_const(parent->plan);
    const int limit = shared_limit(plan);
    if (limit < 0) return false;
    const struct slot_rule rule =
        slot_rule_of(&plan->rule[limit], plan->interval[limit], keyed_is_wide(table) ? 0 : table->unit);
    lent->cost = slot_cost(&rule, asks[tenant].cost);
    lent->tenant = tenant;
    lent->weight = weight_of(&asks[tenant]);
    lent->lead = ahead_of(table, parent, now_ns, 0);
    lent->finish = ahead_of(table, &asks[tenant], now_ns, 0);
    lent->fair = fair_of(lent->lead, lent->finish, rule.burst);
    lent->limit = limit;
    lent->spare = fair_spare(&lent->fair, rule.burst, slot_cost(&rule, parent->cost)) / rule.interval;
    return true;
}

void keyed_count_lent(weir_table *table, const weir_ask asks[], size_t count, uint64_t now_ns,
                      const struct keyed_lent *lent)
{
    const uint64_t lead = fair_lead(&lent->fair), finish = fair_finish(&lent->fair, lent->cost, lent->weight);
    ahead_of(table, &asks[count - 1], now_ns, subtract_to_zero(lead, lent->lead));
    ahead_of(table, &asks[lent->tenant], now_ns, subtract_to_zero(finish, lent->finish));
}
