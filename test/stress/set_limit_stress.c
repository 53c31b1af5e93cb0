/* SPDX-License-Identifier: MIT
   A limit that changes all the time, under takers, waiters, reservations and settlers.

   Time is the manual clock's, and what passed is compared with a bound that holds whatever the order of events was.
   The most rate in force is r, the largest burst B, the time that passed T:

       keep, bursts of equal length in time   used time is at most that length, and each start adds 1/r at least:
                                              B + r * T
       scale                                  used permits are at most B and drain by r at most:  B + r * T
       anything, C changes, n threads         a change gives at most a burst anew, and lets those who wait on under
                                              the old schedule beside the new:  (B + n) * (C + 1) + r * T

   Counts of calls end each part, no time of day does. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>

#include "api/limiter.h"

/* CHANGES is a multiple of every row's steps, so that the rest is done under the first, which is the fastest. */
enum { THREADS = 16, CALLS = 150, CHANGES = 420, SLEEPERS = 8 };

static const uint64_t MS = 1000000, SECOND = 1000000000;

static struct crowd crowd;

/* ---- hammering ---- */

static void check_started(weir_limiter *limiter, const weir_decision *decision)
{
    crowd_check(limiter_now_ns(limiter) >= decision->start.ns, "returned before its start");
}

static void take_often(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (int i = 0; i < CALLS; i++) {
        const weir_decision decision = i % 3 == 0 ? weir_take_some(limiter, 3) : weir_take(limiter, 1);
        crowd_count(member, &decision);
        if (decision.verdict == WEIR_ALLOW) crowd_check(decision.delay_ns == 0, "taken now, and yet later");
        sched_yield();
    }
}

static void wait_often(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (int i = 0; i < CALLS; i++) {
        const weir_decision decision = weir_take_wait(limiter, 1, i % 4 == 0 ? 20 * MS : WEIR_FOREVER);
        crowd_count(member, &decision);
        crowd_check(decision.verdict == WEIR_ALLOW || i % 4 == 0, "a wait without bound was refused");
        if (decision.verdict == WEIR_ALLOW) check_started(limiter, &decision);
    }
}

/* A promised start stays, whatever the limit is by then. */
static void reserve_often(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (int i = 0; i < CALLS; i++) {
        const weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
        while (limiter_now_ns(limiter) < decision.start.ns) sched_yield();
        crowd_count(member, &decision);
    }
}

/* Never ran, so it does not count. */
static void cancel_often(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    for (int i = 0; i < CALLS; i++) {
        weir_decision decision = weir_reserve(limiter, 1 + (uint64_t)i % 2, i % 2 == 0 ? 0 : 5 * MS);
        member->calls++;
        sched_yield();
        weir_cancel(limiter, &decision);
        weir_cancel(limiter, &decision);
    }
}

static void hammer_body(struct member *member)
{
    static void (*const bodies[])(struct member *) = {take_often, wait_often, reserve_often, cancel_often};
    bodies[member->number % 4](member);
}

struct step {
    const char *limits;
    weir_carry carry;
};

struct row {
    const char *name;
    struct step step[6];
    int steps;
    uint64_t rate, burst; /* the largest */
    bool forgets;         /* a change may give a burst anew */
};

static uint64_t granted_by_all(void)
{
    uint64_t granted = 0;
    for (int i = 0; i < crowd.threads; i++) granted += crowd.member[i].granted;
    return granted;
}

