/* SPDX-License-Identifier: MIT
   atomic.h - the only seam to the hardware's atomics.

   May touch: the word it is given.  Promises: each call is one step of C11's memory model, in the order its name says.
   Leaves to others: what the words mean.  The interleaving explorer (test/explore) replaces exactly this file, so that
   it runs the very sources of this room; a new primitive here needs its twin there. */
#ifndef WEIR_SHARE_ATOMIC_H
#define WEIR_SHARE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define ATOM_PAUSE() __builtin_ia32_pause()
#else
#define ATOM_PAUSE() ((void)0)
#endif

/* gcc takes a function that only prefetches for one without effect and drops the call, unless it must inline it. */
#if defined(__GNUC__)
#define ATOM_PREFETCH(address) __builtin_prefetch(address, 1)
#define ATOM_INLINE inline __attribute__((always_inline))
#define ATOM_LOCK_FREE __atomic_always_lock_free(sizeof(uint64_t), 0) /* of what is aligned as struct atom is */
#else
#define ATOM_PREFETCH(address) ((void)(address))
#define ATOM_INLINE inline
#define ATOM_LOCK_FREE (ATOMIC_LLONG_LOCK_FREE == 2)
#endif

struct atom {
    _Atomic uint64_t value;
};

_Static_assert(ATOM_LOCK_FREE &&_Alignof(struct atom) == sizeof(uint64_t), "weir needs 64-bit atomics without locks");

static inline uint64_t atom_load(const struct atom *atom)
{
    return atomic_load_explicit(&atom->value, memory_order_relaxed);
}

static inline uint64_t atom_load_acquire(const struct atom *atom)
{
    return atomic_load_explicit(&atom->value, memory_order_acquire);
}

static inline void atom_store(struct atom *atom, uint64_t value)
{
    atomic_store_explicit(&atom->value, value, memory_order_relaxed);
}

static inline void atom_store_release(struct atom *atom, uint64_t value)
{
    atomic_store_explicit(&atom->value, value, memory_order_release);
}

/* Compare and swap: true when *expected was there and is replaced; false fills *expected with what was there. */
static inline bool atom_swap(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_acq_rel,
                                                   memory_order_acquire);
}

/* The same, and in one order with every other call that says full. */
static inline bool atom_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

static inline uint64_t atom_load_full(const struct atom *atom)
{
    return atomic_load_explicit(&atom->value, memory_order_seq_cst);
}

/* Adds, relaxed; returns what was there before. */
static inline uint64_t atom_add(struct atom *atom, uint64_t more)
{
    return atomic_fetch_add_explicit(&atom->value, more, memory_order_relaxed);
}

static inline void atom_fence_acquire(void)
{
    atomic_thread_fence(memory_order_acquire);
}

static inline void atom_fence_full(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

/* Asks the processor for a line that will be written soon.  Changes nothing. */
static ATOM_INLINE void atom_prefetch(const void *address)
{
    ATOM_PREFETCH(address);
}

/* Tells the processor that this is a spin.  Changes nothing. */
static inline void atom_pause(void)
{
    ATOM_PAUSE();
}

#endif
