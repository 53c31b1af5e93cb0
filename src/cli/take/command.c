/* SPDX-License-Identifier: MIT
   The command of weir take: this process becomes it, or has it as a child.

   A child that the system tells when its parent ends must not miss that in the moment between: so it looks, once it is
   to be told. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "cli/take/take.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

int command_become(char **command)
{
    fflush(NULL);
    execvp(command[0], command);
    return errno;
}

int command_trouble(char **command, int why)
{
    trouble("%s: %s", command[0], strerror(why));
    return why == ENOENT || why == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

#ifdef __linux__
static bool tell_when_parent_ends(pid_t parent, int number)
{
    return number == 0 || (prctl(PR_SET_PDEATHSIG, number) == 0 && getppid() == parent);
}
#else
static bool tell_when_parent_ends(pid_t parent, int number)
{
    (void)parent, (void)number;
    return true;
}
#endif

/* In the child.  failed: a pipe that the command closes when it begins. */
static void become_child(char **command, const sigset_t *blocked, pid_t parent, int lost_signal, int failed)
{
    int why = ESRCH;
    if (tell_when_parent_ends(parent, lost_signal)) {
        sigprocmask(SIG_SETMASK, blocked, NULL);
        execvp(command[0], command);
        why = errno;
    }
    const ssize_t written = write(failed, &why, sizeof why);
    (void)written; /* nobody is there any more */
    _exit(STATUS_NOT_EXECUTABLE);
}

int command_start(char **command, const sigset_t *blocked, int lost_signal, pid_t *child)
{
    int failed[2], why = 0;
    const pid_t parent = getpid();
    fflush(NULL);
    if (pipe2(failed, O_CLOEXEC) != 0) return errno;
    *child = fork();
    if (*child == 0) become_child(command, blocked, parent, lost_signal, failed[1]);
    if (*child < 0) why = errno;
    close(failed[1]);
    /* Nothing is read when the command has begun. */
    while (*child > 0 && read(failed[0], &why, sizeof why) < 0 && errno == EINTR) continue;
    close(failed[0]);
    return why;
}
