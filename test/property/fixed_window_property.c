/* SPDX-License-Identifier: MIT
   The counter against a list of windows, and what passes in any window.

   list     every window that there ever was, with its begin, its end and its count.  A call that lies in several of
            them (the clock went back) has to fit into each.  weir remembers the last window and the fullest of those
            before, so where three of them hold it may refuse what the list lets pass; elsewhere verdict, retry,
            remaining and the time to full are equal.  The limit is changed now and then.
   slots    in a list with gcra, which makes calls wait, with cancelling and settling, and a clock that goes back: the
            time between two ends of windows is a slot, and no slot holds more than N */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 50, WINDOWS_MAX = 512, USES_MAX = 96, TEXT_SIZE = 192 };

static const uint64_t periods[] = {1000, 1, 2, 7, 60, 1000000000, 86400000000000};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* ---- list ---- */

struct window {
    uint64_t begin, end, count; /* ns */
};

struct listed {
    struct rule rule;
    uint64_t state[STATE_WORDS_MAX];
    uint64_t now_ns, epoch_ns; /* unix time = limiter's time + epoch_ns */
    struct window window[WINDOWS_MAX];
    int count;
    bool by_clock, counts_refused;
};

static void pick_rule(struct prop *prop, struct listed *listed)
{
    weir_plan plan;
    char text[TEXT_SIZE];
    const uint64_t block =
        prop_pick(prop, 4) == 3 ? periods[prop_pick(prop, LENGTH(periods))] * (1 + prop_pick(prop, 3)) : 0;
    listed->by_clock = prop_pick(prop, 2) == 1;
    listed->counts_refused = prop_pick(prop, 2) == 1 || block != 0;
    int length = snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns algorithm=fixed-window align=%s%s",
                          1 + prop_pick_size(prop, prop_chance(prop, 8) ? UINT64_MAX - 2 : 20),
                          periods[prop_pick(prop, LENGTH(periods))], listed->by_clock ? "clock" : "first",
                          listed->counts_refused ? " count-refused" : "");
    if (block != 0) snprintf(text + length, sizeof text - (size_t)length, " block=%" PRIu64 "ns", block);
    prop_check(prop, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "\"%s\" is refused", text);
    prop_note(prop, "limit \"%s\"", text);
    listed->rule = plan_inside(&plan)->rule[0];
    algorithm_align(&listed->rule, listed->now_ns, listed->now_ns + listed->epoch_ns);
}

static struct window *last(struct listed *listed)
{
    return listed->count == 0 ? NULL : &listed->window[listed->count - 1];
}

static bool is_open(struct listed *listed)
{
    return last(listed) != NULL && listed->now_ns < last(listed)->end;
}

static void open_window(struct listed *listed)
{
    const uint64_t now = listed->now_ns, period = listed->rule.period_ns;
    const uint64_t begin = listed->by_clock ? now - (now + listed->epoch_ns) % period : now;
    listed->window[listed->count++] = (struct window){begin, begin + period, 0};
}

/* The most that is counted in a window which now lies in, or before. */
static uint64_t fullest(struct listed *listed)
{
    uint64_t count = 0;
    for (int i = 0; i < listed->count; i++) {
        if (listed->now_ns < listed->window[i].end) count = most(count, listed->window[i].count);
    }
    return count;
}

static uint64_t room(struct listed *listed)
{
    return subtract_to_zero(listed->rule.burst, fullest(listed));
}

static bool fits(struct listed *listed, uint64_t cost)
{
    const uint64_t count = fullest(listed);
    return count <= listed->rule.burst && cost <= listed->rule.burst - count;
}

static void count_call(struct listed *listed, uint64_t cost)
{
    if (!is_open(listed)) open_window(listed);
    for (int i = 0; i < listed->count; i++) {
        struct window *window = &listed->window[i];
        if (listed->now_ns < window->end) window->count = add_saturating(window->count, cost);
    }
}

