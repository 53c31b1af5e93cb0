/* SPDX-License-Identifier: MIT
   Permits that a thread takes in advance, and spends without touching shared state.

   The caller has the part that is spent (weir_lease; the fast path is in the header).  The limiter has a holder for it,
   which knows how many permits were handed out, and what to do when the thread exits or the process forks.

       weir_lease     left                                          spent by its thread, a subtraction each
       holder         size = spent + left + ahead                   what the limiter counts as out (share/lease.c)
                                          ahead: had already, but their start is still to come

   The size follows from use: a lease that was used up within some microseconds is doubled; otherwise it becomes what
   was used in such a time.  A thread that uses one permit at a time takes none in advance, and calls the limiter like
   any other.

   Unspent permits go back when the lease is closed or its thread exits, and none starts before its time. */
#include "api/error.h"
#include "api/limiter.h"
#include "core/num.h"

enum { GONE_PART = 32, USED_WITHIN_NS = 4000, USED_LEAST = 8, WANT_MOST = 1 << 24, STEP_BITS = 16 };
static const uint64_t SPAN_MOST_NS = UINT64_MAX >> STEP_BITS;

struct holder {
    struct host_watch watch; /* first: the holder is found by it */
    struct holder *before, *after;
    weir_limiter *limiter; /* NULL: the limiter is closed */
    weir_lease *lease;
    uint64_t size;  /* permits that are out: in the lease, including spent ones */
    uint64_t shown; /* the part in `left` when it was last read */
    uint64_t ahead; /* the part not in `left` yet */
    struct lease_slice slice;
    uint64_t since_ns, used, want; /* used: since since_ns */
    uint64_t all_ns;               /* when it last took all that was due */
};

/* ---- opening and closing ---- */

static void link_holder(weir_limiter *limiter, struct holder *holder)
{
    host_lock(&limiter->mutex);
    holder->after = limiter->holders;
    if (limiter->holders != NULL) limiter->holders->before = holder;
    limiter->holders = holder;
    host_unlock(&limiter->mutex);
}

static void unlink_holder(weir_limiter *limiter, struct holder *holder)
{
    host_lock(&limiter->mutex);
    if (holder->before != NULL) holder->before->after = holder->after;
    else limiter->holders = holder->after;
    if (holder->after != NULL) holder->after->before = holder->before;
    host_unlock(&limiter->mutex);
}

void limiter_leave_leases(weir_limiter *limiter)
{
    for (struct holder *holder = limiter->holders, *after; holder != NULL; holder = after) {
        after = holder->after;
        holder->limiter = NULL;
    }
    limiter->holders = NULL;
}

void limiter_forget_leases(weir_limiter *limiter)
{
    for (struct holder *holder = limiter->holders, *after; holder != NULL; holder = after) {
        after = holder->after;
        host_free(holder);
    }
    limiter->holders = NULL;
    limiter->stock = (struct stock){.held = {0}};
    atom_store(&limiter->word.out, 0);
}

/* ---- spending ---- */

/* Counts the permits that were spent since the last time.  A `left` above what was there counts as all spent; otherwise
   that many would be given back. */
static void notice_changes(struct holder *holder, weir_lease *lease)
{
    if (lease->left > holder->shown) lease->left = 0;
    const uint64_t spent = subtract_to_zero(holder->shown, lease->left);
    if (lease->calls != 0) limiter_count_leased(holder->limiter, lease->calls, spent);
    holder->used += spent;
    holder->shown = lease->left;
    lease->calls = 0;
}

/* The time from one start to the next, rounded down: starts are computed backwards from the last. */
static uint64_t step_of(const struct lease_slice *slice)
{
    if (slice->permits < 2) return 0;
    return (least(slice->last_ns - slice->first_ns, SPAN_MOST_NS) << STEP_BITS) / (slice->permits - 1);
}

/* The start of the first of the last `count` permits of the slice. */
static uint64_t start_of(const struct holder *holder, uint64_t count)
{
    return holder->slice.last_ns - ((count - 1) * step_of(&holder->slice) >> STEP_BITS);
}

