/* SPDX-License-Identifier: MIT
   At most so many at once.  Each that runs holds a slot until it is released, or until its lease is over.

       slot 0  |=========|                       taken at one end, released before the other
       slot 1      |===================|         not released: free again when the lease is over
       slot 2         |=======R===================|        R: renewed, for a whole lease from then on
       ---------------------------------|--> now           one of three is held

   A slot is a position like any other state here, the time at which it is free: it is held while that lies ahead.  So
   nothing has to be done when a holder dies, and nothing is counted that could be counted wrongly.  Slots are taken
   from the first on, and those behind the last that was ever used are not even read: what a call costs is the number
   that ran at once, not the number that may.

   All slots of one call have one id.  It is the time at which they were taken, moved on where another call has that
   time: no id comes twice, not even when the state was forgotten meanwhile, since a state is not forgotten before the
   time of its last id is over.  Its lowest bits are left to those who share the state, to say who holds the slot
   (see concurrent_own).  0 is nobody's id.

       state    | used | last id | peak, lost | lost until | end, id | end, id | ...

   A change to fewer slots leaves some running that have lost theirs: nobody knows when they release.  Until the last of
   them is over, all together are no more than the largest count since: 5 run, 2 may, and 5 may again.

   Form: cell; two words for a slot.  Peers: Redisson's RPermitExpirableSemaphore, resilience4j's Bulkhead.
   At no time are more than count slots held. */
#include "core/algorithm/concurrent.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { CONCURRENT_MAX = 65536 };
enum { SLOTS_USED, SLOTS_LAST_ID, SLOTS_LOST, SLOTS_LOST_UNTIL, SLOTS };
enum { SLOT_END, SLOT_ID, SLOT_WORDS };

static const uint64_t ID_STEP = (uint64_t)CONCURRENT_OWNERS + 1, OWNER_MASK = CONCURRENT_OWNERS;

static struct limit_problem concurrent_compile(struct limit *limit, struct rule *rule)
{
    limit_plain_clock(rule);
    if (!limit->has_time) {
        return limit_wrong(OPTION_RATE, "how long may one run that never says it ended? "
                                        "write lease=TIME; for example 20 concurrent lease=30s");
    }
    if (limit->count.places != 0 || limit->count.digits > CONCURRENT_MAX)
        return limit_wrong(OPTION_RATE, "expected a whole number up to 65536; for example 20 concurrent lease=30s");
    if (limit->time_ns == 0 || limit->time_ns > INT64_MAX) return limit_out_of_range(OPTION_LEASE);
    limit->period_ns = limit->time_ns;
    rule->burst = limit->count.digits;
    rule->period_ns = limit->time_ns;
    return limit_fine();
}

uint64_t concurrent_words(const struct rule *rule)
{
    return least(rule->burst, CONCURRENT_MAX) * SLOT_WORDS;
}

/* ---- asking ---- */

static uint64_t slots_used(const struct rule *rule, const uint64_t *state)
{
    return least(state[SLOTS_USED], least(rule->burst, CONCURRENT_MAX));
}

/* How many may be held beside those that have lost their slots, of which there are `lost` of at most `peak` in all. */
static uint64_t slots_most(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    const uint64_t lost = state[SLOTS_LOST] & UINT32_MAX, peak = state[SLOTS_LOST] >> 32;
    if (ns >= state[SLOTS_LOST_UNTIL]) return rule->burst;
    return least(rule->burst, subtract_to_zero(most(peak, rule->burst), lost));
}

/* How many slots are held at this time, and the first end after it; UINT64_MAX: none. */
struct held {
    uint64_t slots, next_end;
};

static inline struct held slots_held(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    const uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    struct held held = {0, slots_most(rule, state, ns) < rule->burst ? state[SLOTS_LOST_UNTIL] : UINT64_MAX};
    for (; slot < end; slot += SLOT_WORDS) {
        held.slots += slot[SLOT_END] > ns;
        held.next_end = slot[SLOT_END] > ns ? least(held.next_end, slot[SLOT_END]) : held.next_end;
    }
    return held;
}

