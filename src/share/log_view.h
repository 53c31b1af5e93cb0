/* SPDX-License-Identifier: MIT
   log_view.h - a log as it is at one head: where its bits are, and the arithmetic of a sliding log on them.

       head   held:1 | closed:1 | set:1 | serial:61         slot   lap:1 | kind:2 | stamp:61

   Entry k stands in slot k mod C.  Its stamp counts 64 to the ns, from the log's origin; only whole ns are compared
   with times.  Stamps never decrease along the positions, so what still counts is found by halving.

           base                    position - N            position
       ------|--------------------------|----------------------|-------->
        forgotten                    the entry that decides    next to be written

   Total: of a view that was torn by others some answer, and no fault. */
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

/* AHEAD: taken before its time has come.  JOINED: the same, and the next entry belongs to the same call.  VOID: no
   entry, only a number that no slot ever held before. */
enum log_kind { LOG_PLAIN, LOG_AHEAD, LOG_JOINED, LOG_VOID };

struct log_view {
    struct log *log;
    struct log_set set;
    uint64_t head, position;
};

/* What a call comes to. */
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

static inline bool log_ahead(uint64_t slot)
{
    return log_kind_of(slot) == LOG_AHEAD || log_kind_of(slot) == LOG_JOINED;
}

/* The last entry, or 0 when there is none. */
static inline uint64_t log_newest(const struct log_view *view)
{
    return view->position > view->set.base ? log_read(view, view->position - 1) : 0;
}

/* How many of the newest entries, looking at `known` of them, lie after this ns. */
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

/* The first ns at which the log allows it: the last permit of a call is the one that the entry N before it decides.
   Who waits is behind the same entries, so nobody gets ahead of him.  cost is at most N. */
static inline uint64_t log_earliest(const struct log_view *view, uint64_t cost)
{
    if (cost == 0 || view->position - view->set.base + cost <= view->set.count) return 0;
    const uint64_t decides = log_read(view, view->position + cost - 1 - view->set.count);
    return add_saturating(log_ns_of(decides), view->set.span_ns);
}

/* What could be taken at once. */
static inline uint64_t log_room(const struct log_view *view, uint64_t now)
{
    const uint64_t known = least(view->position - view->set.base, view->set.count), span = view->set.span_ns;
    return view->set.count - (now < span ? known : log_after(view, now - span, known));
}

/* Below neither the last stamp nor the floor. */
static inline uint64_t log_stamp(const struct log_view *view, uint64_t start)
{
    return most(most(start << LOG_FINE_BITS, log_stamp_of(log_newest(view))), view->set.floor);
}

/* ---- log_held.c: what is done while nobody else can ---- */

/* Waits for the head and holds it, so that nobody can commit; false when closed. */
bool log_hold(struct log *log, struct log_view *view);

/* Lets go; what was changed in view->set becomes public only with log_publish. */
void log_let_go(const struct log_view *view);
void log_publish(struct log_view *view, uint64_t flags);

/* Writes the entries of one call. */
void log_append(struct log_view *view, uint64_t cost, uint64_t start, bool waits);

/* How many more may wait for a start that lies ahead. */
uint64_t log_can_wait(const struct log_view *view, uint64_t now);

/* Takes up to so many, each when it may be taken at the earliest; returns how many: less where it is full. */
uint64_t log_overcharge(struct log_view *view, uint64_t now, uint64_t extra);

/* Spins, then yields. */
void log_wait(const struct log *log, unsigned turn);

/* ---- setters, one at a time ---- */

/* From here until log_open nobody has the state but the setter.  False: it was closed already. */
bool log_close(struct log *log, struct log_view *view);

/* Takes out a call that waits and is the last one; false when it is not, or cannot be. */
bool log_take_out(struct log_view *view, const weir_decision *decision, uint64_t cost);

/* Another limit.  The capacity is at least log_capacity of its count. */
void log_change(struct log_view *view, const struct rule *to);

/* What was is forgotten, but for those that have a start after until_ns. */
void log_forget(struct log_view *view, uint64_t until_ns);

/* Enters a call at the first time at which it may start; one that is too large waits as the largest would.  False when
   the ring is too small for that. */
bool log_let_in(struct log_view *view, uint64_t now_ns, uint64_t cost, weir_decision *decision);

/* Takes all that it holds over into another one, as made, of which it is a view then; the old one stays closed. */
void log_move(struct log_view *view, struct log *to, uint64_t now_ns);

void log_open(struct log_view *view);

#endif
