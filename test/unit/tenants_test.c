/* SPDX-License-Identifier: MIT
   Tenants with guarantees: what their texts promise each other, and takes of them in both kinds of tables. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <string.h>

#include <weir/weir.h>

#include "core/tenants.h"
#include "unit/plans.h"
#include "unit/table_rig.h"

#define HOUR (UINT64_C(3600) * S)

/* ---- texts ---- */

static void assert_mistake(const char *text, int column, const char *part)
{
    weir_plan plan;
    weir_error error;
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, &error), WEIR_EINVAL);
    if (error.column != column || strstr(error.message, part) == NULL)
        fail_msg("%s: column %d, %s", text, error.column, error.message);
}

static void one_limit_is_guaranteed_and_comes_first(void **unused)
{
    (void)unused;
    assert_mistake("20/s; 5/s guaranteed", 11, "the guaranteed limit comes first");
    assert_mistake("5/s guaranteed; 20/s guaranteed", 22, "one limit of a text is guaranteed");
    assert_mistake("5/s algorithm=sliding-log guaranteed", 27, "guaranteed does not belong to");
}

static void a_ceiling_lets_through_what_is_guaranteed(void **unused)
{
    (void)unused;
    assert_mistake("5/s guaranteed; 4.999/s burst=10", 17, "its rate is at least as high");
    assert_mistake("5/s guaranteed; 299/min burst=10", 17, "its rate is at least as high");
    assert_mistake("5/s burst=6 guaranteed; 10/s burst=5", 36, "its burst is at least as large");
    assert_mistake("5/s burst=1100ms guaranteed; 5/s", 30, "its burst is at least as large");
    assert_mistake("5/s guaranteed; 9/s algorithm=sliding-log", 17, "this window has to hold");
    assert_mistake("1/s burst=1000000001ns guaranteed; 2/s algorithm=sliding-window", 36, "this window has to hold");
    assert_mistake("5/s guaranteed; 20/s gap=1ms", 26, "leave gap= out");
    assert_mistake("5/s guaranteed; 20/s catchup=2", 17, "beside a guaranteed limit");
    const char *const fine[] = {
        "5/s guaranteed; 5/s",
        "1/s burst=1000000001ns guaranteed; 3/s algorithm=sliding-window",
        "1/s burst=1 guaranteed; 2/s algorithm=sliding-window",
        "5/s burst=1s guaranteed; 5/s",
        "5/s guaranteed; 300/min",
        "5/s guaranteed; 10/s algorithm=sliding-log; 10/s algorithm=fixed-window; 305/min algorithm=sliding-window",
        "5/s guaranteed; 1 tokens/h",
        "5/s guaranteed; 1 concurrent lease=1s",
        "5/s guaranteed; unlimited",
    };
    for (size_t i = 0; i < LENGTH(fine); i++) plan_of(fine[i]);
}

/* ---- sums ---- */

enum { TENANTS_MAX = 8 };

/* "": they fit. */
static void assert_sum(const char *parent, const char *const texts[TENANTS_MAX], const char *message)
{
    const weir_plan plan = plan_of(parent);
    weir_plan tenants[TENANTS_MAX];
    const weir_plan *pointers[TENANTS_MAX];
    weir_error error = {.message = ""};
    size_t count = 0;
    for (; count < TENANTS_MAX && texts[count] != NULL; count++) {
        tenants[count] = plan_of(texts[count]);
        pointers[count] = &tenants[count];
    }
    const int failed = weir_plan_check_tenants(&plan, pointers, count, &error);
    assert_int_equal(failed, *message == '\0' ? 0 : WEIR_EINVAL);
    assert_string_equal(error.message, message);
    assert_int_equal(weir_plan_check_tenants(&plan, pointers, count, NULL), failed);
}
#define ASSERT_SUM(parent, message, ...) assert_sum(parent, (const char *const[TENANTS_MAX]){__VA_ARGS__}, message)

