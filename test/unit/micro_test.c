/* SPDX-License-Identifier: MIT
   The engine's unit by hand: numbers, plans, each kind, lists.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/micro/kinds.h"
#include "unit/micro_key.h"

/* ---- numbers ---- */

/* Against 128 bits, where the product is more than a double holds. */
static void products_are_exact(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        uint64_t number[3];
        for (int n = 0; n < 3; n++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            number[n] = (seed >> 11) % (MICRO_MOST + 1) >> (seed >> 59);
        }
        const uint64_t a = number[0], b = number[1], c = number[2] + (number[2] == 0);
        assert_int_equal(share_floor(a, b, c), least(multiply_divide_floor(a, b, c), MICRO_MOST));
        assert_int_equal(share_ceil(a, b, c), least(multiply_divide_ceil(a, b, c), MICRO_MOST));
    }
    assert_int_equal(share_floor(MICRO_MOST, MICRO_MOST, MICRO_MOST), MICRO_MOST);
    assert_int_equal(share_ceil(MICRO_MOST - 1, MICRO_MOST - 1, MICRO_MOST), MICRO_MOST - 1);
}

/* ---- plans ---- */

static void rates_are_reduced(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t permit, per, top;
    } rows[] = {{"3/s burst=5", 1000000, 3, 5000000},
                {"10/s", 100000, 1, 1000000},
                {"7/3ns", 3, 7000, 21},
                {"1/1ns burst=2", 1, 1000, 2},
                {"0.5/s burst=1", 2000000, 1, 2000000},
                {"3/s burst=2s", 1000000, 3, 6000000},
                {"1/s burst=1500000001ns", 1000000, 1, 1500000},
                {"7/3ns burst=10ns", 3, 7000, 70}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct micro_plan plan = micro_of(rows[i].text);
        assert_int_equal(plan.rule[0].permit, rows[i].permit);
        assert_int_equal(plan.rule[0].per, rows[i].per);
        assert_int_equal(plan.rule[0].top, rows[i].top);
    }
    const struct micro_plan hybrid = micro_of("3/s algorithm=hybrid catchup=1.1 burst=2");
    assert_int_equal(hybrid.rule[0].permit, 10000000);
    assert_int_equal(hybrid.rule[0].per, 30);
    assert_int_equal(hybrid.rule[0].per_fast, 33);
    assert_int_equal(hybrid.rule[0].top, 20000000);
}

