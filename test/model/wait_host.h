/* SPDX-License-Identifier: MIT
   A machine for wait_model.c: a clock that a thread of the model checker moves, and sleeps that end by it.

   Who sleeps wakes when the clock has reached his alarm, at any moment after that; memory is at the same place in each
   execution. */
#ifndef WEIR_TEST_WAIT_HOST_H
#define WEIR_TEST_WAIT_HOST_H

#include <stdint.h>

void wait_host_begin(uint64_t now_ns);

/* By the thread that is the clock: moves it on, whatever the others do; then to the next alarm whenever all who are not
   done sleep, until the first `waiters` threads are done. */
void wait_host_jump(uint64_t ns);
void wait_host_run(int waiters);

/* By a waiter. */
void wait_host_done(void);
uint64_t wait_host_seen_ns(void); /* what it last read from the clock */

#endif
