/* SPDX-License-Identifier: MIT
   Many threads at a list of limits: never more than each of them lets through, and none is lost.

   While time stands still every number is exact: what is left of a limit is what it held, less what was charged and not
   given back, whatever the order.  While time goes on the starts of what was charged in the end are held against the
   most that each limit lets through in a window, for windows of many lengths.  In the end, after a long rest, the list
   holds what one holds that a single call had touched.

   Time is the manual clock's, so the numbers are exact. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "plan/plan.h"
#include "size.h"

enum { THREADS = 8, SLOTS = 16, CALLS = 40000, BUDGET = 12, COST_MAX = 40 };
static const uint64_t SECOND_NS = 1000000000, PERIOD_NS = 100000000, TICK_MAX_NS = 50000;

struct form {
    const char *limits;
    uint64_t at_once[WEIR_LIMITS_MAX]; /* what each holds after a rest */
};

static const struct form forms[] = {
    {"6000/s burst=600; 600/100ms algorithm=fixed-window; 600/100ms algorithm=sliding-log", {600, 600, 600}},
    {"6000/s burst=600; 600/100ms algorithm=cycle", {600, 600}},
    {"6000/s burst=600 start=full algorithm=hybrid; 600/100ms algorithm=sliding-log", {600, 600}},
    {"600/100ms algorithm=sliding-window; 6000/s burst=600 algorithm=leaky nodelay; 9000/s burst=700", {600, 600, 700}},
    {"600/100ms align=clock; 4000/s burst=100ms start=full algorithm=bursty pay=self; 600/100ms edge=closed",
     {600, 400, 600}},
    {"5000/s burst=600; 7000/s burst=500; 600/100ms algorithm=cycle align=clock; 900/100ms algorithm=fixed-window; "
     "900/100ms algorithm=sliding-log; 800/100ms algorithm=sliding-window; 7000/s burst=900 algorithm=leaky nodelay; "
     "9000/s burst=900 start=full algorithm=hybrid",
     {600, 500, 600, 900, 900, 800, 900, 900}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* A call as it was charged in the end. */
struct call {
    uint64_t start_ns;
    uint64_t cost[WEIR_LIMITS_MAX];
};

/* What a thread has, and what became of it. */
struct hand {
    weir_decision decision[SLOTS];
    uint64_t cost[SLOTS][WEIR_LIMITS_MAX], end[SLOTS][WEIR_LIMITS_MAX];
    bool same[SLOTS]; /* one cost for all, and no ends: settled as one */
    uint64_t random, kept, granted, refused, odd;
    size_t calls;
    struct call call[CALLS];
};

static uint64_t steps, rounds, periods; /* how much is done */
static struct crowd crowd;
static weir_plan plan;
static const struct form *form;
static int limits;
static struct hand hand[THREADS];
static struct call all[THREADS * CALLS];
static atomic_ullong clock_ns;

static uint64_t below(struct hand *mine, uint64_t bound)
{
    mine->random = mine->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (mine->random >> 33) % bound;
}

static void set_clock(uint64_t now_ns)
{
    atomic_store(&clock_ns, now_ns);
    weir_manual_set(crowd.limiter, (weir_instant){now_ns});
}

static void open_form(const struct form *which, const char *part, void (*body)(struct member *))
{
    crowd_begin(part);
    printf("  %s\n", which->limits);
    form = which;
    crowd_check(weir_plan_parse(&plan, form->limits, WEIR_ADMIT, NULL) == 0, form->limits);
    limits = weir_plan_limits(&plan);
    crowd.limiter = crowd_limiter(form->limits, WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = body;
    memset(hand, 0, sizeof hand);
    for (int i = 0; i < THREADS; i++) hand[i].random = (uint64_t)i * 977 + 1;
}

/* ---- what threads do ---- */

static void note(struct hand *mine, const weir_decision *decision, const uint64_t cost[])
{
    uint64_t sum = 0;
    for (int i = 0; i < limits; i++) sum += cost[i];
    if (sum == 0) return;
    crowd_check(mine->calls < CALLS, "more calls than there is room for");
    struct call *call = &mine->call[mine->calls++];
    call->start_ns = decision->start.ns;
    for (int i = 0; i < limits; i++) call->cost[i] = cost[i];
}

static void settle_held(struct hand *mine, int slot, uint64_t actual[])
{
    weir_decision *decision = &mine->decision[slot];
    const uint64_t *cost = mine->cost[slot], *end = mine->end[slot];
    if (!mine->same[slot]) weir_settle_each(crowd.limiter, decision, cost, actual, end);
    else if (actual[0] == 0) weir_cancel(crowd.limiter, decision);
    else weir_settle(crowd.limiter, decision, actual[0]);
    mine->odd += decision->charged != 0;
    weir_cancel(crowd.limiter, decision); /* settled once, nothing more is given back */
    for (int i = 0; i < limits; i++) actual[i] = least(actual[i], cost[i]);
    note(mine, decision, actual);
    decision->verdict = 0;
}

/* Some never ran, some ran as they were charged, some used less; and where it may, some more. */
static void finish(struct hand *mine, int slot, bool much)
{
    uint64_t actual[WEIR_LIMITS_MAX] = {0};
    const uint64_t kind = much || mine->kept < BUDGET ? below(mine, much ? 5 : 4) : 0;
    const bool same = mine->same[slot];
    if (mine->decision[slot].verdict != WEIR_ALLOW) return;
    for (int i = 0; i < limits && kind != 0; i++) {
        const uint64_t cost = mine->cost[slot][i];
        const uint64_t used = kind == 4 ? cost + below(mine, 3) : much && kind == 1 ? cost : below(mine, cost + 1);
        actual[i] = same && i != 0 ? actual[0] : much ? used : least(used, 2);
    }
    mine->kept += kind != 0;
    settle_held(mine, slot, actual);
}

static void ask(struct hand *mine, int slot, uint64_t delay_max_ns)
{
    weir_limiter *limiter = crowd.limiter;
    weir_decision *decision = &mine->decision[slot];
    uint64_t *cost = mine->cost[slot];
    mine->same[slot] = below(mine, 2) == 0;
    for (int i = 0; i < limits; i++) {
        cost[i] = below(mine, 4) == 0 ? below(mine, COST_MAX + 1) : 1 + below(mine, 3);
        if (mine->same[slot]) cost[i] = cost[0];
    }
    if (!mine->same[slot]) *decision = weir_take_each(limiter, cost, mine->end[slot]);
    else if (below(mine, 4) == 0) *decision = weir_take_some(limiter, cost[0] + 1);
    else *decision = weir_reserve(limiter, cost[0], delay_max_ns);
    const bool passed = decision->verdict == WEIR_ALLOW;
    for (int i = 0; i < limits && passed && mine->same[slot]; i++) cost[i] = decision->charged;
    mine->granted += passed;
    mine->refused += !passed;
    mine->odd += !passed && (decision->verdict != WEIR_DENY || decision->charged != 0 || decision->retry_ns == 0);
    mine->odd += decision->limit >= (uint32_t)limits;
}

static void look_around(struct hand *mine)
{
    const weir_decision peeked = weir_peek_limit(crowd.limiter, (int)below(mine, (uint64_t)limits), 1);
    mine->odd += peeked.verdict != WEIR_ALLOW && peeked.verdict != WEIR_DENY;
    if (below(mine, 4) == 0) sched_yield();
}

static void finish_all(struct hand *mine, bool much)
{
    for (int slot = 0; slot < SLOTS; slot++) finish(mine, slot, much);
}

/* What was charged and not given back since these calls. */
static uint64_t charged_of(int limit, size_t first_call[])
{
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        for (size_t k = first_call[i]; k < hand[i].calls; k++) sum += hand[i].call[k].cost[limit];
    }
    return sum;
}

static void check_hands(void)
{
    uint64_t odd = 0, granted = 0, refused = 0;
    for (int i = 0; i < THREADS; i++) {
        odd += hand[i].odd;
        granted += hand[i].granted;
        refused += hand[i].refused;
    }
    printf("  %d granted, %d refused\n", (int)granted, (int)refused);
    crowd_check(odd == 0, "an answer that cannot be");
    crowd_check(granted > 20 * periods, "next to nothing passed");
    /* Slow threads that give back half of what they take may never meet the limit, 600 a period. */
    crowd_check(refused > 0 || granted < 1200 * periods, "nothing was refused");
}

/* ---- time stands still ---- */

static void take_and_give_back(struct member *member)
{
    struct hand *mine = &hand[member->number];
    mine->kept = 0;
    for (uint64_t step = 0; step < steps; step++) {
        const int slot = (int)below(mine, SLOTS);
        if (mine->decision[slot].verdict == WEIR_ALLOW) finish(mine, slot, false);
        else ask(mine, slot, 0);
        if (step % 8 == 0) look_around(mine);
    }
    finish_all(mine, false);
}

/* Each limit holds what it held, less what was charged and not given back. */
static void conserve(const struct form *which)
{
    size_t first_call[THREADS];
    open_form(which, "conserve: what was not used is there again", take_and_give_back);
    for (uint64_t round = 1; round <= rounds; round++) {
        set_clock(round * SECOND_NS + 7);
        for (int i = 0; i < THREADS; i++) first_call[i] = hand[i].calls;
        crowd_start(&crowd);
        crowd_join(&crowd);
        for (int i = 0; i < limits; i++) {
            const uint64_t left = weir_peek_limit(crowd.limiter, i, 0).remaining;
            const uint64_t wanted = form->at_once[i] - charged_of(i, first_call);
            if (left != wanted) printf("limit %d: %d, not %d\n", i, (int)left, (int)wanted);
            crowd_check(left <= wanted, "more is there than was given back");
            crowd_check(left >= wanted, "permits are lost");
        }
    }
    check_hands();
    weir_close(crowd.limiter);
}

/* ---- exactly the tightest ---- */

static void take_all(struct member *member)
{
    weir_decision decision;
    do {
        decision = weir_take(member->crowd->limiter, 1);
        crowd_count(member, &decision);
    } while (decision.verdict == WEIR_ALLOW);
}

static uint64_t granted_to_all(void)
{
    uint64_t granted = 0;
    for (int i = 0; i < THREADS; i++) granted += crowd.member[i].granted;
    return granted;
}

static uint64_t granted_to_one(weir_limiter *limiter)
{
    uint64_t granted = 0;
    while (weir_take(limiter, 1).verdict == WEIR_ALLOW) granted++;
    return granted;
}

/* At each time as many pass as one thread alone would get, and every limit holds the same after it. */
static void as_one(const struct form *which)
{
    open_form(which, "as one: all together get what one alone would", take_all);
    weir_limiter *alone = crowd_limiter(which->limits, WEIR_CLOCK_MANUAL);
    uint64_t now_ns = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        now_ns += 1 + round * 7919 % 13 * (PERIOD_NS / 9);
        set_clock(now_ns);
        weir_manual_set(alone, (weir_instant){now_ns});
        crowd_start(&crowd);
        crowd_join(&crowd);
        crowd_check(granted_to_all() == granted_to_one(alone), "not what one thread alone would get");
        for (int i = 0; i < limits; i++) {
            const weir_decision left = weir_peek_limit(crowd.limiter, i, 1), wanted = weir_peek_limit(alone, i, 1);
            crowd_check(memcmp(&left, &wanted, sizeof left) == 0, "a limit is not as one thread alone would leave it");
        }
    }
    weir_close(alone);
    weir_close(crowd.limiter);
}

/* ---- time goes on ---- */

static void take_in_time(struct member *member)
{
    struct hand *mine = &hand[member->number];
    while (atomic_load(&clock_ns) < periods * PERIOD_NS) {
        const int slot = (int)below(mine, SLOTS);
        if (member->number == 0) set_clock(atomic_load(&clock_ns) + below(mine, TICK_MAX_NS));
        finish(mine, slot, true);
        ask(mine, slot, below(mine, 4) == 0 ? PERIOD_NS / 3 : 0);
        if (below(mine, 8) == 0) look_around(mine);
    }
    finish_all(mine, true);
}

static int by_start(const void *a, const void *b)
{
    const struct call *left = a, *right = b;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static size_t gather(void)
{
    size_t calls = 0;
    for (int i = 0; i < THREADS; i++) {
        memcpy(all + calls, hand[i].call, hand[i].calls * sizeof all[0]);
        calls += hand[i].calls;
    }
    qsort(all, calls, sizeof all[0], by_start);
    return calls;
}

/* The most of one limit that started within any window [t, t + window_ns). */
static uint64_t most_started(int limit, uint64_t window_ns, size_t calls)
{
    uint64_t sum = 0, highest = 0;
    for (size_t first = 0, next = 0; first < calls; sum -= all[first++].cost[limit]) {
        for (; next < calls && all[next].start_ns - all[first].start_ns < window_ns; next++)
            sum += all[next].cost[limit];
        highest = most(highest, sum);
    }
    return highest;
}

static void check_windows(void)
{
    static const uint64_t parts[] = {1, 50, 999, 1000, 1001, 1500, 2300, 7777, 100000}; /* thousandths of a period */
    const size_t calls = gather();
    for (int i = 0; i < limits; i++) {
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            const uint64_t window_ns = PERIOD_NS / 1000 * parts[k];
            const uint64_t bound = facts_most_in(&plan_inside_const(&plan)->limit[i], window_ns);
            const uint64_t started = most_started(i, window_ns, calls);
            if (started > bound) printf("limit %d: %d started, %d may\n", i, (int)started, (int)bound);
            crowd_check(started <= bound, "more in a window than one of the limits lets through");
        }
    }
    printf("  %d calls\n", (int)calls);
    crowd_check(calls > 50 * periods, "next to nothing passed");
}

/* All has expired: the list is as one that a single call had touched. */
static void check_rested(void)
{
    const uint64_t then_ns = atomic_load(&clock_ns) + 10 * SECOND_NS;
    weir_limiter *fresh = crowd_limiter(form->limits, WEIR_CLOCK_MANUAL);
    crowd_check(weir_take(fresh, 1).verdict == WEIR_ALLOW, "a fresh one refuses");
    weir_manual_set(fresh, (weir_instant){then_ns});
    set_clock(then_ns);
    for (int i = 0; i < limits; i++) {
        const uint64_t left = weir_peek_limit(crowd.limiter, i, 0).remaining;
        if (left != form->at_once[i]) printf("limit %d: %d, not %d\n", i, (int)left, (int)form->at_once[i]);
        crowd_check(left == form->at_once[i], "not all is there after a rest");
    }
    crowd_check(granted_to_one(crowd.limiter) == granted_to_one(fresh), "after a rest not as much passes as at first");
    weir_close(fresh);
}

static void windows(const struct form *which)
{
    open_form(which, "windows: costs, reservations, corrections", take_in_time);
    set_clock(0);
    crowd_start(&crowd);
    crowd_join(&crowd);
    check_hands();
    check_windows();
    check_rested();
    weir_close(crowd.limiter);
}

int main(void)
{
    steps = size_pick(300, 300, SANITIZED ? 300 : 2000);
    rounds = size_pick(3, SANITIZED ? 3 : 8, SANITIZED ? 8 : 20);
    periods = size_pick(5, SANITIZED ? 5 : 12, SANITIZED ? 12 : 50);
    for (int i = 0; i < FORMS; i++) {
        as_one(&forms[i]);
        conserve(&forms[i]);
        windows(&forms[i]);
    }
    printf("ok\n");
    return 0;
}
