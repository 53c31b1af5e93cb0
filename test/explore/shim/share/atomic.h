/* SPDX-License-Identifier: MIT
   atomic.h - the explorer's twin of src/share/atomic.h: same names, each call a step of the explorer.

   May touch: the word it is given.  Promises: steps in one order that all threads see; a pause that ends only when it
   makes a difference.  Leaves to others: weaker orders, which is why acquire and release are alike here. */
#ifndef WEIR_SHARE_ATOMIC_H
#define WEIR_SHARE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Declared here and not included, so that sources under test see no more names than in production. */
uint64_t explore_load(const uint64_t *word);
void explore_store(uint64_t *word, uint64_t value);
bool explore_swap(uint64_t *word, uint64_t *expected, uint64_t desired);
uint64_t explore_add(uint64_t *word, uint64_t more);
void explore_pause(void);

struct atom {
    uint64_t value;
};

static inline uint64_t atom_load(const struct atom *atom)
{
    return explore_load(&atom->value);
}

static inline uint64_t atom_load_acquire(const struct atom *atom)
{
    return explore_load(&atom->value);
}

static inline void atom_store(struct atom *atom, uint64_t value)
{
    explore_store(&atom->value, value);
}

static inline void atom_store_release(struct atom *atom, uint64_t value)
{
    explore_store(&atom->value, value);
}

static inline bool atom_swap(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return explore_swap(&atom->value, expected, desired);
}

static inline bool atom_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return explore_swap(&atom->value, expected, desired);
}

static inline uint64_t atom_load_full(const struct atom *atom)
{
    return explore_load(&atom->value);
}

static inline uint64_t atom_add(struct atom *atom, uint64_t more)
{
    return explore_add(&atom->value, more);
}

static inline void atom_fence_acquire(void)
{
}

static inline void atom_fence_full(void)
{
}

#define ATOM_INLINE inline

static ATOM_INLINE void atom_prefetch(const void *address)
{
    (void)address;
}

static inline void atom_pause(void)
{
    explore_pause();
}

#endif
