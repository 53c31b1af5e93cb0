/* SPDX-License-Identifier: MIT
   A call of a tenant: asked under its own text and its parent's, as one (weir_table_take_all, core/tenants.h).

       ask 0   "\0NAME\0KEY"   the tenant's text: a guarantee, a ceiling, both or neither
       ask 1   "\0NAME\0"      the parent's, one state for all

   One answer is told of both: limits are numbered through, the tenant's first.  What is left is what would pass now,
   within the guarantee or by borrowing, beside what a weight leaves to others; a refusal says when the sooner of the
   two lets it pass. */
#include "serve/tenant.h"

#include <string.h>

#include "api/table/keyed.h"
#include "core/num.h"
#include "core/tenants.h"

enum { TENANT, PARENT };

static void fill_asks(const struct call *call, uint64_t cost, weir_ask asks[TENANT_LEVELS])
{
    const size_t name = strlen(call->policy_limit->name) + 2;
    asks[TENANT] = (weir_ask){.plan = call->under.plan, .key = {call->key.bytes, call->key.size}, .cost = cost};
    asks[PARENT] = (weir_ask){.plan = call->under.parent, .key = {call->key.bytes, name}, .cost = cost};
}

/* ---- how it stands ---- */

/* Of the limits of one ask: what is left, and how long until this cost passes; and which plain limits say so. */
struct level {
    uint64_t guaranteed, plain;
    struct tenant wait;
    unsigned tightest, latest;
};

static uint64_t wait_of(const weir_decision *decision)
{
    return decision->verdict == WEIR_NEVER ? UINT64_MAX : decision_retry_ns(decision);
}

/* lent: what the parent's limit has to spare for others; NULL: the ask is the tenant's. */
static struct level look_at(weir_table *table, const weir_ask *ask, const struct keyed_lent *lent, uint64_t now_ns)
{
    const int limits = weir_plan_limits(ask->plan);
    struct level level = {.guaranteed = 0, .plain = UINT64_MAX, .wait = {.guaranteed = UINT64_MAX}};
    for (int i = 0; i < limits; i++) {
        const uint64_t spare = lent != NULL && i == lent->limit ? lent->spare : 0;
        const weir_decision decision =
            keyed_peek(table, ask->plan, ask->key, now_ns, i, add_saturating(ask->cost, spare));
        const uint64_t left = decision.verdict == WEIR_ALLOW ? add_saturating(decision.remaining, ask->cost)
                                                             : subtract_to_zero(decision.remaining, spare);
        if (i == 0 && lent == NULL && guarantee_of(ask->plan)) {
            level.guaranteed = left;
            level.wait.guaranteed = wait_of(&decision);
            continue;
        }
        if (wait_of(&decision) > level.wait.plain) level.latest = (unsigned)i;
        level.wait.plain = most(level.wait.plain, wait_of(&decision));
        if (left < level.plain) level.tightest = (unsigned)i;
        level.plain = least(level.plain, left);
    }
    return level;
}

/* What is left now and would be behind the call; wait_ns UINT64_MAX: never. */
struct standing {
    uint64_t left, left_behind, wait_ns;
    unsigned limit;
};

static struct standing standing_of(weir_table *table, const weir_ask asks[TENANT_LEVELS], uint64_t now_ns)
{
    struct keyed_lent lent;
    keyed_lend(table, asks, TENANT_LEVELS, now_ns, &lent);
    const struct level own = look_at(table, &asks[TENANT], NULL, now_ns);
    const struct level above = look_at(table, &asks[PARENT], &lent, now_ns);
    const struct tenant waits[TENANT_LEVELS] = {own.wait, above.wait};
    const bool waits_own = own.wait.plain != 0 && own.wait.plain >= above.wait.plain;
    const bool tight_own = own.wait.plain == 0 && own.plain < most(own.guaranteed, above.plain);
    struct standing standing = {.left = least(own.plain, most(own.guaranteed, above.plain))};
    const bool borrows = tenants_choose(waits, TENANT_LEVELS, &standing.wait_ns) != TENANT;
    const uint64_t cost = asks[TENANT].cost, guaranteed = subtract_to_zero(own.guaranteed, borrows ? 0 : cost);
    standing.left_behind =
        least(subtract_to_zero(own.plain, cost), most(guaranteed, subtract_to_zero(above.plain, cost)));
    standing.limit =
        (unsigned)weir_plan_limits(asks[TENANT].plan) + (standing.wait_ns != 0 ? above.latest : above.tightest);
    if (waits_own) standing.limit = own.latest;
    if (standing.wait_ns == 0 && tight_own) standing.limit = own.tightest;
    return standing;
}

