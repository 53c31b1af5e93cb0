/* SPDX-License-Identifier: MIT
   A rate that changes with time: known starts, its text, its end, and where it is refused.

   The peers: k6's ramping-arrival-rate, by the starts that its own test records: grafana/k6 at 066ea239,
   lib/executor/ramping_arrival_rate_test.go, TestRampingArrivalRateCal, in ms.  k6 starts when the first permit is due;
   weir starts there once more, at the beginning.  And vegeta's LinearPacer{StartAt: 100/s, Slope: 30}, tsenart/vegeta
   v12.13.0, asked by a program that is always ready: from each start it goes one interval of the rate at that time, so
   it is late by what the rate rises in that. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "core/clock.h"
#include "core/num.h"
#include "core/profile.h"
#include "plan/plan.h"

enum { TEXT_SIZE = 1024, STATE_WORDS = 8 };

static const uint64_t MS = 1000000, S = 1000000000;

static void parse(const char *text, weir_plan *plan)
{
    weir_error error = {.message = ""};
    if (weir_plan_parse(plan, text, WEIR_PACE, &error) != 0) fail_msg("%s: %d: %s", text, error.column, error.message);
}

/* ---- starts ---- */

static void check_starts(const char *text, const uint64_t wanted[], int count)
{
    weir_plan plan;
    uint64_t state[STATE_WORDS] = {0}, now_ns = 0;
    parse(text, &plan);
    for (int i = 0; i < count; i++) {
        const weir_decision decision = weir_decide_within(&plan, state, (weir_instant){now_ns}, 1, WEIR_FOREVER);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        now_ns = decision.start.ns;
        assert_int_equal(now_ns, wanted[i]);
        assert_int_equal(decision.due.ns, wanted[i]);
    }
}

static void starts_of_a_ramp(void **unused)
{
    (void)unused;
    check_starts("100/s..1000/s for 30s", (uint64_t[]){0, 9985045, 19940358, 29866202}, 4);
    check_starts("1000/s for 2ms then pause 5ms then 500/s", (uint64_t[]){0, MS, 2 * MS, 9 * MS, 11 * MS}, 5);
    check_starts("..1/s for 2s then 1/s", (uint64_t[]){0, 2 * S, 3 * S}, 3);
}

static void check_k6(const char *text, const unsigned ms[], int count)
{
    weir_plan plan;
    struct profile profile;
    size_t at;
    parse(text, &plan);
    assert_int_equal(profile_make(&profile, &plan_inside(&plan)->limit[0], &at), PROFILE_FINE);
    for (int k = 1; k <= count; k++) {
        const uint64_t ns = profile_reach(&profile, (uint64_t)k << PROFILE_SCALE), wanted_ns = ms[k - 1] * MS;
        if (ns > wanted_ns + wanted_ns / 1000 || ns < wanted_ns - wanted_ns / 1000)
            fail_msg("%s: start %d at %ju, not %ju", text, k, (uintmax_t)ns, (uintmax_t)wanted_ns);
    }
}

static void starts_as_k6(void **unused)
{
    (void)unused;
    static const unsigned each_s[] = {3162, 4472, 5500, 6527, 7837, 11000};
    static const unsigned each_third[] = {1825, 2581, 3162, 3651, 4082, 4472, 4830, 5166, 5499,
                                          5833, 6169, 6527, 6917, 7348, 7837, 8418, 9174, 10999};
    check_k6("..1/s for 5s then 1/s for 1s then ..0/s for 5s then 1/s", each_s, 6);
    check_k6("..3/s for 5s then 3/s for 1s then ..0/s for 5s then 1/s", each_third, 18);
}

static void starts_as_vegeta(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t number, ns; /* vegeta leaves out the first permit */
    } row[] = {{2, 20000000},      {3, 29880715},       {11, 108256200},      {101, 890942560},
               {1001, 5489617347}, {5001, 15227677262}, {10001, 22702112622}, {16001, 29497208018}};
    weir_plan plan;
    struct profile profile;
    size_t at;
    parse("100/s..1000/s for 30s", &plan);
    assert_int_equal(profile_make(&profile, &plan_inside(&plan)->limit[0], &at), PROFILE_FINE);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const uint64_t late_ns = row[i].ns - profile_reach(&profile, row[i].number << PROFILE_SCALE);
        assert_in_range(late_ns, 0, i == 0 ? 60000 : 15000);
    }
}

