/* SPDX-License-Identifier: MIT
   Limits by gcra, each in a 16-byte slot of its own, decided together.

   Each limit of each key is one call of the table.  Several are decided all or nothing without a lock: first all are
   read; if all would pass, each is charged; if one no longer passes because another call came in between, the charges
   before it are given back, and it starts again.  Meanwhile other calls may be refused that would have passed, but
   never the other way round; and a process that dies there has charged a little too much.

   Tenants (core/tenants.h): in order, what may refuse is charged first, the guaranteed limit next, and what stands
   behind it last, into debt.  So nothing refuses any more once the guarantee is charged, and neither it nor the parent
   is ever charged for a call that does not pass: a tenant within its guarantee finds all of it, whatever other calls
   try.  A call between the two charges looks to borrowers like one that has not come yet, and that is its place in
   the order: behind those that are charged to the parent before it. */
#include "api/table/slots.h"

#include "core/decide.h"
#include "core/tenants.h"

enum { TRIES_MAX = 64 };

static void ask_part(weir_table *table, struct part *part, const struct slots_moment *moment, enum table_how how,
                     uint64_t from, uint32_t *events)
{
    const struct table_question question = {.hash = part->hash,
                                            .now = moment->now,
                                            .from = from,
                                            .cost = part->cost + (how == TABLE_PEEK ? part->spare : 0),
                                            .burst = part->rule.burst,
                                            .wait = part->owes ? UINT64_MAX : slots_wait_of(table, moment, part),
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
    const uint64_t ahead = slots_ahead(part, moment->now);
    if (part->answer.events & TABLE_FULL && ahead + part->cost <= part->rule.burst) return moment->now + ahead;
    return moment->now + slots_start_after(part, ahead + part->cost + part->spare);
}

static void say_refused(const weir_table *table, const struct part part[], int count, const struct slots_moment *moment,
                        weir_decision *decision)
{
    decision->verdict = WEIR_DENY;
    decision->remaining = UINT64_MAX;
    for (int i = 0; i < count; i++) {
        const bool refused = part[i].answer.verdict == TABLE_REFUSED;
        /* If this limit would pass, its balance after the call. */
        const uint64_t ahead = slots_ahead(&part[i], moment->now) - (refused ? 0 : part[i].cost);
        decision->remaining = least(decision->remaining, slots_permits_left(&part[i], ahead));
        if (!refused) continue;
        const uint64_t until_ns = slots_ns_until(table, moment, part_passes_at(&part[i], moment));
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
        const uint64_t ahead = slots_ahead(&part[i], start);
        const uint64_t left = slots_permits_left(&part[i], ahead);
        if (end != NULL) end[i] = part[i].answer.drained;
        /* The limit that determines the start, otherwise the tightest. */
        const uint64_t own_start = slots_start_after(&part[i], slots_ahead(&part[i], moment->now)) + 1;
        if (waits ? own_start > latest : left < decision->remaining) {
            decision->limit = (uint32_t)i;
            decision->end = part[i].answer.drained;
        }
        latest = most(latest, own_start);
        decision->remaining = least(decision->remaining, left);
    }
    if (!waits) return;
    decision->delay_ns = slots_ns_until(table, moment, start);
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
        *start = most(*start, moment->now + slots_start_after(&part[i], slots_ahead(&part[i], moment->now)));
    }
    return pass;
}

/* What is owed makes no call wait, so all of it can be given back. */
static void undo_part(weir_table *table, const struct part *part, uint64_t now, uint64_t start)
{
    if (part->cost == 0) return;
    table_give_back(keyed_slots(table), &(struct table_slip){.hash = part->hash,
                                                             .now = now,
                                                             .start = start,
                                                             .end = part->answer.drained,
                                                             .charged = part->cost,
                                                             .unused = part->cost,
                                                             .burst = part->owes ? UINT64_MAX : part->rule.burst,
                                                             .part = part->home});
}

static void undo_parts(weir_table *table, const struct part part[], int count, uint64_t now, uint64_t start)
{
    while (count-- > 0) undo_part(table, &part[count], now, start);
}

