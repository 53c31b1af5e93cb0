/* SPDX-License-Identifier: MIT
   Ending by a signal that was held back for a while.

   What was written is flushed. */
#include "cli/common/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

void signals_die(int number)
{
    sigset_t set;
    fflush(NULL);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