static void guarantees_are_within_the_parents_rate(void **unused)
{
    (void)unused;
    ASSERT_SUM("100/s", "", NULL);
    ASSERT_SUM("100/s", "", "60/s guaranteed", "40/s burst=1000 guaranteed", "100/s");
    ASSERT_SUM("100/s",
               "the guarantees are 101/s in total, more than the 100/s of their parent, with the 41/s of tenants[2]",
               "60/s guaranteed", "70/s", "41/s guaranteed", "1/s guaranteed");
    ASSERT_SUM("1/s", "", "20/min guaranteed", "20/min guaranteed", "20/min guaranteed");
    ASSERT_SUM("1/s", "", "1/7s guaranteed", "2/7s guaranteed", "4/7s guaranteed");
    ASSERT_SUM("1/s",
               "the guarantees are 1.001/s in total, more than the 1/s of their parent, with the 4.000000001/7s of "
               "tenants[2]",
               "1/7s guaranteed", "2/7s guaranteed", "4.000000001/7s guaranteed");
    ASSERT_SUM("100/s; 1000/h",
               "the guarantees are 3600/h in total, more than the 1000/h of their parent, with the 1/s of tenants[0]",
               "1/s guaranteed");
    ASSERT_SUM("100/s; 20 concurrent lease=1s; unlimited", "", "60/s guaranteed");
    ASSERT_SUM("none", "the 1/s guaranteed to tenants[0] are more than its parent lets through: none",
               "1/s guaranteed");
    ASSERT_SUM(
        "100 tokens/s; 60/min",
        "the 50 tokens/s guaranteed to tenants[1] are in another unit than a limit of its parent, which one cost "
        "cannot be charged to",
        "60/s", "50 tokens/s guaranteed");
}

/* Denominators that have nothing in common: what does not fit 64 bits is rounded up. */
static void a_sum_that_does_not_fit_is_never_taken_for_a_smaller_one(void **unused)
{
    (void)unused;
    ASSERT_SUM("1000004/s", "", "1000/999999937ns guaranteed", "1/999999929ns guaranteed", "1/999999893ns guaranteed",
               "1/999999883ns guaranteed", "999000/s guaranteed");
    const char *const message = "the guarantees are 1000004.001/s in total, more than the 1000003/s of their parent, "
                                "with the 1000000/s of tenants[4]";
    /* 2 and 8/3 of the steps in which is rounded, and the parent lets 4 through. */
    ASSERT_SUM("1/4611686018427387904ns",
               "the guarantees are 2/4611686018427387904ns in total, more than the 1/4611686018427387904ns of their "
               "parent, with the 1/6917529027641081856ns of tenants[1]",
               "1/9223372036854775808ns guaranteed", "1/6917529027641081856ns guaranteed");
    ASSERT_SUM("1000003/s", message, "1/999999937ns guaranteed", "1/999999929ns guaranteed", "1/999999893ns guaranteed",
               "1/999999883ns guaranteed", "1000000/s guaranteed");
}

static void all_have_a_weight_or_none(void **unused)
{
    (void)unused;
    assert_mistake("5/s; 20/s weight=2", 11, "the weight of a tenant is in its first limit");
    assert_mistake("5/s guaranteed; 20/s weight=2", 22, "the weight of a tenant is in its first limit");
    ASSERT_SUM("100/s", "", "unlimited weight=2", "50/s guaranteed weight=1; 80/s", "9/s weight=1000");
    ASSERT_SUM("100/min algorithm=sliding-log; 20/s", "", "unlimited weight=2");
    ASSERT_SUM("100/s",
               "tenants[2] has no weight and others have one: give one to each, or to none; for example "
               "unlimited weight=1",
               "unlimited weight=2", "unlimited weight=2", "unlimited", "unlimited weight=1");
    ASSERT_SUM("100/s",
               "tenants[0] has no weight and others have one: give one to each, or to none; for example "
               "unlimited weight=1",
               "50/s guaranteed", "9/s weight=1");
    ASSERT_SUM("100/min algorithm=sliding-log",
               "weights share a rate: expected a limit by gcra in their parent; for example 400/s", "9/s weight=1");
}

/* ---- whose guarantee ---- */

