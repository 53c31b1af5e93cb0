/* SPDX-License-Identifier: MIT
   Tenants against buckets of tokens.

   A tree of tenants, one or two levels under a parent, whose guarantees are at most what is above them.  The oracle has
   a bucket for each limit, which tenants within their guarantee may overdraw, and walks from the tenant up.  Whatever
   adversaries call, when, at what cost, and give back: every call passes, borrows and is refused as the oracle says; a
   refusal passes at its retry and not a ns before; in no window more passes than the bound; and a tenant that stays
   within its guarantee is never refused.  At the end one tenant takes all that it gets: it is all that is idle. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/table/keyed.h"
#include "property/property.h"

enum { NODES_MAX = 8, PATH_MAX_HERE = 3, LIMITS = 3, LOG_MAX = 400, STEPS_MEAN = 120, GREEDY_STEPS = 40 };
static const int64_t SECOND_NS = 1000000000;

/* A permit is a whole number of ns in each of them. */
static const int64_t rates[] = {1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50};
enum { RATES = sizeof rates / sizeof rates[0] };

/* A bucket; its credit counts permits times ns, and is below 0 while it owes. */
struct bucket {
    int64_t rate, burst, credit;
};

/* The first bucket is the guaranteed one, if there is one. */
struct node {
    weir_plan plan;
    char key[4], text[80];
    struct bucket bucket[LIMITS];
    int buckets, above; /* above: the parent's number; -1: it is the parent of all */
    bool guaranteed, calm;
};

struct passed {
    int64_t at, cost;
};

struct subject {
    weir_table *table;
    struct node node[NODES_MAX];
    int nodes;
    struct passed passed[LOG_MAX];
    int count;
    int64_t begun, now; /* ns */
};

/* ---- the tree ---- */

static void add_limit(struct prop *prop, struct node *node, int64_t rate, int64_t burst, const char *more)
{
    const size_t length = strlen(node->text), room = sizeof node->text - length;
    const int added = snprintf(node->text + length, room, "%s%" PRId64 "/s burst=%" PRId64 "%s",
                               node->buckets == 0 ? "" : "; ", rate, burst, more);
    prop_check(prop, (size_t)added < room, "the text is too long");
    node->bucket[node->buckets++] = (struct bucket){rate, burst, burst * SECOND_NS};
}

static int64_t pick_rate(struct prop *prop, int64_t most)
{
    int fitting = 0;
    while (fitting < RATES && rates[fitting] <= most) fitting++;
    return fitting == 0 ? 0 : rates[prop_pick(prop, (uint64_t)fitting)];
}

/* Returns how much of the budget it is guaranteed. */
static int64_t add_node(struct prop *prop, struct subject *subject, int above, int64_t budget)
{
    struct node *node = &subject->node[subject->nodes];
    const int64_t guaranteed = above < 0 || prop_chance(prop, 5) ? 0 : pick_rate(prop, budget);
    int64_t burst = 0;
    *node = (struct node){.above = above, .guaranteed = guaranteed != 0};
    snprintf(node->key, sizeof node->key, "%d", subject->nodes++);
    if (guaranteed != 0) {
        burst = 1 + (int64_t)prop_pick(prop, 5);
        add_limit(prop, node, guaranteed, burst, " guaranteed");
    }
    const bool ceiling = above < 0 || guaranteed == 0 || prop_chance(prop, 2);
    for (int i = 0; ceiling && i <= (int)prop_chance(prop, 4); i++) {
        const int64_t rate = above < 0 ? rates[3 + prop_pick(prop, RATES - 3)] : guaranteed + pick_rate(prop, 50);
        if (SECOND_NS % rate != 0) continue;
        add_limit(prop, node, rate, burst + 1 + (int64_t)prop_pick(prop, 10), "");
    }
    if (node->buckets == 0) add_limit(prop, node, 50, 20, "");
    node->calm = prop_chance(prop, 3);
    weir_error error;
    prop_check(prop, weir_plan_parse(&node->plan, node->text, WEIR_ADMIT, &error) == 0, "%s: %s", node->text,
               error.message);
    prop_note(prop, "%s under %d: %s%s", node->key, above, node->text, node->calm ? ", calm" : "");
    return guaranteed;
}

