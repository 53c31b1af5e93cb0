/* SPDX-License-Identifier: MIT
   A time for each key, in fixed memory, for any number of threads and processes without a lock.

   The plain way is a hash map from key to the time at which the key has drained.  It grows with every key that ever
   came.  But a time that has passed says the same as no entry: such a slot may be given to another key, and nothing is
   forgotten.  So the memory is fixed: buckets of four slots, two buckets for a key, and a new key takes an idle slot in
   the emptier one.

   A slot is two words, the owner and the time, and a thread that changes them may die between the two.

       owner  | tag 48 | tentative 1 | version 15 |        time  | version 7 | displaced 1 | drained 56 |

       charge   owner is my tag;  time has its version;               swap time  (v, x) -> (v, x + cost)
       free     (idle, or the rule for full buckets says so)          swap time  (v, x) -> (v + 1, x)
       claim    time is one ahead of owner, so no key owns the slot;  swap owner (old, v) -> (tag, tentative, v + 1)
       commit   no other slot is this tag's;                          swap owner (tag, tentative) -> (tag)

   * Freeing is one swap of the time, and that swap decides: all charges in flight fail, and a charge that succeeds
     proves that the slot was its key's, because the owner changes only when the time is ahead of it.  A thread that
     dies after it leaves a free slot; one that dies after claiming leaves a tentative one, which becomes idle like any
     other and is taken like it.  So there is nothing to repair.  ("See that it is idle, then swap the tag" loses what
     is charged in between.)
   * A time that returns to exactly the same word would deceive a swap (ABA).  The times of a slot only grow, except
     when permits are given back, or a key is forgotten or evicted; and then 128 other keys would have to come and go
     during one call.
   * Two threads may insert one key at once.  Each claims a slot tentatively and then looks at all slots: if there is a
     committed one, it steps back; of two tentative ones the lower in order (first bucket first) stays, and kills the
     higher one by freeing it, once the lower owes no less.  The later of two claims sees the earlier, so two cannot
     both be committed and alive.  A commit may come after the slot was freed; then it changes a word that no thread
     believes.  A thread that finds a tentative slot of its key does all this on its behalf, so no thread waits for a
     dead one.
   * Two new keys that want the same last slot may free each other's before either commits.  Each attempt of that takes
     a swap of both; they back off, and after too many attempts a call is refused.  A slot that was taken over live is
     not taken over again before it is committed.

   When all eight slots are live, one of them may have room in its key's other bucket, which its tag and its place tell.
   That key is shifted, and the newcomer takes its place:

       claim    an idle slot in the other bucket, for that key, tentatively     as above
       copy     what the key owes                                               swap time  (w, y) -> (w, x)
       leave    the old slot, nothing charged since x was read                  swap time  (v, x) -> (v + 1, long ago)
       commit   the new one                                                     as above, without a look

   * Leaving decides.  Before it the copy is beside a committed slot and is ignored; after it the copy is the only one,
     and is not taken since it is live.  So at each moment the key has a committed slot, or a tentative one that owes as
     much.  A thread that dies before it leaves a tentative slot that drains; one that dies after it leaves a slot that
     is committed when its key comes.  When leaving fails the copy stays too: another thread may have shifted the same
     key, and of its copy and this one a call for the key may have kept this one.  For the same reason a thread that
     steps back leaves its claimed slot as it is: it cannot tell it from a copy.
   * A thread that reads the eight slots one after the other may read the new place before the claim and the old one
     after the leaving, and see neither.  So a look in which the key has no slot, or only a tentative one, counts only
     if it is steady: all owners are the same again after it.  A thread that sees the old slot left sees the new one
     claimed at the second reading, because the claim came before.
     A look at an earlier area counts only if tentative slots of the key owe the same again, too: nobody reads there
     again before the commit, and the copy may have come into one behind the look at it.
   * Leaving lowers a time, so it is not done where there is a mark (see below).  The place in the other bucket was
     idle, so there a time only rises.

   When nothing can be shifted, the table's rule decides.  INHERIT takes over the slot that drains first, with its debt,
   so no debt is lost; but the displaced key may come back, find an idle slot in its other bucket, and be fresh.  So the
   time that is taken over is marked (displaced).  As long as it is ahead, a key without a slot starts with the debt of
   the slot that drains first in that bucket: all four times there were at least that of the displaced key when it went,
   and none of them may be lowered while the mark is there.  A thread may have looked for a mark before it was made, and
   lower a time after.  So before a marked slot is committed, the other three times are raised, if only by one unit,
   which makes that thread's swap fail; and to at least the debt of the displaced key.

   Areas: a table grows by another area behind the last (area.c: which keys get it).  A key that has no slot in its area
   starts with the debt of its slot in an earlier area, and that slot is freed only when the new one is committed.
   Earlier areas are read from the oldest on, since keys move that way, and before its own is read for the last time, so
   a thread that finds the old slot gone finds the new one.  A thread that has not noticed the new area goes on charging
   the old one.  So after every charge it reads the number of areas, and if there are more than it knows of, the call is
   not admitted.  Its swap and then that read, against the new number and then the other thread's read of the old slot:
   this needs one total order of all four (the calls named full; the other thread's is the fence after its claim).

   A stranger, a key that was not called since it got another area, gives way to a newcomer: it is shifted to its own
   area, as above but for the commit.  It may be there already, committed by a thread that died before it freed the old
   slot, or in a part that only its calls know; so the copy stays tentative until its next call settles it.

   Parts: a limit may have an area of its own besides, its part, which other limits' keys do not fill.  A key may then
   be in any of sixteen slots, and everything works as with eight: a new key goes to the newest area if there is room,
   else to its part, is committed when none of the sixteen is committed for it, and displaces only in its part.  Nothing
   moves between the two.  Two tables that are searched one after the other would give it a slot in each: room may
   appear during a search.  A thread that finds before its commit that the table has grown starts again: a thread that
   knows the new area does not look for claims in the previous one, but both look in the part.  For the same reason it
   checks then whether the part has come into use: the part is not searched before a call has found no room elsewhere
   and said so, since most tables are never full.

   Any bytes may be in the memory: nothing that is read is used as a length, or as an index except a tag, and any tag
   gives a place within the area; a time too far ahead to be true counts as past.

   So every key passes at most burst + rate * t, whatever dies or grows, except for what EVICT and ALLOW let go.
   Refusals write nothing (a race may leave a new key a slot without a charge). */
