/* SPDX-License-Identifier: MIT
   A smaller take of a tenant (a guaranteed limit, perhaps a ceiling) and its parent than slots.c's, that makes one
   mistake if told to. */
#include "planted_tenants.h"

#include "core/slot.h"

struct mistake {
    bool owed_by_look, lent_by_look, parent_forgotten, parent_refuses, ceiling_kept, parent_kept, borrowed_charged;
};

struct planted {
    weir_table *table;
    const struct keyed_limit *guaranteed, *ceiling, *parent; /* the first two may be NULL */
    uint64_t now;
    struct mistake mistake;
};

static struct slot_rule rule_of(const struct keyed_limit *limit)
{
    return slot_rule_of(limit->rule, limit->interval, 0);
}

static bool ask(const struct planted *planted, const struct keyed_limit *limit, enum table_how how, bool owes,
                struct table_answer *answer)
{
    const struct slot_rule rule = rule_of(limit);
    const struct table_question question = {.hash = limit->hash,
                                            .now = planted->now,
                                            .cost = slot_cost(&rule, limit->cost),
                                            .burst = rule.burst,
                                            .wait = owes ? UINT64_MAX : 0,
                                            .how = how};
    table_ask(keyed_slots(planted->table), &question, answer);
    return answer->verdict == TABLE_TAKEN;
}

static bool take(const struct planted *planted, const struct keyed_limit *limit, bool owes)
{
    struct table_answer answer;
    return limit == NULL || ask(planted, limit, TABLE_TAKE, owes, &answer);
}

static bool look(const struct planted *planted, const struct keyed_limit *limit)
{
    struct table_answer answer;
    return ask(planted, limit, TABLE_PEEK, false, &answer);
}

static void give_back(const struct planted *planted, const struct keyed_limit *limit, uint64_t end, uint64_t burst)
{
    const struct slot_rule rule = rule_of(limit);
    const uint64_t cost = slot_cost(&rule, limit->cost);
    table_give_back(keyed_slots(planted->table), &(struct table_slip){.hash = limit->hash,
                                                                      .now = planted->now,
                                                                      .start = planted->now,
                                                                      .end = end,
                                                                      .charged = cost,
                                                                      .unused = cost,
                                                                      .burst = burst});
}

static bool take_guaranteed(const struct planted *planted)
{
    if (planted->guaranteed == NULL) return false;
    if (planted->mistake.owed_by_look)
        return look(planted, planted->guaranteed) && take(planted, planted->guaranteed, true);
    return take(planted, planted->guaranteed, false);
}

static bool lend(const struct planted *planted)
{
    if (planted->mistake.lent_by_look) return look(planted, planted->parent) && take(planted, planted->parent, true);
    return take(planted, planted->parent, false);
}

/* The parent is charged before the guaranteed limit is asked. */
static bool take_parent_first(const struct planted *planted)
{
    struct table_answer answer;
    if (planted->guaranteed == NULL || !look(planted, planted->guaranteed)) return false;
    ask(planted, planted->parent, TABLE_TAKE, true, &answer);
    if (take(planted, planted->guaranteed, false)) return true;
    give_back(planted, planted->parent, answer.drained, rule_of(planted->parent).burst);
    return false;
}

static bool take_all(struct planted *planted, bool *borrowed)
{
    struct table_answer answer = {0};
    const struct mistake mistake = planted->mistake;
    *borrowed = false;
    if (planted->ceiling != NULL && !ask(planted, planted->ceiling, TABLE_TAKE, false, &answer)) return false;
    if (mistake.parent_kept && take_parent_first(planted)) return true;
    if (!mistake.parent_kept && take_guaranteed(planted)) {
        if (mistake.parent_refuses && !take(planted, planted->parent, false)) return false;
        return mistake.parent_forgotten || mistake.parent_refuses || take(planted, planted->parent, true);
    }
    *borrowed = planted->guaranteed != NULL;
    if (lend(planted)) return !mistake.borrowed_charged || take(planted, planted->guaranteed, true);
    if (planted->ceiling != NULL && !mistake.ceiling_kept)
        give_back(planted, planted->ceiling, answer.drained, rule_of(planted->ceiling).burst);
    return false;
}

static bool planted_take(weir_table *table, const struct keyed_limit limits[], const int first[], weir_ask *asks,
                         size_t count, weir_instant now, struct mistake mistake)
{
    const bool owed = (limits[0].rule->flags & RULE_GUARANTEED) != 0;
    struct planted planted = {.table = table, .parent = &limits[first[count - 1]], .now = now.ns, .mistake = mistake};
    if (owed) planted.guaranteed = &limits[0];
    if (first[1] > owed) planted.ceiling = &limits[owed];
    bool borrowed;
    const bool taken = take_all(&planted, &borrowed);
    for (size_t i = 0; i < count; i++)
        asks[i].decision = (weir_decision){.verdict = taken ? WEIR_ALLOW : WEIR_DENY, .start = now};
    if (borrowed) asks[0].decision.reserved = DECISION_BORROWED;
    return taken;
}

#define PLANTED(name, ...)                                                                                             \
    bool planted_tenants_##name(weir_table *table, const struct keyed_limit limits[], const int first[],               \
                                weir_ask *asks, size_t count, weir_instant now, const struct keyed_lent *lent,         \
                                uint32_t *events)                                                                      \
    {                                                                                                                  \
        (void)lent;                                                                                                    \
        (void)events;                                                                                                  \
        return planted_take(table, limits, first, asks, count, now, (struct mistake){__VA_ARGS__});                    \
    }

PLANTED(right, .owed_by_look = false)
PLANTED(owed_by_look, .owed_by_look = true)
PLANTED(lent_by_look, .lent_by_look = true)
PLANTED(parent_forgotten, .parent_forgotten = true)
PLANTED(parent_refuses, .parent_refuses = true)
PLANTED(ceiling_kept, .ceiling_kept = true)
PLANTED(parent_kept, .parent_kept = true)
PLANTED(borrowed_charged, .borrowed_charged = true)