static void hammer(const struct row *row)
{
    uint64_t now_ns = 0, changes = 0;
    crowd_begin(row->name);
    crowd.limiter = crowd_limiter(row->step[0].limits, WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = hammer_body;
    crowd_start(&crowd);
    while (atomic_load(&crowd.back) < THREADS) {
        if (changes < CHANGES) {
            const struct step *step = &row->step[++changes % (uint64_t)row->steps];
            crowd_change(crowd.limiter, step->limits, step->carry);
        }
        now_ns += changes < CHANGES ? MS : 100 * MS;
        weir_manual_set(crowd.limiter, (weir_instant){now_ns});
        sched_yield();
    }
    crowd_join(&crowd);
    const uint64_t drained = row->rate * (now_ns / MS) / 1000 + 1;
    const uint64_t bound = row->forgets ? (row->burst + THREADS) * (changes + 1) + drained : row->burst + drained;
    printf("  %d changes, %d ms: %d passed, at most %d may\n", (int)changes, (int)(now_ns / MS), (int)granted_by_all(),
           (int)bound);
    crowd_check(granted_by_all() <= bound, "more than the bound passed");
    crowd_nobody_waits(crowd.limiter);
    weir_close(crowd.limiter);
}

static const struct row rows[] = {
    {"keep",
     {{"100/s burst=100", WEIR_KEEP}, {"10/s burst=10", WEIR_KEEP}, {"40/s burst=40", WEIR_KEEP}},
     3,
     100,
     100,
     false},
    {"scale",
     {{"100/s burst=50", WEIR_SCALE}, {"10/s burst=90", WEIR_SCALE}, {"33/s burst=3", WEIR_SCALE}},
     3,
     100,
     90,
     false},
    {"keep, a list",
     {{"100/s burst=100; 1000/s burst=1000", WEIR_KEEP}, {"10/s burst=10; 500/s burst=500", WEIR_KEEP}},
     2,
     100,
     100,
     false},
    {"scale, a list",
     {{"100/s burst=50; 1000/s burst=90", WEIR_SCALE}, {"10/s burst=90; 900/s burst=99", WEIR_SCALE}},
     2,
     100,
     90,
     false},
    {"keep, scale, reset",
     {{"100/s burst=10", WEIR_KEEP}, {"20/s burst=20", WEIR_SCALE}, {"70/s burst=3", WEIR_RESET}},
     3,
     100,
     20,
     true},
    {"hybrid",
     {{"100/s burst=10 algorithm=hybrid", WEIR_KEEP},
      {"20/s burst=20 catchup=2 algorithm=hybrid", WEIR_SCALE},
      {"70/s burst=3 algorithm=hybrid", WEIR_RESET}},
     3,
     140,
     40,
     true},
    {"every form",
     {{"100/s burst=10", WEIR_RESET},
      {"50/s burst=20; 90/s burst=9", WEIR_RESET},
      {"70/s burst=3 algorithm=hybrid", WEIR_RESET},
      {"60/s burst=5", WEIR_RESET},
      {"30/s burst=3; 30/s burst=3; 1k/s burst=1k", WEIR_RESET}},
     5,
     100,
     20,
     true},
};

/* ---- sleepers ---- */

static void wait_once(struct member *member)
{
    const weir_decision decision = weir_take_wait(member->crowd->limiter, 1, WEIR_FOREVER);
    crowd_count(member, &decision);
    if (decision.verdict == WEIR_ALLOW) check_started(member->crowd->limiter, &decision);
}

/* One after the other, so that their order is known: each has his slot once the next free one is later. */
static void line_up(const char *limits)
{
    crowd.limiter = crowd_limiter(limits, WEIR_CLOCK_MANUAL);
    crowd.threads = 0;
    crowd.body = wait_once;
    atomic_store(&crowd.awaited, 0);
    while (weir_take(crowd.limiter, 1).verdict == WEIR_ALLOW) continue;
    for (int i = 0; i < SLEEPERS; i++) {
        const uint64_t retry_ns = weir_peek(crowd.limiter, 1).retry_ns;
        crowd_add(&crowd);
        while (weir_peek(crowd.limiter, 1).retry_ns == retry_ns) sched_yield();
    }
}

/* They come back in the order in which they came, each at its start and not before, and no start is the same. */
static void dismiss(uint64_t first_ns, uint64_t apart_ns)
{
    for (int i = 0; i < SLEEPERS; i++) {
        const uint64_t start_ns = first_ns + (uint64_t)i * apart_ns;
        weir_manual_set(crowd.limiter, (weir_instant){start_ns - 1});
        sched_yield();
        crowd_check(!atomic_load(&crowd.member[i].back), "came back before its start");
        weir_manual_set(crowd.limiter, (weir_instant){start_ns + 2}); /* each change rounds up to a tick */
        crowd_join_one(&crowd, i);
        const weir_decision *decision = &crowd.member[i].decision;
        crowd_check(decision->verdict == WEIR_ALLOW, "a sleeper was refused");
        crowd_check(decision->start.ns >= start_ns && decision->start.ns <= start_ns + 2, "not its start");
    }
    weir_close(crowd.limiter);
}

static void sleepers_in_order(void)
{
    crowd_begin("sleepers, as they came");
    line_up("1/s burst=1");
    dismiss(SECOND, SECOND);
    crowd_begin("sleepers, slowed");
    line_up("1/s burst=1");
    crowd_change(crowd.limiter, "0.1/s burst=1", WEIR_SCALE);
    dismiss(10 * SECOND, 10 * SECOND);
    crowd_begin("sleepers, hastened");
    line_up("1/h burst=1");
    weir_manual_set(crowd.limiter, (weir_instant){1800 * SECOND});
    crowd_change(crowd.limiter, "1000/s burst=1", WEIR_SCALE);
    dismiss(1800 * SECOND + MS / 2, MS);
    crowd_begin("sleepers of a list, slowed and hastened");
    line_up("1/s burst=1; 1/s burst=3");
    crowd_change(crowd.limiter, "1/h burst=1; 1/h burst=3", WEIR_SCALE);
    crowd_change(crowd.limiter, "100/s burst=1; 100/s burst=3", WEIR_SCALE);
    dismiss(10 * MS, 10 * MS);
    crowd_begin("sleepers of a hybrid, slowed twenty times");
    line_up("1000/s burst=1 algorithm=hybrid");
    for (int i = 0; i < 20; i++) crowd_change(crowd.limiter, "2/s burst=1 algorithm=hybrid", WEIR_SCALE);
    dismiss(SECOND / 2, SECOND / 2);
}

/* Who has overslept when the limit changes comes back none the less. */
static void overslept(const char *from, const char *to)
{
    crowd_begin("sleepers, long due when the limit changes");
    for (int round = 0; round < 50; round++) {
        line_up(from);
        /* As weir_manual_set does, but nobody is woken before the change. */
        atom_store(&((struct weir_limiter *)crowd.limiter)->manual_ns, 3600 * SECOND);
        crowd_change(crowd.limiter, to, WEIR_KEEP);
        /* Those who are too late ask again. */
        for (uint64_t now_ns = 3600 * SECOND, back = 0; back < SLEEPERS; now_ns += SECOND / 10) {
            weir_manual_set(crowd.limiter, (weir_instant){now_ns});
            sched_yield();
            back = 0;
            for (int i = 0; i < SLEEPERS; i++) back += atomic_load(&crowd.member[i].back);
        }
        crowd_join(&crowd);
        weir_close(crowd.limiter);
    }
}

static void stop_wakes(weir_clock clock)
{
    crowd_begin("stop wakes all");
    crowd.limiter = crowd_limiter("1/h burst=1", clock);
    crowd.threads = THREADS;
    crowd.body = wait_once;
    (void)weir_take(crowd.limiter, 1);
    crowd_start(&crowd);
    while (weir_peek(crowd.limiter, 1).retry_ns < (THREADS - 1) * 3600 * SECOND) sched_yield();
    weir_stop(crowd.limiter);
    crowd_join(&crowd);
    for (int i = 0; i < THREADS; i++) {
        crowd_check(crowd.member[i].decision.verdict == WEIR_STOPPED, "woken by a stop, and not stopped");
    }
    crowd_check(weir_take(crowd.limiter, 1).verdict == WEIR_STOPPED, "stopped, and yet it answers");
    weir_close(crowd.limiter);
}

/* On the system's clock: hours become milliseconds, and all are back long before the part's end. */
static void hastened_for_real(const char *from, const char *to, weir_carry carry)
{
    crowd_begin("sleepers for hours, hastened");
    crowd.limiter = crowd_limiter(from, WEIR_CLOCK_SYSTEM);
    crowd.threads = THREADS;
    crowd.body = wait_once;
    (void)weir_take(crowd.limiter, 1);
    crowd_start(&crowd);
    while (weir_peek(crowd.limiter, 1).retry_ns < (THREADS - 1) * 3600 * SECOND) sched_yield();
    crowd_change(crowd.limiter, to, carry);
    crowd_join(&crowd);
    for (int i = 0; i < THREADS; i++) {
        const weir_decision *decision = &crowd.member[i].decision;
        crowd_check(decision->verdict == WEIR_ALLOW && decision->start.ns <= weir_now().ns, "back before its start");
    }
    weir_close(crowd.limiter);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) hammer(&rows[i]);
    sleepers_in_order();
    overslept("1000/s burst=1", "1/s burst=1");
    overslept("1000/s burst=1; 1000/s burst=1", "1/s burst=1; 1/s burst=1");
    overslept("1000/s burst=1 algorithm=hybrid", "1/s burst=1 algorithm=hybrid");
    stop_wakes(WEIR_CLOCK_MANUAL);
    stop_wakes(WEIR_CLOCK_SYSTEM);
    hastened_for_real("1/h burst=1", "1000/s burst=1", WEIR_SCALE);
    hastened_for_real("1/h burst=1; 1/h burst=9", "1000/s burst=1; 1000/s burst=9", WEIR_SCALE);
    hastened_for_real("1/h burst=1 algorithm=hybrid", "1000/s burst=1 algorithm=hybrid", WEIR_KEEP);
    printf("ok\n");
    return 0;
}
