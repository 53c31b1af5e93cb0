/* SPDX-License-Identifier: MIT
   So many permits each period, at once, and what is left over is lost: a semaphore that is filled when the
   period begins, with reservations into the periods to come.

   Permits lie in line, N for each cycle.  A call buys the next of them; when a cycle begins, those of the one before
   that were not bought are passed over.  A call starts with the cycle that its last permit lies in:

         cycle 0   cycle 1   cycle 2
       |x x x x x|x x . . .|. . . . .|      N = 5, used = 7; the next call of 4 makes it 11 and starts with cycle 2:
                                            (used - 1) / N cycles on, and one cycle on used is 11 - N = 6

   So it is a counter that overflows into the next window:

       | ends_ns, 0 = untouched | used, signed |      a cell of two words

   Below 0 is what was left when the limit was lowered.  Cycles begin where the clock of the limit was set, or on the
   clock of the wall (align=clock), and their ends are kept as ns, since a change of limit must not move them.  In a
   cycle before the one that is written down, all that was sold since is used: going back earns and loses nothing.

   A cost above N is taken as a reservation over several cycles.  debt=K lets no call reserve more than K permits beyond
   the cycle that is now; debt=0 is the plain semaphore.

   At most N permits are of one cycle; so at most N start in it, and what the first call that had to wait took of those
   before, less than its cost.

   resilience4j's AtomicRateLimiter and SemaphoreBasedRateLimiter answer the same. */
#include "core/algorithm.h"
#include "core/algorithm/window.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { CYCLE_ENDS, CYCLE_USED, CYCLE_WORDS };
enum { CYCLE_ALIGNED = RULE_A };

_Static_assert((int)CYCLE_WORDS <= (int)STATE_WORDS_MAX, "cycle fits the state");

struct cycle {
    uint64_t ends_ns;
    int64_t used;
};

static uint64_t cycle_permits(const struct rule *rule)
{
    return least(most(rule->burst, 1), TICKS_FAR);
}

static int64_t used_and(int64_t used, uint64_t more)
{
    return more > (uint64_t)INT64_MAX - (uint64_t)used ? INT64_MAX : (int64_t)((uint64_t)used + more);
}

static uint64_t cycle_tick_of(const struct rule *rule, uint64_t ns)
{
    return ns == UINT64_MAX ? UINT64_MAX : plain_tick(rule, ns);
}

/* ---- the cycles ---- */

/* The first beginning of a cycle at or after this time, as the rule alone knows it. */
static uint64_t boundary_from(const struct rule *rule, uint64_t ns)
{
    const uint64_t left = window_left(rule, rule->flags & CYCLE_ALIGNED ? window_epoch(rule) : rule->anchor_ns, ns);
    return left == window_period(rule) ? ns : add_saturating(ns, left);
}

static uint64_t begins_ns(const struct rule *rule, struct cycle cycle)
{
    return cycle.ends_ns == UINT64_MAX ? UINT64_MAX : subtract_to_zero(cycle.ends_ns, window_period(rule));
}

/* The cycle that is so many after this one, if nothing more is sold. */
static struct cycle cycle_later(const struct rule *rule, struct cycle cycle, uint64_t after)
{
    const uint64_t used = subtract_to_zero(positive(cycle.used), multiply_saturating(after, cycle_permits(rule)));
    const uint64_t ends_ns = add_saturating(cycle.ends_ns, multiply_saturating(after, window_period(rule)));
    return after == 0 ? cycle : (struct cycle){ends_ns, (int64_t)used};
}

static struct cycle cycle_written(const struct rule *rule, const uint64_t *state)
{
    const int64_t used = (int64_t)state[CYCLE_USED];
    if (state[CYCLE_ENDS] == 0) return (struct cycle){boundary_from(rule, add_saturating(rule->anchor_ns, 1)), 0};
    return (struct cycle){state[CYCLE_ENDS], used < -TICKS_FAR ? -TICKS_FAR : used};
}

static struct cycle cycle_at(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t period = window_period(rule), ns = plain_ns(rule, at);
    const struct cycle cycle = cycle_written(rule, state);
    if (ns >= cycle.ends_ns) return cycle_later(rule, cycle, (ns - cycle.ends_ns) / period + 1);
    const uint64_t back = (cycle.ends_ns - 1 - ns) / period;
    if (back == 0) return cycle;
    const uint64_t used = positive(used_and(cycle.used, multiply_saturating(back, cycle_permits(rule))));
    return (struct cycle){cycle.ends_ns - back * period, (int64_t)used};
}

