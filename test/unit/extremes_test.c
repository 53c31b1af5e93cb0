/* SPDX-License-Identifier: MIT
   The largest and the smallest arguments that are taken work, at any time and with any cost.

   Every answer is one of the three, a retry is exact to the ns, and what passes stays within most_in; a change of limit
   gives nothing away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "plan/plan.h"
#include "plan/words.h"
#include "unit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { TEXT_SIZE = 2048, STATE_MAX = 1 << 16, CALLS = 400, CHANGES = 2000 };

static bool is_rated(int algorithm)
{
    return algorithm_has_rate((unsigned)algorithm);
}

/* ---- the largest and the smallest that work ---- */

/* By algorithm, each change of limit is between neighbours. */
static const char *const extremes[][17] = {
    {"1/year algorithm=gcra", "1/500year algorithm=gcra", "1/584year start=empty", "1000G/s algorithm=gcra",
     "1000/ns burst=1 algorithm=gcra", "1/ns algorithm=gcra", "9223372036854775808/year algorithm=gcra",
     "18446744073709551615/year algorithm=gcra", "10/s burst=300year", "10/s burst=584year", "1/500year burst=4",
     "10/s burst=100000000000", "10/s debt=18446744073709551615", "10/s burst=1 debt=0",
     "0.000000000000000001/ns algorithm=gcra", "10/m algorithm=gcra"},
    {"1/9year algorithm=hybrid", "1000G/s algorithm=hybrid", "1/ns burst=1 algorithm=hybrid", "10/s catchup=1000",
     "10/s burst=18year catchup=1", "10/s burst=6d catchup=1000 start=full", "18446744073709551615/year catchup=1.1",
     "10/s algorithm=hybrid debt=18446744073709551615", "1000G/s burst=1 catchup=1000", "10/m algorithm=hybrid"},
    {"1/year algorithm=timeline", "1/584year strictness=0", "1/584year strictness=1", "1000G/s strictness=0.5",
     "1/ns strictness=1", "10/s strictness=0.000000000000000001", "10/s strictness=0.999999999999999999",
     "10/s algorithm=timeline catchup=1000", "1000G/s algorithm=timeline catchup=1000",
     "10/s algorithm=timeline catchup=1", "9223372036854775808/year algorithm=timeline", "10/m algorithm=timeline"},
    {"1/year algorithm=bursty", "1/584year algorithm=bursty", "1000G/s pay=self", "1/ns algorithm=bursty burst=1",
     "10/s algorithm=bursty burst=0", "10/s pay=self burst=0s", "10/s algorithm=bursty burst=300year start=full",
     "10/s pay=self burst=300year start=full", "18446744073709551615/year algorithm=bursty",
     "10/s algorithm=bursty debt=18446744073709551615", "10/s pay=self debt=0", "10/m algorithm=bursty"},
    {"1/year warmup=1s", "1/584year warmup=1ns", "1000G/s warmup=1s", "1/ns warmup=70year", "10/s warmup=0s",
     "10/s warmup=70year pay=self", "10/s warmup=10s cold=1000000", "10/s warmup=10s cold=18446744073709551615",
     "10/s warmup=10s cold=1", "10/s warmup=10s cold=1.000000000000000001 start=empty", "10/m warmup=1min"},
    {"1/year algorithm=leaky", "1/584year algorithm=leaky", "1000G/s algorithm=leaky", "1000G/s burst=1 nodelay",
     "10/s burst=2305843009213693 nodelay", "1/584year burst=2305843009213693 nodelay", "10/s burst=5 delay=6",
     "10/s burst=5 delay=18446744073709551615", "10/s burst=5 delay=5", "9223372036854775808/year nodelay",
     "1/ns algorithm=leaky", "10/m algorithm=leaky"},
    {"1 concurrent lease=1ns", "1 concurrent lease=292year", "500 concurrent lease=1s", "7 concurrent lease=1h"},
    {"1/year algorithm=cycle", "1/584year algorithm=cycle", "1/ns algorithm=cycle",
     "4611686018427387903/s algorithm=cycle", "4611686018427387903/584year algorithm=cycle align=clock",
     "4611686018427387903/ns algorithm=cycle", "10/s algorithm=cycle debt=0",
     "10/s algorithm=cycle debt=18446744073709551615", "10/m algorithm=cycle"},
    {"1/year algorithm=fixed-window", "1/584year align=clock", "1/ns align=first",
     "18446744073709551615/ns align=first", "18446744073709551615/584year align=clock",
     "9223372036854775808/s align=first", "2/s block=584year", "2/s block=1ns", "18446744073709551615/s block=584year",
     "10/m align=clock"},
    {"1/year algorithm=sliding-window", "1/584year algorithm=sliding-window", "1/ns algorithm=sliding-window",
     "18446744073709551615/ns algorithm=sliding-window", "18446744073709551615/584year algorithm=sliding-window",
     "9223372036854775808/s algorithm=sliding-window", "10/s algorithm=sliding-window debt=0",
     "10/s algorithm=sliding-window debt=18446744073709551615", "10/m algorithm=sliding-window"},
    {"1/year algorithm=sliding-log", "1/584year edge=open", "3/584year edge=closed", "1/ns edge=closed",
     "1000/ns edge=open", "3/s gap=0s", "3/s gap=2s", "3/s gap=584year", "3/s gap=1ns edge=closed", "3/s count-refused",
     "3/584year gap=584year count-refused", "1/ns gap=1ns", "1000/year edge=open", "10/m algorithm=sliding-log"},
};

