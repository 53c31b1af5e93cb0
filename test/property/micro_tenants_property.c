/* SPDX-License-Identifier: MIT
   An engine's tenants against buckets of tokens.

   Two tenants under one parent, each by itself or under an organisation of its own, of which some are guaranteed.  The
   oracle has a bucket for each limit, which tenants within their guarantee may overdraw, and walks from the tenant up,
   as that of property/tenants does in a table.  Here it also says what remains, which limit is tight, when all is back
   and when the keys may be forgotten; and what a settle gives back, at once or later. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "property/property.h"
#include "redis/micro/micro.h"

enum { STEPS_MEAN = 60, BUCKETS_MAX = WEIR_LIMITS_MAX, TENANTS = 2, LATER = 1000 };
static const int64_t SECOND_US = 1000000;

/* A permit is a whole number of us in each of them. */
static const int64_t rates[] = {1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50};
enum { RATES = sizeof rates / sizeof rates[0] };

/* Its credit counts permits times us, and is below 0 while it owes. */
struct bucket {
    int64_t rate, burst, credit;
    unsigned level;
    bool guaranteed;
};

/* The buckets from `shared` on are those of the parent, which is the last level. */
struct tenant {
    struct micro_plan plan;
    struct micro_cell cell[WEIR_LIMITS_MAX];
    struct bucket bucket[BUCKETS_MAX];
    unsigned buckets, shared, levels;
    char text[400];
    struct micro_answer taken; /* the last one that passed, until it is settled */
    uint64_t cost;
};

struct subject {
    struct tenant tenant[TENANTS];
    uint64_t now;
};

/* ---- texts ---- */

static void add_limit(struct tenant *tenant, struct bucket bucket, const char *before)
{
    const size_t length = strlen(tenant->text);
    snprintf(tenant->text + length, sizeof tenant->text - length, "%s%" PRId64 "/s burst=%" PRId64 "%s", before,
             bucket.rate, bucket.burst, bucket.guaranteed ? " guaranteed" : "");
    bucket.credit = bucket.burst * SECOND_US;
    tenant->bucket[tenant->buckets++] = bucket;
}

/* At the last level a guaranteed limit is a plain one. */
static void add_level(struct prop *prop, struct tenant *tenant, bool last)
{
    const char *before = tenant->levels == 0 ? "" : " under ";
    int64_t rate = 1, burst = 1;
    const bool guaranteed = !prop_chance(prop, 4);
    if (guaranteed) {
        rate = rates[prop_pick(prop, RATES)];
        burst = 1 + (int64_t)prop_pick(prop, 5);
        add_limit(tenant, (struct bucket){rate, burst, 0, tenant->levels, true}, before);
        tenant->bucket[tenant->buckets - 1].guaranteed = !last;
    }
    for (int i = 0; i <= (int)prop_chance(prop, 4) - (int)guaranteed; i++) {
        const int64_t more = rates[prop_pick(prop, RATES)];
        const struct bucket plain = {more > rate ? more : rate, burst + (int64_t)prop_pick(prop, 10), 0, tenant->levels,
                                     false};
        add_limit(tenant, plain, i == 0 && !guaranteed ? before : "; ");
    }
    tenant->levels++;
}

static void begin(struct prop *prop, struct subject *subject)
{
    struct tenant parent;
    memset(subject, 0, sizeof *subject);
    memset(&parent, 0, sizeof parent);
    parent.levels = 1;
    add_level(prop, &parent, true);
    for (int i = 0; i < TENANTS; i++) {
        struct tenant *tenant = &subject->tenant[i];
        for (int more = (int)prop_pick(prop, 3); more >= 0; more--) add_level(prop, tenant, false);
        tenant->shared = tenant->buckets;
        strcat(tenant->text, parent.text);
        for (unsigned j = 0; j < parent.buckets; j++) {
            tenant->bucket[tenant->buckets] = parent.bucket[j];
            tenant->bucket[tenant->buckets++].level = tenant->levels;
        }
        tenant->levels++;
        prop_note(prop, "%d: %s", i, tenant->text);
        weir_error error = {0};
        prop_check(prop, micro_text_read(&tenant->plan, tenant->text, &error) == 0, "%s", error.message);
        for (unsigned j = 0; j < tenant->buckets; j++) tenant->cell[j].kind = MICRO_KINDS;
    }
    subject->now = UINT64_C(1763836800123456);
}

