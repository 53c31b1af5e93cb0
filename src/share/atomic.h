/* SPDX-License-Identifier: MIT
   The only place that uses the hardware's atomics.  Each call is one step of C11's memory model, with the memory order
   that its name says.

   The model checker (test/model) replaces exactly this file, and so runs the very sources of this component.
   A new primitive here needs its counterpart there. */
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

/* gcc considers a function that only prefetches to have no effect and drops the call, unless it must inline it. */
#if defined(__GNUC__)
#define ATOM_PREFETCH(address) __builtin_prefetch(address, 1)
#define ATOM_INLINE inline __attribute__((always_inline))
#else
#define ATOM_PREFETCH(address) ((void)(address))
#define ATOM_INLINE inline
#endif

/* On i386 clang's macro speaks of integers that are not aligned to their size; these are. */
#if defined(__clang__)
#define ATOM_LOCK_FREE __atomic_always_lock_free(sizeof(uint64_t), 0)
#else
#define ATOM_LOCK_FREE (ATOMIC_LLONG_LOCK_FREE == 2)
#endif

/* gcc aligns a field of 64 bits to 32 on i386, atomic or not. */
struct atom {
    _Alignas(sizeof(uint64_t)) _Atomic uint64_t value;
};

_Static_assert(_Alignof(struct atom) == sizeof(uint64_t) && ATOM_LOCK_FREE, "weir needs 64-bit atomics without locks");

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

/* Compare and swap: returns true if the value was *expected and is replaced; otherwise false, with the value in
   *expected. */
static inline bool atom_swap(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_acq_rel,
                                                   memory_order_acquire);
}

/* The same, for who reads, behind it, what others wrote. */
static inline bool atom_swap_acquire(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_acquire,
                                                   memory_order_acquire);
}

/* The same, for who reads nothing behind it: what it read or wrote before is done.  One that misses is relaxed. */
static inline bool atom_swap_release(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_release,
                                                   memory_order_relaxed);
}

/* The same, of a value that stands for nothing else. */
static inline bool atom_swap_relaxed(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* The same, sequentially consistent with every other call that says `full`. */
static inline bool atom_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&atom->value, expected, desired, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

static inline uint64_t atom_load_full(const struct atom *atom)
{
    return atomic_load_explicit(&atom->value, memory_order_seq_cst);
}

/* Adds with relaxed order; returns the previous value. */
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

/* Prefetches a cache line that will be written soon.  It has no other effect. */
static ATOM_INLINE void atom_prefetch(const void *address)
{
    ATOM_PREFETCH(address);
}

/* Tells the processor that this is a spin loop.  It has no other effect. */
static inline void atom_pause(void)
{
    ATOM_PAUSE();
}

static inline void atom_pauses(unsigned count)
{
    while (count-- > 0) ATOM_PAUSE();
}

#endif