static uint64_t slots_free(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    return subtract_to_zero(slots_most(rule, state, ns), slots_held(rule, state, ns).slots);
}

static uint64_t slots_last_end(const struct rule *rule, const uint64_t *state)
{
    const uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    uint64_t last = state[SLOTS_LOST_UNTIL];
    for (; slot < end; slot += SLOT_WORDS) last = most(last, slot[SLOT_END]);
    return last;
}

/* From when on so many are free and no more than so many held, if nobody releases or renews before: a time after
   before_ns, which is no later than the last end, found by halves. */
static uint64_t slots_from(const struct rule *rule, const uint64_t *state, uint64_t before_ns, uint64_t free,
                           uint64_t held_max)
{
    uint64_t at = slots_last_end(rule, state);
    while (at - before_ns > 1) {
        const uint64_t middle = before_ns + (at - before_ns) / 2, held = slots_held(rule, state, middle).slots;
        const bool fits = held <= held_max && subtract_to_zero(slots_most(rule, state, middle), held) >= free;
        at = fits ? middle : at;
        before_ns = fits ? before_ns : middle;
    }
    return at;
}

/* The usual case is that of one more, which is free at the next end. */
static uint64_t slots_free_from(const struct rule *rule, const uint64_t *state, uint64_t next_end, uint64_t wanted)
{
    if (slots_free(rule, state, next_end) >= wanted) return next_end;
    return slots_from(rule, state, next_end, wanted, UINT64_MAX);
}

static struct offer concurrent_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                     uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    const uint64_t ns = plain_ns(rule, now);
    const struct held held = slots_held(rule, state, ns);
    if (subtract_to_zero(slots_most(rule, state, ns), held.slots) >= cost) return (struct offer){now, now};
    const uint64_t at = plain_tick(rule, slots_free_from(rule, state, held.next_end, cost));
    return (struct offer){at, at};
}

static struct balance concurrent_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return (struct balance){slots_free(rule, state, plain_ns(rule, now)), 0, false};
}

/* ---- taking ---- */

uint64_t concurrent_last_id(const uint64_t *state)
{
    return state[SLOTS_LAST_ID];
}

bool concurrent_is_last(const uint64_t *state, uint64_t id)
{
    return state[SLOTS_LAST_ID] == (id & ~OWNER_MASK);
}

static uint64_t slots_next_id(const uint64_t *state, uint64_t ns)
{
    const uint64_t last = state[SLOTS_LAST_ID] >> CONCURRENT_OWNER_BITS;
    return most(ns >> CONCURRENT_OWNER_BITS, last + 1) << CONCURRENT_OWNER_BITS;
}

/* Puts so many slots into use that are free, and returns how many it found. */
static uint64_t slots_take(const struct rule *rule, uint64_t *state, uint64_t ns, uint64_t wanted, uint64_t id,
                           uint64_t until_ns)
{
    const uint64_t all = concurrent_words(rule) / SLOT_WORDS, used = slots_used(rule, state);
    uint64_t taken = 0, at = 0;
    for (; at < all && taken < wanted; at++) {
        uint64_t *slot = state + SLOTS + at * SLOT_WORDS;
        if (at < used && slot[SLOT_END] > ns) continue;
        slot[SLOT_END] = until_ns;
        slot[SLOT_ID] = id;
        taken++;
    }
    state[SLOTS_USED] = most(used, at);
    return taken;
}

/* So many of those that are free are held from now on, until a lease after the start. */
static struct taken take_of(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost, uint64_t free)
{
    const uint64_t ns = plain_ns(rule, when.from), start_ns = plain_ns(rule, when.start);
    if (cost == 0) return (struct taken){0, free};
    const uint64_t id = state[SLOTS_LAST_ID] = slots_next_id(state, ns);
    slots_take(rule, state, ns, cost, id, add_saturating(start_ns, rule->period_ns));
    return (struct taken){id, free - cost};
}

