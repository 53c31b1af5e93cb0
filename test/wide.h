/* SPDX-License-Identifier: MIT
   128-bit integers for oracles, also where a processor of 32 bits has none (clang has them there). */
#ifndef WEIR_TEST_WIDE_H
#define WEIR_TEST_WIDE_H

#include <stdbool.h>
#include <stddef.h>

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
typedef _BitInt(128) wide;
typedef unsigned _BitInt(128) wide_unsigned;

/* Bit by bit, as the libraries there cannot. */
static inline wide_unsigned wide_divide(wide_unsigned top, wide_unsigned bottom, wide_unsigned *rest)
{
    wide_unsigned quotient = 0, left = 0;
    for (int i = 127; i >= 0; i--) {
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

#endif
