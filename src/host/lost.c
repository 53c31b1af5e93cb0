/* SPDX-License-Identifier: MIT
   lost.c - a mapped file that somebody cut off: whoever touches what is gone gets SIGBUS.

   There is no way on from there: what was decided by the file is gone with it.  So the process says which file and
   ends, with a status of its own.

   May touch: the signal's handler of the process.  Promises: as map.h.  Leaves to others: whether this process wants
   that; a library does not. */
#include "host/map.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOST_MESSAGE_SIZE = 4700 };

static char lost_message[LOST_MESSAGE_SIZE]; /* written before the handler is there */
static int lost_status;

static void on_lost(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code == BUS_ADRERR) {
        const ssize_t written = write(STDERR_FILENO, lost_message, strlen(lost_message));
        (void)written; /* whether or not somebody reads it */
        _exit(lost_status);
    }
    signal(number, SIG_DFL); /* it comes again */
}

void host_end_when_lost(const char *path, int exit_status)
{
    struct sigaction action = {.sa_sigaction = on_lost, .sa_flags = SA_SIGINFO};
    snprintf(lost_message, sizeof lost_message,
             "weir: %s, or a file beside it, was cut off while it was in use, or its disk has failed: what was counted "
             "there is lost\n",
             path);
    lost_status = exit_status;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