static void rules(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        struct micro_rule rule;
    } rows[] = {
        {"none", {.kind = MICRO_NONE}},
        {"unlimited", {.kind = MICRO_UNLIMITED, .burst = MICRO_MOST}},
        {"3/s burst=5", {MICRO_GCRA, 0, 5, 1000000, 3, 5000000, 5, MICRO_MOST - 5000000, 3, 0, 0, 0, 0, 0, 0}},
        {"3/s burst=5 debt=4 guaranteed",
         {MICRO_GCRA, MICRO_GUARANTEED, 5, 1000000, 3, 5000000, 5, 4000000, 3, 0, 0, 0, 0, 0, 0}},
        {"1G/s burst=1500ns", {MICRO_GCRA, 0, 1500, 1, 1000, 1500, 1500, MICRO_MOST - 1500, 1000, 0, 0, 0, 0, 0, 0}},
        {"3/s algorithm=hybrid catchup=1.1 burst=2 start=full",
         {MICRO_HYBRID, MICRO_STARTS_FULL, 450359962, 10000000, 30, 20000000, 2, MICRO_MOST - 20000000, 33, 0, 0, 0, 0,
          0, 0}},
        {"3/s algorithm=hybrid catchup=1.5 burst=2",
         {MICRO_HYBRID, 0, 2251799813, 2000000, 6, 4000000, 2, MICRO_MOST - 4000000, 9, 0, 0, 0, 0, 0, 0}},
        {"10/s algorithm=leaky burst=6 delay=2",
         {MICRO_LEAKY, 0, 6, 1000, 0, 6000, 6, 11258999062420, 0, 0, 0, 0, 10, 1, 3000}},
        {"7/3ms algorithm=leaky burst=2 nodelay",
         {MICRO_LEAKY, 0, 2, 1000, 0, 2000, 2, 2627099782629333, 0, 0, 0, 0, 7000, 3, 2000}},
        {"10/s algorithm=leaky burst=6 delay=9",
         {MICRO_LEAKY, 0, 6, 1000, 0, 6000, 6, 11258999062420, 0, 0, 0, 0, 10, 1, 6000}},
        {"5/1500ns algorithm=fixed-window block=2500ns",
         {.kind = MICRO_FIXED, .flags = MICRO_COUNTS_REFUSED, .burst = 5, .period = 2, .block = 3}},
        {"5/s algorithm=fixed-window align=clock",
         {.kind = MICRO_FIXED, .flags = MICRO_ALIGNED, .burst = 5, .period = 1000000}},
        {"5/s algorithm=sliding-window",
         {.kind = MICRO_SLIDING, .burst = 5, .debt = MICRO_MOST - 5, .period = 1000000}},
        {"5/s algorithm=sliding-window debt=3", {.kind = MICRO_SLIDING, .burst = 5, .debt = 3, .period = 1000000}},
        {"5/2us algorithm=sliding-log edge=closed gap=2500ns",
         {.kind = MICRO_LOG, .flags = MICRO_CLOSED, .burst = 5, .debt = MICRO_LOG_REACH, .period = 3, .gap = 3}},
        {"5/2us algorithm=sliding-log; 5/2us algorithm=sliding-log",
         {.kind = MICRO_LOG, .burst = 5, .debt = MICRO_LOG_REACH / 2, .period = 2}},
        {"3 concurrent lease=10s", {.kind = MICRO_CONCURRENT, .burst = 3, .period = 10000000}}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct micro_plan plan = micro_of(rows[i].text);
        if (memcmp(&plan.rule[0], &rows[i].rule, sizeof plan.rule[0]) != 0) fail_msg("%s", rows[i].text);
        assert_int_equal(plan.levels, 1);
        assert_int_equal(plan.first[1], plan.count);
        assert_int_equal(plan.many_units, false);
    }
    assert_int_equal(micro_of("3/s weight=2").weights.weight, 2);
    assert_int_equal(micro_of("3/s; 3/s algorithm=sliding-log").rule[1].debt, MICRO_LOG_REACH);
    static const struct {
        const char *text;
        bool many;
    } units[] = {{"10 tokens/s; 5/s", true},
                 {"10 tokens/s; unlimited; 5 tokens/h", false},
                 {"10 tokens/s; none; 5/h", true},
                 {"unlimited; 5 tokens/h", false},
                 {"1/s; 5 tokens/h; 5 tokens/h", true}};
    for (size_t i = 0; i < LENGTH(units); i++) assert_int_equal(micro_of(units[i].text).many_units, units[i].many);
}

