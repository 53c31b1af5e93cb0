/* SPDX-License-Identifier: MIT
   128-bit integers for oracles, also where a processor of 32 bits has none (clang has them there). */
#ifndef WEIR_TEST_WIDE_H
#define WEIR_TEST_WIDE_H

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_unsigned;
#else
typedef _BitInt(128) wide;
typedef unsigned _BitInt(128) wide_unsigned;
#endif

#endif