static void the_first_guarantee_that_has_room_is_charged(void **unused)
{
    (void)unused;
    const struct {
        struct tenant asks[3];
        size_t by;
        uint64_t wait;
    } rows[] = {
        {{{0, 0, 0}, {0, 0, 0}, {0, UINT64_MAX, 0}}, 0, 0},
        {{{0, 5, 0}, {0, 0, 0}, {9, UINT64_MAX, 0}}, 1, 0},
        {{{0, 5, 0}, {0, 7, 0}, {0, UINT64_MAX, 0}}, 3, 0},
        {{{0, 5, 0}, {0, 7, 0}, {9, UINT64_MAX, 0}}, 0, 5},
        {{{6, 5, 0}, {0, 6, 0}, {9, UINT64_MAX, 0}}, 0, 6},
        {{{0, 9, 0}, {0, 7, 0}, {9, UINT64_MAX, 0}}, 1, 7},
        {{{0, 9, 0}, {0, 7, 0}, {6, UINT64_MAX, 0}}, 3, 6},
        {{{0, 0, 0}, {9, 7, 0}, {9, UINT64_MAX, 8}}, 0, 8},
        {{{UINT64_MAX, 0, 0}, {0, 0, 0}, {0, UINT64_MAX, 0}}, 3, UINT64_MAX},
        {{{0, 0, 0}, {0, 0, 0}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}}, 3, UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t wait;
        const size_t by = tenants_choose(rows[i].asks, 3, &wait);
        if (by != rows[i].by || wait != rows[i].wait) fail_msg("row %zu: by %zu, wait %u", i, by, (unsigned)wait);
    }
}

/* ---- takes ---- */

static weir_table *open_widest(void)
{
    const weir_plan plan = plan_of("5/s guaranteed; 5/s; 5/s; 9 concurrent lease=1s");
    return open_wide(&plan);
}

static weir_table *(*const kinds[])(void) = {open_default, open_widest};

static weir_ask ask_of(const weir_plan *plan, const char *key)
{
    return (weir_ask){.plan = plan, .key = weir_key_text(key), .cost = 1};
}

/* Whether it passed, and borrowed: 'g', 'b', or '-'. */
static char take_two(weir_table *table, weir_ask asks[], uint64_t ns)
{
    if (!weir_table_take_all(table, asks, 2, at(ns))) return '-';
    assert_false(weir_borrowed(&asks[1].decision));
    return weir_borrowed(&asks[0].decision) ? 'b' : 'g';
}

static uint64_t left(weir_table *table, const weir_ask *ask, uint64_t ns, int limit)
{
    (void)ns;
    return weir_table_peek(table, ask->plan, ask->key, limit, 0).remaining;
}

static void within_its_guarantee_a_tenant_passes_whatever_others_do(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("10/s burst=3"), some = plan_of("5/s burst=2 guaranteed"), other = plan_of("100/s");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        const uint64_t now = weir_now().ns;
        weir_ask greedy[] = {ask_of(&other, "greedy"), ask_of(&all, "all")};
        weir_ask tenant[] = {ask_of(&some, "tenant"), ask_of(&all, "all")};
        for (int i = 0; i < 3; i++) assert_int_equal(take_two(table, greedy, now), 'g');
        assert_int_equal(take_two(table, greedy, now), '-');
        assert_int_equal(greedy[1].decision.retry_ns, 100 * MS);
        assert_int_equal(greedy[0].decision.verdict, WEIR_ALLOW);
        assert_int_equal(take_two(table, tenant, now), 'g');
        assert_int_equal(tenant[0].decision.remaining, 1);
        assert_int_equal(tenant[1].decision.remaining, 0);
        assert_int_equal(take_two(table, tenant, now), 'g');
        /* Its guarantee has room again before the parent, which owes two. */
        assert_int_equal(take_two(table, tenant, now), '-');
        assert_int_equal(tenant[0].decision.retry_ns, 200 * MS);
        assert_int_equal(tenant[0].decision.verdict, WEIR_DENY);
        assert_int_equal(tenant[1].decision.verdict, WEIR_ALLOW);
        assert_int_equal(tenant[1].decision.retry_ns, 0);
        assert_int_equal(take_two(table, greedy, now), '-');
        assert_int_equal(greedy[1].decision.retry_ns, 300 * MS);
        assert_int_equal(take_two(table, tenant, now + 200 * MS - 1), '-');
        assert_int_equal(take_two(table, tenant, now + 200 * MS), 'g');
        assert_int_equal(take_two(table, greedy, now + 400 * MS - 1), '-');
        assert_int_equal(take_two(table, greedy, now + 400 * MS), 'g');
        weir_table_close(table);
    }
}

