/* SPDX-License-Identifier: MIT
   Many threads at a sliding log: in each period exactly what was offered or may pass, whichever is less,
   and never more than the largest N in any window, whatever changes meanwhile.

   Time is passed in, so the numbers are exact. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/num.h"
#include "size.h"

enum { THREADS = 8, CALLS_MAX = 50000, N_MAX = 24, OFFERED_MAX = 6, COST_MAX = 5 };
static const uint64_t PERIOD_NS = 1000;

static uint64_t rounds_max, calls_each; /* how much is done */
static struct crowd crowd;

/* ---- rounds ---- */

static atomic_uint arrived;
static atomic_ullong admitted, offered;
static uint64_t count_of_round;

/* Nobody goes on before all are here. */
static void meet(unsigned *met)
{
    *met += THREADS;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < *met) sched_yield();
}

static void set_count(weir_limiter *limiter, uint64_t count, weir_carry carry)
{
    char text[64];
    snprintf(text, sizeof text, "%d/%dns algorithm=sliding-log", (int)count, (int)PERIOD_NS);
    crowd_change(limiter, text, carry);
}

/* What the last round held has drained just now. */
static void close_round(weir_limiter *limiter, uint64_t round)
{
    const uint64_t may = least(atomic_load(&offered), count_of_round);
    crowd_check(round == 0 || atomic_load(&admitted) == may, "not exactly what the limit admits in a period");
    atomic_store(&admitted, 0);
    atomic_store(&offered, 0);
    if (round % 7 != 0) return;
    alarm(CROWD_SECONDS); /* nobody hangs */
    count_of_round = 1 + round * 5 % N_MAX;
    set_count(limiter, count_of_round, round % 2 != 0 ? WEIR_KEEP : WEIR_SCALE);
}

static void offer_rounds(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    unsigned met = 0;
    for (uint64_t round = 0; round < rounds_max; round++) {
        const uint64_t mine = (round + (uint64_t)member->number) % (OFFERED_MAX + 1);
        uint64_t passed = 0;
        if (member->number == 0) close_round(limiter, round);
        meet(&met);
        for (uint64_t i = 0; i < mine; i++) {
            passed += weir_take_at(limiter, (weir_instant){round * PERIOD_NS}, 1).verdict == WEIR_ALLOW;
        }
        atomic_fetch_add(&offered, mine);
        atomic_fetch_add(&admitted, passed);
        meet(&met);
    }
}

static void rounds(void)
{
    crowd_begin("rounds: exactly as many as are offered, or may");
    printf("  %d threads, %d rounds\n", THREADS, (int)rounds_max);
    crowd.limiter = crowd_limiter("1/1000ns algorithm=sliding-log", WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = offer_rounds;
    atomic_store(&arrived, 0);
    crowd_start(&crowd);
    crowd_join(&crowd);
    weir_close(crowd.limiter);
}

/* ---- windows ---- */

static uint64_t started[THREADS][CALLS_MAX * COST_MAX]; /* a start for each permit */
static uint64_t permits[THREADS], all[THREADS * CALLS_MAX * COST_MAX];
static atomic_ullong clock_ns;

static void note_start(struct member *member, const weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW) return;
    for (uint64_t i = 0; i < decision->charged; i++)
        started[member->number][permits[member->number]++] = decision->start.ns;
}

/* A clock that all share, and that threads read somewhat before they ask. */
static uint64_t read_clock(struct member *member, uint64_t call)
{
    const uint64_t now_ns = atomic_fetch_add(&clock_ns, (call + (uint64_t)member->number) % 29);
    if (call % 16 == 0) sched_yield();
    return now_ns;
}

static void take_through_changes(struct member *member)
{
    for (uint64_t call = 0; call < calls_each; call++) {
        const weir_instant now = {read_clock(member, call)};
        const weir_decision decision = weir_take_at(member->crowd->limiter, now, 1);
        note_start(member, &decision);
    }
}

/* Costs, and calls that never ran. */
static void take_all_sorts(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (uint64_t call = 0; call < calls_each; call++) {
        const uint64_t cost = call % 3 == 0 ? 1 + call / 3 % COST_MAX : 1;
        weir_decision decision = weir_take_at(limiter, (weir_instant){read_clock(member, call)}, cost);
        if (call % 5 == 0) {
            sched_yield();
            weir_cancel(limiter, &decision);
        }
        note_start(member, &decision);
    }
}

