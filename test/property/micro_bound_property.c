/* SPDX-License-Identifier: MIT
   Whatever is asked of an engine's bucket, never more than burst + rate * t is used in any time t.

   Used is what really was: of a take that is settled only its actual cost, of a lease what its node spent before its
   lifetime was over, at the time when it spent it.  Calls wait, are settled once at any later time, keys are forgotten
   when they may be, returns of leases come late, and the engine's clock goes back.  Of each two uses all between them
   are added up, in whole ticks and 128 bits.  Who waited starts up to a us late, being rounded up, so the time from his
   start on is that much longer.

   gcra: its rate; hybrid, whose calls are no larger than its pool: catchup times that, and from the first call on never
   more than the pool or the schedule has given out.

   After a clock was set back earlier takes are not settled: how long ago they were nobody knows. */
#include <inttypes.h>
#include <stdio.h>

#include "core/num.h"
#include "property/micro_rig.h"
#include "redis/micro/num.h"
#include "wide.h"

enum { STEPS_MEAN = 40, USES_MAX = 128, LEASES_MAX = 8, BURST_MAX = 60 };

/* In time that does not go back. */
struct use {
    uint64_t at, permits;
    bool waited;
    uint64_t taken, charged; /* of a take that may be settled: by the engine's clock; else 0 */
};

struct lease {
    uint64_t id, permits, left, until;
};

struct subject {
    struct rig rig;
    uint64_t now, set_back; /* the engine's clock is now - set_back */
    struct use use[USES_MAX];
    int uses;
    struct lease lease[LEASES_MAX];
    int leases;
    uint64_t idle; /* by the engine's clock */
    uint64_t lifetime;
};

static uint64_t clock_of(const struct subject *subject)
{
    return subject->now - subject->set_back;
}

static void check_bound(struct prop *prop, const struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t rate = rule->kind == MICRO_HYBRID ? rule->per_fast : rule->per;
    for (int first = 0; first < subject->uses; first++) {
        const uint64_t from = subject->use[first].at;
        for (int last = 0; last < subject->uses; last++) {
            const uint64_t until = subject->use[last].at;
            wide_unsigned used = 0;
            uint64_t late = 0;
            if (until < from) continue;
            for (int i = 0; i < subject->uses; i++) {
                const bool inside = subject->use[i].at >= from && subject->use[i].at <= until;
                if (inside) used += (wide_unsigned)subject->use[i].permits * rule->permit;
                if (subject->use[i].at == from && subject->use[i].waited) late = 1;
            }
            prop_check(prop, used <= rule->top + (wide_unsigned)rate * (until - from + late),
                       "%" PRIu64 " permits are used from %" PRIu64 " to %" PRIu64, (uint64_t)(used / rule->permit),
                       from, until);
        }
    }
}

static void use(struct subject *subject, struct use use)
{
    if (subject->uses < USES_MAX && use.permits != 0) subject->use[subject->uses++] = use;
}

static void take(struct prop *prop, struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t pool = rule->top / rule->permit;
    const uint64_t cost = prop_chance(prop, 2) ? 1 : 1 + prop_pick(prop, pool);
    const uint64_t wait = prop_chance(prop, 4) ? prop_pick(prop, 2 * rule->top / rule->per + 1) : 0;
    const struct micro_ask ask = {.now = clock_of(subject), .cost = {cost}, .wait = wait};
    const struct micro_answer answer = rig_take(prop, &subject->rig, &ask);
    prop_note(prop, "%" PRIu64 ": take %" PRIu64 " wait %" PRIu64 ": verdict %d, delay %" PRIu64, subject->now, cost,
              wait, answer.verdict, answer.delay);
    if (answer.changed) subject->idle = answer.idle;
    if (answer.verdict != WEIR_ALLOW) return;
    const uint64_t delay = answer.delay;
    use(subject, (struct use){subject->now + delay, cost, delay != 0, answer.taken, cost});
}

static void settle(struct prop *prop, struct subject *subject)
{
    if (subject->uses == 0) return;
    struct use *of = &subject->use[prop_pick(prop, (uint64_t)subject->uses)];
    const uint64_t actual = prop_pick(prop, of->charged + 1);
    if (of->charged == 0) return;
    const struct micro_answer answer =
        rig_settle(prop, &subject->rig, clock_of(subject), of->taken, &of->charged, &actual);
    prop_note(prop, "%" PRIu64 ": that of %" PRIu64 " used %" PRIu64, subject->now, of->at, actual);
    if (answer.changed) subject->idle = answer.idle;
    of->permits = actual;
    of->charged = 0;
}