/* Moves permits that have become due into the lease. */
static void show_due(struct holder *holder, weir_lease *lease, uint64_t now_ns)
{
    const uint64_t step = step_of(&holder->slice);
    uint64_t ahead = 0;
    if (holder->slice.last_ns > now_ns && step != 0) {
        const uint64_t far_ns = holder->slice.last_ns - now_ns;
        ahead = multiply_divide_floor(far_ns, UINT64_C(1) << STEP_BITS, step);
        ahead = least(add_saturating(ahead, 1), holder->ahead);
        while (ahead > 0 && start_of(holder, ahead) <= now_ns) ahead--;
    } else if (holder->slice.last_ns > now_ns) {
        ahead = holder->ahead;
    }
    lease->left += holder->ahead - ahead;
    holder->shown = lease->left;
    holder->ahead = ahead;
    lease->step = step;
    lease->last_ns = holder->slice.last_ns - (ahead * step >> STEP_BITS);
    lease->end = holder->slice.end - (ahead << holder->slice.scale);
    lease->scale = holder->slice.scale;
    lease->reserved = holder->slice.generation;
}

/* ---- trading ---- */

/* False if the home hands out no leases. */
static bool trade_homes(weir_limiter *limiter, const struct trade *trade, struct lease_slice *slice)
{
    *slice = (struct lease_slice){.permits = 0};
    for (;;) {
        if (word_trade(&limiter->word, trade, slice) || cell_trade(&limiter->cell, trade, slice)) return true;
        const struct log *log = limiter_log(limiter);
        if (log != NULL && log_is_open(log)) return false;
        host_yield(); /* none is open: a change is in progress */
    }
}

/* Gives back what it holds, in exchange for up to `want` other permits that start within ahead_ns. */
static void lease_renew(struct holder *holder, weir_lease *lease, uint64_t now_ns, uint64_t ahead_ns, uint64_t want)
{
    if (limiter_paused(holder->limiter)) want = 0;
    const struct trade trade = {.now_ns = limiter_stands_ns(holder->limiter, now_ns),
                                .ahead_ns = ahead_ns,
                                .held = holder->size,
                                .unused = lease->left + holder->ahead,
                                .end = holder->slice.end,
                                .generation = holder->slice.generation,
                                .want = want};
    if (!trade_homes(holder->limiter, &trade, &holder->slice)) lease_fewer(&holder->limiter->word.out, holder->size);
    holder->size = holder->ahead = holder->slice.permits;
    const uint64_t due_ns = holder->slice.due_ns;
    if (due_ns != 0) limiter_note_late(holder->limiter, subtract_to_zero(most(now_ns, holder->slice.first_ns), due_ns));
    lease->left = 0;
    show_due(holder, lease, now_ns);
}

/* Sets how many permits the next refill should hold, from how fast the last ones were used. */
static void adapt(struct holder *holder, uint64_t now_ns)
{
    const uint64_t took_ns = subtract_to_zero(now_ns, holder->since_ns);
    if (took_ns > USED_WITHIN_NS) {
        holder->want = most(multiply_divide_floor(holder->used, USED_WITHIN_NS, took_ns), 1);
        holder->since_ns = now_ns;
        holder->used = 0;
    } else if (holder->used >= most(holder->want, USED_LEAST)) {
        holder->want = least(most(holder->want, holder->used) * 2, WANT_MOST);
    }
}

/* Renews the lease; returns false if it should take one permit at a time.  If the permits are not enough for this call
   the lease becomes empty: the limiter decides the call then, and must not lack those permits. */
static bool renew(struct holder *holder, weir_lease *lease, uint64_t now_ns, uint64_t cost, uint64_t ahead_ns)
{
    adapt(holder, now_ns);
    const uint64_t want = holder->want < SLICE_LEAST ? 0 : holder->want;
    if (holder->size == 0 && want == 0) return false;
    lease_renew(holder, lease, now_ns, ahead_ns, want);
    if (holder->size < want) holder->all_ns = now_ns;
    if (cost > holder->size && holder->size != 0) lease_renew(holder, lease, now_ns, 0, 0);
    return true;
}

/* Renews for a call that does not wait for permits. */
static void renew_now(struct holder *holder, weir_lease *lease, uint64_t now_ns, uint64_t cost)
{
    if (!renew(holder, lease, now_ns, cost, holder->limiter->ahead_ns) || holder->size != 0) return;
    holder->want = 1; /* there are too few: one at a time until calls pass quickly again */
    holder->used = 0;
}

/* ---- the end of a lease ---- */

static void lease_return(struct holder *holder, weir_lease *lease)
{
    const uint64_t now_ns = limiter_now_ns(holder->limiter);
    notice_changes(holder, lease);
    limiter_renew(holder->limiter, now_ns);
    if (holder->size != 0) lease_renew(holder, lease, now_ns, 0, 0);
}

