/* SPDX-License-Identifier: MIT
   warmup.c - a pace that is slower after a rest: what nobody used makes the next calls dearer, not cheaper.

   A store of unused permits can mean two things.  To a network it means empty buffers, and they are given out at once
   (bursty).  To a server it means cold caches: after a rest it wants to be woken gently.  So stored permits are taken
   first and have a price, which rises with how many there are:

       price of a permit
        cold |                  .       Taking walks from right to left, and the area passed over is the time it
             |               .' |       takes: the rectangle is half the warm-up, the trapezoid all of it.  Resting
             |            .'    |       walks from left to right, from 0 to max in the warm-up time.  Permits that
           1 +----------'       |       the store does not hold cost 1, the interval of the rate.
             |          |       |
           0 +----------+-------+-->    stored: begins at max, cold
             0      threshold  max

   Only the area up to a point is ever rounded, never a piece of it: so a take is the difference of two areas, and n
   permits at once cost what they cost one by one.

       area(s) = s + excess * ((s - threshold) / (max - threshold))^2      the square only above the threshold
       threshold = warmup / 2    max - threshold = 2 * warmup / (1 + cold)    excess = warmup - (max - threshold)

       | next, 0 = untouched | stored | from | before |      a cell of four words on a line's clock

   The price of a call delays the next one: it starts at max(now, next), and next = start + price.  With pay=self it
   delays the call itself: it starts at next + price, or at once where so much time has passed.  from and before are
   what next and stored were when the last call was priced, so that it can be priced again.

   Guava's SmoothWarmingUp, with its cold factor free.

   May touch: its arguments.  Promises: in any window t at most largest cost + rate * t permits, and never sooner than
   the prices say but for two ticks.  Leaves to others: the lock around the words. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { NEXT, STORED, FROM, BEFORE, WORDS };
enum { PAYS_ITSELF = RULE_A };
enum { COLD_DEFAULT = 3 };
/* Twice the warm-up is room for max, and fits the clock as a burst does. */
static const uint64_t WARMUP_NS_MAX = UINT64_C(1) << 62;

_Static_assert((int)WORDS <= (int)STATE_WORDS_MAX, "warmup fits the state");

struct store {
    uint64_t next, stored;
};

static uint64_t warmup_of(const struct rule *rule)
{
    return 2 * rule->threshold;
}

/* As it was left behind.  Fresh, it begins when the clock was set. */
static struct store left(const struct rule *rule, const uint64_t *state)
{
    if (state[NEXT] != 0) return (struct store){state[NEXT], least(state[STORED], rule->burst)};
    return (struct store){rule->anchor_tick, rule->flags & RULE_STARTS_FULL ? rule->burst : 0};
}

/* Nobody came until then. */
static struct store rested(const struct rule *rule, struct store store, uint64_t until)
{
    if (until <= store.next) return store;
    const uint64_t more = multiply_divide_ceil(until - store.next, rule->burst, warmup_of(rule));
    return (struct store){until, least(add_saturating(store.stored, more), rule->burst)};
}

/* What it takes to empty the store. */
static uint64_t area(const struct rule *rule, uint64_t stored)
{
    const uint64_t above = subtract_to_zero(stored, rule->threshold);
    const uint64_t span = subtract_to_zero(rule->burst, rule->threshold);
    const uint64_t excess = subtract_to_zero(warmup_of(rule), span);
    if (above == 0) return stored;
    return add_saturating(stored, multiply_divide_floor(multiply_divide_floor(excess, above, span), above, span));
}

/* What is stored goes first, for its price. */
static struct store drawn(const struct rule *rule, struct store store, uint64_t cost)
{
    const uint64_t rest = subtract_to_zero(store.stored, cost), fresh = subtract_to_zero(cost, store.stored);
    const uint64_t price = add_saturating(area(rule, store.stored) - area(rule, rest), fresh);
    return (struct store){add_saturating(store.next, price), rest};
}

static bool pays_itself(const struct rule *rule)
{
    return (rule->flags & PAYS_ITSELF) != 0;
}

static void defaults(struct limit *limit)
{
    if (limit->factor.digits == 0) limit->factor = (struct decimal){COLD_DEFAULT, 0};
    if (limit->pay == PAY_DEFAULT) limit->pay = PAY_NEXT;
    if (limit->start == START_DEFAULT) limit->start = START_FULL;
}

