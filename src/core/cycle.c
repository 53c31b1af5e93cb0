/* SPDX-License-Identifier: MIT
   cycle.c - so many permits each period, at once, and what is left over is lost: a semaphore that is filled when the
   period begins, with reservations into the periods to come.

   Draw all permits that were ever sold as one line and cut it into cycles of N.  Whoever buys moves the end of it, X;
   when a cycle begins, X is at least where that cycle's permits begin; a permit may be used from the beginning of the
   cycle that it lies in:

       X |              .----            4 are bought at once: the first 2 start now, of the
      3N |         - - -'                other 2 it is said that they start with cycle 2
         |        |                      left = (i + 1) * N - X, below 0 what is owed
      2N |   .----'- - - - -
         |---'                           a call starts now if left >= its cost, or else when
       N '----------------------> time   ceil((cost - left) / N) more cycles have begun
          cycle 0 | 1 | 2 | ..

   So it is a stair: a line on a clock that only knows cycles.  X itself would not fit 64 bits after a century of large
   cycles, so `left` is kept, with the end of the cycle that it speaks of:

       | ends_ns, 0 = untouched | left, signed | sold |           a cell of three words

   `sold` counts permits, so that a slot is known by its place in line.  Cycles begin where the clock of the limit was
   set, or on the clock of the wall (align=clock), and times are kept as ns, since a change of limit must not move them.
   Before the cycle that is written down nothing can be had of it: time that goes back earns nothing and loses nothing.

   A cost above N is taken as a reservation over several cycles.  debt=K lets nobody reserve more than K permits beyond
   the cycle that is now; debt=0 is the plain semaphore.

   May touch: its arguments.  Promises: at most N permits are of one cycle; so at most N start in it, and what the first
   call that had to wait took of those before, less than its cost.  Leaves to others: the lock around the words.

   Seed 002; resilience4j's AtomicRateLimiter and SemaphoreBasedRateLimiter answer the same. */
#include "core/cycle.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { ENDS, LEFT, SOLD, WORDS };
enum { ALIGNED = RULE_A };

_Static_assert((int)WORDS <= (int)STATE_WORDS_MAX, "cycle fits the state");

#define FAR (INT64_MAX / 2)           /* as many permits can be added and subtracted */
#define ENDS_FROM (UINT64_C(1) << 63) /* ends are counted from here, where no tick that is mistaken for one lies */

struct cycle {
    uint64_t ends_ns;
    int64_t left;
};

static uint64_t permits_of(const struct rule *rule)
{
    return least(most(rule->burst, 1), FAR);
}

static uint64_t period_of(const struct rule *rule)
{
    return most(rule->period_ns, 1);
}

static int64_t clamp(int64_t value)
{
    return value > FAR ? FAR : value < -FAR ? -FAR : value;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return multiply_divide_floor(a, b, 1);
}

static uint64_t divide_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t ticks_at(const struct rule *rule, uint64_t ns)
{
    return ns == UINT64_MAX ? UINT64_MAX : plain_tick(rule, ns);
}

/* ---- where the cycles lie ---- */

/* The first beginning of a cycle at or after this time, as the rule alone knows it. */
static uint64_t boundary_from(const struct rule *rule, uint64_t ns)
{
    const uint64_t period = period_of(rule);
    const uint64_t to_grid = rule->flags & ALIGNED ? rule->offset_ns % period : period - rule->anchor_ns % period;
    const uint64_t past = ns % period, past_grid = to_grid % period;
    const uint64_t in = past >= period - past_grid ? past - (period - past_grid) : past + past_grid;
    return in == 0 ? ns : add_saturating(ns, period - in);
}

static int64_t refilled(int64_t left, uint64_t permits, uint64_t cycles)
{
    if (cycles == 0) return left;
    const int64_t missing = (int64_t)permits - left;
    if (missing <= 0 || times(cycles, permits) >= (uint64_t)missing) return (int64_t)permits;
    return left + (int64_t)(cycles * permits);
}

static int64_t owing(int64_t left, uint64_t permits, uint64_t cycles)
{
    const uint64_t owed = times(cycles, permits);
    if (cycles == 0) return left;
    if (owed >= (uint64_t)(left + FAR)) return -FAR;
    return left - (int64_t)owed < (int64_t)permits ? left - (int64_t)owed : (int64_t)permits;
}

