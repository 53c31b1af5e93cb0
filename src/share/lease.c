/* SPDX-License-Identifier: MIT
   The exchange between a shared state and the leases of threads.

   A permit in a lease is taken from the state when the lease is, and spent whenever the holder likes, without reading
   the clock.  If the limiter forgot these permits, the bucket would refill in the meantime, and a full bucket and the
   lease could be spent together.  So the limiter knows how many permits are outstanding (`out`), and keeps

       saved up + out <= burst

   Every decision that may meet leases first forgets as many of the saved-up permits as are out (hold).  That is all: no
   lease expires, no clocks of two threads are compared, and a holder that never returns costs capacity but nothing
   else.

       now := clock;  Z := state;  o := out, after Z
       give back   hold(Z, now, o), the permits just given back still counted in o; then Z gets back what was not spent
       take        out += n;  Z := state and o := out once more;  then swap Z -> Z + n permits
       at last     out -= what was given back, after the swap

   Giving back begins with the hold: permits were spent until now, and until now the bucket must not have refilled
   behind them.  Giving back and taking are one step, so beginning, renewing, resizing and ending a lease is the same
   function.

   How old may a reading be?  A thread that read Z and o and found no lease may swap long after.  If a lease was taken
   since, Z has moved, and the thread reads again; unless Z has come back: a call is cancelled, Z falls, a lease of as
   many permits lifts it to the old value, and the old o is used beside that lease.  Reading the clock last would not
   help, rather the contrary.  So while a lease is out, Z never returns to a value that a thread may have read with
   fewer permits out:

       more permits are only taken from a Z that never was higher (Z >= high, word.c), read after out was raised;
       while permits are out, settling gives nothing back

   Then only unspent permits lower Z, and they are no longer out themselves.  The time may be read at any point; only
   the thread that gives back must read it after it spent its last permit.  A lock around the state (cell.c) needs
   neither rule.

   A third rule is for waiting calls: they get their start now, but permits that are out may be spent until then, so a
   call waits only if its cost fits beside them (lease_wait_max_ns).  Without any one of these rules, a scene of
   test/model/lease_model.c lets too much through; hybrid, which has a lock, is in test/property/slice_property.c.

   With these rules no window passes more permits than without leases. */
#include "share/lease.h"

#include "core/clock.h"
#include "core/num.h"

/* One permit is always left for callers without a lease: a holder that died under a larger limit must not block all
   others. */
void lease_hold(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t out)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    if (algorithm->hold == NULL || out == 0) return;
    const uint64_t held_most = subtract_to_zero(rule->burst, ticks_of(rule, 1));
    algorithm->hold(rule, state, tick_at(rule, now_ns), least(ticks_of(rule, out), held_most));
}

/* A waiter gets its start now, but leased permits may still be spent before that start.  If its cost, the leased
   permits, and what accrues while the start is rounded up to a ns exceed the burst together, it may not reserve and
   must retry. */
uint64_t lease_wait_max_ns(const struct rule *rule, uint64_t out, const struct ask *ask)
{
    const uint64_t cost = ticks_of(rule, ask->each != NULL ? ask->each[0] : ask->cost);
    if (out == 0 || algorithm_of(rule)->hold == NULL) return ask->wait_max_ns;
    const uint64_t rounding = multiply_shift_floor(1, subtract_to_zero(rule->multiplier, 1), rule->shift);
    const uint64_t together = add_saturating(add_saturating(cost, ticks_of(rule, out)), rounding);
    return together <= rule->burst ? ask->wait_max_ns : 0;
}

/* The start of a waiter is fixed: permits given back before it must not let a newcomer have the same start. */
static void lease_give_back(const struct rule *rule, uint64_t *state, const struct trade *trade)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t now = tick_at(rule, trade->now_ns), unused = ticks_of(rule, trade->unused);
    const bool last = algorithm_at(rule, algorithm, state, now).end == trade->end;
    if (trade->unused == 0 || rule->generation != trade->generation) return;
    if (algorithm->balance(rule, state, now).waits && !last) return;
    const struct slot slot = {now, UINT64_MAX, unused, false};
    algorithm->give_back(rule, state, now, &slot, unused);
}

/* Rounded up to a ns, a start may be after now, though within the same tick. */
static uint64_t start_ns(const struct rule *rule, uint64_t start, uint64_t now, uint64_t now_ns)
{
    const uint64_t ns = ns_ceil(rule, start);
    return start > now ? ns : least(ns, now_ns);
}

struct lease_slice lease_trade(const struct rule *rule, uint64_t *state, const struct trade *trade, uint64_t out)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    struct lease_slice got = {.generation = rule->generation, .scale = rule->scale & 63};
    if (algorithm->slice == NULL) return got;
    lease_hold(rule, state, trade->now_ns, out);
    lease_give_back(rule, state, trade);
    const uint64_t others = subtract_to_zero(out, trade->held), burst = permits_floor(rule, rule->burst);
    const uint64_t most = least(trade->want, subtract_to_zero(burst, add_saturating(others, 1)));
    const uint64_t now = tick_at(rule, trade->now_ns);
    const uint64_t until = tick_at(rule, add_saturating(trade->now_ns, trade->ahead_ns));
    if (most < SLICE_LEAST) return got;
    const struct stretch slice = algorithm->slice(rule, state, now, until, most);
    got.permits = slice.permits;
    got.first_ns = start_ns(rule, slice.first, now, trade->now_ns);
    got.last_ns = start_ns(rule, slice.last, now, trade->now_ns);
    got.end = slice.end;
    if (slice.permits != 0 && algorithm->lateness != NULL) {
        got.due_ns = ns_ceil_signed(rule, algorithm_due(rule, algorithm, slice.end, ticks_of(rule, slice.permits)));
        got.last_due_ns = ns_ceil_signed(rule, algorithm_due(rule, algorithm, slice.end, ticks_of(rule, 1)));
    }
    return got;
}
