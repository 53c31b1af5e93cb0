/* SPDX-License-Identifier: MIT
   (plan, state, now, cost) -> (answer, next state): several limits, all or none.

   Every limit is asked first; only if all let the call pass is each charged.  So nothing has to be undone, and a
   refusal leaves every state as it was, but where refusals are counted.  As src/core/decide.c, in another unit; and
   simpler, because a limit that is kept here and lets a call pass does so later, too, if nobody else asks: so the
   longest wait is that of all.

   The limits of a tenant and of all that it is under are one list here, level by level; which of them a call is charged
   to, and where it has to have room, is said by core/tenants.h.

   Every input has an answer. */
#include "redis/micro/kinds.h"

int micro_holder(const struct micro_plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->rule[i].kind == MICRO_CONCURRENT) return (int)i;
    }
    return -1;
}

const struct kind *kind_of(const struct micro_rule *rule)
{
    switch (rule->kind) {
    case MICRO_GCRA:
        return gcra_kind();
    case MICRO_HYBRID:
        return hybrid_kind();
    case MICRO_LEAKY:
        return leaky_kind();
    case MICRO_FIXED:
        return fixed_kind();
    case MICRO_SLIDING:
        return sliding_kind();
    case MICRO_LOG:
        return log_kind();
    case MICRO_CONCURRENT:
        return concurrent_kind();
    default:
        return NULL;
    }
}

/* A question about all limits, and what each says of it. */
struct asked {
    const struct micro_plan *plan;
    struct micro_state *state;
    struct micro_log *log;
    uint64_t now, wait, cost[WEIR_LIMITS_MAX];
    struct micro_offer offer[WEIR_LIMITS_MAX];
    unsigned longest; /* the limit with the longest wait, the first of them */
    uint64_t retry;   /* that wait */
    unsigned by;      /* the level by whose guarantee it passes; as many as there are levels: it borrows */
};

static struct one one_of(const struct asked *asked, unsigned i)
{
    return (struct one){&asked->plan->rule[i], &asked->state->cell[i], asked->log == NULL ? NULL : &asked->log[i],
                        &asked->state->slots};
}

/* Of MICRO_NONE the burst is 0, of MICRO_UNLIMITED all. */
static bool possible(const struct micro_rule *rule, uint64_t cost)
{
    return cost <= rule->burst;
}

static struct micro_offer offer_of(const struct asked *asked, unsigned i)
{
    const struct one one = one_of(asked, i);
    const struct kind *kind = kind_of(one.rule);
    if (kind == NULL) return offer_after(possible(one.rule, asked->cost[i]) ? 0 : MICRO_FOREVER);
    return kind->offer(&one, asked->now, asked->cost[i], asked->wait);
}

static uint64_t room_of(const struct asked *asked, unsigned i)
{
    const struct one one = one_of(asked, i);
    const struct kind *kind = kind_of(one.rule);
    if (kind == NULL) return one.rule->kind == MICRO_UNLIMITED ? MICRO_ALL : 0;
    return kind->room(&one, asked->now);
}

static uint64_t full_of(const struct asked *asked, unsigned i)
{
    const struct one one = one_of(asked, i);
    const struct kind *kind = kind_of(one.rule);
    return kind == NULL ? 0 : kind->full(&one, asked->now);
}

static uint64_t idle_of(const struct asked *asked, unsigned i)
{
    const struct one one = one_of(asked, i);
    const struct kind *kind = kind_of(one.rule);
    if (kind == NULL || kind->idle == NULL) return full_of(asked, i);
    return kind->idle(&one, asked->now);
}

/* ---- tenants ---- */

static bool is_tenants(const struct micro_plan *plan)
{
    return plan->levels > 1;
}

/* Of a plan of tenants. */
static unsigned level_of(const struct micro_plan *plan, unsigned i)
{
    unsigned level = 0;
    while (i >= plan->first[level + 1]) level++;
    return level;
}

/* At the last level it is a limit like any other. */
static bool is_guaranteed(const struct micro_plan *plan, unsigned i)
{
    return is_tenants(plan) && (plan->rule[i].flags & MICRO_GUARANTEED) != 0 && level_of(plan, i) + 1 < plan->levels;
}