/* ---- the oracle ---- */

static void go_to(struct subject *subject, uint64_t now)
{
    for (int i = 0; i < TENANTS; i++) {
        for (unsigned j = 0; j < subject->tenant[i].buckets; j++) {
            struct bucket *bucket = &subject->tenant[i].bucket[j];
            const int64_t full = bucket->burst * SECOND_US;
            bucket->credit += bucket->rate * (int64_t)(now - subject->now);
            if (bucket->credit > full) bucket->credit = full;
        }
    }
    subject->now = now;
}

/* What is shared is so. */
static void share(struct subject *subject, const struct tenant *from)
{
    for (int i = 0; i < TENANTS; i++) {
        struct tenant *tenant = &subject->tenant[i];
        const unsigned shared = from->buckets - from->shared;
        if (tenant == from) continue;
        memcpy(&tenant->cell[tenant->shared], &from->cell[from->shared], shared * sizeof from->cell[0]);
        for (unsigned j = 0; j < shared; j++)
            tenant->bucket[tenant->shared + j].credit = from->bucket[from->shared + j].credit;
    }
}

static bool has_room(const struct bucket *bucket, uint64_t cost, uint64_t later)
{
    const int64_t full = bucket->burst * SECOND_US, then = bucket->credit + bucket->rate * (int64_t)later;
    return (then < full ? then : full) >= (int64_t)cost * SECOND_US;
}

/* The level by whose guarantee a call passes; as many as there are: it borrows; -1: it is refused. */
static int oracle_asks(const struct tenant *tenant, uint64_t cost, uint64_t later)
{
    for (unsigned level = 0; level < tenant->levels; level++) {
        bool guaranteed = false;
        for (unsigned i = 0; i < tenant->buckets; i++) {
            const struct bucket *bucket = &tenant->bucket[i];
            if (bucket->level != level) continue;
            const bool room = has_room(bucket, cost, later);
            if (!bucket->guaranteed && !room) return -1;
            guaranteed = guaranteed || (bucket->guaranteed && room);
        }
        if (guaranteed) return (int)level;
    }
    return (int)tenant->levels;
}

static bool is_lent(const struct bucket *bucket, int by)
{
    return bucket->guaranteed && (int)bucket->level < by;
}

static uint64_t to_full(const struct bucket *bucket)
{
    const int64_t missing = bucket->burst * SECOND_US - bucket->credit;
    return (uint64_t)((missing + bucket->rate - 1) / bucket->rate);
}

/* The most that would pass now. */
static uint64_t oracle_remaining(const struct tenant *tenant)
{
    uint64_t remaining = 0;
    while (remaining < LATER && oracle_asks(tenant, remaining + 1, 0) >= 0) remaining++;
    return remaining;
}

/* ---- an engine ---- */

static struct micro_state state_of(const struct tenant *tenant)
{
    struct micro_state state = {.count = tenant->buckets};
    memcpy(state.cell, tenant->cell, tenant->buckets * sizeof state.cell[0]);
    return state;
}

static void keep(struct tenant *tenant, const struct micro_state *state)
{
    memcpy(tenant->cell, state->cell, tenant->buckets * sizeof tenant->cell[0]);
}

static void check_left(struct prop *prop, const struct tenant *tenant, const struct micro_answer *answer, uint64_t now)
{
    uint64_t idle = 0;
    for (unsigned i = 0; i < tenant->buckets; i++) {
        if (to_full(&tenant->bucket[i]) > idle) idle = to_full(&tenant->bucket[i]);
    }
    prop_check(prop, answer->idle == now + idle, "idle in %" PRIu64 ", not %" PRIu64, answer->idle - now, idle);
    const uint64_t remaining = oracle_remaining(tenant), full = to_full(&tenant->bucket[answer->limit]);
    prop_check(prop, answer->remaining == remaining, "%" PRIu64 " remain, not %" PRIu64, answer->remaining, remaining);
    prop_check(prop, answer->full == (full > answer->retry ? full : answer->retry), "full in %" PRIu64, answer->full);
}

