/* SPDX-License-Identifier: MIT
   leaky.c - the leaky bucket as nginx's limit_req keeps it: whole milliseconds, thousandths of a permit.

   A permit pours 1000 thousandths into a bucket that leaks at the rate.  What fits is let in; up to `calm` it starts at
   once, above that it waits until the bucket has leaked down to `calm`:

       burst |--------------------  above: refused, and nothing is poured
             |   starts later
        calm |--------------------  delay + 1 permits; with nodelay as high as burst
             |   starts at once
           0 |__| level, known at `last` and leaking since

       level = max(0, level - floor(rate * ms)) + 1000 * permits          last = now

   The leak of each call is rounded down, and a refusal writes nothing, so the answers depend on when the calls came; a
   permit loses less than a thousandth of itself.  nginx counts an excess: the level before the call, level - 1000.

       | level, thousandths | last, ms |      a cell of two words, both 0: fresh

   A position is the thousandths leaked since time 0, and so an end: that of `last` with the level on top.  It wraps.

   Where the clock goes back, weir's level is as high as it was then: it leaks down to what is stored at `last`.  nginx
   stands still for up to a minute, and then begins anew from the earlier time: RULE_FOLLOWS_CLOCK.

   May touch: its arguments.  Promises: at most burst + rate * (t + 1 ms) permits start in any window t; nodelay without
   the 1 ms, for windows of whole ms.  Leaves to others: the lock around the words.  Source: seed 002, nginx 1.22.1. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { LEVEL, LAST, WORDS };
enum { MILLISECOND_NS = 1000000, SECOND_NS = 1000000000, THOUSAND = 1000, BACK_MAX_MS = 60000 };
static const uint64_t LEVEL_MAX = UINT64_C(1) << 62; /* burst fits twice */
static const uint64_t RATE_MAX = UINT64_C(1000000000000);

static uint64_t thousandths(uint64_t permits)
{
    return multiply_divide_floor(permits, THOUSAND, 1);
}

/* second / third: thousandths a ms. */
static uint64_t leak(const struct rule *rule, uint64_t ms)
{
    return multiply_divide_floor(ms, rule->second, rule->third);
}

static uint64_t leak_ceil(const struct rule *rule, uint64_t ms)
{
    return multiply_divide_ceil(ms, rule->second, rule->third);
}

static uint64_t ms_to_leak(const struct rule *rule, uint64_t level)
{
    return multiply_divide_ceil(level, rule->third, rule->second);
}

static uint64_t position(const struct rule *rule, uint64_t ms)
{
    const uint64_t group_ms = most(rule->third, 1);
    return ms / group_ms * rule->second + leak(rule, ms % group_ms);
}

static uint64_t ms_at(const struct rule *rule, uint64_t tick)
{
    return plain_ns(rule, tick) / MILLISECOND_NS;
}

static uint64_t ns_of(uint64_t ms)
{
    return multiply_divide_floor(ms, MILLISECOND_NS, 1);
}

static uint64_t tick_of(const struct rule *rule, uint64_t ms)
{
    return plain_tick(rule, ns_of(ms));
}

/* As high as the bucket may be, if the call may wait: the wait is cut to whole ms, and so is the delay. */
static uint64_t calm(const struct rule *rule)
{
    return thousandths(add_saturating(rule->fourth, 1));
}

static uint64_t highest(const struct rule *rule, uint64_t wait_ns)
{
    const uint64_t late = leak_ceil(rule, wait_ns / MILLISECOND_NS + 1);
    return least(thousandths(rule->burst), add_saturating(calm(rule), subtract_to_zero(late, 1)));
}

/* The bucket at a time: its height, the words from which it goes on, and the time at which their level is known. */
struct bucket {
    uint64_t height, level, last, known;
};

static struct bucket bucket_at(const struct rule *rule, const uint64_t *state, uint64_t ms)
{
    const uint64_t level = least(state[LEVEL], LEVEL_MAX), last = state[LAST];
    uint64_t elapsed_ms = subtract_to_zero(ms, last);
    if (ms < last && !(rule->flags & RULE_FOLLOWS_CLOCK)) {
        return (struct bucket){add_saturating(level, leak_ceil(rule, last - ms)), level, last, last};
    }
    if (ms < last && last - ms <= BACK_MAX_MS) return (struct bucket){level, level, last, ms};
    if (ms < last) elapsed_ms = 1;
    const uint64_t left = subtract_to_zero(level, leak(rule, elapsed_ms));
    return (struct bucket){left, left, ms, ms};
}

/* The first ms at which the bucket is no higher than this. */
static uint64_t ms_when(const struct rule *rule, const uint64_t *state, uint64_t height)
{
    const uint64_t level = least(state[LEVEL], LEVEL_MAX), last = state[LAST];
    if (level > height) return add_saturating(last, ms_to_leak(rule, level - height));
    return subtract_to_zero(last, multiply_divide_floor(height - level, rule->third, rule->second));
}

