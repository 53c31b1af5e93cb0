/* SPDX-License-Identifier: MIT
   What facts.c says a limit lets through, against a caller who takes all he can get from the real core;
   and the explanations, word by word.

   Counts are compared with brute force, not with another formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <inttypes.h>

#include "api/memory.h"
#include "core/algorithm.h"
#include "plan/plan.h"
#include "unit/random.h"

enum { GRANTS_MAX = 300000, STATE_MAX = STATE_WORDS_MAX, RANDOM_LIMITS = 300 };
static const uint64_t SECOND = UINT64_C(1000000000);
static const uint64_t REST_FROM = UINT64_C(1000000000000);

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct subject {
    const char *text;
    weir_plan plan;
    const struct limit *limit;
    const struct rule *rule;
};

static void open_subject(struct subject *subject, const char *text)
{
    weir_error error = {0};
    subject->text = text;
    if (weir_plan_parse(&subject->plan, text, WEIR_ADMIT, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    subject->limit = plan_inside(&subject->plan)->limit;
    subject->rule = plan_inside(&subject->plan)->rule;
}

/* At rest: used once, and then for so long not that all has come back and a pacer is far behind. */
static uint64_t rest(const struct subject *subject, uint64_t state[STATE_MAX])
{
    memset(state, 0, STATE_MAX * sizeof *state);
    const weir_decision first = weir_decide(&subject->plan, state, (weir_instant){REST_FROM}, 1);
    assert_true(weir_allowed(first));
    const struct facts facts = facts_of(subject->limit, subject->rule);
    return REST_FROM + 1000 * (facts.full_ns + facts.spacing_ns + subject->limit->period_ns + 1);
}

/* Takes one permit after the other, each as soon as it passes, up to the end; returns how many. */
static size_t take_all(const struct subject *subject, uint64_t from_ns, uint64_t end_ns, uint64_t grants[GRANTS_MAX])
{
    uint64_t state[STATE_MAX];
    uint64_t now_ns = rest(subject, state);
    const uint64_t shift_ns = now_ns - from_ns;
    size_t count = 0;
    while (now_ns < shift_ns + end_ns) {
        const weir_decision decision = weir_decide(&subject->plan, state, (weir_instant){now_ns}, 1);
        if (!weir_allowed(decision)) {
            assert_int_equal(decision.verdict, WEIR_DENY);
            assert_true(decision.retry_ns > 0);
            now_ns += decision.retry_ns;
            continue;
        }
        assert_true(count < GRANTS_MAX);
        grants[count++] = now_ns - shift_ns;
    }
    return count;
}

/* The most grants in any [t, t + window). */
static uint64_t most_in(const uint64_t grants[], size_t count, uint64_t window_ns)
{
    size_t most = 0, from = 0;
    for (size_t to = 0; to < count; to++) {
        while (grants[to] - grants[from] >= window_ns) from++;
        if (to - from + 1 > most) most = to - from + 1;
    }
    return most;
}

static uint64_t brute_force(const struct subject *subject, uint64_t window_ns)
{
    static uint64_t grants[GRANTS_MAX];
    const size_t count = take_all(subject, 0, 3 * window_ns, grants);
    return most_in(grants, count, window_ns);
}

static const char *const texts[] = {
    "10/min",
    "10/s burst=20",
    "10/s burst=1",
    "7/s burst=3",
    "3/s",
    "1/s",
    "0.5/s burst=2",
    "3/h",
    "1000/3s burst=5",
    "10/s burst=1050ms",
    "3/s burst=1s",
    "999/s burst=2ms",
    "1.7/min burst=4",
    "10/s burst=2 catchup=1 algorithm=hybrid",
    "10/s burst=2 catchup=2 algorithm=hybrid",
    "10/s burst=10 catchup=1.5 algorithm=hybrid",
    "10/s burst=250ms algorithm=hybrid",
    "3/s algorithm=hybrid",
    "7/s catchup=1.5 algorithm=hybrid",
    "1000/3s burst=7 algorithm=hybrid",
    "12000,1.1",
    "1999,1",
    "2000,1",
};

