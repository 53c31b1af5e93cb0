/* SPDX-License-Identifier: MIT
   Everything that can be asked, while the limit moves between all algorithms and homes and then stops.

   Each part ends with the stop of the limiter, after a count of changes, or with a count of calls. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "api/limiter.h"
#include "size.h"

enum { THREADS = 12, STEP_NS = 700000, WAITERS = 8, ROUNDS = 40 };

static const uint64_t MS = 1000000, SECOND = 1000000000;

static struct crowd crowd;

/* ---- all that can be asked ---- */

static void wait_until_stopped(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (weir_decision decision = {0}; decision.verdict != WEIR_STOPPED;) {
        const uint64_t wait_max_ns = member->calls % 3 == 0 ? 5 * MS : WEIR_FOREVER;
        decision = weir_take_wait(limiter, 1 + member->calls % 2, wait_max_ns);
        crowd_count(member, &decision);
        if (decision.verdict != WEIR_ALLOW) continue;
        crowd_check(host_now_ns() >= decision.start.ns || limiter->clock == WEIR_CLOCK_MANUAL, "before its start");
        if (limiter->clock == WEIR_CLOCK_MANUAL)
            crowd_check(limiter_now_ns(limiter) >= decision.start.ns, "returned before its start");
        if (member->calls % 4 == 0) weir_cancel(limiter, &decision);
    }
}

static void reserve_until_stopped(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (weir_decision decision = {0}; decision.verdict != WEIR_STOPPED;) {
        decision = weir_reserve(limiter, 1 + member->calls % 3, member->calls % 2 == 0 ? 3 * SECOND : WEIR_FOREVER);
        crowd_count(member, &decision);
        for (int i = 0; i < 3 && decision.verdict == WEIR_ALLOW; i++) {
            sched_yield();
            (void)weir_full_ns(limiter, &decision);
        }
        if (decision.verdict != WEIR_ALLOW) continue;
        weir_settle(limiter, &decision, member->calls % 5);
        weir_cancel(limiter, &decision);
    }
}

static void list_until_stopped(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (weir_decision decision = {0}; decision.verdict != WEIR_STOPPED;) {
        uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
        for (uint64_t i = 0; i < WEIR_LIMITS_MAX; i++) {
            cost[i] = (member->calls + i) % 3;
            actual[i] = (member->calls + i) % 4;
        }
        decision = weir_take_each(limiter, cost, end);
        crowd_count(member, &decision);
        if (member->calls % 8 == 0) sched_yield();
        weir_settle_each(limiter, &decision, cost, actual, end);
    }
}

static void look_until_stopped(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (weir_decision decision = {0}; decision.verdict != WEIR_STOPPED;) {
        weir_stats stats;
        const int limit = (int)(member->calls % WEIR_LIMITS_MAX);
        decision = member->calls % 3 == 0 ? weir_charge(limiter, member->calls % 7) : weir_take_some(limiter, 5);
        crowd_count(member, &decision);
        crowd_check(decision.verdict != WEIR_ALLOW || decision.charged <= 7, "more than was asked for");
        weir_cancel(limiter, &decision);
        decision = weir_take(limiter, 1);
        crowd_count(member, &decision);
        crowd_check(weir_peek(limiter, 1).charged == 0, "a look takes something");
        crowd_check(weir_peek_limit(limiter, limit, 1).limit == (uint32_t)limit || limiter_stopped(limiter),
                    "another limit than was asked for");
        (void)weir_full_ns(limiter, &decision);
        weir_read_stats(limiter, &stats, sizeof stats);
        if (member->calls % 16 == 0) sched_yield();
    }
}

static void all_sorts(struct member *member)
{
    static void (*const bodies[])(struct member *) = {wait_until_stopped, reserve_until_stopped, list_until_stopped,
                                                      look_until_stopped};
    bodies[member->number % 4](member);
}

/* ---- through all homes ---- */

