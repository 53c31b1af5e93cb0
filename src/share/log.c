/* SPDX-License-Identifier: MIT
   At most N permits in any time W, exactly: the timestamps of the last calls, read and written without a lock.

   The plain way is a list of timestamps under a lock: drop the old ones, count the rest.  But a single entry decides
   whether one more may pass, the one N before it: nothing has to be dropped or counted.  So there is a ring of C > N
   slots and a head, the position that is written next.  N is only a number, and may change at any time.

              position - N                        position
       .... | d | . | . | . | . | . | . | newest | v | .....       allowed  <=>  d + W <= now

   Two words have to change, the slot and the head, and a thread may die after it changed only one of them.

       again:  h = head;  v = slot[h];  if v was written in this lap: head h -> h + 1, again      (helps the winner)
               d = slot[h - N], newest = slot[h - 1];  if head != h: again                   (the view was whole)
       DENY    counts if slot[h] is still v, else again
       ALLOW   swap slot[h]: v -> (lap, max(now, newest)), else again      <- linearization point
               swap head: h -> h + 1; if that fails, another thread helped

   * The slot is written first.  If the head were first, another caller would decide by a slot that is not written yet,
     and too much would pass.
   * The lap bit says whether a slot was written in this lap.  Without it, no thread could tell that another one died
     between the two swaps, and all would wait for it for ever.
   * The head is read a second time.  Otherwise d and v might be from different laps, and the swap of v would commit
     what was decided by a d of long ago.
   * A timestamp is never below the one before it, though the clocks of threads are read out of order.  The call itself
     is decided by its own time: the starts that callers are told keep the bound, and so do the timestamps.  For N + 1
     calls in the order of the log, the last one's now >= (timestamp of the first) + W >= (start of the first) + W.

   Everything else (costs above 1, a start in the future, charging, giving back, another N or W) is done by a thread
   that holds the head: it sets the `held` bit, after which no other thread's second read of the head succeeds.  A
   thread may have made that read before and not swapped yet.  So the holder replaces v by a number that was never there
   (VOID); if that fails, the other thread was faster, and its entry counts.  See log_held.c.

   Heads: no two are ever equal, unless nothing happened in between.  The serial grows with every entry and with every
   change of the set of numbers (N, W, ...) beside it; two sets take turns, as the rules of word.c do.

   Slots: a thread that swaps v must not meet the same v again two laps later (ABA), and it cannot.  Let S be the
   timestamp in v, the entry at h - C.  What is written at h and after has timestamps >= S, since positions never go
   back so far that those between are gone (log_held.c, log_give_back).  The entry in this slot two laps later is at h +
   C.  It was decided by the entry N before it, which is after h and so >= S too: its timestamp is W above that.  Only a
   reset forgets the entry N before; so it raises the floor of timestamps above all earlier ones, by 1/64 ns: only whole
   ns are compared with times.

   Memory orders: a view is read relaxed between two reads of the head, the first with acquire, the second after an
   acquire fence.  Everything that invalidates a view is written with release by a thread that had written or read a
   later head: a thread that reads it sees that head at its second read.  Both swaps are acquire-release: an entry is
   visible before the head passes it, and an entry that is seen by the thread that advances the head is seen by all
   threads that see that head.

   So at most N permits have starts in any [t, t + W) ([t, t + W] with a closed edge), for the largest N and shortest W
   in force.  A call of cost 1 takes no lock and waits only for a holder of the head. */
#include "share/log.h"

#include "core/algorithm.h"
#include "core/decide.h"
#include "share/log_view.h"

enum { LOG_BACK_OFF_AFTER = 2 };

static bool still(const struct atom *atom, uint64_t seen)
{
    atom_fence_acquire();
    return atom_load(atom) == seen;
}

/* The decision on a call by this view; *decision as decide() would give it. */
static struct log_call look_up(const struct log_view *view, const struct ask *ask, weir_decision *decision)
{
    const uint64_t now = log_time(view->log, ask->now_ns);
    uint64_t cost = ask->each != NULL ? ask->each[0] : ask->cost;
    if (ask->some) cost = least(most(log_room(view, now), 1), cost);
    *decision = (weir_decision){.verdict = WEIR_DENY, .start = {ask->now_ns}, .end = view->position};
    decision->reserved = (uint32_t)view->set.generation;
    const bool never = cost > view->set.count;
    const uint64_t start = never ? UINT64_MAX : most(now, log_earliest(view, cost));
    const uint64_t wait_ns = start == now ? 0 : view->log->origin_ns + start - ask->now_ns;
    if (never) decision->verdict = WEIR_NEVER;
    else if (start > LOG_NS_MAX) decision->retry_ns = WEIR_FOREVER;
    else if (wait_ns > ask->wait_max_ns) decision->retry_ns = wait_ns - ask->wait_max_ns;
    else decision->verdict = WEIR_ALLOW;
    if (decision->verdict != WEIR_ALLOW) {
        /* The most common refusal implies what is left. */
        decision->remaining = cost == 1 ? 0 : log_room(view, now);
        return (struct log_call){.cost = cost, .start = now};
    }
    decision->start.ns += wait_ns;
    decision->delay_ns = wait_ns;
    decision->remaining = subtract_to_zero(log_room(view, ask->peek ? now : start), cost);
    decision->charged = cost;
    const bool takes = cost != 0 && !ask->peek;
    if (takes) decision->end += cost;
    return (struct log_call){cost, start, takes, wait_ns != 0};
}

