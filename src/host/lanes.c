/* SPDX-License-Identifier: MIT
   Which wide registers there are, from the processor itself: __builtin_cpu_supports would need a symbol of libgcc that
   linkers of other languages do not find. */
#include "host/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

enum { FEATURES = 1, FEATURES_MORE = 7 };
enum { OSXSAVE = 1 << 27, AVX2 = 1 << 5, AVX512F = 1 << 16 };
#define AVX512VL (UINT32_C(1) << 31)
enum { KEPT_AVX = 0x6, KEPT_AVX512 = 0xe6 }; /* registers that the system saves for each thread */

static uint32_t kept(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int host_lanes(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(FEATURES, &a, &b, &c, &d) || (c & OSXSAVE) == 0) return HOST_LANES_NONE;
    if (!__get_cpuid_count(FEATURES_MORE, 0, &a, &b, &c, &d)) return HOST_LANES_NONE;
    const uint32_t keeps = kept();
    if ((b & AVX2) == 0 || (keeps & KEPT_AVX) != KEPT_AVX) return HOST_LANES_NONE;
    const bool wider = (b & AVX512F) != 0 && (b & AVX512VL) != 0 && (keeps & KEPT_AVX512) == KEPT_AVX512;
    return wider ? HOST_LANES_AVX512 : HOST_LANES_AVX2;
}

#else

int host_lanes(void)
{
    return HOST_LANES_NONE;
}

#endif
