/* SPDX-License-Identifier: MIT
   Many threads at one limiter, all started at once and all awaited.

   A part that hangs ends the process. */
#ifndef WEIR_TEST_CROWD_H
#define WEIR_TEST_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

enum { CROWD_MAX = 128 };

struct member {
    struct crowd *crowd;
    int number;
    uint64_t calls, granted, denied, delayed; /* as the thread counted them */
    weir_decision decision;                   /* its last */
    atomic_bool back;
};

struct crowd {
    weir_limiter *limiter;
    int threads;
    void (*body)(struct member *member);
    struct member member[CROWD_MAX];
    atomic_int ready, awaited; /* nobody begins before as many are ready */
    atomic_int back;
    uintptr_t handle[CROWD_MAX];
};

/* A limiter on the manual clock, or the process ends. */
weir_limiter *crowd_limiter(const char *limits, weir_clock clock);

void crowd_change(weir_limiter *limiter, const char *limits, weir_carry carry);

/* Starts one thread more, which begins at once. */
void crowd_add(struct crowd *crowd);

/* Starts all, none of which begins before the last is there. */
void crowd_start(struct crowd *crowd);

/* Waits for one, or for all. */
void crowd_join_one(struct crowd *crowd, int number);
void crowd_join(struct crowd *crowd);

/* Counts an answer for the thread that got it. */
void crowd_count(struct member *member, const weir_decision *decision);

/* After this long a process whose threads do not end is taken to hang, also on a machine that is busy otherwise. */
enum { CROWD_SECONDS = 500 };

/* From here on there are CROWD_SECONDS until the process is ended. */
void crowd_begin(const char *part);

/* Ends the process with a message if it does not hold. */
void crowd_check(int holds, const char *what);

/* False where a process cannot trace its child (qemu-user); then it has printed that `what` is skipped. */
bool crowd_can_trace(const char *what);

/* When all are back, the lines are empty. */
void crowd_nobody_waits(const weir_limiter *limiter);

#endif
