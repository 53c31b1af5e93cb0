/* SPDX-License-Identifier: MIT
   What happens when a mapped file is truncated by another process: the first access to the missing part raises SIGBUS.

   There is no way to continue, since the decisions in the file are gone with it.  So the process names the file and
   exits with a status of its own.  A program may choose that; a library does not. */
#include "host/map.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOST_MESSAGE_SIZE = 4700 };

static char lost_message[LOST_MESSAGE_SIZE]; /* written before the handler is installed */
static int lost_status;

static void on_lost(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code == BUS_ADRERR) {
        const ssize_t written = write(STDERR_FILENO, lost_message, strlen(lost_message));
        (void)written; /* there is nothing to do if it fails */
        _exit(lost_status);
    }
    signal(number, SIG_DFL);
    raise(number); /* once this handler has returned */
}

void host_end_when_lost(const char *path, int exit_status)
{
    struct sigaction action = {.sa_sigaction = on_lost, .sa_flags = SA_SIGINFO};
    snprintf(
        lost_message, sizeof lost_message,
        "weir: %s, or a file beside it, was truncated while it was in use, or its disk has failed: what was counted "
        "there is lost\n",
        path);
    lost_status = exit_status;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