/* Charges all at the same start; true if all were charged. */
static bool take_parts(weir_table *table, struct part part[], int count, const struct slots_moment *moment,
                       uint64_t start, uint32_t *events)
{
    struct slots_moment until = *moment;
    until.wait_ns = slots_ns_until(table, moment, start);
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
    *start = moment->now + slots_start_after(part, slots_ahead(part, moment->now));
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
            least(decision->remaining, slots_permits_left(&part[i], slots_ahead(&part[i], moment->now)));
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
    const struct slots_moment moment = slots_moment_of(table, ask);
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

/* ---- several keys, all or none ---- */

/* One ask: its limits, the first of them guaranteed or not. */
struct slots_group {
    struct part *part;
    const struct keyed_limit *limit;
    int count;
    bool guaranteed;
};

/* A call of several asks, and the one whose guarantee it passes by; `count`: it borrows. */
struct slots_together {
    weir_table *table;
    struct slots_moment moment;
    struct slots_group *group;
    size_t count, by;
    uint32_t *events;
    struct part **charged; /* so many, in order */
    int charges;
    bool spares; /* what is lent leaves some room */
};

/* Which limits of an ask the call is charged to: not to a guaranteed one that has no room. */
static struct slots_group charged_of(const struct slots_together *call, size_t i)
{
    struct slots_group group = call->group[i];
    const int skip = group.guaranteed && i < call->by;
    group.part += skip;
    group.limit += skip;
    group.count -= skip;
    return group;
}

/* How long until it has room, in units. */
static uint64_t room_after(const struct slots_together *call, const struct part *part)
{
    if (part->cost > part->rule.burst || part->rule.burst > call->table->longest) return UINT64_MAX;
    if (part->answer.verdict == TABLE_TAKEN) return 0;
    return most(part_passes_at(part, &call->moment) - call->moment.now, 1);
}

/* How long until it can be owed: a word does not count further, and a key that finds no slot owes nothing. */
static uint64_t owed_after(const struct slots_together *call, const struct part *part)
{
    const uint64_t ahead = slots_ahead(part, call->moment.now), longest = call->table->longest;
    if (part->cost > longest || part->rule.burst > longest) return UINT64_MAX;
    if (part->answer.verdict == TABLE_TAKEN) return 0;
    const bool no_slot = part->answer.events & TABLE_FULL && ahead + part->cost <= part->rule.burst;
    return no_slot ? room_after(call, part) : subtract_to_zero(ahead + part->cost, longest);
}

static struct tenant look_at_group(struct slots_together *call, size_t i)
{
    const struct slots_group *group = &call->group[i];
    struct tenant tenant = {0, UINT64_MAX, 0};
    for (int j = 0; j < group->count; j++) {
        struct part *part = &group->part[j];
        part->owes = false;
        ask_part(call->table, part, &call->moment, TABLE_PEEK, call->moment.now, call->events);
        const uint64_t after = room_after(call, part);
        if (group->guaranteed && j == 0) tenant.guaranteed = after;
        else tenant.plain = most(tenant.plain, after);
        tenant.held = most(tenant.held, owed_after(call, part));
    }
    return tenant;
}

/* True if the call would pass now, and by whose guarantee. */
static bool look_together(struct slots_together *call)
{
    struct tenant tenants[WEIR_ASKS_MAX];
    uint64_t wait;
    for (size_t i = 0; i < call->count; i++) tenants[i] = look_at_group(call, i);
    call->by = tenants_choose(tenants, call->count, &wait);
    return wait == 0;
}

static bool charge_part(struct slots_together *call, struct part *part, bool owes)
{
    const struct table *slots = keyed_slots(call->table);
    const struct table_pair pair = table_pair_of(slots, part->hash);
    const struct table_charge charge = {.now = call->moment.now,
                                        .cost = part->cost,
                                        .reach = owes ? slots->longest : least(part->rule.burst, slots->longest)};
    const bool simple = charge.cost != 0 && charge.cost <= charge.reach;
    part->owes = owes;
    part->answer.verdict = simple ? table_try(slots, table_seek(&pair), &charge, &part->answer.drained) : TABLE_MISSED;
    if (part->answer.verdict == TABLE_MISSED || part->answer.verdict == TABLE_UNKNOWN)
        ask_part(call->table, part, &call->moment, TABLE_TAKE, call->moment.now, call->events);
    if (part->answer.verdict != TABLE_TAKEN) return false;
    call->charged[call->charges++] = part;
    return true;
}

static void undo_together(struct slots_together *call)
{
    while (call->charges > 0)
        undo_part(call->table, call->charged[--call->charges], call->moment.now, call->moment.now);
}

/* The order of the charges is that above.  NULL: all are charged; else the one that refused, and none is. */
static struct part *charge_together(struct slots_together *call)
{
    struct part *refused = NULL;
    for (size_t i = 0; i < call->count && refused == NULL; i++) {
        const struct slots_group group = charged_of(call, i);
        const int last = group.guaranteed && i == call->by;
        for (int j = 0; j < group.count && refused == NULL; j++) {
            struct part *part = &group.part[last && j + 1 == group.count ? 0 : j + last];
            if (!charge_part(call, part, i > call->by)) refused = part;
        }
    }
    if (refused != NULL) undo_together(call);
    return refused;
}

/* Where no limit but the last stands beside or behind a guaranteed one, the first guarantee that can be charged is the
   one, without a look before.  False: the call is not of that kind, or is refused, and nothing is charged. */
static bool charge_at_once(struct slots_together *call)
{
    const size_t last = call->count - 1;
    bool simple = call->count > 1 && !call->spares, charged = true;
    for (size_t i = 0; i <= last && simple; i++)
        simple = call->group[i].count == 1 && call->group[i].guaranteed == (i < last);
    if (!simple) return false;
    for (call->by = 0; call->by < last; call->by++)
        if (charge_part(call, call->group[call->by].part, false)) break;
    if (call->by == last) call->by = call->count;
    for (size_t i = call->by < last ? call->by + 1 : last; i <= last && charged; i++)
        charged = charge_part(call, call->group[i].part, call->by < last);
    if (!charged) undo_together(call);
    return charged;
}

static void say_taken(const struct slots_together *call, const struct slots_group *group, weir_instant now,
                      weir_ask *ask)
{
    ask->decision = (weir_decision){.verdict = WEIR_ALLOW, .start = now, .remaining = UINT64_MAX, .charged = ask->cost};
    for (int j = 0; j < group->count; j++) {
        const struct part *part = &group->part[j];
        const uint64_t left = slots_permits_left(part, slots_ahead(part, call->moment.now));
        if (left >= ask->decision.remaining) continue;
        ask->decision.remaining = left;
        ask->decision.limit = (uint32_t)group->limit[j].index;
        ask->decision.end = part->answer.drained;
    }
}

/* [of a call that is refused] What these limits would have said. */
static weir_decision decision_of(const struct slots_together *call, const struct slots_group *group, weir_instant now)
{
    weir_decision decision = {.verdict = WEIR_ALLOW, .start = now, .remaining = UINT64_MAX};
    const struct slots_moment *moment = &call->moment;
    const int unfit = too_long(call->table, group->part, group->count);
    const int limit = unfit >= 0 ? unfit : never(group->part, group->count);
    bool refused = false;
    if (group->count == 0) return decision;
    for (int j = 0; j < group->count; j++) refused = refused || group->part[j].answer.verdict != TABLE_TAKEN;
    if (unfit >= 0) {
        decision.verdict = WEIR_NEVER;
        decision.remaining = 0;
    } else if (limit >= 0) {
        say_never(call->table, group->part, group->count, moment, &decision, call->events);
    } else if (refused) {
        say_refused(call->table, group->part, group->count, moment, &decision);
    } else {
        say_allowed(call->table, group->part, group->count, moment, moment->now, NULL, &decision);
    }
    if (limit >= 0) decision.limit = (uint32_t)limit;
    decision.limit = (uint32_t)group->limit[decision.limit].index;
    return decision;
}

/* [of a call that is refused] What is behind the guarantee would be charged whatever it has. */
static weir_decision decision_behind(const struct slots_together *call, const struct slots_group *group,
                                     weir_instant now)
{
    weir_decision decision = {.verdict = WEIR_ALLOW, .start = now, .remaining = UINT64_MAX};
    for (int j = 0; j < group->count; j++) {
        const uint64_t after = owed_after(call, &group->part[j]);
        if (after == 0) continue;
        decision = (weir_decision){.verdict = after == UINT64_MAX ? WEIR_NEVER : WEIR_DENY,
                                   .limit = (uint32_t)group->limit[j].index,
                                   .start = now};
        if (after != UINT64_MAX)
            decision.retry_ns = most(slots_ns_until(call->table, &call->moment, call->moment.now + after), 1);
    }
    return decision;
}

static void say_together(const struct slots_together *call, weir_ask *asks, weir_instant now, bool taken)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct slots_group group = charged_of(call, i);
        if (taken) say_taken(call, &group, now, &asks[i]);
        else if (i > call->by) asks[i].decision = decision_behind(call, &group, now);
        else asks[i].decision = decision_of(call, &group, now);
        if (taken && call->group[i].guaranteed && i < call->by) asks[i].decision.reserved = DECISION_BORROWED;
    }
}