/* For a call that this log cannot record: the decision as if it must not wait. */
static enum log_answer refuse_full(const struct log_view *view, const struct ask *ask, weir_decision *decision)
{
    struct ask now = *ask;
    now.wait_max_ns = 0;
    look_up(view, &now, decision);
    return LOG_FULL;
}

static enum log_answer charge_held(struct log_view *view, const struct ask *ask, weir_decision *decision)
{
    const uint64_t now = log_time(view->log, ask->now_ns), cost = ask->each != NULL ? ask->each[0] : ask->cost;
    *decision = (weir_decision){.verdict = WEIR_ALLOW, .start = {ask->now_ns}};
    decision->charged = log_overcharge(view, now, cost);
    decision->remaining = log_room(view, now);
    decision->reserved = (uint32_t)view->set.generation | DECISION_SETTLED;
    if (ask->end != NULL) ask->end[0] = view->position;
    return decision->charged < cost ? LOG_FULL : LOG_HERE;
}

/* The same call again, while no other thread can commit. */
static enum log_answer decide_held(struct log *log, const struct ask *ask, weir_decision *decision)
{
    struct log_view view;
    enum log_answer answer = LOG_HERE;
    if (!log_hold(log, &view)) return LOG_ELSEWHERE;
    if (ask->charge) {
        answer = charge_held(&view, ask, decision);
    } else {
        const struct log_call call = look_up(&view, ask, decision);
        const bool full = call.waits && log_can_wait(&view, log_time(log, ask->now_ns)) < call.cost;
        if (full) answer = refuse_full(&view, ask, decision);
        else if (call.takes) log_append(&view, call.cost, call.start, call.waits);
        if (ask->end != NULL) ask->end[0] = decision->end;
    }
    log_let_go(&view);
    return answer;
}

static bool advance(struct log *log, uint64_t head)
{
    return atom_swap_release(&log->head, &head, head + 1);
}

enum log_answer log_decide(struct log *log, const struct ask *ask, weir_decision *decision)
{
    for (unsigned attempt = 0;; attempt++) {
        if (attempt > LOG_BACK_OFF_AFTER) log_wait(log, attempt);
        const uint64_t head = atom_load_acquire(&log->head);
        if (head & LOG_CLOSED) return LOG_ELSEWHERE;
        if (head & LOG_HELD) continue;
        const struct log_view view = log_view_at(log, head);
        struct atom *slot = log_slot(&view, view.position);
        uint64_t was = atom_load(slot);
        if (log_written(&view, was)) {
            advance(log, head);
            continue;
        }
        const struct log_call call = look_up(&view, ask, decision);
        const uint64_t entry = log_entry(&view, view.position, LOG_PLAIN, log_stamp(&view, call.start));
        if (!still(&log->head, head)) continue;
        if (ask->charge || (call.takes && (call.cost != 1 || call.waits))) return decide_held(log, ask, decision);
        if (!call.takes && !still(slot, was)) continue;
        if (call.takes && !atom_swap_release(slot, &was, entry)) continue;
        if (call.takes) advance(log, head);
        if (ask->end != NULL) ask->end[0] = decision->end;
        return LOG_HERE;
    }
}

bool log_fits(const struct rule *rule)
{
    return rule->algorithm == ALGORITHM_SLIDING_LOG && rule->gap_ns == 0 && !(rule->flags & RULE_COUNTS_REFUSED) &&
           rule->period_ns <= UINT64_C(1) << (LOG_NS_BITS - 2) && rule->burst <= UINT64_C(1) << 48;
}

uint64_t log_capacity(uint64_t count)
{
    uint64_t capacity = LOG_CAPACITY_MIN;
    while (capacity / 2 <= count) capacity *= 2;
    return capacity;
}

uint64_t log_size(uint64_t capacity)
{
    return sizeof(struct log) + capacity * sizeof(struct atom);
}

bool log_last(struct log *log, uint64_t *last_ns)
{
    for (unsigned attempt = 1;; log_wait(log, attempt++)) {
        const uint64_t head = atom_load_acquire(&log->head);
        const struct log_view view = log_view_at(log, head);
        *last_ns = log->origin_ns + log_ns_of(log_newest(&view));
        if ((head & LOG_HELD) == 0 && still(&log->head, head)) return view.position > view.set.base;
    }
}

uint64_t log_ends_ns(const struct log *log)
{
    return add_saturating(log->origin_ns, UINT64_C(1) << (LOG_NS_BITS - 1));
}

bool log_is_open(const struct log *log)
{
    return (atom_load_acquire(&log->head) & LOG_CLOSED) == 0;
}
