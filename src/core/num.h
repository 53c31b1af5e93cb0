/* SPDX-License-Identifier: MIT
   The few operations on 64 bits whose intermediate needs 128, and saturating addition.

   Results are exact in the direction that the name says; what does not fit in 64 bits is UINT64_MAX.  Where there is no
   128-bit integer, num_portable.h does the same with halves; a test holds the two against each other. */
#ifndef WEIR_CORE_NUM_H
#define WEIR_CORE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/num_portable.h"

/* Two of them can be added and subtracted, signed. */
#define TICKS_FAR (INT64_MAX / 2)

static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t subtract_to_zero(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t positive(int64_t a)
{
    return a > 0 ? (uint64_t)a : 0;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* places up to 19. */
static inline uint64_t power_of_ten(unsigned places)
{
    uint64_t power = 1;
    while (places-- > 0) power *= 10;
    return power;
}

/* a * 2^(64 - s) fits in 64 bits, s as in multiply_shift_floor_64. */
static inline bool shift_is_near_64(uint64_t a, unsigned shift)
{
    const unsigned up = (64 - shift) & 63;
    return a << up >> up == a;
}

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 uint128;

static inline uint64_t wide_to_64(uint128 value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* a * b / 2^shift, shift below 128. */
static inline uint64_t multiply_shift_floor(uint64_t a, uint64_t b, unsigned shift)
{
    return wide_to_64((uint128)a * b >> (shift & 127));
}

/* a * b / 2^s, s the shift of 1 to 64 that differs from this one by a multiple of 64: one multiplication and its upper
   half for s near 64, unless a has bits to lose. */
static inline uint64_t multiply_shift_floor_64(uint64_t a, uint64_t b, unsigned shift)
{
    const unsigned up = (64 - shift) & 63;
    if (!shift_is_near_64(a, shift)) return multiply_shift_floor(a, b, 64 - up);
    return (uint64_t)((uint128)(a << up) * b >> 64);
}

/* a * 2^shift / divisor, shift up to 64.  By 0: UINT64_MAX. */
static inline uint64_t shift_divide_ceil(uint64_t a, unsigned shift, uint64_t divisor)
{
    if (divisor == 0) return UINT64_MAX;
    const uint128 top = (uint128)a << (shift & 127), whole = top / divisor;
    return wide_to_64(whole + (whole * divisor != top)); /* the remainder would be another division */
}

static inline uint64_t shift_divide_floor(uint64_t a, unsigned shift, uint64_t divisor)
{
    return divisor == 0 ? UINT64_MAX : wide_to_64(((uint128)a << (shift & 127)) / divisor);
}

/* a * b / divisor.  By 0: UINT64_MAX. */
static inline uint64_t multiply_divide_floor(uint64_t a, uint64_t b, uint64_t divisor)
{
    if (divisor == 0) return UINT64_MAX;
    return wide_to_64((uint128)a * b / divisor);
}

static inline uint64_t multiply_divide_ceil(uint64_t a, uint64_t b, uint64_t divisor)
{
    if (divisor == 0) return UINT64_MAX;
    const uint128 top = (uint128)a * b, whole = top / divisor;
    return wide_to_64(whole + (whole * divisor != top));
}

/* All 128 bits: sums, products and shifts have to fit; a difference is not below 0, a divisor not 0. */
typedef uint128 num128;

static inline num128 num128_multiply(uint64_t a, uint64_t b)
{
    return (num128)a * b;
}

static inline num128 num128_scale(num128 a, uint64_t b)
{
    return a * b;
}

static inline num128 num128_add(num128 a, num128 b)
{
    return a + b;
}

static inline num128 num128_subtract(num128 a, num128 b)
{
    return a - b;
}

static inline bool num128_less(num128 a, num128 b)
{
    return a < b;
}

/* shift below 64 */
static inline num128 num128_shift_left(num128 a, unsigned shift)
{
    return a << shift;
}

static inline bool num128_fits(num128 a, unsigned bits)
{
    return bits >= 128 || a >> bits == 0;
}

/* What does not fit in 64 bits is UINT64_MAX. */
static inline uint64_t num128_low(num128 a)
{
    return wide_to_64(a);
}

static inline num128 num128_divide(num128 top, num128 divisor, num128 *remainder)
{
    *remainder = top % divisor;
    return top / divisor;
}

#else

typedef struct halves num128;

#define num128_multiply portable_num128_multiply
#define num128_scale portable_num128_scale
#define num128_add portable_num128_add
#define num128_subtract portable_num128_subtract
#define num128_less portable_num128_less
#define num128_shift_left portable_num128_shift_left
#define num128_fits portable_num128_fits
#define num128_low portable_num128_low
#define num128_divide portable_num128_divide
#define multiply_shift_floor portable_multiply_shift_floor
#define multiply_shift_floor_64 portable_multiply_shift_floor_64
#define shift_divide_ceil portable_shift_divide_ceil
#define shift_divide_floor portable_shift_divide_floor
#define multiply_divide_floor portable_multiply_divide_floor
#define multiply_divide_ceil portable_multiply_divide_ceil

#endif

/* The last part of splitmix64: each bit of z changes about half of all. */
static inline uint64_t stir_64(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t multiply_saturating(uint64_t a, uint64_t b)
{
    return multiply_divide_floor(a, b, 1);
}

#endif