/* True if only the owner has written to the lease: its stack may have been reused. */
static bool intact(const struct holder *holder, const weir_lease *lease)
{
    const struct lease_slice *slice = &holder->slice;
    const uint64_t step = step_of(slice);
    return lease->inside == holder && lease->left <= holder->shown && lease->calls <= holder->shown - lease->left &&
           lease->step == step && lease->last_ns == slice->last_ns - (holder->ahead * step >> STEP_BITS) &&
           lease->end == slice->end - (holder->ahead << slice->scale) && lease->scale == slice->scale &&
           lease->reserved == slice->generation;
}

/* Called by the lease's own thread, which may have released the lease's memory already, so these very calls may
   overwrite it.  It is read once, and not touched if it is no longer the lease. */
static void thread_ended(struct host_watch *watch)
{
    struct holder *holder = (struct holder *)watch;
    weir_lease last = {.left = 0};
    if (intact(holder, holder->lease)) {
        last = *holder->lease;
        *holder->lease = (weir_lease){.left = 0};
    }
    if (holder->limiter != NULL) {
        unlink_holder(holder->limiter, holder);
        lease_return(holder, &last);
    }
    host_free(holder);
}

/* The leases of the parent's threads do not belong to this process.  The limiter, if there is one, frees the holder. */
static void forget_after_fork(struct host_watch *watch)
{
    struct holder *holder = (struct holder *)watch;
    if (holder->lease->inside == holder) *holder->lease = (weir_lease){.left = 0};
    if (holder->limiter == NULL) host_free(holder);
}

