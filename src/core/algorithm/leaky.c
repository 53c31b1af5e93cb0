/* SPDX-License-Identifier: MIT
   The leaky bucket as nginx's limit_req keeps it: whole milliseconds, thousandths of a permit.

   A permit pours 1000 thousandths into a bucket that leaks at the rate.  What fits is let in; up to `calm` it starts at
   once, above that it waits until the bucket has leaked down to `calm`:

       burst |--------------------  above: refused, and nothing is poured
             |   starts later
        calm |--------------------  delay + 1 permits; with nodelay as high as burst
             |   starts at once
           0 |__| level, known at `last` and leaking since

       level = max(0, level - floor(rate * ms)) + 1000 * permits          last = now

       | level, thousandths | last, ms |      a cell of two words, both 0: fresh

   The leak of each call is rounded down, so the answers depend on when the calls came; a permit loses less than a
   thousandth of itself.  nginx counts an excess: the level before the call.

   Where the clock goes back, the level is as high as it was then: it leaks down to what is stored at `last`.  (nginx
   stands still for up to a minute, and then begins anew from the earlier time.)

   At most burst + rate * (t + 1 ms) permits start in any window t; nodelay without the 1 ms, for windows of whole ms.
   Source: nginx 1.22.1. */
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { LEAKY_LEVEL, LEAKY_LAST, LEAKY_WORDS };
enum { MILLISECOND_NS = 1000000, LEAKY_SECOND_NS = 1000000000, THOUSAND = 1000 };
static const uint64_t LEAKY_LEVEL_MAX = UINT64_C(1) << 62; /* burst fits twice */

