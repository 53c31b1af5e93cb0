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
    uint64_t size;   /* of what there is, when it was last looked at */
    bool by_process; /* its locks are this process's: see host_region_reopen */
};

/* All that return int return 0 or an errno value; then *region has fd -1 if it was not open before. */

/* Zeroed memory with a descriptor (memfd, or an unlinked shm_open) that children of fork share; `alone`: of this
   process, without. */
int host_region_anonymous(struct host_region *region, uint64_t size, bool alone);

/* Opens a file, made with exactly `mode` (no umask) when it is not there and may be created: links are not followed,
   only a regular file of this user (or of root, or of a group that may write, when mode says so) will do.  A new file
   is empty.  Who may write its folder decides which file it is; that is the caller's to choose.

       ENOENT    not there (HOST_JOIN)                     EEXIST    there already (HOST_CREATE)
       ELOOP     a symbolic link, or too many on the way   EISDIR    a folder
       ENODEV    no file: a pipe, device or socket         EMLINK    it has more names than one (hard links)
       EPERM     another user's, or others may write it more than `mode` says
       EACCES    this user may not; and what else open(2) says */
enum host_open { HOST_JOIN, HOST_CREATE, HOST_JOIN_OR_CREATE };
int host_region_open(struct host_region *region, const char *path, enum host_open how, unsigned mode, bool *created);

/* [in a child of fork, before it locks] A child shares its parent's opening of the file and so its locks: they would
   not exclude each other, and would outlive the parent in any child that has not called this or closed the region.
   Where it cannot be opened once more (/proc is not there), its locks are the process's from now on: closing any other
   opening of the same file lets go of them. */
int host_region_reopen(struct host_region *region);

/* Is there anything of this name, whatever it is? */
bool host_exists(const char *path);

/* Gives a file another name, whatever has that. */
int host_rename(const char *path, const char *to);

/* Takes the size anew: another process may have made it larger. */
int host_region_measure(struct host_region *region);

/* [under a lock] Makes it larger, with the space allocated, so that touching it cannot fail later; never smaller.
   ENOSPC (ENOMEM, EFBIG, EDQUOT): there is not so much space, and none is used. */
int host_region_grow(struct host_region *region, uint64_t size);

/* A file may have been copied without its zeros, and then touching it can fail (SIGBUS): takes the space for all of it,
   where the file system can.  ENOSPC: there is not so much. */
int host_region_fill(const struct host_region *region);

/* Are there only zeros from here to the end of the file?  Holes are not read. */
int host_region_blank(const struct host_region *region, uint64_t from, bool *blank);

/* A part of it, whole pages of 4096; of a region without descriptor: zeroed memory of that size, wherever.
   ENXIO: the file is shorter.  A file that somebody truncates later kills with SIGBUS who touches what is gone; weir
   never does that. */
int host_region_map(const struct host_region *region, uint64_t offset, uint64_t size, void **memory);
void host_region_unmap(void *memory, uint64_t size);

/* From now on a touch of what was cut off ends the process, with this status and the path on standard error.  For
   programs: it is the process's handler of SIGBUS. */
void host_end_when_lost(const char *path, int exit_status);

void host_region_close(struct host_region *region);

/* Takes the lock on one byte of the file, against all other openings of it; waits, but not for longer than a century.
   HOST_HELD: somebody has it still.  The system lets go of it when the process dies, not when that is stopped.  Threads
   of this process have to exclude each other on their own.  Without descriptor it is had at once.  Outside Linux the
   lock is the process's: closing any other opening of the same file lets go of it too. */
#define HOST_HELD (-1) /* no errno value */
int host_region_lock(const struct host_region *region, uint64_t byte, uint64_t wait_ns);
void host_region_unlock(const struct host_region *region, uint64_t byte);

/* What such a number means, for a message; never NULL. */
const char *host_error_text(int number);

/* Random bytes that nobody can guess. */
int host_random(void *bytes, size_t size);

/* 16 bytes that differ from boot to boot; zeros where the system does not say. */
void host_boot(uint8_t boot[16]);

/* What to add to this process's CLOCK_MONOTONIC to have the machine's: other than 0 in a time namespace.  0 where /proc
   is not mounted, or is another one's. */
int64_t host_time_namespace_ns(void);

#endif