/* In whole periods nothing is rounded: the numbers that people see are exact. */
static void most_in_whole_periods(void **unused)
{
    (void)unused;
    int wrong = 0;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject;
        open_subject(&subject, texts[i]);
        for (uint64_t periods = 1; periods <= 3; periods++) {
            const uint64_t window_ns = periods * subject.limit->period_ns;
            const uint64_t said = facts_most_in(subject.limit, window_ns), got = brute_force(&subject, window_ns);
            if (said == got) continue;
            print_error("%s, %ju periods: said %ju, got %ju\n", texts[i], (uintmax_t)periods, (uintmax_t)said,
                        (uintmax_t)got);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Elsewhere a permit due within the last ns of the window may pass a ns later: one less than said, never more. */
static void most_in_any_window(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20240701);
    printf("seed %ju\n", (uintmax_t)seed);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject;
        open_subject(&subject, texts[i]);
        for (int j = 0; j < 20; j++) {
            const uint64_t window_ns = 1 + random_below(&seed, 2 * subject.limit->period_ns);
            const uint64_t said = facts_most_in(subject.limit, window_ns), got = brute_force(&subject, window_ns);
            if (got > said || got + 1 < said) {
                fail_msg("%s in %ju ns: said %ju, got %ju", texts[i], (uintmax_t)window_ns, (uintmax_t)said,
                         (uintmax_t)got);
            }
        }
        assert_int_equal(facts_most_in(subject.limit, 1), brute_force(&subject, 1));
    }
}

static void random_limits(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20240703);
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < RANDOM_LIMITS; i++) {
        char text[96];
        const bool hybrid = random_one_in(&seed, 2);
        snprintf(text, sizeof text, "%ju/%jus burst=%ju algorithm=%s", (uintmax_t)(1 + random_below(&seed, 500)),
                 (uintmax_t)(1 + random_below(&seed, 20)), (uintmax_t)(1 + random_below(&seed, 50)),
                 hybrid ? (random_one_in(&seed, 2) ? "hybrid catchup=1.25" : "hybrid") : "gcra");
        struct subject subject;
        open_subject(&subject, text);
        const uint64_t window_ns = 1 + random_below(&seed, 5 * SECOND);
        const uint64_t said = facts_most_in(subject.limit, window_ns), got = brute_force(&subject, window_ns);
        if (got > said || got + 1 < said) {
            fail_msg("%s in %ju ns: said %ju, got %ju", text, (uintmax_t)window_ns, (uintmax_t)said, (uintmax_t)got);
        }
    }
}

static void at_once_after_a_rest(void **unused)
{
    (void)unused;
    int wrong = 0;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        static uint64_t grants[GRANTS_MAX];
        struct subject subject;
        open_subject(&subject, texts[i]);
        const uint64_t said = facts_of(subject.limit, subject.rule).at_once;
        const size_t got = take_all(&subject, 0, 1, grants);
        if (said == got) continue;
        print_error("%s: said %ju at once, got %zu\n", texts[i], (uintmax_t)said, got);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void largest_call(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject;
        uint64_t state[STATE_MAX] = {0};
        open_subject(&subject, texts[i]);
        const uint64_t largest = facts_of(subject.limit, subject.rule).largest;
        const weir_instant now = {REST_FROM};
        if (subject.limit->algorithm == ALGORITHM_HYBRID) {
            assert_int_equal(largest, UINT64_MAX);
            assert_int_equal(weir_decide(&subject.plan, state, now, 1000000).verdict, WEIR_ALLOW);
            continue;
        }
        assert_int_equal(weir_decide(&subject.plan, state, now, largest + 1).verdict, WEIR_NEVER);
        assert_int_equal(weir_decide(&subject.plan, state, now, largest).verdict, WEIR_ALLOW);
    }
}

