/* SPDX-License-Identifier: MIT
   A log as of one head: the layout of its bits, and the arithmetic of a sliding log on them.

       head   held:1 | closed:1 | set:1 | serial:61         slot   lap:1 | kind:2 | stamp:61

   Entry k is in slot k mod C.  Its timestamp counts 1/64 ns from the log's origin; only whole ns are compared with
   times.  Timestamps never decrease along the positions, so binary search finds what still counts.

           base                    position - N            position
       ------|--------------------------|----------------------|-------->
        forgotten                    the entry that decides    next to be written

   A view that other threads tore gives some result, and never a fault. */
#ifndef WEIR_SHARE_LOG_VIEW_H
#define WEIR_SHARE_LOG_VIEW_H

#include "core/num.h"
#include "share/log.h"

#define LOG_HELD (UINT64_C(1) << 63)
#define LOG_CLOSED (UINT64_C(1) << 62)
#define LOG_SET_1 (UINT64_C(1) << 61)
#define LOG_SERIAL_MAX (LOG_SET_1 - 1)

enum { LOG_FINE_BITS = 6, LOG_NS_BITS = 55, LOG_KIND_SHIFT = 61 };

#define LOG_STAMP_MAX ((UINT64_C(1) << LOG_KIND_SHIFT) - 1)
#define LOG_NS_MAX ((UINT64_C(1) << LOG_NS_BITS) - 1)

/* AHEAD: the start was in the future.  VOID: no entry, but a number that no slot ever held before. */
enum log_kind { LOG_PLAIN, LOG_AHEAD, LOG_VOID };

struct log_view {
    struct log *log;
    struct log_set set;
    uint64_t head, position;
};

/* The outcome of a call. */
struct log_call {
    uint64_t cost, start; /* ns since the origin */
    bool takes, waits;
};

static inline struct log_set log_copy_set(const struct log *log, uint64_t head)
{
    const struct atom *from = log->set[(head & LOG_SET_1) != 0];
    return (struct log_set){.count = atom_load(&from[0]),
                            .span_ns = atom_load(&from[1]),
                            .base = atom_load(&from[2]),
                            .skew = atom_load(&from[3]),
                            .floor = atom_load(&from[4]),
                            .high = atom_load(&from[5]),
                            .generation = atom_load(&from[6]),
                            .widest = atom_load(&from[7])};
}

static inline struct log_view log_view_at(struct log *log, uint64_t head)
{
    const struct log_set set = log_copy_set(log, head);
    return (struct log_view){log, set, head, (head & LOG_SERIAL_MAX) - set.skew};
}

static inline struct atom *log_slot(const struct log_view *view, uint64_t position)
{
    return &view->log->slot[position & view->log->mask];
}

static inline uint64_t log_lap(const struct log_view *view, uint64_t position)
{
    return position & (view->log->mask + 1) ? 0 : UINT64_C(1) << 63;
}

static inline bool log_written(const struct log_view *view, uint64_t slot)
{
    return (slot & UINT64_C(1) << 63) == log_lap(view, view->position);
}

static inline uint64_t log_entry(const struct log_view *view, uint64_t position, enum log_kind kind, uint64_t stamp)
{
    return log_lap(view, position) | (uint64_t)kind << LOG_KIND_SHIFT | stamp;
}

static inline enum log_kind log_kind_of(uint64_t slot)
{
    return (enum log_kind)(slot >> LOG_KIND_SHIFT & 3);
}

static inline uint64_t log_stamp_of(uint64_t slot)
{
    return slot & LOG_STAMP_MAX;
}

static inline uint64_t log_ns_of(uint64_t slot)
{
    return log_stamp_of(slot) >> LOG_FINE_BITS;
}

static inline uint64_t log_read(const struct log_view *view, uint64_t position)
{
    return atom_load(log_slot(view, position));
}

/* A time before the origin is the origin. */
static inline uint64_t log_time(const struct log *log, uint64_t now_ns)
{
    return subtract_to_zero(now_ns, log->origin_ns);
}

/* The last entry, 0 if there is none. */
static inline uint64_t log_newest(const struct log_view *view)
{
    return view->position > view->set.base ? log_read(view, view->position - 1) : 0;
}

/* How many of the newest `known` entries are after this ns. */
static inline uint64_t log_after(const struct log_view *view, uint64_t ns, uint64_t known)
{
    uint64_t after = 0, not_after = known;
    while (after < not_after) {
        const uint64_t middle = after + (not_after - after) / 2;
        if (log_ns_of(log_read(view, view->position - middle - 1)) > ns) after = middle + 1;
        else not_after = middle;
    }
    return after;
}

/* The first ns at which the log allows the call: its last permit is decided by the entry N before it.  Waiting calls
   are decided by the same entries, so no call overtakes another.  cost is at most N. */
static inline uint64_t log_earliest(const struct log_view *view, uint64_t cost)
{
    if (cost == 0 || view->position - view->set.base + cost <= view->set.count) return 0;
    const uint64_t decides = log_read(view, view->position + cost - 1 - view->set.count);
    return add_saturating(log_ns_of(decides), view->set.span_ns);
}

/* Permits that could be taken at once. */
static inline uint64_t log_room(const struct log_view *view, uint64_t now)
{
    const uint64_t known = least(view->position - view->set.base, view->set.count), span = view->set.span_ns;
    return view->set.count - (now < span ? known : log_after(view, now - span, known));
}

/* The timestamp for a start: not below the last one or the floor. */
static inline uint64_t log_stamp(const struct log_view *view, uint64_t start)
{
    return most(most(start << LOG_FINE_BITS, log_stamp_of(log_newest(view))), view->set.floor);
}

/* ---- log_held.c: operations with the head held ---- */

/* Waits for the head and holds it, so that no other thread can commit; false if the log is closed. */
bool log_hold(struct log *log, struct log_view *view);

/* Releases the head; changes of view->set become visible only with log_publish. */
void log_let_go(const struct log_view *view);
void log_publish(struct log_view *view, uint64_t flags);

/* Writes the entries of one call. */
void log_append(struct log_view *view, uint64_t cost, uint64_t start, bool waits);

/* How many more entries may wait for a start in the future. */
uint64_t log_can_wait(const struct log_view *view, uint64_t now);

/* Takes up to `extra` permits, each at its earliest start; returns how many: fewer if the ring is full. */
uint64_t log_overcharge(struct log_view *view, uint64_t now, uint64_t extra);

/* Spins, then yields. */
void log_wait(const struct log *log, unsigned attempt);

/* ---- setters, one at a time ---- */

/* Until log_open only the setter has the state.  False: the log was closed already. */
bool log_close(struct log *log, struct log_view *view);

/* Takes out the last call, which waits; false if it is not the last one, or cannot be taken out. */
bool log_take_out(struct log_view *view, const weir_decision *decision, uint64_t cost);

/* Sets another limit.  The capacity is at least log_capacity of its count. */
void log_change(struct log_view *view, const struct rule *to);

/* Forgets all entries except those with a start after until_ns. */
void log_forget(struct log_view *view, uint64_t until_ns);

/* Enters a call at its earliest start; a call that is too large waits as long as the largest possible one.  False if
   the ring is too small for that. */
bool log_let_in(struct log_view *view, uint64_t now_ns, uint64_t cost, weir_decision *decision);

/* Moves all entries to another, newly made log, which the view then refers to; the old one stays closed. */
void log_move(struct log_view *view, struct log *to, uint64_t now_ns);

void log_open(struct log_view *view);

#endif
