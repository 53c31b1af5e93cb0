/* SPDX-License-Identifier: MIT
   A state that has as much of a log's ring as it needs, against one that has all of it.

   Whatever the plan, the costs and the times, within what weir replay asks: every decision is the same to the bit.
   Times go back only as far as was said.  A block has no more words than places for half as many entries again as ever
   counted at once, so that one line of a client costs the same whatever the limit.

   Under AddressSanitizer a word that is used behind a block's end, or before it was written, is found, too. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/states.h"
#include "core/num.h"
#include "core/stamps.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 60, TEXT_SIZE = 512, COUNT_MAX = 40, LARGE_MAX = 4000, LOOSE_WORDS = 8 };

static const uint64_t spans[] = {1000000000, 60000000000, 1000, 7, 1, 2147483647, 2147483648, 31536000000000000};

struct subject {
    weir_plan plan;
    struct states states;
    uint64_t *whole, client[1];
    uint64_t now_ns, settled_ns, counted_most;
};

static void pick_limit(struct prop *prop, char *text, size_t size)
{
    const uint64_t span_ns = spans[prop_pick(prop, sizeof spans / sizeof *spans)];
    const uint64_t count = 1 + prop_pick(prop, prop_chance(prop, 6) ? LARGE_MAX : COUNT_MAX);
    if (prop_chance(prop, 4)) {
        static const char *const other[] = {"gcra", "fixed-window", "sliding-window", "leaky"};
        snprintf(text, size, "%" PRIu64 "/%" PRIu64 "ns algorithm=%s", count, span_ns, other[prop_pick(prop, 4)]);
        return;
    }
    int length = snprintf(text, size, "%" PRIu64 "/%" PRIu64 "ns algorithm=sliding-log", count, span_ns);
    if (prop_chance(prop, 4)) length += snprintf(text + length, size - (size_t)length, " edge=closed");
    if (prop_chance(prop, 4)) length += snprintf(text + length, size - (size_t)length, " count-refused");
    if (prop_chance(prop, 4)) {
        const uint64_t gap_ns = 1 + prop_pick(prop, least(2 * span_ns, UINT64_C(100000000000)));
        snprintf(text + length, size - (size_t)length, " gap=%" PRIu64 "ns", gap_ns);
    }
}

static bool pick_plan(struct prop *prop, weir_plan *plan)
{
    char text[TEXT_SIZE] = "";
    const uint64_t limits = prop_pick(prop, 2) == 0 ? 1 : 2 + prop_pick(prop, 2);
    for (uint64_t i = 0; i < limits; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s", i == 0 ? "" : "; ");
        pick_limit(prop, text + strlen(text), sizeof text - strlen(text));
    }
    prop_note(prop, "\"%s\"", text);
    return weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
}

/* Mostly on; back at most to what is settled, which comes after. */
static void pass_time(struct prop *prop, struct subject *subject)
{
    const uint64_t period_ns = spans[prop_pick(prop, sizeof spans / sizeof *spans)];
    if (prop_chance(prop, 3)) {
        subject->now_ns = subject->settled_ns + prop_pick(prop, subject->now_ns - subject->settled_ns + 1);
        return;
    }
    subject->now_ns +=
        prop_pick(prop, 3) == 0 ? prop_pick_size(prop, period_ns) : period_ns / (1 + prop_pick(prop, 50));
    if (prop_chance(prop, 2)) subject->settled_ns = subject->now_ns;
}

/* Of the first limit, which is a log: entries that may still count. */
static uint64_t counted(const struct subject *subject)
{
    const struct rule *rule = &plan_inside_const(&subject->plan)->rule[0];
    uint64_t back = stamps_kept(rule, subject->whole);
    for (; back > 1; back--) {
        const uint64_t ns = stamps_get(rule, subject->whole, back);
        if (add_saturating(ns, add_saturating(rule->period_ns, 1)) > subject->settled_ns) break;
    }
    return back;
}

static bool is_one_log(const struct subject *subject)
{
    return plan_inside_const(&subject->plan)->count == 1 && subject->states.logs == 1;
}

