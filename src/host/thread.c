/* SPDX-License-Identifier: MIT
   Thread indexes, a mutex, aligned memory.

   A thread keeps its index until it exits.  So data at that index is written by one thread at a time, and needs no lock
   and no atomic addition. */
#include "host/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

static _Atomic uint64_t slots_taken; /* one bit each */
static _Atomic uint64_t fork_count;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static int prepared = -1; /* 0, or an errno value; see host_prepare */
static pthread_key_t at_exit_key;
static pthread_mutex_t watches_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct host_watch *watches;
static struct host_fork_watch *fork_watches;
HOST_THREAD_LOCAL unsigned host_slot_plus_1;

_Static_assert(HOST_SLOTS == 64, "a bit for each slot");

static void unlink_watch(struct host_watch *watch)
{
    if (watch->before != NULL) watch->before->after = watch->after;
    else watches = watch->after;
    if (watch->after != NULL) watch->after->before = watch->before;
    watch->thread = NULL;
}

static struct host_watch *next_of_this_thread(void)
{
    pthread_mutex_lock(&watches_mutex);
    struct host_watch *watch = watches;
    while (watch != NULL && watch->thread != &host_slot_plus_1) watch = watch->after;
    if (watch != NULL) unlink_watch(watch);
    pthread_mutex_unlock(&watches_mutex);
    return watch;
}

/* The key holds the slot + 1 as a pointer, because the destructor is not called for NULL. */
static void release(void *slot)
{
    const uintptr_t number = (uintptr_t)slot - 1;
    for (struct host_watch *watch; (watch = next_of_this_thread()) != NULL;) watch->thread_ended(watch);
    host_slot_plus_1 = HOST_SLOTS + 1;
    if (number == HOST_SLOTS) return;
    atomic_fetch_and_explicit(&slots_taken, ~(UINT64_C(1) << number), memory_order_release);
}

/* Keeps the lists, and everything that the watches protect, consistent in the child. */
static void before_fork(void)
{
    pthread_mutex_lock(&watches_mutex);
    for (struct host_fork_watch *watch = fork_watches; watch != NULL; watch = watch->after) watch->hold(watch);
}

static void call_let_go(bool child)
{
    for (struct host_fork_watch *watch = fork_watches; watch != NULL; watch = watch->after) watch->let_go(watch, child);
    pthread_mutex_unlock(&watches_mutex);
}

static void after_fork(void)
{
    call_let_go(false);
}

/* The child has only this thread, whose slot is then shared with no other. */
static void keep_own_slot(void)
{
    const unsigned plus_1 = host_slot_plus_1;
    const bool own = plus_1 != 0 && plus_1 <= HOST_SLOTS;
    atomic_store_explicit(&slots_taken, own ? UINT64_C(1) << (plus_1 - 1) : 0, memory_order_relaxed);
    if (!own) host_slot_plus_1 = 0;
}

static void after_fork_in_child(void)
{
    atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed);
    keep_own_slot();
    while (watches != NULL) {
        struct host_watch *watch = watches;
        unlink_watch(watch);
        watch->forked(watch);
    }
    call_let_go(true);
}

static void prepare(void)
{
    prepared = pthread_atfork(before_fork, after_fork, after_fork_in_child);
    if (prepared == 0) prepared = pthread_key_create(&at_exit_key, release);
}

/* When the library is unloaded, threads that used it go on, and later exit without it. */
static __attribute__((destructor)) void leave(void)
{
    if (prepared == 0) pthread_key_delete(at_exit_key);
}

int host_prepare(void)
{
    pthread_once(&thread_once, prepare);
    return prepared;
}

static unsigned claim_thread_slot(void)
{
    if (prepared != 0) return HOST_SLOTS;
    uint64_t taken = atomic_load_explicit(&slots_taken, memory_order_relaxed);
    while (taken != UINT64_MAX) {
        unsigned slot = 0;
        while (taken >> slot & 1) slot++;
        if (atomic_compare_exchange_weak_explicit(&slots_taken, &taken, taken | UINT64_C(1) << slot,
                                                  memory_order_acquire, memory_order_relaxed)) {
            pthread_setspecific(at_exit_key, (void *)(uintptr_t)(slot + 1));
            return slot;
        }
    }
    pthread_setspecific(at_exit_key, (void *)(uintptr_t)(HOST_SLOTS + 1));
    return HOST_SLOTS;
}

/* A function of its own, so that the fast path needs no stack. */
static __attribute__((noinline)) unsigned first_slot(void)
{
    host_prepare();
    host_slot_plus_1 = claim_thread_slot() + 1;
    return host_slot_plus_1 - 1;
}

unsigned host_slot(void)
{
    const unsigned plus_1 = host_slot_plus_1;
    return plus_1 != 0 ? plus_1 - 1 : first_slot();
}

const _Atomic uint64_t *host_forks_counter(void)
{
    host_prepare();
    return &fork_count;
}

void host_watch_open(struct host_watch *watch)
{
    /* Takes a slot so that the exit of this thread is noticed, even if it has begun already. */
    const unsigned slot = host_slot();
    pthread_setspecific(at_exit_key, (void *)(uintptr_t)(slot + 1));
    watch->thread = &host_slot_plus_1;
    watch->before = NULL;
    pthread_mutex_lock(&watches_mutex);
    watch->after = watches;
    if (watches != NULL) watches->before = watch;
    watches = watch;
    pthread_mutex_unlock(&watches_mutex);
}

bool host_watch_close(struct host_watch *watch)
{
    pthread_mutex_lock(&watches_mutex);
    const bool open = watch->thread != NULL;
    if (open) unlink_watch(watch);
    pthread_mutex_unlock(&watches_mutex);
    return open;
}

void host_fork_watch_open(struct host_fork_watch *watch)
{
    watch->before = NULL;
    pthread_mutex_lock(&watches_mutex);
    watch->after = fork_watches;
    if (fork_watches != NULL) fork_watches->before = watch;
    fork_watches = watch;
    pthread_mutex_unlock(&watches_mutex);
}

void host_fork_watch_close(struct host_fork_watch *watch)
{
    pthread_mutex_lock(&watches_mutex);
    if (watch->before != NULL) watch->before->after = watch->after;
    else fork_watches = watch->after;
    if (watch->after != NULL) watch->after->before = watch->before;
    pthread_mutex_unlock(&watches_mutex);
}

uint64_t host_forks(void)
{
    return atomic_load_explicit(host_forks_counter(), memory_order_relaxed);
}

void host_yield(void)
{
    sched_yield();
}

void host_mutex_open(struct host_mutex *mutex)
{
    pthread_mutex_init(&mutex->mutex, NULL);
}

void host_mutex_close(struct host_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->mutex);
}

void host_lock(struct host_mutex *mutex)
{
    pthread_mutex_lock(&mutex->mutex);
}

void host_unlock(struct host_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->mutex);
}

void *host_allocate(uint64_t size)
{
    if (size > SIZE_MAX - CACHE_LINE) return NULL;
    const size_t whole_lines = ((size_t)size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *memory = aligned_alloc(CACHE_LINE, whole_lines);
    if (memory != NULL) memset(memory, 0, whole_lines);
    return memory;
}

void host_free(void *memory)
{
    free(memory);
}