static struct cycle written(const struct rule *rule, const uint64_t *state)
{
    if (state[ENDS] != 0) return (struct cycle){state[ENDS], clamp((int64_t)state[LEFT])};
    return (struct cycle){boundary_from(rule, add_saturating(rule->anchor_ns, 1)), (int64_t)permits_of(rule)};
}

/* The cycle of this time, or the one written down when that is later. */
static struct cycle latest(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    const struct cycle cycle = written(rule, state);
    if (ns < cycle.ends_ns) return cycle;
    const uint64_t period = period_of(rule), over = ns - cycle.ends_ns;
    return (struct cycle){add_saturating(ns - over % period, period),
                          refilled(cycle.left, permits_of(rule), over / period + 1)};
}

/* The cycle of this time: before the one written down, all that was sold since is owed. */
static struct cycle cycle_at(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    const struct cycle cycle = latest(rule, state, ns);
    const uint64_t period = period_of(rule);
    const uint64_t back = ns < cycle.ends_ns ? (cycle.ends_ns - 1 - ns) / period : 0;
    return (struct cycle){cycle.ends_ns - back * period, owing(cycle.left, permits_of(rule), back)};
}

static void write_down(uint64_t *state, struct cycle cycle)
{
    state[ENDS] = most(cycle.ends_ns, 1);
    state[LEFT] = (uint64_t)clamp(cycle.left);
}

/* The beginning of the cycle that is so many after this one. */
static uint64_t begins_ns(const struct rule *rule, struct cycle cycle, uint64_t after)
{
    if (after == 0) return subtract_to_zero(cycle.ends_ns, period_of(rule));
    return add_saturating(cycle.ends_ns, times(after - 1, period_of(rule)));
}

/* How many more cycles must begin until all of a cost is there. */
static uint64_t cycles_until(const struct rule *rule, int64_t left, uint64_t cost)
{
    const int64_t missing = (int64_t)cost - left;
    return missing <= 0 ? 0 : divide_ceil((uint64_t)missing, permits_of(rule));
}

static uint64_t end_of(const uint64_t *state)
{
    return state[SOLD] + ENDS_FROM;
}

/* Permits sold after a slot; a little below 0 when some before it were given back, beyond FAR when it is no end. */
static int64_t sold_after(const uint64_t *state, uint64_t end)
{
    return (int64_t)(end_of(state) - end);
}

/* ---- from what was said ---- */

static void defaults(struct limit *limit)
{
    if (limit->align == ALIGN_DEFAULT) limit->align = ALIGN_FIRST;
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    const struct limit_problem problem = limit_window(limit, rule);
    if (problem.message != NULL) return problem;
    if (rule->burst > FAR)
        return limit_wrong(OPTION_RATE, "a cycle holds fewer than 2^62 permits; choose a smaller rate");
    if (limit->align == ALIGN_CLOCK) rule->flags |= ALIGNED;
    rule->debt = limit_debt(limit, rule);
    return limit_fine();
}

static void align(struct rule *rule, uint64_t now_ns, uint64_t unix_ns)
{
    const uint64_t period = period_of(rule), wall = unix_ns % period, ours = now_ns % period;
    if (rule->flags & ALIGNED) rule->offset_ns = wall >= ours ? wall - ours : wall + (period - ours);
}

/* ---- asking ---- */

static bool possible(const struct rule *rule, uint64_t permits)
{
    return permits <= FAR && subtract_to_zero(permits, permits_of(rule)) <= rule->debt;
}

static struct offer never(void)
{
    return (struct offer){UINT64_MAX, UINT64_MAX};
}

/* When may a cost above N be taken that is too far away now?  As long as the cycles fill up its start stays, and time
   comes nearer; once one is full the start moves on with each cycle, and is nearest at the end of one. */
