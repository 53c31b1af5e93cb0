/* SPDX-License-Identifier: MIT
   Memory that processes share, with or without a file name; locks that are released when their holder dies; the boot
   ID. */
#ifndef WEIR_HOST_MAP_H
#define WEIR_HOST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fd is -1 for memory of this process alone. */
struct host_region {
    int fd;
    uint64_t size;   /* of the file or memory, when it was last measured */
    bool by_process; /* its locks belong to the process: see host_region_reopen */
};

/* Functions that return int return 0 or an errno value.  After an error *region has fd -1 if it was not open before. */

/* Zeroed memory with a descriptor (memfd, or an unlinked shm_open) that children of a fork share.  `alone`: memory of
   this process, without a descriptor. */
int host_region_anonymous(struct host_region *region, uint64_t size, bool alone);

/* Opens a file.  If it does not exist and may be created, it is made with exactly `mode`, without the umask.  Links are
   not followed.  The file must be a regular file of this user, of root, or of a group that may write if `mode` says so.
   A new file is empty.  Anyone who may write to the directory decides which file it is; the caller chooses the
   directory.

       ENOENT    does not exist (HOST_JOIN)                EEXIST    exists already (HOST_CREATE)
       ELOOP     a symbolic link, or too many on the way   EISDIR    a directory
       ENODEV    no file: a pipe, device or socket         EMLINK    it has more than one name (hard links)
       EPERM     another user's file, or writable for more users than `mode` says
       EACCES    this user may not; and other errors of open(2) */
enum host_open { HOST_JOIN, HOST_CREATE, HOST_JOIN_OR_CREATE };
int host_region_open(struct host_region *region, const char *path, enum host_open how, unsigned mode, bool *created);

/* [in a child of fork, before it locks] A child shares its parent's open file description and so its locks: the two
   would not exclude each other, and the locks would outlive the parent in any child that neither calls this function
   nor closes the region.  Where the file cannot be opened once more (/proc is not mounted), its locks belong to the
   process from now on: closing any other descriptor of the same file releases them. */
int host_region_reopen(struct host_region *region);

/* True if anything has this name. */
bool host_exists(const char *path);

/* Renames a file, and replaces any file that has the new name. */
int host_rename(const char *path, const char *to);

/* Reads the size again: another process may have enlarged the file.  Writes nothing else, so another thread may lock
   and unlock meanwhile. */
int host_region_measure(struct host_region *region);

/* [under a lock] Enlarges the file, with the space allocated, so that touching it cannot fail later; never shrinks it.
   ENOSPC (ENOMEM, EFBIG, EDQUOT): there is not enough space, and none was used. */
int host_region_grow(struct host_region *region, uint64_t size);

/* The same, but adds at most `step` bytes: called again until region->size is no less than `size`.  If it fails, what
   earlier calls added is still there. */
int host_region_grow_some(struct host_region *region, uint64_t size, uint64_t step);

/* [under the lock that it was added under] Gives back what was added behind `size` and never mapped. */
void host_region_cut(struct host_region *region, uint64_t size);

/* A copy of a file may lack the space for its zeros, and then touching it can fail (SIGBUS).  This allocates all of it,
   where the file system can.  ENOSPC: there is not enough space. */
int host_region_fill(const struct host_region *region);

/* *blank: there are only zeros from here to the end of the file.  Holes are not read. */
int host_region_blank(const struct host_region *region, uint64_t from, bool *blank);

/* Maps a part of the region, whole pages of 4096 bytes; of a region without a descriptor, zeroed memory of that size.
   ENXIO: the file is shorter.  If another program truncates the file later, a process that touches the missing part is
   killed by SIGBUS; weir never truncates it. */
int host_region_map(const struct host_region *region, uint64_t offset, uint64_t size, void **memory);

/* [before others use it] Touches all pages of zeroed memory, so that no first access costs anything later. */
void host_region_touch(void *memory, uint64_t size);
void host_region_unmap(void *memory, uint64_t size);

/* From now on a process that touches a truncated part exits with this status, and prints the path on standard error.
   It is for programs, since it installs the process's handler of SIGBUS. */
void host_end_when_lost(const char *path, int exit_status);

void host_region_close(struct host_region *region);

/* Locks one byte of the file against all other open descriptions of it; waits for at most wait_ns, and never longer
   than a century.  HOST_HELD: another holder still has it.  The system releases the lock when the process dies, but not
   when it is stopped.  Threads of one process have to exclude each other by other means.  Without a descriptor it
   succeeds at once.  Outside Linux the lock belongs to the process: closing any other descriptor of the same file
   releases it too. */
#define HOST_HELD (-1) /* no errno value */
int host_region_lock(const struct host_region *region, uint64_t byte, uint64_t wait_ns);
void host_region_unlock(const struct host_region *region, uint64_t byte);

/* True if another open description has this byte locked, or it cannot be known. */
bool host_region_is_locked(const struct host_region *region, uint64_t byte);

/* The text for an errno value, for messages; never NULL. */
const char *host_error_text(int number);

/* Unpredictable random bytes. */
int host_random(void *bytes, size_t size);

/* 16 bytes that differ from boot to boot; zeros where the system does not provide them. */
void host_boot(uint8_t boot[16]);

/* The offset from this process's CLOCK_MONOTONIC to the machine's: nonzero only in a time namespace.  0 where /proc is
   not mounted, or belongs to another namespace. */
int64_t host_time_namespace_ns(void);

#endif