static void what_is_idle_is_borrowed_up_to_the_ceiling(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("10/s burst=10"), some = plan_of("1/s burst=1 guaranteed; 4/s burst=4");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        const uint64_t now = weir_now().ns;
        weir_ask tenant[] = {ask_of(&some, "tenant"), ask_of(&all, "all")};
        assert_int_equal(take_two(table, tenant, now), 'g');
        for (int i = 0; i < 3; i++) {
            assert_int_equal(take_two(table, tenant, now), 'b');
            assert_int_equal(tenant[0].decision.limit, 1);
            assert_int_equal(tenant[0].decision.remaining, 2 - i);
            assert_int_equal(tenant[1].decision.remaining, 8 - i);
        }
        assert_int_equal(take_two(table, tenant, now), '-');
        assert_int_equal(tenant[0].decision.limit, 1);
        assert_int_equal(tenant[0].decision.retry_ns, 250 * MS);
        tenant[0].cost = tenant[1].cost = 5;
        assert_int_equal(take_two(table, tenant, now), '-');
        assert_int_equal(tenant[0].decision.verdict, WEIR_NEVER);
        weir_table_close(table);
    }
}

/* A user of an organisation: its own guarantee, the organisation's, or what is idle. */
static int take_while_it_passes(weir_table *table, weir_ask asks[], uint64_t ns)
{
    int passed = 0;
    while (take_two(table, asks, ns) != '-') passed++;
    return passed;
}

/* Burst 40, a quarter of it is 10 permits.  The first is 10 behind the lead, and makes it: it leaves (40 - 1)/2 then,
   rounded down to permits.  The other one is 10 behind it when it comes. */
static void what_is_idle_is_shared_by_weight(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("100/s burst=40"), one = plan_of("unlimited weight=1"),
                    two = plan_of("90/s weight=2");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        weir_ask first[] = {ask_of(&one, "first"), ask_of(&all, "all")};
        weir_ask other[] = {ask_of(&one, "other"), ask_of(&all, "all")};
        weir_ask heavy[] = {ask_of(&two, "heavy"), ask_of(&all, "all")};
        assert_int_equal(take_while_it_passes(table, first, 0), 21);
        assert_int_equal(first[1].decision.verdict, WEIR_DENY);
        assert_int_equal(first[1].decision.retry_ns, 10 * (S / 1000));
        assert_int_equal(take_while_it_passes(table, other, 0), 7);
        assert_int_equal(take_two(table, first, 80 * (S / 1000) - 1), '-');
        assert_int_equal(take_two(table, first, 80 * (S / 1000)), 'g');
        /* It is 6 permits and the half of the lead's step behind by now, and of two shares. */
        assert_int_equal(take_while_it_passes(table, heavy, 80 * (S / 1000)), 10);
        weir_table_close(table);
    }
}

static void guarantees_nest(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/s burst=2"), team = plan_of("1/s burst=2 guaranteed; 1/s burst=4"),
                    user = plan_of("1/s burst=1 guaranteed; 1/s burst=9");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        const uint64_t now = weir_now().ns;
        weir_ask asks[] = {ask_of(&user, "user"), ask_of(&team, "team"), ask_of(&all, "all")};
        const char *const borrowed[] = {"gg", "bg", "bb"};
        /* The first is the user's, and charged to the team's guarantee too; so the team has one of its two left.  Both
           are charged to the parent, which then has nothing to lend. */
        for (int i = 0; i < 2; i++) {
            assert_true(weir_table_take_all(table, asks, 3, at(now)));
            for (int j = 0; j < 2; j++) assert_int_equal(weir_borrowed(&asks[j].decision) ? 'b' : 'g', borrowed[i][j]);
        }
        assert_int_equal(left(table, &asks[0], now, 1), 7);
        assert_int_equal(left(table, &asks[1], now, 0), 0);
        assert_int_equal(left(table, &asks[1], now, 1), 2);
        assert_false(weir_table_take_all(table, asks, 3, at(now)));
        weir_table_forget(table, &all, asks[2].key);
        assert_true(weir_table_take_all(table, asks, 3, at(now)));
        for (int j = 0; j < 2; j++) assert_int_equal(weir_borrowed(&asks[j].decision) ? 'b' : 'g', borrowed[2][j]);
        assert_int_equal(left(table, &asks[0], now, 1), 6);
        assert_int_equal(left(table, &asks[1], now, 1), 1);
        weir_table_close(table);
    }
}

