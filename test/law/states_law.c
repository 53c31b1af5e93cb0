/* SPDX-License-Identifier: MIT
   states_law.c - a state that has as much of a log's ring as it needs, against one that has all of it.

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
#include "law/law.h"

enum { STEPS_MEAN = 60, TEXT_SIZE = 512, COUNT_MAX = 40, LARGE_MAX = 4000, LOOSE_WORDS = 8 };

static const uint64_t spans[] = {1000000000, 60000000000, 1000, 7, 1, 2147483647, 2147483648, 31536000000000000};

struct subject {
    weir_plan plan;
    struct states states;
    uint64_t *whole, client[1];
    uint64_t now_ns, settled_ns, counted_most;
};

static void pick_limit(struct law *law, char *text, size_t size)
{
    const uint64_t span_ns = spans[law_pick(law, sizeof spans / sizeof *spans)];
    const uint64_t count = 1 + law_pick(law, law_chance(law, 6) ? LARGE_MAX : COUNT_MAX);
    if (law_chance(law, 4)) {
        static const char *const other[] = {"gcra", "fixed-window", "sliding-window", "leaky"};
        snprintf(text, size, "%" PRIu64 "/%" PRIu64 "ns algorithm=%s", count, span_ns, other[law_pick(law, 4)]);
        return;
    }
    int length = snprintf(text, size, "%" PRIu64 "/%" PRIu64 "ns algorithm=sliding-log", count, span_ns);
    if (law_chance(law, 4)) length += snprintf(text + length, size - (size_t)length, " edge=closed");
    if (law_chance(law, 4)) length += snprintf(text + length, size - (size_t)length, " count-refused");
    if (law_chance(law, 4)) {
        const uint64_t gap_ns = 1 + law_pick(law, least(2 * span_ns, UINT64_C(100000000000)));
        snprintf(text + length, size - (size_t)length, " gap=%" PRIu64 "ns", gap_ns);
    }
}

static bool pick_plan(struct law *law, weir_plan *plan)
{
    char text[TEXT_SIZE] = "";
    const uint64_t limits = law_pick(law, 2) == 0 ? 1 : 2 + law_pick(law, 2);
    for (uint64_t i = 0; i < limits; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s", i == 0 ? "" : "; ");
        pick_limit(law, text + strlen(text), sizeof text - strlen(text));
    }
    law_note(law, "\"%s\"", text);
    return weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
}

/* Mostly on; back at most to what is settled, which comes after. */
static void pass_time(struct law *law, struct subject *subject)
{
    const uint64_t period_ns = spans[law_pick(law, sizeof spans / sizeof *spans)];
    if (law_chance(law, 3)) {
        subject->now_ns = subject->settled_ns + law_pick(law, subject->now_ns - subject->settled_ns + 1);
        return;
    }
    subject->now_ns += law_pick(law, 3) == 0 ? law_pick_size(law, period_ns) : period_ns / (1 + law_pick(law, 50));
    if (law_chance(law, 2)) subject->settled_ns = subject->now_ns;
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

static void check_words(struct law *law, struct subject *subject, uint64_t cost)
{
    if (plan_inside_const(&subject->plan)->count != 1 || subject->states.logs != 1) return;
    const struct rule *rule = &plan_inside_const(&subject->plan)->rule[0];
    const uint64_t needed = counted(subject) + least(cost, rule->burst);
    const size_t words = malloc_usable_size(states_block(subject->client)) / sizeof(uint64_t);
    subject->counted_most = most(subject->counted_most, needed);
    const uint64_t places = subject->counted_most + subject->counted_most / 2;
    law_check(law, words <= STAMPS_HEADER + LOOSE_WORDS + places, "%zu words where %" PRIu64 " entries counted", words,
              subject->counted_most);
}

static void same(struct law *law, const weir_decision *of_whole, const weir_decision *decision)
{
    law_check(law, decision->verdict == of_whole->verdict, "another verdict");
    law_check(law, decision->start.ns == of_whole->start.ns, "another start");
    law_check(law, decision->delay_ns == of_whole->delay_ns, "another delay");
    law_check(law, decision->retry_ns == of_whole->retry_ns,
              "again after %" PRIu64 " ns; of a whole state after %" PRIu64, decision->retry_ns, of_whole->retry_ns);
    law_check(law, decision->remaining == of_whole->remaining, "%" PRIu64 " left; of a whole state %" PRIu64,
              decision->remaining, of_whole->remaining);
    law_check(law, decision->end == of_whole->end, "another end");
    law_check(law, decision->limit == of_whole->limit, "another limit");
}

static void ask(struct law *law, struct subject *subject)
{
    const uint64_t cost = law_chance(law, 5) ? 1 + law_pick_size(law, LARGE_MAX) : 1 + law_pick_size(law, 3);
    const uint64_t wait_max_ns = law_chance(law, 8) ? law_pick_size(law, spans[1]) : 0;
    const struct states_question question = {subject->now_ns, subject->settled_ns, cost, wait_max_ns};
    const weir_decision of_whole =
        weir_decide_within(&subject->plan, subject->whole, (weir_instant){subject->now_ns}, cost, wait_max_ns);
    weir_decision decision;
    const bool decided = states_decide(&subject->states, subject->client, &question, &decision);
    law_check(law, decided, "no memory");
    law_note(law, "%" PRIu64 " ns, settled %" PRIu64 ": cost %" PRIu64 ", waits %" PRIu64 ": verdict %d",
             subject->now_ns, subject->settled_ns, cost, wait_max_ns, (int)of_whole.verdict);
    same(law, &of_whole, &decision);
    check_words(law, subject, cost);
    law_step(law);
}

static void property(struct law *law)
{
    struct subject subject = {.now_ns = 1 + law_pick_size(law, UINT64_C(2000000000000000000))};
    if (!pick_plan(law, &subject.plan)) return;
    subject.settled_ns = subject.now_ns;
    subject.whole = calloc(1, weir_state_size(&subject.plan));
    const bool opened = states_open(&subject.states, &subject.plan);
    if (subject.states.logs != 0) {
        law_check(law, opened && subject.whole != NULL, "no memory");
        while (law_more(law, STEPS_MEAN)) {
            pass_time(law, &subject);
            ask(law, &subject);
        }
        states_forget(&subject.states, subject.client);
    }
    states_close(&subject.states);
    free(subject.whole);
}

LAW("states", property, 20000);
