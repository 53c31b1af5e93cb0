/* SPDX-License-Identifier: MIT
   bursty and warmup: unused time is stored as permits, and stored permits have a price (Guava's SmoothBursty
   and SmoothWarmingUp).

   A pacer that forgets makes a caller that was away pay like one that never left.  So keep what was not used, up to
   `burst`.  What does it mean?  To a network, empty buffers: stored permits are given out for nothing (bursty).  To a
   server, cold caches: after a rest it wants to be woken gently, so the next calls are dearer, not cheaper (warmup).
   Both are one line with a price, which is 0 or depends on how many are stored:

       price of a permit
        cold |                  .       Taking walks from right to left, and the area passed over is the time it
             |               .' |       takes: the rectangle is half the warm-up, the trapezoid all of it.  Resting
             |            .'    |       walks from left to right, from 0 to burst in the warm-up time.  Permits that
           1 +----------'       |       the store does not hold cost 1, the interval of the rate.
             |          |       |
           0 +----------+-------+-->    stored.  Of bursty the area is 0, and a tick of rest stores a tick of permit.
             0      threshold  burst

       area(s) = s + excess * ((s - threshold) / (burst - threshold))^2    the square only above the threshold
       threshold = warmup / 2    burst - threshold = 2 * warmup / (1 + cold)    excess = warmup - (burst - threshold)

   Only the area up to a point is ever rounded, never a piece of it: so a take is the difference of two areas, and n
   permits at once cost what they cost one by one.

   A caller knows nothing of those that come after it, so it need not wait for its own price: it starts when what was
   taken before is paid, max(now, next), and the next one waits for it: next = start + price.  With pay=self it waits
   itself: it starts at next + price, which does not move while it asks again, so time in which nothing is taken pays
   for it, be it larger than the store.

       | next, 0 = untouched | stored | from | before: warmup only |    a cell of three or four words on a line's clock

   next: all that was taken is paid from here on.  now <= next: nothing is stored, so time that stands or goes back
   earns nothing and loses nothing.  from and before are what next and stored were when the last call was priced.

   In any window t at most burst + largest cost + rate * t permits pass by bursty, with pay=self max(burst, largest
   cost) + rate * t; by warmup largest cost + rate * t, and never sooner than the prices say but for two ticks. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { NEXT, STORED, FROM, BEFORE, WARMUP_WORDS, BURSTY_WORDS = BEFORE };
enum { PAYS_ITSELF = RULE_A };
enum { COLD_DEFAULT = 3, BURST_DEFAULT_NS = 1000000000 };
/* Twice the warm-up is room for burst, and fits the clock as a burst does. */
static const uint64_t WARMUP_NS_MAX = UINT64_C(1) << 62;

_Static_assert((int)WARMUP_WORDS <= (int)STATE_WORDS_MAX, "the store fits the state");

struct store {
    uint64_t next, stored;
};

static bool warms(const struct rule *rule)
{
    return rule->algorithm == ALGORITHM_WARMUP;
}

static bool pays_itself(const struct rule *rule)
{
    return (rule->flags & PAYS_ITSELF) != 0;
}

/* The time in which the store fills up. */
static uint64_t store_rest_of(const struct rule *rule, uint64_t permits)
{
    return warms(rule) ? multiply_divide_ceil(permits, 2 * rule->threshold, rule->burst) : permits;
}

/* As it was left behind.  Fresh, it begins when the clock was set. */
static struct store store_left(const struct rule *rule, const uint64_t *state)
{
    if (state[NEXT] != 0) return (struct store){state[NEXT], least(state[STORED], rule->burst)};
    return (struct store){rule->anchor_tick, rule->flags & RULE_STARTS_FULL ? rule->burst : 0};
}

/* No call came until then. */
static struct store store_rested(const struct rule *rule, struct store store, uint64_t until)
{
    if (until <= store.next) return store;
    uint64_t more = until - store.next;
    if (warms(rule)) more = multiply_divide_ceil(more, rule->burst, 2 * rule->threshold);
    return (struct store){until, least(add_saturating(store.stored, more), rule->burst)};
}

