/* SPDX-License-Identifier: MIT
   The fast call for one limit says, writes and counts to the bit what the general one does.

   Four tables with one secret are asked the same: one by one, in batches, prefetched, and by the general call.  Limits,
   costs, keys, units and times are drawn; few slots for many keys, so that they are full, displace and are displaced;
   and they grow on the way.

   The same numbers in every run. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/weir.h>

#include "api/table/keyed.h"
#include "unit/plans.h"
#include "unit/random.h"

enum { TABLES = 4, ONE_BY_ONE = 0, BATCHED = 1, GENERAL = 2, PREFETCHED = 3 };
enum { RUNS = 150, ROUNDS = 30, ASKS_MAX = 120, KEYS = 800, KEY_SIZE_MAX = 24, PLANS = 4 };

struct run {
    weir_table *table[TABLES];
    weir_table_options options;
    weir_plan plan[PLANS];
    unsigned char key[KEYS][KEY_SIZE_MAX];
    size_t size[KEYS];
    uint64_t keys; /* of which as many are used */
    weir_ask ask[ASKS_MAX];
    size_t asks;
    weir_instant now;
    uint64_t seed;
};

static const char *const limits[] = {"10/s burst=20", "3/s burst=7",   "1/s burst=1",        "1000000/s burst=50",
                                     "7/min burst=3", "100/h burst=9", "2/h burst=2 debt=1", "1/d burst=5",
                                     "unlimited",     "none",          "10/s; 5/min burst=3"};

static char folder[] = "/tmp/weir-keyed-one-XXXXXX", path[TABLES][sizeof folder + 12];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    for (int i = 0; i < TABLES; i++) snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int i = 0; i < TABLES; i++) unlink(path[i]);
    return rmdir(folder);
}

static weir_table *open_table(const weir_table_options *options)
{
    weir_table *table = NULL;
    weir_error error;
    if (weir_table_open(&table, options, &error) != 0) fail_msg("%s", error.message);
    return table;
}

static void open_tables(struct run *run)
{
    static const uint64_t longest_ns[] = {0, S, 3600 * S, 36 * YEAR};
    run->options = (weir_table_options)WEIR_TABLE_OPTIONS;
    run->options.keys_max = 1 + random_below(&run->seed, KEYS);
    run->options.when_full = (weir_when_full)random_below(&run->seed, 4);
    run->options.refill_max_ns = longest_ns[random_below(&run->seed, LENGTH(longest_ns))];
    run->options.top = 8;
    for (int i = 0; i < TABLES; i++) {
        run->options.path = path[i];
        run->table[i] = open_table(&run->options);
        run->table[i]->secret = run->table[0]->secret;
        run->table[i]->offset_ns = run->table[0]->offset_ns;
    }
}

static void close_tables(struct run *run)
{
    for (int i = 0; i < TABLES; i++) {
        weir_table_close(run->table[i]);
        unlink(path[i]);
    }
}

static void begin(struct run *run, uint64_t seed)
{
    run->seed = seed;
    open_tables(run);
    for (int i = 0; i < PLANS; i++) run->plan[i] = plan_of(limits[random_below(&run->seed, LENGTH(limits))]);
    run->keys = 1 + random_below(&run->seed, KEYS);
    for (int i = 0; i < KEYS; i++) {
        run->size[i] = (size_t)random_below(&run->seed, KEY_SIZE_MAX + 1);
        for (int j = 0; j < KEY_SIZE_MAX; j++) run->key[i][j] = (unsigned char)random_below(&run->seed, 256);
    }
    run->now = weir_now();
}

static uint64_t draw_cost(uint64_t *seed)
{
    return random_one_in(seed, 3) ? random_below(seed, 10) : random_one_in(seed, 50) ? random_sized(seed, 64) : 1;
}

static void draw_asks(struct run *run)
{
    run->asks = (size_t)random_below(&run->seed, ASKS_MAX + 1);
    for (size_t i = 0; i < run->asks; i++) {
        const uint64_t key = random_below(&run->seed, run->keys);
        run->ask[i] = (weir_ask){.plan = &run->plan[random_below(&run->seed, PLANS)],
                                 .key = {run->key[key], run->size[key]},
                                 .cost = draw_cost(&run->seed)};
        memset(&run->ask[i].decision, 0xa5, sizeof run->ask[i].decision);
    }
    run->now.ns += random_sized(&run->seed, 34);
}