#include "share/table/look.h"
#include "share/table/table.h"

enum { TABLE_BACK_OFF_AFTER = 3, TABLE_BACK_OFF_MAX = 64 };

struct table_call {
    struct table *table;
    const struct table_question *question;
    struct table_answer *answer;
    struct table_homes homes;
    uint64_t tag;
    uint32_t events;
};

/* The decision of a call at a slot that is this far ahead. */
struct verdict {
    bool passes;
    uint64_t charged;
};

/* Frees the slot; its time stays. */
static bool free_slot(struct table_slot *slot, uint64_t time)
{
    return atom_swap_release(&slot->time, &time, table_next_lap(time));
}

/* ---- displaced keys ---- */

/* The most debt that a key displaced from one of its buckets may have.  The times are read after the mark. */
static uint64_t owed_to_displaced(const struct table_look *look, uint64_t now)
{
    uint64_t owed = 0;
    for (int first = 0; first < look->count; first += TABLE_SLOTS) {
        uint64_t in_bucket = UINT64_MAX;
        bool holds = false;
        for (int i = first; i < first + TABLE_SLOTS; i++)
            holds = holds || table_holds_displaced(look->owner[i], look->time[i], now);
        for (int i = first; holds && i < first + TABLE_SLOTS; i++) {
            const uint64_t owner = atom_load(&look->slot[i]->owner);
            in_bucket = least(in_bucket, table_ahead_of(owner, atom_load(&look->slot[i]->time), now));
        }
        if (holds) owed = most(owed, in_bucket);
    }
    return owed;
}

/* Raises the time to this far ahead, and by at least one unit. */
static void raise_slot(struct table_slot *slot, uint64_t now, uint64_t ahead)
{
    uint64_t time = atom_load(&slot->time), raised;
    do raised = table_time(time, now, most(table_ahead(time, now) + 1, ahead));
    while (!atom_swap_release(&slot->time, &time, raised));
}