/* What it takes to empty the store of warmup. */
static uint64_t area(const struct rule *rule, uint64_t stored)
{
    const uint64_t above = subtract_to_zero(stored, rule->threshold);
    const uint64_t span = subtract_to_zero(rule->burst, rule->threshold);
    const uint64_t excess = subtract_to_zero(2 * rule->threshold, span);
    if (above == 0) return stored;
    return add_saturating(stored, multiply_divide_floor(multiply_divide_floor(excess, above, span), above, span));
}

/* What is stored goes first, for its price. */
static struct store drawn(const struct rule *rule, struct store store, uint64_t cost)
{
    const uint64_t rest = subtract_to_zero(store.stored, cost), fresh = subtract_to_zero(cost, store.stored);
    const uint64_t price = warms(rule) ? area(rule, store.stored) - area(rule, rest) : 0;
    return (struct store){add_saturating(store.next, add_saturating(price, fresh)), rest};
}

/* ---- what was said ---- */

static struct limit_problem bursty_compile(struct limit *limit, struct rule *rule)
{
    if (limit->pay == PAY_DEFAULT) limit->pay = PAY_NEXT;
    if (limit->start == START_DEFAULT) limit->start = START_EMPTY;
    if (limit->burst_kind == AMOUNT_NONE) limit->burst = BURST_DEFAULT_NS;
    if (limit->burst_kind == AMOUNT_NONE) limit->burst_kind = AMOUNT_TIME;
    if (limit->start == START_FULL) rule->flags |= RULE_STARTS_FULL;
    if (limit->pay == PAY_SELF) rule->flags |= PAYS_ITSELF;
    return limit_line(limit, rule);
}

/* 2 * warmup / (1 + cold), the cold factor down to its last digit that fits. */
static uint64_t warmup_span(uint64_t warmup, struct decimal cold)
{
    uint64_t power = power_of_ten(cold.places), digits = cold.digits;
    for (; digits > UINT64_MAX - power; digits /= 10) power /= 10;
    return multiply_divide_floor(2 * warmup, power, power + digits);
}

static struct limit_problem warmup_compile(struct limit *limit, struct rule *rule)
{
    static const char too_long[] = "this warmup is longer than the clock of this rate; choose a shorter one, "
                                   "for example warmup=10s";
    if (limit->factor.digits == 0) limit->factor = (struct decimal){COLD_DEFAULT, 0};
    if (limit->pay == PAY_DEFAULT) limit->pay = PAY_NEXT;
    if (limit->start == START_DEFAULT) limit->start = START_FULL;
    if (!limit->has_time) {
        return limit_wrong(OPTION_WARMUP, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s");
    }
    if (limit->factor.digits < power_of_ten(limit->factor.places)) return limit_out_of_range(OPTION_COLD);
    if (limit->time_ns > WARMUP_NS_MAX) return limit_wrong(OPTION_WARMUP, too_long);
    struct limit twice = *limit;
    twice.burst_kind = AMOUNT_TIME;
    twice.burst = 2 * limit->time_ns;
    const struct limit_problem problem = limit_line(&twice, rule);
    if (problem.option == OPTION_BURST) return limit_wrong(OPTION_WARMUP, too_long);
    rule->threshold = rule->burst / 4;
    rule->burst = rule->threshold + warmup_span(2 * rule->threshold, limit->factor);
    if (limit->start != START_EMPTY) rule->flags |= RULE_STARTS_FULL;
    if (limit->pay == PAY_SELF) rule->flags |= PAYS_ITSELF;
    return problem;
}

static struct limit_problem smooth_compile(struct limit *limit, struct rule *rule)
{
    return warms(rule) ? warmup_compile(limit, rule) : bursty_compile(limit, rule);
}

/* ---- asking ---- */

static struct offer smooth_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                 uint64_t wait_ns)
{
    (void)wait_ns;
    const struct store store = store_left(rule, state);
    if (!pays_itself(rule))
        return (struct offer){now, most(now, store.next)}; /* any cost passes, and the next one pays */
    if (cost == UINT64_MAX)
        return (struct offer){now, UINT64_MAX}; /* for what the clock cannot count no call can wait */
    return (struct offer){now, most(now, drawn(rule, store, cost).next)};
}

