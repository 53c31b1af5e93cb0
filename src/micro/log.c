/* SPDX-License-Identifier: MIT
   log.c - the time of each permit is kept, in a sorted set: no window of the period ever holds more than the count.

              |<------------ period ------------>|
       ---x-------x-----------x----x-------------|--> now        burst = 4: one more fits;
          `-- gone         `-- burst - n + 1 back                n fit once this is a period old

   As src/core/sliding_log.c, but that nothing is entered ahead of its time: a charge above the count is the count.
   Where the clock goes back entries are made at the newest one's time, so they stay in order.

   No words.  rule: burst = count; period = how long an entry counts (edge=closed: a us longer), gap.

   May touch: what the log is to do (drop, add); calls its `stamp`.  Promises: looks at some stamps, not at all; when it
   enters one, what is out of sight goes.  Leaves to others: the set. */
#include "micro/kinds.h"

/* The entries as they will be. */
static uint64_t kept(const struct micro_log *log)
{
    return log->size - log->drop + log->add;
}

/* back: 1 is the newest, up to what is kept. */
static uint64_t stamp(struct micro_log *log, uint64_t back)
{
    if (back <= log->add) return log->add_at;
    const uint64_t index = kept(log) - back;
    return least(log->stamp(log, index < log->drop_from ? index : index + log->drop), MICRO_MOST);
}

static uint64_t newest(struct micro_log *log)
{
    return kept(log) == 0 ? 0 : stamp(log, 1);
}

/* Entries later than this, as are all that are to be entered, where the oldest are those that go. */
static uint64_t later_than(struct micro_log *log, uint64_t time)
{
    if (log->until != NULL) return kept(log) - subtract_to_zero(log->until(log, time), log->drop);
    uint64_t later = 0, not_later = kept(log) + 1;
    while (later + 1 < not_later) {
        const uint64_t middle = later + (not_later - later) / 2;
        if (stamp(log, middle) > time) later = middle;
        else not_later = middle;
    }
    return later;
}

static uint64_t in_sight(const struct one *one, uint64_t now)
{
    return now < one->rule->period ? kept(one->log) : later_than(one->log, now - one->rule->period);
}

static uint64_t passes_at(const struct one *one, uint64_t permits)
{
    const uint64_t back = one->rule->burst - permits + 1;
    const uint64_t fits = back <= kept(one->log) ? stamp(one->log, back) + one->rule->period : 0;
    const bool gap = one->rule->gap != 0 && permits != 0 && kept(one->log) != 0;
    return gap ? most(fits, newest(one->log) + one->rule->gap) : fits;
}

static void enter(const struct one *one, uint64_t now, uint64_t permits)
{
    struct micro_log *log = one->log;
    const uint64_t at = most(now, newest(log)), add = least(permits, one->rule->burst);
    const uint64_t stale = log->size - in_sight(one, at);
    log->drop = most(stale, subtract_to_zero(log->size + add, one->rule->burst));
    log->drop_from = 0;
    log->add = add;
    log->add_at = at;
}

static bool adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    (void)rule;
    (void)now;
    cell->words = 0;
    return false;
}

static struct micro_offer offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    (void)wait;
    if (cost > one->rule->burst) return offer_after(MICRO_FOREVER);
    return offer_after(subtract_to_zero(passes_at(one, cost), now));
}

static void refuse(const struct one *one, uint64_t now, uint64_t cost)
{
    if (cost != 0) enter(one, now, cost);
}

/* With a gap one call passes, and whoever asks for as many as pass means calls. */
static uint64_t room(const struct one *one, uint64_t now)
{
    const uint64_t room = subtract_to_zero(one->rule->burst, in_sight(one, now));
    if (one->rule->gap == 0 || kept(one->log) == 0) return one->rule->gap == 0 ? room : least(room, 1);
    return newest(one->log) + one->rule->gap > now ? 0 : least(room, 1);
}

static uint64_t full(const struct one *one, uint64_t now)
{
    if (kept(one->log) == 0) return 0;
    return subtract_to_zero(newest(one->log) + most(one->rule->period, one->rule->gap), now);
}

static void give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    (void)now;
    const uint64_t newer = later_than(one->log, taken);
    const uint64_t since = taken == 0 ? kept(one->log) : later_than(one->log, taken - 1);
    const uint64_t drop = least(least(unused, charged), since - newer);
    one->log->drop_from = one->log->size - newer - drop;
    one->log->drop = drop;
}

const struct kind *log_kind(void)
{
    static const struct kind log = {adapt, offer, enter, refuse, room, full, NULL, enter, give_back};
    return &log;
}