struct subject {
    const char *text;
    weir_plan plan;
    const struct limit *limit;
    const struct rule *rule;
    const struct algorithm *algorithm;
    struct facts facts;
    size_t size;
    uint64_t state[STATE_MAX], copy[STATE_MAX];
};

/* One at a time. */
static struct subject *subject_of(const char *text)
{
    static struct subject subject;
    char canonical[TEXT_SIZE], again[TEXT_SIZE];
    weir_error error;
    if (weir_plan_parse(&subject.plan, text, WEIR_ADMIT, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    subject.text = text;
    subject.limit = &plan_inside_const(&subject.plan)->limit[0];
    subject.rule = &plan_inside_const(&subject.plan)->rule[0];
    subject.algorithm = algorithm_of(subject.rule);
    subject.facts = facts_of(subject.limit, subject.rule);
    subject.size = weir_state_size(&subject.plan);
    assert_true(subject.size <= sizeof subject.state);
    memset(subject.state, 0, subject.size);
    assert_true(weir_plan_text(&subject.plan, canonical, sizeof canonical) < sizeof canonical);
    weir_plan back;
    assert_int_equal(weir_plan_parse(&back, canonical, WEIR_PACE, &error), 0);
    weir_plan_text(&back, again, sizeof again);
    assert_string_equal(again, canonical);
    assert_true(weir_plan_explain(&subject.plan, again, sizeof again) > strlen(canonical));
    return &subject;
}

static void check(const struct subject *subject, weir_instant now, uint64_t cost, uint64_t wait_ns,
                  weir_decision decision)
{
    const bool allowed = decision.verdict == WEIR_ALLOW, denied = decision.verdict == WEIR_DENY;
    bool good = allowed || denied || decision.verdict == WEIR_NEVER;
    if (allowed) good = decision.delay_ns <= wait_ns && decision.charged == cost;
    if (allowed && decision.delay_ns != 0) good = good && decision.start.ns - decision.delay_ns == now.ns;
    if (denied) good = decision.retry_ns != 0 && decision.charged == 0;
    if (cost == 0) good = good && decision.verdict != WEIR_NEVER;
    if (cost > subject->facts.largest) good = good && decision.verdict == WEIR_NEVER;
    if (good) return;
    fail_msg("\"%s\": at %ju %ju, wait %ju: verdict %u, delay %ju, retry %ju, charged %ju", subject->text,
             (uintmax_t)now.ns, (uintmax_t)cost, (uintmax_t)wait_ns, decision.verdict, (uintmax_t)decision.delay_ns,
             (uintmax_t)decision.retry_ns, (uintmax_t)decision.charged);
}

/* The retry is neither a ns too long nor one too short; refused again, a counted call moves it. */
static void check_retry(struct subject *subject, weir_instant now, uint64_t cost, uint64_t retry_ns)
{
    if (retry_ns >= UINT64_MAX - now.ns || subject->algorithm->refused != NULL) return;
    if (tick_at(subject->rule, now.ns + retry_ns) == UINT64_MAX) return; /* the clock ends: a year at 2^64 a year */
    const weir_instant then = {now.ns + retry_ns}, before = {then.ns - 1};
    memcpy(subject->copy, subject->state, subject->size);
    const uint32_t early = weir_decide(&subject->plan, subject->copy, before, cost).verdict;
    const uint32_t in_time = weir_decide(&subject->plan, subject->copy, then, cost).verdict;
    if (early == WEIR_DENY && in_time == WEIR_ALLOW) return;
    fail_msg("\"%s\": %ju at %ju, retry %ju: %u, %u", subject->text, (uintmax_t)cost, (uintmax_t)now.ns,
             (uintmax_t)retry_ns, early, in_time);
}

static const uint64_t costs[] = {1,
                                 0,
                                 2,
                                 3,
                                 11,
                                 1000,
                                 UINT64_C(1) << 32,
                                 (UINT64_C(1) << 62) - 1,
                                 UINT64_C(1) << 62,
                                 UINT64_C(1) << 63,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};
static const uint64_t times[] = {0,
                                 1,
                                 2,
                                 UINT64_C(1000000000),
                                 UINT64_C(31536000000000000),
                                 (UINT64_C(1) << 62) + 1,
                                 (UINT64_C(1) << 63) - 1,
                                 UINT64_C(1) << 63,
                                 (UINT64_C(1) << 63) + 1,
                                 UINT64_C(18400000000000000000),
                                 UINT64_MAX - 1,
                                 UINT64_MAX,
                                 UINT64_C(1) << 63,
                                 0};
static const uint64_t waits[] = {0, 1, UINT64_C(1000000000), UINT64_MAX - 1, WEIR_FOREVER};

static uint64_t one_of(uint64_t *seed, const uint64_t values[], size_t count)
{
    return values[random_below(seed, count)];
}

static weir_decision ask(struct subject *subject, weir_instant now, uint64_t cost, uint64_t wait_ns)
{
    memcpy(subject->copy, subject->state, subject->size);
    const weir_decision decision = weir_decide_within(&subject->plan, subject->state, now, cost, wait_ns);
    check(subject, now, cost, wait_ns, decision);
    if (decision.verdict != WEIR_ALLOW && subject->algorithm->refused == NULL) {
        assert_memory_equal(subject->copy, subject->state, subject->size);
    }
    if (decision.verdict == WEIR_DENY && wait_ns == 0) check_retry(subject, now, cost, decision.retry_ns);
    return decision;
}

/* Every cost at every time with every wait, some of it corrected to every amount. */
static void everything_is_answered(struct subject *subject, uint64_t *seed)
{
    for (size_t turn = 0; turn < 3; turn++) {
        memset(subject->state, 0, subject->size);
        for (size_t t = 0; t < LENGTH(times); t++) {
            for (size_t i = 0; i < 2 * LENGTH(costs); i++) {
                const weir_instant now = {times[t]};
                const uint64_t cost = turn == 0 ? costs[i / 2] : one_of(seed, costs, LENGTH(costs));
                weir_decision decision = ask(subject, now, cost, one_of(seed, waits, LENGTH(waits)));
                if (turn < 2 || random_one_in(seed, 2)) continue;
                weir_decide_settle(&subject->plan, subject->state, now, &decision, one_of(seed, costs, LENGTH(costs)));
            }
        }
    }
}

/* With no wait, at times that only grow: never more than the bound, from the first to the last.  Calls are of one
   permit where a larger one may pass on credit. */
static void nothing_too_much(struct subject *subject, uint64_t *seed, uint64_t from_ns, unsigned bits)
{
    /* gap= is between calls, not permits */
    const bool single = subject->facts.largest == UINT64_MAX || subject->limit->has_time;
    uint64_t now_ns = from_ns, granted = 0;
    memset(subject->state, 0, subject->size);
    for (int i = 0; i < CALLS; i++) {
        granted += ask(subject, (weir_instant){now_ns}, single ? 1 : 1 + random_below(seed, 5), 0).charged;
        const uint64_t window_ns = now_ns - from_ns + (now_ns - from_ns != UINT64_MAX);
        const uint64_t bound = subject->algorithm->most_in(subject->limit, window_ns);
        if (granted > bound) {
            fail_msg("\"%s\": %ju passed in %ju ns, and at most %ju may", subject->text, (uintmax_t)granted,
                     (uintmax_t)window_ns, (uintmax_t)bound);
        }
        const uint64_t step_ns = random_sized(seed, bits);
        if (step_ns > UINT64_MAX - now_ns) break;
        now_ns += step_ns;
    }
}

static void extremes_in_the_core(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20261121);
    printf("seed %ju\n", (uintmax_t)seed);
    for (size_t i = 0; i < LENGTH(extremes); i++) {
        for (size_t j = 0; j < LENGTH(extremes[i]) && extremes[i][j] != NULL; j++) {
            struct subject *subject = subject_of(extremes[i][j]);
            everything_is_answered(subject, &seed);
            for (size_t t = 0; t < LENGTH(times); t++) {
                nothing_too_much(subject, &seed, times[t], 8);
                nothing_too_much(subject, &seed, times[t], 40);
                nothing_too_much(subject, &seed, times[t], 62);
            }
        }
    }
}

static void every_algorithm_has_extremes(void **unused)
{
    (void)unused;
    bool seen[ALGORITHM_NAMES] = {false};
    for (size_t i = 0; i < LENGTH(extremes); i++) {
        const uint8_t algorithm = subject_of(extremes[i][0])->rule->algorithm;
        for (size_t j = 0; j < LENGTH(extremes[i]) && extremes[i][j] != NULL; j++) {
            assert_int_equal(subject_of(extremes[i][j])->rule->algorithm, algorithm);
        }
        seen[algorithm] = true;
    }
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (is_rated(i) && !seen[i]) fail_msg("algorithm=%s has no extremes here", words_algorithm_name(i));
    }
}