/* What calls of one permit could take.  By bursty, where the next one pays, that is one more than is stored; with
   pay=self a permit may come that the store is too small for.  By warmup one passes, and then that has a price. */
static uint64_t smooth_room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t permit = ticks_of(rule, 1);
    if (smooth_offer(rule, state, at, permit, 0).start > at) return 0;
    if (warms(rule)) return permit;
    const uint64_t stored = store_rested(rule, store_left(rule, state), at).stored;
    return pays_itself(rule) ? most(stored, permit) : add_saturating(stored, permit);
}

static struct taken smooth_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const bool self = pays_itself(rule);
    if (cost == 0)
        return (struct taken){most(when.from, store_left(rule, state).next), smooth_room(rule, state, when.start)};
    const struct store before = self ? store_left(rule, state) : store_rested(rule, store_left(rule, state), when.from);
    const struct store paid = drawn(rule, before, cost);
    struct store after = self ? store_rested(rule, paid, when.from) : paid;
    /* Time that was not needed is stored again, beside the call: together they are no more than burst. */
    if (self && !warms(rule)) after.stored = least(after.stored, subtract_to_zero(rule->burst, cost));
    const bool charged =
        when.start < (self ? paid.next : before.next); /* when.from once: no call waits for its when.start */
    state[NEXT] = after.next;
    state[STORED] = after.stored;
    if (!charged) state[FROM] = before.next;
    if (!charged && warms(rule)) state[BEFORE] = before.stored;
    return (struct taken){after.next, smooth_room(rule, state, when.start)};
}

static bool smooth_waits(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return state[pays_itself(rule) ? NEXT : FROM] > now;
}

static struct balance smooth_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct store store = store_rested(rule, store_left(rule, state), now);
    return (struct balance){store.stored, store.next - now, smooth_waits(rule, state, now)};
}

/* A fresh store may be full, or cold.  With pay=self a call is paid for by all the time since the last one, and a fresh
   state has had all there ever was. */
static uint64_t smooth_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct store store = store_left(rule, state);
    if (state[NEXT] == 0) return now;
    if (pays_itself(rule)) return UINT64_MAX;
    return most(add_saturating(store.next, store_rest_of(rule, rule->burst - store.stored)), now);
}

static uint64_t bursty_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t stored = subtract_to_zero(decision->remaining, !pays_itself(rule));
    return add_saturating(most(decision->end, now), subtract_to_zero(rule->burst, ticks_of(rule, stored)));
}

/* ---- correcting ---- */

/* First the debt, then the store.  Since its start a call may have been stored again, tick for tick.  Nothing where a
   call waits and this one has started: the two may end at the same tick, as an earlier call that was given back moves
   the end of the last slot, and not the ends that decisions remember. */
static void bursty_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                             uint64_t unused)
{
    if (smooth_waits(rule, state, now) && slot->start <= now) return;
    const struct store store = store_rested(rule, store_left(rule, state), now);
    /* A call that has waited for more than the store holds has it no longer. */
    const bool lost = pays_itself(rule) && slot->start <= now;
    const uint64_t held = lost ? least(slot->cost, rule->burst) : slot->cost, used = slot->cost - unused;
    const uint64_t undrained = subtract_to_zero(add_saturating(slot->start, held), now);
    const uint64_t back = least(subtract_to_zero(held, used), undrained), owed = least(back, store.next - now);
    if (back == 0) return;
    state[NEXT] = store.next - owed;
    state[STORED] = least(add_saturating(store.stored, back - owed), rule->burst);
}

/* The last call is priced again, for what was used of it; those before it have set the price of those behind. */
static void warmup_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                             uint64_t unused)
{
    (void)now;
    const struct store before = {state[FROM], least(state[BEFORE], rule->burst)};
    const uint64_t paid = drawn(rule, before, slot->cost).next, used = subtract_to_zero(slot->cost, unused);
    const bool self = pays_itself(rule), last = self ? paid <= state[NEXT] : paid == state[NEXT];
    struct store after = drawn(rule, before, used);
    if (!last || slot->end != state[NEXT]) return;
    if (self && used != 0) after = store_rested(rule, after, slot->end);
    state[NEXT] = after.next;
    state[STORED] = after.stored;
}