static void write_down(uint64_t *state, struct cycle cycle)
{
    state[CYCLE_ENDS] = cycle.ends_ns; /* after a time, and so not 0 */
    state[CYCLE_USED] = (uint64_t)cycle.used;
}

/* A cycle that was left is closed: what is sold, or given back, where time went back is written in the later one. */
static struct cycle cycle_latest(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const struct cycle cycle = cycle_at(rule, state, at), written = cycle_written(rule, state);
    return cycle.ends_ns < written.ends_ns ? written : cycle;
}

static struct cycle sell(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t permits)
{
    struct cycle cycle = cycle_latest(rule, state, at);
    cycle.used = used_and(cycle.used, permits);
    if (permits != 0) write_down(state, cycle);
    return cycle;
}

static struct balance cycle_balance(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t permits = cycle_permits(rule), used = (uint64_t)cycle_at(rule, state, at).used;
    const uint64_t left = permits - used;
    if ((int64_t)left >= 0) return (struct balance){left, 0, false};
    return (struct balance){0, 0 - left, true};
}

/* When a call starts that was bought at `from_ns` in this cycle, and uses up so much. */
static uint64_t starts_ns(const struct rule *rule, struct cycle cycle, uint64_t from_ns, int64_t used)
{
    const uint64_t after = subtract_to_zero(positive(used), 1) / cycle_permits(rule);
    return after == 0 ? from_ns : begins_ns(rule, cycle_later(rule, cycle, after));
}

/* A slot is known by its last place in line, and that by how much was used when it had been sold. */
static uint64_t cycle_end_of(const struct rule *rule, struct cycle cycle, int64_t used)
{
    return cycle.ends_ns / window_period(rule) * cycle_permits(rule) + (uint64_t)used;
}

static int64_t used_by(const struct rule *rule, struct cycle cycle, uint64_t end)
{
    return (int64_t)(end - cycle_end_of(rule, cycle, 0));
}

/* ---- from what was said ---- */

static struct limit_problem cycle_compile(struct limit *limit, struct rule *rule)
{
    if (limit->align == ALIGN_DEFAULT) limit->align = ALIGN_FIRST;
    const struct limit_problem problem = limit_window(limit, rule);
    if (problem.message != NULL) return problem;
    if (rule->burst > TICKS_FAR)
        return limit_wrong(OPTION_RATE,
                           "this rate is too high: a cycle holds fewer than 2^62 permits; for example 1G/s");
    if (limit->align == ALIGN_CLOCK) rule->flags |= CYCLE_ALIGNED;
    rule->debt = limit_debt(limit, rule);
    return limit_fine();
}

/* ---- asking ---- */

static bool possible(const struct rule *rule, uint64_t permits)
{
    return subtract_to_zero(permits, cycle_permits(rule)) <= rule->debt;
}

/* Bought in this cycle or later, at the first time from which the start is near enough. */
static struct offer in_line(const struct rule *rule, struct cycle cycle, uint64_t from_ns, uint64_t cost,
                            uint64_t wait_ns)
{
    const uint64_t start_ns = starts_ns(rule, cycle, from_ns, used_and(cycle.used, cost));
    return (struct offer){most(from_ns, subtract_to_zero(start_ns, wait_ns)), start_ns};
}

static struct offer cycle_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                uint64_t wait_ns)
{
    const struct offer never = {UINT64_MAX, UINT64_MAX};
    const uint64_t permits = cycle_permits(rule);
    uint64_t from_ns = plain_ns(rule, now);
    struct cycle cycle = cycle_at(rule, state, now);
    if (cost > TICKS_FAR || cycle.used > (int64_t)(permits + TICKS_FAR - cost))
        return never; /* more than can be counted */
    const uint64_t used = positive(cycle.used + (int64_t)cost);
    const uint64_t too_far = subtract_to_zero(used, add_saturating(permits, rule->debt));
    if (too_far != 0) { /* not before so many cycles have begun */
        if (!possible(rule, cost)) return never;
        cycle = cycle_later(rule, cycle, shift_divide_ceil(too_far, 0, permits));
        from_ns = begins_ns(rule, cycle);
    }
    struct offer offer = in_line(rule, cycle, from_ns, cost, wait_ns);
    /* Time comes nearer to that start until all that is used is over; then the start moves on with each cycle. */
    cycle = cycle_later(rule, cycle, positive(cycle.used) / permits + 1);
    from_ns = begins_ns(rule, cycle);
    if (offer.from >= from_ns) offer = in_line(rule, cycle, from_ns, cost, wait_ns);
    if (offer.from >= cycle.ends_ns) return never;
    return (struct offer){cycle_tick_of(rule, offer.from), cycle_tick_of(rule, offer.start)};
}