static void count_refusal(struct listed *listed, uint64_t cost)
{
    const bool in_excess = is_open(listed) && last(listed)->count > listed->rule.burst;
    if (!listed->counts_refused) return;
    count_call(listed, cost);
    if (in_excess || listed->rule.block_ns == 0) return;
    last(listed)->count = most(last(listed)->count, add_saturating(listed->rule.burst, 1));
    last(listed)->end = most(last(listed)->end, listed->now_ns + listed->rule.block_ns);
}

/* Is there at most one window before the last that now lies in or before? */
static bool two_at_most(struct listed *listed)
{
    return listed->count <= 2 || listed->now_ns >= listed->window[listed->count - 2].end;
}

static weir_decision would(const struct listed *listed, uint64_t now_ns, uint64_t cost, bool peek)
{
    uint64_t copy[STATE_WORDS_MAX];
    weir_decision decision;
    memcpy(copy, listed->state, sizeof copy);
    decide((struct rules){&listed->rule, 1}, copy, &(struct question){now_ns, 0, &cost, peek}, NULL, &decision);
    return decision;
}

static void check_retry(struct prop *prop, const struct listed *listed, uint64_t retry_ns, uint64_t cost)
{
    prop_check(prop, retry_ns > 0, "nothing to wait for");
    const uint64_t then_ns = listed->now_ns + retry_ns;
    prop_check(prop, would(listed, then_ns - 1, cost, false).verdict == WEIR_DENY, "passes before %" PRIu64, retry_ns);
    prop_check(prop, would(listed, then_ns, cost, false).verdict == WEIR_ALLOW, "refused after %" PRIu64, retry_ns);
}

static void check_told(struct prop *prop, struct listed *listed, const weir_decision *got)
{
    if (!two_at_most(listed)) return;
    const uint64_t end = is_open(listed) ? last(listed)->end : listed->now_ns;
    const uint64_t full = listed->rule.anchor_ns + (got->end - listed->rule.anchor_tick);
    prop_check(prop, got->remaining == room(listed), "%" PRIu64 " remain, not %" PRIu64, got->remaining, room(listed));
    prop_check(prop, full == end, "full at %" PRIu64 ", not %" PRIu64, full, end);
}

static void take(struct prop *prop, struct listed *listed)
{
    const uint64_t limit = listed->rule.burst, small = 1 + prop_pick(prop, 3);
    const uint64_t cost =
        prop_pick(prop, 4) > 0 ? small : prop_pick_size(prop, limit > UINT64_MAX / 2 ? limit : 2 * limit);
    const bool passes = fits(listed, cost);
    const weir_decision peek = would(listed, listed->now_ns, cost, true);
    weir_decision got;
    decide((struct rules){&listed->rule, 1}, listed->state, &(struct question){listed->now_ns, 0, &cost, false}, NULL,
           &got);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": verdict %u, retry %" PRIu64 ", remaining %" PRIu64,
              listed->now_ns, cost, got.verdict, got.retry_ns, got.remaining);
    prop_check(prop, peek.verdict == got.verdict, "peek says %u, take %u", peek.verdict, got.verdict);
    prop_check(prop, (got.verdict == WEIR_NEVER) == (cost > limit), "verdict %u for %" PRIu64, got.verdict, cost);
    prop_check(prop, passes || !weir_allowed(got), "the list does not let it pass");
    prop_check(prop, !passes || weir_allowed(got) || !two_at_most(listed), "the list lets it pass");
    if (weir_allowed(got)) {
        if (cost != 0) count_call(listed, cost);
    } else {
        count_refusal(listed, cost);
    }
    check_told(prop, listed, &got);
    if (got.verdict == WEIR_DENY) check_retry(prop, listed, got.retry_ns, cost);
}

