/* SPDX-License-Identifier: MIT
   An engine's sliding-log against the simplest one: a list of the time of each permit.

   The same calls, of any cost, at any times, also back; some are given back, in any order.  Each answer is worked out
   by looking at the whole list, and the log may look at a few entries only (micro_rig.c counts them). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "property/micro_rig.h"

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

static void take(struct prop *prop, struct subject *subject, bool charges)
{
    const uint64_t cost = 1 + (prop_chance(prop, 3) ? prop_pick(prop, subject->burst + 2) : prop_pick(prop, 2));
    const struct micro_ask ask = {.now = subject->now, .cost = {cost}};
    const uint64_t wait = wait_of(subject, cost);
    const struct micro_answer answer =
        charges ? rig_charge(prop, &subject->rig, &ask) : rig_take(prop, &subject->rig, &ask);
    const weir_verdict expected = charges || (cost <= subject->burst && wait == 0) ? WEIR_ALLOW
                                  : cost > subject->burst                          ? WEIR_NEVER
                                                                                   : WEIR_DENY;
    prop_check(prop, answer.verdict == expected, "verdict %d, not %d", answer.verdict, expected);
    if (expected == WEIR_ALLOW || subject->counts) enter(subject, cost);
    const uint64_t again = expected == WEIR_DENY ? wait_of(subject, cost) : 0;
    prop_check(prop, answer.retry == again, "retry is %" PRIu64 ", not %" PRIu64, answer.retry, again);
    uint64_t left = subtract_to_zero(subject->burst, in_sight(subject, subject->now));
    if (subject->gap != 0) left = newest(&subject->list) + subject->gap > subject->now ? 0 : least(left, 1);
    prop_check(prop, answer.remaining == left, "%" PRIu64 " remain, not %" PRIu64, answer.remaining, left);
    if (expected != WEIR_ALLOW) return;
    const uint64_t slot = prop_pick(prop, TAKES);
    subject->taken[slot] = subject->now;
    subject->cost[slot] = cost;
}

static void settle(struct prop *prop, struct subject *subject)
{
    struct list *list = &subject->list;
    const uint64_t slot = prop_pick(prop, TAKES), taken = subject->taken[slot], cost = subject->cost[slot];
    const uint64_t actual = prop_pick(prop, cost + 1);
    if (cost == 0 || taken > subject->now) return;
    size_t first = 0, count = 0;
    while (first < list->size && list->time[first] < taken) first++;
    while (first + count < list->size && list->time[first + count] == taken) count++;
    cut(list, first, least(count, cost - actual));
    rig_settle(prop, &subject->rig, subject->now, taken, &cost, &actual);
    subject->cost[slot] = 0;
}

static void property(struct prop *prop)
{
    static struct subject subject; /* larger than what a stack should hold */
    char text[PROP_TEXT_SIZE];
    subject.list.size = 0;
    memset(subject.cost, 0, sizeof subject.cost);
    subject.burst = 1 + prop_pick(prop, prop_chance(prop, 2) ? 8 : RIG_STAMPS);
    subject.period = 1 + prop_pick_size(prop, 100000);
    subject.gap = prop_chance(prop, 6) ? 1 + prop_pick(prop, subject.period * 2) : 0;
    subject.counts = prop_chance(prop, 6);
    subject.now = UINT64_C(1763836800123456);
    int size =
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "us algorithm=sliding-log", subject.burst, subject.period);
    if (subject.gap != 0) size += snprintf(text + size, sizeof text - (size_t)size, " gap=%" PRIu64 "us", subject.gap);
    if (subject.counts) snprintf(text + size, sizeof text - (size_t)size, " count-refused");
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, rig_open(&subject.rig, text), "an engine does not keep it");
    while (prop_more(prop, STEPS_MEAN)) {
        const uint64_t step = prop_pick_size(prop, 4 * subject.period / (prop_chance(prop, 3) ? 1 : subject.burst) + 2);
        if (prop_chance(prop, 30)) subject.now -= step;
        else subject.now += step;
        if (prop_chance(prop, 4)) settle(prop, &subject);
        else take(prop, &subject, prop_chance(prop, 20));
        prop_step(prop);
    }
}

PROPERTY("micro_log", property, 3000);