/* Thousandths a ms, reduced. */
static bool leak_rate(const struct limit *limit, uint64_t *top, uint64_t *bottom)
{
    uint64_t permits, period_ns;
    if (!limit_rate(limit, &permits, &period_ns)) return false;
    const uint64_t common = greatest_common_divisor(period_ns, SECOND_NS);
    *top = multiply_divide_floor(permits, SECOND_NS / common, 1);
    *bottom = period_ns / common;
    return *top != UINT64_MAX;
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    limit_plain_clock(rule);
    rule->burst = limit->burst;
    rule->fourth = limit->nodelay ? UINT64_MAX : limit->delay;
    if (!leak_rate(limit, &rule->second, &rule->third)) {
        return limit_wrong(OPTION_RATE, "this rate has more digits than 64 bits hold; write a rounder rate");
    }
    if (leak_ceil(rule, 1) > RATE_MAX) {
        return limit_wrong(OPTION_RATE, "this rate is over 10^12 a second, the most that weir can count");
    }
    if (limit->burst_kind == AMOUNT_TIME) {
        return limit_wrong(OPTION_BURST, "leaky counts its burst in permits; for example burst=20");
    }
    if (limit->burst == 0) {
        return limit_wrong(OPTION_BURST, "burst is at least 1, or nothing could ever pass; for example burst=1");
    }
    if (thousandths(limit->burst) > LEVEL_MAX / 2) {
        return limit_wrong(OPTION_BURST, "leaky counts thousandths, up to 2^61; choose a smaller burst");
    }
    if (limit->has_delay && limit->nodelay) {
        return limit_wrong(OPTION_NODELAY, "nodelay delays nothing; write it, or delay=8, but not both");
    }
    if (!limit->has_delay || limit->delay != 0) return limit_fine();
    return limit_wrong(OPTION_DELAY, "delay is at least 1; to delay all that is above the rate leave it out");
}

static bool possible(const struct rule *rule, uint64_t permits)
{
    return permits <= rule->burst;
}

/* When the bucket has leaked down to `calm`, the call with it: cut to whole ms. */
static uint64_t start_from(const struct rule *rule, const struct bucket *bucket, uint64_t from, uint64_t poured)
{
    const uint64_t level = bucket->level + poured, ms = ms_at(rule, from);
    const uint64_t above = subtract_to_zero(level, calm(rule)), below = subtract_to_zero(calm(rule), level);
    const uint64_t later_ms = multiply_divide_floor(above, rule->third, rule->second);
    const uint64_t at_ms = subtract_to_zero(add_saturating(bucket->known, later_ms), ms_to_leak(rule, below));
    return add_saturating(from, ns_of(subtract_to_zero(at_ms, ms)));
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    const uint64_t poured = thousandths(cost), top = highest(rule, wait_ns);
    struct bucket bucket = bucket_at(rule, state, ms_at(rule, now));
    uint64_t from = now;
    if (poured > top) return (struct offer){now, UINT64_MAX};
    if (bucket.height > top - poured) {
        from = tick_of(rule, ms_when(rule, state, top - poured));
        bucket = bucket_at(rule, state, ms_at(rule, from));
    }
    return (struct offer){from, start_from(rule, &bucket, from, poured)};
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    return subtract_to_zero(highest(rule, 0), bucket_at(rule, state, ms_at(rule, at)).height) / THOUSAND;
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    const struct bucket bucket = bucket_at(rule, state, ms_at(rule, at));
    const uint64_t next[WORDS] = {least(add_saturating(bucket.level, thousandths(cost)), LEVEL_MAX), bucket.last};
    for (int i = 0; i < WORDS && cost != 0; i++) state[i] = next[i];
    return (struct taken){position(rule, bucket.last) + next[LEVEL], room(rule, next, start)};
}

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t ms = ms_at(rule, now);
    if (bucket_at(rule, state, ms).height == 0) return position(rule, ms);
    return position(rule, state[LAST]) + least(state[LEVEL], LEVEL_MAX);
}

/* Up to a ms after the start that was told: the bucket knows whole ms, and nobody starts before his turn. */
static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    (void)cost;
    const uint64_t level = end - position(rule, state[LAST]);
    if (level > INT64_MAX || level <= calm(rule)) return 0;
    return tick_of(rule, add_saturating(state[LAST], ms_to_leak(rule, level - calm(rule))));
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t ms = ms_at(rule, now);
    const struct bucket bucket = bucket_at(rule, state, ms);
    return bucket.last > ms || bucket.height > highest(rule, 0);
}

