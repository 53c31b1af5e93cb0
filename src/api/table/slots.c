/* SPDX-License-Identifier: MIT
   Limits by gcra, each in a 16-byte slot of its own, decided together.

   Each limit of each key is one call of the table.  Several are decided all or nothing without a lock: first all are
   read; if all would pass, each is charged; if one no longer passes because another call came in between, the charges
   before it are given back, and it starts again.  Meanwhile other calls may be refused that would have passed, but
   never the other way round; and a process that dies there has charged a little too much. */
#include "api/table/keyed.h"

#include "core/decide.h"
#include "core/num.h"
#include "core/slot.h"

enum { TRIES_MAX = 64 };

/* One limit of the call, and its result. */
struct part {
    struct slot_rule rule;
    uint64_t hash, cost;
    const struct table_part *home; /* the key's part */
    struct table_answer answer;
};

/* The time of one call, in units. */
struct slots_moment {
    uint64_t now, now_ns, wait_ns; /* now_ns is in the region's time */
};

/* The units in ns, rounded up. */
static uint64_t slots_ns_of(const weir_table *table, uint64_t units)
{
    if (table->unit < 0) return units << -table->unit;
    const uint64_t rest = (UINT64_C(1) << table->unit) - 1;
    return (units + rest) >> table->unit;
}

/* From this moment until those units, in ns.  If a unit is longer than a ns, this one began before now.  Both may be
   beyond what 64 bits of units can count; their difference is not. */
static uint64_t ns_until(const weir_table *table, const struct slots_moment *moment, uint64_t units)
{
    const uint64_t begun_ns = table->unit < 0 ? moment->now_ns - (moment->now << -table->unit) : 0;
    return subtract_to_zero(slots_ns_of(table, units - moment->now), begun_ns);
}

static struct slots_moment moment_of(const weir_table *table, const struct ask *ask)
{
    const uint64_t now_ns = ask->now_ns + table->offset_ns;
    return (struct slots_moment){keyed_units_of(table, now_ns), now_ns, ask->wait_max_ns};
}

/* How long a call may wait: until the last unit that is not after now + wait, and not beyond what a word can hold. */
static uint64_t wait_of(const weir_table *table, const struct slots_moment *moment, const struct part *part)
{
    const uint64_t horizon = subtract_to_zero(table->longest, part->rule.burst);
    if (moment->wait_ns >= slots_ns_of(table, horizon)) return horizon;
    return least(keyed_units_of(table, moment->now_ns + moment->wait_ns) - moment->now, horizon);
}

/* How far `drained` is ahead of now. */
static uint64_t part_ahead(const struct part *part, uint64_t now)
{
    const int64_t ahead = (int64_t)(part->answer.drained - now);
    return ahead > 0 ? (uint64_t)ahead : 0;
}

static uint64_t part_permits_left(const struct part *part, uint64_t ahead)
{
    return subtract_to_zero(part->rule.burst, ahead) / part->rule.interval;
}

/* From now until the start, in units; of a refusal, until it could start. */
static uint64_t start_after(const struct part *part, uint64_t ahead)
{
    return subtract_to_zero(ahead, part->rule.burst);
}

static void ask_part(weir_table *table, struct part *part, const struct slots_moment *moment, enum table_how how,
                     uint64_t from, uint32_t *events)
{
    const struct table_question question = {.hash = part->hash,
                                            .now = moment->now,
                                            .from = from,
                                            .cost = part->cost,
                                            .burst = part->rule.burst,
                                            .wait = wait_of(table, moment, part),
                                            .debt = part->rule.debt,
                                            .part = part->home,
                                            .how = part->cost == 0 && how == TABLE_TAKE ? TABLE_PEEK : how};
    keyed_ask_table(table, &question, &part->answer);
    *events |= part->answer.events;
}

/* ---- decisions ---- */