/* When saturated, one every spacing_ns, which is rounded to the nearest. */
static void spacing_when_saturated(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        static uint64_t grants[GRANTS_MAX];
        struct subject subject;
        open_subject(&subject, texts[i]);
        if (subject.limit->factor.digits > 1) continue; /* catches up, so is faster */
        const struct facts facts = facts_of(subject.limit, subject.rule);
        const size_t count = take_all(&subject, 0, facts.spacing_ns * 21, grants);
        assert_true(count > facts.at_once + 10);
        for (size_t j = facts.at_once + 1; j < count; j++) {
            const uint64_t spacing_ns = grants[j] - grants[j - 1];
            assert_true(spacing_ns + 1 >= facts.spacing_ns && spacing_ns <= facts.spacing_ns + 1);
        }
    }
}

/* From empty, the largest call passes again after full_ns and not one ns before. */
static void back_to_full(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject;
        uint64_t state[STATE_MAX] = {0};
        open_subject(&subject, texts[i]);
        const struct facts facts = facts_of(subject.limit, subject.rule);
        if (subject.limit->burst_kind == AMOUNT_TIME || subject.limit->algorithm == ALGORITHM_HYBRID) continue;
        const weir_instant now = {REST_FROM};
        assert_true(weir_allowed(weir_decide(&subject.plan, state, now, facts.largest)));
        const weir_decision again = weir_decide(&subject.plan, state, now, facts.largest);
        assert_int_equal(again.verdict, WEIR_DENY);
        assert_int_equal(again.retry_ns, facts.full_ns);
    }
}

static void numbers_of_facts(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t at_once, largest, spacing_ns, full_ns, state_bytes;
    } rows[] = {
        {"10/min", 10, 10, 6000000000, 60000000000, 8},    {"10/s burst=20", 20, 20, 100000000, 2000000000, 8},
        {"3/s", 3, 3, 333333333, 1000000000, 8},           {"1.5/s burst=1", 1, 1, 666666667, 666666667, 8},
        {"7/s burst=3", 3, 3, 142857143, 428571429, 8},    {"10/s burst=1050ms", 10, 10, 100000000, 1050000000, 8},
        {"2000000000/s burst=4", 4, 4, 1, 2, 8}, /* half a ns rounds up */
        {"3000000000/s burst=4", 4, 4, 0, 2, 8},           {"12000,1.1", 132, UINT64_MAX, 83333, 10000000, 32},
        {"10,1", 2, UINT64_MAX, 100000000, 200000000, 32},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject;
        open_subject(&subject, rows[i].text);
        const struct facts facts = facts_of(subject.limit, subject.rule);
        assert_int_equal(facts.at_once, rows[i].at_once);
        assert_int_equal(facts.largest, rows[i].largest);
        assert_int_equal(facts.spacing_ns, rows[i].spacing_ns);
        assert_int_equal(facts.full_ns, rows[i].full_ns);
        assert_int_equal(facts.state_bytes, rows[i].state_bytes);
    }
}

/* ---- in words ---- */

struct explanation {
    const char *text;
    weir_use use;
    uint64_t window_ns;
    const char *words;
};

