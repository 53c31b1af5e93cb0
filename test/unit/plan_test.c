/* SPDX-License-Identifier: MIT
   The public plan: made, copied, written, asked about; and the defaults that nobody wrote.

   Every function of the section "plans" and "the pure core" of weir.h is called with its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "unit/plans.h"

static weir_plan in_static_memory;

/* Files of tables hold them. */
static void numbers_of_algorithms_are_for_ever(void **unused)
{
    (void)unused;
    static const char *const names[] = {NULL,          NULL,     "hybrid",    NULL,    NULL,           "timeline",
                                        "bursty",      "warmup", "leaky",     "cycle", "fixed-window", "sliding-window",
                                        "sliding-log", NULL,     "concurrent"};
    const int count = sizeof names / sizeof *names;
    assert_int_equal(ALGORITHM_NAMES, count);
    assert_int_equal(ALGORITHM_GCRA, 1);
    assert_int_equal(ALGORITHM_UNLIMITED, 3);
    assert_int_equal(ALGORITHM_NONE, 4);
    for (int i = 0; i < count; i++) {
        if (names[i] != NULL) assert_string_equal(algorithm_named((unsigned)i)->name, names[i]);
    }
}

static void sizes_are_for_ever(void **unused)
{
    (void)unused;
    assert_int_equal(sizeof(weir_decision), 64);
    assert_int_equal(offsetof(weir_decision, verdict), 0);
    assert_int_equal(offsetof(weir_decision, limit), 4);
    assert_int_equal(offsetof(weir_decision, start), 8);
    assert_int_equal(offsetof(weir_decision, delay_ns), 16);
    assert_int_equal(offsetof(weir_decision, retry_ns), 24);
    assert_int_equal(offsetof(weir_decision, end), 32);
    assert_int_equal(offsetof(weir_decision, remaining), 40);
    assert_int_equal(offsetof(weir_decision, charged), 48);
    assert_int_equal(sizeof(weir_state), 16);
    assert_int_equal(sizeof(struct rule), 64);
    assert_true(sizeof(struct plan) <= sizeof(weir_plan));
}

static void no_answer_allows_nothing(void **unused)
{
    (void)unused;
    weir_decision decision;
    memset(&decision, 0, sizeof decision);
    assert_false(weir_allowed(decision));
    for (uint32_t verdict = 0; verdict < 10; verdict++) {
        decision.verdict = verdict;
        assert_int_equal(weir_allowed(decision), verdict == WEIR_ALLOW);
    }
}

static void parse_into_static_memory(void **unused)
{
    (void)unused;
    weir_error error = {.code = 77, .column = 77, .message = "old"};
    assert_int_equal(weir_plan_parse(&in_static_memory, "10/s burst=20; 1000/h", WEIR_ADMIT, &error), 0);
    assert_int_equal(error.code, 0);
    assert_int_equal(error.column, 0);
    assert_string_equal(error.message, "");
    assert_int_equal(weir_plan_limits(&in_static_memory), 2);
}

static void a_copy_is_a_plan(void **unused)
{
    (void)unused;
    weir_plan plan = plan_for("10/s burst=3; 5 tokens/min", WEIR_ADMIT), copy;
    char text[128];
    uint64_t state[2] = {0}, state_of_copy[2] = {0};
    memcpy(&copy, &plan, sizeof plan);
    memset(&plan, 0xAA, sizeof plan);
    weir_plan_text(&copy, text, sizeof text);
    assert_string_equal(text, "10/s burst=3 algorithm=gcra; 5 tokens/min burst=5 algorithm=gcra");
    plan = plan_for("10/s burst=3; 5 tokens/min", WEIR_ADMIT);
    for (uint64_t i = 0; i < 10; i++) {
        const weir_decision a = weir_decide(&plan, state, at(i * 50000000), 1);
        const weir_decision b = weir_decide(&copy, state_of_copy, at(i * 50000000), 1);
        assert_memory_equal(&a, &b, sizeof a);
        assert_memory_equal(state, state_of_copy, sizeof state);
    }
}

