/* SPDX-License-Identifier: MIT
   What is answered while the engine does not.

       local    this node's share: rate / N, from max(1, B / N), in a table of the pool; N nodes together let pass
                (N'/N)(B + r t) + N' where N' of them live; while N is not known (nodes.c): nothing
       open     all passes                closed    nothing does

   A share begins with what the engine last said remained, divided by N; what it lets pass is charged to the engine when
   that is back (owed.c).  It is kept by gcra, whatever algorithm the limit has: as many at once as the limit lets
   through after a rest, divided by N, then at its rate.  What one call may cost is the limit's own burst in the engine;
   here it is the share's.

   Waits for nobody; memory is that of the table, keys_max keys. */
#include "redis/client/local/away.h"

#include "api/table/keyed.h"
#include "core/num.h"
#include "redis/client/engine.h"
#include "redis/client/limit.h"
#include "redis/client/local/owed.h"
#include "redis/client/wire.h"

/* ---- a share ---- */

static void share_of(struct limit *share, const struct limit *limit, const struct rule *rule, uint64_t nodes)
{
    const uint64_t at_once = facts_at_once(limit, rule);
    *share = (struct limit){.count = limit->count, .algorithm = ALGORITHM_GCRA, .burst_kind = AMOUNT_COUNT};
    share->period_ns = multiply_divide_floor(limit->period_ns, nodes, 1);
    share->burst = most(1, at_once / nodes);
    share->start = START_FULL;
}

void away_plan(weir_plan *share, const weir_plan *plan, uint64_t nodes)
{
    const struct plan *const whole = plan_inside_const(plan);
    struct plan *const part = plan_inside(share);
    *share = *plan;
    for (uint64_t i = 0; i < whole->count; i++) {
        const uint8_t algorithm = whole->limit[i].algorithm;
        if (algorithm == ALGORITHM_NONE || algorithm == ALGORITHM_UNLIMITED) continue;
        share_of(&part->limit[i], &whole->limit[i], &whole->rule[i], nodes);
        part->rule[i] = (struct rule){0};
        part->interval[i] = 0; /* what cannot be said (a permit in a thousand years) fits no table: it never passes */
        if (limit_compile(&part->limit[i], &part->rule[i]).message != NULL) continue;
        part->interval[i] = slot_interval(&part->limit[i], &part->rule[i]);
    }
}

/* NULL: nobody knows how large it is. */
static const weir_plan *share_for(struct weir_engine *engine, const weir_engine_limit *limit)
{
    struct away_share *const share = &engine->share[limit->text->number % AWAY_SHARES];
    const uint64_t nodes = nodes_known(engine->pool, engine->now_ns);
    if (nodes == 0) return NULL;
    if (share->nodes == nodes && share->limit == limit->text->number) return &share->plan;
    away_plan(&share->plan, &limit->plan, nodes);
    share->limit = limit->text->number;
    share->nodes = nodes;
    return &share->plan;
}

uint64_t away_full(const struct pool *pool)
{
    return keyed_found_full(pool->table) + atomic_load(&pool->owed_full);
}

/* ---- what it begins with ---- */

/* What it has beyond that is taken out; of a list, of each limit, since the engine says what passes all of them. */
void away_heard(struct weir_engine *engine, const weir_engine_ask *ask)
{
    uint64_t each[WEIR_LIMITS_MAX];
    const bool asks = ask->verb == WEIR_ASK_TAKE || ask->verb == WEIR_ASK_PEEK || ask->verb == WEIR_ASK_CHARGE;
    const weir_plan *const share = asks && ask->limit->away == WEIR_AWAY_LOCAL ? share_for(engine, ask->limit) : NULL;
    if (share == NULL) return;
    weir_table *const table = engine->pool->table;
    for (unsigned i = 0; i < ask->limit->count; i++) each[i] = 1;
    struct ask look = {.now_ns = engine->now_ns, .each = each, .peek = true};
    const uint64_t part = ask->decision.remaining / nodes_known(engine->pool, engine->now_ns);
    const uint64_t has = keyed_ask(table, share, ask->key, &look).remaining;
    if (has <= part) return;
    for (unsigned i = 0; i < ask->limit->count; i++) each[i] = has - part;
    keyed_ask(table, share, ask->key, &(struct ask){.now_ns = engine->now_ns, .each = each, .charge = true});
}