/* Of what it needs this one is the tightest. */
static void check_tight(struct prop *prop, const struct tenant *tenant, const struct micro_answer *answer)
{
    const struct bucket *bucket = &tenant->bucket[answer->limit];
    const bool tight = !has_room(bucket, answer->remaining + 1, 0);
    prop_check(prop, tight && (answer->remaining == 0 || has_room(bucket, answer->remaining, 0)),
               "limit %" PRIu64 " has not %" PRIu64, answer->limit, answer->remaining);
}

static void check_refused(struct prop *prop, const struct tenant *tenant, uint64_t cost,
                          const struct micro_answer *answer)
{
    const bool never = oracle_asks(tenant, cost, LATER * (uint64_t)SECOND_US) < 0;
    const struct bucket *bucket = &tenant->bucket[answer->limit];
    prop_check(prop, answer->verdict == (never ? WEIR_NEVER : WEIR_DENY), "verdict %d", answer->verdict);
    prop_check(prop, answer->lent == 0 && answer->delay == 0, "lent, or later");
    if (never) {
        prop_check(prop, answer->retry == 0 && !has_room(bucket, cost, LATER * (uint64_t)SECOND_US),
                   "never, after all");
        return;
    }
    prop_check(prop, oracle_asks(tenant, cost, answer->retry) >= 0, "refused at its retry");
    prop_check(prop, oracle_asks(tenant, cost, answer->retry - 1) < 0, "passes before its retry");
    prop_check(prop, has_room(bucket, cost, answer->retry) && !has_room(bucket, cost, answer->retry - 1),
               "limit %" PRIu64 " is not waited for", answer->limit);
}

static void check_lent(struct prop *prop, const struct tenant *tenant, int by, const struct micro_answer *answer)
{
    unsigned lent = 0;
    for (unsigned i = 0; i < tenant->buckets; i++) lent |= (unsigned)is_lent(&tenant->bucket[i], by) << i;
    prop_check(prop, answer->lent == lent, "lent %x, not %x", answer->lent, lent);
    prop_check(prop, answer->retry == 0 && answer->late == 0, "a wait of one that passes");
}

static void oracle_charges(struct tenant *tenant, int by, uint64_t cost)
{
    for (unsigned i = 0; i < tenant->buckets; i++) {
        if (!is_lent(&tenant->bucket[i], by)) tenant->bucket[i].credit -= (int64_t)cost * SECOND_US;
    }
}

/* What one that peeks is told is what it would be told if it took, but for a refusal. */
static void take(struct prop *prop, struct subject *subject, struct tenant *tenant)
{
    const uint64_t cost = prop_chance(prop, 4) ? prop_pick(prop, 12) : 1;
    struct micro_ask ask = {.now = subject->now, .peek = prop_chance(prop, 6), .wait = prop_pick(prop, 2) * LATER};
    for (unsigned i = 0; i < tenant->buckets; i++) ask.cost[i] = cost;
    struct micro_state state = state_of(tenant);
    struct micro_answer answer;
    const int by = oracle_asks(tenant, cost, 0);
    micro_take(&tenant->plan, &state, NULL, &ask, &answer);
    prop_note(prop, "%" PRIu64 ": %d %s %" PRIu64 ": verdict %d, by %d", subject->now, (int)(tenant - subject->tenant),
              ask.peek ? "peeks" : "takes", cost, answer.verdict, by);
    prop_check(prop, (answer.verdict == WEIR_ALLOW) == (by >= 0), "the oracle says by %d", by);
    prop_check(prop, answer.changed == (by >= 0 && cost != 0 && !ask.peek), "changed %d", answer.changed);
    struct tenant after = *tenant;
    if (by >= 0) {
        check_lent(prop, tenant, by, &answer);
        oracle_charges(&after, by, cost);
        struct micro_answer left = answer;
        const struct tenant *then = ask.peek ? tenant : &after;
        prop_check(prop, answer.remaining == oracle_remaining(&after), "%" PRIu64 " remain", answer.remaining);
        check_tight(prop, &after, &answer);
        left.remaining = oracle_remaining(then);
        check_left(prop, then, &left, subject->now);
    } else {
        check_refused(prop, tenant, cost, &answer);
        check_left(prop, tenant, &answer, subject->now);
    }
    if (!answer.changed) return;
    *tenant = after;
    keep(tenant, &state);
    tenant->taken = answer;
    tenant->cost = cost;
}

