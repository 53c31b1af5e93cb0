/* SPDX-License-Identifier: MIT
   A limit with a name gets another rule: what its keys used stays used, as many permits.

   The rows were worked out by hand, the random ones by counting permits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/table/keyed.h"
#include "core/num.h"
#include "host/clock.h"
#include "plan/plan.h"
#include "serve/policy/tables.h"
#include "unit/plans.h"

#define SECOND UINT64_C(1000000000)

struct named {
    struct tables *tables;
    weir_table *table;
    weir_plan plan;
    uint64_t now_ns;
};

static void change_to(struct named *named, const char *text)
{
    weir_error error = {0};
    named->plan = plan_of(text);
    named->table = tables_for(named->tables, &named->plan, &error);
    if (named->table == NULL) fail_msg("%s", error.message);
    const unsigned part = tables_part(named->tables, named->table, weir_key_text("api"), 0, 1, &error);
    if (part == 0) fail_msg("%s", error.message);
    plan_inside(&named->plan)->part = part;
    tables_enter(named->tables, named->table, &named->plan);
}

static struct named open_named(const char *state, const char *text)
{
    struct named named = {.now_ns = host_now_ns()};
    weir_error error = {0};
    const struct tables_options options = {.keys_max = 1000, .state = state, .memory = 64 << 20};
    if (tables_open(&named.tables, &options, &error) != 0) fail_msg("%s", error.message);
    change_to(&named, text);
    return named;
}

static weir_decision take_of(struct named *named, const char *key, uint64_t cost)
{
    return weir_table_take_at(named->table, &named->plan, weir_key_text(key), (weir_instant){named->now_ns}, cost);
}

/* What remains is asked with a cost of 0; retry is that of a cost of 1 where nothing remains. */
static void check_left(struct named *named, const char *key, uint64_t remaining, uint64_t retry_ns)
{
    assert_int_equal(take_of(named, key, 0).remaining, remaining);
    if (remaining != 0) return;
    const weir_decision refused = take_of(named, key, 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_in_range(refused.retry_ns, retry_ns - 10, retry_ns + 10);
}

static void used_permits_are_kept(void **unused)
{
    (void)unused;
    static const struct {
        const char *from;
        uint64_t used;
        const char *to;
        uint64_t remaining, retry_ns;
    } rows[] = {{"100/d", 60, "10/s burst=20", 0, SECOND / 10},
                {"10/s burst=20", 5, "100/d", 95, 0},
                {"10/d", 10, "100/d", 90, 0},
                {"100/d", 5, "10/s burst=20", 15, 0},
                {"100/d", 90, "100/d burst=10", 0, 864 * SECOND},
                {"10/s burst=20", 20, "10/s burst=50", 30, 0},
                {"100/d", 60, "100/d", 40, 0},
                {"10/s; 100/d", 8, "20/s; 10/d", 2, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct named named = open_named(NULL, rows[i].from);
        assert_int_equal(take_of(&named, "ann", rows[i].used).verdict, WEIR_ALLOW);
        change_to(&named, rows[i].to);
        check_left(&named, "ann", rows[i].remaining, rows[i].retry_ns);
        check_left(&named, "ann", rows[i].remaining, rows[i].retry_ns); /* brought over once */
        tables_close(named.tables);
    }
}

/* Nobody asked for it in between; and the first rule, once more. */
static void after_several_changes(void **unused)
{
    (void)unused;
    struct named named = open_named(NULL, "100/d");
    take_of(&named, "ann", 60);
    take_of(&named, "bob", 30);
    change_to(&named, "1000/d");
    check_left(&named, "bob", 970, 0);
    change_to(&named, "200/d");
    check_left(&named, "ann", 140, 0);
    check_left(&named, "bob", 170, 0);
    change_to(&named, "100/d");
    check_left(&named, "ann", 40, 0);
    check_left(&named, "carl", 100, 0);
    weir_table_forget(named.table, &named.plan, weir_key_text("bob"));
    check_left(&named, "bob", 100, 0);
    tables_close(named.tables);
}

static void a_look_finds_it_too(void **unused)
{
    (void)unused;
    struct named named = open_named(NULL, "100/d");
    take_of(&named, "ann", 30);
    change_to(&named, "1000/d");
    assert_int_equal(weir_table_peek(named.table, &named.plan, weir_key_text("ann"), 0, 0).remaining, 970);
    tables_close(named.tables);
}

/* In wide slots, those of a named limit have locks of their own. */
static void several_keys_of_a_wide_limit(void **unused)
{
    (void)unused;
    struct named named = open_named(NULL, "3/h algorithm=sliding-log");
    weir_ask asks[] = {{&named.plan, weir_key_text("ann"), 1, {0}}, {&named.plan, weir_key_text("bob"), 2, {0}}};
    const weir_instant now = {named.now_ns};
    assert_true(weir_table_take_all(named.table, asks, 2, now));
    assert_false(weir_table_take_all(named.table, asks, 2, now));
    assert_int_equal(asks[0].decision.verdict, WEIR_ALLOW);
    assert_int_equal(asks[1].decision.verdict, WEIR_DENY);
    assert_true(asks[1].decision.retry_ns > 3000 * SECOND);
    check_left(&named, "ann", 2, 0);
    check_left(&named, "bob", 1, 0);
    tables_close(named.tables);
}

/* For one key: its state is not that of the limit, nor of another rule for that key, but that of the same rule. */
static void an_override_starts_fresh(void **unused)
{
    (void)unused;
    struct named named = open_named(NULL, "100/d");
    static const char *const texts[] = {"50/d", "60/d", "50/d"};
    static const uint64_t remaining[] = {50, 60, 49};
    take_of(&named, "ann", 30);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_plan rule = plan_of(texts[i]);
        plan_inside(&rule)->part = plan_inside(&named.plan)->part;
        keyed_rules_of_override(named.table, plan_inside(&rule));
        const weir_instant now = {named.now_ns};
        assert_int_equal(weir_table_take_at(named.table, &rule, weir_key_text("ann"), now, 0).remaining, remaining[i]);
        assert_int_equal(weir_table_take_at(named.table, &rule, weir_key_text("ann"), now, 1).verdict, WEIR_ALLOW);
    }
    check_left(&named, "ann", 70, 0);
    tables_close(named.tables);
}

/* Waited for, or owed: on top of what fits. */
static void what_is_owed_stays(void **unused)
{
    (void)unused;
    struct named named = open_named(NULL, "100/d burst=10");
    weir_table_charge(named.table, &named.plan, weir_key_text("ann"), 13);
    named.now_ns = host_now_ns();
    change_to(&named, "10/d burst=5");
    const weir_decision refused = take_of(&named, "ann", 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_in_range(refused.retry_ns, 4 * 8640 * SECOND - 200 * SECOND, 4 * 8640 * SECOND);
    tables_close(named.tables);
}

static void after_a_restart(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/weir-changed-XXXXXX", state[64], command[80];
    assert_non_null(mkdtemp(folder));
    snprintf(state, sizeof state, "%s/state", folder);
    struct named named = open_named(state, "100/d");
    take_of(&named, "ann", 60);
    take_of(&named, "bob", 60);
    tables_close(named.tables);
    named = open_named(state, "1000/d"); /* the file was edited meanwhile */
    check_left(&named, "ann", 940, 0);
    tables_close(named.tables);
    named = open_named(state, "1000/d"); /* and was not: bob was not asked for under this rule yet */
    check_left(&named, "ann", 940, 0);
    check_left(&named, "bob", 940, 0);
    tables_close(named.tables);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Permits are counted, each drained after its time; then the rule changes, and as many are used of the new one. */
static void as_counted(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (int run = 0; run < 300; run++) {
        uint64_t number[6];
        for (int i = 0; i < 6; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            number[i] = seed >> 40;
        }
        const uint64_t burst = 1 + number[0] % 50, to_burst = 1 + number[1] % 50, used = 1 + number[2] % burst;
        const uint64_t period = 1 + number[3] % 5000, to_period = 1 + number[4] % 5000; /* s a permit */
        const uint64_t later = number[5] % (2 * period);
        char from[64], to[64];
        snprintf(from, sizeof from, "1/%us burst=%u", (unsigned)period, (unsigned)burst);
        snprintf(to, sizeof to, "1/%us burst=%u", (unsigned)to_period, (unsigned)to_burst);
        struct named named = open_named(NULL, from);
        assert_int_equal(take_of(&named, "ann", used).verdict, WEIR_ALLOW);
        named.now_ns += later * SECOND;
        change_to(&named, to);
        const uint64_t drained = least(later, used * period); /* s, of `period` a permit */
        const uint64_t kept = least(used * period - drained, to_burst * period);
        const uint64_t left = (to_burst * period - kept) / period;
        const uint64_t remaining = take_of(&named, "ann", 0).remaining;
        /* A unit of the table is rounded up. */
        assert_true(remaining == left || (remaining + 1 == left && (to_burst * period - kept) % period == 0));
        tables_close(named.tables);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_permits_are_kept),    cmocka_unit_test(after_several_changes),
        cmocka_unit_test(a_look_finds_it_too),      cmocka_unit_test(several_keys_of_a_wide_limit),
        cmocka_unit_test(an_override_starts_fresh), cmocka_unit_test(what_is_owed_stays),
        cmocka_unit_test(after_a_restart),          cmocka_unit_test(as_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