/* Before the call, too: what the call's entry lies further behind than a ring can tell is lost with it. */
static void count_needed(struct subject *subject, uint64_t cost)
{
    if (!is_one_log(subject)) return;
    const uint64_t burst = plan_inside_const(&subject->plan)->rule[0].burst;
    subject->counted_most = most(subject->counted_most, counted(subject) + least(cost, burst));
}

static void check_words(struct prop *prop, const struct subject *subject)
{
    if (!is_one_log(subject)) return;
    const size_t words = malloc_usable_size(states_block(subject->client)) / sizeof(uint64_t);
    const uint64_t places = subject->counted_most + subject->counted_most / 2;
    prop_check(prop, words <= STAMPS_HEADER + LOOSE_WORDS + places, "%zu words where %" PRIu64 " entries counted",
               words, subject->counted_most);
}

static void same(struct prop *prop, const weir_decision *of_whole, const weir_decision *decision)
{
    prop_check(prop, decision->verdict == of_whole->verdict, "another verdict");
    prop_check(prop, decision->start.ns == of_whole->start.ns, "another start");
    prop_check(prop, decision->delay_ns == of_whole->delay_ns, "another delay");
    prop_check(prop, decision->retry_ns == of_whole->retry_ns,
               "again after %" PRIu64 " ns; of a whole state after %" PRIu64, decision->retry_ns, of_whole->retry_ns);
    prop_check(prop, decision->remaining == of_whole->remaining, "%" PRIu64 " left; of a whole state %" PRIu64,
               decision->remaining, of_whole->remaining);
    prop_check(prop, decision->end == of_whole->end, "another end");
    prop_check(prop, decision->limit == of_whole->limit, "another limit");
}

static void ask(struct prop *prop, struct subject *subject)
{
    const uint64_t wait_max_ns = prop_chance(prop, 8) ? prop_pick_size(prop, spans[1]) : 0;
    const struct rules rules = plan_rules(plan_inside_const(&subject->plan));
    uint64_t each[WEIR_LIMITS_MAX];
    for (int i = 0; i < rules.count; i++)
        each[i] = prop_chance(prop, 5) ? 1 + prop_pick_size(prop, LARGE_MAX) : 1 + prop_pick_size(prop, 3);
    const struct states_question question = {subject->now_ns, subject->settled_ns, each, wait_max_ns};
    const struct question asked = {.now_ns = subject->now_ns, .wait_max_ns = wait_max_ns, .cost = each};
    weir_decision of_whole, decision;
    count_needed(subject, each[0]);
    decide(rules, subject->whole, &asked, NULL, &of_whole);
    count_needed(subject, each[0]);
    const bool decided = states_decide(&subject->states, subject->client, &question, &decision);
    prop_check(prop, decided, "no memory");
    prop_note(prop, "%" PRIu64 " ns, settled %" PRIu64 ": cost %" PRIu64 ", waits %" PRIu64 ": verdict %d",
              subject->now_ns, subject->settled_ns, each[0], wait_max_ns, (int)of_whole.verdict);
    same(prop, &of_whole, &decision);
    check_words(prop, subject);
    prop_step(prop);
}

static void property(struct prop *prop)
{
    struct subject subject = {.now_ns = 1 + prop_pick_size(prop, UINT64_C(2000000000000000000))};
    if (!pick_plan(prop, &subject.plan)) return;
    subject.settled_ns = subject.now_ns;
    subject.whole = calloc(1, weir_state_size(&subject.plan));
    const bool opened = states_open(&subject.states, &subject.plan);
    if (subject.states.logs != 0) {
        prop_check(prop, opened && subject.whole != NULL, "no memory");
        while (prop_more(prop, STEPS_MEAN)) {
            pass_time(prop, &subject);
            ask(prop, &subject);
        }
        states_forget(&subject.states, subject.client);
    }
    states_close(&subject.states);
    free(subject.whole);
}

PROPERTY("states", property, 20000);