/* What a call by this level's guarantee needs to have room. */
static bool is_needed(const struct micro_plan *plan, unsigned i, unsigned by)
{
    const unsigned level = level_of(plan, i);
    return is_guaranteed(plan, i) ? level == by : level <= by;
}

static bool is_lent(const struct asked *asked, unsigned i)
{
    return is_guaranteed(asked->plan, i) && level_of(asked->plan, i) < asked->by;
}

static bool is_owed(const struct asked *asked, unsigned i)
{
    return is_tenants(asked->plan) && level_of(asked->plan, i) > asked->by;
}

/* How long until it can be owed: a level is no higher than a number of this unit.  Others than gcra keep what they
   can. */
static uint64_t owed_after(const struct asked *asked, unsigned i)
{
    const struct one one = one_of(asked, i);
    if (one.rule->kind == MICRO_NONE) return MICRO_FOREVER;
    if (one.rule->kind != MICRO_GCRA) return 0;
    const uint64_t ticks = multiply_capped(asked->cost[i], one.rule->permit);
    if (ticks == MICRO_MOST) return MICRO_FOREVER;
    return one.cell->word[GCRA_LEVEL] + ticks <= MICRO_MOST ? 0 : gcra_time_to(one.rule, one.cell, MICRO_MOST - ticks);
}

/* The limit that is waited for, of those that the call needs; or whose debt is. */
static void find_longest(struct asked *asked)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < asked->plan->count; i++) {
        const bool needed = is_needed(asked->plan, i, asked->by);
        const uint64_t owed = owed_after(asked, i), wait = needed ? most(asked->offer[i].wait, owed) : owed;
        if (wait > longest) asked->longest = i;
        longest = most(longest, wait);
    }
}

/* Where the shared limit has to have room, for a call that borrows, it leaves some to others. */
static void leave_spare(struct asked *asked)
{
    const unsigned i = asked->plan->weights.limit;
    const struct one one = one_of(asked, i);
    const uint64_t spare = weights_spare(asked->plan, asked->state, asked->now, asked->cost[i]);
    if (spare != 0) asked->offer[i] = gcra_kind()->offer(&one, asked->now, asked->cost[i] + spare, 0);
}

static void choose(struct asked *asked)
{
    const struct micro_plan *plan = asked->plan;
    struct tenant tenant[MICRO_LEVELS_MAX];
    if (plan->weights.weight != 0) leave_spare(asked);
    for (unsigned level = 0; level < plan->levels; level++) {
        struct tenant of = {0, UINT64_MAX, 0};
        for (unsigned i = plan->first[level]; i < plan->first[level + 1]; i++) {
            if (is_guaranteed(plan, i)) of.guaranteed = asked->offer[i].wait;
            else of.plain = most(of.plain, asked->offer[i].wait);
            of.held = most(of.held, owed_after(asked, i));
        }
        tenant[level] = of;
    }
    asked->by = (unsigned)tenants_choose(tenant, plan->levels, &asked->retry);
    find_longest(asked);
}

static void ask_all(struct asked *asked)
{
    asked->retry = 0;
    for (unsigned i = 0; i < asked->plan->count; i++) {
        asked->offer[i] = offer_of(asked, i);
        if (asked->offer[i].wait > asked->retry) asked->longest = i;
        asked->retry = most(asked->retry, asked->offer[i].wait);
    }
    if (is_tenants(asked->plan)) choose(asked);
}

/* Of several schedules the slowest is the one that the call can be on. */
static uint64_t late_of(const struct asked *asked, uint64_t delay)
{
    uint64_t late = MICRO_FOREVER;
    for (unsigned i = 0; i < asked->plan->count; i++) {
        if (asked->plan->rule[i].kind != MICRO_HYBRID) continue;
        const struct one one = one_of(asked, i);
        late = least(late, hybrid_late(&one, asked->now, asked->cost[i], delay));
    }
    return late == MICRO_FOREVER ? 0 : late;
}