/* ---- the same in use ---- */

static weir_limiter *limiter_of(const char *text)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter;
    weir_error error;
    options.clock = WEIR_CLOCK_MANUAL;
    if (weir_open(&limiter, text, &options, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    return limiter;
}

static void answered(const char *text, weir_decision decision)
{
    const bool denied = decision.verdict == WEIR_DENY;
    if (decision.verdict < WEIR_ALLOW || decision.verdict > WEIR_NEVER || (denied && decision.retry_ns == 0)) {
        fail_msg("\"%s\": verdict %u, retry %ju", text, decision.verdict, (uintmax_t)decision.retry_ns);
    }
}

/* Any call that there is; what was reserved last is in *held. */
static void use_once(weir_limiter *limiter, const char *text, uint64_t *seed, weir_decision *held)
{
    const uint64_t cost = one_of(seed, costs, LENGTH(costs));
    weir_stats stats;
    switch (random_below(seed, 8)) {
    case 0:
        answered(text, weir_take(limiter, cost));
        break;
    case 1:
        answered(text, weir_take_some(limiter, cost));
        break;
    case 2:
        answered(text, weir_peek(limiter, cost));
        break;
    case 3:
        *held = weir_reserve(limiter, cost, one_of(seed, waits, LENGTH(waits)));
        answered(text, *held);
        break;
    case 4:
        weir_settle(limiter, held, cost);
        break;
    case 5:
        weir_cancel(limiter, held);
        break;
    case 6:
        weir_charge(limiter, cost);
        break;
    default:
        weir_full_ns(limiter, held);
        weir_read_stats(limiter, &stats, sizeof stats);
    }
}

static const char *any_extreme(size_t algorithm, uint64_t *seed)
{
    size_t count = 0;
    while (count < LENGTH(extremes[algorithm]) && extremes[algorithm][count] != NULL) count++;
    return extremes[algorithm][random_below(seed, count)];
}

/* Between logs with gap= or count-refused and those without it says that it cannot. */
static void change(weir_limiter *limiter, const char **text, const char *to, weir_carry carry)
{
    weir_error error = {0};
    const int failed = weir_set_limit(limiter, to, carry, &error);
    if (failed == 0) *text = to;
    else if (failed != WEIR_EUNSUPPORTED || strstr(error.message, "gap= or count-refused") == NULL) {
        fail_msg("\"%s\" to \"%s\": %s", *text, to, error.message);
    }
}

/* All that passes at this moment. */
static uint64_t drain(weir_limiter *limiter)
{
    uint64_t drained = 0;
    for (int i = 0; i < CALLS; i++) {
        const weir_decision decision = weir_take_some(limiter, UINT64_MAX);
        if (decision.verdict != WEIR_ALLOW) break;
        drained += decision.charged;
    }
    return drained;
}

/* Used up at one moment, a limit that is changed to itself has no more than before. */
static void keeps_nothing_back(const char *text, uint64_t at_ns, weir_carry carry)
{
    weir_limiter *limiter = limiter_of(text);
    weir_manual_set(limiter, (weir_instant){at_ns});
    drain(limiter);
    const uint64_t left = weir_peek(limiter, 0).remaining;
    assert_int_equal(weir_set_limit(limiter, text, carry, NULL), 0);
    const uint64_t after = weir_peek(limiter, 0).remaining;
    if (after > left)
        fail_msg("\"%s\" at %ju: %ju after %ju", text, (uintmax_t)at_ns, (uintmax_t)after, (uintmax_t)left);
    weir_close(limiter);
}

/* A change gives no more than the new limit gives at once, and leaves no more than that. */
static void gives_no_more_at_once(const char *from, const char *to, uint64_t at_ns, weir_carry carry)
{
    const struct subject *subject = subject_of(to);
    weir_limiter *limiter = limiter_of(from);
    weir_manual_set(limiter, (weir_instant){at_ns});
    drain(limiter);
    change(limiter, &from, to, carry);
    const uint64_t drained = from == to ? drain(limiter) : 0;
    if (drained > subject->facts.at_once) {
        fail_msg("to \"%s\" at %ju, carry %d: %ju at once", to, (uintmax_t)at_ns, (int)carry, (uintmax_t)drained);
    }
    weir_close(limiter);
}

static void changes_between_extremes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(extremes); i++) {
        for (size_t from = 0; from < LENGTH(extremes[i]) && extremes[i][from] != NULL; from++) {
            for (size_t to = 0; to < LENGTH(extremes[i]) && extremes[i][to] != NULL; to++) {
                for (size_t t = 0; t < LENGTH(times); t += 3) {
                    gives_no_more_at_once(extremes[i][from], extremes[i][to], times[t], WEIR_KEEP);
                    gives_no_more_at_once(extremes[i][from], extremes[i][to], times[t], WEIR_SCALE);
                }
            }
        }
    }
}