int weir_lease_open(weir_lease *lease, weir_limiter *limiter, weir_error *error)
{
    struct holder *holder = host_allocate(sizeof *holder);
    *lease = (weir_lease){.left = 0};
    if (holder == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for a lease");
    holder->limiter = limiter;
    holder->lease = lease;
    holder->want = 1;
    holder->watch.thread_ended = thread_ended;
    holder->watch.forked = forget_after_fork;
    lease->inside = holder;
    link_holder(limiter, holder);
    host_watch_open(&holder->watch);
    return 0;
}

void weir_lease_close(weir_lease *lease)
{
    struct holder *holder = lease->inside;
    if (holder == NULL) return;
    host_watch_close(&holder->watch);
    if (holder->limiter != NULL) {
        lease_return(holder, lease);
        unlink_holder(holder->limiter, holder);
    }
    *lease = (weir_lease){.left = 0};
    host_free(holder);
}

/* ---- calls ---- */

static weir_decision closed(void)
{
    return (weir_decision){.verdict = WEIR_STOPPED};
}

/* The limiter of the lease, with all spent permits counted; NULL: none, or it was stopped. */
static weir_limiter *limiter_of(weir_lease *lease)
{
    struct holder *holder = lease->inside;
    weir_limiter *limiter = holder == NULL ? NULL : holder->limiter;
    if (limiter == NULL) return NULL;
    notice_changes(holder, lease);
    return limiter_stopped(limiter) ? NULL : limiter;
}

static weir_decision count_used(struct holder *holder, weir_decision decision)
{
    holder->used += decision.charged;
    return decision;
}

/* A function of its own, so that a refusal by a note saves no registers. */
static __attribute__((noinline)) weir_decision ask_at(weir_lease *lease, uint64_t now_ns, uint64_t cost)
{
    weir_limiter *limiter = limiter_of(lease);
    struct holder *holder = lease->inside;
    if (limiter == NULL) return closed();
    limiter_renew(limiter, now_ns);
    if (holder->ahead != 0) show_due(holder, lease, now_ns);
    if (cost > lease->left + holder->ahead) renew_now(holder, lease, now_ns, cost);
    if (cost == 0 || cost > lease->left + holder->ahead) {
        return count_used(holder, weir_take_at(limiter, (weir_instant){now_ns}, cost));
    }
    if (cost <= lease->left) return weir_lease_spend(lease, cost);
    const uint64_t start_ns = start_of(holder, holder->ahead - (cost - lease->left) + 1);
    const weir_decision decision = {.verdict = WEIR_DENY,
                                    .start = {now_ns},
                                    .retry_ns = start_ns - now_ns,
                                    .end = lease->end,
                                    .remaining = lease->left,
                                    .reserved = lease->reserved};
    limiter_count(limiter, &decision);
    return decision;
}

/* A lease that is empty and stays so calls the limiter, and its thread may have a note. */
weir_decision weir_lease_renew(weir_lease *lease, uint64_t cost)
{
    const struct holder *holder = lease->inside;
    if (holder == NULL || holder->limiter == NULL) return closed();
    weir_limiter *limiter = holder->limiter;
    const uint64_t now_ns = limiter_now_ns(limiter);
    const unsigned slot = host_slot_known();
    const bool may = cost == 1 && holder->size == 0 && holder->want < SLICE_LEAST && slot < HOST_SLOTS;
    if (!may) return ask_at(lease, now_ns, cost);
    struct tally *tally = &limiter->tally[slot];
    if (!word_denies(&limiter->word, word_see(&limiter->word), now_ns, &tally->note))
        return ask_at(lease, now_ns, cost);
    tally_add(&tally->denied, true, 1);
    return word_denied(&tally->note, now_ns);
}

/* ---- waiting ---- */

/* How far ahead a lease may take permits.  If other threads nap, they wake soon and take what is due by then.  A thread
   that is alone takes the permits that start while it sleeps, if that may be long; otherwise the pool would overflow
   meanwhile. */
static uint64_t lease_ahead_ns(const weir_limiter *limiter)
{
    const bool alone = atom_load(&limiter->naps.count) == 0;
    return alone && limiter->ahead_ns > AHEAD_NS ? limiter->ahead_ns : 0;
}

/* True if it took all that was due a moment ago: then a renewal would get little yet. */
static bool lease_naps(const struct holder *holder, const struct wait *wait, uint64_t now_ns)
{
    const weir_limiter *limiter = holder->limiter;
    const bool caught_up = now_ns - holder->all_ns < limiter->min_sleep_ns / WAKES_IN_A_MIN_SLEEP;
    return caught_up && limiter_naps(limiter, wait, 0);
}

/* True if there are too few permits for the call, or for a long sleep: some of them were for the last one. */
static bool wants_others(const struct holder *holder, const weir_lease *lease, uint64_t cost, uint64_t ahead_ns)
{
    if (cost > lease->left + holder->ahead) return true;
    const uint64_t gone = holder->size - holder->ahead;
    return cost > lease->left && ahead_ns != 0 && gone > holder->size / GONE_PART;
}

/* Usage is measured while the thread is awake. */
static void woken(struct holder *holder)
{
    holder->since_ns = limiter_now_ns(holder->limiter);
    holder->used = 0;
}

/* Waits with an empty lease: permits that are out while the thread sleeps are missing elsewhere. */
static bool wait_outside(struct holder *holder, weir_lease *lease, struct wait *wait, uint64_t now_ns,
                         weir_decision *decision)
{
    if (holder->size != 0) lease_renew(holder, lease, now_ns, 0, 0);
    bool over;
    do {
        over = limiter_wait(holder->limiter, wait, decision);
    } while (!over && wait->queues);
    if (!over || decision->delay_ns != 0) woken(holder);
    if (over) holder->used += decision->charged;
    return over;
}

/* False if it slept and has to check again. */
static bool wait_once(weir_limiter *limiter, weir_lease *lease, struct wait *wait, weir_decision *decision)
{
    struct holder *holder = lease->inside;
    const uint32_t seen = host_event_seen(&limiter->event);
    const uint64_t now_ns = limiter_now_ns(limiter), ahead_ns = lease_ahead_ns(limiter), cost = wait->cost;
    limiter_renew(limiter, now_ns);
    if (holder->ahead != 0) show_due(holder, lease, now_ns);
    if (ahead_ns == 0 && cost > lease->left + holder->ahead && lease_naps(holder, wait, now_ns)) {
        if (holder->size != 0) lease_renew(holder, lease, now_ns, 0, 0);
        limiter_nap(limiter, wait, seen);
        woken(holder);
        return false;
    }
    if (wants_others(holder, lease, cost, ahead_ns)) renew(holder, lease, now_ns, cost, ahead_ns);
    if (cost > lease->left + holder->ahead) return wait_outside(holder, lease, wait, now_ns, decision);
    const bool here = cost <= lease->left;
    const uint64_t start_ns = here ? 0 : start_of(holder, holder->ahead - (cost - lease->left) + 1);
    if (here || wait->until_ns < start_ns) {
        *decision = here ? weir_lease_spend(lease, cost) : weir_lease_renew(lease, cost);
        return true;
    }
    limiter_come_back(limiter, &limiter->event, seen, start_ns);
    woken(holder);
    return false;
}

weir_decision weir_lease_renew_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns)
{
    weir_decision decision;
    weir_limiter *limiter = limiter_of(lease);
    if (limiter == NULL) return closed();
    if (cost == 0) return weir_lease_renew(lease, 0);
    struct wait wait = limiter_begin_wait(limiter, cost, wait_max_ns);
    while (!wait_once(limiter, lease, &wait, &decision)) {
        limiter = limiter_of(lease);
        if (limiter == NULL) return closed();
    }
    return decision;
}