/* What an ask with one limit in a slot does without any short cut. */
static weir_decision ask_generally(weir_table *table, const weir_ask *ask, weir_instant now)
{
    const struct plan *plan = plan_inside_const(ask->plan);
    if (!keyed_is_one(table, plan)) return weir_table_take_at(table, ask->plan, ask->key, now, ask->cost);
    const uint64_t hash = hash_key(&table->secret, ask->key.bytes, ask->key.size, 0);
    const struct keyed_limit limit = {&plan->rule[0], plan->interval[0], hash, ask->cost, 0, NULL};
    weir_decision decision;
    uint32_t events = 0;
    keyed_slots_ask(table, &limit, 1, &(struct ask){.now_ns = now.ns}, NULL, &decision, &events);
    keyed_count(table, ask->key, &decision, events);
    return decision;
}

static void assert_equal(const struct run *run, const weir_decision *a, const weir_decision *b)
{
    if (memcmp(a, b, sizeof *a) == 0) return;
    fail_msg("seed %llu: verdict %u %u, limit %u %u, start %llu %llu, retry %llu %llu, end %llu %llu, remaining %llu "
             "%llu, charged %llu %llu",
             (unsigned long long)run->seed, a->verdict, b->verdict, a->limit, b->limit, (unsigned long long)a->start.ns,
             (unsigned long long)b->start.ns, (unsigned long long)a->retry_ns, (unsigned long long)b->retry_ns,
             (unsigned long long)a->end, (unsigned long long)b->end, (unsigned long long)a->remaining,
             (unsigned long long)b->remaining, (unsigned long long)a->charged, (unsigned long long)b->charged);
}

static void ask_all(struct run *run)
{
    uint64_t word[ASKS_MAX];
    weir_table_take_batch(run->table[BATCHED], run->ask, run->asks, run->now);
    for (size_t i = 0; i < run->asks; i++)
        word[i] = weir_table_prefetch(run->table[PREFETCHED], run->ask[i].plan, run->ask[i].key);
    for (size_t i = 0; i < run->asks; i++) {
        const weir_ask *ask = &run->ask[i];
        const weir_decision general = ask_generally(run->table[GENERAL], ask, run->now);
        const weir_decision one = weir_table_take_at(run->table[ONE_BY_ONE], ask->plan, ask->key, run->now, ask->cost);
        const weir_decision prefetched =
            weir_table_take_prefetched(run->table[PREFETCHED], ask->plan, ask->key, word[i], run->now, ask->cost);
        assert_equal(run, &one, &general);
        assert_equal(run, &prefetched, &general);
        assert_equal(run, &ask->decision, &general);
    }
}

/* By somebody else, so that who asks next has to find out. */
static void grow_all(struct run *run)
{
    run->options.keys_max += run->options.keys_max + KEYS;
    for (int i = 0; i < TABLES; i++) {
        weir_error error;
        run->options.path = path[i];
        weir_table *other = open_table(&run->options);
        if (weir_table_grow(other, run->options.keys_max, &error) != 0) fail_msg("%s", error.message);
        weir_table_close(other);
    }
}

/* What lies in the slots, and what was counted.  What maintains a table goes by the clock, so a bucket may be a little
   fresher; not here, where nobody asks that often. */
static void compare_tables(const struct run *run, uint64_t calls[])
{
    const struct table *first = keyed_slots(run->table[0]);
    weir_table_stats stats[TABLES];
    for (int i = 0; i < TABLES; i++) weir_table_read_stats(run->table[i], &stats[i], sizeof stats[i]);
    for (int i = 1; i < TABLES; i++) {
        const struct table *other = keyed_slots(run->table[i]);
        assert_int_equal(other->count, first->count);
        for (unsigned j = 0; j < first->count; j++) {
            assert_memory_equal(other->area[j].bucket, first->area[j].bucket,
                                2 * first->area[j].half * sizeof(struct table_bucket));
        }
        assert_int_equal(stats[i].granted, stats[0].granted);
        assert_int_equal(stats[i].denied, stats[0].denied);
        assert_int_equal(stats[i].reclaimed, stats[0].reclaimed);
        assert_int_equal(stats[i].full, stats[0].full);
        assert_int_equal(stats[i].displaced, stats[0].displaced);
        assert_int_equal(stats[i].moved, stats[0].moved);
    }
    calls[0] += stats[0].granted;
    calls[1] += stats[0].denied;
    calls[2] += stats[0].reclaimed;
    calls[3] += stats[0].full;
    calls[4] += stats[0].displaced;
    calls[5] += stats[0].moved;
}

static void the_fast_call_is_the_general_one(void **unused)
{
    (void)unused;
    uint64_t seen[6] = {0};
    static struct run run;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        begin(&run, seed * 1000);
        for (int round = 0; round < ROUNDS; round++) {
            if (round > 0 && random_one_in(&run.seed, 2 * ROUNDS)) grow_all(&run);
            draw_asks(&run);
            ask_all(&run);
        }
        compare_tables(&run, seen);
        close_tables(&run);
    }
    /* Each of these was among them. */
    for (int i = 0; i < 6; i++) assert_true(seen[i] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_fast_call_is_the_general_one)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
