/* SPDX-License-Identifier: MIT
   memory.h - how much memory this process may still take before it is killed for it.

   See memory.c. */
#ifndef WEIR_HOST_MEMORY_H
#define WEIR_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { HOST_MEMORY_SOURCE_MAX = 160 };

/* The least that anything says; UINT64_MAX where nothing does. */
struct host_memory {
    uint64_t available;
    char source[HOST_MEMORY_SOURCE_MAX]; /* who says it: "MemAvailable of /proc/meminfo", or a file of the cgroup */
};

struct host_memory host_memory_available(void);

/* The same of a system whose files are below this folder. */
struct host_memory host_memory_available_in(const char *root);

#endif