/* The largest of each number that is kept; one more is not. */
static void the_largest_rules(void **unused)
{
    (void)unused;
    static const char *const rows[][2] = {
        {"1/s debt=4503599626", "1/s debt=4503599627"},
        {"1/s algorithm=hybrid catchup=1.00001 burst=22517", "1/s algorithm=hybrid catchup=1.00001 burst=22518"},
        {"4503599627370/5000000029ns burst=1", "4503599627371/5000000029ns burst=1"},
        {"4503599627370/5000000029us burst=1", "4503599627371/5000000029us burst=1"},
        {"4503599627370/5000000029ns burst=1", "4503599627370/5000000029ns algorithm=hybrid catchup=1.1 burst=1"},
        {"1000000/s burst=4 debt=4503599627370492", "1000000/s burst=4 debt=4503599627370493"},
        {"1/1048576us algorithm=hybrid catchup=1.0625 burst=134217728",
         "1/1048576us algorithm=hybrid catchup=1.0625 burst=134217729"},
        {"10/s algorithm=leaky burst=11258999068", "10/s algorithm=leaky burst=11258999069"},
        {"1000/s algorithm=leaky burst=1125899906841", "1000/s algorithm=leaky burst=1125899906842"},
        {"3 concurrent lease=1125899906842624us", "3 concurrent lease=1125899906842625us"},
        {"999983/1000003ns algorithm=leaky burst=2", "9999991/10000019ns algorithm=leaky burst=2"},
        {"4503599627370495/5000s algorithm=fixed-window", "4503599627370496/5000s algorithm=fixed-window"},
        {"5/1125899906842624us algorithm=fixed-window", "5/1125899906842625us algorithm=fixed-window"},
        {"5/1125899906842624us algorithm=sliding-window", "5/1125899906842625us algorithm=sliding-window"},
        {"5/1125899906842624us algorithm=sliding-log", "5/1125899906842624us algorithm=sliding-log edge=closed"},
        {"5/s algorithm=fixed-window block=1125899906842624us", "5/s algorithm=fixed-window block=1125899906842625us"},
        {"5/s algorithm=sliding-log gap=1125899906842624us", "5/s algorithm=sliding-log gap=1125899906842625us"},
        {"5/s algorithm=sliding-window debt=4503599627370491", "5/s algorithm=sliding-window debt=4503599627370492"},
        {"100000/s algorithm=sliding-log", "100001/s algorithm=sliding-log"},
        {"50000/s algorithm=sliding-log; 50000/h algorithm=sliding-log",
         "50000/s algorithm=sliding-log; 50001/h algorithm=sliding-log"},
        {"100000/s algorithm=sliding-log; 1/s", "100001/s algorithm=sliding-log; 1/s"},
        {"10000 concurrent lease=10s", "10001 concurrent lease=10s"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        for (int k = 0; k < 2; k++) {
            const weir_plan plan = plan_of(rows[i][k]);
            struct micro_plan micro;
            weir_error error;
            const int made = micro_plan_make(&micro, &plan, &error);
            if (made != (k == 0 ? 0 : WEIR_EUNSUPPORTED)) fail_msg("%s: %d", rows[i][k], made);
        }
    }
}

static void what_is_not_kept_is_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *says;
    } rows[] = {{"10/s algorithm=timeline", "write algorithm=hybrid"},
                {"10/s algorithm=bursty", "write algorithm=gcra"},
                {"10/s algorithm=warmup warmup=3s", "write algorithm=gcra"},
                {"10/s algorithm=cycle", "write algorithm=fixed-window"},
                {"10/s start=empty", "leave it out"},
                {"10/s; 10/s algorithm=cycle", "algorithm=cycle"},
                {"100001/s algorithm=sliding-log", "at most 100000"},
                {"1/h algorithm=sliding-log; 100000/s algorithm=sliding-log", "at most 100000"},
                {"5/1500ns algorithm=sliding-window", "whole us"},
                {"5/1500ns algorithm=fixed-window align=clock", "whole us"},
                {"5/40year algorithm=fixed-window", "35 years"},
                {"1/year burst=200", "2^52"},
                {"10/s debt=100000000000", "smaller debt"},
                {"999999999989/999999s", "rounder rate"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        struct micro_plan micro;
        weir_error error;
        assert_int_equal(micro_plan_make(&micro, &plan, &error), WEIR_EUNSUPPORTED);
        assert_int_equal(error.code, WEIR_EUNSUPPORTED);
        if (strstr(error.message, rows[i].says) == NULL) fail_msg("%s: %s", rows[i].text, error.message);
    }
    static const char *const paced[] = {"9/s for 1s then 10/s", "9/s for 1s then 10/s algorithm=gcra",
                                        "10/s arrivals=poisson seed=7"};
    for (size_t i = 0; i < LENGTH(paced); i++) {
        weir_plan plan;
        struct micro_plan micro;
        char text[200];
        assert_int_equal(weir_plan_parse(&plan, paced[i], WEIR_PACE, NULL), 0);
        assert_int_equal(micro_plan_make(&micro, &plan, NULL), WEIR_EUNSUPPORTED);
        assert_int_equal(micro_text_write(&plan, text, sizeof text), 0);
    }
}

/* ---- lines ---- */

static void gcra(void **unused)
{
    (void)unused;
    struct key key = key_of("3/s burst=2");
    assert_int_equal(key_take(&key, NOW, 1).full, 333334);
    assert_allowed(key_take(&key, NOW, 1), 0);
    const struct micro_answer refused = key_take(&key, NOW, 1);
    assert_refused(refused, 333334);
    assert_false(refused.changed);
    assert_int_equal(refused.idle, NOW + 666667);
    assert_refused(key_take(&key, NOW + 333333, 1), 1);
    assert_allowed(key_take(&key, NOW + 333334, 1), 0);
    assert_int_equal(key_take(&key, NOW + 333334, 3).verdict, WEIR_NEVER);
    assert_int_equal(key.state.cell[0].word[1], 2000000 - 2); /* nothing was rounded: 3 * 333334 drained */
}