/* Makes sure that no thread that read before the mark of an uncommitted slot can lower the times beside it. */
static void finish_displacing(const struct table_look *look, uint64_t now)
{
    for (int i = 0; i < look->count; i++) {
        const bool committed = table_owned(look->owner[i], look->time[i]) && !table_is_tentative(look->owner[i]);
        if (committed || !table_holds_displaced(look->owner[i], look->time[i], now)) continue;
        const int first = i / TABLE_SLOTS * TABLE_SLOTS;
        for (int j = first; j < first + TABLE_SLOTS; j++)
            if (j != i) raise_slot(look->slot[j], now, table_ahead(look->time[i], now));
    }
}

/* ---- answers ---- */

void table_outgrown(struct table_slot *slot, uint64_t charged, uint64_t before)
{
    if (charged != before) atom_swap_release(&slot->time, &charged, before);
}

static bool outgrown(const struct table *table)
{
    return atom_load_full(table->newest) > table->count;
}

/* `ahead` is that of the slot. */
static struct verdict decide_at(const struct table_call *call, uint64_t ahead)
{
    const struct table_question *question = call->question;
    const uint64_t from = most(ahead, table_lead(question));
    const uint64_t longest = call->table->longest, burst = question->burst, cost = question->cost;
    if (question->how == TABLE_CHARGE) {
        const uint64_t reach = least(add_saturating(burst, question->debt), longest);
        return (struct verdict){true, least(cost, subtract_to_zero(reach, from))};
    }
    const uint64_t reach = least(add_saturating(burst, question->wait), longest);
    const bool passes = cost <= reach && from <= reach - cost;
    return (struct verdict){passes, passes ? cost : 0};
}

static bool writes(const struct table_call *call, struct verdict verdict)
{
    return verdict.charged != 0 && call->question->how != TABLE_PEEK;
}

/* How far ahead the slot is after the decision. */
static uint64_t ahead_after(const struct table_call *call, struct verdict verdict, uint64_t ahead)
{
    return verdict.passes ? most(ahead, table_lead(call->question)) + verdict.charged : ahead;
}

static void tell(const struct table_call *call, struct verdict verdict, uint64_t ahead)
{
    *call->answer = (struct table_answer){.verdict = verdict.passes ? TABLE_TAKEN : TABLE_REFUSED,
                                          .events = call->events,
                                          .drained = call->question->now + ahead_after(call, verdict, ahead),
                                          .charged = call->question->how == TABLE_PEEK ? 0 : verdict.charged};
    if (outgrown(call->table)) *call->answer = (struct table_answer){TABLE_UNKNOWN, 0, 0, 0};
}

/* For a key that has a slot.  False: it lost the slot, or another thread was faster. */
static bool ask_slot(const struct table_call *call, struct table_slot *slot, uint64_t time)
{
    const uint64_t now = call->question->now, ahead = table_ahead(time, now);
    const struct verdict verdict = decide_at(call, ahead);
    const uint64_t before = time, charged = table_time(time, now, ahead_after(call, verdict, ahead));
    if (writes(call, verdict) && !atom_swap_full(&slot->time, &time, charged)) return false;
    tell(call, verdict, ahead);
    if (call->answer->verdict == TABLE_UNKNOWN) table_outgrown(slot, writes(call, verdict) ? charged : before, before);
    return true;
}

/* ---- a key without a slot ---- */

struct past {
    uint64_t owed;
    struct table_slot *slot[TABLE_AREAS_MAX]; /* its slots in earlier areas, or NULL */
    uint64_t time[TABLE_AREAS_MAX];
    bool found, torn; /* torn: it may have been shifted meanwhile; look again */
};

/* The debt of this key in one earlier area: the largest, if it has several slots. */
static void look_back(const struct table_call *call, unsigned area, struct past *past)
{
    const uint64_t now = call->question->now;
    const struct table_homes home = table_one_home(&call->table->area[area]);
    const struct table_look look = table_look_at(&home, call->question->hash);
    past->torn = past->torn || !table_is_steady(&look) || !table_copies_are_whole(&look, call->tag);
    finish_displacing(&look, now);
    uint64_t owed = 0;
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        if (!table_look_is_own(&look, i, call->tag) || table_ahead(look.time[i], now) <= owed) continue;
        owed = table_ahead(look.time[i], now);
        past->slot[area] = look.slot[i];
        past->time[area] = look.time[i];
        past->found = true;
    }
    past->owed = most(past->owed, most(owed, owed_to_displaced(&look, now)));
}

