/* SPDX-License-Identifier: MIT
   Operations on a log whose head is held, so that no other thread can commit: several permits, starts in the future,
   corrections, another limit, another ring.

   The holder has the ring and the sets to itself.  Its writes become visible when it releases the head: the new
   serial is larger by the number of new entries, and by one more if the other set was written.  A setter closes the
   head as well: then other threads do not wait for it, and look for the state elsewhere.

   The entry of a waiting call is in the ring already, stamped with its start and marked AHEAD.  A later call is decided
   by the same entries or later ones, so starts stay in the order of the calls.  The ring has room for all waiting calls
   and for twice N entries before them; otherwise a call that would wait is refused as FULL, and the limiter makes a
   larger ring.

   Giving back takes entries out, and the later ones move down:

       ... 3 3 5 5 7 | 9 9          take out one 5:        ... 3 3 5 7 9 | 9 void
                     position                                          position

   It makes no difference which of two entries with the same timestamp is taken out.  What remains is the log as if the
   call had not been made, so the bound holds; but waiting calls are not moved up.  Positions may only go back as far as
   the N entries before are still there: the ring has overwritten what is C before `high`.  Here N is the largest there
   ever was, since a limit may return to it and need those entries. */
#include "core/algorithm.h"
#include "core/algorithm/sliding_log.h"
#include "share/log_view.h"

enum { PAUSES_BEFORE_YIELD = 100 };

void log_wait(const struct log *log, unsigned attempt)
{
    if (attempt % PAUSES_BEFORE_YIELD == 0) log->yield();
    else atom_pause();
}

/* ---- holding ---- */

/* Each number is used once. */
static uint64_t next_void(struct log *log)
{
    const uint64_t seal = atom_load(&log->seals) + 1;
    atom_store(&log->seals, seal);
    return seal & LOG_STAMP_MAX;
}

static uint64_t void_entry(const struct log_view *view, uint64_t position, uint64_t number)
{
    return log_entry(view, position, LOG_VOID, number) ^ UINT64_C(1) << 63; /* not written in this lap */
}

bool log_hold(struct log *log, struct log_view *view)
{
    uint64_t head = atom_load(&log->head);
    for (unsigned attempt = 1;; attempt++) {
        if (head & LOG_CLOSED) return false;
        if (!(head & LOG_HELD) && atom_swap_acquire(&log->head, &head, head | LOG_HELD)) break;
        log_wait(log, attempt);
        head = atom_load(&log->head);
    }
    *view = log_view_at(log, head);
    struct atom *slot = log_slot(view, view->position);
    uint64_t was = atom_load(slot);
    const uint64_t seal = void_entry(view, view->position, next_void(log));
    /* No thread is behind an entry that was written before the seal, as the head was never there. */
    if (log_written(view, was) || !atom_swap_release(slot, &was, seal)) view->position++;
    return true;
}

void log_let_go(const struct log_view *view)
{
    const uint64_t serial = view->position + view->set.skew;
    atom_store_release(&view->log->head, (view->head & LOG_SET_1) | serial);
}

/* Writes the set that is not in use; the release is for threads that still read it from two changes ago. */
void log_publish(struct log_view *view, uint64_t flags)
{
    struct log_set *set = &view->set;
    /* Above the serial of every head before, even if positions have gone back. */
    const uint64_t serial = most(view->position + set->skew, view->head & LOG_SERIAL_MAX) + 1;
    const uint64_t other = (view->head & LOG_SET_1) ^ LOG_SET_1;
    set->high = most(set->high, view->position);
    set->base = most(set->base, subtract_to_zero(set->high, view->log->mask));
    set->skew = serial - view->position;
    struct atom *to = view->log->set[other != 0];
    const uint64_t words[LOG_SET_WORDS] = {set->count, set->span_ns, set->base,       set->skew,
                                           set->floor, set->high,    set->generation, set->widest};
    for (int i = 0; i < LOG_SET_WORDS; i++) atom_store_release(&to[i], words[i]);
    view->head = flags | other | serial;
    atom_store_release(&view->log->head, view->head);
}