/* ---- texts ---- */

static void canonical(void **unused)
{
    (void)unused;
    static const char *const texts[][2] = {
        {"100/s for 1min then ..1000/s for 30s then pause 5s then 200/s",
         "100/s for 1min then ..1000/s for 30s then pause 5s then 200/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"100/s burst=5 for 90s then 200/s catchup=1.2",
         "100/s for 90s then 200/s burst=5 catchup=1.2 algorithm=hybrid"},
        {"100/s .. 1000/s for 0.5min", "100/s..1000/s for 30s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"0/s..10/s for 2 s then ..0/s for 2s", "..10/s for 2s then ..0/s for 2s burst=2 catchup=1 algorithm=hybrid"},
        {"pause for 5s then 10 tokens/s burst=1", "pause 5s then 10 tokens/s burst=1 catchup=1 algorithm=hybrid"},
        {"1k for 1s then 2k", "1000/s for 1s then 2000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"3/h for 1d algorithm=gcra burst=2", "3/h for 1d burst=2 algorithm=gcra"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[TEXT_SIZE];
        weir_plan plan, again;
        parse(texts[i][0], &plan);
        weir_plan_text(&plan, text, sizeof text);
        assert_string_equal(text, texts[i][1]);
        parse(text, &again);
        assert_memory_equal(&plan, &again, sizeof plan);
    }
}

static void errors(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int column;
        const char *says;
    } wrong[] = {
        {"100/s then 200/s", 7, "how long does the phase before this last? for example 100/s for 1min then 200/s"},
        {"100/s for 1min than 200/s", 16, "unknown word \"than\"; did you mean then?"},
        {"100/s for 1min then to 1000/s for 5s", 21, "a ramp is written with two dots; for example 100/s..1000/s for"},
        {"100/s to 1000/s", 7, "a ramp is written with two dots"},
        {"100/s over 5s", 7, "how long is written with for; for example 100/s for 30s"},
        {"100/s fro 5s", 7, "unknown word \"fro\"; did you mean for?"},
        {"100/s..1000/s", 1, "a ramp needs a time; for example ..1000/s for 30s"},
        {"100/s for 1s then ..1000/s then 1/s", 19, "a ramp needs a time"},
        {"100/s for then 200/s", 11, "expected a time behind for; for example 100/s for 30s"},
        {"100/s for 5", 11, "expected a time behind for"},
        {"100/s for 5M", 12, "M is a million; a minute is min"},
        {"100/s for 0s", 11, "a phase is longer than 0"},
        {"100/s for 0.1ns", 11, "expected a time behind for"},
        {"100/s for 5s then", 18, "expected a rate, a ramp or a pause"},
        {"100/s for 5s then pause then 2/s", 25, "a pause needs a time; for example pause 5s then 100/s"},
        {"100/s for 5s then 0/s for 3s", 19, "a rate is above 0; to stop for a while write pause 5s"},
        {"pause 5s", 1, "a profile has a rate above 0"},
        {"100/s for 5s; 200/s", 13, "phases are joined by then"},
        {"1000/h; 100/s for 5s", 15, "a rate that changes with time is alone in its text"},
        {"10 tokens/s for 1s then 5/s", 25, "all rates of a profile have one unit, here tokens"},
        {"10r/s for 1s", 7, "r/s is nginx's spelling, and no phase"},
        {"100/s for 1s algorithm=leaky", 24, "goes with algorithm=hybrid or gcra, not with leaky"},
        {"100/s for 1s strictness=0.5", 14, "goes with algorithm=hybrid or gcra, not with timeline"},
        {"100/s for 200year", 1, "the phases last over 146 years together"},
        {"1G/s for 1d", 1, "from here on these are more permits than can be counted exactly"},
        {"7/101ns for 1s then 7/1000000007ns for 1s then 3/998244353ns", 48, "no common measure"},
        {"100/s for 1s then 10/s burst=1 burst=2", 32, "burst is given twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_plan plan;
        weir_error error = {.message = ""};
        assert_true(weir_plan_parse(&plan, wrong[i].text, WEIR_PACE, &error) < 0);
        if (error.column != wrong[i].column || strstr(error.message, wrong[i].says) == NULL)
            fail_msg("%s: %d: %s", wrong[i].text, error.column, error.message);
    }
}

static void phases_max(void **unused)
{
    (void)unused;
    char text[TEXT_SIZE] = "1/s for 1s";
    weir_plan plan;
    weir_error error;
    for (int i = 1; i < PHASES_MAX; i++) strcat(text, " then 2/s for 1s");
    parse(text, &plan);
    strcat(text, " then 3/s");
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_PACE, &error), WEIR_EINVAL);
    assert_string_equal(error.message, "a profile has at most 28 phases");
}