/* The debt of this key in all areas before its own, from the oldest on. */
static struct past past_of(const struct table_call *call)
{
    struct past past = {0};
    const unsigned own = table_home(call->table, call->tag);
    for (unsigned i = call->table->first; i < own; i++) look_back(call, i, &past);
    return past;
}

static bool is_available(const struct table_look *look, int i, uint64_t now)
{
    return !table_owned(look->owner[i], look->time[i]) || table_ahead_of(look->owner[i], look->time[i], now) == 0;
}

static bool is_claimed(const struct table_look *look, int i)
{
    return table_owned(look->owner[i], look->time[i]) && table_is_tentative(look->owner[i]);
}

/* The preference for taking a slot.  First a slot without an owner; then the one that has been idle for longest, whose
   key is least likely to come back and need another; last one that a thread is just claiming. */
static uint64_t welcome(const struct table_look *look, int i, uint64_t now)
{
    const uint64_t behind = (now - look->time[i]) & TABLE_DRAINED_MAX;
    if (is_claimed(look, i)) return 1;
    if (!table_owned(look->owner[i], look->time[i]) || look->owner[i] >> TABLE_TAG_SHIFT == 0) return UINT64_MAX;
    return 2 + (behind < TABLE_AHEAD_END ? behind : 0);
}

/* A slot in this home, in the bucket with more room; in either if they are equal. */
static int choose_available(const struct table_look *look, int home, uint64_t now)
{
    const int first = home * TABLE_LOOK_SLOTS;
    int room[TABLE_CHOICES] = {0, 0}, best = TABLE_NOWHERE;
    uint64_t warmest = 0;
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) room[i / TABLE_SLOTS] += is_available(look, first + i, now);
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        const bool crowded = room[i / TABLE_SLOTS] < room[1 - i / TABLE_SLOTS];
        if (crowded || !is_available(look, first + i, now) || welcome(look, first + i, now) <= warmest) continue;
        warmest = welcome(look, first + i, now);
        best = first + i;
    }
    return best;
}

/* The slot that drains first, except those just taken over: two keys could displace each other for ever.  For a key
   with a part it is a slot in the part, so no limit's keys displace another's. */
static int choose_displaced(const struct table_look *look, uint64_t now)
{
    int best = TABLE_NOWHERE;
    uint64_t least_ahead = UINT64_MAX;
    for (int i = look->count - TABLE_LOOK_SLOTS; i < look->count; i++) {
        const uint64_t ahead = table_ahead_of(look->owner[i], look->time[i], now);
        if (is_claimed(look, i) || ahead >= least_ahead) continue;
        least_ahead = ahead;
        best = i;
    }
    return best;
}

/* How far ahead the first slot is that becomes idle. */
static uint64_t soonest_idle(const struct table_look *look, uint64_t now)
{
    uint64_t soonest = UINT64_MAX;
    for (int i = 0; i < look->count; i++) soonest = least(soonest, table_ahead_of(look->owner[i], look->time[i], now));
    return soonest;
}

static uint64_t claimed_by(uint64_t tag, uint64_t owner, uint64_t time)
{
    const uint64_t version = owner & TABLE_VERSION_MAX, step = ((time >> TABLE_LAP_SHIFT) - version) & TABLE_LAP_MAX;
    return tag << TABLE_TAG_SHIFT | TABLE_TENTATIVE | ((version + step) & TABLE_VERSION_MAX);
}

/* The time of a slot for the key that takes it. */
static uint64_t taken_over(const struct table_call *call, uint64_t owner, uint64_t time)
{
    const uint64_t now = call->question->now;
    if (table_ahead_of(owner, time, now) == 0) return table_rested(time, now);
    if (call->table->when_full == TABLE_INHERIT) return time | TABLE_DISPLACED_BIT;
    return table_fresh_time(time, now);
}

/* Claims a slot that was seen with this owner and time, with the time `taken`.  False if another thread was faster; the
   slot may be free then, and *time says so. */
static bool claim_slot(struct table_slot *slot, uint64_t tag, uint64_t owner, uint64_t *time, uint64_t taken)
{
    if (table_owned(owner, *time)) {
        const uint64_t freed = table_next_lap(taken);
        if (!atom_swap_release(&slot->time, time, freed)) return false;
        *time = freed;
    }
    return atom_swap_release(&slot->owner, &owner, claimed_by(tag, owner, *time));
}