static uint64_t thousandths(uint64_t permits)
{
    return multiply_saturating(permits, THOUSAND);
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

/* Leaked since time 0.  It wraps; with the level on top it is the end of the last slot. */
static uint64_t position(const struct rule *rule, uint64_t ms)
{
    const uint64_t group_ms = most(rule->third, 1);
    return ms / group_ms * rule->second + leak(rule, ms % group_ms);
}

static uint64_t ms_at(const struct rule *rule, uint64_t tick)
{
    return plain_ns(rule, tick) / MILLISECOND_NS;
}

static uint64_t leaky_ns_of(uint64_t ms)
{
    return multiply_saturating(ms, MILLISECOND_NS);
}

static uint64_t leaky_tick_of(const struct rule *rule, uint64_t ms)
{
    return plain_tick(rule, leaky_ns_of(ms));
}

static uint64_t leaky_calm(const struct rule *rule)
{
    return thousandths(add_saturating(rule->fourth, 1));
}

/* As high as the bucket may be, if the call may wait: the wait is cut to whole ms, and so is the delay. */
static uint64_t leaky_highest(const struct rule *rule, uint64_t wait_ns)
{
    const uint64_t late = leak_ceil(rule, wait_ns / MILLISECOND_NS + 1);
    return least(thousandths(rule->burst), add_saturating(leaky_calm(rule), subtract_to_zero(late, 1)));
}

/* How high the bucket stands, and the words from which it goes on: where the clock went back they are known later. */
struct bucket {
    uint64_t height, level, last, later_ms;
};

static struct bucket leaky_bucket_at(const struct rule *rule, const uint64_t *state, uint64_t tick)
{
    const uint64_t level = state[LEAKY_LEVEL], last = state[LEAKY_LAST], ms = ms_at(rule, tick);
    if (ms < last) return (struct bucket){add_saturating(level, leak_ceil(rule, last - ms)), level, last, last - ms};
    const uint64_t left = subtract_to_zero(level, leak(rule, ms - last));
    return (struct bucket){left, left, ms, 0};
}

/* The first ms at which the bucket is no higher than this. */
static uint64_t ms_when(const struct rule *rule, const uint64_t *state, uint64_t height)
{
    const uint64_t level = state[LEAKY_LEVEL], last = state[LEAKY_LAST];
    if (level > height) return add_saturating(last, ms_to_leak(rule, level - height));
    return subtract_to_zero(last, multiply_divide_floor(height - level, rule->third, rule->second));
}

/* Until it has leaked down to `calm`, with what is poured in: cut to whole ms. */
static uint64_t delay_ms(const struct rule *rule, const struct bucket *bucket, uint64_t poured)
{
    const uint64_t level = add_saturating(bucket->level, poured), at_once = leaky_calm(rule);
    if (level < at_once) return subtract_to_zero(bucket->later_ms, ms_to_leak(rule, at_once - level));
    return add_saturating(bucket->later_ms, multiply_divide_floor(level - at_once, rule->third, rule->second));
}

static struct limit_problem leak_rate(const struct limit *limit, struct rule *rule)
{
    uint64_t permits, period_ns;
    const struct limit_problem problem = limit_read_rate(limit, &permits, &period_ns);
    if (problem.message != NULL) return problem;
    const uint64_t common = greatest_common_divisor(period_ns, LEAKY_SECOND_NS);
    rule->second = multiply_saturating(permits, LEAKY_SECOND_NS / common);
    rule->third = period_ns / common;
    return rule->second != UINT64_MAX ? problem : limit_too_many_digits();
}

static struct limit_problem leaky_compile(struct limit *limit, struct rule *rule)
{
    limit_default_burst(limit);
    limit_plain_clock(rule);
    rule->burst = limit->burst;
    rule->fourth = limit->nodelay ? UINT64_MAX : limit->delay;
    const struct limit_problem problem = leak_rate(limit, rule);
    if (problem.message != NULL) return problem;
    if (limit->burst_kind == AMOUNT_TIME) {
        return limit_wrong(OPTION_BURST, "leaky counts its burst in permits; for example burst=20");
    }
    if (limit->burst == 0) {
        return limit_wrong(OPTION_BURST, "burst is at least 1, or nothing could ever pass; for example burst=1");
    }
    if (thousandths(limit->burst) > LEAKY_LEVEL_MAX / 2) {
        return limit_wrong(OPTION_BURST, "leaky counts its burst in thousandths, up to 2^61; choose a smaller one, "
                                         "for example burst=20");
    }
    if (limit->has_delay && limit->nodelay) {
        return limit_wrong(OPTION_NODELAY, "nodelay delays nothing; write it, or delay=8, but not both");
    }
    if (!limit->has_delay || limit->delay != 0) return limit_fine();
    return limit_wrong(OPTION_DELAY, "delay is at least 1; to delay all that is above the rate leave it out; "
                                     "for example delay=8");
}

static struct offer leaky_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                uint64_t wait_ns)
{
    const uint64_t poured = thousandths(cost), top = leaky_highest(rule, wait_ns);
    struct bucket bucket = leaky_bucket_at(rule, state, now);
    uint64_t from = now;
    if (poured > top) return (struct offer){now, UINT64_MAX};
    if (bucket.height > top - poured) {
        from = leaky_tick_of(rule, ms_when(rule, state, top - poured));
        bucket = leaky_bucket_at(rule, state, from);
    }
    return (struct offer){from, add_saturating(from, leaky_ns_of(delay_ms(rule, &bucket, poured)))};
}

static uint64_t leaky_room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    return subtract_to_zero(leaky_highest(rule, 0), leaky_bucket_at(rule, state, at).height) / THOUSAND;
}

static struct taken leaky_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const struct bucket bucket = leaky_bucket_at(rule, state, when.from);
    const uint64_t next[LEAKY_WORDS] = {least(add_saturating(bucket.level, thousandths(cost)), LEAKY_LEVEL_MAX),
                                        bucket.last};
    if (cost != 0) memcpy(state, next, sizeof next);
    const bool stands = cost == 0 && bucket.height != 0; /* where the last slot ends was said by its own leak */
    const uint64_t end = stands ? position(rule, state[LEAKY_LAST]) + state[LEAKY_LEVEL]
                                : position(rule, bucket.last) + next[LEAKY_LEVEL];
    return (struct taken){end, leaky_room(rule, next, when.start)};
}

/* Behind a clock that went back a call may wait. */
static struct balance leaky_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct bucket bucket = leaky_bucket_at(rule, state, now);
    const uint64_t top = leaky_highest(rule, 0), above = subtract_to_zero(bucket.height, top);
    const bool waits = above != 0 || bucket.later_ms != 0;
    return (struct balance){subtract_to_zero(top, bucket.height) / THOUSAND, above / THOUSAND, waits};
}