static void asking_writes_no_plan(void **unused)
{
    (void)unused;
    weir_plan plan = plan_for("10/s; 12000,1.1; none", WEIR_ADMIT);
    const weir_plan before = plan;
    uint64_t state[8] = {0};
    char out[1024];
    weir_decision decision = weir_decide(&plan, state, at(5), 1);
    weir_decide_settle(&plan, state, at(6), &decision, 0);
    weir_decide_full_ns(&plan, &decision);
    weir_plan_text(&plan, out, sizeof out);
    weir_plan_explain(&plan, out, sizeof out);
    weir_plan_unit(&plan, 0, out);
    assert_memory_equal(&plan, &before, sizeof plan);
}

static void errors_may_be_ignored(void **unused)
{
    (void)unused;
    weir_plan plan = plan_for("10/s", WEIR_ADMIT);
    const weir_plan before = plan;
    assert_int_equal(weir_plan_parse(&plan, "10/", WEIR_ADMIT, NULL), WEIR_EINVAL);
    assert_int_equal(weir_plan_parse(&plan, "10/s shadow", WEIR_ADMIT, NULL), WEIR_EUNSUPPORTED);
    assert_memory_equal(&plan, &before, sizeof plan);
    assert_int_equal(weir_plan_parse(&plan, "20/s", WEIR_ADMIT, NULL), 0);
    assert_int_equal(weir_plan_limits(&plan), 1);
}

typedef size_t (*printer)(const weir_plan *, char *, size_t);

/* Cut at every size: a prefix, a NUL, and not a byte behind it. */
static void check_truncation(const weir_plan *plan, printer print)
{
    char whole[4096], cut[4096];
    const size_t length = print(plan, whole, sizeof whole);
    assert_true(length > 0 && length < sizeof whole);
    assert_int_equal(strlen(whole), length);
    assert_int_equal(print(plan, NULL, 0), length);
    for (size_t size = 0; size <= length + 2; size++) {
        memset(cut, '#', sizeof cut);
        assert_int_equal(print(plan, cut, size), length);
        if (size == 0) {
            assert_int_equal(cut[0], '#');
            continue;
        }
        const size_t kept = length < size - 1 ? length : size - 1;
        assert_memory_equal(cut, whole, kept);
        assert_int_equal(cut[kept], '\0');
        for (size_t i = kept + 1; i < size + 8; i++) assert_int_equal(cut[i], '#');
    }
}

static void texts_are_cut(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_for("10/s burst=20; 100k tokens/min; 12000,1.1", WEIR_ADMIT);
    check_truncation(&plan, weir_plan_text);
    check_truncation(&plan, weir_plan_explain);
}

static void limits_and_units(void **unused)
{
    (void)unused;
    const weir_plan plan =
        plan_for("60 requests/min; 100k tokens/min; 10MiB/s; none; 5 abcdefghijklmnopqrstuvw/s", WEIR_ADMIT);
    static const char *const expected[] = {"requests", "tokens", "bytes", "requests", "abcdefghijklmnopqrstuvw"};
    char unit[WEIR_UNIT_SIZE];
    assert_int_equal(weir_plan_limits(&plan), LENGTH(expected));
    for (size_t i = 0; i < LENGTH(expected); i++) {
        memset(unit, '#', sizeof unit);
        assert_true(weir_plan_unit(&plan, (int)i, unit));
        assert_string_equal(unit, expected[i]);
    }
    memset(unit, '#', sizeof unit);
    assert_false(weir_plan_unit(&plan, (int)LENGTH(expected), unit));
    assert_false(weir_plan_unit(&plan, -1, unit));
    assert_false(weir_plan_unit(&plan, INT32_MAX, unit));
    assert_int_equal(unit[0], '#');
    assert_true(weir_plan_lease_ns(&plan) == 0);
    const weir_plan holds = plan_for("100/s algorithm=sliding-log gap=3s; 20 concurrent lease=30s", WEIR_ADMIT);
    assert_true(weir_plan_lease_ns(&holds) == (uint64_t)30 * 1000 * 1000 * 1000);
    const weir_plan most = plan_for("1/s;2/s;3/s;4/s;5/s;6/s;7/s;8/s", WEIR_ADMIT);
    assert_int_equal(weir_plan_limits(&most), WEIR_LIMITS_MAX);
}

