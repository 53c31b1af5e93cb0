/* SPDX-License-Identifier: MIT
   When each call was, and of how many permits: no window of the period ever holds more than the count.

              |<------------ period ------------>|
       ---x-------x-----------x----x-------------|--> now        burst = 4: one more fits;
          `-- gone         `-- burst - n + 1 back                n fit once this is a period old

   The simplest log has an entry for each permit; then a call of cost 100000 makes 100000 entries, and whoever may say
   the cost stops the engine.  So a call is one entry whatever it costs, calls of one us are one, and an entry says how
   many permits there were *up to it*: how many are later than a time, and which call has the n-th permit, is found by
   halves.  What is out of sight goes by a step of `first` and of `gone`, however much it is.

       the cell   newest | sum | gone | slots | first | count | 0                     the newest entry is in the cell
       the ring   | t4 s4 | t5 s5 |       | t1 s1 | t2 s2 | t3 s3 |     12 bytes each, least byte first
                                            ^ first of the count; it gets slots as it needs them, twice as many

   Sums are counted modulo 2^32: only differences are used, and those are up to the count.  The price is that permits
   which are given back are subtracted from all later entries.  So a settle reaches back over MICRO_LOG_REACH entries,
   shared by the logs of a text; of a call that is further back nothing is given back: then fewer pass, never more.

   As src/core/algorithm/sliding_log.c, but that nothing is entered ahead of its time: a charge above the count is the
   count. Where the clock goes back entries are made at the newest one's time, so they stay in order.

   rule: burst = count; period = how long an entry counts (edge=closed: a us longer), gap; debt = how far back a settle
   reaches.

   Looks at micro_log_steps() entries at most in a verb, whatever the value and the cost; total. */
#include <string.h>

#include "redis/micro/kinds.h"

enum { TIME_BYTES = 8, SUM_BYTES = 4, SLOTS_MORE = 4, SLOTS_MAX = MICRO_LOG_MAX + 1, BYTE_BITS = 8, BYTE_MASK = 255 };
#define SUM_MASK UINT64_C(0xffffffff)

struct entry {
    uint64_t time, sum;
};

/* ---- the ring ---- */

static uint64_t slot_of(const struct micro_cell *cell, uint64_t index)
{
    const uint64_t slot = cell->word[LOG_FIRST] + index;
    return slot >= cell->word[LOG_SLOTS] ? slot - cell->word[LOG_SLOTS] : slot;
}

/* Without a loop, which compilers make one load. */
static uint64_t read_sum(const unsigned char *bytes)
{
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24;
}

static uint64_t read_time(const unsigned char *bytes)
{
    return read_sum(bytes) | read_sum(bytes + SUM_BYTES) << 32;
}

static void write_bytes(unsigned char *bytes, unsigned size, uint64_t number)
{
    for (; size-- > 0; number >>= BYTE_BITS) *bytes++ = (unsigned char)(number & BYTE_MASK);
}

static struct entry read_slot(const unsigned char *ring, uint64_t slot)
{
    const unsigned char *at = ring + slot * MICRO_LOG_ENTRY;
    return (struct entry){least(read_time(at), MICRO_MOST), read_sum(at + TIME_BYTES)};
}

static void write_slot(unsigned char *ring, uint64_t slot, struct entry entry)
{
    unsigned char *at = ring + slot * MICRO_LOG_ENTRY;
    write_bytes(at, TIME_BYTES, entry.time);
    write_bytes(at + TIME_BYTES, SUM_BYTES, entry.sum & SUM_MASK);
}

/* By its place in the ring, the oldest is 0; as it will be. */
static struct entry entry_at(const struct one *one, uint64_t index)
{
    struct micro_log *log = one->log;
    log->steps++;
    if (log->pushes && index == one->cell->word[LOG_COUNT] - 1) return (struct entry){log->time, log->sum};
    const bool moved = log->gives && index >= log->from;
    struct entry entry = read_slot(log->ring, slot_of(one->cell, index + (moved && log->removes)));
    if (moved) entry.sum = (entry.sum - log->sum) & SUM_MASK;
    return entry;
}

