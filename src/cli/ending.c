/* SPDX-License-Identifier: MIT
   ending.c - ends the process as a signal would have, after the last words were said.

   May touch: signals, open files.  Promises: what was printed is flushed.  Leaves to others: the last words. */
#include "cli/ending.h"

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