/* true: a limit has something to remember of it. */
static bool commit(const struct asked *asked, micro_commit *verb_of(const struct kind *))
{
    bool remembers = false;
    for (unsigned i = 0; i < asked->plan->count; i++) {
        const struct one one = one_of(asked, i);
        const struct kind *kind = kind_of(one.rule);
        if (kind == NULL || asked->cost[i] == 0 || is_lent(asked, i)) continue;
        if (is_owed(asked, i) && one.rule->kind != MICRO_GCRA) kind->charge(&one, asked->now, asked->cost[i]);
        else verb_of(kind)(&one, asked->now, asked->cost[i]);
        remembers = true;
    }
    if (asked->by == asked->plan->levels) weights_count(asked->plan, asked->state, asked->now, asked->cost);
    return remembers;
}

static micro_commit *take_of(const struct kind *kind)
{
    return kind->take;
}

static micro_commit *charge_of(const struct kind *kind)
{
    return kind->charge;
}

/* ---- refusals ---- */

static bool counts_refused(const struct micro_rule *rule)
{
    return (rule->flags & MICRO_COUNTS_REFUSED) != 0;
}

/* Those that count their refusals count this one; then all are asked again how long the same call has to wait. */
static bool count_refusals(struct asked *asked)
{
    bool counted = false;
    for (unsigned i = 0; i < asked->plan->count; i++) {
        const struct one one = one_of(asked, i);
        if (asked->offer[i].wait == 0 || !counts_refused(one.rule)) continue;
        kind_of(one.rule)->refuse(&one, asked->now, asked->cost[i]);
        counted = true;
    }
    ask_all(asked);
    return counted;
}

/* The first that may never pass this cost. */
static bool find_never(const struct asked *asked, unsigned *limit)
{
    for (unsigned i = 0; i < asked->plan->count; i++) {
        if (possible(&asked->plan->rule[i], asked->cost[i])) continue;
        *limit = i;
        return true;
    }
    return false;
}

/* ---- what is said ---- */

static uint64_t left_of(const struct asked *asked, const uint64_t paid[], unsigned i)
{
    const uint64_t room = room_of(asked, i);
    return paid == NULL || room == MICRO_ALL || is_lent(asked, i) ? room : subtract_to_zero(room, paid[i]);
}

/* The most that would pass: by a guarantee, or borrowed. */
static void tell_left_of_tenants(const struct asked *asked, const uint64_t paid[], struct micro_answer *answer)
{
    const struct micro_plan *plan = asked->plan;
    bool any = false;
    for (unsigned by = 0; by <= plan->levels; by++) {
        uint64_t least_left = MICRO_ALL, limit = 0;
        bool stands = by == plan->levels;
        for (unsigned i = 0; i < plan->count; i++) {
            stands = stands || (is_guaranteed(plan, i) && level_of(plan, i) == by);
            if (!is_needed(plan, i, by) || left_of(asked, paid, i) >= least_left) continue;
            least_left = left_of(asked, paid, i);
            limit = i;
        }
        if (!stands || (any && least_left <= answer->remaining)) continue;
        any = true;
        answer->remaining = least_left;
        answer->limit = limit;
    }
}

/* Names the tightest limit, the first of them; `paid`: as if that had been taken, too. */
static void tell_left(const struct asked *asked, const uint64_t paid[], struct micro_answer *answer)
{
    answer->remaining = MICRO_ALL;
    if (is_tenants(asked->plan)) {
        tell_left_of_tenants(asked, paid, answer);
        return;
    }
    for (unsigned i = 0; i < asked->plan->count; i++) {
        const uint64_t left = left_of(asked, paid, i);
        if (left >= answer->remaining) continue;
        answer->limit = i;
        answer->remaining = left;
    }
}

static void tell_times(const struct asked *asked, struct micro_answer *answer)
{
    uint64_t idle = 0;
    for (unsigned i = 0; i < asked->plan->count; i++) idle = most(idle, idle_of(asked, i));
    if (asked->state->marks != 0) idle = most(idle, weights_idle(asked->state, asked->now));
    answer->idle = asked->now + idle;
    answer->full = most(full_of(asked, (unsigned)answer->limit), answer->retry);
}

