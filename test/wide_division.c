/* SPDX-License-Identifier: MIT
   What clang calls to divide 128 bits, on machines of 32 bits, whose libraries do not have it. */
#include "wide.h"

#ifndef __SIZEOF_INT128__

wide_unsigned __udivti3(wide_unsigned top, wide_unsigned bottom);
wide_unsigned __umodti3(wide_unsigned top, wide_unsigned bottom);
wide __divti3(wide top, wide bottom);
wide __modti3(wide top, wide bottom);

/* Bit by bit, as on paper. */
static wide_unsigned divide(wide_unsigned top, wide_unsigned bottom, wide_unsigned *rest)
{
    wide_unsigned quotient = 0;
    *rest = 0;
    for (int i = 127; i >= 0; i--) {
        const wide_unsigned over = *rest >> 127;
        *rest = *rest << 1 | (top >> i & 1);
        quotient <<= 1;
        if (over == 0 && *rest < bottom) continue;
        *rest -= bottom;
        quotient |= 1;
    }
    return quotient;
}

static wide_unsigned size_of(wide value)
{
    return value < 0 ? -(wide_unsigned)value : (wide_unsigned)value;
}

wide_unsigned __udivti3(wide_unsigned top, wide_unsigned bottom)
{
    wide_unsigned rest;
    return divide(top, bottom, &rest);
}

wide_unsigned __umodti3(wide_unsigned top, wide_unsigned bottom)
{
    wide_unsigned rest;
    divide(top, bottom, &rest);
    return rest;
}

wide __divti3(wide top, wide bottom)
{
    const wide_unsigned quotient = __udivti3(size_of(top), size_of(bottom));
    return (top < 0) != (bottom < 0) ? (wide)-quotient : (wide)quotient;
}

wide __modti3(wide top, wide bottom)
{
    const wide_unsigned rest = __umodti3(size_of(top), size_of(bottom));
    return top < 0 ? (wide)-rest : (wide)rest;
}

#endif
