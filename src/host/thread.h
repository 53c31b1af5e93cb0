/* SPDX-License-Identifier: MIT
   Thread indexes, mutual exclusion, memory. */
#ifndef WEIR_HOST_THREAD_H
#define WEIR_HOST_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread-local variable that is found with one addition: glibc reserves room for some of them in libraries that are
   loaded at run time.  Elsewhere the compiler's default model is used, which calls a function in a shared library. */
#if defined(__GLIBC__) && defined(__GNUC__)
#define HOST_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define HOST_THREAD_LOCAL _Thread_local
#endif

enum { HOST_SLOTS = 64 };

/* Prepares for thread exits and forks: returns 0, or an errno value if the system has no resources for it.  To be
   called before a watch is opened; without it all threads share the index HOST_SLOTS. */
int host_prepare(void);

/* The index of the calling thread, which no other living thread has; HOST_SLOTS if more threads live than there are
   indexes. */
unsigned host_slot(void);

/* The index + 1; 0 before the first call of host_slot.  Only host_slot_known() uses it: it is read in each decision,
   and a function call would cost as much as the rest of a refusal. */
extern HOST_THREAD_LOCAL unsigned host_slot_plus_1 __attribute__((visibility("hidden")));

/* host_slot without a function call; HOST_SLOTS or more if the thread has no index (yet). */
static inline unsigned host_slot_known(void)
{
    return host_slot_plus_1 - 1;
}

/* The number of forks between this process and the first one. */
uint64_t host_forks(void);

/* The counter itself, for frequent reads. */
const _Atomic uint64_t *host_forks_counter(void);

/* Notifies its owner that its thread has ended, or that the process is the child of a fork: one of the two functions is
   called, once, and the watch is closed.  Zeroed = not open. */
struct host_watch {
    struct host_watch *before, *after;
    void (*thread_ended)(struct host_watch *watch); /* called by that thread */
    void (*forked)(struct host_watch *watch);       /* called in the child; may open and close no watch */
    const void *thread;
};

/* Watches the calling thread.  The watch is borrowed until it is closed, or until one of its functions is called. */
void host_watch_open(struct host_watch *watch);

/* False if it had been notified already. */
bool host_watch_close(struct host_watch *watch);

/* For an owner of locks that no thread may hold while the process forks: the holder would not exist in the child and
   could not release them.  Zeroed = not open. */
struct host_fork_watch {
    struct host_fork_watch *before, *after;
    void (*hold)(struct host_fork_watch *watch); /* called before the fork */
    void (*let_go)(struct host_fork_watch *watch,
                   bool child); /* called after it, when all host_watch functions have run */
};

/* The watch is borrowed until it is closed.  A thread that holds its locks may open and close none. */
void host_fork_watch_open(struct host_fork_watch *watch);
void host_fork_watch_close(struct host_fork_watch *watch);

void host_yield(void);

struct host_mutex {
    pthread_mutex_t mutex;
};

void host_mutex_open(struct host_mutex *mutex);
void host_mutex_close(struct host_mutex *mutex);
void host_lock(struct host_mutex *mutex);
void host_unlock(struct host_mutex *mutex);

/* Zeroed memory that begins on a cache line of its own; NULL if there is none. */
void *host_allocate(uint64_t size);
void host_free(void *memory);

#endif