static void waits_and_peeks(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=1");
    key_take(&key, NOW, 1);
    const struct micro_answer peeked = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .peek = true});
    assert_refused(peeked, 100000);
    assert_refused(key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = 99999}), 1);
    const struct micro_answer waits = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = 100000});
    assert_int_equal(waits.verdict, WEIR_ALLOW);
    assert_int_equal(waits.delay, 100000);
    assert_int_equal(waits.taken, NOW + 99999); /* it starts within the us after that */
    assert_refused(key_take(&key, NOW + 100000, 1), 100000);
    assert_false(key_ask(&key, &(struct micro_ask){.now = NOW + 200000, .cost = {1}, .peek = true}).changed);
    assert_allowed(key_take(&key, NOW + 200000, 1), 0);
    /* debt= is for charges: whoever waits is above it, and begins after all that wait already. */
    struct key owes = key_of("10/s burst=1 debt=0");
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(key_ask(&owes, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = SECOND}).delay,
                         i * 100000);
}

static void charges_make_debt(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=5 debt=10"), any = key_of("10/s burst=5");
    key_charge(&key, NOW, 1000);
    assert_refused(key_take(&key, NOW, 1), 1100000);
    key_charge(&any, NOW, 1000);
    assert_refused(key_take(&any, NOW, 1), 99600000);
    static const char *const texts[] = {"none", "none; 9/s; none", "9/s; none"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct key none = key_of(texts[i]);
        const struct micro_answer never = key_charge(&none, NOW, 1);
        assert_int_equal(never.verdict, WEIR_NEVER);
        assert_int_equal(never.limit, i / 2);
        assert_false(never.changed);
    }
    struct key used = key_of("9/s burst=1");
    key_take(&used, NOW, 1);
    key_change(&used, "9/s burst=1; none"); /* nothing is left of the first one, either */
    assert_int_equal(key_charge(&used, NOW, 1).limit, 1);
    struct key list = key_of("10/s burst=9; 10/s burst=5");
    const struct micro_answer charged = key_charge(&list, NOW, 3);
    assert_allowed(charged, 2);
    assert_int_equal(charged.limit, 1);
    assert_int_equal(charged.full, 300000);
    assert_int_equal(charged.idle, NOW + 300000);
}

/* A line so long that its ticks would be no number is as if it were full. */
static void far_ahead(void **unused)
{
    (void)unused;
    struct key key = key_of("1/s burst=1");
    key_charge(&key, NOW, MICRO_MOST);
    const uint64_t ticks = SECOND; /* of a permit: so many us until there is room for it */
    const struct micro_ask last = {.now = NOW, .cost = {1}, .wait = MICRO_MOST};
    assert_refused(key_ask(&key, &last), ticks);
}

static void settling(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    key_take(&key, NOW, 10);
    key_settle(&key, NOW + 300000, NOW, 10, 2); /* 3 have drained, of the other 7 all were unused */
    assert_allowed(key_take(&key, NOW + 300000, 10), 0);
    key_settle(&key, NOW + 300000, NOW + 300000, 10, 12);
    assert_refused(key_take(&key, NOW + 300000, 1), 300000);
    key_settle(&key, NOW + 300000, NOW + 300000, 10, 0); /* somebody may wait: over the top nothing comes back */
    assert_refused(key_take(&key, NOW + 300000, 1), 300000);
    struct key early = key_of("10/s burst=10");
    key_take(&early, NOW, 10);
    key_settle(&early, NOW, NOW + 1, 10, 0);
    assert_refused(key_take(&early, NOW, 1), 100000);
}

/* What may have drained did so at the fastest. */
static void hybrid_settles(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=hybrid burst=20 catchup=2");
    key_take(&key, NOW, 1);
    assert_allowed(key_take(&key, NOW + 10 * SECOND, 10), 10);
    assert_allowed(key_take(&key, NOW + 10 * SECOND + 400000, 5), 13);
    assert_allowed(key_settle(&key, NOW + 10 * SECOND + 400000, NOW + 10 * SECOND, 10, 0), 15);
}