/* If each call alone would pass now, the same key is there twice, or permits were just given back.  The call that was
   refused reports the refusal. */
static void say_refuser(const struct slots_together *call, weir_ask *asks, const struct part *refused,
                        const struct table_answer *answer)
{
    for (size_t i = 0; i < call->count; i++) {
        if (asks[i].decision.verdict != WEIR_ALLOW) return;
    }
    for (size_t i = 0; i < call->count && refused != NULL; i++) {
        const struct slots_group *group = &call->group[i];
        if (refused < group->part || refused >= group->part + group->count) continue;
        struct part part = *refused;
        part.answer = *answer;
        asks[i].decision = (weir_decision){.start = asks[i].decision.start};
        say_refused(call->table, &part, 1, &call->moment, &asks[i].decision);
        asks[i].decision.limit = (uint32_t)group->limit[refused - group->part].index;
    }
}

/* The groups of a call; parts: of all of them. */
static void begin_together(struct slots_together *call, struct part part[], const struct keyed_limit limits[],
                           const int first[])
{
    for (int i = 0; i < first[call->count]; i++) part[i] = part_of(call->table, &limits[i], limits[i].cost);
    for (size_t i = 0; i < call->count; i++) {
        const struct keyed_limit *limit = limits + first[i];
        const int count = first[i + 1] - first[i];
        const bool parent = i + 1 == call->count; /* nothing is behind it */
        const bool guaranteed = !parent && count > 0 && limit->index == 0 && tenants_guaranteed(limit->rule);
        call->group[i] = (struct slots_group){part + first[i], limit, count, guaranteed};
    }
}

