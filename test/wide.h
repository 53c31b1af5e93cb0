/* SPDX-License-Identifier: MIT
   128-bit integers for oracles, also where a processor of 32 bits has none (clang and gcc 14 have them there). */
#ifndef WEIR_TEST_WIDE_H
#define WEIR_TEST_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_unsigned;

/* The rest may be NULL. */
static inline wide_unsigned wide_divide(wide_unsigned top, wide_unsigned bottom, wide_unsigned *rest)
{
    if (rest != NULL) *rest = top % bottom;
    return top / bottom;
}
#else
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize "O0" /* gcc 14 for i386 computes wrongly with these from -O1 on */
#endif
typedef _BitInt(128) wide;
typedef unsigned _BitInt(128) wide_unsigned;

/* Bit by bit where 64 are not enough, as clang's libraries there cannot. */
static inline wide_unsigned wide_divide(wide_unsigned top, wide_unsigned bottom, wide_unsigned *rest)
{
    wide_unsigned quotient = 0, left = 0;
    const bool small = (top | bottom) >> 64 == 0;
    if (small) quotient = (uint64_t)top / (uint64_t)bottom, left = (uint64_t)top % (uint64_t)bottom;
    for (int i = small ? -1 : top >> 64 != 0 ? 127 : 63; i >= 0; i--) {
        const bool over = left >> 127 != 0;
        left = left << 1 | (top >> i & 1);
        quotient <<= 1;
        if (!over && left < bottom) continue;
        left -= bottom;
        quotient |= 1;
    }
    if (rest != NULL) *rest = left;
    return quotient;
}
#endif

/* About as much, for messages: libraries of 32 bits cannot do that either. */
static inline double wide_double(wide value)
{
    const wide_unsigned size = value < 0 ? -(wide_unsigned)value : (wide_unsigned)value;
    const double positive = (double)(uint64_t)(size >> 64) * 18446744073709551616.0 + (double)(uint64_t)size;
    return value < 0 ? -positive : positive;
}

#endif
