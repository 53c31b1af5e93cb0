/* SPDX-License-Identifier: MIT
   How much memory this process may still use before it is killed for it. */
#ifndef WEIR_HOST_MEMORY_H
#define WEIR_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { HOST_MEMORY_SOURCE_MAX = 160 };

/* The smallest bound that was found; UINT64_MAX if there is none. */
struct host_memory {
    uint64_t available;
    char source
        [HOST_MEMORY_SOURCE_MAX]; /* where it was read: "MemAvailable of /proc/meminfo", or a file of the cgroup */
};

struct host_memory host_memory_available(void);

/* The same for a system whose files are below this directory. */
struct host_memory host_memory_available_in(const char *root);

#endif