/* Of the parent's limit that is shared. */
static void leave_spare(struct slots_together *call, const struct keyed_lent *lent)
{
    if (call->count == 0 || lent->spare == 0) return;
    const struct slots_group *parent = &call->group[call->count - 1];
    for (int j = 0; j < parent->count; j++) {
        if (parent->limit[j].index != lent->limit) continue;
        parent->part[j].spare = slot_cost(&parent->part[j].rule, lent->spare);
        call->spares = true;
    }
}

bool keyed_slots_take_all(weir_table *table, const struct keyed_limit limits[], const int first[], weir_ask *asks,
                          size_t count, weir_instant now, const struct keyed_lent *lent, uint32_t *events)
{
    struct part part[KEYED_LIMITS_MAX], *charged[KEYED_LIMITS_MAX], *refused = NULL;
    struct slots_group group[WEIR_ASKS_MAX];
    struct table_answer answer = {0};
    struct slots_together call = {.table = table,
                                  .moment = slots_moment_of(table, &(struct ask){.now_ns = now.ns}),
                                  .group = group,
                                  .count = count,
                                  .events = events,
                                  .charged = charged};
    keyed_keep_rested(table, call.moment.now_ns);
    begin_together(&call, part, limits, first);
    leave_spare(&call, lent);
    bool taken = charge_at_once(&call);
    for (int tries = 0; !taken && look_together(&call) && tries < TRIES_MAX; tries++) {
        refused = charge_together(&call);
        taken = refused == NULL;
        if (!taken) answer = refused->answer;
    }
    say_together(&call, asks, now, taken);
    if (!taken) say_refuser(&call, asks, refused, &answer);
    return taken;
}

/* ---- one limit, now or not at all: the cases that the fast path does not handle ---- */

void keyed_slots_refuse(const weir_table *table, const struct keyed_limit *limit, uint64_t now_ns, uint64_t drained,
                        weir_decision *decision)
{
    const struct slots_moment moment = slots_moment_of(table, &(struct ask){.now_ns = now_ns});
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
    const struct slots_moment moment = slots_moment_of(table, &(struct ask){.now_ns = now_ns});
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
        slots_moment_of(table, &(struct ask){.now_ns = decision->start.ns - decision->delay_ns});
    const int64_t ahead = (int64_t)(decision->end - moment.now);
    if (decision->verdict == WEIR_NEVER || ahead <= 0) return 0;
    return most(slots_ns_until(table, &moment, decision->end), decision->retry_ns);
}
