/* SPDX-License-Identifier: MIT
   micro_log_law.c - an engine's sliding-log against the simplest one: a list of the time of each permit.

   The same calls, of any cost, at any times, also back; some are given back, in any order.  Each answer is worked out
   by looking at the whole list, and the log may look at a few entries only (micro_rig.c counts them). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "law/micro_rig.h"

enum { STEPS_MEAN = 150, TAKES = 32, PERMITS_MAX = 1024 };

struct list {
    uint64_t time[PERMITS_MAX];
    size_t size;
};

struct subject {
    struct rig rig;
    struct list list;
    uint64_t burst, period, gap, now;
    bool counts;
    uint64_t taken[TAKES], cost[TAKES];
};

static void cut(struct list *list, size_t from, size_t count)
{
    memmove(list->time + from, list->time + from + count, (list->size - from - count) * sizeof list->time[0]);
    list->size -= count;
}

static uint64_t newest(const struct list *list)
{
    return list->size == 0 ? 0 : list->time[list->size - 1];
}

static uint64_t in_sight(const struct subject *subject, uint64_t now)
{
    uint64_t count = 0;
    for (size_t i = 0; i < subject->list.size; i++) count += subject->list.time[i] + subject->period > now;
    return count;
}

static void enter(struct subject *subject, uint64_t cost)
{
    struct list *list = &subject->list;
    const uint64_t at = most(subject->now, newest(list)), add = least(cost, subject->burst);
    cut(list, 0, list->size - in_sight(subject, at));
    if (list->size + add > subject->burst) cut(list, 0, list->size + add - subject->burst);
    for (uint64_t i = 0; i < add; i++) list->time[list->size++] = at;
}

/* Until so many more pass. */
static uint64_t wait_of(const struct subject *subject, uint64_t cost)
{
    const struct list *list = &subject->list;
    uint64_t passes = 0;
    for (size_t i = 0; i < list->size; i++) {
        if (list->size - i + cost > subject->burst) passes = list->time[i] + subject->period;
    }
    if (subject->gap != 0 && list->size != 0) passes = most(passes, newest(list) + subject->gap);
    return subtract_to_zero(passes, subject->now);
}

static void take(struct law *law, struct subject *subject, bool charges)
{
    const uint64_t cost = 1 + (law_chance(law, 3) ? law_pick(law, subject->burst + 2) : law_pick(law, 2));
    const struct micro_ask ask = {.now = subject->now, .cost = {cost}};
    const uint64_t wait = wait_of(subject, cost);
    const struct micro_answer answer =
        charges ? rig_charge(law, &subject->rig, &ask) : rig_take(law, &subject->rig, &ask);
    const weir_verdict expected = charges || (cost <= subject->burst && wait == 0) ? WEIR_ALLOW
                                  : cost > subject->burst                          ? WEIR_NEVER
                                                                                   : WEIR_DENY;
    law_check(law, answer.verdict == expected, "verdict %d, not %d", answer.verdict, expected);
    if (expected == WEIR_ALLOW || subject->counts) enter(subject, cost);
    const uint64_t again = expected == WEIR_DENY ? wait_of(subject, cost) : 0;
    law_check(law, answer.retry == again, "retry is %" PRIu64 ", not %" PRIu64, answer.retry, again);
    uint64_t left = subtract_to_zero(subject->burst, in_sight(subject, subject->now));
    if (subject->gap != 0) left = newest(&subject->list) + subject->gap > subject->now ? 0 : least(left, 1);
    law_check(law, answer.remaining == left, "%" PRIu64 " remain, not %" PRIu64, answer.remaining, left);
    if (expected != WEIR_ALLOW) return;
    const uint64_t slot = law_pick(law, TAKES);
    subject->taken[slot] = subject->now;
    subject->cost[slot] = cost;
}

static void settle(struct law *law, struct subject *subject)
{
    struct list *list = &subject->list;
    const uint64_t slot = law_pick(law, TAKES), taken = subject->taken[slot], cost = subject->cost[slot];
    const uint64_t actual = law_pick(law, cost + 1);
    if (cost == 0 || taken > subject->now) return;
    size_t first = 0, count = 0;
    while (first < list->size && list->time[first] < taken) first++;
    while (first + count < list->size && list->time[first + count] == taken) count++;
    cut(list, first, least(count, cost - actual));
    rig_settle(law, &subject->rig, subject->now, taken, &cost, &actual);
    subject->cost[slot] = 0;
}

static void property(struct law *law)
{
    static struct subject subject; /* larger than what a stack should hold */
    char text[LAW_TEXT_SIZE];
    subject.list.size = 0;
    memset(subject.cost, 0, sizeof subject.cost);
    subject.burst = 1 + law_pick(law, law_chance(law, 2) ? 8 : RIG_STAMPS);
    subject.period = 1 + law_pick_size(law, 100000);
    subject.gap = law_chance(law, 6) ? 1 + law_pick(law, subject.period * 2) : 0;
    subject.counts = law_chance(law, 6);
    subject.now = UINT64_C(1763836800123456);
    int size =
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "us algorithm=sliding-log", subject.burst, subject.period);
    if (subject.gap != 0) size += snprintf(text + size, sizeof text - (size_t)size, " gap=%" PRIu64 "us", subject.gap);
    if (subject.counts) snprintf(text + size, sizeof text - (size_t)size, " count-refused");
    law_note(law, "plan \"%s\"", text);
    law_check(law, rig_open(&subject.rig, text), "an engine does not keep it");
    while (law_more(law, STEPS_MEAN)) {
        const uint64_t step = law_pick_size(law, 4 * subject.period / (law_chance(law, 3) ? 1 : subject.burst) + 2);
        if (law_chance(law, 30)) subject.now -= step;
        else subject.now += step;
        if (law_chance(law, 4)) settle(law, &subject);
        else take(law, &subject, law_chance(law, 20));
        law_step(law);
    }
}

LAW("micro_log", property, 3000);
