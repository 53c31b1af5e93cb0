/* SPDX-License-Identifier: MIT
   What is said of a thread that sleeps, against one that does: by the real core, at a time of its own.

   The thread takes all it can get, and wakes exactly on time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/num.h"
#include "plan/plan.h"

enum { STATE_MAX = STATE_WORDS_MAX, TEXT_SIZE = 256, SECONDS = 2 };
static const uint64_t SECOND = UINT64_C(1000000000), BEGAN = UINT64_C(1000000000000);

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, text, WEIR_PACE, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    return plan;
}

/* Wakes, takes what is there, takes one ahead, and sleeps until that starts, the minimum sleep at least: starts in a
   second. */
static uint64_t sleeps(const weir_plan *plan, uint64_t min_sleep_ns)
{
    uint64_t state[STATE_MAX] = {0}, count = 0;
    for (uint64_t now_ns = BEGAN; now_ns < BEGAN + SECONDS * SECOND; count++) {
        while (weir_allowed(weir_decide(plan, state, (weir_instant){now_ns}, 1))) count++;
        const weir_decision ahead = weir_decide_within(plan, state, (weir_instant){now_ns}, 1, WEIR_FOREVER);
        assert_true(weir_allowed(ahead));
        now_ns = most(now_ns + min_sleep_ns, ahead.start.ns);
    }
    return count / SECONDS;
}

static uint64_t said(const weir_plan *plan, uint64_t min_sleep_ns)
{
    const struct plan *inside = plan_inside_const(plan);
    return facts_slept_per_s(&inside->limit[0], &inside->rule[0], 1, min_sleep_ns);
}

static void a_thread_that_sleeps(void **unused)
{
    static const struct {
        const char *text;
        uint64_t min_sleep_ns, per_s, rate; /* per_s 0: it gets the rate */
    } rows[] = {
        {"100000/s burst=1", 50000, 40000, 0},
        {"100000/s burst=1", 1000000, 2000, 0},
        {"100000/s burst=2", 50000, 60000, 0},
        {"100000/s burst=100us", 1000000, 11000, 0},
        {"100000/s burst=100us", 50000, 0, 100000},
        {"20000/s burst=1", 50000, 0, 20000},
        {"28000/s burst=1", 50000, 26666, 0},
        {"1000/s burst=1", 10000000, 200, 0},
        {"1/s burst=1", 50000, 0, 1},
        {"100000/s burst=1 algorithm=gcra", 1000000, 2000, 0},
        {"100000/s strictness=0", 1000000, 0, 100000},
        {"28000/s burst=1 catchup=1.1", 50000, 0, 28000},
        {"100000/s burst=1 catchup=1.1", 50000, 40000, 0},
        {"3000/s burst=2", 900000, 2777, 0},
        {"3000/s burst=2", 999999, 2500, 0}, /* a ns more, and it would keep up */
        {"3000/s algorithm=timeline catchup=1.1", 1000000, 2000, 0},
        {"3000/s burst=2", 600000, 0, 3000},
        {"300/s burst=1", 5000000, 0, 300}, /* what each sleep leaves over makes a call with the second */
        /* Where a ns is missing, it keeps up, as far as whole permits show it. */
        {"1000/s burst=1", 1000001, 0, 1000},
        {"3000/s burst=3", 1000001, 2999, 0}, /* a ns less, and it would keep up */
        {"3001/2s burst=1", 666445, 0, 1500},
        {"2000000000/s burst=1", 50000, 40000, 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const weir_plan plan = plan_of(rows[i].text);
        const uint64_t got = sleeps(&plan, rows[i].min_sleep_ns), per_s = said(&plan, rows[i].min_sleep_ns);
        if (per_s != (rows[i].per_s != 0 ? rows[i].per_s : UINT64_MAX)) fail_msg("%s: %ju", rows[i].text, per_s);
        const uint64_t wanted = per_s == UINT64_MAX ? rows[i].rate : per_s;
        assert_in_range(got, wanted - wanted / 100, wanted + wanted / 100);
    }
}

/* What is written instead keeps up. */
static void the_text_that_holds(void **unused)
{
    static const struct {
        const char *text;
        uint64_t min_sleep_ns;
        const char *held;
    } rows[] = {
        {"100000/s burst=1", 50000, "100000/s burst=10ms catchup=1.1"},
        {"100000/s burst=1", 30000000, "100000/s burst=60ms catchup=1.1"},
        {"100 ops/s burst=1", 25000000, "100 ops/s burst=50ms catchup=1.1"},
        {"1000/s strictness=1", 10000000, "1000/s burst=20ms catchup=1.1"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[TEXT_SIZE];
        struct writer writer = {text, sizeof text, 0};
        const weir_plan plan = plan_of(rows[i].text), held = plan_of(rows[i].held);
        const struct plan *inside = plan_inside_const(&plan);
        assert_true(explain_slept(&inside->limit[0], &inside->rule[0], 1, rows[i].min_sleep_ns, &writer));
        const char *quoted = strchr(text, '\'');
        assert_non_null(quoted);
        assert_memory_equal(quoted + 1, rows[i].held, strlen(rows[i].held));
        assert_string_equal(quoted + 1 + strlen(rows[i].held), "'");
        assert_true(said(&held, rows[i].min_sleep_ns) == UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_sleeps),
        cmocka_unit_test(the_text_that_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
