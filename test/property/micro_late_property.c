/* SPDX-License-Identifier: MIT
   How late an engine says that a call of a hybrid starts is what a list of all permits says.

   By the rate alone permit k, from 0 on, is due k permits' time after the first, and the first as long before the first
   call as that call had ahead of it.  Batches, waits, stalls, refusals and looks; of two limits the later time counts.
   Kept in 128 bits and ticks; a us is rounded down. */
#include <inttypes.h>
#include <stdio.h>

#include "core/num.h"
#include "property/micro_rig.h"
#include "redis/micro/num.h"
#include "wide.h"

enum { STEPS_MEAN = 60, LIMITS_MAX = 2, RATE_MOST = 3000, BURST_MOST = 8 };

typedef wide ticks;

struct schedule {
    ticks first; /* when permit 0 was due, in us * per: ticks */
    uint64_t given;
};

static void pick_text(struct prop *prop, char *text, size_t size)
{
    static const uint64_t periods[] = {1000000, 1000, 7, 60000000, 999999};
    static const char *const catchups[] = {"", " catchup=1.1", " catchup=3"};
    size_t at = 0;
    for (uint64_t limits = 1 + prop_pick(prop, LIMITS_MAX); limits > 0; limits--) {
        at += (size_t)snprintf(
            text + at, size - at, "%s%" PRIu64 "/%" PRIu64 "us algorithm=hybrid%s burst=%" PRIu64 "%s",
            at != 0 ? "; " : "", 1 + prop_pick(prop, RATE_MOST), periods[prop_pick(prop, 5)],
            catchups[prop_pick(prop, 3)], 1 + prop_pick(prop, BURST_MOST), prop_chance(prop, 3) ? " start=full" : "");
    }
}

static void begin(const struct micro_rule *rule, uint64_t now, uint64_t cost, struct schedule *schedule)
{
    const bool full = (rule->flags & MICRO_STARTS_FULL) != 0;
    const uint64_t had = full ? rule->top : least(cost * rule->permit, rule->top);
    schedule->first = (ticks)now * rule->per - had + (full ? rule->top : rule->permit);
}

/* us from when its first permit was due until `start`, rounded down; 0: it is not due yet. */
static uint64_t late_by(const struct micro_rule *rule, const struct schedule *schedule, uint64_t start)
{
    const ticks late = (ticks)start * rule->per - schedule->first - (ticks)schedule->given * rule->permit;
    return late < 0 ? 0 : (uint64_t)(late / rule->per);
}

static void take(struct prop *prop, struct rig *rig, uint64_t now, bool begins, struct schedule schedule[])
{
    struct micro_ask ask = {.now = now, .peek = prop_chance(prop, 8)};
    if (rig->micro.count == 1 && prop_chance(prop, 2)) ask.wait = prop_pick_size(prop, UINT64_C(1) << 24);
    uint64_t expected = UINT64_MAX;
    for (unsigned i = 0; i < rig->micro.count; i++) ask.cost[i] = 1 + prop_pick(prop, BURST_MOST);
    for (unsigned i = 1; i < rig->micro.count; i++) ask.cost[i] = ask.cost[0];
    const struct micro_answer answer = rig_take(prop, rig, &ask);
    prop_note(prop, "%" PRIu64 ": %s %" PRIu64 " wait %" PRIu64 ": verdict %d, delay %" PRIu64 ", late %" PRIu64, now,
              ask.peek ? "peek" : "take", ask.cost[0], ask.wait, answer.verdict, answer.delay, answer.late);
    for (unsigned i = 0; i < rig->micro.count; i++) {
        struct schedule then = schedule[i];
        if (begins) begin(&rig->micro.rule[i], now, ask.cost[i], &then);
        expected = least(expected, late_by(&rig->micro.rule[i], &then, now + answer.delay));
        if (answer.verdict != WEIR_ALLOW || ask.peek) continue;
        schedule[i] = then;
        schedule[i].given += ask.cost[i];
    }
    if (answer.verdict != WEIR_ALLOW) expected = 0;
    prop_check(prop, answer.late == expected, "late by %" PRIu64 " us, by the list of permits %" PRIu64, answer.late,
               expected);
}

static void property(struct prop *prop)
{
    char text[PROP_TEXT_SIZE];
    struct rig rig;
    struct schedule schedule[LIMITS_MAX] = {{0}};
    uint64_t now = UINT64_C(1763836800123456);
    pick_text(prop, text, sizeof text);
    prop_note(prop, "\"%s\"", text);
    if (!rig_open(&rig, text)) return;
    while (prop_more(prop, STEPS_MEAN)) {
        if (prop_chance(prop, 12)) now += prop_pick_size(prop, UINT64_C(1) << 26);
        else now += prop_pick_gap(prop, &rig.plan) / 1000 % (UINT64_C(1) << 26);
        take(prop, &rig, now, schedule[0].given == 0, schedule);
        prop_step(prop);
    }
}

PROPERTY("micro_late", property, 20000);
