/* SPDX-License-Identifier: MIT
   Tests that limit a process's memory, where the system holds it to that.

   Included behind unit/skip.h. */
#ifndef WEIR_UNIT_MEMORY_LIMIT_H
#define WEIR_UNIT_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool memory_limit_holds(void)
{
    const rlim_t megabyte = 1 << 20;
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit little = {64 * megabyte, 64 * megabyte};
        if (setrlimit(RLIMIT_AS, &little) != 0) _exit(1);
        void *more = mmap(NULL, 256 * megabyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _exit(more == MAP_FAILED ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static inline void skip_without_memory_limit(const char *what)
{
    if (memory_limit_holds()) return;
    skip_because(what, "a process is not held to RLIMIT_AS (qemu-user)", "run it on a machine of this kind");
}

#endif
