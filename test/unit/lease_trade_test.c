/* SPDX-License-Identifier: MIT
   What one limit trades with a lease, in exact numbers: who may wait beside permits that are out, and when those start
   that are taken along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/clock.h"
#include "plan/plan.h"
#include "share/lease.h"
#include "unit/plans.h"

enum { BURST = 48, WAIT_NS = 1000 };

/* A tick is a permit; so many sixteenths of one accrue in a ns. */
static struct rule rule_with(uint64_t sixteenths)
{
    const weir_plan plan = plan_of("1000000000/s algorithm=gcra burst=48");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    assert_int_equal(rule.scale, 0);
    assert_int_equal(rule.burst, BURST);
    rule.multiplier = sixteenths;
    rule.shift = 4;
    return rule;
}

/* The most that may be out beside a call of 8 that waits. */
static uint64_t most_out(const struct rule *rule, const struct ask *ask)
{
    uint64_t out = 0;
    while (lease_wait_max_ns(rule, out + 1, ask) == WAIT_NS) out++;
    assert_int_equal(lease_wait_max_ns(rule, out + 1, ask), 0);
    return out;
}

/* The call, what is out, and what accrues while the start is rounded up to a ns are at most the burst. */
static void who_may_wait_beside_a_lease(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t sixteenths, rounding;
    } rows[] = {{15, 0}, {16, 0}, {17, 1}, {32, 1}, {33, 2}, {0, 0}};
    const uint64_t each[] = {8, 20};
    const struct ask ask = {.wait_max_ns = WAIT_NS, .cost = 8},
                     listed = {.wait_max_ns = WAIT_NS, .cost = 20, .each = each};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct rule rule = rule_with(rows[i].sixteenths);
        assert_int_equal(most_out(&rule, &ask), BURST - 8 - rows[i].rounding);
        assert_int_equal(most_out(&rule, &listed), BURST - 8 - rows[i].rounding);
    }
    const struct ask large = {.wait_max_ns = WAIT_NS, .cost = BURST};
    const struct rule rule = rule_with(16);
    assert_int_equal(lease_wait_max_ns(&rule, 0, &large), WAIT_NS);
    assert_int_equal(lease_wait_max_ns(&rule, 1, &large), 0);
}

/* Permits that pass now start now, though the limit's clock was set later. */
static void before_the_clock_was_set(void **unused)
{
    (void)unused;
    struct rule rule = rule_with(16);
    rule.anchor_ns = 100;
    for (uint64_t now_ns = 50; now_ns <= 150; now_ns += 50) {
        uint64_t state = 0;
        const struct trade trade = {.now_ns = now_ns, .want = 4};
        const struct lease_slice slice = lease_trade(&rule, &state, &trade, 0);
        assert_int_equal(slice.permits, 4);
        assert_int_equal(slice.first_ns, now_ns);
        assert_int_equal(slice.last_ns, now_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_wait_beside_a_lease),
        cmocka_unit_test(before_the_clock_was_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
