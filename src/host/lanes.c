/* SPDX-License-Identifier: MIT
   Which registers there are, from the processor itself: __builtin_cpu_supports would need a symbol of libgcc that the
   linkers of other languages do not find. */
#include "host/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <stdint.h>

enum { FEATURES = 1, FEATURES_MORE = 7 };
enum { OSXSAVE = 1 << 27, AVX512F = 1 << 16, AVX512DQ = 1 << 17 };
enum { KEPT_AVX512 = 0xe6 }; /* the registers that the system has to save for each thread */

static uint32_t kept(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool host_has_lanes(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(FEATURES, &a, &b, &c, &d) || (c & OSXSAVE) == 0) return false;
    if (!__get_cpuid_count(FEATURES_MORE, 0, &a, &b, &c, &d)) return false;
    return (b & AVX512F) != 0 && (b & AVX512DQ) != 0 && (kept() & KEPT_AVX512) == KEPT_AVX512;
}

#else

bool host_has_lanes(void)
{
    return false;
}

#endif