static void smooth_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                             uint64_t unused)
{
    (warms(rule) ? warmup_give_back : bursty_give_back)(rule, state, now, slot, unused);
}

/* The store of warmup stays as cold as it was, that of bursty as full. */
static uint64_t carried_store(const struct rule *from, const struct rule *to, uint64_t stored, weir_carry how)
{
    if (how == WEIR_RESET) return to->flags & RULE_STARTS_FULL ? to->burst : 0;
    if (warms(to)) return least(multiply_divide_ceil(stored, to->burst, from->burst), to->burst);
    if (how == WEIR_SCALE) return subtract_to_zero(to->burst, carry_waiting(from, to, from->burst - stored));
    return from->burst == 0 ? 0 : multiply_divide_floor(stored, to->burst, from->burst);
}

/* What is owed stays the same time, to the ns; but where a call waits behind it, all of it is permits. */
static void smooth_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                         uint64_t now, weir_carry how)
{
    const struct store store = store_rested(from, store_left(from, state), now);
    const uint64_t owed = store.next - now, behind = subtract_to_zero(state[FROM], now), anchor = to->anchor_tick;
    next[NEXT] = anchor;
    if (smooth_waits(from, state, now) || how == WEIR_SCALE)
        next[NEXT] = add_saturating(anchor, carry_waiting(from, to, owed));
    else if (how == WEIR_KEEP) next[NEXT] = carry_moment(from, to, store.next, now);
    next[STORED] = carried_store(from, to, store.stored, how);
    next[FROM] = least(add_saturating(anchor, carry_waiting(from, to, behind)), next[NEXT]);
    if (warms(to)) next[BEFORE] = carried_store(from, to, least(state[BEFORE], from->burst), how);
}

/* ---- in numbers ---- */

/* Of bursty.  Where the next one pays it is one more than is stored; a call that pays itself has one at least. */
static uint64_t at_once(const struct limit *limit)
{
    uint64_t permits, period_ns, stored = limit->burst;
    limit_rate(limit, &permits, &period_ns);
    if (limit->burst_kind == AMOUNT_TIME) stored = multiply_divide_floor(limit->burst, permits, period_ns);
    return limit->pay == PAY_SELF ? most(stored, 1) : add_saturating(stored, 1);
}

static uint64_t smooth_most_in(const struct limit *limit, uint64_t window_ns)
{
    const struct decimal one = {1, 0};
    const uint64_t paced = facts_linear_most_spaced(limit, one, window_ns);
    if (limit->algorithm == ALGORITHM_WARMUP) return paced;
    if (window_ns == 0) return at_once(limit);
    if (limit->pay == PAY_SELF) return most(paced, facts_linear_most_in(limit, one, window_ns));
    if (limit->burst_kind == AMOUNT_COUNT) return add_saturating(limit->burst, paced);
    return facts_linear_most_spaced(limit, one, add_saturating(window_ns, limit->burst)); /* the store holds a time */
}

const struct algorithm *bursty_algorithm(void)
{
    static const struct algorithm bursty = {
        .name = "bursty",
        .options = WITH(BURST) | WITH(PAY) | WITH(START) | WITH(DEBT),
        .note = "unused time is stored; the store begins empty unless start=full is given",
        .words = BURSTY_WORDS,
        .pays_after = true,
        ALGORITHM_ANSWERS(smooth),
        .full = bursty_full,
    };
    return &bursty;
}

const struct algorithm *warmup_algorithm(void)
{
    static const struct algorithm warmup = {
        .name = "warmup",
        .options = WITH(WARMUP) | WITH(COLD) | WITH(PAY) | WITH(START),
        .note = "cold at first and after idling: calls are up to `cold` times as far apart until it is warm",
        .words = WARMUP_WORDS,
        .pays_after = true,
        ALGORITHM_ANSWERS(smooth),
    };
    return &warmup;
}