static struct taken cycle_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const struct cycle cycle = sell(rule, state, when.from, cost);
    return (struct taken){cycle_end_of(rule, cycle, cycle.used), cycle_balance(rule, state, when.start).left};
}

/* The end of the cycle of its start.  Once a limit was changed only its state knows where that is: a period at most. */
static uint64_t cycle_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t retry_ns = decision->retry_ns == WEIR_FOREVER ? 0 : decision->retry_ns;
    const uint64_t from_ns = add_saturating(most(decision->start.ns, plain_ns(rule, now)), most(retry_ns, 1));
    const bool known = rule->flags & CYCLE_ALIGNED || rule->generation <= 1;
    if (decision->remaining >= cycle_permits(rule)) return now;
    return cycle_tick_of(rule, known ? boundary_from(rule, from_ns) : add_saturating(from_ns - 1, window_period(rule)));
}

/* When a cycle begins of which nothing is used.  A change of limit may have moved the cycles away from where a fresh
   one has them: then one more, or three times N could pass within one. */
static uint64_t cycle_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct cycle cycle = cycle_at(rule, state, now);
    const uint64_t begin_ns =
        begins_ns(rule, cycle_later(rule, cycle, shift_divide_ceil(positive(cycle.used), 0, cycle_permits(rule))));
    const bool moved = boundary_from(rule, begin_ns) != begin_ns;
    return most(cycle_tick_of(rule, moved ? add_saturating(begin_ns, window_period(rule)) : begin_ns), now);
}

/* ---- correcting ---- */

/* All of a slot lies in the cycle that it starts in, unless it starts with it; but none lies before the first. */
static bool lies_here(const struct rule *rule, struct cycle cycle, uint64_t start_ns)
{
    const uint64_t begin_ns = begins_ns(rule, cycle);
    if (start_ns > begin_ns && (start_ns - begin_ns) % window_period(rule) != 0) return true;
    return begin_ns <= rule->anchor_ns && start_ns < cycle.ends_ns;
}

/* What lies in this cycle or a later one. */
static void cycle_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                            uint64_t unused)
{
    struct cycle cycle = cycle_latest(rule, state, now);
    int64_t here = used_by(rule, cycle, slot->end);
    if (slot->guessed) here = lies_here(rule, cycle, plain_ns(rule, slot->start)) ? cycle.used : 0;
    if (here <= 0 || cycle.used <= 0 || cycle.used == INT64_MAX) return;
    cycle.used -= (int64_t)least(unused, least((uint64_t)here, (uint64_t)cycle.used));
    write_down(state, cycle);
}

/* The present cycle keeps what is left of it, or what was used, and ends when it would have, or a new period from now
   when that is sooner; on the wall's clock with the first boundary after that.  What is owed stays so many permits. */
static void cycle_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                        uint64_t now, weir_carry how)
{
    const int64_t before = (int64_t)cycle_permits(from), after = (int64_t)cycle_permits(to);
    struct cycle cycle = cycle_at(from, state, now);
    const int64_t owed = cycle.used > before ? cycle.used - before : 0, most_used = used_and(owed, (uint64_t)after);
    if (how == WEIR_RESET && owed == 0) return;
    if (how == WEIR_KEEP) cycle.used = used_and(cycle.used - before, (uint64_t)after);
    else if (how == WEIR_RESET) cycle.used = owed;
    else if (cycle.used > most_used) cycle.used = most_used;
    cycle.ends_ns = least(cycle.ends_ns, add_saturating(plain_ns(from, now), window_period(to)));
    if (to->flags & CYCLE_ALIGNED) cycle.ends_ns = boundary_from(to, cycle.ends_ns);
    write_down(next, cycle);
}

static void cycle_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    facts->largest = limit->has_debt ? add_saturating(cycle_permits(rule), limit->debt) : UINT64_MAX;
    facts->group = cycle_permits(rule);
    facts->spacing_ns = facts->full_ns = limit->period_ns;
}

/* N for each cycle that it touches. */
static uint64_t cycle_most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t more = shift_divide_ceil(subtract_to_zero(window_ns, 1), 0, limit->period_ns);
    return multiply_saturating(add_saturating(more, 1), limit->count.digits);
}

const struct algorithm *cycle_algorithm(void)
{
    static const struct algorithm cycle = {
        .name = "cycle",
        .options = WITH(ALIGN) | WITH(DEBT),
        .note = "permits come all at once when a cycle begins, so twice as many may pass around that moment",
        .words = CYCLE_WORDS,
        ALGORITHM_ANSWERS(cycle),
        .has_epoch = true,
        .facts = cycle_facts,
        .full = cycle_full,
    };
    return &cycle;
}