static void log_write_slot(const struct log_view *view, uint64_t position, uint64_t entry)
{
    atom_store_release(log_slot(view, position), entry);
}

void log_append(struct log_view *view, uint64_t cost, uint64_t start, bool waits)
{
    const uint64_t stamp = log_stamp(view, start);
    for (const uint64_t end = view->position + cost; view->position != end; view->position++) {
        log_write_slot(view, view->position, log_entry(view, view->position, waits ? LOG_AHEAD : LOG_PLAIN, stamp));
    }
}

/* ---- corrections ---- */

/* If the newest entry does not wait, timestamps after now come from clocks that are ahead of this one. */
static uint64_t waiting(const struct log_view *view, uint64_t now)
{
    const uint64_t known = least(view->position - view->set.base, view->log->mask);
    return log_kind_of(log_newest(view)) == LOG_AHEAD ? log_after(view, now, known) : 0;
}

/* Behind the waiting entries the ring keeps the N that count, and the N that will count again if those are given
   back. */
uint64_t log_can_wait(const struct log_view *view, uint64_t now)
{
    return subtract_to_zero(view->log->mask, 2 * view->set.widest + waiting(view, now));
}

uint64_t log_overcharge(struct log_view *view, uint64_t now, uint64_t extra)
{
    const uint64_t charged = least(extra, log_room(view, now) + log_can_wait(view, now));
    for (uint64_t i = 0; i < charged; i++) {
        const uint64_t start = least(most(now, log_earliest(view, 1)), LOG_NS_MAX);
        log_append(view, 1, start, start > now);
    }
    return charged;
}

/* Takes out up to `unused` entries of a call with this start; false if none is left. */
static bool log_give_back(struct log_view *view, uint64_t start, uint64_t unused)
{
    const uint64_t high = most(view->set.high, view->position);
    const uint64_t known = least(view->position - view->set.base, view->log->mask);
    const uint64_t newer = log_after(view, start, known);
    uint64_t after = view->position - newer, found = 0;
    while (found < unused && newer + found < known && log_ns_of(log_read(view, after - found - 1)) == start) found++;
    if (found == 0 || high - (view->position - found) + view->set.widest > view->log->mask) return false;
    view->set.high = high;
    for (; after < view->position; after++) {
        /* The lap bit depends on the position. */
        const uint64_t entry = log_read(view, after);
        log_write_slot(view, after - found, log_entry(view, after - found, log_kind_of(entry), log_stamp_of(entry)));
    }
    for (; found > 0; found--) {
        view->position--;
        log_write_slot(view, view->position, void_entry(view, view->position, next_void(view->log)));
    }
    return true;
}

/* As decide_settle() of decide.c: nothing is given back under another rule or before a waiting call, and no part of a
   call that has not started. */
enum log_answer log_settle(struct log *log, uint64_t now_ns, weir_decision *decision, uint64_t actual)
{
    struct log_view view;
    bool changed = false;
    const bool even = actual == decision->charged;
    if (even) return atom_load(&log->head) & LOG_CLOSED ? LOG_ELSEWHERE : LOG_HERE;
    if (!log_hold(log, &view)) return LOG_ELSEWHERE;
    const uint64_t now = log_time(log, now_ns);
    const bool foreign = (uint32_t)view.set.generation != (uint32_t)decision->reserved;
    const bool behind = waiting(&view, now) != 0 && decision->end != view.position;
    const bool part = actual != 0 && now_ns < decision->start.ns;
    if (actual > decision->charged) {
        decision->charged += log_overcharge(&view, now, actual - decision->charged);
    } else if (!foreign && !behind && !part) {
        changed = log_give_back(&view, log_time(log, decision->start.ns), decision->charged - actual);
    }
    if (changed) log_publish(&view, 0);
    else log_let_go(&view);
    return actual > decision->charged ? LOG_FULL : LOG_HERE;
}

/* ---- another limit ---- */

