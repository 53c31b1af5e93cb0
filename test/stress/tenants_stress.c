/* SPDX-License-Identifier: MIT
   Tenants with guarantees, from many threads.

   Rounds: time stands still while threads take for greedy tenants all that there is, and for calm ones exactly what
   they are guaranteed.  After each round

       bound           no more passed, in this round and in all, than B + the sum of B_i + R t
       conservation    the parent's clock is where the calls that passed have moved it, to the ns: nothing was charged
                       twice, lost, or left behind by a call that was refused
       guarantee       every call of a calm tenant passed, and did not borrow
       use             nothing was left over; with weights, which leave some of the burst to others, only the first two

   Races: two threads, and room for one, round by round; then each limit is where the calls that passed have moved it.

   A running clock: the same bound over every window of a log, and one call more for each thread, which may have read
   its time before others borrowed (core/tenants.h).

   A million tenants that come once and go: each gets what it is guaranteed. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "api/table/keyed.h"
#include "size.h"
#include "stress/crowd.h"
#include "unit/random.h"

enum { THREADS = 4, CALM = 2, GREEDY = 6, OTHERS = 2, TENANTS = CALM + GREEDY + OTHERS, ATTEMPTS = 60 };
enum { RATE = 1000, BURST = 50, ITS_RATE = 100, ITS_BURST = 10, BURSTS = (CALM + GREEDY) * ITS_BURST };
static const uint64_t MS_NS = 1000000, STEP_NS = 50 * UINT64_C(1000000), PERMIT_NS = 1000000;

static weir_table *table;
static weir_plan parent, tenant[TENANTS];
static char name[TENANTS][8];
static atomic_uint_fast64_t now_ns, passed, wrong;
static atomic_bool over;

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) crowd_check(0, error.message);
    return plan;
}

static void open_table(bool wide, bool weighed)
{
    char text[80];
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan widest = plan_of("1/s; 1/s");
    options.keys_max = 1000;
    options.sharing = WEIR_PRIVATE;
    if (wide) options.plan = &widest;
    crowd_check(weir_table_open(&table, &options, NULL) == 0, "no table");
    parent = plan_of("1000/s burst=50");
    for (int i = 0; i < TENANTS; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        const char *owed = i < CALM + GREEDY ? "100/s burst=10 guaranteed" : "500/s burst=20";
        const char *ceiling = i < CALM ? "; 100/s burst=10" : i < CALM + GREEDY ? "; 400/s burst=30" : "";
        const int weight = weighed ? i + 1 : 0;
        snprintf(text, sizeof text, "%s%s%.0d%s", owed, weighed ? " weight=" : "", weight, ceiling);
        tenant[i] = plan_of(text);
    }
    passed = 0;
    now_ns = weir_now().ns;
}

/* 'g', 'b' or '-', as it passed. */
static char take(int number, uint64_t at_ns, uint64_t cost)
{
    weir_ask asks[] = {{&tenant[number], weir_key_text(name[number]), cost, {0}},
                       {&parent, weir_key_text("all"), cost, {0}}};
    if (!weir_table_take_all(table, asks, 2, (weir_instant){at_ns})) return '-';
    atomic_fetch_add(&passed, cost);
    return weir_borrowed(&asks[0].decision) ? 'b' : 'g';
}

/* ---- rounds ---- */

static atomic_uint_fast64_t calm_calls;

/* The first threads are the calm tenants' in between. */
static void go_round(struct member *member)
{
    uint64_t seed = now_ns + (uint64_t)member->number * 7919;
    for (int i = 0; i < ATTEMPTS; i++) {
        const bool calm = member->number < CALM && (uint64_t)i < calm_calls;
        if (calm && take(member->number, now_ns, 1) != 'g') atomic_fetch_add(&wrong, 1);
        take(CALM + (int)random_below(&seed, TENANTS - CALM), now_ns, 1 + random_below(&seed, 3));
    }
}

static uint64_t parent_ahead_ns(void)
{
    const weir_decision full =
        keyed_peek(table, &parent, weir_key_text("all"), now_ns, -1, BURST); /* passes once all is back */
    return full.verdict == WEIR_ALLOW ? 0 : full.retry_ns;
}