/* What its limits let it guarantee. */
static int64_t budget_of(const struct node *node)
{
    int64_t budget = node->bucket[0].rate;
    for (int i = 1; i < node->buckets; i++)
        if (node->bucket[i].rate < budget) budget = node->bucket[i].rate;
    return node->above >= 0 && !node->guaranteed ? 0 : budget;
}

static void check_sum(struct prop *prop, const struct subject *subject, int above)
{
    const weir_plan *below[NODES_MAX];
    weir_error error = {0};
    size_t count = 0;
    for (int i = 0; i < subject->nodes; i++)
        if (subject->node[i].above == above) below[count++] = &subject->node[i].plan;
    prop_check(prop, weir_plan_check_tenants(&subject->node[above].plan, below, count, &error) == 0, "%s",
               error.message);
}

static void add_children(struct prop *prop, struct subject *subject, int above, int count)
{
    int64_t budget = budget_of(&subject->node[above]);
    for (int i = 0; i < count; i++) budget -= add_node(prop, subject, above, budget);
    check_sum(prop, subject, above);
}

static void begin(struct prop *prop, struct subject *subject)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_plan widest;
    weir_error error;
    memset(subject, 0, sizeof *subject);
    add_node(prop, subject, -1, 0);
    const bool nested = prop_chance(prop, 2);
    add_children(prop, subject, 0, 1 + (int)prop_pick(prop, nested ? 2 : 4));
    for (int above = 1, last = subject->nodes; nested && above < last; above++)
        add_children(prop, subject, above, 1 + (int)prop_pick(prop, 2));
    weir_plan_parse(&widest, "1/s; 1/s; 1/s", WEIR_ADMIT, NULL);
    options.keys_max = 100;
    options.sharing = WEIR_PRIVATE;
    if (prop_chance(prop, 2)) options.plan = &widest;
    prop_note(prop, "%s slots", options.plan != NULL ? "wide" : "16-byte");
    prop_check(prop, weir_table_open(&subject->table, &options, &error) == 0, "%s", error.message);
    subject->now = subject->begun = (int64_t)weir_now().ns;
}

/* ---- the oracle ---- */

static void go_to(struct subject *subject, int64_t now)
{
    for (int i = 0; i < subject->nodes; i++) {
        for (int j = 0; j < subject->node[i].buckets; j++) {
            struct bucket *bucket = &subject->node[i].bucket[j];
            bucket->credit += bucket->rate * (now - subject->now);
            if (bucket->credit > bucket->burst * SECOND_NS) bucket->credit = bucket->burst * SECOND_NS;
        }
    }
    subject->now = now;
}

/* A guaranteed limit with nothing above it is a plain one. */
static bool is_guaranteed(const struct node *node)
{
    return node->guaranteed && node->above >= 0;
}

static bool plain_pass(const struct node *node, int64_t cost)
{
    bool pass = true;
    for (int i = is_guaranteed(node); i < node->buckets; i++) pass = pass && node->bucket[i].credit >= cost * SECOND_NS;
    return pass;
}

/* The node whose guarantee a call passes by; NODES_MAX: it borrows; -1: refused. */
static int oracle_asks(const struct subject *subject, int from, int64_t cost)
{
    for (int i = from; i >= 0; i = subject->node[i].above) {
        const struct node *node = &subject->node[i];
        if (!plain_pass(node, cost)) return -1;
        if (is_guaranteed(node) && node->bucket[0].credit >= cost * SECOND_NS) return i;
    }
    return NODES_MAX;
}

/* by: as above.  cost below 0 gives back. */
static void oracle_charges(struct subject *subject, int from, int by, int64_t cost)
{
    bool behind = false;
    for (int i = from; i >= 0; i = subject->node[i].above) {
        struct node *node = &subject->node[i];
        behind = behind || i == by;
        for (int j = is_guaranteed(node) && !behind; j < node->buckets; j++) {
            int64_t *credit = &node->bucket[j].credit;
            *credit -= cost * SECOND_NS;
        }
    }
}