static struct taken concurrent_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const uint64_t free = slots_free(rule, state, plain_ns(rule, when.from));
    return take_of(rule, state, when, least(cost, free), free);
}

/* One slot, by one look at each: the first of those that are free. */
static bool concurrent_pass(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost, struct taken *taken)
{
    const uint64_t ns = plain_ns(rule, now), used = slots_used(rule, state);
    uint64_t *slots = state + SLOTS, held = 0, at = used;
    if (cost != 1) return false;
    for (uint64_t i = used; i-- > 0;) {
        const bool free = slots[i * SLOT_WORDS + SLOT_END] <= ns;
        held += !free;
        at = free ? i : at;
    }
    const uint64_t free = subtract_to_zero(slots_most(rule, state, ns), held);
    if (free == 0 || at >= CONCURRENT_MAX) return false;
    const uint64_t id = state[SLOTS_LAST_ID] = slots_next_id(state, ns);
    state[SLOTS_USED] = most(used, at + 1);
    slots[at * SLOT_WORDS + SLOT_END] = add_saturating(ns, rule->period_ns);
    slots[at * SLOT_WORDS + SLOT_ID] = id;
    *taken = (struct taken){id, free - 1};
    return true;
}

static uint64_t concurrent_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    if (decision->remaining >= rule->burst) return now;
    return add_saturating(most(now, plain_tick(rule, decision->start.ns)), rule->period_ns);
}

static uint64_t concurrent_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t last_id = state[SLOTS_LAST_ID], next_id = last_id != 0 ? add_saturating(last_id, ID_STEP) : 0;
    return most(plain_tick(rule, most(slots_last_end(rule, state), next_id)), now);
}

/* ---- holding ---- */

/* What is free behind the last slot in use is not read any more. */
static void slots_trim(const struct rule *rule, uint64_t *state)
{
    uint64_t used = slots_used(rule, state);
    while (used != 0 && state[SLOTS + (used - 1) * SLOT_WORDS + SLOT_END] == 0) used--;
    state[SLOTS_USED] = used;
}

uint64_t concurrent_renew(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id)
{
    uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    const uint64_t until_ns = add_saturating(now_ns, rule->period_ns);
    uint64_t count = 0;
    for (; slot < end; slot += SLOT_WORDS) {
        if (slot[SLOT_ID] != id || slot[SLOT_END] <= now_ns) continue;
        slot[SLOT_END] = most(slot[SLOT_END], until_ns); /* it may not even have started */
        count++;
    }
    return count;
}

/* Gives each slot that is held under this id another end, up to so many of them. */
static uint64_t slots_end(const struct rule *rule, uint64_t *state, uint64_t ns, uint64_t id, uint64_t until_ns,
                          uint64_t count_max)
{
    uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    uint64_t count = 0;
    for (; slot < end && count < count_max; slot += SLOT_WORDS) {
        if (slot[SLOT_ID] != id || slot[SLOT_END] <= ns) continue;
        slot[SLOT_END] = until_ns;
        count++;
    }
    if (count != 0) slots_trim(rule, state);
    return count;
}

uint64_t concurrent_until(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id, uint64_t until_ns)
{
    return slots_end(rule, state, now_ns, id, until_ns, UINT64_MAX);
}

uint64_t concurrent_release(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id)
{
    return slots_end(rule, state, now_ns, id, 0, UINT64_MAX);
}

static void concurrent_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                                 uint64_t unused)
{
    if (!slot->guessed) slots_end(rule, state, plain_ns(rule, now), slot->end, 0, unused);
}

/* ---- owners ---- */

void concurrent_rename(const struct rule *rule, uint64_t *state, uint64_t id, uint64_t to)
{
    uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    for (; slot < end; slot += SLOT_WORDS) slot[SLOT_ID] = slot[SLOT_ID] == id ? to : slot[SLOT_ID];
}