static void what_is_given_back_is_what_was_charged(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/h burst=10"), some = plan_of("1/h burst=2 guaranteed; 1/h burst=6");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        weir_ask asks[] = {ask_of(&some, "tenant"), ask_of(&all, "all")};
        asks[0].cost = asks[1].cost = 2;
        const uint64_t now = weir_now().ns;
        assert_int_equal(take_two(table, asks, now), 'g');
        assert_int_equal(take_two(table, asks, now), 'b');
        assert_int_equal(asks[0].decision.charged, 2);
        for (int i = 0; i < 2; i++) weir_table_settle(table, asks[i].plan, asks[i].key, &asks[i].decision, 1);
        assert_int_equal(left(table, &asks[0], now, 0), 0);
        assert_int_equal(left(table, &asks[0], now, 1), 3);
        assert_int_equal(left(table, &asks[1], now, 0), 7);
        asks[0].cost = asks[1].cost = 1;
        assert_int_equal(take_two(table, asks, now), 'b');
        for (int i = 0; i < 2; i++) weir_table_settle(table, asks[i].plan, asks[i].key, &asks[i].decision, 2);
        assert_int_equal(left(table, &asks[0], now, 0), 0);
        assert_int_equal(left(table, &asks[0], now, 1), 1);
        assert_int_equal(left(table, &asks[1], now, 0), 5);
        weir_table_close(table);
    }
}

/* Charged into debt, and given back: also what debt= would not have owed. */
static void what_is_owed_can_be_given_back(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/h burst=1 debt=1"), some = plan_of("1/h burst=5 guaranteed");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        const uint64_t now = weir_now().ns;
        weir_ask asks[] = {ask_of(&some, "tenant"), ask_of(&all, "all")};
        for (int i = 0; i < 5; i++) assert_int_equal(take_two(table, asks, now), 'g');
        const weir_decision owes = weir_table_peek(table, &all, asks[1].key, 0, 1);
        assert_in_range(owes.retry_ns, 5 * HOUR - S, 5 * HOUR);
        for (int i = 0; i < 2; i++) weir_table_settle(table, asks[i].plan, asks[i].key, &asks[i].decision, 0);
        assert_in_range(weir_table_peek(table, &all, asks[1].key, 0, 1).retry_ns, 4 * HOUR - S, 4 * HOUR);
        assert_int_equal(take_two(table, asks, weir_now().ns), 'g');
        weir_table_close(table);
    }
}

/* The guarantee of the last ask is a limit like others, and so is that of a text that is used alone. */
static void alone_a_text_is_its_limits(void **unused)
{
    (void)unused;
    const weir_plan some = plan_of("1/h burst=2 guaranteed; 9/h");
    for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
        weir_table *table = kinds[kind]();
        weir_ask ask = ask_of(&some, "k");
        const weir_instant now = weir_now();
        assert_true(weir_allowed(weir_table_take_at(table, &some, ask.key, now, 1)));
        assert_true(weir_table_take_all(table, &ask, 1, now));
        assert_false(weir_table_take_all(table, &ask, 1, now));
        assert_int_equal(ask.decision.limit, 0);
        assert_false(weir_allowed(weir_table_take_at(table, &some, ask.key, now, 1)));
        weir_table_close(table);
    }
}