static bool oracle_passes_at(const struct subject *subject, int from, int64_t cost, int64_t when)
{
    static struct subject later;
    later = *subject;
    go_to(&later, when);
    return oracle_asks(&later, from, cost) >= 0;
}

/* ---- calls ---- */

static size_t path_of(struct subject *subject, int from, uint64_t cost, weir_ask asks[])
{
    size_t count = 0;
    for (int i = from; i >= 0; i = subject->node[i].above)
        asks[count++] = (weir_ask){&subject->node[i].plan, weir_key_text(subject->node[i].key), cost, {0}};
    return count;
}

static void check_bound(struct prop *prop, const struct subject *subject)
{
    const struct bucket *limits = subject->node[0].bucket;
    int64_t bursts = 0, sum = 0;
    const int64_t end = subject->passed[subject->count - 1].at;
    for (int i = 1; i < subject->nodes; i++)
        if (subject->node[i].guaranteed) bursts += subject->node[i].bucket[0].burst;
    for (int i = subject->count - 1; i >= 0; i--) {
        sum += subject->passed[i].cost;
        for (int j = 0; j < subject->node[0].buckets; j++)
            prop_check(prop,
                       sum * SECOND_NS <=
                           (limits[j].burst + bursts) * SECOND_NS + limits[j].rate * (end - subject->passed[i].at),
                       "%" PRId64 " in %" PRId64 " ns", sum, end - subject->passed[i].at);
    }
}

static void check_taken(struct prop *prop, struct subject *subject, int from, int by, weir_ask asks[], size_t count)
{
    int node = from;
    bool behind = false;
    for (size_t i = 0; i < count; i++, node = subject->node[node].above) {
        behind = behind || node == by;
        const bool borrows = is_guaranteed(&subject->node[node]) && !behind;
        prop_check(prop, weir_borrowed(&asks[i].decision) == borrows, "ask %zu: borrowed is not %d", i, borrows);
        prop_check(prop, asks[i].decision.charged == asks[i].cost, "ask %zu: charged", i);
    }
}

static void check_refused(struct prop *prop, const struct subject *subject, int from, int64_t cost,
                          const weir_ask asks[], size_t count)
{
    uint64_t retry_ns = 0;
    bool never = false;
    for (size_t i = 0; i < count; i++) {
        never = never || asks[i].decision.verdict == WEIR_NEVER;
        if (asks[i].decision.verdict == WEIR_DENY && asks[i].decision.retry_ns > retry_ns)
            retry_ns = asks[i].decision.retry_ns;
    }
    prop_check(prop, never || retry_ns != 0, "refused by nobody");
    if (never) {
        prop_check(prop, !oracle_passes_at(subject, from, cost, subject->now + 1000 * SECOND_NS), "not never");
        return;
    }
    const int64_t at = subject->now + (int64_t)retry_ns;
    prop_check(prop, oracle_passes_at(subject, from, cost, at), "refused at its retry");
    prop_check(prop, !oracle_passes_at(subject, from, cost, at - 1), "passes before its retry");
}

/* Of several limits of one ask the decision has the end of one only, and the others give back rather less. */
static bool gives_all_back(const struct subject *subject, int from, int by)
{
    bool all = true, behind = false;
    for (int i = from; i >= 0; i = subject->node[i].above) {
        const struct node *node = &subject->node[i];
        behind = behind || i == by;
        all = all && node->buckets - (is_guaranteed(node) && !behind) <= 1;
    }
    return all;
}