static void extremes_in_a_limiter(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20261122);
    printf("seed %ju\n", (uintmax_t)seed);
    for (size_t i = 0; i < LENGTH(extremes); i++) {
        weir_limiter *limiter = NULL;
        weir_decision held = {0};
        const char *text = NULL;
        for (int j = 0; j < CHANGES; j++) {
            if (j % 100 == 0) {
                weir_close(limiter);
                text = any_extreme(i, &seed);
                limiter = limiter_of(text);
                held = (weir_decision){0};
            }
            if (random_one_in(&seed, 3)) weir_manual_set(limiter, (weir_instant){one_of(&seed, times, LENGTH(times))});
            use_once(limiter, text, &seed, &held);
            if (random_below(&seed, 8) != 0) continue;
            change(limiter, &text, any_extreme(i, &seed), random_one_in(&seed, 2) ? WEIR_KEEP : WEIR_SCALE);
        }
        weir_close(limiter);
    }
}

static void a_change_to_the_same_gives_nothing(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(extremes); i++) {
        for (size_t j = 0; j < LENGTH(extremes[i]) && extremes[i][j] != NULL; j++) {
            for (size_t t = 0; t < LENGTH(times); t++) {
                keeps_nothing_back(extremes[i][j], times[t], WEIR_KEEP);
                keeps_nothing_back(extremes[i][j], times[t], WEIR_SCALE);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_extremes),
        cmocka_unit_test(extremes_in_the_core),
        cmocka_unit_test(extremes_in_a_limiter),
        cmocka_unit_test(changes_between_extremes),
        cmocka_unit_test(a_change_to_the_same_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