static void state_sizes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        weir_use use;
        size_t bytes;
    } rows[] = {
        {"10/s", WEIR_ADMIT, 8},
        {"10/s", WEIR_PACE, 32},
        {"10/s; 1000/h", WEIR_ADMIT, 16},
        {"10/s; 12000,1.1", WEIR_ADMIT, 40},
        {"none", WEIR_ADMIT, 8},
        {"unlimited; 10/s; none", WEIR_ADMIT, 8},
        {"1,1;2,1;3,1;4,1;5,1;6,1;7,1;8,1", WEIR_ADMIT, 8 * 32},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_for(rows[i].text, rows[i].use);
        assert_int_equal(weir_state_size(&plan), rows[i].bytes);
        assert_int_equal(weir_state_size(&plan) % 8, 0);
    }
    const weir_plan one = plan_for("10/s", WEIR_ADMIT);
    assert_true(weir_state_size(&one) <= sizeof(weir_state));
}

/* ---- defaults ---- */

static void defaults_are_written_out(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *admit, *pace;
    } rows[] = {
        {"3/h", "3/h burst=3 algorithm=gcra", "3/h burst=2 catchup=1 algorithm=hybrid"},
        {"100/s", "100/s burst=100 algorithm=gcra", "100/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"0.5/s", "0.5/s burst=1 algorithm=gcra", "0.5/s burst=2 catchup=1 algorithm=hybrid"},
        {"1/year", "1/year burst=1 algorithm=gcra", "1/year burst=2 catchup=1 algorithm=hybrid"},
        {"2.9/s", "2.9/s burst=2 algorithm=gcra", "2.9/s burst=2 catchup=1 algorithm=hybrid"},
        {"10/s", "10/s burst=10 algorithm=gcra", "10/s burst=2 catchup=1 algorithm=hybrid"},
        {"10.1/s", "10.1/s burst=10 algorithm=gcra", "10.1/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"601/min", "601/min burst=601 algorithm=gcra", "601/min burst=2 catchup=1.1 algorithm=hybrid"},
        {"199/s", "199/s burst=199 algorithm=gcra", "199/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"200/s", "200/s burst=200 algorithm=gcra", "200/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"201/s", "201/s burst=201 algorithm=gcra", "201/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"4294967296/s", "4294967296/s burst=4294967296 algorithm=gcra",
         "4294967296/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"4294967297/s", "4294967297/s burst=4294967296 algorithm=gcra",
         "4294967297/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"1999/s", "1999/s burst=1999 algorithm=gcra", "1999/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"1999.999/s", "1999.999/s burst=1999 algorithm=gcra", "1999.999/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"2000/s", "2000/s burst=2000 algorithm=gcra", "2000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"2001/s", "2001/s burst=2001 algorithm=gcra", "2001/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"120000/min", "120000/min burst=120000 algorithm=gcra", "120000/min burst=10ms catchup=1.1 algorithm=hybrid"},
        {"119999/min", "119999/min burst=119999 algorithm=gcra", "119999/min burst=10ms catchup=1.1 algorithm=hybrid"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[128];
        const weir_plan admit = plan_for(rows[i].text, WEIR_ADMIT), pace = plan_for(rows[i].text, WEIR_PACE);
        weir_plan_text(&admit, text, sizeof text);
        assert_string_equal(text, rows[i].admit);
        weir_plan_text(&pace, text, sizeof text);
        assert_string_equal(text, rows[i].pace);
    }
}

/* The burst as it acts, not as it is written: what a fresh state has. */
static void defaults_act(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        weir_use use;
        uint64_t remaining; /* after the first call of cost 1 */
    } rows[] = {
        {"3/h", WEIR_ADMIT, 2},
        {"100/s", WEIR_ADMIT, 99},
        {"0.5/s", WEIR_ADMIT, 0},
        {"1000000000000/s", WEIR_ADMIT, (UINT64_C(1) << 32) - 1}, /* the most that is implied */
        {"10/s", WEIR_PACE, 0},                                   /* empty at the start: no volley */
        {"200/s start=full", WEIR_PACE, 1},
        {"199/s start=full", WEIR_PACE, 1},
        {"300/s start=full", WEIR_PACE, 2},
        {"1000000/s start=full", WEIR_PACE, 9999},
        {"10/s start=full", WEIR_PACE, 1},
        {"3/h start=full", WEIR_PACE, 1},
        {"unlimited", WEIR_ADMIT, UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_for(rows[i].text, rows[i].use);
        uint64_t state[4] = {0};
        const weir_decision decision = weir_decide(&plan, state, at(1000000000), 1);
        assert_true(weir_allowed(decision));
        if (decision.remaining != rows[i].remaining) {
            fail_msg("%s: %ju remaining", rows[i].text, (uintmax_t)decision.remaining);
        }
    }
}

/* ---- weir_decide_full_ns ---- */

static void time_until_full(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t now_ns, cost, wait_ns, full_ns;
    } rows[] = {
        /* each continues with the state of the row above, unless the text is another */
        {"10/s burst=20", 0, 1, 0, 100000000},
        {"10/s burst=20", 0, 19, 0, 2000000000},
        {"10/s burst=20", 500000000, 10, 0, 1500000000}, /* refused: 15 are still out */
        {"10/s burst=20", 500000000, 21, 0, 1500000000}, /* never */
        {"10/s burst=20", 500000000, 20, 3000000000, 3500000000},
        {"10/s burst=20", 9000000000, 0, 0, 0},
        {"10/s burst=20", 9000000000, 1, 0, 100000000},
        {"10/s burst=20", 9050000000, 1, 0, 150000000},
        {"3/s burst=3", 0, 1, 0, 333333334},
        {"3/s burst=3", 0, 1, 0, 666666667},
        {"unlimited", 7, 1000, 0, 0},
        {"none", 7, 1, 0, 0},
        {"10/s burst=2 algorithm=hybrid start=full", 1000000000, 1, 0, 100000000},
        {"10/s burst=2 algorithm=hybrid start=full", 1000000000, 1, 0, 200000000},
        {"10/s burst=2 algorithm=hybrid start=full", 1000000000, 1, 3000000000, 300000000}, /* starts in 100 ms */
        {"10/s burst=2; 5/min", 0, 1, 0, 100000000}, /* of the limit that it names */
        {"10/s burst=2; 5/min", 10000000000, 1, 0, 100000000},
        {"9 concurrent lease=30s; 10/s burst=2", 1000000000, 1, 0, 100000000}, /* its end is an id */
    };
    uint64_t state[64] = {0};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (i > 0 && strcmp(rows[i].text, rows[i - 1].text) != 0) memset(state, 0, sizeof state);
        const weir_plan plan = plan_for(rows[i].text, WEIR_ADMIT);
        const weir_decision decision =
            weir_decide_within(&plan, state, at(rows[i].now_ns), rows[i].cost, rows[i].wait_ns);
        const uint64_t full_ns = weir_decide_full_ns(&plan, &decision);
        if (full_ns != rows[i].full_ns) {
            fail_msg("row %zu, %s: full in %ju ns, not %ju", i, rows[i].text, (uintmax_t)full_ns,
                     (uintmax_t)rows[i].full_ns);
        }
    }
    const weir_plan plan = plan_for("10/s", WEIR_ADMIT);
    const weir_decision elsewhere = {.verdict = WEIR_DENY, .limit = 1, .end = 5};
    assert_int_equal(weir_decide_full_ns(&plan, &elsewhere), 0);
    const weir_plan two = plan_for("10/s; 1/h", WEIR_ADMIT);
    const struct rules first = {plan_inside_const(&two)->rule, 1}; /* what stands behind them is not theirs */
    assert_int_equal(plan_full_ns(first, &elsewhere), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_algorithms_are_for_ever),
        cmocka_unit_test(sizes_are_for_ever),
        cmocka_unit_test(no_answer_allows_nothing),
        cmocka_unit_test(parse_into_static_memory),
        cmocka_unit_test(a_copy_is_a_plan),
        cmocka_unit_test(asking_writes_no_plan),
        cmocka_unit_test(errors_may_be_ignored),
        cmocka_unit_test(texts_are_cut),
        cmocka_unit_test(limits_and_units),
        cmocka_unit_test(state_sizes),
        cmocka_unit_test(defaults_are_written_out),
        cmocka_unit_test(defaults_act),
        cmocka_unit_test(time_until_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