static void only_for_pacing(void **unused)
{
    (void)unused;
    weir_plan plan;
    weir_error error;
    assert_int_equal(weir_plan_parse(&plan, "100/s for 1s then 200/s", WEIR_ADMIT, &error), WEIR_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "a rate that changes with time paces one limiter"));
    assert_int_equal(error.column, 7);
    parse("100/s for 1s then 200/s algorithm=gcra", &plan);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    assert_int_equal(weir_table_open(&table, &options, &error), 0);
    assert_int_equal(weir_table_fits(table, &plan, &error), WEIR_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "a rate that changes with time paces one limiter"));
    weir_table_close(table);
    options.plan = &plan;
    assert_int_equal(weir_table_open(&table, &options, &error), WEIR_EUNSUPPORTED);
}

/* ---- limiters ---- */

static weir_limiter *open_limiter(const char *text, weir_clock clock)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter;
    weir_error error;
    options.use = WEIR_PACE;
    options.clock = clock;
    if (weir_open(&limiter, text, &options, &error) != 0) fail_msg("%s: %s", text, error.message);
    return limiter;
}

static uint64_t start_at(weir_limiter *limiter, uint64_t now_ns)
{
    weir_manual_set(limiter, (weir_instant){now_ns});
    const weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
    return decision.verdict == WEIR_ALLOW ? decision.start.ns : UINT64_MAX;
}

static void begins_with_the_first_call(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("..10/s for 1s then 10/s", WEIR_CLOCK_MANUAL);
    weir_manual_set(limiter, (weir_instant){3 * S});
    const weir_decision peeked = weir_peek(limiter, 1), of_limit = weir_peek_limit(limiter, 0, 1);
    assert_int_equal(peeked.verdict, WEIR_ALLOW);
    assert_int_equal(of_limit.verdict, WEIR_ALLOW);
    assert_int_equal(of_limit.due.ns, peeked.due.ns); /* of a clock that begins now, as if this were it */
    assert_int_equal(weir_peek_limit(limiter, 1, 1).verdict, WEIR_NEVER);
    assert_int_equal(start_at(limiter, 7 * S), 7 * S);
    assert_int_equal(start_at(limiter, 7 * S), 7 * S + 447213596); /* 5 t^2 = 1 */
    weir_close(limiter);
}

static void a_change_begins_it(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("10/s", WEIR_CLOCK_MANUAL);
    assert_int_equal(start_at(limiter, S), S);
    weir_manual_set(limiter, (weir_instant){S + 50 * MS});
    assert_int_equal(weir_set_limit(limiter, "100/s for 10ms then pause 1s then 10/s", WEIR_KEEP, NULL), 0);
    /* Half a permit is missing, and the permit behind it comes after the pause. */
    assert_int_equal(start_at(limiter, S + 50 * MS), S + 55 * MS);
    assert_int_equal(start_at(limiter, S + 55 * MS), S + 60 * MS + S + 50 * MS);
    weir_manual_set(limiter, (weir_instant){3 * S});
    assert_int_equal(weir_set_limit(limiter, "5/s", WEIR_KEEP, NULL), 0);
    char text[TEXT_SIZE];
    weir_limit_text(limiter, text, sizeof text);
    assert_string_equal(text, "5/s burst=2 catchup=1 algorithm=hybrid");
    weir_close(limiter);
}