/* At its start no more of a slot is left in the bucket than starts at once; the rest has leaked, and been used. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    const uint64_t now_ms = ms_at(rule, now), start_ms = ms_at(rule, slot->start), at_start = highest(rule, 0);
    const uint64_t before = leak(rule, subtract_to_zero(start_ms, now_ms));
    const uint64_t since = leak_ceil(rule, subtract_to_zero(now_ms, start_ms));
    const uint64_t left = subtract_to_zero(least(thousandths(slot->cost), add_saturating(at_start, before)), since);
    const uint64_t back = least(thousandths(unused), left);
    state[LEVEL] = subtract_to_zero(least(state[LEVEL], LEVEL_MAX), back);
}

static uint64_t overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    const struct bucket bucket = bucket_at(rule, state, ms_at(rule, now));
    const uint64_t charged = least(extra, (LEVEL_MAX - bucket.level) / THOUSAND);
    if (charged == 0) return 0;
    state[LEVEL] = bucket.level + thousandths(charged);
    state[LAST] = bucket.last;
    return charged;
}

/* As many thousandths as the new rate leaks in the time in which the old one leaked these; in whole ms where 64 bits do
   not hold what relates the rates. */
static uint64_t same_time(const struct rule *from, const struct rule *to, uint64_t level)
{
    const uint64_t tops = most(greatest_common_divisor(from->second, to->second), 1);
    const uint64_t bottoms = most(greatest_common_divisor(from->third, to->third), 1);
    const uint64_t top = multiply_divide_floor(to->second / tops, from->third / bottoms, 1);
    const uint64_t bottom = multiply_divide_floor(from->second / tops, to->third / bottoms, 1);
    if (most(top, bottom) == UINT64_MAX) return leak_ceil(to, ms_to_leak(from, level));
    return multiply_divide_ceil(level, top, bottom);
}

static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const struct bucket bucket = bucket_at(from, state, ms_at(from, now));
    uint64_t used = least(bucket.level, highest(from, 0));
    const uint64_t waiting = bucket.level - used;
    if (how == WEIR_RESET) used = 0;
    if (how == WEIR_KEEP) used = same_time(from, to, used);
    next[LEVEL] = least(add_saturating(used, waiting), LEVEL_MAX);
    next[LAST] = bucket.last;
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t ms = ms_at(rule, now), left = decision->end - position(rule, ms);
    if (left == 0 || left > INT64_MAX) return now;
    return most(tick_of(rule, add_saturating(ms, ms_to_leak(rule, left))), now);
}

/* A bucket that one permit fills has to leak empty, in whole ms; a larger one loses nothing to them, unless it leaks
   empty within a ms. */
static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    const uint64_t at_once = highest(rule, 0) / THOUSAND;
    struct facts facts = {.at_once = at_once,
                          .fresh = at_once,
                          .largest = rule->burst,
                          .group = 1,
                          .spacing_ns = limit_spacing_ns(limit),
                          .full_ns = ns_of(ms_to_leak(rule, thousandths(rule->burst))),
                          .state_bytes = WORDS * sizeof(uint64_t)};
    if (rule->burst == 1) facts.spacing_ns = ns_of(ms_to_leak(rule, THOUSAND));
    if (thousandths(rule->burst) > leak(rule, 1)) return facts;
    facts.group = rule->burst;
    facts.spacing_ns = MILLISECOND_NS;
    return facts;
}

/* The window's first and last ns lie up to this many ms apart.  A delayed start is cut to its ms. */
static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    struct rule rule = {.burst = limit->burst, .fourth = limit->nodelay ? UINT64_MAX : limit->delay};
    if (!leak_rate(limit, &rule.second, &rule.third)) return UINT64_MAX;
    const uint64_t ms = multiply_divide_ceil(subtract_to_zero(window_ns, 1), 1, MILLISECOND_NS);
    const uint64_t full = thousandths(limit->burst), at_once = least(full, calm(&rule));
    if (limit->burst == 1) return add_saturating(1, ms / ms_to_leak(&rule, THOUSAND));
    if (at_once < full) return add_saturating(at_once, leak_ceil(&rule, ms + 1) - 1) / THOUSAND;
    const uint64_t each_ms = multiply_divide_floor(limit->burst, ms + 1, 1);
    return least(each_ms, add_saturating(full, leak(&rule, ms)) / THOUSAND);
}

const struct algorithm *leaky_algorithm(void)
{
    static const struct algorithm leaky = {
        .name = "leaky",
        .options = WITH(BURST) | WITH(DELAY) | WITH(NODELAY),
        .note = "counts in whole ms, as nginx does; without nodelay all above 1 + delay has to be reserved, and waits",
        .words = WORDS,
        .defaults = limit_default_burst,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .possible = possible,
        .offer = offer,
        .commit = commit,
        .room = room,
        .mark = mark,
        .start_of = start_of,
        .waited_for = waited_for,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
        .full = full,
    };
    return &leaky;
}