/* Slots that are held cannot be owed. */
static void a_guarantee_does_not_stand_for_slots(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/s burst=1; 2 concurrent lease=10s"), some = plan_of("1/s burst=5 guaranteed");
    weir_table *table = open_widest();
    const uint64_t now = weir_now().ns;
    weir_ask asks[] = {ask_of(&some, "tenant"), ask_of(&all, "all")};
    for (int i = 0; i < 2; i++) assert_int_equal(take_two(table, asks, now), 'g');
    const uint64_t id = asks[1].decision.end;
    assert_int_equal(take_two(table, asks, now), '-');
    assert_int_equal(asks[0].decision.verdict, WEIR_ALLOW);
    assert_int_equal(asks[1].decision.verdict, WEIR_DENY);
    assert_int_equal(asks[1].decision.limit, 1);
    assert_int_equal(asks[1].decision.retry_ns, 10 * S);
    assert_true(weir_table_release(table, &all, asks[1].key, id));
    assert_int_equal(take_two(table, asks, now), 'g');
    weir_table_close(table);
}

/* What a word cannot count is refused: it would be lost. */
static void debt_beyond_a_word_is_refused(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/d burst=1"), some = plan_of("1/d burst=300 guaranteed");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table = NULL;
    options.refill_max_ns = HOUR * 24 * 400;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    weir_ask asks[] = {ask_of(&some, "one"), ask_of(&all, "all")};
    const uint64_t now = weir_now().ns;
    int passed = 0;
    for (int i = 0; i < 12; i++) {
        const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
        asks[0].key = weir_key_text(names[i]);
        asks[0].cost = asks[1].cost = 300;
        passed += take_two(table, asks, now) == 'g';
    }
    assert_in_range(passed, 1, 11);
    assert_int_equal(asks[1].decision.verdict, WEIR_DENY);
    assert_int_equal(asks[1].decision.retry_ns > 0, 1);
    assert_int_equal(left(table, &asks[0], now, 0), 300);
    weir_table_close(table);
}

/* Until it can be owed nothing passes by any guarantee: the first says when it has room, though another has some. */
static void no_guarantee_stands_for_debt_beyond_a_word(void **unused)
{
    (void)unused;
    const weir_plan all = plan_of("1/d burst=1"), team = plan_of("1/s burst=100000 guaranteed"),
                    user = plan_of("1/s burst=300 guaranteed");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.refill_max_ns = HOUR * 24 * 400;
    weir_table *table = open_with(options);
    weir_ask asks[] = {ask_of(&user, "user"), ask_of(&team, "team"), ask_of(&all, "all")};
    const uint64_t now = weir_now().ns;
    int passed = 0;
    for (int i = 0; i < 3; i++) asks[i].cost = 300;
    while (passed < 12 && weir_table_take_all(table, asks, 3, at(now))) passed++;
    assert_in_range(passed, 1, 11);
    assert_int_equal(asks[0].decision.verdict, WEIR_DENY);
    assert_int_equal(asks[1].decision.verdict, WEIR_ALLOW);
    assert_int_equal(asks[2].decision.verdict, WEIR_DENY);
    weir_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_limit_is_guaranteed_and_comes_first),
        cmocka_unit_test(a_ceiling_lets_through_what_is_guaranteed),
        cmocka_unit_test(guarantees_are_within_the_parents_rate),
        cmocka_unit_test(a_sum_that_does_not_fit_is_never_taken_for_a_smaller_one),
        cmocka_unit_test(all_have_a_weight_or_none),
        cmocka_unit_test(the_first_guarantee_that_has_room_is_charged),
        cmocka_unit_test(within_its_guarantee_a_tenant_passes_whatever_others_do),
        cmocka_unit_test(what_is_idle_is_borrowed_up_to_the_ceiling),
        cmocka_unit_test(what_is_idle_is_shared_by_weight),
        cmocka_unit_test(guarantees_nest),
        cmocka_unit_test(what_is_given_back_is_what_was_charged),
        cmocka_unit_test(what_is_owed_can_be_given_back),
        cmocka_unit_test(alone_a_text_is_its_limits),
        cmocka_unit_test(a_guarantee_does_not_stand_for_slots),
        cmocka_unit_test(debt_beyond_a_word_is_refused),
        cmocka_unit_test(no_guarantee_stands_for_debt_beyond_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