static void gcra_keeps_its_home(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("10/s burst=1 algorithm=gcra", WEIR_CLOCK_MANUAL);
    assert_int_equal(start_at(limiter, S), S);
    assert_int_equal(weir_set_limit(limiter, "10/s for 1s then 100/s burst=1 algorithm=gcra", WEIR_KEEP, NULL), 0);
    assert_int_equal(start_at(limiter, S), S + 100 * MS);
    assert_int_equal(weir_set_limit(limiter, "10/s burst=1 algorithm=gcra", WEIR_KEEP, NULL), 0);
    assert_int_equal(start_at(limiter, S), S + 200 * MS);
    weir_close(limiter);
}

static void ends(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("1000/s for 5ms burst=1s", WEIR_CLOCK_SYSTEM);
    int started = 0;
    weir_decision decision;
    while ((decision = weir_take_wait(limiter, 1, WEIR_FOREVER)).verdict == WEIR_ALLOW) started++;
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_true(decision.retry_ns == WEIR_FOREVER);
    assert_int_equal(started, 5);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    assert_int_equal(weir_set_limit(limiter, "1000/s", WEIR_RESET, NULL), 0);
    assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void leases_take_each(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("100000/s for 20ms burst=1s", WEIR_CLOCK_SYSTEM);
    weir_lease lease;
    uint64_t started = 0;
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    while (weir_lease_take_wait(&lease, 1, WEIR_FOREVER).verdict == WEIR_ALLOW) started++;
    assert_true(lease.left == 0);
    assert_int_equal(started, 2000);
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void what_is_reported(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("10/s for 1s then pause 1s then 100/s burst=1", WEIR_CLOCK_MANUAL);
    weir_stats stats;
    weir_manual_set(limiter, (weir_instant){S});
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.due, 0);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(start_at(limiter, S), S + i * 100 * MS);
    weir_manual_set(limiter, (weir_instant){S + 1500 * MS}); /* in the pause */
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.due, 11);                /* the first at once, and ten in a second */
    assert_int_equal(stats.late_now_ns, 1200 * MS); /* since the fourth was due */
    weir_close(limiter);
}

/* ---- what does not fit, and what is told ---- */

static enum profile_problem problem_of(const weir_plan *plan, struct profile *profile, size_t *phase)
{
    return profile_make(profile, plan_inside_const(plan)->limit, phase);
}

