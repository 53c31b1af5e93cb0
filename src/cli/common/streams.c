/* SPDX-License-Identifier: MIT
   Standard input and output, before and after a program's work.

   What was lost on its way out is no success. */
#include "cli/common/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/arguments.h"

/* What the caller has closed stays so: reading from it, or writing to it, fails.  But nothing that is opened gets its
   number, or what is said to people would be written into a state or to a client. */
void streams_keep_numbers(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

/* What could not be written, because the disk is full or the reader has gone, was not done. */
int streams_written(int status)
{
    const bool failed_before = ferror(stdout) != 0; /* and errno is of something since */
    const int why = fflush(stdout) != 0 ? errno : 0;
    if (!failed_before && why == 0) return status;
    return trouble("standard output: %s", why != 0 ? strerror(why) : "not all could be written");
}
