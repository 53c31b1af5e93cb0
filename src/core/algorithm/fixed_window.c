/* SPDX-License-Identifier: MIT
   A counter that begins anew with every window.

       align=first                                    align=clock
       a call opens a window when none is open        windows stand where the clock has them, from 1970 on

           x  xx    x|         x    xx   |                     xx|xx       |    x    xx|
           |----W----|  rest   |----W----|                |---W---|---W----|---W----|
                     end                                         end

   A call passes while count + cost <= N, and is counted.  With count-refused one that does not pass is counted too, so
   that nothing passes any more in its window.  With block=T the first excess of a window moves its end to T from then
   on, never to an earlier time; until then nothing passes.  Nothing is taken ahead of its window.

       | end, 0 = never opened | count | end of those before | count of the fullest of them |        a cell, four words

   A call that waits because of another limit of its list is counted at its start, so the open window may lie ahead.
   A call before it has to fit into both, and is counted in both.  So a clock that goes back earns nothing.

   At most N permits pass in a window, and windows do not overlap.

   envoy ratelimit (clock, count-refused), limits and rate-limiter-flexible (first, count-refused, block), gubernator's
   TOKEN_BUCKET (first, and a ms longer). */
#include "core/algorithm.h"
#include "core/algorithm/window.h"
#include "core/clock.h"
#include "core/num.h"

enum { FIXED_END, FIXED_COUNT, FIXED_BEFORE_END, FIXED_BEFORE_COUNT, FIXED_WORDS };
enum { FIXED_ALIGNED = RULE_A };

_Static_assert((int)FIXED_WORDS <= (int)STATE_WORDS_MAX, "a fixed window fits the state");

/* From `at` to the end of the window that is opened there. */
static uint64_t opened_for(const struct rule *rule, uint64_t at)
{
    if (!(rule->flags & FIXED_ALIGNED)) return window_period(rule);
    return window_left(rule, window_epoch(rule), plain_ns(rule, at));
}

static bool lies_before(const uint64_t *state, uint64_t at)
{
    return at < state[FIXED_BEFORE_END];
}

/* What counts against a call at this time. */
static uint64_t counted(const uint64_t *state, uint64_t at)
{
    if (lies_before(state, at)) return most(state[FIXED_COUNT], state[FIXED_BEFORE_COUNT]);
    return at < state[FIXED_END] ? state[FIXED_COUNT] : 0;
}

static void count_at(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t cost)
{
    if (at >= state[FIXED_END]) {
        state[FIXED_BEFORE_COUNT] = most(state[FIXED_BEFORE_COUNT], state[FIXED_COUNT]);
        state[FIXED_BEFORE_END] = state[FIXED_END];
        state[FIXED_COUNT] = 0;
        state[FIXED_END] = add_saturating(at, opened_for(rule, at));
    } else if (lies_before(state, at)) {
        state[FIXED_BEFORE_COUNT] = add_saturating(state[FIXED_BEFORE_COUNT], cost);
    }
    state[FIXED_COUNT] = add_saturating(state[FIXED_COUNT], cost);
}

static struct limit_problem fixed_compile(struct limit *limit, struct rule *rule)
{
    if (limit->align == ALIGN_DEFAULT) limit->align = ALIGN_FIRST;
    if (limit->has_time) limit->count_refused = true;
    const struct limit_problem problem = limit_window(limit, rule);
    if (problem.message != NULL) return problem;
    if (limit->align == ALIGN_CLOCK) rule->flags |= FIXED_ALIGNED;
    if (limit->count_refused) rule->flags |= RULE_COUNTS_REFUSED;
    rule->block_ns = limit->time_ns;
    if (!limit->has_time || limit->time_ns != 0) return limit_fine();
    return limit_wrong(OPTION_BLOCK, "block is above 0; leave it out for no blocking; for example block=1min");
}

static void fixed_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    facts->group = rule->burst;
    facts->spacing_ns = facts->full_ns = limit->period_ns;
}

/* Either windows are opened at the first ns and at the end of each, or the first was opened before and used up at its
   last ns: all of it when the clock has opened it, all but the call that did when a call has. */
static uint64_t fixed_most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t count = limit->count.digits, period = limit->period_ns, ns = most(window_ns, 1);
    const uint64_t opened_inside = multiply_saturating(count, 1 + (ns - 1) / period);
    if (ns == 1) return opened_inside;
    const uint64_t opened_before = multiply_saturating(count, 2 + (ns - 2) / period);
    return most(opened_inside, limit->align == ALIGN_CLOCK ? opened_before : subtract_to_zero(opened_before, 1));
}