/* Of what it took nothing is given back while more is used than fits, and no more than has not drained. */
static void oracle_settles(struct bucket *bucket, uint64_t elapsed, uint64_t cost, uint64_t actual)
{
    if (actual >= cost) {
        bucket->credit -= (int64_t)(actual - cost) * SECOND_US;
        return;
    }
    if (bucket->credit < 0) return;
    int64_t left = (int64_t)cost * SECOND_US - bucket->rate * (int64_t)elapsed;
    const int64_t unused = (int64_t)(cost - actual) * SECOND_US;
    left = left < 0 ? 0 : left < unused ? left : unused;
    bucket->credit += left;
    if (bucket->credit > bucket->burst * SECOND_US) bucket->credit = bucket->burst * SECOND_US;
}

/* The tenant's own level keeps no debt, so there it is not settled to more. */
static void settle(struct prop *prop, struct subject *subject, struct tenant *tenant)
{
    uint64_t charged[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    struct micro_state state = state_of(tenant);
    struct micro_answer answer;
    if (tenant->cost == 0) return;
    const uint64_t used = prop_pick(prop, tenant->cost + 1);
    prop_note(prop, "%" PRIu64 ": %d settles %" PRIu64 " to %" PRIu64, subject->now, (int)(tenant - subject->tenant),
              tenant->cost, used);
    for (unsigned i = 0; i < tenant->buckets; i++) {
        const bool lent = (tenant->taken.lent >> i & 1) != 0;
        charged[i] = lent ? 0 : tenant->cost;
        actual[i] = used + (tenant->bucket[i].level > 0 ? prop_pick(prop, 3) : 0);
        if (!lent) oracle_settles(&tenant->bucket[i], subject->now - tenant->taken.taken, charged[i], actual[i]);
    }
    micro_settle(&tenant->plan, &state, NULL, subject->now, tenant->taken.taken, charged, actual, &answer);
    keep(tenant, &state);
    check_left(prop, tenant, &answer, subject->now);
    check_tight(prop, tenant, &answer);
    tenant->cost = 0;
}

/* ---- what happens ---- */

static uint64_t pick_gap(struct prop *prop, const struct tenant *tenant)
{
    const struct bucket *bucket = &tenant->bucket[prop_pick(prop, tenant->buckets)];
    const int64_t permit = SECOND_US / bucket->rate, missing = SECOND_US - bucket->credit;
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2: /* when this bucket has room again, or the us before */
        return missing <= 0 ? 0 : (uint64_t)((missing + bucket->rate - 1) / bucket->rate) - prop_pick(prop, 2);
    case 3:
        return (uint64_t)permit + prop_pick(prop, 3) - 1;
    case 4:
        return prop_pick(prop, (uint64_t)permit);
    default:
        return prop_chance(prop, 8) ? (uint64_t)(bucket->burst * permit + 10 * SECOND_US) : (uint64_t)permit / 3;
    }
}

static void property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    while (prop_more(prop, STEPS_MEAN)) {
        struct tenant *tenant = &subject.tenant[prop_pick(prop, TENANTS)];
        go_to(&subject, subject.now + pick_gap(prop, tenant));
        if (prop_chance(prop, 5)) settle(prop, &subject, tenant);
        else take(prop, &subject, tenant);
        share(&subject, tenant);
        prop_step(prop);
    }
}

PROPERTY("micro_tenants", property, 4000);