/* Of a slot that starts no more is left in the bucket than `calm`; the rest has leaked, and been used: until now, or
   until the last call, where the clock is behind it.  Where its delay was cut to whole ms the bucket stands higher, but
   by how much is not known any more: a later call may be on top. */
static void leaky_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                            uint64_t unused)
{
    const uint64_t now_ms = most(ms_at(rule, now), state[LEAKY_LAST]), start_ms = ms_at(rule, slot->start);
    const uint64_t at_start = least(thousandths(rule->burst), leaky_calm(rule));
    const uint64_t before = leak(rule, subtract_to_zero(start_ms, now_ms));
    const uint64_t since = leak_ceil(rule, subtract_to_zero(now_ms, start_ms));
    const uint64_t left = subtract_to_zero(least(thousandths(slot->cost), add_saturating(at_start, before)), since);
    const uint64_t back = least(thousandths(unused), left);
    state[LEAKY_LEVEL] = subtract_to_zero(state[LEAKY_LEVEL], back);
}

/* What was used stays the whole ms in which it leaks; more of them than 64 bits hold fill the bucket. */
static void leaky_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                        uint64_t now, weir_carry how)
{
    const bool same = from->second == to->second && from->third == to->third;
    const struct bucket bucket = leaky_bucket_at(from, state, now);
    const uint64_t used = least(bucket.level, leaky_highest(from, 0)), waiting = bucket.level - used;
    uint64_t kept = how == WEIR_RESET ? 0 : used;
    const uint64_t used_ms = ms_to_leak(from, used);
    if (how == WEIR_KEEP && !same) kept = used_ms == UINT64_MAX ? LEAKY_LEVEL_MAX : leak_ceil(to, used_ms);
    next[LEAKY_LEVEL] = least(add_saturating(kept, waiting), LEAKY_LEVEL_MAX);
    next[LEAKY_LAST] = bucket.last;
}

static uint64_t leaky_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t ms = ms_at(rule, now), left = decision->end - position(rule, ms);
    if (left == 0 || left > INT64_MAX) return now;
    return most(leaky_tick_of(rule, add_saturating(ms, ms_to_leak(rule, left))), now);
}

static uint64_t leaky_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return most(leaky_tick_of(rule, ms_when(rule, state, 0)), now);
}

/* Does it leak empty before it can be filled again?  Then whole ms cost it part of the rate, and else nothing. */
static bool leaks_empty(const struct rule *rule)
{
    return rule->burst == 1 || thousandths(rule->burst) <= leak(rule, 1);
}

static void leaky_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    (void)limit;
    facts->full_ns = leaky_ns_of(ms_to_leak(rule, thousandths(rule->burst)));
    if (!leaks_empty(rule)) return;
    facts->group = rule->burst;
    facts->spacing_ns = facts->full_ns;
}

/* The window's first and last ns lie up to this many ms apart.  A delayed start is cut to its ms. */
static uint64_t leaky_most_in(const struct limit *limit, uint64_t window_ns)
{
    struct limit said = *limit;
    struct rule rule = {0};
    if (leaky_compile(&said, &rule).message != NULL) return UINT64_MAX;
    const uint64_t ms = multiply_divide_ceil(subtract_to_zero(window_ns, 1), 1, MILLISECOND_NS);
    const uint64_t full = thousandths(limit->burst), at_once = least(full, leaky_calm(&rule));
    if (leaks_empty(&rule)) return multiply_saturating(limit->burst, 1 + ms / most(ms_to_leak(&rule, full), 1));
    const uint64_t leaked = at_once < full ? leak_ceil(&rule, ms + 1) - 1 : leak(&rule, ms);
    return add_saturating(at_once, leaked) / THOUSAND;
}

const struct algorithm *leaky_algorithm(void)
{
    static const struct algorithm leaky = {
        .name = "leaky",
        .options = WITH(BURST) | WITH(DELAY) | WITH(NODELAY),
        .note = "counts in whole ms, as nginx does; without nodelay, calls above 1 + delay must be reserved, and wait",
        .words = LEAKY_WORDS,
        ALGORITHM_ANSWERS(leaky),
        .facts = leaky_facts,
        .full = leaky_full,
    };
    return &leaky;
}