static const struct explanation explanations[] = {
    {"10/min", WEIR_ADMIT, 0,
     "10/min burst=10 algorithm=gcra\n"
     "  after idling    10 pass at once, then one every 6 s\n"
     "  in any minute   at most 19.   For never more than 10 in any minute: '10/min algorithm=sliding-log'\n"
     "  largest call    10; a larger one can never pass\n"
     "  back to full    1 min after the last call\n"
     "  memory          8 bytes of state; in a table 22 bytes a key in all\n"},
    {"10/s burst=20", WEIR_ADMIT, 0,
     "10/s burst=20 algorithm=gcra\n"
     "  after idling    20 pass at once, then one every 100 ms\n"
     "  in any second   at most 29.   For never more than 10 in any second: '10/s algorithm=sliding-log'\n"
     "  largest call    20; a larger one can never pass\n"
     "  back to full    2 s after the last call\n"
     "  memory          8 bytes of state; in a table 22 bytes a key in all\n"},
    {"10/s burst=20", WEIR_ADMIT, 60000000000,
     "10/s burst=20 algorithm=gcra\n"
     "  after idling    20 pass at once, then one every 100 ms\n"
     "  in any second   at most 29.   For never more than 10 in any second: '10/s algorithm=sliding-log'\n"
     "  in any minute   at most 619\n"
     "  largest call    20; a larger one can never pass\n"
     "  back to full    2 s after the last call\n"
     "  memory          8 bytes of state; in a table 22 bytes a key in all\n"},
    {"1/h", WEIR_ADMIT, 0,
     "1/h burst=1 algorithm=gcra\n"
     "  after idling    1 passes, then one every 1 h\n"
     "  in any hour     at most 1\n"
     "  largest call    1; a larger one can never pass\n"
     "  back to full    1 h after the last call\n"
     "  memory          8 bytes of state; in a table 22 bytes a key in all\n"},
    {"12000,1.1", WEIR_ADMIT, 0,
     "12000/s burst=10ms catchup=1.1 algorithm=hybrid\n"
     "  on schedule     one every 83.333 \xc2\xb5s\n"
     "  after a stall   132 at once, then 1.1 times as fast until the lost time is made up\n"
     "  shortest gap    0.   For strict limiting, never less than 83.333 \xc2\xb5s: '12000/s burst=1'\n"
     "  in any second   at most 13,331\n"
     "  if woken late   at most 13,477: weir_take_wait abandons a start that is over 11 ms late\n"
     "  largest call    any; one above 120 starts when the pool is full and is paid back afterwards\n"
     "  back to full    10 ms after the last call\n"
     "  memory          32 bytes of state; in a table 91 bytes a key in all; in a file 166\n"
     "  note            burst and catchup are the defaults of pacing: they hold the average on a busy machine\n"},
    {"10/s", WEIR_PACE, 0,
     "10/s burst=2 catchup=1 algorithm=hybrid\n"
     "  on schedule     one every 100 ms\n"
     "  after a stall   2 at once, then as before; the lost time is reported, not made up\n"
     "  shortest gap    0.   For strict limiting, never less than 100 ms: '10/s burst=1'\n"
     "  in any second   at most 11\n"
     "  if woken late   at most 13: weir_take_wait abandons a start that is over 200 ms late\n"
     "  largest call    any; one above 2 starts when the pool is full and is paid back afterwards\n"
     "  back to full    200 ms after the last call\n"
     "  memory          32 bytes of state; in a table 91 bytes a key in all; in a file 166\n"},
    {"none", WEIR_ADMIT, 0, "none\n  lets through    nothing\n"},
    {"unlimited", WEIR_PACE, 0, "unlimited\n  lets through    everything\n"},
    {"60 requests/min burst=1; 100k tokens/90s burst=5k; none", WEIR_ADMIT, 0,
     "60/min burst=1 algorithm=gcra\n"
     "  after idling    1 passes, then one every 1 s\n"
     "  in any minute   at most 60\n"
     "  largest call    1; a larger one can never pass\n"
     "  back to full    1 s after the last call\n"
     "  memory          8 bytes of state\n"
     "100000 tokens/90s burst=5000 algorithm=gcra\n"
     "  after idling    5,000 pass at once, then one every 900 \xc2\xb5s\n"
     "  in any 1.5 min  at most 104,999.   For never more than 100,000 in any 1.5 min: "
     "'100000 tokens/90s algorithm=sliding-log'\n"
     "  largest call    5,000; a larger one can never pass\n"
     "  back to full    4.5 s after the last call\n"
     "  memory          8 bytes of state\n"
     "none\n"
     "  lets through    nothing\n"
     "all limits apply: a call passes only if each allows it, and is charged to none otherwise\n"
     "  memory          16 bytes of state; in a table 44 bytes a key in all\n"},
};

