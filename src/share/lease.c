/* SPDX-License-Identifier: MIT
   lease.c - the exchange between a shared state and those who carry permits away from it.

   A permit in a lease was taken when the lease was, and is spent whenever its holder likes, without a look at the
   clock.  Were nothing known of it meanwhile, the bucket would fill up again behind its back, and a full bucket and the
   lease could be spent together.  So the limiter knows how many permits are out, and keeps

        saved up + out <= burst

   Every decision that may meet leases first forgets of what is saved up as much as is out (hold).  That is all: no
   lease runs out, no clock of two threads is compared, and who never comes back costs room and nothing else.

        now := clock;  Z := state;  o := out, after Z
        give back   hold(Z, now, o), the permits just given back still counted in o; then Z gets back what was not spent
        take        out += n;  Z := state and o := out once more;  then swap Z -> Z + n permits
        at last     out -= what was given back, after the swap

   The hold at giving back comes first: spent permits were spent up to now, and until now the bucket must not have
   filled behind them.  Giving back and taking are one step, so to renew, to resize, to begin and to end a lease is the
   same function.

   How old may a reading be?  Whoever read Z and o, and found no lease, may swap long after; if by then a lease has been
   taken, Z has moved, and he reads again.  Unless Z has come back: a call is cancelled, Z falls, a lease of as many
   permits lifts it to where it was, and the old o is used beside that lease.  It does not help to read the clock last,
   rather the contrary.  So while a lease is out no value comes back that somebody may have read with fewer out:

        more permits are only taken from a Z that never was higher (Z >= high, word.c), read after out was raised;
        while permits are out, settling gives nothing back

   What lowers Z then are unspent permits alone, and they are no longer out themselves.  Time may be read whenever, only
   by him who gives back after he spent his last.  A lock around the state (cell.c) needs neither rule.

   And one for those who wait: their start is told them now, but what is out may be spent until then, so they only wait
   for what fits beside it (lease_wait_max_ns).  Each of these rules has a scene that lets too much through without it
   (test/explore/lease_explore.c); hybrid, which has a lock, is in test/law/slice_law.c.

   May touch: its arguments.  Promises: no more pass in any window than without leases.  Leaves to others: who holds
   what, how much he wants (api), the loop or the lock around the state (word.c, cell.c). */
#include "share/lease.h"

#include "core/clock.h"
#include "core/num.h"

/* One permit is always left for those without a lease: a holder who died under a larger limit must not stop all. */
void lease_hold(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t out)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    if (algorithm->hold == NULL || out == 0) return;
    const uint64_t held_most = subtract_to_zero(rule->burst, ticks_of(rule, 1));
    algorithm->hold(rule, state, tick_at(rule, now_ns), least(ticks_of(rule, out), held_most));
}

/* Whoever waits is told his start now, and what is out may be spent until then: if the two do not fit together, beside
   what comes in while his start is rounded up to a ns, he has to come again. */
uint64_t lease_wait_max_ns(const struct rule *rule, uint64_t out, const struct ask *ask)
{
    const uint64_t cost = ticks_of(rule, ask->each != NULL ? ask->each[0] : ask->cost);
    if (out == 0 || algorithm_of(rule)->hold == NULL) return ask->wait_max_ns;
    const uint64_t rounding = multiply_shift_floor(1, subtract_to_zero(rule->multiplier, 1), rule->shift);
    const uint64_t together = add_saturating(add_saturating(cost, ticks_of(rule, out)), rounding);
    return together <= rule->burst ? ask->wait_max_ns : 0;
}

/* Of somebody who waits, the start is fixed: what is given back before it must not let a newcomer have the same one. */
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

/* Rounded up it may be past now, though within the same tick. */
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
    const uint64_t ticks = ticks_of(rule, slice.permits);
    if (slice.permits != 0 && algorithm->due != NULL)
        got.due_ns = ns_ceil_signed(rule, algorithm->due(rule, slice.end, ticks));
    return got;
}