/* When it passes: a refusal by a full table passes only when a slot is idle. */
static uint64_t part_passes_at(const struct part *part, const struct slots_moment *moment)
{
    const uint64_t ahead = part_ahead(part, moment->now);
    if (part->answer.events & TABLE_FULL && ahead + part->cost <= part->rule.burst) return moment->now + ahead;
    return moment->now + start_after(part, ahead + part->cost);
}

static void say_refused(const weir_table *table, const struct part part[], int count, const struct slots_moment *moment,
                        weir_decision *decision)
{
    decision->verdict = WEIR_DENY;
    decision->remaining = UINT64_MAX;
    for (int i = 0; i < count; i++) {
        const bool refused = part[i].answer.verdict == TABLE_REFUSED;
        /* If this limit would pass, its balance after the call. */
        const uint64_t ahead = part_ahead(&part[i], moment->now) - (refused ? 0 : part[i].cost);
        decision->remaining = least(decision->remaining, part_permits_left(&part[i], ahead));
        if (!refused) continue;
        const uint64_t until_ns = ns_until(table, moment, part_passes_at(&part[i], moment));
        const uint64_t retry_ns = most(subtract_to_zero(until_ns, moment->wait_ns), 1);
        if (retry_ns <= decision->retry_ns) continue;
        decision->retry_ns = retry_ns;
        decision->limit = (uint32_t)i;
        decision->end = moment->now + ahead;
    }
}

static void say_allowed(const weir_table *table, const struct part part[], int count, const struct slots_moment *moment,
                        uint64_t start, uint64_t end[], weir_decision *decision)
{
    const bool waits = start > moment->now;
    decision->verdict = WEIR_ALLOW;
    decision->remaining = UINT64_MAX;
    uint64_t latest = 0;
    for (int i = 0; i < count; i++) {
        const uint64_t ahead = part_ahead(&part[i], start);
        const uint64_t left = part_permits_left(&part[i], ahead);
        if (end != NULL) end[i] = part[i].answer.drained;
        /* The limit that determines the start, otherwise the tightest. */
        const uint64_t own_start = start_after(&part[i], part_ahead(&part[i], moment->now)) + 1;
        if (waits ? own_start > latest : left < decision->remaining) {
            decision->limit = (uint32_t)i;
            decision->end = part[i].answer.drained;
        }
        latest = most(latest, own_start);
        decision->remaining = least(decision->remaining, left);
    }
    if (!waits) return;
    decision->delay_ns = ns_until(table, moment, start);
    decision->start.ns += decision->delay_ns;
}

/* ---- all or nothing ---- */

/* Reads all slots; true if all would pass, with the common start in *start. */
static bool look_at_parts(weir_table *table, struct part part[], int count, const struct slots_moment *moment,
                          uint64_t *start, uint32_t *events)
{
    bool pass = true;
    *start = moment->now;
    for (int i = 0; i < count; i++) {
        ask_part(table, &part[i], moment, TABLE_PEEK, moment->now, events);
        pass = pass && part[i].answer.verdict == TABLE_TAKEN;
        *start = most(*start, moment->now + start_after(&part[i], part_ahead(&part[i], moment->now)));
    }
    return pass;
}

static void undo_parts(weir_table *table, const struct part part[], int count, uint64_t now, uint64_t start)
{
    while (count-- > 0) {
        if (part[count].cost == 0) continue;
        table_give_back(keyed_slots(table), &(struct table_slip){.hash = part[count].hash,
                                                                 .now = now,
                                                                 .start = start,
                                                                 .end = part[count].answer.drained,
                                                                 .charged = part[count].cost,
                                                                 .unused = part[count].cost,
                                                                 .burst = part[count].rule.burst,
                                                                 .part = part[count].home});
    }
}