uint64_t concurrent_own(const struct rule *rule, uint64_t *state, uint64_t id, uint64_t owner)
{
    const uint64_t owned = id | (owner & OWNER_MASK);
    if (id == 0) return 0;
    concurrent_rename(rule, state, id, owned);
    return owned;
}

uint64_t concurrent_disown(const struct rule *rule, uint64_t *state, uint64_t now_ns,
                           bool (*lives)(void *context, uint64_t owner), void *context)
{
    uint64_t *slot = state + SLOTS, *const end = slot + slots_used(rule, state) * SLOT_WORDS;
    uint64_t freed = 0, known = 0, dead = 0; /* the owner that was asked about last, and if it is dead */
    for (; slot < end; slot += SLOT_WORDS) {
        const uint64_t owner = slot[SLOT_ID] & OWNER_MASK;
        if (slot[SLOT_END] <= now_ns || owner == 0) continue;
        if (owner != known) dead = lives(context, owner) ? 0 : 1;
        known = owner;
        freed += dead;
        if (dead) slot[SLOT_END] = 0;
    }
    if (freed != 0) slots_trim(rule, state);
    return freed;
}

/* ---- changing the limit ---- */

/* Puts those that end after after_ns, or `at` it, behind the slots that are used already, as long as there are any. */
static void slots_copy(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                       uint64_t after_ns, bool at)
{
    const uint64_t *slot = state + SLOTS, *const end = slot + slots_used(from, state) * SLOT_WORDS;
    const uint64_t all = concurrent_words(to) / SLOT_WORDS;
    uint64_t used = slots_used(to, next);
    for (; slot < end && used < all; slot += SLOT_WORDS) {
        if (at ? slot[SLOT_END] != after_ns : slot[SLOT_END] <= after_ns) continue;
        memcpy(next + SLOTS + used++ * SLOT_WORDS, slot, SLOT_WORDS * sizeof *slot);
    }
    next[SLOTS_USED] = used;
}

/* Those that end last stay, as many as there are slots for; the others lose theirs. */
static void concurrent_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                             uint64_t now, weir_carry how)
{
    const uint64_t ns = plain_ns(from, now), held = slots_held(from, state, ns).slots;
    const uint64_t room = concurrent_words(to) / SLOT_WORDS, more = subtract_to_zero(held, room);
    next[SLOTS_LAST_ID] = state[SLOTS_LAST_ID];
    if (how == WEIR_RESET) return;
    const uint64_t after_ns = more != 0 ? slots_from(from, state, ns, 0, room) : ns;
    slots_copy(from, to, state, next, after_ns, false);
    if (more != 0) slots_copy(from, to, state, next, after_ns, true);
    const bool lost = ns < state[SLOTS_LOST_UNTIL];
    if (more == 0 && !lost) return;
    const uint64_t before = lost ? state[SLOTS_LOST] : 0, peak = most(before >> 32, least(from->burst, CONCURRENT_MAX));
    next[SLOTS_LOST] = least((before & UINT32_MAX) + more, UINT32_MAX) | peak << 32;
    next[SLOTS_LOST_UNTIL] = most(state[SLOTS_LOST_UNTIL], after_ns);
}

static void concurrent_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    facts->group = rule->burst;
    facts->spacing_ns = facts->full_ns = limit->time_ns;
}

/* Whatever is released may be taken again. */
static uint64_t concurrent_most_in(const struct limit *limit, uint64_t window_ns)
{
    return window_ns == 0 ? limit->count.digits : UINT64_MAX;
}

const struct algorithm *concurrent_algorithm(void)
{
    static const struct algorithm concurrent = {
        .name = "concurrent",
        .options = WITH(LEASE),
        .words = SLOTS,
        .grows = GROWS_SLOTS,
        ALGORITHM_ANSWERS(concurrent),
        .facts = concurrent_facts,
        .full = concurrent_full,
        .pass = concurrent_pass,
    };
    return &concurrent;
}
