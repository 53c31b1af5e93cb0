/* SPDX-License-Identifier: MIT
   The engine's unit by hand: numbers, plans, each kind, lists.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/micro/num.h"
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
    assert_refused(key_take(&key, NOW + 100000, 1), 100000);
    assert_false(key_ask(&key, &(struct micro_ask){.now = NOW + 200000, .cost = {1}, .peek = true}).changed);
    assert_allowed(key_take(&key, NOW + 200000, 1), 0);
}

static void charges_make_debt(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=5 debt=10"), any = key_of("10/s burst=5");
    key_charge(&key, NOW, 1000);
    assert_refused(key_take(&key, NOW, 1), 1100000);
    key_charge(&any, NOW, 1000);
    assert_refused(key_take(&any, NOW, 1), 99600000);
    struct key none = key_of("none");
    assert_int_equal(key_charge(&none, NOW, 1).verdict, WEIR_NEVER);
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
}

static void sliding_window(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=sliding-window");
    assert_allowed(key_take(&key, NOW + 900000, 10), 0);
    assert_allowed(key_take(&key, NOW + 1250000, 1), 2);      /* 7.5 of the 10 are still seen: 7 */
    assert_refused(key_take(&key, NOW + 1250000, 4), 150001); /* when fewer than 6 are */
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
        cmocka_unit_test(what_is_not_kept_is_refused),
        cmocka_unit_test(gcra),
        cmocka_unit_test(waits_and_peeks),
        cmocka_unit_test(charges_make_debt),
        cmocka_unit_test(far_ahead),
        cmocka_unit_test(settling),
        cmocka_unit_test(hybrid_settles),
        cmocka_unit_test(hybrid_keeps_its_schedule),
        cmocka_unit_test(leaky),
        cmocka_unit_test(fixed_window),
        cmocka_unit_test(sliding_window),
        cmocka_unit_test(sliding_log),
        cmocka_unit_test(lists_take_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