/* Charges all at the same start; true if all were charged. */
static bool take_parts(weir_table *table, struct part part[], int count, const struct slots_moment *moment,
                       uint64_t start, uint32_t *events)
{
    struct slots_moment until = *moment;
    until.wait_ns = ns_until(table, moment, start);
    for (int i = 0; i < count; i++) {
        ask_part(table, &part[i], start > moment->now ? &until : moment, TABLE_TAKE, start, events);
        if (part[i].answer.verdict == TABLE_TAKEN) continue;
        undo_parts(table, part, i, moment->now, start);
        return false;
    }
    return true;
}

static bool take_all(weir_table *table, struct part part[], int count, const struct slots_moment *moment, bool peek,
                     uint64_t *start, uint32_t *events)
{
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (!look_at_parts(table, part, count, moment, start, events)) return false;
        if (peek || take_parts(table, part, count, moment, *start, events)) return true;
    }
    return false;
}

static bool take_one(weir_table *table, struct part *part, const struct slots_moment *moment, bool peek,
                     uint64_t *start, uint32_t *events)
{
    ask_part(table, part, moment, peek ? TABLE_PEEK : TABLE_TAKE, moment->now, events);
    *start = moment->now + start_after(part, part_ahead(part, moment->now));
    return part->answer.verdict == TABLE_TAKEN;
}

static struct part part_of(const weir_table *table, const struct keyed_limit *limit, uint64_t permits)
{
    struct part part = {
        .rule = slot_rule_of(limit->rule, limit->interval, table->unit), .hash = limit->hash, .home = limit->part};
    part.cost = slot_cost(&part.rule, permits);
    return part;
}

/* A limit that lasts longer than the table can represent (weir_table_fits); -1: none. */
static int too_long(const weir_table *table, const struct part part[], int count)
{
    for (int i = 0; i < count; i++) {
        if (part[i].rule.burst > table->longest) return i;
    }
    return -1;
}

/* A limit that this cost can never pass; -1: none. */
static int never(const struct part part[], int count)
{
    for (int i = 0; i < count; i++) {
        if (part[i].cost > part[i].rule.burst) return i;
    }
    return -1;
}

/* The decision for such a cost; a smaller one would pass. */
static void say_never(weir_table *table, struct part part[], int count, const struct slots_moment *moment,
                      weir_decision *decision, uint32_t *events)
{
    decision->verdict = WEIR_NEVER;
    decision->remaining = UINT64_MAX;
    for (int i = 0; i < count; i++) {
        part[i].cost = 0;
        ask_part(table, &part[i], moment, TABLE_PEEK, moment->now, events);
        decision->remaining =
            least(decision->remaining, part_permits_left(&part[i], part_ahead(&part[i], moment->now)));
    }
}

static void charge_all(weir_table *table, struct part part[], int count, const struct slots_moment *moment,
                       uint64_t end[], weir_decision *decision, uint32_t *events)
{
    for (int i = 0; i < count; i++) ask_part(table, &part[i], moment, TABLE_CHARGE, moment->now, events);
    say_allowed(table, part, count, moment, moment->now, end, decision);
    decision->charged = part[0].answer.charged / part[0].rule.interval;
    decision->reserved = DECISION_SETTLED;
}

void keyed_slots_ask(weir_table *table, const struct keyed_limit *limits, int count, const struct ask *ask,
                     uint64_t end[], weir_decision *decision, uint32_t *events)
{
    struct part part[KEYED_LIMITS_MAX];
    const struct slots_moment moment = moment_of(table, ask);
    uint64_t start = moment.now;
    keyed_keep_rested(table, moment.now_ns);
    *decision = (weir_decision){.start = {ask->now_ns}};
    if (count <= 0) return;
    for (int i = 0; i < count; i++) part[i] = part_of(table, &limits[i], limits[i].cost);
    const int unfit = too_long(table, part, count);
    if (unfit >= 0) {
        decision->verdict = WEIR_NEVER;
        decision->limit = (uint32_t)unfit;
        return;
    }
    if (ask->charge) {
        charge_all(table, part, count, &moment, end, decision, events);
        return;
    }
    const int limit = never(part, count);
    const bool allowed = limit < 0 && (count == 1 ? take_one(table, part, &moment, ask->peek, &start, events)
                                                  : take_all(table, part, count, &moment, ask->peek, &start, events));
    if (allowed) {
        say_allowed(table, part, count, &moment, start, end, decision);
        decision->charged = ask->peek ? 0 : limits[0].cost;
        for (int i = 1; i < count; i++) decision->reserved |= limits[i].cost != limits[0].cost ? DECISION_EACH : 0;
    } else if (limit < 0) {
        say_refused(table, part, count, &moment, decision);
    } else {
        say_never(table, part, count, &moment, decision, events);
        decision->limit = (uint32_t)limit;
    }
}

