/* SPDX-License-Identifier: MIT
   Weights of tenants against shares that are filled like glasses.

   Tenants want different amounts of one rate, of some more than they get, and ask again and again without waiting.  The
   oracle gives each what it is guaranteed, and pours the rest by weight; who is full gets no more, and the others have
   its part too (max-min).  Each tenant gets its share but for a tenth, and all of them all that there is but for a
   hundredth.  Of the parent a bucket is kept: what is lent has room in it, and nothing is refused that leaves half of
   the burst.

   Asked are a table, of slots of either width, or what an engine keeps at a key for each (src/redis/micro), where a
   refused call also passes at its retry. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "property/property.h"
#include "redis/micro/micro.h"

enum { US_NS = 1000, TENANTS_MAX = 6, PERMITS = 24000, WARM = 4000, BURST_EACH = 16, WEIGHT_TOP = 12, OWED_BURST = 12 };
static const uint64_t SECOND_NS = 1000000000;

/* What is at a key of an engine. */
struct value {
    unsigned char bytes[MICRO_BYTES_MAX];
    size_t size;
    uint64_t idle;
};

struct tenant {
    weir_plan plan;
    struct micro_plan micro;
    struct value value;
    char text[80];
    uint64_t weight, cost, guaranteed, gap, next, got;
    double wants, share;
};

struct subject {
    weir_table *table; /* NULL: an engine */
    weir_plan plan, slots;
    struct value value;
    char text[80];
    struct tenant tenant[TENANTS_MAX];
    int tenants;
    uint64_t rate, burst, now, drawn;
    int64_t credit; /* of the parent, in permits times ns */
};

static uint64_t draw(struct subject *subject, uint64_t n)
{
    subject->drawn = subject->drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (subject->drawn >> 20) % n;
}

static void add_tenant(struct prop *prop, struct subject *subject, uint64_t *left)
{
    static const double wants[] = {0.02, 0.1, 0.3, 0.6, 1.2, 3};
    struct tenant *tenant = &subject->tenant[subject->tenants++];
    *tenant = (struct tenant){.weight = 1 + prop_pick(prop, WEIGHT_TOP), .cost = 1 + prop_pick(prop, 3)};
    tenant->wants = wants[prop_pick(prop, sizeof wants / sizeof wants[0])] * (double)subject->rate;
    tenant->gap = (uint64_t)((double)(SECOND_NS * tenant->cost) / tenant->wants);
    if (prop_chance(prop, 3)) tenant->guaranteed = prop_pick(prop, *left / 8) * 4;
    *left -= tenant->guaranteed;
    const char *text = "unlimited";
    char owed[48];
    if (tenant->guaranteed != 0) {
        snprintf(owed, sizeof owed, "%" PRIu64 "/s burst=%d guaranteed", tenant->guaranteed, OWED_BURST);
        text = owed;
    }
    snprintf(tenant->text, sizeof tenant->text, "%s weight=%" PRIu64, text, tenant->weight);
    prop_note(prop, "%s, wants %.0f/s by %" PRIu64, tenant->text, tenant->wants, tenant->cost);
    prop_check(prop, weir_plan_parse(&tenant->plan, tenant->text, WEIR_ADMIT, NULL) == 0, "no plan");
    char both[200];
    snprintf(both, sizeof both, "%s under %s", tenant->text, subject->text);
    prop_check(prop, micro_text_read(&tenant->micro, both, NULL) == 0, "an engine does not keep it");
}