static void rounds(bool wide, bool weighed)
{
    struct crowd crowd = {.threads = THREADS, .body = go_round};
    uint64_t ahead_ns = 0, all = 0, taken_ns = 0;
    crowd_begin(weighed ? "weights" : wide ? "tenants, wide" : "tenants");
    open_table(wide, weighed);
    const uint64_t begun_ns = now_ns, count = size_pick(200, 1000, 10000);
    for (uint64_t i = 0; i < count; i++) {
        calm_calls = i == 0 ? ITS_BURST : STEP_NS / MS_NS * ITS_RATE / 1000;
        const uint64_t before = passed;
        crowd_start(&crowd);
        crowd_join(&crowd);
        for (int j = CALM; j < TENANTS; j++) {
            while (take(j, now_ns, 1) != '-') continue;
        }
        const uint64_t in_round = passed - before;
        all += in_round;
        taken_ns = now_ns - begun_ns;
        ahead_ns += in_round * PERMIT_NS;
        crowd_check(wrong == 0, "a calm tenant was refused, or borrowed");
        crowd_check(in_round <= BURST + BURSTS, "more than the bursts passed at once");
        crowd_check(all <= BURST + BURSTS + RATE * taken_ns / (1000 * MS_NS), "more than the bound passed");
        crowd_check(parent_ahead_ns() == ahead_ns, "the parent was not charged for what passed");
        crowd_check(weighed || ahead_ns > (BURST - 1) * PERMIT_NS, "something is left over");
        now_ns += STEP_NS;
        ahead_ns = ahead_ns > STEP_NS ? ahead_ns - STEP_NS : 0;
    }
    crowd_check(weighed || all * 1000 * MS_NS >= 99 * (RATE * taken_ns / 100), "less than 99 % of the rate was used");
    printf("%s: %llu passed in %llu rounds\n", wide ? "wide" : "slots", (unsigned long long)all,
           (unsigned long long)count);
    weir_table_close(table);
}

/* ---- races ---- */

enum { RACERS = 2, ALIKE = 2 };
static atomic_uint_fast64_t turn, arrived;
static atomic_uint_fast64_t taken_by[3], within; /* within: their guarantees */
static uint64_t turns;

static void wait_for(atomic_uint_fast64_t *value, uint64_t least_value)
{
    for (unsigned spins = 1; *value < least_value; spins++)
        if (spins % 1000 == 0) host_yield();
}

/* In even rounds each for a tenant of its own, both of which borrow; in odd ones both for one that is owed one. */
static void race(struct member *member)
{
    for (uint64_t i = 1; i <= turns; i++) {
        wait_for(&turn, i);
        const int who = i % 2 == 0 ? member->number : ALIKE;
        const char how = take(who, now_ns, 1);
        if (how != '-') atomic_fetch_add(&taken_by[who], 1);
        if (how == 'g' && who == ALIKE) atomic_fetch_add(&within, 1);
        atomic_fetch_add(&arrived, 1);
    }
}

/* How far ahead a limit is after these rounds, of permits of so many ns. */
static void check_ahead(const weir_plan *plan, const char *key, int limit, uint64_t burst, uint64_t ahead_ns,
                        const char *what)
{
    const weir_decision full = keyed_peek(table, plan, weir_key_text(key), now_ns, limit, burst);
    crowd_check((full.verdict == WEIR_ALLOW ? 0 : full.retry_ns) == ahead_ns, what);
}

static void races(bool wide)
{
    struct crowd crowd = {.threads = RACERS, .body = race};
    uint64_t ahead_ns = 0, owed_ns = 0, ceiling_ns[3] = {0}, before[3] = {0}, before_within = 0;
    crowd_begin(wide ? "races, wide" : "races");
    open_table(wide, false);
    parent = plan_of("1000/s burst=1");
    for (int i = 0; i < RACERS; i++) tenant[i] = plan_of("1/h burst=1 guaranteed; 500/s burst=50");
    tenant[ALIKE] = plan_of("500/s burst=1 guaranteed; 500/s burst=50");
    for (int i = 0; i < RACERS; i++)
        crowd_check(take(i, now_ns - 1000 * MS_NS, 1) == 'g', "the guarantee is not there");
    turns = size_pick(5000, 50000, 500000);
    turn = arrived = within = 0;
    for (int i = 0; i < 3; i++) taken_by[i] = 0;
    crowd_start(&crowd);
    for (uint64_t i = 1; i <= turns; i++) {
        now_ns += 2 * MS_NS;
        turn = i;
        wait_for(&arrived, RACERS * i);
        const uint64_t one = taken_by[0] - before[0], other = taken_by[1] - before[1], alike = taken_by[2] - before[2];
        const uint64_t all = one + other + alike, owed = within - before_within;
        ahead_ns = (ahead_ns > 2 * MS_NS ? ahead_ns - 2 * MS_NS : 0) + all * PERMIT_NS;
        owed_ns = i % 2 == 0 ? 0 : owed * 2 * MS_NS;
        crowd_check(i % 2 == 1 || all == 1, "there was room for one");
        crowd_check(i % 2 == 0 || (owed == 1 && all <= 2), "one was owed");
        check_ahead(&parent, "all", 0, 1, ahead_ns, "the parent was not charged for what passed");
        check_ahead(&tenant[ALIKE], name[ALIKE], 0, 1, owed_ns, "the guarantee was not charged for what was owed");
        for (int j = 0; j < 3; j++) {
            ceiling_ns[j] =
                (ceiling_ns[j] > 2 * MS_NS ? ceiling_ns[j] - 2 * MS_NS : 0) + (taken_by[j] - before[j]) * 2 * MS_NS;
            check_ahead(&tenant[j], name[j], 1, 50, ceiling_ns[j], "a ceiling was not charged for what passed");
        }
        memcpy(before, (uint64_t[]){taken_by[0], taken_by[1], taken_by[2]}, sizeof before);
        before_within = within;
    }
    crowd_join(&crowd);
    printf("%s: %llu rounds, %llu borrowed beside a guarantee\n", wide ? "wide" : "slots", (unsigned long long)turns,
           (unsigned long long)(taken_by[ALIKE] - within));
    weir_table_close(table);
}