static bool claim_for_call(struct table_call *call, const struct table_look *look, int i)
{
    const uint64_t owner = look->owner[i], seen = look->time[i], freed = table_next_lap(taken_over(call, owner, seen));
    const bool live = table_owned(owner, seen) && table_ahead_of(owner, seen, call->question->now) != 0;
    uint64_t time = seen;
    const bool claimed = claim_slot(look->slot[i], call->tag, owner, &time, taken_over(call, owner, seen));
    if (live && time == freed) call->events |= TABLE_DISPLACED;
    return claimed;
}

/* ---- making room ---- */

/* A slot whose key could be in another bucket, and a slot there.  moves: that is in its own area, and this is not. */
struct table_shift {
    int from;
    struct table_slot *to;
    uint64_t owner, time;
    bool moves;
};

/* Where else a key of this area may be.  A stranger goes to its own area, by either choice, and never elsewhere in this
   one: who looks for the last of them (table_strangers) would miss it. */
static struct table_bucket *bucket_elsewhere(const struct table_call *call, int home, const struct table_bucket *bucket,
                                             uint64_t tag, int choice)
{
    const struct table_area *area = call->homes.area[home], *own = &call->table->area[table_home(call->table, tag)];
    if (home == 0 && own != area) return table_bucket_at_home(own, area, bucket, tag, choice);
    return choice == 0 ? table_other_bucket(area, bucket, tag) : NULL;
}

/* How many slots are idle and not being claimed, one of them in *shift.  None if this key has a slot here already, left
   by a thread that did not finish: no newcomer displaces a copy, and a key that is charged while it is shifted would
   soon have four. */
static int table_room_for(uint64_t tag, struct table_bucket *bucket, uint64_t now, struct table_shift *shift)
{
    int room = 0;
    for (int i = 0; i < TABLE_SLOTS; i++) {
        const uint64_t owner = atom_load_acquire(&bucket->slot[i].owner);
        const uint64_t time = atom_load(&bucket->slot[i].time);
        const bool owned = table_owned(owner, time);
        if (owned && owner >> TABLE_TAG_SHIFT == tag) return 0;
        if (table_ahead_of(owner, time, now) != 0 || (owned && table_is_tentative(owner))) continue;
        room++;
        shift->to = &bucket->slot[i];
        shift->owner = owner;
        shift->time = time;
    }
    return room;
}

/* For a home whose eight slots are all live: the key that has most room elsewhere, but none from a bucket whose times
   may not be lowered.  Those times were read before this looks for a mark. */
static bool find_shift(const struct table_call *call, const struct table_look *look, int home, struct table_shift *best)
{
    const struct table_area *area = call->homes.area[home];
    const size_t first = (size_t)home * TABLE_LOOK_SLOTS;
    const uint64_t now = call->question->now, hash = call->question->hash, *owner = look->owner + first;
    struct table_bucket *own[TABLE_CHOICES] = {table_bucket_of(area, hash, 0), table_bucket_of(area, hash, 1)},
                        *other[TABLE_CHOICES * TABLE_LOOK_SLOTS];
    const bool fixed[TABLE_CHOICES] = {table_bucket_holds_displaced(own[0], now),
                                       table_bucket_holds_displaced(own[1], now)};
    for (int i = 0; i < TABLE_CHOICES * TABLE_LOOK_SLOTS; i++) {
        const int slot = i % TABLE_LOOK_SLOTS;
        other[i] =
            bucket_elsewhere(call, home, own[slot / TABLE_SLOTS], owner[slot] >> TABLE_TAG_SHIFT, i / TABLE_LOOK_SLOTS);
        if (other[i] != NULL) atom_prefetch(other[i]);
    }
    int most_room = 0;
    for (int i = 0; i < TABLE_CHOICES * TABLE_LOOK_SLOTS; i++) {
        const int slot = i % TABLE_LOOK_SLOTS;
        if (fixed[slot / TABLE_SLOTS] || table_is_tentative(owner[slot]) || other[i] == NULL) continue;
        const bool moves =
            home == 0 && &call->table->area[table_home(call->table, owner[slot] >> TABLE_TAG_SHIFT)] != area;
        struct table_shift shift = {.from = (int)first + slot, .moves = moves};
        const int room = table_room_for(owner[slot] >> TABLE_TAG_SHIFT, other[i], now, &shift);
        if (room <= most_room) continue;
        most_room = room;
        *best = shift;
    }
    return most_room != 0;
}

