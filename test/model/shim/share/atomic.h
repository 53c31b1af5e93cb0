/* SPDX-License-Identifier: MIT
   The model checker's twin of src/share/atomic.h: same names, each call a step of the model checker.

   Steps in one order that all threads see; a pause that ends only when it makes a difference. */
#ifndef WEIR_SHARE_ATOMIC_H
#define WEIR_SHARE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Declared here and not included, so that sources under test see no more names than in production. */
uint64_t model_load(const uint64_t *word);
void model_store(uint64_t *word, uint64_t value);
bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired);
uint64_t model_add(uint64_t *word, uint64_t more);
void model_pause(void);

struct atom {
    uint64_t value;
};

static inline uint64_t atom_load(const struct atom *atom)
{
    return model_load(&atom->value);
}

static inline uint64_t atom_load_acquire(const struct atom *atom)
{
    return model_load(&atom->value);
}

static inline void atom_store(struct atom *atom, uint64_t value)
{
    model_store(&atom->value, value);
}

static inline void atom_store_release(struct atom *atom, uint64_t value)
{
    model_store(&atom->value, value);
}

static inline bool atom_swap(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return model_swap(&atom->value, expected, desired);
}

static inline bool atom_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return model_swap(&atom->value, expected, desired);
}

static inline uint64_t atom_load_full(const struct atom *atom)
{
    return model_load(&atom->value);
}

static inline uint64_t atom_add(struct atom *atom, uint64_t more)
{
    return model_add(&atom->value, more);
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
    model_pause();
}

/* To those who wait they are one. */
static inline void atom_pauses(unsigned count)
{
    (void)count;
    model_pause();
}

#endif