/* The end of the open window under another rule. */
static uint64_t carried_end(const struct listed *before, const struct window *window, bool blocked,
                            const struct listed *after)
{
    const uint64_t now = before->now_ns, lasts = after->rule.period_ns;
    if (blocked || window->end - now > before->rule.period_ns) return window->end;
    if (after->by_clock) return now + lasts - (now + after->epoch_ns) % lasts;
    /* What began it is gone when the limit was changed before: an end says when it would have begun. */
    const int64_t begin = (int64_t)(window->end - before->rule.period_ns); /* below 0 near the clock's beginning */
    const int64_t end = begin + (int64_t)lasts;
    return end > (int64_t)now ? (uint64_t)end : least(window->end, now + lasts);
}

static void change(struct prop *prop, struct listed *listed)
{
    static struct listed before;
    before = *listed;
    uint64_t now = tick_at(&listed->rule, listed->now_ns);
    const weir_carry how = (weir_carry)prop_pick(prop, 3);
    if (listed->now_ns < listed->rule.anchor_ns) return; /* a limiter's clock does not go back behind a change */
    if (!two_at_most(listed)) return;
    pick_rule(prop, listed);
    listed->rule.anchor_ns = listed->now_ns;
    listed->rule.anchor_tick = 1 + prop_pick_size(prop, UINT64_C(1) << 40);
    prop_note(prop, "%" PRIu64 " ns: changed to it, carry %d", listed->now_ns, (int)how);
    memset(listed->state, 0, sizeof listed->state);
    algorithm_of(&listed->rule)->carry(&before.rule, &listed->rule, before.state, listed->state, now, how);
    listed->count = 0;
    if (how == WEIR_RESET || !is_open(&before)) return;
    struct window window = *last(&before);
    window.count = fullest(&before);
    const bool blocked = before.rule.block_ns != 0 && window.count > before.rule.burst;
    window.end = carried_end(&before, &window, blocked, listed);
    if (blocked) window.count = most(window.count, add_saturating(listed->rule.burst, 1));
    listed->window[listed->count++] = window;
}

static uint64_t pick_gap(struct prop *prop, uint64_t period)
{
    switch (prop_pick(prop, 5)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return period - 1 + prop_pick(prop, 3);
    case 3:
        return prop_pick(prop, period + 1);
    default:
        return prop_pick_size(prop, 4 * period);
    }
}

static void list_property(struct prop *prop)
{
    static struct listed listed;
    memset(&listed, 0, sizeof listed);
    listed.now_ns = UINT64_C(1) << 50;
    listed.epoch_ns = prop_pick_size(prop, UINT64_C(1) << 61);
    pick_rule(prop, &listed);
    while (prop_more(prop, STEPS_MEAN) && listed.count < WINDOWS_MAX - 1) {
        prop_step(prop);
        const uint64_t gap_ns = pick_gap(prop, listed.rule.period_ns);
        if (prop_chance(prop, 10)) listed.now_ns = most(subtract_to_zero(listed.now_ns, gap_ns), listed.rule.anchor_ns);
        else listed.now_ns += gap_ns;
        if (prop_chance(prop, 16)) change(prop, &listed);
        else take(prop, &listed);
    }
}

/* ---- slots ---- */

struct use {
    weir_decision decision;
    uint64_t start_ns, permits, cost[2], end[2];
    bool settled;
};

struct slots {
    weir_plan plan;
    uint64_t state[2 * STATE_WORDS_MAX];
    uint64_t now_ns;
    struct use use[USES_MAX];
    int count;
};

