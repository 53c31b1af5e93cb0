/* SPDX-License-Identifier: MIT
   Test/peers: the literal limiters that weir is held against, step by step.

   Expected answers are worked out by hand from the peers' rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "peers/simrate.h"
#include "peers/whole_leaks.h"
#include "unit/plans.h"

/* ---- simrate ---- */

/* 1 us ticks; the rest of each fill is lost. */
static void simrate_fills(void **unused)
{
    (void)unused;
    struct simrate simrate = {0};
    simrate_set_rate(&simrate, 0.5, 1.1);
    assert_int_equal(simrate.active, 2000000);
    simrate_refill(&simrate, 999);
    simrate_refill(&simrate, 1998);
    assert_int_equal(simrate.active, 2000000);
    simrate_refill(&simrate, 3998);
    assert_int_equal(simrate.active, 2000002);
    /* 2^31 - 1 ns at most are poured, 2,147,483 ticks; the rest waits at once. */
    simrate_refill(&simrate, 3998 + 3 * S);
    assert_int_equal(simrate.active, 2000002 + 2147483 + 214748);
    assert_int_equal(simrate.waiting, 852516 - 214748);
    simrate_refill(&simrate, 5); /* back: nothing passes, and from there on it passes again */
    assert_int_equal(simrate_total(&simrate), 2000002 + 2147483 + 852516);
    simrate_refill(&simrate, 1005);
    assert_int_equal(simrate_total(&simrate), 2000002 + 2147483 + 852516 + 1);
    simrate_refill(&simrate, YEAR);
    assert_true(simrate.waiting > 30000000000000); /* no 32 bits */
}

static void simrate_takes(void **unused)
{
    (void)unused;
    struct simrate simrate = {0};
    simrate_set_rate(&simrate, 1000, 1.1);
    assert_true(simrate_take(&simrate, 1));
    assert_false(simrate_take(&simrate, 1));
    simrate_refill(&simrate, 10 * MS);
    assert_false(simrate_take(&simrate, 11));
    assert_true(simrate_take(&simrate, 10));
    assert_int_equal(simrate.active, 0);
    /* Full after 1 s; what waits comes into the burst pool, a hundredth of it for 10 ms. */
    simrate_refill(&simrate, 1010 * MS);
    simrate_refill(&simrate, 1020 * MS);
    assert_int_equal(simrate.active, 1001 * MS);
    simrate_refill(&simrate, 1030 * MS);
    assert_int_equal(simrate.active, 1002 * MS);
    assert_int_equal(simrate.waiting, 18 * MS);
    /* What is above a smaller top stays. */
    simrate_set_rate(&simrate, 1.0000001, 0.5);
    simrate_refill(&simrate, 1040 * MS);
    assert_int_equal(simrate.active, 1000 * MS);
    assert_int_equal(simrate.waiting, 10 * MS - 100);
    /* A new rate begins with one operation. */
    simrate_set_rate(&simrate, 100, 1.1);
    assert_int_equal(simrate_total(&simrate), 10 * MS);
}

/* The scale of ticks, the ticks of an operation, and what the pools hold. */
static void simrate_in_numbers(void **unused)
{
    (void)unused;
    static const struct {
        double rate_per_s, burst_ratio;
        int64_t tick_ns, per_op, over;
    } rows[] = {
        {1e9, 1.1, 1, 1, 1100000000},
        {3, 1.1, 1, 333333333, 1100000000},
        {1.0000001, 1.1, 1, 999999900, 1100000000},
        {1, 1.1, 1000, 1000000, 1100000000},
        {0.001, 2, 1000000, 1000000, 2000000000},
        {1e-7, 1, 1000000000, 10000000, 1000000000},
        {2e9, 1, 1, 0, 1000000000},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct simrate simrate = {0};
        simrate_set_rate(&simrate, rows[i].rate_per_s, rows[i].burst_ratio);
        assert_int_equal(simrate.tick_ns, rows[i].tick_ns);
        assert_int_equal(simrate.per_op, rows[i].per_op);
        assert_int_equal(simrate.over, rows[i].over);
    }
}

/* ---- whole leaks ---- */

static void leaks(struct whole_leaks *leaks, const struct whole_leaks_limit *limit, int64_t now_ms, int64_t permits,
                  enum whole_leaks_mode mode, bool allowed, int64_t remaining, int64_t reset_ms)
{
    const struct whole_leaks_answer answer = whole_leaks_take(leaks, limit, now_ms, permits, mode);
    assert_int_equal(answer.allowed, allowed);
    assert_int_equal(answer.remaining, remaining);
    assert_int_equal(answer.reset_ms, reset_ms);
}