static bool call(struct prop *prop, struct subject *subject, int from, int64_t cost)
{
    weir_ask asks[PATH_MAX_HERE];
    const size_t count = path_of(subject, from, (uint64_t)cost, asks);
    const int by = oracle_asks(subject, from, cost);
    const bool taken = weir_table_take_all(subject->table, asks, count, (weir_instant){(uint64_t)subject->now});
    prop_step(prop);
    prop_note(prop, "%" PRId64 ": %d takes %" PRId64 ": %s, by %d", subject->now - subject->begun, from, cost,
              taken ? "taken" : "refused", by);
    for (size_t i = 0; i < count && taken != (by >= 0); i++)
        prop_note(prop, "ask %zu: verdict %u, limit %u, retry %" PRIu64, i, asks[i].decision.verdict,
                  asks[i].decision.limit, asks[i].decision.retry_ns);
    prop_check(prop, taken == (by >= 0), "the oracle says by %d", by);
    if (!taken) {
        check_refused(prop, subject, from, cost, asks, count);
        return false;
    }
    check_taken(prop, subject, from, by, asks, count);
    oracle_charges(subject, from, by, cost);
    if (gives_all_back(subject, from, by) && prop_chance(prop, 4)) {
        for (size_t i = 0; i < count; i++) {
            const uint64_t charged[LIMITS] = {asks[i].cost, asks[i].cost, asks[i].cost}, none[LIMITS] = {0};
            keyed_settle(subject->table, asks[i].plan, asks[i].key, (uint64_t)subject->now, &asks[i].decision, charged,
                         none, NULL);
        }
        prop_note(prop, "gives it back");
        oracle_charges(subject, from, by, -cost);
        return true;
    }
    if (subject->count < LOG_MAX) subject->passed[subject->count++] = (struct passed){subject->now, cost};
    if (subject->count < LOG_MAX) check_bound(prop, subject);
    return true;
}

static bool has_tenants(const struct subject *subject, int above)
{
    bool has = false;
    for (int i = 0; i < subject->nodes; i++) has = has || subject->node[i].above == above;
    return has;
}

/* Calm tenants only take what they are guaranteed, and get it. */
static void call_somebody(struct prop *prop, struct subject *subject)
{
    const int from = (int)prop_pick(prop, (uint64_t)subject->nodes);
    const struct node *node = &subject->node[from];
    const int64_t cost = prop_chance(prop, 4) ? 1 + (int64_t)prop_pick(prop, 12) : 1;
    const bool calm = node->calm && is_guaranteed(node) && !has_tenants(subject, from);
    if (calm && node->bucket[0].credit < cost * SECOND_NS) return;
    const bool passed = call(prop, subject, from, cost);
    prop_check(prop, !calm || passed, "a calm tenant is refused");
}

static int64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const struct node *node = &subject->node[prop_pick(prop, (uint64_t)subject->nodes)];
    const struct bucket *bucket = &node->bucket[prop_pick(prop, (uint64_t)node->buckets)];
    const int64_t permit = SECOND_NS / bucket->rate;
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2: /* when this bucket has room again, or the ns before */
        return bucket->credit >= SECOND_NS
                   ? 0
                   : (SECOND_NS - bucket->credit + bucket->rate - 1) / bucket->rate - (int64_t)prop_pick(prop, 2);
    case 3:
        return permit + (int64_t)prop_pick(prop, 3) - 1;
    case 4:
        return (int64_t)prop_pick(prop, (uint64_t)permit);
    default:
        return prop_chance(prop, 8) ? bucket->burst * permit + 10 * SECOND_NS : permit / 3;
    }
}

/* One takes all that it gets, for seconds: the parent has nothing left over. */
static void be_greedy(struct prop *prop, struct subject *subject)
{
    const struct node *root = &subject->node[0];
    const int64_t from = subject->now, permit = SECOND_NS / root->bucket[0].rate;
    if (root->buckets != 1) return;
    int64_t passed = 0;
    subject->count = LOG_MAX;
    while (call(prop, subject, 0, 1)) continue;
    const int64_t owed = root->bucket[0].credit;
    for (int i = 0; i < GREEDY_STEPS; i++) {
        go_to(subject, subject->now + permit);
        for (int tenant = subject->nodes - 1; tenant > 0; tenant--) passed += call(prop, subject, tenant, 1);
        while (call(prop, subject, 0, 1)) passed++;
    }
    const int64_t had = root->bucket[0].rate * (subject->now - from) + owed;
    prop_check(prop, (passed + 1) * SECOND_NS > had, "%" PRId64 " of %" PRId64, passed, had / SECOND_NS);
}

static void tenants(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    while (prop_more(prop, STEPS_MEAN)) {
        go_to(&subject, subject.now + pick_gap(prop, &subject));
        call_somebody(prop, &subject);
    }
    be_greedy(prop, &subject);
    weir_table_close(subject.table);
}

PROPERTY("tenants", tenants, 4000);
