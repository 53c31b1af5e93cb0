/* SPDX-License-Identifier: MIT
   Threads that wait, with a lease and without, sleep, nap and spin, while the limit changes under them.

       never early     by nobody's clock does a call return before its start
       no start twice  of those who wait without a lease, all starts lie apart while the limit stays
       all come back   after a stop, and nobody is left in a line or counted as napping

   No timed assertion. */
#include "stress/crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limiter.h"

enum { THREADS = 70, CHANGES = 60, BETWEEN_NS = 2000000, STARTS = 4000 };

static struct crowd crowd;
static uint64_t start_ns[CROWD_MAX][STARTS];

static weir_limiter *open_pace(const char *limits, uint64_t min_sleep_ns, uint64_t spin_ns)
{
    weir_limiter *limiter = NULL;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    options.min_sleep_ns = min_sleep_ns;
    options.spin_ns = spin_ns;
    crowd_check(weir_open(&limiter, limits, &options, NULL) == 0, limits);
    return limiter;
}

static void check_start(struct member *member, const weir_decision *decision)
{
    crowd_check(weir_now().ns >= decision->start.ns, "a call returned before its start");
    crowd_count(member, decision);
}

/* Every other one has a lease. */
static void wait_until_stopped(struct member *member)
{
    static _Thread_local weir_lease lease;
    weir_limiter *limiter = member->crowd->limiter;
    weir_decision decision;
    if (member->number % 2 == 0) crowd_check(weir_lease_open(&lease, limiter, NULL) == 0, "no lease");
    do {
        if (member->number % 2 == 0) decision = weir_lease_take_wait(&lease, 1, WEIR_FOREVER);
        else decision = weir_take_wait(limiter, 1 + member->calls % 3, WEIR_FOREVER);
        if (decision.verdict == WEIR_ALLOW) check_start(member, &decision);
    } while (decision.verdict == WEIR_ALLOW);
    crowd_check(decision.verdict == WEIR_STOPPED, "who waits for ever is refused");
    weir_lease_close(&lease);
}

static void changes_and_a_stop(uint64_t min_sleep_ns, uint64_t spin_ns)
{
    static const char *const limits[] = {"100000/s", "1000000/s catchup=1.1", "3000/s burst=10", "20000000/s"};
    crowd_begin("changes, naps and a stop");
    crowd.limiter = open_pace(limits[0], min_sleep_ns, spin_ns);
    crowd.threads = THREADS;
    crowd.body = wait_until_stopped;
    crowd_start(&crowd);
    for (int i = 1; i <= CHANGES; i++) {
        weir_sleep_until((weir_instant){weir_now().ns + BETWEEN_NS});
        crowd_change(crowd.limiter, limits[i % 4], i % 3 == 0 ? WEIR_SCALE : i % 3 == 1 ? WEIR_KEEP : WEIR_RESET);
    }
    weir_stop(crowd.limiter);
    crowd_join(&crowd);
    crowd_nobody_waits(crowd.limiter);
    crowd_check(atom_load(&crowd.limiter->naps.count) == 0, "somebody is still counted as napping");
    weir_close(crowd.limiter);
}

static void note_starts(struct member *member)
{
    for (int i = 0; i < STARTS; i++) {
        const weir_decision decision = weir_take_wait(member->crowd->limiter, 1, WEIR_FOREVER);
        check_start(member, &decision);
        start_ns[member->number][i] = decision.start.ns;
    }
}

static int by_time(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* gcra with room for one gives each permit a place of its own, an interval from the next. */
static void no_start_twice(void)
{
    static uint64_t all[THREADS * STARTS];
    const int threads = THREADS / 4;
    crowd_begin("no start twice");
    crowd.limiter = open_pace("1000000/s burst=1 algorithm=gcra", 0, 0);
    crowd.threads = threads;
    crowd.body = note_starts;
    crowd_start(&crowd);
    crowd_join(&crowd);
    for (int i = 0; i < threads; i++) memcpy(all + (size_t)i * STARTS, start_ns[i], sizeof start_ns[i]);
    qsort(all, (size_t)threads * STARTS, sizeof *all, by_time);
    for (int i = 1; i < threads * STARTS; i++) crowd_check(all[i] - all[i - 1] >= 999, "two have the same start");
    crowd_nobody_waits(crowd.limiter);
    weir_close(crowd.limiter);
}

int main(void)
{
    changes_and_a_stop(0, 0);
    changes_and_a_stop(1000000, 0);
    changes_and_a_stop(0, 20000);
    no_start_twice();
    return 0;
}