static void tell_refusal(struct asked *asked, bool peek, struct micro_answer *answer)
{
    if (!peek) answer->changed = count_refusals(asked) || answer->changed;
    tell_left(asked, NULL, answer);
    unsigned limit = asked->longest;
    const bool tenants = is_tenants(asked->plan);
    const bool never = asked->retry == MICRO_FOREVER && (tenants || find_never(asked, &limit));
    answer->verdict = never ? WEIR_NEVER : WEIR_DENY;
    answer->limit = limit;
    answer->retry = never ? 0 : least(asked->retry, MICRO_ALL);
}

/* ---- the verbs ---- */

/* What only a verb that asks looks at is left as it is: costs, offers, the longest of them. */
static void begin(struct asked *asked, const struct micro_plan *plan, struct micro_state *state, struct micro_log *log,
                  uint64_t now, struct micro_answer *answer)
{
    asked->plan = plan;
    asked->state = state;
    asked->log = log;
    asked->now = least(now, MICRO_MOST);
    asked->by = 0;
    *answer = (struct micro_answer){.verdict = WEIR_ALLOW, .taken = asked->now};
    answer->changed = micro_prepare(plan, state, asked->now);
}

static void read_costs(struct asked *asked, const struct micro_ask *ask)
{
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        asked->cost[i] = i < asked->plan->count ? least(ask->cost[i], MICRO_MOST) : 0;
    }
    asked->wait = asked->plan->count == 1 ? least(ask->wait, MICRO_MOST) : 0;
}

void micro_take(const struct micro_plan *plan, struct micro_state *state, struct micro_log log[],
                const struct micro_ask *ask, struct micro_answer *answer)
{
    struct asked asked;
    begin(&asked, plan, state, log, ask->now, answer);
    read_costs(&asked, ask);
    ask_all(&asked);
    answer->delay = asked.retry == 0 && !is_tenants(plan) ? asked.offer[0].delay : 0;
    for (unsigned i = 0; i < plan->count && asked.retry == 0; i++) answer->lent |= (unsigned)is_lent(&asked, i) << i;
    answer->taken += subtract_to_zero(answer->delay, 1);
    answer->late = asked.retry == 0 ? late_of(&asked, answer->delay) : 0;
    if (asked.retry != 0) {
        tell_refusal(&asked, ask->peek, answer);
    } else if (ask->peek) {
        tell_left(&asked, asked.cost, answer);
    } else {
        answer->changed = commit(&asked, take_of) || answer->changed;
        tell_left(&asked, NULL, answer);
    }
    if (ask->peek) answer->changed = false;
    tell_times(&asked, answer);
}

void micro_charge(const struct micro_plan *plan, struct micro_state *state, struct micro_log log[],
                  const struct micro_ask *ask, struct micro_answer *answer)
{
    struct asked asked;
    unsigned never = 0;
    begin(&asked, plan, state, log, ask->now, answer);
    read_costs(&asked, ask);
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->rule[i].kind != MICRO_NONE || answer->verdict == WEIR_NEVER) continue;
        answer->verdict = WEIR_NEVER;
        never = i;
    }
    if (answer->verdict == WEIR_ALLOW) answer->changed = commit(&asked, charge_of) || answer->changed;
    tell_left(&asked, NULL, answer);
    if (answer->verdict == WEIR_NEVER) answer->limit = never;
    tell_times(&asked, answer);
}

void micro_settle(const struct micro_plan *plan, struct micro_state *state, struct micro_log log[], uint64_t now,
                  uint64_t taken, const uint64_t charged[], const uint64_t actual[], struct micro_answer *answer)
{
    struct asked asked;
    begin(&asked, plan, state, log, now, answer);
    for (unsigned i = 0; i < plan->count; i++) {
        const struct one one = one_of(&asked, i);
        const struct kind *kind = kind_of(one.rule);
        const uint64_t was = least(charged[i], MICRO_MOST), is = least(actual[i], MICRO_MOST);
        const bool lent = is_guaranteed(plan, i) && was == 0; /* of what was not charged nothing is settled */
        if (kind == NULL || was == is || lent) continue;
        answer->changed = true;
        if (is > was) kind->charge(&one, asked.now, is - was);
        else if (taken <= asked.now || one.rule->kind == MICRO_CONCURRENT) /* slots are known by their id */
            kind->give_back(&one, asked.now, taken, was, was - is);
    }
    tell_left(&asked, NULL, answer);
    tell_times(&asked, answer);
}