/* 2 * warmup / (1 + cold), the cold factor down to its last digit that fits. */
static uint64_t span_of(uint64_t warmup, struct decimal cold)
{
    uint64_t power = power_of_ten(cold.places), digits = cold.digits;
    for (; digits > UINT64_MAX - power; digits /= 10) power /= 10;
    return multiply_divide_floor(2 * warmup, power, power + digits);
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    static const char too_long[] = "this warmup is longer than the clock of this rate; choose a shorter one, "
                                   "for example warmup=10s";
    if (!limit->has_time) {
        return limit_wrong(OPTION_WARMUP, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s");
    }
    if (limit->factor.digits < power_of_ten(limit->factor.places)) {
        return limit_wrong(OPTION_COLD, "cold is 1 or more: how much slower a cold start is; for example cold=3");
    }
    if (limit->time_ns > WARMUP_NS_MAX) return limit_wrong(OPTION_WARMUP, too_long);
    struct limit twice = *limit;
    twice.burst_kind = AMOUNT_TIME;
    twice.burst = 2 * limit->time_ns;
    const struct limit_problem problem = limit_line(&twice, rule);
    if (problem.option == OPTION_BURST) return limit_wrong(OPTION_WARMUP, too_long);
    rule->threshold = rule->burst / 4;
    rule->burst = rule->threshold + span_of(warmup_of(rule), limit->factor);
    if (limit->start != START_EMPTY) rule->flags |= RULE_STARTS_FULL;
    if (limit->pay == PAY_SELF) rule->flags |= PAYS_ITSELF;
    return problem;
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    (void)wait_ns;
    const struct store store = left(rule, state);
    if (pays_itself(rule) && cost == UINT64_MAX) return (struct offer){now, UINT64_MAX};
    return (struct offer){now, most(now, pays_itself(rule) ? drawn(rule, store, cost).next : store.next)};
}

/* One permit passes, and then there is something to pay. */
static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t permit = ticks_of(rule, 1);
    return offer(rule, state, at, permit, 0).start > at ? 0 : permit;
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    const bool self = pays_itself(rule);
    const struct store before = self ? left(rule, state) : rested(rule, left(rule, state), at);
    const struct store paid = drawn(rule, before, cost), after = self ? rested(rule, paid, at) : paid;
    const uint64_t words[WORDS] = {after.next, after.stored, before.next, before.stored};
    const bool charged = start < (self ? paid.next : before.next); /* nobody waits for its start */
    for (int i = 0; i < (charged ? (int)FROM : WORDS) && cost != 0; i++) state[i] = words[i];
    return (struct taken){after.next, room(rule, state, start)};
}

static struct balance balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const bool waits = (pays_itself(rule) ? state[NEXT] : state[FROM]) > now;
    return (struct balance){room(rule, state, now), subtract_to_zero(left(rule, state).next, now), waits};
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return (pays_itself(rule) ? state[NEXT] : state[FROM]) > now;
}

/* The last call is priced again, for what was used of it; those before it have set the price of those behind. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    (void)now;
    const struct store before = {state[FROM], least(state[BEFORE], rule->burst)};
    const uint64_t paid = drawn(rule, before, slot->cost).next, used = subtract_to_zero(slot->cost, unused);
    const bool self = pays_itself(rule), last = self ? paid <= state[NEXT] : paid == state[NEXT];
    struct store after = drawn(rule, before, used);
    if (!last || slot->end != state[NEXT]) return;
    if (self && used != 0) after = rested(rule, after, slot->end);
    state[NEXT] = after.next;
    state[STORED] = after.stored;
}

/* As cold as it was. */
static uint64_t carried_store(const struct rule *from, const struct rule *to, uint64_t stored, weir_carry how)
{
    if (how == WEIR_RESET) return to->flags & RULE_STARTS_FULL ? to->burst : 0;
    return least(multiply_divide_ceil(stored, to->burst, from->burst), to->burst);
}

/* What is owed stays the same time, to the ns; but where somebody waits behind it, all of it is permits. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const struct store store = rested(from, left(from, state), now);
    const uint64_t owed = store.next - now, behind = subtract_to_zero(state[FROM], now), anchor = to->anchor_tick;
    const bool waits = waited_for(from, state, now);
    next[NEXT] = anchor;
    if (waits || how == WEIR_SCALE) next[NEXT] = add_saturating(anchor, carry_waiting(from, to, owed));
    else if (how == WEIR_KEEP) next[NEXT] = carry_moment(from, to, store.next, now);
    next[STORED] = carried_store(from, to, store.stored, how);
    next[FROM] = add_saturating(anchor, carry_waiting(from, to, behind));
    next[BEFORE] = carried_store(from, to, least(state[BEFORE], from->burst), how);
}

/* When it is as cold as a fresh one: before that it would start a call sooner, and later calls later.  Who pays himself
   is paid for by all the time since the last call, and a fresh one has had all there ever was. */
static uint64_t idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct store store = left(rule, state);
    if (state[NEXT] == 0) return now;
    if (pays_itself(rule)) return UINT64_MAX;
    const uint64_t rest = multiply_divide_ceil(rule->burst - store.stored, warmup_of(rule), rule->burst);
    return most(add_saturating(store.next, rest), now);
}

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    (void)rule;
    return (struct facts){.at_once = 1,
                          .fresh = limit->pay != PAY_SELF,
                          .largest = UINT64_MAX,
                          .group = 1,
                          .spacing_ns = limit_spacing_ns(limit),
                          .full_ns = limit->time_ns,
                          .state_bytes = WORDS * sizeof(uint64_t)};
}

static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    return line_most_spaced(limit, (struct decimal){1, 0}, window_ns);
}

const struct algorithm *warmup_algorithm(void)
{
    static const struct algorithm warmup = {
        .name = "warmup",
        .options = WITH(WARMUP) | WITH(COLD) | WITH(PAY) | WITH(START),
        .note = "cold at first and after a rest: calls are up to `cold` times as far apart until it is warm",
        .words = WORDS,
        .pays_after = true,
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .offer = offer,
        .commit = commit,
        .balance = balance,
        .full = full_at_end,
        .idle = idle,
        .give_back = give_back,
        .carry = carry,
    };
    return &warmup;
}