/* Words that the schedule does not reach in a lifetime, or that are none of ours. */
static void hybrid_at_its_edges(void **unused)
{
    (void)unused;
    const uint64_t zero = MICRO_MOST, furthest = zero + MICRO_HYBRID_MOST;
    struct key key = key_of("3/s algorithm=hybrid burst=2");
    uint64_t *word = key.state.cell[0].word;
    assert_int_equal(key_take(&key, NOW, key.plan.rule[0].burst).verdict, WEIR_ALLOW);
    key.state.count = 0;
    key_take(&key, NOW, 1);
    word[1] = furthest - 1;
    word[2] = 0;
    key_take(&key, NOW + 1, 1);
    assert_int_equal(word[1], furthest - SECOND); /* not 3 - 1 more */
    word[1] = word[2] = 2 * MICRO_MOST;
    const struct micro_answer refused = key_take(&key, NOW + 1, 1);
    assert_refused(refused, (MICRO_MOST - SECOND + 2) / 3); /* until the level of 2^52 has room */
    struct key fresh = key_of("3/s algorithm=hybrid burst=2");
    key_settle(&fresh, NOW, NOW, 1, 0);
    assert_int_equal(fresh.state.cell[0].words, 0);

    /* What was written before the limit had another rate: as many permits, and in format 1 as long. */
    struct key old = key_of("3/s algorithm=hybrid burst=20");
    const struct micro_cell ahead = {.kind = MICRO_HYBRID, .words = 3, .per = 2, .word = {NOW, zero + 6 * SECOND, 0}};
    old.state = (struct micro_state){.count = 1, .cell = {ahead}};
    assert_allowed(key_take(&old, NOW, 0), 9); /* 3 s ahead */
    old.state = (struct micro_state){.count = 1, .cell = {ahead}};
    old.state.cell[0].word[1] = zero - 6 * SECOND;
    assert_refused(key_take(&old, NOW, 1), 3 * SECOND + 333334);
    word[0] = NOW;
    word[1] = 2 * MICRO_MOST;
    word[2] = 0;
    key_change(&key, "6/s algorithm=hybrid burst=4"); /* permits half as long: of the largest lag half */
    key_take(&key, NOW, 1);
    assert_int_equal(word[1], zero + MICRO_HYBRID_MOST / 2 - SECOND / 2);
}

static void hybrid_keeps_its_schedule(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=hybrid burst=2 catchup=2");
    assert_allowed(key_take(&key, NOW, 1), 0); /* the first has what it needs, and not more */
    assert_refused(key_take(&key, NOW, 1), 100000);
    assert_allowed(key_take(&key, NOW + SECOND, 1), 1); /* 9 behind, 2 at once ... */
    assert_allowed(key_take(&key, NOW + SECOND, 1), 0);
    assert_refused(key_take(&key, NOW + SECOND, 1), 50000); /* ... and then twice as fast */
    assert_allowed(key_take(&key, NOW + SECOND + 50000, 1), 0);
    struct key list = key_of("10/s algorithm=hybrid burst=2; 3/s");
    assert_int_equal(key_ask(&list, &(struct micro_ask){.now = NOW, .cost = {0, 1}}).verdict, WEIR_ALLOW);
    assert_int_equal(list.state.cell[0].burst, 0); /* of what did not begin nothing is written */
    struct key fresh = key_of("10/s algorithm=hybrid burst=2; none");
    assert_false(key_take(&fresh, NOW, 1).changed);
    struct key full = key_of("10/s algorithm=hybrid burst=2 start=full"),
               large = key_of("10/s algorithm=hybrid burst=2");
    assert_allowed(key_take(&full, NOW, 1), 1);
    assert_allowed(key_take(&large, NOW, 5), 0); /* above the pool, and paid back from below */
    assert_refused(key_take(&large, NOW, 1), 400000);
}

/* ---- the others ---- */