static void explanations_word_by_word(void **unused)
{
    (void)unused;
    int wrong = 0;
    for (size_t i = 0; i < LENGTH(explanations); i++) {
        const struct explanation *row = &explanations[i];
        weir_plan plan;
        char out[4096] = "";
        struct writer writer = {out, sizeof out, 0};
        assert_int_equal(weir_plan_parse(&plan, row->text, row->use, NULL), 0);
        const struct plan_memory memory = api_memory(&plan);
        explain(plan_inside(&plan), &memory, row->window_ns, &writer);
        assert_int_equal(writer.length, strlen(out));
        if (strcmp(out, row->words) != 0) {
            print_error("%s:\n%s\nexpected:\n%s\n", row->text, out, row->words);
            wrong++;
        }
        if (row->window_ns != 0) continue;
        char public[4096];
        assert_int_equal(weir_plan_explain(&plan, public, sizeof public), writer.length);
        assert_string_equal(public, out);
    }
    assert_int_equal(wrong, 0);
}

/* Where there is none, no rate is told. */
static void no_rate(void **unused)
{
    (void)unused;
    static const struct {
        struct limit limit;
        uint64_t permits, period_ns;
    } rows[] = {
        {{.period_ns = 0}, 0, 0},
        {{.period_ns = 7}, 0, 0},
        {{.count = {7, 0}}, 0, 0},
        {{.count = {7, 19}, .period_ns = 1}, 7, UINT64_C(10000000000000000000)},
        {{.count = {7, 19}, .period_ns = 2}, 0, 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const bool has = rows[i].permits != 0;
        uint64_t permits = 5, period_ns = 5;
        assert_int_equal(limit_rate(&rows[i].limit, &permits, &period_ns), has);
        assert_int_equal(permits, has ? rows[i].permits : 1);
        assert_true(period_ns == (has ? rows[i].period_ns : 1));
    }
}

/* More than 64 bits count is no number. */
static void test_too_many_to_count(void **state)
{
    (void)state;
    static const char *const fast[] = {"1000000000000/s", "1000000000000/s algorithm=cycle",
                                       "1000000000000/s algorithm=hybrid", "1000000000000/s algorithm=bursty"};
    for (size_t i = 0; i < LENGTH(fast); i++) {
        struct subject subject;
        open_subject(&subject, fast[i]);
        if (facts_most_in(subject.limit, 31536000 * SECOND) != UINT64_MAX) fail_msg("%s", fast[i]);
    }
}

/* ... nor of a rate that is the highest of a profile. */
static void test_too_many_for_a_profile(void **state)
{
    (void)state;
    weir_plan plan;
    assert_int_equal(weir_plan_parse(&plan, "1000000000000/s for 1s then 1/s", WEIR_PACE, NULL), 0);
    const struct limit *limit = plan_inside(&plan)->limit;
    assert_true(facts_most_in(limit, 31536000 * SECOND) == UINT64_MAX);
    assert_int_equal(facts_most_in(limit, 0), facts_linear_most_in(limit, limit->factor, 0) + 1);
}

/* The mean of a random process, in 2^-20; of many permits in a period of many ns only to a permit. */
static void test_mean(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t window_ns, mean;
    } rows[] = {{"10/s arrivals=poisson seed=7", 1000000, 10486}, /* 0.01 */
                {"10/s arrivals=poisson seed=7", 3000000000, 30 << 20},
                {"17592186044417/h arrivals=poisson seed=7", 1000000, UINT64_C(4886718) << 20},
                {"17592186044417/h arrivals=poisson seed=7", 3600 * UINT64_C(1000000000), UINT64_MAX}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_plan plan;
        assert_int_equal(weir_plan_parse(&plan, rows[i].text, WEIR_PACE, NULL), 0);
        const struct limit *limit = plan_inside(&plan)->limit;
        const uint64_t mean = facts_mean_in(limit, rows[i].window_ns);
        if (mean < rows[i].mean - 1 || mean > rows[i].mean) fail_msg("%s: %" PRIu64, rows[i].text, mean);
        assert_true(facts_most_in(limit, 1) == UINT64_MAX); /* by chance any number */
    }
}

