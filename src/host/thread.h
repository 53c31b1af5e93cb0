/* SPDX-License-Identifier: MIT
   thread.h - which thread this is, mutual exclusion, memory.

   May touch: the operating system, thread exit, fork.  Promises: see each.  Leaves to others: deciding anything. */
#ifndef WEIR_HOST_THREAD_H
#define WEIR_HOST_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread's own variable, found with one addition: glibc keeps room for some of them in libraries that are loaded
   while the program runs.  Elsewhere the compiler's way, which calls a function in a shared library. */
#if defined(__GLIBC__) && defined(__GNUC__)
#define HOST_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define HOST_THREAD_LOCAL _Thread_local
#endif

enum { HOST_SLOTS = 64 };

/* Makes ready what notices the end of a thread and a fork: 0, or an errno value where the system has no more of it.
   Before a watch is opened; without it all threads share the number HOST_SLOTS. */
int host_prepare(void);

/* A small number that no other living thread has, or HOST_SLOTS when more threads live than there are numbers. */
unsigned host_slot(void);

/* That number + 1; 0: none was asked for yet.  Shown for host_slot_known() alone: it is read in each decision, and a
   call costs as much as the rest of a refusal. */
extern HOST_THREAD_LOCAL unsigned host_slot_plus_1 __attribute__((visibility("hidden")));

/* The same without a call, or HOST_SLOTS and more where it has none (yet). */
static inline unsigned host_slot_known(void)
{
    return host_slot_plus_1 - 1;
}

/* How many forks lie between this process and its start. */
uint64_t host_forks(void);

/* Where that number is kept, for those who read it often. */
const _Atomic uint64_t *host_forks_counter(void);

/* Somebody who wants to know when his thread has ended, or that this is the child of a fork: then one of the two is
   called, once, and the watch is over.  Zeroed = not open. */
struct host_watch {
    struct host_watch *before, *after;
    void (*thread_ended)(struct host_watch *watch); /* by that thread */
    void (*forked)(struct host_watch *watch);       /* in the child; may open and close no watch */
    const void *thread;
};

/* For the calling thread.  The watch is borrowed until it is closed, or until one of its functions is called. */
void host_watch_open(struct host_watch *watch);

/* False when it was over already. */
bool host_watch_close(struct host_watch *watch);

/* Somebody with locks, which no thread may hold while the process forks: it would not be there to let go of them in the
   child.  Zeroed = not open. */
struct host_fork_watch {
    struct host_fork_watch *before, *after;
    void (*hold)(struct host_fork_watch *watch);               /* before the fork */
    void (*let_go)(struct host_fork_watch *watch, bool child); /* after it, behind all that host_watch does */
};

/* The watch is borrowed until it is closed.  Who holds its locks may open and close none. */
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

/* Zeroed, on a cache line of its own; NULL when there is none. */
void *host_allocate(size_t size);
void host_free(void *memory);

#endif
