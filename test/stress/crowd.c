/* SPDX-License-Identifier: MIT
   See crowd.h. */
#include "crowd.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limiter.h"

_Static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "a thread's handle is a word here");

bool crowd_can_trace(const char *what)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    const bool can = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    if (!can) printf("skipped: %s: no child can be traced (qemu-user); cure: run it on a machine of this kind\n", what);
    return can;
}

void crowd_check(int holds, const char *what)
{
    if (holds) return;
    printf("FAILED: %s\n", what);
    fflush(stdout);
    _exit(1);
}

void crowd_nobody_waits(const weir_limiter *limiter)
{
    for (int i = 0; i <= HOST_SLOTS; i++) crowd_check(limiter->queue[i].first == NULL, "a waiter is left in a queue");
}

void crowd_begin(const char *part)
{
    printf("%s\n", part);
    fflush(stdout);
    alarm(CROWD_SECONDS);
}

weir_limiter *crowd_limiter(const char *limits, weir_clock clock)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter = NULL;
    options.clock = clock;
    crowd_check(weir_open(&limiter, limits, &options, NULL) == 0, limits);
    return limiter;
}

void crowd_change(weir_limiter *limiter, const char *limits, weir_carry carry)
{
    crowd_check(weir_set_limit(limiter, limits, carry, NULL) == 0, limits);
}

static void *run(void *argument)
{
    struct member *member = argument;
    struct crowd *crowd = member->crowd;
    atomic_fetch_add(&crowd->ready, 1);
    while (atomic_load(&crowd->ready) < atomic_load(&crowd->awaited)) sched_yield();
    crowd->body(member);
    atomic_store(&member->back, true);
    atomic_fetch_add(&crowd->back, 1);
    return NULL;
}

static void start_one(struct crowd *crowd, int number)
{
    pthread_t thread;
    struct member *member = &crowd->member[number];
    *member = (struct member){.crowd = crowd, .number = number};
    crowd_check(pthread_create(&thread, NULL, run, member) == 0, "a thread could not be started");
    crowd->handle[number] = (uintptr_t)thread;
}

void crowd_add(struct crowd *crowd)
{
    start_one(crowd, crowd->threads++);
}

void crowd_start(struct crowd *crowd)
{
    atomic_store(&crowd->ready, 0);
    atomic_store(&crowd->back, 0);
    atomic_store(&crowd->awaited, crowd->threads);
    for (int i = 0; i < crowd->threads; i++) start_one(crowd, i);
}

void crowd_join_one(struct crowd *crowd, int number)
{
    pthread_join((pthread_t)crowd->handle[number], NULL);
}

void crowd_join(struct crowd *crowd)
{
    for (int i = 0; i < crowd->threads; i++) crowd_join_one(crowd, i);
}

void crowd_count(struct member *member, const weir_decision *decision)
{
    member->decision = *decision;
    member->calls++;
    member->granted += decision->verdict == WEIR_ALLOW ? decision->charged : 0;
    member->denied += decision->verdict != WEIR_ALLOW;
    member->delayed += decision->verdict == WEIR_ALLOW && decision->delay_ns != 0;
}