/* ---- a clock that runs ---- */

static const size_t LOG_MAX = 200000;
struct entry {
    uint64_t at_ns, cost;
};
static struct entry *entries[THREADS];
static uint64_t entry_count[THREADS];

static void go_on(struct member *member)
{
    uint64_t seed = (uint64_t)member->number + 1;
    struct entry *own = entries[member->number];
    uint64_t count = 0;
    for (int tries = 0; !over && count < LOG_MAX; tries++) {
        const uint64_t at_ns = member->number == 0 ? atomic_fetch_add(&now_ns, 5000) : now_ns;
        if (take((int)random_below(&seed, TENANTS), at_ns, 1) != '-') own[count++] = (struct entry){at_ns, 1};
        if (member->number == 0 && (uint64_t)tries >= size_pick(100000, 400000, 4000000)) over = true;
    }
    entry_count[member->number] = count;
}

static int by_time(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* The most that passed in any window beyond R t, in permits times ns. */
static uint64_t worst_window(struct entry *all, uint64_t count)
{
    uint64_t worst = 0, beyond = 0;
    qsort(all, count, sizeof *all, by_time);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t drained = i == 0 ? 0 : (all[i].at_ns - all[i - 1].at_ns);
        beyond = (beyond > drained ? beyond - drained : 0) + all[i].cost * PERMIT_NS;
        if (beyond > worst) worst = beyond;
    }
    return worst;
}

static void running(bool wide)
{
    struct crowd crowd = {.threads = THREADS, .body = go_on};
    struct entry *all = malloc(THREADS * LOG_MAX * sizeof *all);
    crowd_check(all != NULL, "no memory");
    crowd_begin(wide ? "a running clock, wide" : "a running clock");
    open_table(wide, true);
    over = false;
    const uint64_t begun_ns = now_ns;
    for (int i = 0; i < THREADS; i++) entries[i] = all + (size_t)i * LOG_MAX;
    crowd_start(&crowd);
    crowd_join(&crowd);
    uint64_t count = 0;
    for (int i = 0; i < THREADS; i++) {
        memmove(all + count, entries[i], entry_count[i] * sizeof *all);
        count += entry_count[i];
    }
    const uint64_t worst = worst_window(all, count), due = (now_ns - begun_ns) / PERMIT_NS;
    printf("%s: %llu passed, %llu due by the rate, %.1f above it in the worst window, of %d\n", wide ? "wide" : "slots",
           (unsigned long long)count, (unsigned long long)due, (double)worst / (double)PERMIT_NS, BURST + BURSTS);
    crowd_check(worst <= (BURST + BURSTS + THREADS) * PERMIT_NS, "more than the bound in a window");
    crowd_check(count * 100 >= due * 99, "less than 99 % of the rate was used");
    free(all);
    weir_table_close(table);
}

/* ---- a million that come and go ---- */

static void come_and_go(void)
{
    const uint64_t count = size_pick(100000, 1000000, 1000000), hour_ns = MS_NS * 1000 * 3600;
    const weir_plan all = plan_of("300/s burst=100"), each = plan_of("1/h burst=1 guaranteed");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table_stats stats;
    options.keys_max = 2 * count;
    options.sharing = WEIR_PRIVATE;
    crowd_begin("a million");
    crowd_check(weir_table_open(&table, &options, NULL) == 0, "no table");
    uint64_t at_ns = weir_now().ns, refused = 0, borrowed = 0, again = 0;
    for (int wave = 0; wave < 2; wave++, at_ns += 2 * hour_ns) {
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t number[2] = {(uint64_t)wave, i};
            weir_ask asks[] = {{&each, {number, sizeof number}, 1, {0}}, {&all, weir_key_text("all"), 1, {0}}};
            refused += !weir_table_take_all(table, asks, 2, (weir_instant){at_ns});
            borrowed += weir_borrowed(&asks[0].decision);
            again += weir_table_take_all(table, asks, 2, (weir_instant){at_ns});
        }
        /* All of them have come at once, and are owed by a parent that lends nothing for an hour. */
        crowd_check(refused == 0 && borrowed == 0, "a tenant did not get what it is guaranteed");
        crowd_check(again <= (uint64_t)(wave + 1) * 100, "more than the parent's burst was lent");
    }
    weir_table_read_stats(table, &stats, sizeof stats);
    printf("%llu tenants, %.1f MB\n", (unsigned long long)(2 * count), (double)stats.bytes / 1e6);
    weir_table_close(table);
}

int main(void)
{
    for (int wide = 0; wide < 2; wide++) rounds(wide != 0, false), rounds(wide != 0, true);
    for (int wide = 0; wide < 2; wide++) races(wide != 0);
    for (int wide = 0; wide < 2; wide++) running(wide != 0);
    come_and_go();
    return 0;
}
