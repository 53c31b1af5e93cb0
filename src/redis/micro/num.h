/* SPDX-License-Identifier: MIT
   The few operations whose plain form would need more than a double holds.

   Every number here is a whole one up to 2^53, and so is every number on the way: weir.lua does the same line by line.

   Exact, in the direction that the name says. */
#ifndef WEIR_REDIS_MICRO_NUM_H
#define WEIR_REDIS_MICRO_NUM_H

#include "core/num.h"
#include "redis/micro/micro.h"

static inline uint64_t divide_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* a * b, but MICRO_MOST at most. */
static inline uint64_t multiply_capped(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0) return 0;
    return a > MICRO_MOST / b ? MICRO_MOST : a * b;
}

static inline uint64_t add_capped(uint64_t a, uint64_t b)
{
    return least(a + b, MICRO_MOST);
}

struct quotient {
    uint64_t whole, rest;
};

/* a * b / c, for c from 1 and all up to MICRO_MOST; MICRO_MOST where it would be more.  As by hand, in base 2: only the
   rest of a / c is multiplied, a bit of b at a time from the highest one, and what is over c is carried. */
static inline struct quotient multiply_divide(uint64_t a, uint64_t b, uint64_t c)
{
    if (b == 0 || a <= MICRO_MOST / b) return (struct quotient){a * b / c, a * b % c};
    const uint64_t more = a % c, whole = multiply_capped(a / c, b);
    uint64_t quotient = 0, rest = 0;
    for (uint64_t bit = MICRO_MOST; bit >= 1; bit /= 2) {
        quotient = quotient * 2;
        rest = rest * 2;
        if (rest >= c) {
            quotient = quotient + 1;
            rest = rest - c;
        }
        if (b / bit % 2 == 1) rest = rest + more;
        if (rest >= c) {
            quotient = quotient + 1;
            rest = rest - c;
        }
    }
    return (struct quotient){add_capped(whole, quotient), rest};
}

static inline uint64_t share_floor(uint64_t a, uint64_t b, uint64_t c)
{
    return multiply_divide(a, b, c).whole;
}

static inline uint64_t share_ceil(uint64_t a, uint64_t b, uint64_t c)
{
    const struct quotient quotient = multiply_divide(a, b, c);
    return add_capped(quotient.whole, quotient.rest != 0);
}

/* ---- words of a value: 8 bytes, the least first; in one expression, which compilers make one access of ---- */

static inline uint64_t word_read(const unsigned char *bytes)
{
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24 |
           (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 | (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

static inline void word_write(unsigned char *bytes, uint64_t word)
{
    bytes[0] = (unsigned char)word;
    bytes[1] = (unsigned char)(word >> 8);
    bytes[2] = (unsigned char)(word >> 16);
    bytes[3] = (unsigned char)(word >> 24);
    bytes[4] = (unsigned char)(word >> 32);
    bytes[5] = (unsigned char)(word >> 40);
    bytes[6] = (unsigned char)(word >> 48);
    bytes[7] = (unsigned char)(word >> 56);
}

#endif
