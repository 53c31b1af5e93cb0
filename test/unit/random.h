/* SPDX-License-Identifier: MIT
   Numbers that come out the same each time: xorshift64*, from a seed that the test prints.

   Nothing about quality beyond what tests need. */
#ifndef WEIR_TEST_RANDOM_H
#define WEIR_TEST_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *seed is not 0. */
static inline uint64_t random_word(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

/* 0 to n - 1; n is not 0. */
static inline uint64_t random_below(uint64_t *seed, uint64_t n)
{
    return random_word(seed) % n;
}

static inline bool random_one_in(uint64_t *seed, uint64_t n)
{
    return random_below(seed, n) == 0;
}

/* As many small numbers as large ones: up to `bits` bits, 1 to 64. */
static inline uint64_t random_sized(uint64_t *seed, unsigned bits)
{
    return random_word(seed) >> (64 - 1 - random_below(seed, bits));
}

/* 1 to UINT64_MAX, however unlikely 0 is. */
static inline uint64_t random_positive(uint64_t *seed, unsigned bits)
{
    const uint64_t value = random_sized(seed, bits);
    return value != 0 ? value : 1;
}

#endif