static void whole_leaks(void **unused)
{
    (void)unused;
    const struct whole_leaks_limit ten = {10, 10, 1000}, small = {10, 3, 1000}, large = {10, 20, 1000};
    struct whole_leaks state = {0};
    leaks(&state, &ten, 0, 10, WHOLE_LEAKS_PLAIN, true, 0, 1000);
    leaks(&state, &ten, 99, 1, WHOLE_LEAKS_PLAIN, false, 0, 1000); /* nothing until a whole one has leaked */
    leaks(&state, &ten, 250, 1, WHOLE_LEAKS_PLAIN, true, 1, 900);  /* 2.5 */
    leaks(&state, &ten, 300, 1, WHOLE_LEAKS_PLAIN, true, 0, 1000); /* takes the 0.5 with it */
    leaks(&state, &ten, 350, 1, WHOLE_LEAKS_PLAIN, true, 0, 1000);
    leaks(&state, &ten, 350, 1, WHOLE_LEAKS_DRAIN, false, 0, 1000);
    leaks(&state, &ten, 650, 5, WHOLE_LEAKS_DRAIN, false, 0, 700); /* 3 were left */
    leaks(&state, &ten, 650, 2, WHOLE_LEAKS_REFILL, true, 8, 200);
    leaks(&state, &ten, 600, 0, WHOLE_LEAKS_PLAIN, true, 8, 200); /* a clock that goes back leaks nothing */
    leaks(&state, &ten, 1650, 0, WHOLE_LEAKS_PLAIN, true, 10, 0);
    leaks(&state, &ten, 1651, 1, WHOLE_LEAKS_PLAIN, true, 9, 100); /* forgotten, for asking for nothing is no call */
    leaks(&state, &small, 1651, 1, WHOLE_LEAKS_PLAIN, true, 2, 800);
    leaks(&state, &large, 1651, 0, WHOLE_LEAKS_PLAIN, true, 20, -1000); /* a burst that grows fills up */
    leaks(&state, &small, 9000, 4, WHOLE_LEAKS_PLAIN, false, 0, 1000);  /* more than the burst at first: all is lost */
    leaks(&state, &small, 9000, 1, WHOLE_LEAKS_PLAIN, false, 0, 1000);
    /* Up to the burst and a fraction is kept. */
    state = (struct whole_leaks){0};
    leaks(&state, &small, 0, 1, WHOLE_LEAKS_PLAIN, true, 2, 800);
    leaks(&state, &small, 190, 1, WHOLE_LEAKS_PLAIN, true, 2, 800); /* 3.9 */
    leaks(&state, &small, 290, 0, WHOLE_LEAKS_PLAIN, true, 3, 700); /* 3.9 again */
    assert_true(state.left > 3.89 && state.left < 3.91);
    /* Asking for nothing does not make it be remembered for longer. */
    state = (struct whole_leaks){0};
    leaks(&state, &ten, 0, 10, WHOLE_LEAKS_PLAIN, true, 0, 1000);
    leaks(&state, &ten, 999, 0, WHOLE_LEAKS_PLAIN, true, 9, 100);
    leaks(&state, &ten, 1001, 1, WHOLE_LEAKS_PLAIN, true, 9, 100);
    /* A burst that shrinks takes nothing but what is above it, in whole permits. */
    state = (struct whole_leaks){0};
    leaks(&state, &ten, 0, 8, WHOLE_LEAKS_PLAIN, true, 2, 800);
    leaks(&state, &ten, 190, 0, WHOLE_LEAKS_PLAIN, true, 3, 700);
    leaks(&state, &small, 190, 1, WHOLE_LEAKS_PLAIN, true, 2, 800);
    assert_true(state.left > 2.89 && state.left < 2.91);
    const struct whole_leaks_limit nothing = {0, 0, 1000}, no_time = {5, 5, 0};
    state = (struct whole_leaks){0};
    leaks(&state, &nothing, 5, 1, WHOLE_LEAKS_PLAIN, false, 0, 0);
    leaks(&state, &nothing, 6, 1, WHOLE_LEAKS_PLAIN, false, 0, 0);
    state = (struct whole_leaks){0};
    leaks(&state, &no_time, 5, 5, WHOLE_LEAKS_PLAIN, true, 0, 0);
    leaks(&state, &no_time, 5, 1, WHOLE_LEAKS_PLAIN, false, 0, 0);
    leaks(&state, &no_time, 6, 1, WHOLE_LEAKS_PLAIN, true, 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simrate_fills),
        cmocka_unit_test(simrate_takes),
        cmocka_unit_test(simrate_in_numbers),
        cmocka_unit_test(whole_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