/* ---- answers ---- */

static weir_decision refusal_of(const struct standing *standing, uint64_t now_ns)
{
    weir_decision decision = {.verdict = WEIR_DENY, .limit = standing->limit, .start = {now_ns}};
    decision.remaining = standing->left;
    if (standing->wait_ns == UINT64_MAX) decision.verdict = WEIR_NEVER;
    else decision.retry_ns = most(standing->wait_ns, 1);
    return decision;
}

/* What is left is told as of after it. */
static weir_decision grant_of(const struct standing *standing, uint64_t now_ns, uint64_t left, uint64_t charged)
{
    weir_decision decision = {.verdict = WEIR_ALLOW, .limit = standing->limit, .start = {now_ns}};
    decision.remaining = left;
    decision.charged = charged;
    return decision;
}

static weir_decision peek(weir_table *table, weir_ask asks[TENANT_LEVELS], uint64_t now_ns)
{
    const struct standing standing = standing_of(table, asks, now_ns);
    for (unsigned i = 0; i < TENANT_LEVELS; i++)
        asks[i].decision = keyed_peek(table, asks[i].plan, asks[i].key, now_ns, -1, asks[i].cost);
    if (standing.wait_ns != 0) return refusal_of(&standing, now_ns);
    return grant_of(&standing, now_ns, standing.left_behind, 0);
}

/* Whatever the balance, of both. */
static void charge(weir_table *table, weir_ask asks[TENANT_LEVELS], uint64_t now_ns)
{
    for (unsigned i = 0; i < TENANT_LEVELS; i++) {
        const struct ask ask = {.now_ns = now_ns, .cost = asks[i].cost, .charge = true};
        asks[i].decision = keyed_ask(table, asks[i].plan, asks[i].key, &ask);
    }
}

/* Who has no guarantee only borrows. */
static void count_borrowed(struct batch *batch, const struct call *call, const weir_ask *tenant)
{
    const bool borrowed = weir_borrowed(&tenant->decision) || !guarantee_of(tenant->plan);
    stats_add(&batch->stats->limit[call->number].borrowed, borrowed && tenant->cost != 0);
}

static weir_decision take(struct batch *batch, const struct call *call, weir_ask asks[TENANT_LEVELS])
{
    weir_table *table = call->under.table;
    const uint64_t now_ns = batch->now_ns;
    if (call->charge) {
        charge(table, asks, now_ns);
    } else if (!weir_table_take_all(table, asks, TENANT_LEVELS, (weir_instant){now_ns})) {
        const struct standing refused = standing_of(table, asks, now_ns);
        return refusal_of(&refused, now_ns);
    } else {
        count_borrowed(batch, call, &asks[TENANT]);
    }
    const struct standing after = standing_of(table, asks, now_ns);
    return grant_of(&after, now_ns, after.left, call->cost);
}

void tenant_ask(struct batch *batch, unsigned number)
{
    const struct call *call = &batch->call[number];
    struct call_each *each = &batch->each[call->each - batch->each];
    weir_ask asks[TENANT_LEVELS];
    fill_asks(call, call->cost, asks);
    if (call->peek) {
        batch->ask[number].decision = peek(call->under.table, asks, batch->now_ns);
    } else {
        batch->ask[number].decision = take(batch, call, asks);
    }
    for (unsigned i = 0; i < TENANT_LEVELS; i++) each->of[i] = asks[i].decision;
}

uint64_t tenant_full_ns(const struct batch *batch, const struct call *call)
{
    const struct call_each *each = &batch->each[call->each - batch->each];
    const uint64_t own_ns = weir_table_full_ns(call->under.table, call->under.plan, &each->of[TENANT]);
    return most(own_ns, weir_table_full_ns(call->under.table, call->under.parent, &each->of[PARENT]));
}

/* What is not the limit that a decision names gives back rather less. */
void tenant_settle(const struct batch *batch, const struct call *call, const weir_decision of[TENANT_LEVELS],
                   uint64_t cost, uint64_t actual)
{
    uint64_t costs[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    weir_ask asks[TENANT_LEVELS];
    fill_asks(call, cost, asks);
    cost_alike(costs, WEIR_LIMITS_MAX, cost);
    cost_alike(used, WEIR_LIMITS_MAX, actual);
    for (unsigned i = 0; i < TENANT_LEVELS; i++) {
        weir_decision decision = of[i];
        keyed_settle(call->under.table, asks[i].plan, asks[i].key, batch->now_ns, &decision, costs, used, NULL);
    }
}