bool log_is_sound(const struct micro_cell *cell, size_t ring_size)
{
    const uint64_t *word = cell->word, slots = word[LOG_SLOTS], first = word[LOG_FIRST], count = word[LOG_COUNT];
    if (word[LOG_SUM] > SUM_MASK || word[LOG_GONE] > SUM_MASK || slots > SLOTS_MAX || count > slots) return false;
    if (slots != 0 ? first >= slots : first != 0) return false;
    return ring_size % MICRO_LOG_ENTRY == 0 && ring_size / MICRO_LOG_ENTRY >= least(first + count, slots) &&
           ring_size / MICRO_LOG_ENTRY <= slots;
}

/* ---- looking ---- */

static uint64_t permits_since(const struct one *one, uint64_t sum)
{
    return (one->cell->word[LOG_SUM] - sum) & SUM_MASK;
}

/* Of one without words they are all 0, or it was given back what it had: nothing. */
static uint64_t kept(const struct one *one)
{
    return permits_since(one, one->cell->word[LOG_GONE]);
}

static uint64_t newest(const struct one *one)
{
    return kept(one) == 0 ? 0 : one->cell->word[LOG_NEWEST];
}

typedef bool condition(const struct one *, struct entry, uint64_t of);

static bool is_later(const struct one *one, struct entry entry, uint64_t time)
{
    (void)one;
    return entry.time > time;
}

static bool has_more(const struct one *one, struct entry entry, uint64_t permits)
{
    return ((entry.sum - one->cell->word[LOG_GONE]) & SUM_MASK) > permits;
}

/* The first in the ring for which it holds, as for all behind it; the count if there is none.  Mostly it is one of the
   oldest, so steps grow from there. */
static uint64_t first(const struct one *one, condition *holds, uint64_t of)
{
    const uint64_t count = one->cell->word[LOG_COUNT];
    uint64_t low = 0, high = 0;
    for (uint64_t step = 1; high < count && !holds(one, entry_at(one, high), of); step *= 2) {
        low = high + 1;
        high += step;
    }
    high = least(high, count);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (holds(one, entry_at(one, middle), of)) high = middle;
        else low = middle + 1;
    }
    return low;
}

static uint64_t sum_before(const struct one *one, uint64_t index)
{
    return index == 0 ? one->cell->word[LOG_GONE] : entry_at(one, index - 1).sum;
}

static uint64_t in_sight(const struct one *one, uint64_t now)
{
    if (now < one->rule->period) return kept(one);
    const uint64_t out = now - one->rule->period;
    if (newest(one) <= out) return 0;
    return permits_since(one, sum_before(one, first(one, is_later, out)));
}

/* The time of the permit that is so far back: 1 is the newest, up to what is kept. */
static uint64_t stamp(const struct one *one, uint64_t back)
{
    const uint64_t index = first(one, has_more, kept(one) - back);
    return index == one->cell->word[LOG_COUNT] ? newest(one) : entry_at(one, index).time;
}

static uint64_t passes_at(const struct one *one, uint64_t permits)
{
    const uint64_t back = one->rule->burst - permits + 1;
    const uint64_t fits = back <= kept(one) ? stamp(one, back) + one->rule->period : 0;
    const bool gap = one->rule->gap != 0 && permits != 0 && kept(one) != 0;
    return gap ? most(fits, newest(one) + one->rule->gap) : fits;
}

/* ---- entering ---- */

static void empty(struct micro_cell *cell)
{
    if (cell->words == 0) *cell = (struct micro_cell){.kind = MICRO_LOG, .words = LOG_WORDS};
    cell->word[LOG_SUM] = cell->word[LOG_GONE] = cell->word[LOG_FIRST] = cell->word[LOG_COUNT] = 0;
}

/* Of the oldest, fewer than are kept. */
static void forget_oldest(const struct one *one, uint64_t permits)
{
    uint64_t *word = one->cell->word;
    const uint64_t gone = permits == 0 ? 0 : first(one, has_more, permits);
    word[LOG_GONE] = (word[LOG_GONE] + permits) & SUM_MASK;
    word[LOG_FIRST] = gone == word[LOG_COUNT] ? 0 : slot_of(one->cell, gone);
    word[LOG_COUNT] = least(word[LOG_COUNT] - gone, one->rule->burst); /* only a damaged one has more */
}