static void what_cannot_be_counted(void **unused)
{
    (void)unused;
    const uint64_t far = UINT64_C(1) << 62, odd = far - 57, ramp = UINT64_C(1) << 20, ramps_ns = 1125350553354519;
    static const struct profile nothing;
    const struct {
        const char *why;
        struct phase phase[3]; /* two, and one behind the last */
        enum profile_problem problem;
        size_t at;
    } rows[] = {
        {"a rate of more than 64 bits", {{1, S, S, 0, 0}, {7, S, S, 19, 0}}, PROFILE_TOO_DIFFERENT, 1},
        {"parts too small", {{1, odd, far, 0, 1}, {1, odd, S, 0, 0}}, PROFILE_TOO_MANY, 0},
        {"permits of a period", {{1, odd, S, 0, 0}, {1000, 1, S, 0, 0}}, PROFILE_TOO_MANY, 1},
        {"permits of a long ramp", {{1000, 1, far / 8, 0, 1}, {1, 1, S, 0, 0}}, PROFILE_TOO_MANY, 0},
        {"permits of both", {{1000, 1, 60 * S, 0, 0}, {1000, 1, 60 * S, 0, 0}}, PROFILE_TOO_MANY, 1},
        {"all fits", {{1000, 1, 60 * S, 0, 0}, {1000, 1, S, 0, 0}}, PROFILE_FINE, 2},
        {"a phase behind", {{1, S, S, 0, 0}, {1, S, S, 0, 0}, {7, S, S, 19, 0}}, PROFILE_FINE, 2},
        {"the longest", {{1, S, far - 1, 0, 0}, {1, S, 1, 0, 0}}, PROFILE_FINE, 2},
        {"too long together", {{1, S, far - 1, 0, 0}, {1, S, 2, 0, 0}}, PROFILE_TOO_LONG, 1},
        {"the highest rate", {{far, odd, 1, 0, 0}, {1, odd, 1, 0, 0}}, PROFILE_FINE, 2},
        {"a higher rate", {{far + 1, odd, 1, 0, 0}, {1, odd, 1, 0, 0}}, PROFILE_TOO_MANY, 0},
        /* 1025 times the square of its length is below 2^110 by less than a ns of it */
        {"the longest ramp", {{1025, ramp, ramps_ns, 0, 1}, {1025, ramp, 1, 0, 0}}, PROFILE_FINE, 2},
        {"a longer ramp", {{1025, ramp, ramps_ns + 1, 0, 1}, {1025, ramp, 1, 0, 0}}, PROFILE_TOO_MANY, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weir_plan plan;
        struct profile profile = nothing;
        size_t at;
        parse("1/s for 1s then 1/s for 1s", &plan);
        memcpy(limit_phases(plan_inside(&plan)->limit), rows[i].phase, sizeof rows[i].phase);
        const enum profile_problem problem = problem_of(&plan, &profile, &at);
        if (problem != rows[i].problem || at != rows[i].at) fail_msg("%s: %d at %zu", rows[i].why, (int)problem, at);
    }
}

/* Up to 2^48 permits, and for 2^62 ns. */
static void as_far_as_can_be_counted(void **unused)
{
    (void)unused;
    const uint64_t far = UINT64_C(1) << 62, full = UINT64_C(1) << 48;
    weir_plan plan;
    struct profile profile;
    size_t at;
    parse("1/s for 1s then 1000000000/s", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    assert_int_equal(profile_position(&profile, S + full - 2), (full - 1) << PROFILE_SCALE);
    assert_true(profile_position(&profile, S + full - 1) == UINT64_MAX);
    const struct phase phases[] = {{1, 1, 10, 0, 0}, {1, far, UINT64_MAX, 0, 0}};
    memcpy(limit_phases(plan_inside(&plan)->limit), phases, sizeof phases);
    assert_int_equal(problem_of(&plan, &profile, &at), PROFILE_FINE);
    assert_int_equal(profile_reach(&profile, 21 << (PROFILE_SCALE - 1)), 10 + far / 2);
    assert_true(profile_reach(&profile, 11 << PROFILE_SCALE) == UINT64_MAX); /* 10 ns too late */
}

/* A pause has no period of its own. */
static void one_period_for_all(void **unused)
{
    (void)unused;
    weir_plan plan;
    struct profile profile;
    parse("1/7ns for 1s then pause 1s then 1/21ns", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    assert_int_equal(profile.period_ns, 21);
    assert_int_equal(profile.phase[0].from, 3);
    assert_int_equal(profile.phase[1].from, 0);
    assert_int_equal(profile.phase[2].from, 1);
}

/* What was due before it began was due by its highest rate, rounded to the later ns. */
static void the_clock_before_it_began(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t before, ns;
    } rows[] = {
        {0, 0},
        {1, 50 /* of 50.9 */},
        {1 << PROFILE_SCALE, 3333333},
        {2 << PROFILE_SCALE, 6666666},
        {UINT64_C(3001) << PROFILE_SCALE, 10 * S} /* and not before the clock's */,
    };
    weir_plan plan;
    struct profile profile;
    parse("10/s for 1s then ..300/s for 1s then 1/s algorithm=gcra burst=2", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    struct rule rule = plan_inside(&plan)->rule[0];
    profile_pace(&profile, &rule);
    rule.anchor_ns = 10 * S;
    rule.anchor_tick = UINT64_C(1) << 40;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(profile_ns_ceil_signed(&rule, rule.anchor_tick - rows[i].before), 10 * S - rows[i].ns);
}

static void phases_in_numbers(void **unused)
{
    (void)unused;
    weir_plan plan;
    struct profile profile;
    parse("10/s for 2s then ..20/s for 2s then pause 1s then 5/s", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    const uint64_t starts[] = {0, 20, 50, 51, UINT64_MAX}; /* one as the pause begins */
    for (size_t i = 0; i < 5; i++) assert_int_equal(profile_starts(&profile, i), starts[i]);
    const double rates[] = {10, 10, 10, 15, 0, 5, 5};
    for (uint64_t i = 0; i < 7; i++) assert_true(fabs(profile_rate(&profile, i * S) - rates[i]) < 1e-9);
    assert_true(fabs(profile_rate(&profile, UINT64_MAX - 1) - 5) < 1e-9);
    parse("1000000000/s for 10ns then 1/s", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    assert_int_equal(profile_starts(&profile, 1), 10); /* one in the last ns, too */
    parse("10/s for 2s then ..20/s for 2s", &plan);
    plan_make_profile(plan_inside(&plan), &profile);
    assert_int_equal(profile_starts(&profile, 2), 50);
    assert_true(profile_rate(&profile, 4 * S - 1) > 19.99);
    assert_true(profile_rate(&profile, 4 * S) == 0 && profile_rate(&profile, UINT64_MAX) == 0); /* it is over */
}

/* ---- arithmetic ---- */

static struct halves halves_of(num128 value)
{
#ifdef __SIZEOF_INT128__
    return (struct halves){(uint64_t)(value >> 64), (uint64_t)value};
#else
    return value;
#endif
}

static void check_same(num128 one, struct halves other)
{
    assert_int_equal(halves_of(one).high, other.high);
    assert_int_equal(halves_of(one).low, other.low);
}

static void both_arithmetics(void **unused)
{
    (void)unused;
    static const uint64_t edges[] = {1,
                                     2,
                                     3,
                                     10,
                                     1ULL << 31,
                                     1ULL << 32,
                                     (1ULL << 33) + 1,
                                     1ULL << 62,
                                     1ULL << 63,
                                     UINT64_MAX / 3,
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (int i = 0; i < EDGES * EDGES * EDGES; i++) {
        const uint64_t a = edges[i % EDGES], b = edges[i / EDGES % EDGES], c = edges[i / EDGES / EDGES];
        const num128 product = num128_multiply(a, b),
                     divisor = num128_add(num128_multiply(c, 1), num128_multiply(a, 1));
        const struct halves other = portable_num128_multiply(a, b);
        const struct halves by = portable_num128_add(portable_num128_multiply(c, 1), portable_num128_multiply(a, 1));
        num128 rest;
        struct halves other_rest;
        check_same(product, other);
        check_same(divisor, by);
        check_same(num128_divide(product, divisor, &rest), portable_num128_divide(other, by, &other_rest));
        check_same(rest, other_rest);
        check_same(num128_scale(rest, 3), portable_num128_scale(other_rest, 3));
        check_same(num128_shift_left(rest, 16), portable_num128_shift_left(other_rest, 16));
        for (unsigned shift = 0; shift < 64; shift++)
            check_same(num128_shift_left(num128_multiply(a, 1), shift),
                       portable_num128_shift_left(portable_num128_multiply(a, 1), shift));
        check_same(num128_divide(product, num128_multiply(b, c), &rest),
                   portable_num128_divide(other, portable_num128_multiply(b, c), &other_rest));
        check_same(rest, other_rest);
        assert_int_equal(num128_less(product, divisor), portable_num128_less(other, by));
        assert_int_equal(num128_low(product), portable_num128_low(other));
        if (!num128_less(product, rest))
            check_same(num128_subtract(product, rest), portable_num128_subtract(other, other_rest));
        for (unsigned bits = 1; bits <= 128; bits++)
            assert_int_equal(num128_fits(product, bits), portable_num128_fits(other, bits));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_of_a_ramp),
        cmocka_unit_test(starts_as_k6),
        cmocka_unit_test(starts_as_vegeta),
        cmocka_unit_test(canonical),
        cmocka_unit_test(errors),
        cmocka_unit_test(phases_max),
        cmocka_unit_test(only_for_pacing),
        cmocka_unit_test(begins_with_the_first_call),
        cmocka_unit_test(a_change_begins_it),
        cmocka_unit_test(gcra_keeps_its_home),
        cmocka_unit_test(ends),
        cmocka_unit_test(leases_take_each),
        cmocka_unit_test(what_is_reported),
        cmocka_unit_test(what_cannot_be_counted),
        cmocka_unit_test(as_far_as_can_be_counted),
        cmocka_unit_test(one_period_for_all),
        cmocka_unit_test(the_clock_before_it_began),
        cmocka_unit_test(phases_in_numbers),
        cmocka_unit_test(both_arithmetics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