/* Time is the limiter's, so that a reservation is not made at a time long gone. */
static void reserve_and_cancel(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (uint64_t call = 0; call < calls_each; call++) {
        const uint64_t cost = 1 + (call + (uint64_t)member->number) % COST_MAX;
        weir_manual_set(limiter, (weir_instant){read_clock(member, call)});
        weir_decision decision = call % 2 == 0 ? weir_reserve(limiter, cost, 3 * PERIOD_NS) : weir_take(limiter, 1);
        if (call % 7 == 0) weir_cancel(limiter, &decision);
        note_start(member, &decision);
    }
}

static int by_time(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void check_windows(uint64_t most_in_window)
{
    size_t total = 0;
    for (int thread = 0; thread < crowd.threads; thread++) {
        for (uint64_t i = 0; i < permits[thread]; i++) all[total++] = started[thread][i];
    }
    qsort(all, total, sizeof all[0], by_time);
    for (size_t i = most_in_window; i < total; i++) {
        crowd_check(all[i] - all[i - most_in_window] >= PERIOD_NS, "more than N in a window of the period");
    }
    printf("  %d permits in %d periods\n", (int)total, (int)(atomic_load(&clock_ns) / PERIOD_NS));
    crowd_check(total > calls_each / 20, "next to nothing passed");
}

static void windows(const char *name, void (*body)(struct member *), bool changes)
{
    crowd_begin(name);
    crowd.limiter = crowd_limiter("24/1000ns algorithm=sliding-log", WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = body;
    atomic_store(&clock_ns, 0);
    for (int i = 0; i < THREADS; i++) permits[i] = 0;
    crowd_start(&crowd);
    for (uint64_t change = 0; changes && atomic_load(&crowd.back) < THREADS; change++) {
        weir_manual_set(crowd.limiter, (weir_instant){atomic_load(&clock_ns)});
        set_count(crowd.limiter, 1 + change * 7 % N_MAX, change % 2 == 0 ? WEIR_KEEP : WEIR_SCALE);
        sched_yield();
    }
    crowd_join(&crowd);
    check_windows(N_MAX);
    weir_close(crowd.limiter);
}

/* ---- homes ---- */

/* Nothing is lost or hangs while the state moves from one to the other and the ring grows. */
static void ask_all_sorts(struct member *member)
{
    for (uint64_t call = 0; call < calls_each / 10; call++) {
        weir_decision decision = weir_reserve(member->crowd->limiter, 1, call % 4 == 0 ? WEIR_FOREVER : 0);
        crowd_count(member, &decision);
        if (call % 3 == 0) weir_settle(member->crowd->limiter, &decision, call % 5);
        if (call % 16 == 0) sched_yield();
    }
}

static void homes(void)
{
    static const char *const limits[] = {"7/s algorithm=sliding-log", "9/s", "900/s algorithm=sliding-log",
                                         "9/s gap=1ns algorithm=sliding-log", "2/s algorithm=sliding-log"};
    weir_stats stats;
    uint64_t calls = 0;
    crowd_begin("from home to home");
    crowd.limiter = crowd_limiter(limits[0], WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = ask_all_sorts;
    crowd_start(&crowd);
    for (uint64_t change = 0; atomic_load(&crowd.back) < THREADS; change++) {
        weir_manual_set(crowd.limiter, (weir_instant){change * 1000000});
        crowd_change(crowd.limiter, limits[change % 5], WEIR_RESET);
        sched_yield();
    }
    crowd_join(&crowd);
    for (int i = 0; i < THREADS; i++) calls += crowd.member[i].calls;
    weir_read_stats(crowd.limiter, &stats, sizeof stats);
    crowd_check(stats.calls == calls, "calls are not as many as the threads made");
    weir_close(crowd.limiter);
}

int main(void)
{
    rounds_max = size_pick(5000, 20000, 100000);
    calls_each = size_pick(5000, 5000, SANITIZED ? 5000 : CALLS_MAX);
    rounds();
    windows("windows: N up and down", take_through_changes, true);
    windows("windows: costs and cancels", take_all_sorts, false);
    windows("windows: reservations and cancels", reserve_and_cancel, false);
    homes();
    printf("ok\n");
    return 0;
}