static void renew(struct prop *prop, struct subject *subject)
{
    struct lease *lease = &subject->lease[subject->leases];
    if (subject->leases == LEASES_MAX) return;
    if (prop_chance(prop, 6)) subject->lifetime = 1 + prop_pick(prop, 2000000);
    const struct micro_lease got =
        rig_lease(prop, &subject->rig, clock_of(subject), 1 + prop_pick(prop, BURST_MAX), subject->lifetime);
    prop_note(prop, "%" PRIu64 ": a lease of %" PRIu64 " for %" PRIu64 ", id %" PRIu64, subject->now, got.permits,
              subject->lifetime, got.id);
    if (got.changed) subject->idle = got.idle;
    if (got.permits == 0) return;
    *lease = (struct lease){got.id, got.permits, got.permits, subject->now + subject->lifetime};
    subject->leases++;
}

static void spend(struct prop *prop, struct subject *subject)
{
    if (subject->leases == 0) return;
    struct lease *lease = &subject->lease[prop_pick(prop, (uint64_t)subject->leases)];
    const uint64_t permits = prop_pick(prop, lease->left + 1);
    if (subject->now >= lease->until) return;
    prop_note(prop, "%" PRIu64 ": of the lease until %" PRIu64 " %" PRIu64 " spent", subject->now, lease->until,
              permits);
    lease->left -= permits;
    use(subject, (struct use){subject->now, permits, false, 0, 0});
}

static void give_back(struct prop *prop, struct subject *subject)
{
    if (subject->leases == 0) return;
    struct lease *lease = &subject->lease[prop_pick(prop, (uint64_t)subject->leases)];
    const struct micro_lease said =
        rig_return(prop, &subject->rig, clock_of(subject), lease->id, lease->permits, lease->left);
    prop_note(prop, "%" PRIu64 ": %" PRIu64 " of %" PRIu64 " come back, id %" PRIu64 ": %" PRIu64, subject->now,
              lease->left, lease->permits, lease->id, said.permits);
    if (said.changed) subject->idle = said.idle;
    *lease = subject->lease[--subject->leases];
}

static void step_time(struct prop *prop, struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t choice = prop_pick(prop, 5), permit = rule->permit / rule->per + 1, full = rule->top / rule->per + 1;
    if (choice == 1) subject->now += prop_pick(prop, 2 * permit);
    if (choice == 2) subject->now += prop_pick(prop, 2 * full);
    if (choice == 3) subject->now += prop_pick(prop, 2 * subject->lifetime);
    if (choice != 4 || !prop_chance(prop, 8)) return;
    subject->set_back += prop_pick(prop, 2 * full);
    prop_note(prop, "%" PRIu64 ": the clock goes back, by %" PRIu64 " in all", subject->now, subject->set_back);
    for (int i = 0; i < subject->uses; i++) subject->use[i].charged = 0;
}

static void pick_subject(struct prop *prop, struct subject *subject)
{
    static const uint64_t periods[] = {1000000, 1, 7, 1000, 60000000, 999999};
    static const char *const options[] = {"",
                                          " algorithm=hybrid",
                                          " algorithm=hybrid catchup=1.1",
                                          " algorithm=hybrid catchup=3 start=full",
                                          " debt=0",
                                          " debt=2"};
    char text[PROP_TEXT_SIZE];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "us burst=%" PRIu64 "%s", 1 + prop_pick_size(prop, 1000),
             periods[prop_pick(prop, 6)], 1 + prop_pick(prop, BURST_MAX), options[prop_pick(prop, 6)]);
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, rig_open(&subject->rig, text), "an engine does not keep it");
    subject->now = UINT64_C(1763836800123456);
    subject->lifetime = 1 + prop_pick(prop, 2000000);
}

static void property(struct prop *prop)
{
    struct subject subject = {.uses = 0};
    pick_subject(prop, &subject);
    while (prop_more(prop, STEPS_MEAN)) {
        step_time(prop, &subject);
        if (clock_of(&subject) >= subject.idle && prop_chance(prop, 3)) rig_forget(&subject.rig);
        switch (prop_pick(prop, 8)) {
        case 4:
            settle(prop, &subject);
            break;
        case 5:
            renew(prop, &subject);
            break;
        case 6:
            spend(prop, &subject);
            break;
        case 7:
            give_back(prop, &subject);
            break;
        default:
            take(prop, &subject);
        }
        prop_step(prop);
    }
    check_bound(prop, &subject);
}

PROPERTY("micro_bound", property, 5000);