/* ---- one limit, now or not at all: the cases that the fast path does not handle ---- */

void keyed_slots_refuse(const weir_table *table, const struct keyed_limit *limit, uint64_t now_ns, uint64_t drained,
                        weir_decision *decision)
{
    const struct slots_moment moment = moment_of(table, &(struct ask){.now_ns = now_ns});
    struct part part = part_of(table, limit, limit->cost);
    part.answer = (struct table_answer){.verdict = TABLE_REFUSED, .drained = drained};
    *decision = (weir_decision){.start = {now_ns}};
    say_refused(table, &part, 1, &moment, decision);
}

/* ---- settling ---- */

static void settle_part(weir_table *table, const struct keyed_limit *limit, const struct slots_moment *moment,
                        uint64_t start, uint64_t actual, const uint64_t *end)
{
    struct part part = part_of(table, limit, limit->cost);
    uint32_t events = 0;
    if (actual > limit->cost) {
        part.cost = slot_cost(&part.rule, actual - limit->cost);
        ask_part(table, &part, moment, TABLE_CHARGE, moment->now, &events);
    } else if (actual < limit->cost) {
        table_give_back(keyed_slots(table),
                        &(struct table_slip){.hash = part.hash,
                                             .now = moment->now,
                                             .start = start,
                                             /* Unknown: the earliest possible end, so that rather less is given
                                                back. */
                                             .end = end != NULL ? *end : start + part.cost,
                                             .charged = part.cost,
                                             .unused = slot_cost(&part.rule, limit->cost - actual),
                                             .burst = part.rule.burst,
                                             .part = part.home});
    }
}

void keyed_slots_settle(weir_table *table, const struct keyed_limit *limits, int count, uint64_t now_ns,
                        const weir_decision *decision, const uint64_t actual[], const uint64_t end[])
{
    const struct slots_moment moment = moment_of(table, &(struct ask){.now_ns = now_ns});
    keyed_keep_rested(table, moment.now_ns);
    const uint64_t start = keyed_units_of(table, decision->start.ns + table->offset_ns);
    /* A part of a call that has not started cannot be given back: its start would stay, and the word would say that it
       came earlier. */
    bool part = false;
    for (int i = 0; i < count; i++) part = part || actual[i] != 0;
    const bool ahead = now_ns < decision->start.ns;
    for (int i = 0; i < count; i++) {
        const uint64_t *known = end != NULL ? &end[i] : decision->limit == (uint32_t)i ? &decision->end : NULL;
        if (actual[i] < limits[i].cost && part && ahead) continue;
        settle_part(table, &limits[i], &moment, start, actual[i], known);
    }
}

uint64_t keyed_slots_full_ns(const weir_table *table, const weir_decision *decision)
{
    const struct slots_moment moment =
        moment_of(table, &(struct ask){.now_ns = decision->start.ns - decision->delay_ns});
    const int64_t ahead = (int64_t)(decision->end - moment.now);
    if (decision->verdict == WEIR_NEVER || ahead <= 0) return 0;
    return most(ns_until(table, &moment, decision->end), decision->retry_ns);
}
