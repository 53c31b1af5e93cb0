/* SPDX-License-Identifier: MIT
   map.h - memory that processes share, with or without a file's name; locks that die with their holder; which boot.

   See map.c. */
#ifndef WEIR_HOST_MAP_H
#define WEIR_HOST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fd is -1 for memory of this process alone. */
struct host_region {
    int fd;
    uint64_t size;     /* of what there is */
    uint64_t identity; /* of the file: whether the name still means it */
};

/* All return 0 or an errno value. */

/* Zeroed memory with a descriptor (memfd, or an unlinked shm_open) that children of fork share; `alone`: of this
   process, without. */
int host_region_anonymous(struct host_region *region, uint64_t size, bool alone);

/* Opens a file, made with `mode` when it is not there and may be created: links are not followed, only a regular
   file of this user (or of root, or of a group that may write, when mode says so) will do.  A new file is empty. */
enum host_open { HOST_JOIN, HOST_CREATE, HOST_JOIN_OR_CREATE };
int host_region_open(struct host_region *region, const char *path, enum host_open how, unsigned mode, bool *created);

/* Makes it larger, with the space allocated, so that touching it cannot fail later; never smaller. */
int host_region_grow(struct host_region *region, uint64_t size);

/* A part of it, whole pages; of a region without descriptor: zeroed memory of that size. */
int host_region_map(const struct host_region *region, uint64_t offset, uint64_t size, void **memory);
void host_region_unmap(void *memory, uint64_t size);

/* The space of what nobody needs any more goes back; it reads as zeros then. */
void host_region_punch(const struct host_region *region, uint64_t offset, uint64_t size);

void host_region_close(struct host_region *region);

/* Waits for the lock on one byte of the file, against all other openings of it; the system lets go of it when the
   process dies.  Threads of this process have to exclude each other on their own. */
int host_region_lock(const struct host_region *region, uint64_t byte);
void host_region_unlock(const struct host_region *region, uint64_t byte);

/* Random bytes that nobody can guess. */
int host_random(void *bytes, size_t size);

/* 16 bytes that differ from boot to boot; zeros where the system does not say. */
void host_boot(uint8_t boot[16]);

/* What to add to this process's CLOCK_MONOTONIC to have the machine's: other than 0 in a time namespace. */
int64_t host_time_namespace_ns(void);

#endif
