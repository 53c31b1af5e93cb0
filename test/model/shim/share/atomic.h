/* SPDX-License-Identifier: MIT
   The model checker's twin of src/share/atomic.h: same names, each call a step of the model checker.

   A pause ends only when it makes a difference. */
#ifndef WEIR_SHARE_ATOMIC_H
#define WEIR_SHARE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Declared here and not included, so that sources under test see no more names than in production. */
enum { ATOM_RELAXED, ATOM_ACQUIRE, ATOM_RELEASE, ATOM_BOTH, ATOM_FULL }; /* as enum model_order */
uint64_t model_load(const uint64_t *word, int order, const char *site);
void model_store(uint64_t *word, uint64_t value, int order, const char *site);
bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired, int order, const char *site);
uint64_t model_add(uint64_t *word, uint64_t more, int order, const char *site);
void model_fence(int order, const char *site);
void model_pause(void);

struct atom {
    uint64_t value;
};

#define ATOM_TEXT(line) #line
#define ATOM_LINE(line) ATOM_TEXT(line)
#define ATOM_SITE __FILE__ ":" ATOM_LINE(__LINE__)

#define atom_load(atom) model_load(&(atom)->value, ATOM_RELAXED, ATOM_SITE)
#define atom_load_acquire(atom) model_load(&(atom)->value, ATOM_ACQUIRE, ATOM_SITE)
#define atom_load_full(atom) model_load(&(atom)->value, ATOM_FULL, ATOM_SITE)
#define atom_store(atom, new) model_store(&(atom)->value, new, ATOM_RELAXED, ATOM_SITE)
#define atom_store_release(atom, new) model_store(&(atom)->value, new, ATOM_RELEASE, ATOM_SITE)
#define atom_swap(atom, expected, desired) model_swap(&(atom)->value, expected, desired, ATOM_BOTH, ATOM_SITE)
#define atom_swap_acquire(atom, expected, desired)                                                                     \
    model_swap(&(atom)->value, expected, desired, ATOM_ACQUIRE, ATOM_SITE)
#define atom_swap_release(atom, expected, desired)                                                                     \
    model_swap(&(atom)->value, expected, desired, ATOM_RELEASE, ATOM_SITE)
#define atom_swap_relaxed(atom, expected, desired)                                                                     \
    model_swap(&(atom)->value, expected, desired, ATOM_RELAXED, ATOM_SITE)
#define atom_swap_full(atom, expected, desired) model_swap(&(atom)->value, expected, desired, ATOM_FULL, ATOM_SITE)
#define atom_add(atom, more) model_add(&(atom)->value, more, ATOM_RELAXED, ATOM_SITE)
#define atom_fence_acquire() model_fence(ATOM_ACQUIRE, ATOM_SITE)
#define atom_fence_full() model_fence(ATOM_FULL, ATOM_SITE)

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
