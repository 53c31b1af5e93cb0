/* SPDX-License-Identifier: MIT
   weir replay --tenant: who was starved is found, were the table to refuse what a guarantee has room for.

   It never does, so here something else decides in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "cli/replay/tenants/tenants.h"
#include "core/decide.h"

enum { NOW_NS = 1000000000 };

static bool refuses, borrows;

bool __wrap_weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now);
bool __wrap_weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now)
{
    (void)table;
    for (size_t i = 0; i < count; i++) {
        asks[i].decision = (weir_decision){.verdict = refuses ? WEIR_DENY : WEIR_ALLOW, .start = now};
        if (borrows) asks[i].decision.reserved |= DECISION_BORROWED;
    }
    return !refuses;
}

static struct tenants *tenants;

static void take(int times, bool is_refused, bool is_borrowed)
{
    weir_decision decision;
    refuses = is_refused;
    borrows = is_borrowed;
    for (int i = 0; i < times; i++) {
        assert_true(tenants_take(tenants, TENANTS_STAMPED, 0, slice_of("acme"), NOW_NS, 1, &decision));
        assert_int_equal(weir_allowed(decision), !is_refused);
    }
}

static void open_acme(const char *typed)
{
    const struct tenants_options options = {.typed = {typed}, .count = 1};
    tenants = tenants_open(&options, "100/s");
    assert_non_null(tenants);
}

static void test_guarantee_has_room(void **unused)
{
    (void)unused;
    open_acme("acme=10/s guaranteed");
    take(4, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 4);
    take(9, false, false);
    take(1, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 5);
    take(1, false, false); /* the last one of its burst: what is refused now is beyond the guarantee */
    take(5, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 5);
    assert_int_equal(tenants_counts(tenants, 0).refused, 10);
    assert_int_equal(tenants_counts(tenants, 0).guaranteed, 10);
    tenants_close(tenants);
}

static void test_borrowed_is_not_of_it(void **unused)
{
    (void)unused;
    open_acme("acme=10/s guaranteed");
    take(30, false, true);
    take(2, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 2);
    assert_int_equal(tenants_counts(tenants, 0).borrowed, 30);
    tenants_close(tenants);
}

static void test_ceiling_may_refuse(void **unused)
{
    (void)unused;
    open_acme("acme=10/s guaranteed; 20/s burst=20");
    take(20, false, true);
    take(2, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 0);
    tenants_close(tenants);
}

static void test_nothing_is_guaranteed(void **unused)
{
    (void)unused;
    open_acme("*=10/s");
    take(2, true, false);
    assert_int_equal(tenants_counts(tenants, 0).starved, 0);
    take(2, false, false);
    assert_int_equal(tenants_counts(tenants, 0).borrowed, 2);
    tenants_close(tenants);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guarantee_has_room),
        cmocka_unit_test(test_borrowed_is_not_of_it),
        cmocka_unit_test(test_ceiling_may_refuse),
        cmocka_unit_test(test_nothing_is_guaranteed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
