/* SPDX-License-Identifier: MIT
   "never over by more than": against all windows of a log of all starts, and against real limiters,
   whose limit changes meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/pace/record.h"
#include "unit/random.h"

enum { EVENTS = 120, RUNS = 150, TEXT = 64, MILLISECOND_NS = 1000000 };

static const uint64_t SECOND_NS = 1000000000;

/* A start, or a change to the limit in text. */
struct event {
    uint64_t at_ns, cost;
    double rate, faster, over, pool; /* in force from here on */
    bool changes;
    char text[TEXT];
};

static const struct plan *parsed(weir_plan *plan, const char *text)
{
    weir_error error;
    if (weir_plan_parse(plan, text, WEIR_PACE, &error) != 0) fail_msg("%s: %s", text, error.message);
    return plan_inside_const(plan);
}

static void change(struct record *record, const char *text, uint64_t now_ns)
{
    weir_plan plan;
    record_hold(record);
    record_limit(record, parsed(&plan, text), now_ns, now_ns);
    record_end(record);
}

static void start(struct record *record, uint64_t now_ns, uint64_t cost)
{
    record_begin(record, now_ns);
    record_start(record, now_ns, now_ns, now_ns, cost);
    record_end(record);
}

static struct record *opened(const char *text)
{
    weir_plan plan;
    struct record *record = calloc(1, sizeof *record);
    assert_non_null(record);
    record_open(record, parsed(&plan, text), "lines");
    return record;
}

/* ---- all windows ---- */

static void random_limit(uint64_t *seed, struct event *event)
{
    static const double ratios[] = {1, 1.1, 2};
    const uint64_t rate = 1 + random_sized(seed, 20), burst = 1 + random_below(seed, 30);
    const double ratio = ratios[random_below(seed, 3)];
    snprintf(event->text, TEXT, "%llu/s burst=%llu catchup=%g", (unsigned long long)rate, (unsigned long long)burst,
             ratio);
    event->changes = true;
    event->rate = (double)rate / 1e9;
    event->faster = ratio * event->rate;
    event->pool = (double)burst;
    event->over = ratio * event->pool;
}

/* The permits that a window has left, in permits of the limit in force, when it began at event `from` with all that the
   limit allows at once; nothing is capped, for a window that begins later has the cap. */
static double most_over(const struct event *event, int count, int from)
{
    /* One that begins at a change begins before it, with what there was. */
    const struct event *in_force = &event[event[from].changes && from > 0 ? from - 1 : from];
    double left = in_force->over, worst = 0;
    for (int i = from; i < count; i++) {
        if (i > from) left += (double)(event[i].at_ns - event[i - 1].at_ns) * in_force->faster;
        if (event[i].changes) {
            left *= left > 0 && i > 0 ? event[i].rate / in_force->rate : 1;
        } else {
            const double larger = (double)event[i].cost - event[i].pool;
            left -= (double)event[i].cost;
            const double over = -left - (larger > 0 ? larger : 0);
            if (over > worst) worst = over;
        }
        in_force = &event[i];
    }
    return worst;
}

static void fill(uint64_t *seed, struct event *event)
{
    random_limit(seed, &event[0]);
    event[0].at_ns = SECOND_NS;
    for (int i = 1; i < EVENTS; i++) {
        event[i] = event[i - 1];
        event[i].changes = false;
        if (i > 1 && random_one_in(seed, 12)) random_limit(seed, &event[i]); /* the first is a start */
        const double gap_ns = 2 / event[i - 1].rate;
        event[i].at_ns += random_one_in(seed, 3) ? 0 : random_below(seed, (uint64_t)gap_ns + 1);
        if (random_one_in(seed, 25)) event[i].at_ns += random_sized(seed, 33);
        event[i].cost = random_one_in(seed, 4) ? random_below(seed, 40) : 1;
    }
}

static void all_windows(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    int over = 0;
    for (int run = 0; run < RUNS; run++) {
        struct event event[EVENTS];
        fill(&seed, event);
        struct record *record = opened(event[0].text);
        double worst = 0;
        for (int i = 1; i < EVENTS; i++) {
            if (event[i].changes) change(record, event[i].text, event[i].at_ns);
            else start(record, event[i].at_ns, event[i].cost);
        }
        for (int from = 1; from < EVENTS; from++) {
            const double here = most_over(event, EVENTS, from);
            if (here > worst) worst = here;
        }
        const double found = record->excess > 0 ? record->excess : 0;
        if (found > worst + 1e-6 * (1 + worst) || found < worst - 1e-6 * (1 + worst)) {
            fail_msg("run %d: %.6f over, all windows say %.6f", run, found, worst);
        }
        if (found > 0) over++;
        free(record);
    }
    assert_in_range(over, RUNS / 4, RUNS); /* or it has shown nothing */
}

/* ---- real limiters: whatever they let through is not over ---- */