static const char *const everywhere[] = {
    "900/s burst=10",
    "5/10ms algorithm=sliding-log",
    "800/s burst=9 algorithm=hybrid",
    "unlimited",
    "300/s algorithm=timeline",
    "6/10ms algorithm=fixed-window",
    "40/10ms edge=closed algorithm=sliding-log",
    "6/10ms count-refused algorithm=fixed-window",
    "3/10ms gap=1ms algorithm=sliding-log",
    "700/s burst=5 algorithm=leaky",
    "4/10ms count-refused algorithm=sliding-log",
    "4/10ms algorithm=sliding-window",
    "300/s catchup=2 algorithm=timeline; 900/s burst=10; 9/10ms algorithm=cycle",
    "none",
    "2/10ms algorithm=sliding-log",
    "9/10ms align=clock algorithm=cycle",
    "500/s algorithm=bursty; 6/10ms block=3ms algorithm=fixed-window",
    "500/s warmup=10ms algorithm=warmup",
    "5/10ms algorithm=sliding-log; 5/10ms algorithm=sliding-log",
    "400/s strictness=0 algorithm=timeline",
    "500/s burst=4 algorithm=bursty pay=self",
};
enum { EVERYWHERE = sizeof everywhere / sizeof everywhere[0] };

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* Each form is changed with KEEP to what it is already, and with RESET to one that is anywhere. */
static void through_all_homes(weir_clock clock)
{
    crowd_begin(clock == WEIR_CLOCK_MANUAL ? "all homes, by hand" : "all homes, in time");
    const uint64_t changes = size_pick(50, 300, 1500);
    uint64_t random = 1, calls = 0;
    crowd.limiter = crowd_limiter(everywhere[0], clock);
    crowd.threads = THREADS;
    crowd.body = all_sorts;
    crowd_start(&crowd);
    const char *limits = everywhere[0];
    for (uint64_t change = 1; change <= changes; change++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t kind = (random >> 33) % 4;
        if (kind > 1) limits = everywhere[(random >> 40) % EVERYWHERE];
        const weir_carry carry = kind == 0 ? WEIR_KEEP : kind == 1 ? WEIR_SCALE : WEIR_RESET;
        crowd_change(crowd.limiter, limits, carry);
        weir_manual_set(crowd.limiter, (weir_instant){change * STEP_NS});
        if (change % 4 == 0) pause_briefly();
        else sched_yield();
    }
    weir_stop(crowd.limiter);
    crowd_join(&crowd);
    weir_stats stats;
    weir_read_stats(crowd.limiter, &stats, sizeof stats);
    for (int i = 0; i < THREADS; i++) calls += crowd.member[i].calls;
    printf("  %d changes, %d calls\n", (int)changes, (int)calls);
    crowd_nobody_waits(crowd.limiter);
    crowd_check(stats.calls <= calls && stats.calls + THREADS * 2 >= calls, "calls are not as many as were made");
    weir_close(crowd.limiter);
}

/* ---- waiting counts no refusal ---- */

static void wait_once(struct member *member)
{
    const weir_decision decision = weir_take_wait(member->crowd->limiter, 1, WEIR_FOREVER);
    crowd_count(member, &decision);
}

/* All come back at once and one passes: were the others counted as refused, they would be blocked for an hour. */
static void waiting_is_no_refusal(void)
{
    crowd_begin("waiting counts no refusal");
    for (int round = 0; round < ROUNDS; round++) {
        crowd.limiter = crowd_limiter("1/s block=1h algorithm=fixed-window", WEIR_CLOCK_MANUAL);
        crowd.threads = WAITERS;
        crowd.body = wait_once;
        crowd_start(&crowd);
        uint64_t now_ns = 0;
        while (atomic_load(&crowd.back) < WAITERS) {
            crowd_check(weir_peek(crowd.limiter, 1).retry_ns <= SECOND, "who waits is counted as refused");
            weir_manual_set(crowd.limiter, (weir_instant){now_ns += SECOND});
            pause_briefly();
        }
        crowd_join(&crowd);
        weir_close(crowd.limiter);
    }
}

/* ---- a full log grows once ---- */

static void reserve_once(struct member *member)
{
    const weir_decision decision = weir_reserve(member->crowd->limiter, 1, WEIR_FOREVER);
    crowd_count(member, &decision);
}

/* All find it full before the first of them can make it larger. */
static void grows_once(void)
{
    crowd_begin("a full log grows once for all who find it full");
    weir_limiter *limiter = crowd.limiter = crowd_limiter("1/s algorithm=sliding-log", WEIR_CLOCK_MANUAL);
    const uint64_t slots = limiter_log(limiter)->mask + 1;
    for (uint64_t i = 0; i < slots - 2; i++) (void)weir_reserve(limiter, 1, WEIR_FOREVER);
    crowd_check(limiter_log(limiter)->mask + 1 == slots, "it is not full yet");
    crowd.threads = THREADS;
    crowd.body = reserve_once;
    host_lock(&limiter->mutex);
    crowd_start(&crowd);
    for (int i = 0; i < 200; i++) pause_briefly();
    host_unlock(&limiter->mutex);
    crowd_join(&crowd);
    for (int i = 0; i < THREADS; i++)
        crowd_check(crowd.member[i].decision.verdict == WEIR_ALLOW, "a larger log refuses");
    crowd_check(limiter_log(limiter)->mask + 1 == 2 * slots, "the log is larger than it need be");
    weir_close(limiter);
}

int main(void)
{
    grows_once();
    waiting_is_no_refusal();
    through_all_homes(WEIR_CLOCK_MANUAL);
    through_all_homes(WEIR_CLOCK_SYSTEM);
    through_all_homes(WEIR_CLOCK_TICKER);
    printf("ok\n");
    return 0;
}