bool log_close(struct log *log, struct log_view *view)
{
    const bool open = log_hold(log, view);
    if (!open) *view = log_view_at(log, atom_load(&log->head));
    view->head = (view->head & LOG_SET_1) | (view->position + view->set.skew) | LOG_HELD | LOG_CLOSED;
    if (open) atom_store(&log->head, view->head);
    return open;
}

void log_open(struct log_view *view)
{
    log_publish(view, 0);
}

bool log_take_out(struct log_view *view, const weir_decision *decision, uint64_t cost)
{
    return decision->end == view->position && log_give_back(view, log_time(view->log, decision->start.ns), cost);
}

/* No forgotten timestamp comes back.  What was entered behind a promised start stays with it. */
void log_forget(struct log_view *view, uint64_t until_ns)
{
    struct log_set *set = &view->set;
    const uint64_t known = least(view->position - set->base, view->log->mask);
    const uint64_t first = view->position - log_after(view, log_time(view->log, until_ns), known);
    if (first > set->base) set->floor = most(set->floor, log_stamp_of(log_read(view, first - 1)) + 1);
    set->base = first;
}

void log_change(struct log_view *view, const struct rule *to)
{
    view->set.count = to->burst;
    view->set.widest = most(view->set.widest, to->burst);
    view->set.span_ns = sliding_log_span_ns(to);
    view->set.generation = to->generation;
}

bool log_let_in(struct log_view *view, uint64_t now_ns, uint64_t cost, weir_decision *decision)
{
    const struct log *log = view->log;
    const uint64_t now = log_time(log, now_ns);
    const uint64_t earliest = log_earliest(view, least(cost, view->set.count));
    const uint64_t start = least(most(now, earliest), LOG_NS_MAX);
    const bool waits = start > now;
    if (waits && log_can_wait(view, now) < cost) return false;
    /* Of a call that is larger than the ring the last entries decide. */
    log_append(view, least(cost, log->mask), start, waits);
    *decision = (weir_decision){.verdict = WEIR_ALLOW,
                                .start = {waits ? log->origin_ns + start : now_ns},
                                .delay_ns = waits ? log->origin_ns + start - now_ns : 0,
                                .end = view->position,
                                .remaining = log_room(view, start),
                                .charged = cost,
                                .reserved = (uint32_t)view->set.generation};
    return true;
}

/* ---- another ring ---- */

void log_make(struct log *log, uint64_t capacity, uint64_t now_ns, void (*yield)(void))
{
    log->mask = capacity - 1;
    log->yield = yield;
    /* Calls with a slightly older time than this one still get different timestamps. */
    log->origin_ns = subtract_to_zero(now_ns, UINT64_C(1) << (LOG_NS_BITS - 2));
    atom_store(&log->head, LOG_HELD | LOG_CLOSED);
}

void log_move(struct log_view *view, struct log *to, uint64_t now_ns)
{
    const struct log *from = view->log;
    struct log_view next = *view;
    if (now_ns < log_ends_ns(from)) to->origin_ns = from->origin_ns;
    const uint64_t shift = multiply_saturating(to->origin_ns - from->origin_ns, UINT64_C(1) << LOG_FINE_BITS);
    const uint64_t entries = view->position - view->set.base, oldest = view->position - least(entries, from->mask);
    const uint64_t known = least(entries, to->mask);
    next.log = to;
    next.set.base = view->position - known;
    next.set.high = view->position;
    next.set.floor = subtract_to_zero(view->set.floor, shift);
    for (uint64_t at = next.set.base; at < view->position; at++) {
        /* Entries that the smaller ring has lost are not later than the oldest one that it has. */
        const uint64_t entry = log_read(view, most(at, oldest));
        const uint64_t stamp = subtract_to_zero(log_stamp_of(entry), shift);
        log_write_slot(&next, at, log_entry(&next, at, at < oldest ? LOG_PLAIN : log_kind_of(entry), stamp));
    }
    for (uint64_t at = view->position; at - next.set.base <= to->mask; at++) {
        log_write_slot(&next, at, void_entry(&next, at, next_void(to)));
    }
    log_publish(&next, LOG_HELD | LOG_CLOSED);
    *view = next;
}