/* Limits that no text makes. */
static void test_made_up(void **state)
{
    (void)state;
    struct limit limit = {.algorithm = 99};
    struct rule rule;
    assert_string_equal(limit_compile(&limit, &rule).message, " is unknown");
    assert_int_equal(limit_compile(&limit, &rule).option, OPTION_ALGORITHM);
    limit = (struct limit){.algorithm = ALGORITHM_LEAKY, .count = {10, 0}}; /* in no time */
    assert_non_null(limit_compile(&limit, &rule).message);
    assert_true(facts_most_in(&limit, SECOND) == UINT64_MAX);
    assert_true(facts_slept_per_s(&limit, &rule, 1, 1) == UINT64_MAX);
    limit = (struct limit){.algorithm = ALGORITHM_CONCURRENT, .count = {20, 0}, .has_time = true};
    static const uint64_t leases_ns[] = {0, INT64_MAX + UINT64_C(1), UINT64_MAX};
    for (size_t i = 0; i < LENGTH(leases_ns); i++) {
        limit.time_ns = leases_ns[i];
        assert_string_equal(limit_compile(&limit, &rule).message, "");
        assert_int_equal(limit_compile(&limit, &rule).option, OPTION_LEASE);
    }
    limit.time_ns = INT64_MAX;
    assert_null(limit_compile(&limit, &rule).message);
    assert_int_equal(facts_most_in(&limit, 0), 20);
    assert_true(facts_most_in(&limit, 1) == UINT64_MAX);
}

/* By chance any number passes in no time, but not at once. */
static void test_at_once_by_chance(void **state)
{
    (void)state;
    weir_plan plan;
    assert_int_equal(weir_plan_parse(&plan, "10/s burst=5 arrivals=poisson seed=7", WEIR_PACE, NULL), 0);
    assert_int_equal(facts_at_once(plan_inside(&plan)->limit, plan_inside(&plan)->rule), 5);
}

/* Up to the last that can be counted; and a rule that is made up may pass none. */
static void test_largest_call(void **state)
{
    (void)state;
    struct subject subject;
    open_subject(&subject, "10/s algorithm=cycle debt=4611686018427387892"); /* 2^62 - 12 */
    assert_int_equal(facts_of(subject.limit, subject.rule).largest, (UINT64_C(1) << 62) - 2);
    open_subject(&subject, "10/s");
    struct rule rule = *subject.rule;
    rule.burst = 0;
    assert_int_equal(facts_of(subject.limit, &rule).largest, 0);
}