static struct offer approach(const struct rule *rule, struct cycle cycle, uint64_t cost, uint64_t start_ns,
                             uint64_t wait_ns)
{
    const uint64_t permits = permits_of(rule), from_ns = start_ns - wait_ns;
    const int64_t missing = (int64_t)permits - cycle.left;
    const uint64_t fills = missing > 0 ? (uint64_t)missing / permits : 0;
    const uint64_t full_ns = begins_ns(rule, cycle, fills + 1);
    const uint64_t span_ns = times(cycles_until(rule, (int64_t)permits, cost), period_of(rule));
    const uint64_t into_ns = subtract_to_zero(span_ns, wait_ns);
    if (from_ns < full_ns) return (struct offer){ticks_at(rule, from_ns), ticks_at(rule, start_ns)};
    if (into_ns >= period_of(rule)) return never();
    return (struct offer){ticks_at(rule, add_saturating(full_ns, into_ns)),
                          ticks_at(rule, add_saturating(full_ns, span_ns))};
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    const uint64_t permits = permits_of(rule);
    uint64_t from_ns = plain_ns(rule, now);
    struct cycle cycle = cycle_at(rule, state, from_ns);
    if (cost > FAR || cycle.left < (int64_t)cost - FAR) return never();
    const int64_t missing = (int64_t)cost - cycle.left;
    if (missing <= 0) return (struct offer){now, now};
    if ((uint64_t)missing > rule->debt) {
        /* Too far ahead: not before so many cycles have begun. */
        const uint64_t cycles = divide_ceil((uint64_t)missing - rule->debt, permits);
        if (!possible(rule, cost)) return never();
        from_ns = begins_ns(rule, cycle, cycles);
        cycle = (struct cycle){begins_ns(rule, cycle, cycles + 1), refilled(cycle.left, permits, cycles)};
    }
    const uint64_t more = cycles_until(rule, cycle.left, cost);
    const uint64_t start_ns = more == 0 ? from_ns : begins_ns(rule, cycle, more);
    if (start_ns == UINT64_MAX) return never();
    if (cost > permits && start_ns - from_ns > wait_ns) return approach(rule, cycle, cost, start_ns, wait_ns);
    const uint64_t from = (uint64_t)missing > rule->debt ? ticks_at(rule, from_ns) : now;
    return (struct offer){from, ticks_at(rule, start_ns)};
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const int64_t left = cycle_at(rule, state, plain_ns(rule, at)).left;
    return left > 0 ? (uint64_t)left : 0;
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    if (cost != 0) {
        struct cycle cycle = latest(rule, state, plain_ns(rule, at));
        cycle.left = clamp(cycle.left - (int64_t)least(cost, FAR));
        write_down(state, cycle);
        state[SOLD] += cost;
    }
    return (struct taken){end_of(state), room(rule, state, start)};
}

/* After a refusal the next cycle is when it passes; otherwise, once a limit was changed, only its state knows where the
   cycles begin, and it is a period at the most. */
static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t period = period_of(rule), start_ns = most(decision->start.ns, plain_ns(rule, now));
    const uint64_t retry_ns = decision->retry_ns == WEIR_FOREVER ? 0 : decision->retry_ns;
    const bool known = rule->flags & ALIGNED || rule->generation <= 1;
    if (decision->remaining >= permits_of(rule)) return now;
    if (decision->delay_ns != 0) return ticks_at(rule, add_saturating(start_ns, period));
    if (known) return ticks_at(rule, boundary_from(rule, add_saturating(start_ns, most(retry_ns, 1))));
    return ticks_at(rule, add_saturating(start_ns, retry_ns != 0 ? retry_ns : period));
}

/* ---- correcting ---- */

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)now;
    return end_of(state);
}

static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    const struct cycle cycle = written(rule, state);
    const int64_t left = clamp(cycle.left + clamp(sold_after(state, end))); /* when it had been taken */
    (void)cost;
    return ticks_at(rule, begins_ns(rule, cycle, cycles_until(rule, left, 0)));
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return cycle_at(rule, state, plain_ns(rule, now)).left < 0;
}

/* None of its permits are of the cycle before: that is so only where a call starts as soon as a cycle begins. */
static bool all_here(const struct rule *rule, struct cycle cycle, const struct slot *slot)
{
    const uint64_t begins = begins_ns(rule, cycle, 0);
    return plain_ns(rule, slot->start) > begins || begins <= rule->anchor_ns;
}