static void leaky(void **unused)
{
    (void)unused;
    struct key key = key_of("10r/s burst=1 nodelay");
    assert_allowed(key_take(&key, NOW, 1), 1);
    assert_allowed(key_take(&key, NOW, 1), 0);
    assert_refused(key_take(&key, NOW + 999, 1), 99001); /* whole ms */
    assert_allowed(key_take(&key, NOW + 100000, 1), 0);
    struct key delayed = key_of("10r/s burst=5");
    key_take(&delayed, NOW, 1);
    const struct micro_answer waits = key_ask(&delayed, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = SECOND});
    assert_int_equal(waits.delay, 100000);
    assert_refused(key_ask(&delayed, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = SECOND / 20}), 150000);
    assert_false(key_ask(&delayed, &(struct micro_ask){.now = NOW, .cost = {5}}).changed);
    struct key two = key_of("9/s; 9/s");
    key_ask(&two, &(struct micro_ask){.now = NOW, .cost = {7, 7}});
    struct key empty = key_of("10r/s burst=5"); /* three begin 200 ms later, however long ago the last one was */
    assert_refused(key_ask(&empty, &(struct micro_ask){.now = NOW, .cost = {3}, .wait = SECOND / 10}), MICRO_ALL);
    struct key charged = key_of("10r/s burst=1 nodelay");
    const uint64_t *word = charged.state.cell[0].word;
    key_charge(&charged, NOW, 2);
    assert_int_equal(word[1], 2000);
    key_charge(&charged, NOW + 100000, 2); /* one has leaked */
    assert_int_equal(word[1], 3000);
    key_charge(&charged, NOW + 100000, 9); /* above the burst, as nginx would not */
    assert_int_equal(word[1], 12000);
}

static void fixed_window(void **unused)
{
    (void)unused;
    struct key key = key_of("2/s algorithm=fixed-window"), clock = key_of("2/s algorithm=fixed-window align=clock");
    assert_allowed(key_take(&key, NOW + 400000, 2), 0);
    assert_refused(key_take(&key, NOW + 500000, 1), 900000);
    assert_allowed(key_take(&key, NOW + 1400000, 1), 1);
    assert_allowed(key_take(&clock, NOW + 400000, 2), 0);
    assert_refused(key_take(&clock, NOW + 500000, 1), 500000);
    key_settle(&clock, NOW + 500000, NOW + 500001, 2, 0); /* not before it was taken */
    assert_refused(key_take(&clock, NOW + 500000, 1), 500000);
    key_settle(&clock, NOW + 500000, NOW + 400000, 2, 1);
    assert_allowed(key_take(&clock, NOW + 500000, 1), 0);
    struct key blocks = key_of("2/s algorithm=fixed-window block=5s");
    key_take(&blocks, NOW, 2);
    const struct micro_answer refused = key_take(&blocks, NOW + 1, 1);
    assert_refused(refused, 5 * SECOND);
    assert_true(refused.changed);
    assert_refused(key_take(&blocks, NOW + 2, 1), 5 * SECOND - 1); /* it does not block again */
    key_settle(&blocks, NOW + 2, NOW, 2, 0);
    assert_refused(key_take(&blocks, NOW + 2, 1), 5 * SECOND - 1); /* a block only has an end */
    struct key open = key_of("2/s algorithm=fixed-window block=5s");
    key_take(&open, NOW, 2);
    key_settle(&open, NOW, NOW, 2, 1);
    assert_allowed(key_take(&open, NOW, 1), 0);
    struct key counts = key_of("2/s algorithm=fixed-window count-refused"), full = key_of("2/s algorithm=fixed-window");
    key_take(&counts, NOW, 2);
    assert_true(key_take(&counts, NOW, 1).changed);
    key_settle(&counts, NOW, NOW, 2, 0);
    assert_allowed(key_take(&counts, NOW, 1), 0);
    key_take(&full, NOW, 1);
    full.state.cell[0].burst = 5;
    key_take(&full, NOW, 1);
    assert_int_equal(full.state.cell[0].burst, 0);
    assert_false(key_take(&full, NOW, 1).changed);
}

static void sliding_window(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=sliding-window");
    assert_allowed(key_take(&key, NOW + 900000, 10), 0);
    assert_allowed(key_take(&key, NOW + 1250000, 1), 2);      /* 7.5 of the 10 are still seen: 7 */
    assert_refused(key_take(&key, NOW + 1250000, 4), 150001); /* when fewer than 6 are */
    struct key begun = key_of("10/s algorithm=sliding-window");
    assert_allowed(key_take(&begun, NOW, 10), 0);
    assert_false(key_take(&begun, NOW, 1).changed); /* it ends a period from now, and is not moved */
    struct key none = key_of("10/s algorithm=sliding-window");
    const uint64_t most[] = {NOW, 2 * MICRO_MOST, 2 * MICRO_MOST}, *word = none.state.cell[0].word;
    none.state = (struct micro_state){.count = 1, .cell = {{.kind = MICRO_SLIDING, .words = 3}}};
    memcpy(none.state.cell[0].word, most, sizeof most);
    assert_false(micro_prepare(&none.plan, &none.state, NOW)); /* counters that are none of ours */
    assert_int_equal(word[1], MICRO_MOST);
    assert_int_equal(word[2], MICRO_MOST);
}