/* ---- answers ---- */

static void all_passes(weir_engine_ask *ask, uint64_t now_ns)
{
    ask->decision = (weir_decision){.verdict = WEIR_ALLOW, .start = {now_ns}};
    ask->decision.charged = ask->verb == WEIR_ASK_PEEK ? 0 : wire_cost(ask, 0);
}

static void nothing_passes(struct pool *pool, weir_engine_ask *ask, unsigned server, uint64_t now_ns)
{
    ask->decision = (weir_decision){.verdict = WEIR_DENY, .start = {now_ns}};
    ask->decision.retry_ns = most(1, pool_retry_ns(pool, server, now_ns));
    if (ask->verb == WEIR_ASK_CHARGE) all_passes(ask, now_ns); /* what was used was used */
}

static void ask_share(struct pool *pool, weir_engine_ask *ask, unsigned server, const weir_plan *share, uint64_t now_ns)
{
    const bool peek = ask->verb == WEIR_ASK_PEEK;
    uint64_t cost[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < ask->limit->count; i++) cost[i] = wire_cost(ask, i);
    ask->decision =
        keyed_ask(pool->table, share, ask->key,
                  &(struct ask){.now_ns = now_ns, .each = cost, .peek = peek, .charge = ask->verb == WEIR_ASK_CHARGE});
    ask->full_ns = weir_table_full_ns(pool->table, share, &ask->decision);
    ask->decision.end = 0; /* of the table's; the engine knows nothing of it */
    const bool passes = ask->decision.verdict == WEIR_ALLOW && !peek;
    if (passes && !owed_add(pool, ask, share, cost, now_ns)) nothing_passes(pool, ask, server, now_ns);
    /* More than the share holds may pass when the engine is back. */
    if (ask->decision.verdict == WEIR_NEVER) nothing_passes(pool, ask, server, now_ns);
}

/* Nothing is given back, and what was used in addition is charged: whatever the engine took, or did not. */
static void settle_alone(struct pool *pool, weir_engine_ask *ask, const weir_plan *share, uint64_t now_ns)
{
    uint64_t more[WEIR_LIMITS_MAX];
    bool any = false;
    for (unsigned i = 0; i < ask->limit->count; i++) {
        more[i] = subtract_to_zero(wire_actual(ask, i), wire_cost(ask, i));
        any = any || more[i] != 0;
    }
    ask->decision = (weir_decision){.verdict = WEIR_DENY, .start = {now_ns}};
    if (ask->taken != 0) return;
    ask->decision.verdict = WEIR_ALLOW;
    const struct ask charge = {.now_ns = now_ns, .each = more, .charge = true};
    if (!any || share == NULL || ask->limit->away != WEIR_AWAY_LOCAL) return;
    keyed_ask(pool->table, share, ask->key, &charge);
    owed_add(pool, ask, share, more, now_ns);
}

/* What nobody but the engine can do. */
static bool is_unheard(weir_verb verb)
{
    return verb == WEIR_ASK_FORGET || verb == WEIR_ASK_SECRET || verb == WEIR_ASK_RENEW || verb == WEIR_ASK_RELEASE;
}

void away_answer(struct weir_engine *engine, weir_engine_ask *ask, unsigned server)
{
    struct pool *const pool = engine->pool;
    const uint64_t now_ns = engine->now_ns;
    ask->full_ns = 0;
    ask->from = WEIR_FROM_AWAY;
    if (ask->verb == WEIR_ASK_SETTLE) {
        settle_alone(pool, ask, share_for(engine, ask->limit), now_ns);
    } else if (is_unheard(ask->verb)) {
        ask->decision = (weir_decision){.verdict = WEIR_DENY, .start = {now_ns}};
    } else if (ask->limit->away == WEIR_AWAY_OPEN) {
        all_passes(ask, now_ns);
    } else if (ask->limit->away == WEIR_AWAY_CLOSED) {
        nothing_passes(pool, ask, server, now_ns);
    } else {
        const weir_plan *const own = share_for(engine, ask->limit);
        if (own != NULL) ask_share(pool, ask, server, own, now_ns);
        else nothing_passes(pool, ask, server, now_ns);
    }
}