/* Of its permits those of a cycle that is over are gone, and those that others bought since stay where they are. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    struct cycle cycle = latest(rule, state, plain_ns(rule, now));
    const int64_t sold = (int64_t)permits_of(rule) - cycle.left;
    const int64_t after = slot->guessed ? 0 : sold_after(state, slot->end);
    if (plain_ns(rule, slot->start) < begins_ns(rule, cycle, 0) || sold <= 0) return;
    if (slot->guessed && !all_here(rule, cycle, slot)) return;
    if (after <= -FAR || after >= sold) return;
    const uint64_t here = (uint64_t)(after > 0 ? sold - after : sold);
    const uint64_t back = least(unused, here);
    cycle.left += (int64_t)back;
    write_down(state, cycle);
    state[SOLD] -= back;
}

static uint64_t overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    struct cycle cycle = latest(rule, state, plain_ns(rule, now));
    const int64_t room = cycle.left + (int64_t)least(rule->debt, (uint64_t)(cycle.left > 0 ? FAR - cycle.left : FAR));
    const uint64_t charged = room > 0 ? least(extra, (uint64_t)room) : 0;
    if (charged == 0) return 0;
    cycle.left = clamp(cycle.left - (int64_t)charged);
    write_down(state, cycle);
    state[SOLD] += charged;
    return charged;
}

/* What is left of the present cycle under the next rule.  What is owed stays so many permits. */
static int64_t carried(const struct rule *from, const struct rule *to, int64_t left, weir_carry how)
{
    const int64_t more = (int64_t)permits_of(to) - (int64_t)permits_of(from);
    if (how == WEIR_KEEP) return left;
    if (how == WEIR_RESET) return (int64_t)permits_of(to) + left;
    if (more >= 0) return left + more;
    return left + more > 0 ? left + more : left < 0 ? left : 0;
}

/* The present cycle ends when it would have ended, or a new period from now when that is sooner; on the wall's clock it
   is one of the new cycles, but no shorter than the shorter of both periods. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const uint64_t now_ns = plain_ns(from, now), period = period_of(to);
    const struct cycle cycle = cycle_at(from, state, now_ns);
    if (how == WEIR_RESET && cycle.left >= 0) return;
    uint64_t ends_ns = least(cycle.ends_ns, add_saturating(now_ns, period));
    if (to->flags & ALIGNED) {
        const uint64_t as_new_ns = add_saturating(begins_ns(from, cycle, 0), period);
        ends_ns = boundary_from(to, most(add_saturating(now_ns, 1), least(cycle.ends_ns, as_new_ns)));
    }
    write_down(next, (struct cycle){ends_ns, carried(from, to, cycle.left, how)});
}

/* ---- the books in the open ---- */

void cycle_book(const struct rule *rule, uint64_t *state, uint64_t now)
{
    write_down(state, cycle_at(rule, state, plain_ns(rule, now)));
}

int64_t cycle_left(const uint64_t *state)
{
    return (int64_t)state[LEFT];
}

void cycle_set_left(uint64_t *state, int64_t left)
{
    state[LEFT] = (uint64_t)clamp(left);
}

uint64_t cycle_ends_ns(const uint64_t *state)
{
    return state[ENDS];
}

/* ---- in numbers ---- */

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    return (struct facts){.at_once = permits_of(rule),
                          .fresh = permits_of(rule),
                          .largest = limit->has_debt ? add_saturating(permits_of(rule), limit->debt) : UINT64_MAX,
                          .group = permits_of(rule),
                          .spacing_ns = limit->period_ns,
                          .full_ns = limit->period_ns,
                          .state_bytes = WORDS * sizeof(uint64_t)};
}

/* N for each cycle that it touches. */
static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t cycles = window_ns == 0 ? 1 : divide_ceil(window_ns - 1, limit->period_ns) + 1;
    return times(cycles, limit->count.digits);
}

const struct algorithm *cycle_algorithm(void)
{
    static const struct algorithm cycle = {
        .name = "cycle",
        .options = WITH(ALIGN) | WITH(DEBT),
        .note = "permits come all at once when a cycle begins, so twice as many may pass around that moment",
        .words = WORDS,
        .defaults = defaults,
        .compile = compile,
        .align = align,
        .facts = facts,
        .most_in = most_in,
        .possible = possible,
        .offer = offer,
        .commit = commit,
        .room = room,
        .full = full,
        .mark = mark,
        .start_of = start_of,
        .waited_for = waited_for,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
    };
    return &cycle;
}