/* A slot for a new key, or TABLE_NOWHERE; that of a key that can be shifted if *shift was written. */
static int choose_slot(const struct table_call *call, const struct table_look *look, struct table_shift *shift)
{
    for (int home = 0; home < call->homes.count; home++) {
        const int place = choose_available(look, home, call->question->now);
        if (place != TABLE_NOWHERE) return place;
        if (find_shift(call, look, home, shift)) return shift->from;
    }
    return TABLE_NOWHERE;
}

/* False if another thread was faster.  True: the slot is free, and the look says so. */
static bool shift_key(const struct table_call *call, struct table_look *look, const struct table_shift *shift)
{
    const uint64_t now = call->question->now, tag = look->owner[shift->from] >> TABLE_TAG_SHIFT;
    uint64_t time = shift->time, *from = &look->time[shift->from];
    if (!claim_slot(shift->to, tag, shift->owner, &time, table_rested(time, now))) return false;
    uint64_t claimed = claimed_by(tag, shift->owner, time);
    if (!atom_swap_release(&shift->to->time, &time, table_time(time, now, table_ahead(*from, now)))) return false;
    const uint64_t left = table_next_lap(table_fresh_time(*from, now));
    if (!atom_swap_release(&look->slot[shift->from]->time, from, left)) return false;
    *from = left;
    if (!shift->moves) atom_swap_release(&shift->to->owner, &claimed, claimed & ~(uint64_t)TABLE_TENTATIVE);
    return true;
}

/* ---- inserting a key ---- */

/* The answer when no slot is idle and none is taken over. */
static void tell_full(const struct table_call *call, uint64_t ahead, uint64_t soonest)
{
    const bool allow = call->table->when_full == TABLE_ALLOW;
    const struct verdict verdict = allow ? decide_at(call, ahead) : (struct verdict){false, 0};
    tell(call, verdict, allow ? ahead : most(ahead, soonest));
    call->answer->charged = 0;
}

static void take_into_use(struct table_call *call)
{
    uint64_t unused = 0;
    atom_swap_release(call->question->part->in_use, &unused, 1);
    call->homes = table_homes_of(call->table, call->question->hash, call->question->part);
}

/* True when the call is answered; false if the key may have a slot now. */
static bool table_enter(struct table_call *call, struct table_look *look)
{
    const struct table *table = call->table;
    const uint64_t now = call->question->now;
    const struct past past = past_of(call);
    if (past.torn || !table_is_steady(look)) return false;
    const uint64_t displaced = owed_to_displaced(look, now);
    uint64_t ahead = most(past.owed, displaced);
    struct table_shift shift = {.to = NULL};
    int place = choose_slot(call, look, &shift);
    const bool full = place == TABLE_NOWHERE, shifts = shift.to != NULL;
    if (full && call->homes.count == 1 && call->question->part != NULL) {
        take_into_use(call);
        return false;
    }
    if (full || displaced != 0) call->events |= TABLE_FULL;
    if (full && table->when_full < TABLE_DENY) place = choose_displaced(look, now);
    if (place == TABLE_NOWHERE) {
        tell_full(call, ahead, soonest_idle(look, now));
        return true;
    }
    if (!shifts && (!full || table->when_full == TABLE_INHERIT))
        ahead = most(ahead, table_ahead_of(look->owner[place], look->time[place], now));
    const struct verdict verdict = decide_at(call, ahead);
    if (!writes(call, verdict)) {
        tell(call, verdict, ahead);
        return true;
    }
    if (shifts && !shift_key(call, look, &shift)) return false;
    if (claim_for_call(call, look, place) && !full) call->events |= past.found ? TABLE_MOVED : TABLE_NEW;
    return false;
}

/* ---- a key with a tentative slot ---- */

/* True when slot `own` is the only one of this key here and may be committed.  Either of two tentative slots may hold
   the key's debt.  One beside a committed slot stays as it is: it may be the copy that a thread is just making, and
   otherwise it is idle before long. */