static void reserve(struct prop *prop, struct slots *slots)
{
    const struct plan *inside = plan_inside_const(&slots->plan);
    struct use *use = &slots->use[slots->count];
    use->cost[0] = 1 + prop_pick(prop, 4);
    use->cost[1] = prop_pick(prop, 3);
    const uint64_t wait_ns = prop_pick(prop, 3) == 0 ? 0 : prop_pick_size(prop, 8 * inside->limit[0].period_ns);
    const struct question question = {slots->now_ns, wait_ns, use->cost, false};
    decide(plan_rules(inside), slots->state, &question, use->end, &use->decision);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 " and %" PRIu64 ": verdict %u, delay %" PRIu64, slots->now_ns,
              use->cost[0], use->cost[1], use->decision.verdict, use->decision.delay_ns);
    if (!weir_allowed(use->decision)) return;
    use->start_ns = slots->now_ns + use->decision.delay_ns;
    use->permits = use->cost[0];
    use->settled = false;
    slots->count++;
}

static void settle_one(struct prop *prop, struct slots *slots)
{
    struct use *use = &slots->use[prop_pick(prop, (uint64_t)slots->count)];
    if (use->settled) return;
    const uint64_t actual[2] = {prop_pick(prop, use->cost[0] + 1), prop_pick(prop, use->cost[1] + 1)};
    decide_settle(plan_rules(plan_inside_const(&slots->plan)), slots->state, slots->now_ns, &use->decision, use->cost,
                  actual, use->end);
    prop_note(prop, "%" PRIu64 " ns: settle call %d to %" PRIu64, slots->now_ns, (int)(use - slots->use), actual[0]);
    use->settled = true;
    use->permits = actual[0];
}

static void check_slots(struct prop *prop, const struct slots *slots)
{
    const struct limit *limit = &plan_inside_const(&slots->plan)->limit[0];
    for (int i = 0; i < slots->count; i++) {
        for (int j = 0; j < slots->count; j++) {
            const uint64_t from = slots->use[i].start_ns, to = slots->use[j].start_ns;
            uint64_t used = 0;
            if (to < from) continue;
            for (int k = 0; k < slots->count; k++) {
                const struct use *use = &slots->use[k];
                if (use->start_ns >= from && use->start_ns <= to) used += use->permits;
            }
            const uint64_t touched = to == from ? 1 : 2 + (to - from - 1) / limit->period_ns;
            prop_check(prop, used <= touched * limit->count.digits,
                       "%" PRIu64 " permits from %" PRIu64 " to %" PRIu64 ", in %" PRIu64 " windows at most", used,
                       from, to, touched);
        }
    }
}

static void slots_property(struct prop *prop)
{
    static struct slots slots;
    char text[TEXT_SIZE];
    memset(&slots, 0, sizeof slots);
    const uint64_t period = 1 + prop_pick(prop, 50);
    snprintf(text, sizeof text,
             "%" PRIu64 "/%" PRIu64 "ns algorithm=fixed-window align=%s%s; 1/%" PRIu64 "ns burst=%d algorithm=gcra",
             1 + prop_pick(prop, 8), period, prop_pick(prop, 2) == 0 ? "first" : "clock",
             prop_pick(prop, 3) == 2 ? " count-refused" : "", 1 + prop_pick(prop, period), 2 + (int)prop_pick(prop, 8));
    prop_check(prop, weir_plan_parse(&slots.plan, text, WEIR_ADMIT, NULL) == 0, "\"%s\" is refused", text);
    prop_note(prop, "plan \"%s\"", text);
    slots.now_ns = 1000;
    while (prop_more(prop, STEPS_MEAN) && slots.count < USES_MAX) {
        prop_step(prop);
        const uint64_t gap_ns = pick_gap(prop, period) / 2;
        if (prop_chance(prop, 10)) slots.now_ns = subtract_to_zero(slots.now_ns, gap_ns);
        else slots.now_ns += gap_ns;
        if (slots.count > 0 && prop_chance(prop, 4)) settle_one(prop, &slots);
        else reserve(prop, &slots);
    }
    check_slots(prop, &slots);
}

static void fixed_window_property(struct prop *prop)
{
    if (prop_pick(prop, 4) < 3) list_property(prop);
    else slots_property(prop);
}

PROPERTY("fixed_window", fixed_window_property, 30000);