static void enter(const struct one *one, uint64_t now, uint64_t permits)
{
    uint64_t *word = one->cell->word;
    const uint64_t at = most(now, newest(one)), add = least(permits, one->rule->burst), before = kept(one);
    const uint64_t stale = subtract_to_zero(before, in_sight(one, at));
    const uint64_t drop = most(stale, subtract_to_zero(before + add, one->rule->burst));
    if (drop >= before) empty(one->cell);
    else forget_oldest(one, drop);
    if (drop < before && word[LOG_NEWEST] != at) {
        one->log->pushes = true;
        one->log->time = word[LOG_NEWEST];
        one->log->sum = word[LOG_SUM];
        word[LOG_COUNT]++;
    }
    word[LOG_NEWEST] = at;
    word[LOG_SUM] = (word[LOG_SUM] + add) & SUM_MASK;
}

/* ---- giving back ---- */

static void give_newest(const struct one *one, uint64_t permits, bool all)
{
    uint64_t *word = one->cell->word;
    word[LOG_SUM] = (word[LOG_SUM] - permits) & SUM_MASK;
    if (!all) return;
    if (word[LOG_COUNT] == 0) {
        one->cell->words = 0;
        return;
    }
    word[LOG_NEWEST] = entry_at(one, word[LOG_COUNT] - 1).time;
    word[LOG_COUNT]--;
}

static void give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    uint64_t *word = one->cell->word;
    (void)now;
    if (kept(one) == 0 || taken > word[LOG_NEWEST]) return;
    const uint64_t count = word[LOG_COUNT], index = taken == 0 ? 0 : first(one, is_later, taken - 1);
    const struct entry entry = index == count ? (struct entry){word[LOG_NEWEST], word[LOG_SUM]} : entry_at(one, index);
    if (entry.time != taken || count - index > one->rule->debt) return;
    const uint64_t there = (entry.sum - sum_before(one, index)) & SUM_MASK;
    const uint64_t permits = least(least(unused, charged), there);
    if (index == count) {
        give_newest(one, permits, permits == there);
        return;
    }
    one->log->gives = permits != 0;
    one->log->removes = permits == there;
    one->log->from = index;
    one->log->sum = permits;
    word[LOG_SUM] = (word[LOG_SUM] - permits) & SUM_MASK;
    word[LOG_COUNT] -= permits == there;
}

/* ---- what it answers ---- */

static bool adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    (void)rule;
    (void)now;
    cell->word[LOG_NEWEST] = least(cell->word[LOG_NEWEST], MICRO_MOST);
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
    if (one->rule->gap == 0 || kept(one) == 0) return one->rule->gap == 0 ? room : least(room, 1);
    return newest(one) + one->rule->gap > now ? 0 : least(room, 1);
}

static uint64_t full(const struct one *one, uint64_t now)
{
    if (kept(one) == 0) return 0;
    return subtract_to_zero(newest(one) + most(one->rule->period, one->rule->gap), now);
}

const struct kind *log_kind(void)
{
    static const struct kind log = {adapt, offer, enter, refuse, room, full, NULL, enter, give_back};
    return &log;
}

/* A search looks at as many as there are bits in the count, twice: steps that grow, then halves.  A counted refusal is
   five of them; what is given back two, and what is written. */
uint64_t micro_log_steps(const struct micro_rule *rule)
{
    uint64_t bits = 0;
    for (uint64_t rest = rule->burst; rest != 0; rest /= 2) bits++;
    const uint64_t search = 2 * bits + 1;
    return most(5 * search, 2 * search + 2 + least(rule->debt, rule->burst));
}

/* ---- writing ---- */

void micro_log_open(struct micro_log *log, const struct micro_state *state, const void *bytes)
{
    const bool is_log = state->count == 1 && state->cell[0].kind == MICRO_LOG && state->cell[0].words != 0;
    *log = (struct micro_log){.ring = is_log ? (const unsigned char *)bytes + MICRO_LOG_RING : NULL};
}