static bool stands_alone(const struct table_call *call, struct table_look *look, int own)
{
    const uint64_t now = call->question->now;
    for (int i = 0; i < look->count; i++) {
        if (i == own || !table_look_is_own(look, i, call->tag)) continue;
        if (!table_is_tentative(look->owner[i])) return false;
        const int stays = i < own ? i : own, goes = i < own ? own : i;
        const uint64_t owed = table_ahead(look->time[goes], now);
        const uint64_t raised = table_time(look->time[stays], now, owed);
        if (owed > table_ahead(look->time[stays], now)) {
            if (!atom_swap_release(&look->slot[stays]->time, &look->time[stays], raised)) return false;
            look->time[stays] = raised;
        }
        if (!free_slot(look->slot[goes], look->time[goes]) || stays != own) return false;
    }
    return true;
}

/* [after a claim] From here on the call searches all places where other threads may claim a slot for this key.  False:
   the table has grown. */
static bool knows_all(struct table_call *call)
{
    atom_fence_full();
    call->homes = table_homes_of(call->table, call->question->hash, call->question->part);
    return !outgrown(call->table);
}

/* The slot of a key that has moved, with the time that was read before this looks for a mark: newcomers owe nothing for
   it, unless those beside it may not be lowered. */
static void leave_slot(const struct table_area *area, struct table_slot *slot, uint64_t time, uint64_t now)
{
    const struct table_bucket *bucket = &area->bucket[(slot - area->bucket[0].slot) / TABLE_SLOTS];
    const bool fixed = table_bucket_holds_displaced(bucket, now);
    atom_swap_release(&slot->time, &time, table_next_lap(fixed ? time : table_fresh_time(time, now)));
}

/* A thread that finds a tentative slot of its key commits or frees it. */
static void settle_claim(const struct table_call *call, const struct table_look *found, int own)
{
    const uint64_t now = call->question->now;
    const struct past past = past_of(call);
    struct table_look look = table_look_at(&call->homes, call->question->hash);
    if (past.torn || !table_is_steady(&look)) return;
    if (look.owner[own] != found->owner[own] || !table_look_is_own(&look, own, call->tag)) return;
    if (!stands_alone(call, &look, own)) return;
    finish_displacing(&look, now);
    const uint64_t owed = most(past.owed, owed_to_displaced(&look, now));
    struct table_slot *slot = look.slot[own];
    uint64_t time = atom_load_acquire(&slot->time), owner = look.owner[own];
    if (!table_owned(owner, time)) return;
    if (owed > table_ahead(time, now) && !atom_swap_release(&slot->time, &time, table_time(time, now, owed))) return;
    if (!atom_swap_release(&slot->owner, &owner, owner & ~(uint64_t)TABLE_TENTATIVE)) return;
    for (int i = 0; i < TABLE_AREAS_MAX; i++)
        if (past.slot[i] != NULL) leave_slot(&call->table->area[i], past.slot[i], past.time[i], now);
}

/* ---- calls ---- */

static void table_back_off(unsigned attempt)
{
    if (attempt < TABLE_BACK_OFF_AFTER) return;
    for (unsigned i = 0; i < least(attempt, TABLE_BACK_OFF_MAX); i++) atom_pause();
}

void table_ask_slowly(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    struct table_call call = {.table = table,
                              .question = question,
                              .answer = answer,
                              .homes = table_homes_of(table, question->hash, question->part),
                              .tag = table_tag(question->hash)};
    for (unsigned attempt = 0; attempt < TABLE_ATTEMPTS_MAX; attempt++) {
        table_back_off(attempt);
        struct table_look look;
        const int own = table_look_for(&look, &call.homes, question->hash);
        if (own == TABLE_NOWHERE) {
            if (table_enter(&call, &look)) return;
        } else if (table_is_tentative(look.owner[own])) {
            if (!knows_all(&call)) {
                *answer = (struct table_answer){TABLE_UNKNOWN, 0, 0, 0};
                return;
            }
            settle_claim(&call, &look, own);
        } else if (ask_slot(&call, look.slot[own], look.time[own])) {
            return;
        }
    }
    call.events = TABLE_FULL;
    tell(&call, (struct verdict){false, 0}, 0);
}