static void never_a_false_alarm(const char *algorithm, const char *options)
{
    uint64_t seed = 11, starts = 0;
    for (int run = 0; run < RUNS; run++) {
        weir_options manual = WEIR_OPTIONS;
        weir_limiter *limiter;
        weir_error error;
        char text[2 * TEXT];
        uint64_t now_ns = SECOND_NS, rate = 1 + random_sized(&seed, 14);
        manual.use = WEIR_PACE;
        manual.clock = WEIR_CLOCK_MANUAL;
        snprintf(text, sizeof text, "%llu/s %s algorithm=%s", (unsigned long long)rate, options, algorithm);
        if (weir_open(&limiter, text, &manual, &error) != 0) fail_msg("%s: %s", text, error.message);
        struct record *record = opened(text);
        for (int i = 0; i < 1000; i++) {
            now_ns += random_below(&seed, SECOND_NS / rate + 1);
            if (random_one_in(&seed, 50)) now_ns += random_sized(&seed, 32);
            weir_manual_set(limiter, (weir_instant){now_ns});
            if (random_one_in(&seed, 20)) {
                rate = 1 + random_sized(&seed, 14);
                snprintf(text, sizeof text, "%llu/s %s algorithm=%s", (unsigned long long)rate, options, algorithm);
                if (weir_set_limit(limiter, text, WEIR_KEEP, &error) != 0) fail_msg("%s: %s", text, error.message);
                change(record, text, now_ns);
            }
            while (weir_allowed(weir_take(limiter, 1))) {
                start(record, now_ns, 1);
                starts++;
            }
            if (record->excess > 1e-3) fail_msg("%s: run %d, now %s: %.6f over", algorithm, run, text, record->excess);
        }
        weir_close(limiter);
        free(record);
    }
    assert_true(starts > 20 * RUNS); /* or it has shown nothing */
}

static void what_limiters_let_through(void **unused)
{
    (void)unused;
    never_a_false_alarm("hybrid", "");
    never_a_false_alarm("hybrid", "burst=5 catchup=1.5");
    never_a_false_alarm("hybrid", "burst=1s");
    never_a_false_alarm("gcra", "burst=4");
}

/* ---- as it was met ---- */

/* 1/s, then 1000/s: two at once and one each ms are within the limit; another hundred at the end are not. */
static void a_raise(void **unused)
{
    (void)unused;
    const uint64_t raised_ns = 4 * SECOND_NS + SECOND_NS / 3;
    struct record *record = opened("1/s burst=2");
    for (uint64_t i = 1; i <= 4; i++) start(record, i * SECOND_NS, 1);
    change(record, "1000/s burst=2", raised_ns);
    start(record, raised_ns, 1);
    for (uint64_t i = 0; i <= 10; i++) start(record, raised_ns + i * MILLISECOND_NS, 1);
    assert_true(record->excess < 1e-6);
    for (int i = 0; i < 100; i++) start(record, raised_ns + 10 * (uint64_t)MILLISECOND_NS, 1);
    assert_in_range((uint64_t)(record->excess + 0.5), 100, 100);
    free(record);
}

/* What started before the limit was lowered and is recorded after it belongs to the time before. */
static void recorded_after_the_change(void **unused)
{
    (void)unused;
    struct record *record = opened("1000000/s burst=100");
    start(record, SECOND_NS, 1);
    change(record, "1/s burst=100", SECOND_NS + MILLISECOND_NS);
    record_begin(record, SECOND_NS + MILLISECOND_NS - 1);
    for (int i = 0; i < 90; i++) {
        record_start(record, SECOND_NS + MILLISECOND_NS - 1, SECOND_NS, SECOND_NS, 1);
    }
    record_end(record);
    assert_true(record->excess < 1e-3);
    for (int i = 0; i < 10; i++) start(record, SECOND_NS + MILLISECOND_NS, 1);
    assert_in_range((uint64_t)(record->excess + 0.5), 10,
                    10); /* what was left of 100 permits in 100 us are none in 1/s */
    free(record);
}

/* A change before the first start, between a limit and none, of one limit of a list: nothing is known of the level. */
static void fresh_after_a_change(void **unused)
{
    (void)unused;
    static const char *const texts[][2] = {
        {"1000/s", "1/s"}, {"unlimited", "1/s"}, {"5/s burst=1; 10/s burst=1", "10/s burst=1; 5/s burst=1"}};
    for (int i = 0; i < 3; i++) {
        struct record *record = opened(texts[i][0]);
        if (i > 0) start(record, SECOND_NS, 1);
        change(record, texts[i][1], SECOND_NS);
        start(record, SECOND_NS, 1);
        assert_true(record->excess <= 0);
        for (int more = 0; more < 2; more++) start(record, SECOND_NS, 1);
        assert_true(record->excess >= 1);
        free(record);
    }
}

static void early_ones(void **state)
{
    (void)state;
    struct record *record = opened("1/s burst=10");
    static const uint64_t starts_ns[] = {1, 5, 5, 6, UINT64_MAX}, now_ns = 5;
    for (int i = 0; i < 5; i++) {
        record_begin(record, now_ns);
        record_start(record, now_ns, starts_ns[i], now_ns, 1);
        record_end(record);
    }
    assert_int_equal(record->early, 2);
    free(record);
}

/* A comma from five digits on. */
static void saturations(void **state)
{
    (void)state;
    static const struct {
        struct saturation saturation;
        const char *text;
    } rows[] = {
        {{.per_s = 0.5}, "0.5/s"},
        {{.per_s = 100}, "100/s"},
        {{.asked_per_s = 0.05, .per_s = 0.025}, "180/h asked, 90/h"},
        {{.asked_per_s = 10000, .per_s = 9999, .missed = 1}, "10,000/s asked, 9999/s; 1 start missed"},
        {{.asked_per_s = 12345, .per_s = 10000, .in_bytes = true}, "12,345 B/s asked, 10,000 B/s"},
        {{.per_s = 1, .busy = 2, .jobs = 3, .jobs_max = 4}, "1/s; 2 of 3 busy, up to 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TEXT] = "";
        struct writer writer = {text, sizeof text, 0};
        record_write_saturation(&writer, &rows[i].saturation);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_windows),
        cmocka_unit_test(what_limiters_let_through),
        cmocka_unit_test(a_raise),
        cmocka_unit_test(recorded_after_the_change),
        cmocka_unit_test(fresh_after_a_change),
        cmocka_unit_test(early_ones),
        cmocka_unit_test(saturations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