/* The shorter part is moved, so that what is free lies between the newest and the oldest. */
static void add_slots(struct micro_cell *cell, struct micro_log *log)
{
    const uint64_t slots = cell->word[LOG_SLOTS], before = cell->word[LOG_FIRST], behind = slots - before;
    const uint64_t more = least(2 * slots + SLOTS_MORE, SLOTS_MAX);
    cell->word[LOG_SLOTS] = more;
    if (before == 0) return;
    const bool to_end = before <= behind && before <= more - slots;
    log->move_from = to_end ? 0 : before;
    log->move_to = to_end ? slots : more - behind;
    log->moves = to_end ? before : behind;
    if (!to_end) cell->word[LOG_FIRST] = more - behind;
}

size_t micro_log_place(struct micro_cell *cell, struct micro_log *log, size_t size)
{
    if (cell->word[LOG_COUNT] > cell->word[LOG_SLOTS]) add_slots(cell, log);
    uint64_t used = log->moves == 0 ? 0 : log->move_to + log->moves;
    if (log->pushes) used = most(used, slot_of(cell, cell->word[LOG_COUNT] - 1) + 1);
    return (size_t)most(size, MICRO_LOG_RING + used * MICRO_LOG_ENTRY);
}

static unsigned add_range(struct micro_range range[], unsigned ranges, uint64_t slot, uint64_t slots)
{
    if (slots == 0) return ranges;
    range[ranges].at = (size_t)(MICRO_LOG_RING + slot * MICRO_LOG_ENTRY);
    range[ranges].size = (size_t)(slots * MICRO_LOG_ENTRY);
    return ranges + 1;
}

static unsigned write_given(const struct micro_cell *cell, struct micro_log *log, unsigned char *ring,
                            struct micro_range range[], unsigned ranges)
{
    const uint64_t count = cell->word[LOG_COUNT] - log->from, slot = slot_of(cell, log->from);
    const uint64_t to_end = least(count, cell->word[LOG_SLOTS] - slot);
    for (uint64_t index = log->from; index < cell->word[LOG_COUNT]; index++) {
        struct entry entry = read_slot(ring, slot_of(cell, index + log->removes));
        entry.sum -= log->sum;
        write_slot(ring, slot_of(cell, index), entry);
        log->steps++;
    }
    ranges = add_range(range, ranges, slot, to_end);
    return add_range(range, ranges, 0, count - to_end);
}

unsigned micro_log_write(const struct micro_state *state, struct micro_log *log, void *bytes,
                         struct micro_range range[MICRO_LOG_RANGES])
{
    const struct micro_cell *cell = &state->cell[0];
    unsigned char *ring = (unsigned char *)bytes + MICRO_LOG_RING;
    unsigned ranges = 0;
    memmove(ring + log->move_to * MICRO_LOG_ENTRY, ring + log->move_from * MICRO_LOG_ENTRY,
            log->moves * MICRO_LOG_ENTRY);
    ranges = add_range(range, ranges, log->move_to, log->moves);
    if (log->pushes) {
        const uint64_t slot = slot_of(cell, cell->word[LOG_COUNT] - 1);
        write_slot(ring, slot, (struct entry){log->time, log->sum});
        ranges = add_range(range, ranges, slot, 1);
    }
    if (log->gives) ranges = write_given(cell, log, ring, range, ranges);
    range[ranges].at = 0;
    range[ranges].size = micro_write(state, bytes);
    return ranges + 1;
}

size_t micro_log_make(const uint64_t time[], const uint64_t sum[], unsigned count, void *bytes)
{
    struct micro_state state = {.count = 1, .cell = {{.kind = MICRO_LOG}}};
    uint64_t *word = state.cell[0].word, slots = 0;
    empty(&state.cell[0]);
    for (unsigned i = 0; i < count; i++) {
        const struct entry newest = {word[LOG_NEWEST], word[LOG_SUM]};
        if (i != 0 && time[i] != newest.time) write_slot((unsigned char *)bytes + MICRO_LOG_RING, slots++, newest);
        word[LOG_NEWEST] = time[i];
        word[LOG_SUM] = sum[i] & SUM_MASK;
    }
    word[LOG_SLOTS] = word[LOG_COUNT] = slots;
    return micro_write(&state, bytes) + (size_t)slots * MICRO_LOG_ENTRY;
}
