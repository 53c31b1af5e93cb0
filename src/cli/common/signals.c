/* SPDX-License-Identifier: MIT
   signals.c - ending by a signal that was held back for a while.

   May touch: this process.  Promises: what was written is flushed.  Leaves to others: which signals, and what is put in
   order before. */
#include "cli/common/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

void die_of(int number)
{
    sigset_t set;
    fflush(NULL);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