static void begin(struct prop *prop, struct subject *subject)
{
    static const uint64_t rates[] = {400, 8, 20000, 1000000};
    weir_table_options options = WEIR_TABLE_OPTIONS;
    memset(subject, 0, sizeof *subject);
    subject->rate = rates[prop_pick(prop, sizeof rates / sizeof rates[0])];
    const int tenants = 1 + (int)prop_pick(prop, TENANTS_MAX);
    subject->burst = (uint64_t)tenants * BURST_EACH * (1 + prop_pick(prop, 4));
    subject->drawn = prop_pick(prop, UINT32_MAX);
    snprintf(subject->text, sizeof subject->text, "%" PRIu64 "/s burst=%" PRIu64, subject->rate, subject->burst);
    prop_note(prop, "parent %s", subject->text);
    weir_plan_parse(&subject->plan, subject->text, WEIR_ADMIT, NULL);
    uint64_t left = subject->rate;
    for (int i = 0; i < tenants; i++) add_tenant(prop, subject, &left);
    options.sharing = WEIR_PRIVATE;
    options.keys_max = 100;
    options.refill_max_ns = 10000 * SECOND_NS;
    if (prop_chance(prop, 4)) {
        weir_plan_parse(&subject->slots, "9/s; 9/s; 9/s", WEIR_ADMIT, NULL);
        options.plan = &subject->slots;
        prop_note(prop, "wide slots");
    }
    if (prop_chance(prop, 3)) prop_note(prop, "an engine");
    else prop_check(prop, weir_table_open(&subject->table, &options, NULL) == 0, "no table");
    subject->now = weir_now().ns;
    subject->credit = (int64_t)(subject->burst * SECOND_NS);
    for (int i = 0; i < tenants; i++) {
        struct tenant *tenant = &subject->tenant[i];
        tenant->next = subject->now + draw(subject, tenant->gap + 1);
    }
}

/* ---- the oracle ---- */

/* Pours what is left: a full one takes no more part, and the others have its share too. */
static void pour(struct subject *subject)
{
    double left = (double)subject->rate;
    bool full[TENANTS_MAX] = {false};
    for (int i = 0; i < subject->tenants; i++) {
        struct tenant *tenant = &subject->tenant[i];
        const double owed = (double)tenant->guaranteed;
        tenant->share = tenant->wants < owed ? tenant->wants : owed;
        left -= tenant->share;
    }
    for (bool more = true; more;) {
        double weights = 0, rest = left;
        more = false;
        for (int i = 0; i < subject->tenants; i++) weights += full[i] ? 0 : (double)subject->tenant[i].weight;
        for (int i = 0; i < subject->tenants && !more; i++) {
            struct tenant *tenant = &subject->tenant[i];
            const double missing = tenant->wants - tenant->share;
            if (full[i] || missing > rest * (double)tenant->weight / weights) continue;
            tenant->share = tenant->wants;
            left -= missing;
            full[i] = more = true;
        }
        for (int i = 0; i < subject->tenants && !more; i++)
            if (!full[i]) subject->tenant[i].share += left * (double)subject->tenant[i].weight / weights;
    }
}

/* ---- what happens ---- */

static void go_to(struct subject *subject, uint64_t now)
{
    const int64_t most = (int64_t)(subject->burst * SECOND_NS);
    subject->credit += (int64_t)((now - subject->now) * subject->rate);
    if (subject->credit > most) subject->credit = most;
    subject->now = now;
}

static bool take(struct subject *subject, struct tenant *tenant, bool *lent)
{
    const uint64_t number = (uint64_t)(tenant - subject->tenant);
    weir_ask asks[] = {{.plan = &tenant->plan, .key = {&number, sizeof number}, .cost = tenant->cost},
                       {.plan = &subject->plan, .key = weir_key_text("all"), .cost = tenant->cost}};
    const bool taken = weir_table_take_all(subject->table, asks, 2, (weir_instant){subject->now});
    *lent = tenant->guaranteed == 0 || weir_borrowed(&asks[0].decision);
    return taken;
}

/* ---- an engine, with a key for each of two levels; a key that may be forgotten is gone ---- */

static void read_key(struct prop *prop, const struct value *value, uint64_t now, struct micro_state *state)
{
    *state = (struct micro_state){.cell = {{.kind = MICRO_KINDS}}};
    if (value->size == 0 || value->idle <= now) return;
    prop_check(prop, micro_read(state, value->bytes, value->size), "what was written is not read");
}

static void write_key(struct value *value, const struct micro_state *both, unsigned key, uint64_t idle)
{
    struct micro_state state = {.count = 1, .marks = both->marks >> key & 1};
    state.cell[0] = both->cell[key];
    state.mark[0] = both->mark[key];
    value->size = micro_write(&state, value->bytes);
    value->idle = idle;
}