/* Fewer than ratio * (burst + permits * time / period), where that is a whole number as well. */
static void test_most_in_by_a_ratio(void **state)
{
    (void)state;
    static const struct {
        uint64_t permits, period_ns, burst;
        struct decimal ratio;
        uint64_t window_ns, most;
    } rows[] = {
        {1, 10, 1, {15, 1}, 10, 2},   /* 1.5 + 1.5 = 3 */
        {1, 10, 1, {15, 1}, 12, 3},   /* 1.5 + 1.8 */
        {1, 10, 1, {15, 1}, 9, 2},    /* 1.5 + 1.35 */
        {2, 7, 1, {15, 1}, 70, 31},   /* 1.5 + 30 */
        {2, 7, 1, {11, 1}, 22, 8},    /* 1.1 + 6.9142..., a 70th above 8 */
        {10, 7, 1, {11, 1}, 70, 111}, /* 1.1 + 110 */
        {1, 10, 0, {1, 0}, 1, 1},     /* one always */
        {UINT64_MAX, 7, 1, {3, 0}, 7, UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct limit limit = {.count = {rows[i].permits, 0},
                                    .period_ns = rows[i].period_ns,
                                    .burst_kind = AMOUNT_COUNT,
                                    .burst = rows[i].burst};
        const uint64_t said = facts_linear_most_in(&limit, rows[i].ratio, rows[i].window_ns);
        if (said != rows[i].most) fail_msg("row %zu: %" PRIu64, i, said);
    }
    /* ... also of a burst that lasts less than a permit. */
    const struct limit limit = {.count = {1, 0}, .period_ns = 10, .burst_kind = AMOUNT_TIME, .burst = 5};
    assert_int_equal(facts_linear_most_in(&limit, (struct decimal){1, 0}, 1), 1);
}

/* A rest of 146 years does not fill this one, a longer one does: with as much as may pass at once, and no more. */
static void test_a_rest_of_centuries(void **state)
{
    (void)state;
    struct subject subject;
    open_subject(&subject, "1/100year burst=2 start=empty algorithm=gcra");
    assert_int_equal(facts_at_once(subject.limit, subject.rule), 1);
    assert_int_equal(facts_most_in(subject.limit, 0), 2);
}

/* 512 a ns, less one in 2^55 of them: the multiplier is rounded up where its last bit is lost, not cut. */
static void test_a_multiplier_of_64_ones(void **state)
{
    (void)state;
    struct limit limit = {.algorithm = ALGORITHM_GCRA,
                          .count = {UINT64_MAX, 0},
                          .period_ns = UINT64_C(1) << 55,
                          .burst_kind = AMOUNT_COUNT,
                          .burst = 1};
    struct rule rule;
    assert_null(limit_compile(&limit, &rule).message);
    assert_int_equal(rule.shift, 54);
    assert_true(rule.multiplier == UINT64_C(1) << 63);
}

/* A ratio of many digits is cut, upwards, and by little. */
static void test_catchup_of_many_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t least, most;
    } rows[] = {{"10/s algorithm=hybrid burst=2 catchup=1.123456789012", 13, 13},
                {"10/s algorithm=hybrid burst=2 catchup=1.000000000000000001", 12, 12},
                {"1000000000001/h algorithm=hybrid burst=1 catchup=1.123456789012345678", 312071330, 312071400},
                {"12345678901/s algorithm=hybrid burst=1 catchup=1.000000000000000001", 12345678901, 12345678914},
                /* as with 1.2, however often it is cut */
                {"999999999989/s algorithm=hybrid burst=1 catchup=1.199999999999999999", 1199999999987, 1199999999987}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject;
        open_subject(&subject, rows[i].text);
        const uint64_t said = facts_most_in(subject.limit, SECOND);
        if (said < rows[i].least || said > rows[i].most) fail_msg("%s: %" PRIu64, rows[i].text, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_in_whole_periods),
        cmocka_unit_test(most_in_any_window),
        cmocka_unit_test(random_limits),
        cmocka_unit_test(at_once_after_a_rest),
        cmocka_unit_test(largest_call),
        cmocka_unit_test(spacing_when_saturated),
        cmocka_unit_test(back_to_full),
        cmocka_unit_test(numbers_of_facts),
        cmocka_unit_test(no_rate),
        cmocka_unit_test(explanations_word_by_word),
        cmocka_unit_test(test_catchup_of_many_digits),
        cmocka_unit_test(test_too_many_to_count),
        cmocka_unit_test(test_too_many_for_a_profile),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_made_up),
        cmocka_unit_test(test_at_once_by_chance),
        cmocka_unit_test(test_largest_call),
        cmocka_unit_test(test_most_in_by_a_ratio),
        cmocka_unit_test(test_a_rest_of_centuries),
        cmocka_unit_test(test_a_multiplier_of_64_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