/* Once nothing is seen any more; but where the windows are not those of a fresh key, when the one after the last is
   over. */
static void when_a_window_is_forgotten(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=sliding-window");
    const uint64_t earlier = NOW - 3600 * SECOND + 100000;
    assert_int_equal(key_ask(&key, &(struct micro_ask){.now = NOW, .peek = true}).idle, NOW);
    assert_int_equal(key_take(&key, NOW + 250000, 1).idle, NOW + SECOND + 1);
    assert_int_equal(key_take(&key, earlier, 1).idle, earlier + 2 * SECOND);
}

static void sliding_log(void **unused)
{
    (void)unused;
    struct key key = key_of("3/s algorithm=sliding-log");
    assert_allowed(key_take(&key, NOW, 1), 2);
    assert_allowed(key_take(&key, NOW + 100000, 2), 0);
    assert_refused(key_take(&key, NOW + 200000, 1), 800000);
    assert_refused(key_take(&key, NOW + 200000, 2), 900000);
    assert_allowed(key_take(&key, NOW + SECOND, 1), 0);
    key_settle(&key, NOW + SECOND, NOW + 100000, 2, 1);
    assert_allowed(key_take(&key, NOW + SECOND, 1), 0);
    assert_refused(key_take(&key, NOW + SECOND, 1), 100000); /* what was left of the two */
    struct key gap = key_of("3/s algorithm=sliding-log gap=100ms count-refused");
    key_take(&gap, NOW, 1);
    assert_refused(key_take(&gap, NOW + 60000, 1), 100000); /* counted: the gap begins anew */
    struct key closed = key_of("1/s algorithm=sliding-log edge=closed");
    key_take(&closed, NOW, 1);
    assert_refused(key_take(&closed, NOW + SECOND, 1), 1);
}

static void lists_take_all_or_nothing(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s; 3/min");
    struct micro_answer answer = key_take(&key, NOW, 3);
    assert_allowed(answer, 0);
    assert_int_equal(answer.limit, 1);
    assert_int_equal(answer.idle, NOW + 60 * SECOND);
    answer = key_take(&key, NOW, 1);
    assert_refused(answer, 20 * SECOND);
    assert_int_equal(answer.limit, 1);
    assert_int_equal(key.state.cell[0].word[1], 300000); /* and the other was not charged */
    answer = key_take(&key, NOW, 4);
    assert_int_equal(answer.verdict, WEIR_NEVER);
    assert_int_equal(answer.limit, 1);
    const struct micro_ask waits = {.now = NOW, .cost = {1, 1}, .wait = 60 * SECOND};
    assert_refused(key_ask(&key, &waits), 20 * SECOND); /* nobody waits for a list */
    struct key open = key_of("unlimited; none");
    assert_int_equal(key_take(&open, NOW, 1).verdict, WEIR_NEVER);
    struct key unlimited = key_of("unlimited");
    answer = key_take(&unlimited, NOW, 5);
    assert_allowed(answer, MICRO_ALL);
    assert_false(answer.changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(rates_are_reduced),
        cmocka_unit_test(rules),
        cmocka_unit_test(the_largest_rules),
        cmocka_unit_test(what_is_not_kept_is_refused),
        cmocka_unit_test(gcra),
        cmocka_unit_test(waits_and_peeks),
        cmocka_unit_test(charges_make_debt),
        cmocka_unit_test(far_ahead),
        cmocka_unit_test(settling),
        cmocka_unit_test(hybrid_settles),
        cmocka_unit_test(hybrid_at_its_edges),
        cmocka_unit_test(hybrid_keeps_its_schedule),
        cmocka_unit_test(leaky),
        cmocka_unit_test(fixed_window),
        cmocka_unit_test(sliding_window),
        cmocka_unit_test(when_a_window_is_forgotten),
        cmocka_unit_test(sliding_log),
        cmocka_unit_test(lists_take_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
