/* SPDX-License-Identifier: MIT
   Many threads hammer one limiter: exactly what the bound allows passes, every answer is counted.

   Time is the manual clock's, so the numbers are exact. */
#include "crowd.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "size.h"

enum { THREADS = 8, BURST = 1000, TOO_MANY = 100 };
static const uint64_t SECOND_NS = 1000000000;

static uint64_t rounds; /* how much is done */
static struct crowd crowd;
static uint64_t cost;

/* Until refused for good: time stands still meanwhile. */
static void take_all(struct member *member)
{
    weir_decision decision;
    do {
        decision = weir_take(member->crowd->limiter, cost);
        crowd_count(member, &decision);
    } while (decision.verdict == WEIR_ALLOW);
}

static void take_some(struct member *member)
{
    weir_decision decision;
    do {
        decision = weir_take_some(member->crowd->limiter, cost);
        crowd_count(member, &decision);
    } while (decision.verdict == WEIR_ALLOW);
}

/* What is settled is there again for others, and is not counted by them as their own twice. */
static void take_and_cancel(struct member *member)
{
    for (int i = 0; i < 2000; i++) {
        weir_decision decision = weir_take(member->crowd->limiter, cost);
        crowd_count(member, &decision);
        const uint64_t charged = decision.charged;
        if (decision.verdict != WEIR_ALLOW) continue;
        weir_cancel(member->crowd->limiter, &decision);
        member->granted -= charged;
    }
}

static uint64_t sum_of(const struct crowd *of, weir_stats *sum)
{
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < of->threads; i++) {
        sum->calls += of->member[i].calls;
        sum->granted += of->member[i].granted;
        sum->denied += of->member[i].denied;
    }
    return sum->granted;
}

static void add_and_compare(weir_stats *all)
{
    weir_stats now, counted;
    sum_of(&crowd, &now);
    all->calls += now.calls;
    all->granted += now.granted;
    all->denied += now.denied;
    weir_read_stats(crowd.limiter, &counted, sizeof counted);
    crowd_check(counted.calls == all->calls, "calls are not as many as the threads made");
    crowd_check(counted.granted == all->granted, "granted permits are not as many as the threads got");
    crowd_check(counted.denied == all->denied, "denials are not as many as the threads saw");
}

/* Each second gives BURST permits more, and all of them pass, and no more. */
static void hammer(const char *limits, void (*body)(struct member *), uint64_t cost_of_each)
{
    weir_stats all = {0}, now;
    uint64_t granted = 0;
    crowd_begin(limits);
    cost = cost_of_each;
    const uint64_t step = body == take_some ? 1 : cost;
    crowd.limiter = crowd_limiter(limits, WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = body;
    for (uint64_t phase = 0; phase < rounds; phase++) {
        weir_manual_set(crowd.limiter, (weir_instant){phase * SECOND_NS});
        crowd_start(&crowd);
        crowd_join(&crowd);
        granted += sum_of(&crowd, &now);
        /* What is less than one call's cost does not add up: the burst is full again. */
        const uint64_t bound = BURST / step * step * (phase + 1);
        crowd_check(granted <= bound, "more than the bound passed");
        crowd_check(granted == bound, "less than the bound passed");
        add_and_compare(&all);
    }
    weir_close(crowd.limiter);
}

/* Given back to the last, so that in the end all is there. */
static void cancel(const char *limits)
{
    crowd_begin(limits);
    cost = 1;
    crowd.limiter = crowd_limiter(limits, WEIR_CLOCK_MANUAL);
    crowd.threads = THREADS;
    crowd.body = take_and_cancel;
    crowd_start(&crowd);
    crowd_join(&crowd);
    const weir_decision left = weir_take_some(crowd.limiter, WEIR_FOREVER);
    crowd_check(left.verdict == WEIR_ALLOW && left.charged == BURST, "what was cancelled is not there again");
    weir_close(crowd.limiter);
}

static void *one_take(void *argument)
{
    struct member *member = argument;
    for (int i = 0; i < 10; i++) {
        const weir_decision decision = weir_take(member->crowd->limiter, cost);
        crowd_count(member, &decision);
    }
    return NULL;
}

static void take_ten(struct member *member)
{
    one_take(member);
    atomic_fetch_add(&member->crowd->ready, 1);
    /* Alive until all have counted: more threads than there are numbers for them. */
    while (atomic_load(&member->crowd->ready) < 2 * member->crowd->threads) sched_yield();
}

static void more_threads_than_slots(const char *limits)
{
    weir_stats all = {0};
    crowd_begin("more threads than slots, again and again");
    cost = 1;
    crowd.limiter = crowd_limiter(limits, WEIR_CLOCK_MANUAL);
    crowd.threads = TOO_MANY;
    crowd.body = take_ten;
    for (uint64_t round = 0; round < rounds; round++) {
        crowd_start(&crowd);
        crowd_join(&crowd);
        add_and_compare(&all);
    }
    crowd_check(all.granted == BURST, "not what the bound allows");
    weir_close(crowd.limiter);
}

/* A thread is replaced while the others go on. */
static void take_beside_a_child(struct member *member)
{
    struct member child[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        child[i].crowd = member->crowd;
        crowd_check(pthread_create(&thread, NULL, one_take, &child[i]) == 0, "a thread could not be started");
        one_take(member);
        pthread_join(thread, NULL);
        member->calls += child[i].calls;
        member->granted += child[i].granted;
        member->denied += child[i].denied;
    }
}

static void threads_come_and_go(const char *limits)
{
    weir_stats all = {0};
    crowd_begin("threads come and go");
    cost = 1;
    crowd.limiter = crowd_limiter(limits, WEIR_CLOCK_MANUAL);
    crowd.threads = 2 * THREADS;
    crowd.body = take_beside_a_child;
    for (uint64_t round = 0; round < rounds; round++) {
        crowd_start(&crowd);
        crowd_join(&crowd);
        add_and_compare(&all);
    }
    weir_close(crowd.limiter);
}

int main(void)
{
    static const char *const forms[] = {"1000/s burst=1000", "1000/s burst=1000; 5000/s burst=5000",
                                        "1000/s burst=1000 start=full algorithm=hybrid"};
    rounds = size_pick(2, 5, 20);
    for (int i = 0; i < 3; i++) {
        hammer(forms[i], take_all, 1);
        hammer(forms[i], take_all, 3);
        hammer(forms[i], take_some, 7);
        more_threads_than_slots(forms[i]);
    }
    cancel(forms[0]);
    cancel(forms[1]);
    cancel(forms[2]);
    threads_come_and_go(forms[0]);
    printf("ok\n");
    return 0;
}
