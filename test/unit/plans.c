/* SPDX-License-Identifier: MIT
   See plans.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/facts.h"
#include "plan/plan.h"
#include "unit/plans.h"

enum { TEXT_SIZE = 2048 };

static const weir_use uses[] = {WEIR_ADMIT, WEIR_PACE};

/* ---- texts ---- */

static void check_code(int code, const char *text, const weir_error *error)
{
    if (code != 0) fail_msg("\"%s\": %s", text, error->message);
}

weir_plan plan_for(const char *text, weir_use use)
{
    weir_plan plan;
    weir_error error = {0};
    check_code(weir_plan_parse(&plan, text, use, &error), text, &error);
    return plan;
}

weir_plan plan_of(const char *text)
{
    return plan_for(text, WEIR_ADMIT);
}

static void check_text(const char *text, weir_use use, const char *canonical)
{
    char written[TEXT_SIZE];
    const weir_plan plan = plan_for(text, use);
    weir_plan_text(&plan, written, sizeof written);
    assert_string_equal(written, canonical);
}

void check_spellings(const struct spelling rows[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t use = 0; use < LENGTH(uses); use++) {
            check_text(rows[i].text, uses[use], rows[i].canonical);
            check_text(rows[i].canonical, uses[use], rows[i].canonical);
        }
    }
}

static void check_mistake(const struct mistake *row, weir_use use)
{
    weir_plan plan;
    weir_error error = {0};
    if (weir_plan_parse(&plan, row->text, use, &error) != WEIR_EINVAL) fail_msg("\"%s\": no mistake", row->text);
    assert_string_equal(error.message, row->message);
    assert_int_equal(error.column, row->column);
}

void check_mistakes(const struct mistake rows[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t use = 0; use < LENGTH(uses); use++) check_mistake(&rows[i], uses[use]);
}

/* ---- facts ---- */

struct facts facts_in(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    return facts_of(&inside->limit[0], &inside->rule[0]);
}

void check_facts(const weir_plan *plan, struct facts expected)
{
    const struct facts facts = facts_in(plan);
    assert_int_equal(facts.at_once, expected.at_once);
    assert_int_equal(facts.fresh, expected.fresh);
    assert_int_equal(facts.largest, expected.largest);
    assert_int_equal(facts.group, expected.group);
    assert_int_equal(facts.spacing_ns, expected.spacing_ns);
    assert_int_equal(facts.full_ns, expected.full_ns);
    assert_int_equal(facts.state_bytes, expected.state_bytes);
    assert_int_equal(weir_state_size(plan), expected.state_bytes);
}

uint64_t most_in(const weir_plan *plan, uint64_t window_ns)
{
    return facts_most_in(&plan_inside_const(plan)->limit[0], window_ns);
}

void check_most_in(const weir_plan *plan, const uint64_t rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) assert_int_equal(most_in(plan, rows[i][0]), rows[i][1]);
}

/* ---- what one caller after the other is told ---- */

void check_steps(const char *text, const struct step steps[], size_t count)
{
    struct subject subject = fresh(text);
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        const struct subject before = subject;
        const weir_decision got = take_within(&subject, step->now_ns, step->cost, step->wait_ns);
        if (got.verdict != step->verdict || got.delay_ns != step->delay_ns || got.retry_ns != step->retry_ns ||
            got.remaining != step->remaining) {
            fail_msg("%s, step %zu: verdict %u, delay %ju, retry %ju, remaining %ju", text, i, got.verdict,
                     (uintmax_t)got.delay_ns, (uintmax_t)got.retry_ns, (uintmax_t)got.remaining);
        }
        if (got.verdict != WEIR_ALLOW || step->cost == 0)
            assert_memory_equal(subject.state, before.state, sizeof before.state);
    }
}

struct subject fresh(const char *text)
{
    return (struct subject){.plan = plan_of(text)};
}

/* Nothing is written behind the words of the plan. */
static void check_size(const struct subject *subject)
{
    for (size_t i = weir_state_size(&subject->plan) / sizeof(uint64_t); i < LIST_WORDS_MAX; i++)
        if (subject->state[i] != 0) fail_msg("word %zu of the state is not the plan's", i);
}

weir_decision take_within(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns)
{
    const weir_decision decision = weir_decide_within(&subject->plan, subject->state, at(now_ns), cost, wait_ns);
    check_size(subject);
    return decision;
}

weir_decision take(struct subject *subject, uint64_t now_ns, uint64_t cost)
{
    const weir_decision decision = weir_decide(&subject->plan, subject->state, at(now_ns), cost);
    check_size(subject);
    return decision;
}

weir_decision reserve(struct subject *subject, uint64_t now_ns, uint64_t cost)
{
    return take_within(subject, now_ns, cost, WEIR_FOREVER);
}

void settle_at(struct subject *subject, uint64_t now_ns, weir_decision *decision, uint64_t actual)
{
    weir_decide_settle(&subject->plan, subject->state, at(now_ns), decision, actual);
    check_size(subject);
}

void assert_delay(weir_decision decision, uint64_t delay_ns)
{
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.delay_ns, delay_ns);
}

void assert_retry(weir_decision decision, uint64_t retry_ns)
{
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, retry_ns);
}

/* ---- limiters ---- */

weir_limiter *open_limiter(const char *limits, weir_clock clock, weir_use use)
{
    weir_limiter *limiter = NULL;
    weir_options options = WEIR_OPTIONS;
    weir_error error = {0};
    options.clock = clock;
    options.use = use;
    check_code(weir_open(&limiter, limits, &options, &error), limits, &error);
    assert_non_null(limiter);
    return limiter;
}

weir_limiter *open_manual(const char *limits)
{
    return open_limiter(limits, WEIR_CLOCK_MANUAL, WEIR_ADMIT);
}

void set_ns(weir_limiter *limiter, uint64_t ns)
{
    weir_manual_set(limiter, at(ns));
}

void change(weir_limiter *limiter, const char *limits, weir_carry carry)
{
    weir_error error = {0};
    check_code(weir_set_limit(limiter, limits, carry, &error), limits, &error);
}

static void *wait_in_line(void *argument)
{
    struct queued *queued = argument;
    queued->decision = weir_take_wait(queued->limiter, 1, queued->wait_max_ns);
    return NULL;
}

void queued_start(struct queued *queued)
{
    assert_int_equal(pthread_create(&queued->thread, NULL, wait_in_line, queued), 0);
}

weir_decision queued_end(struct queued *queued)
{
    pthread_join(queued->thread, NULL);
    return queued->decision;
}
