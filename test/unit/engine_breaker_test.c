/* SPDX-License-Identifier: MIT
   When a server that failed is tried again, with times that are made up. */
#include "redis/client/link/breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct breaker breaker;

static void test_one_failure_opens_it_once(void **state)
{
    (void)state;
    breaker_init(&breaker, 1);
    assert_false(breaker_claim(&breaker, UINT64_MAX));
    assert_true(breaker_fail(&breaker, 1000, false));
    const uint64_t probe_at = breaker.probe_at;
    assert_false(breaker_fail(&breaker, 2000, false)); /* others hear of it too */
    assert_int_equal(breaker.probe_at, probe_at);
    assert_int_equal(breaker.failures, 1);
    assert_int_equal(breaker_wait_ns(&breaker, 1000), probe_at - 1000);
}

static void test_one_of_all_probes(void **state)
{
    (void)state;
    breaker_init(&breaker, 2);
    breaker_fail(&breaker, 0, false);
    assert_false(breaker_claim(&breaker, breaker.probe_at - 1));
    const uint64_t now = breaker.probe_at;
    assert_true(breaker_claim(&breaker, now));
    assert_false(breaker_claim(&breaker, now));
    assert_false(breaker_claim(&breaker, now + BREAKER_PROBE_NS - 1));
    assert_true(breaker_claim(&breaker, now + BREAKER_PROBE_NS)); /* who had it has gone */
}

/* Each pause lies between half of what it may be and that, and twice as long as the one before until the last. */
static void test_pauses_grow(void **state)
{
    (void)state;
    uint64_t different = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t now = 0, most = BREAKER_FIRST_NS;
        breaker_init(&breaker, seed * 2 + 1);
        breaker_fail(&breaker, now, false);
        for (int i = 0; i < 10; i++) {
            const uint64_t pause = breaker.probe_at - now;
            assert_in_range(pause, most / 2, most);
            different += pause != most / 2 && pause != most;
            now = breaker.probe_at;
            assert_true(breaker_claim(&breaker, now));
            assert_false(breaker_fail(&breaker, now, true));
            most = most * 2 < BREAKER_LAST_NS ? most * 2 : BREAKER_LAST_NS;
        }
    }
    assert_true(different > 900);
}

/* However long it is away: the count of failures does not begin anew, nor does the pause. */
static void test_failures_are_counted_to_the_last(void **state)
{
    (void)state;
    breaker_init(&breaker, 4);
    breaker.failures = UINT32_MAX - 1;
    breaker_fail(&breaker, 0, false);
    assert_int_equal(breaker.failures, UINT32_MAX);
    breaker_fail(&breaker, 0, true);
    assert_int_equal(breaker.failures, UINT32_MAX);
    assert_in_range(breaker.probe_at, BREAKER_LAST_NS / 2, BREAKER_LAST_NS);
}

static void test_trial(void **state)
{
    (void)state;
    breaker_init(&breaker, 3);
    breaker_fail(&breaker, 0, false);
    assert_true(breaker_claim(&breaker, breaker.probe_at));
    breaker_pass(&breaker);
    assert_int_equal(breaker.state, BREAKER_TRIAL);
    assert_true(breaker_fail(&breaker, 0, false)); /* it went on where it was */
    assert_int_equal(breaker.failures, 2);
    assert_true(breaker_claim(&breaker, breaker.probe_at));
    breaker_pass(&breaker);
    breaker_sound(&breaker);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_true(breaker_fail(&breaker, 0, false));
    assert_int_equal(breaker.failures, 1);
}

/* From its return on, whenever that is: the next probe comes within the longest pause, and a second is more. */
static void test_back_within_a_second(void **state)
{
    (void)state;
    assert_true(BREAKER_LAST_NS < UINT64_C(1000000000));
    for (uint64_t back = 0; back < UINT64_C(5000000000); back += UINT64_C(7000001)) {
        uint64_t now = 0;
        breaker_init(&breaker, back);
        breaker_fail(&breaker, 0, false);
        for (now = breaker.probe_at; now < back; now = breaker.probe_at) {
            assert_true(breaker_claim(&breaker, now));
            breaker_fail(&breaker, now, true);
        }
        assert_true(now - back <= BREAKER_LAST_NS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_failure_opens_it_once),
        cmocka_unit_test(test_one_of_all_probes),
        cmocka_unit_test(test_pauses_grow),
        cmocka_unit_test(test_failures_are_counted_to_the_last),
        cmocka_unit_test(test_trial),
        cmocka_unit_test(test_back_within_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