static struct offer fixed_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    if (add_saturating(counted(state, now), cost) <= rule->burst) return (struct offer){now, now};
    const uint64_t from =
        add_saturating(state[FIXED_COUNT], cost) <= rule->burst ? state[FIXED_BEFORE_END] : state[FIXED_END];
    return (struct offer){from, from};
}

static struct balance fixed_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t used = counted(state, now);
    return (struct balance){subtract_to_zero(rule->burst, used), subtract_to_zero(used, rule->burst), false};
}

static uint64_t fixed_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    return most(state[FIXED_END], now);
}

static struct taken fixed_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    if (cost != 0) count_at(rule, state, when.start, cost);
    return (struct taken){fixed_idle(rule, state, when.start), fixed_balance(rule, state, when.start).left};
}

static void fixed_refused(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    const bool blocked =
        now < state[FIXED_END] && state[FIXED_COUNT] > rule->burst; /* what follows does not block again */
    if (!(rule->flags & RULE_COUNTS_REFUSED)) return;
    count_at(rule, state, now, cost);
    if (blocked || rule->block_ns == 0) return;
    state[FIXED_COUNT] = most(state[FIXED_COUNT], add_saturating(rule->burst, 1));
    state[FIXED_END] = most(state[FIXED_END], add_saturating(now, rule->block_ns));
}

/* Windows do not overlap, so a call that started in this one was counted in it; a block only has an end. */
static bool counted_here(const struct rule *rule, const uint64_t *state, const struct slot *slot)
{
    const bool blocked = rule->block_ns != 0 && state[FIXED_COUNT] > rule->burst;
    if (!slot->guessed) return slot->end == state[FIXED_END];
    return slot->start < state[FIXED_END] && state[FIXED_END] - slot->start <= window_period(rule) && !blocked;
}

/* Of several that started then any may have opened it. */
static bool opened_by(const struct rule *rule, const uint64_t *state, const struct slot *slot)
{
    if (rule->flags & FIXED_ALIGNED) return false;
    return slot->start <= subtract_to_zero(state[FIXED_END], window_period(rule));
}

/* If the call that opened the window is cancelled, it was not opened; or where later ones are counted in it, one permit
   stays used: they may all have come at its end, just before the next window. */
static void fixed_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                            uint64_t unused)
{
    if (now >= state[FIXED_END] || !counted_here(rule, state, slot)) return;
    const uint64_t given = least(least(unused, slot->cost), state[FIXED_COUNT]), left = state[FIXED_COUNT] - given;
    const bool opened = given == slot->cost && opened_by(rule, state, slot), later = now > slot->start;
    state[FIXED_COUNT] = opened && later && left != 0 ? left + 1 : left;
    if (!opened || left != 0) return;
    state[FIXED_END] = state[FIXED_BEFORE_END];
    state[FIXED_COUNT] = state[FIXED_BEFORE_COUNT];
}

/* The open window stays open and keeps its count: from its start on it lasts as long as the new ones do, but if that is
   over by now as long as it still did.  A block stays, and so does an end that lies further off than a window. */
static void fixed_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                        uint64_t now, weir_carry how)
{
    const uint64_t count = counted(state, now), period = window_period(from), lasts = window_period(to);
    const uint64_t left = subtract_to_zero(state[FIXED_END], now), moved = add_saturating(left, lasts);
    const bool blocked = from->block_ns != 0 && count > from->burst;
    if (how == WEIR_RESET || left == 0) return;
    uint64_t stays = moved > period ? moved - period : least(left, lasts);
    if (to->flags & FIXED_ALIGNED) stays = opened_for(to, to->anchor_tick);
    if (blocked || left > period) stays = left;
    next[FIXED_END] = add_saturating(to->anchor_tick, stays);
    next[FIXED_COUNT] = blocked ? most(count, add_saturating(to->burst, 1)) : count;
}

const struct algorithm *fixed_window_algorithm(void)
{
    static const struct algorithm fixed_window = {
        .name = "fixed-window",
        .options = WITH(ALIGN) | WITH(BLOCK) | WITH(COUNT_REFUSED),
        .note = "nothing is reserved ahead of its window: a waiting call retries when the next one begins",
        .words = FIXED_WORDS,
        ALGORITHM_ANSWERS(fixed),
        .has_epoch = true,
        .facts = fixed_facts,
        .refused = fixed_refused,
    };
    return &fixed_window;
}
