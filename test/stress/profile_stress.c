/* SPDX-License-Identifier: MIT
   A thousand threads wait for the starts of one profile, by a real clock, until it ends.

       one schedule    each start is due at the first ns by which so many permits are, and no two are due together
       never early     nobody returns before its start, nor is a start before it is due
       the bound       in no window start more than the pools hold and the highest rate lets through

   What a busy machine misses is told as missed.  No timed assertion. */
#include "stress/crowd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "size.h"
#include "stress/windows.h"

/* From nothing to 20,000/s within a second: half a permit's square root is due after so many ns. */
enum { THREADS_MAX = 1000, PERMITS = 10000, FASTEST = 22000, OVER = 220, STACK = 1 << 16 };
static const char PROFILE[] = "0/s..20000/s for 1s burst=10ms catchup=1.1";
static const int64_t PERMIT = 1000000000;

static weir_limiter *limiter;
static pthread_barrier_t together;
static atomic_int taken;
static uint64_t due_ns[2 * PERMITS];
static struct passed passed[2 * PERMITS];

static void *wait_for_starts(void *unused)
{
    weir_decision decision;
    (void)unused;
    pthread_barrier_wait(&together);
    while (weir_allowed(decision = weir_take_wait(limiter, 1, WEIR_FOREVER))) {
        crowd_check(weir_now().ns >= decision.start.ns, "a call returned before its start");
        const int at = atomic_fetch_add(&taken, 1);
        crowd_check(at < 2 * PERMITS, "there are twice as many starts as permits");
        due_ns[at] = decision.due.ns;
        passed[at] = (struct passed){.from_ns = decision.start.ns, .to_ns = decision.start.ns, .amount = PERMIT};
    }
    crowd_check(decision.verdict == WEIR_DENY && decision.retry_ns == WEIR_FOREVER, "the end is not told as an end");
    return NULL;
}

static int by_time(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* The last k of which as much is due: 20000 / 2 * t^2 in seconds is t^2 / 10^14 in ns. */
static uint64_t permits_due(uint64_t ns)
{
    return ns * ns / UINT64_C(100000000000000);
}

static void check_schedule(size_t count, uint64_t begun_ns)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t ns = due_ns[i] - begun_ns;
        crowd_check(i == 0 || due_ns[i] != due_ns[i - 1], "two starts are due together");
        crowd_check(ns < (uint64_t)PERMIT, "a start is due after the end");
        crowd_check(ns == 0 || permits_due(ns - 1) < permits_due(ns), "a start is due at a time of no permit");
    }
}

static void check_bound(size_t count, uint64_t begun_ns)
{
    for (size_t i = 0; i < count; i++) {
        crowd_check(passed[i].from_ns >= begun_ns, "a start is before the first");
        passed[i].drained_from = passed[i].drained_to = (int64_t)(passed[i].from_ns - begun_ns) * FASTEST;
    }
    crowd_check(windows_burst(passed, count) <= (OVER + 1) * PERMIT, "a window has more than the bound");
}

static void one_round(int threads)
{
    pthread_t thread[THREADS_MAX];
    pthread_attr_t small;
    weir_options options = WEIR_OPTIONS;
    weir_stats stats;
    options.use = WEIR_PACE;
    crowd_check(weir_open(&limiter, PROFILE, &options, NULL) == 0, PROFILE);
    atomic_store(&taken, 0);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    pthread_attr_init(&small);
    if (!SANITIZED) pthread_attr_setstacksize(&small, STACK);
    for (int i = 0; i < threads; i++) {
        crowd_check(pthread_create(&thread[i], &small, wait_for_starts, NULL) == 0, "no thread");
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    const size_t count = (size_t)atomic_load(&taken);
    qsort(due_ns, count, sizeof *due_ns, by_time);
    weir_read_stats(limiter, &stats, sizeof stats);
    crowd_check(stats.granted == count, "what was granted is counted otherwise");
    crowd_check(stats.due == count + stats.missed + stats.backlog - stats.ahead,
                "permits are lost without being missed");
    printf("%zu starts, %llu missed\n", count, (unsigned long long)stats.missed);
    check_schedule(count, due_ns[0]);
    check_bound(count, due_ns[0]);
    pthread_attr_destroy(&small);
    pthread_barrier_destroy(&together);
    weir_close(limiter);
}

int main(void)
{
    const uint64_t rounds = size_pick(1, 2, 10);
    const int threads = SANITIZED ? 200 : THREADS_MAX;
    crowd_begin("threads wait for the starts of a profile");
    for (uint64_t round = 0; round < rounds; round++) one_round(threads);
    return 0;
}