static struct micro_answer ask_engine(struct prop *prop, struct subject *subject, struct tenant *tenant, uint64_t now,
                                      bool peek)
{
    struct micro_state both, above;
    struct micro_answer answer;
    const struct micro_ask ask = {.now = now, .cost = {tenant->cost, tenant->cost}, .peek = peek};
    read_key(prop, &tenant->value, now, &both);
    read_key(prop, &subject->value, now, &above);
    both.cell[1] = above.cell[0];
    both.mark[1] = above.mark[0];
    both.marks |= above.marks << 1;
    both.count = 2;
    micro_take(&tenant->micro, &both, NULL, &ask, &answer);
    if (!answer.changed) return answer;
    write_key(&tenant->value, &both, 0, answer.idle);
    write_key(&subject->value, &both, 1, answer.idle);
    return answer;
}

static bool take_of_engine(struct prop *prop, struct subject *subject, struct tenant *tenant, bool *lent)
{
    const uint64_t now = subject->now / US_NS;
    const struct micro_answer answer = ask_engine(prop, subject, tenant, now, false);
    *lent = tenant->guaranteed == 0 || answer.lent != 0;
    if (answer.verdict == WEIR_ALLOW) return true;
    const struct micro_answer later = ask_engine(prop, subject, tenant, now + answer.retry, true);
    prop_check(prop, later.verdict == WEIR_ALLOW, "refused at its retry, %" PRIu64 " us", answer.retry);
    return false;
}

static void call(struct prop *prop, struct subject *subject, struct tenant *tenant, bool counts)
{
    bool lent;
    const bool taken =
        subject->table != NULL ? take(subject, tenant, &lent) : take_of_engine(prop, subject, tenant, &lent);
    const int64_t cost = (int64_t)(tenant->cost * SECOND_NS), slack = (int64_t)(2 * SECOND_NS);
    if (!taken) {
        const int64_t half = ((int64_t)(subject->burst * SECOND_NS) - cost) / 2;
        prop_check(prop, subject->credit < cost + half + slack, "refused with %" PRId64, subject->credit);
        return;
    }
    prop_check(prop, !lent || subject->credit + slack > cost, "lent with %" PRId64, subject->credit);
    subject->credit -= cost;
    if (counts) tenant->got += tenant->cost;
}

static void run(struct prop *prop, struct subject *subject)
{
    const uint64_t from = subject->now, warm = from + WARM * SECOND_NS / subject->rate,
                   end = warm + PERMITS * SECOND_NS / subject->rate;
    for (;;) {
        struct tenant *first = &subject->tenant[0];
        for (int i = 1; i < subject->tenants; i++)
            if (subject->tenant[i].next < first->next) first = &subject->tenant[i];
        if (first->next >= end) return;
        go_to(subject, first->next);
        call(prop, subject, first, subject->now >= warm);
        first->next += first->gap / 2 + draw(subject, first->gap + 1);
    }
}

static void weights(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    run(prop, &subject);
    pour(&subject);
    double got = 0, could = 0;
    for (int i = 0; i < subject.tenants; i++) {
        const struct tenant *tenant = &subject.tenant[i];
        const double share = tenant->share / (double)subject.rate * PERMITS;
        prop_note(prop, "%d got %" PRIu64 ", its share is %.0f", i, tenant->got, share);
        got += (double)tenant->got;
        could += share;
    }
    prop_check(prop, got > 0.99 * could - 100, "only %.0f of %.0f were used", got, could);
    for (int i = 0; i < subject.tenants; i++) {
        const struct tenant *tenant = &subject.tenant[i];
        const double share = tenant->share / (double)subject.rate * PERMITS;
        prop_check(prop, (double)tenant->got > 0.9 * share - 50, "%d got %" PRIu64 " of %.0f", i, tenant->got, share);
    }
    if (subject.table != NULL) weir_table_close(subject.table);
}

PROPERTY("weights", weights, 60);
