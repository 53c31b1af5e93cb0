/* SPDX-License-Identifier: MIT
   How often each value occurred, to within 1/128 of the value, in fixed memory. */
#ifndef WEIR_SHARE_HISTOGRAM_H
#define WEIR_SHARE_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_BITS = 7, /* values below 2^BITS have a bucket each, and so has each 2^-BITS of a larger one */
    HISTOGRAM_ROWS = 64 - HISTOGRAM_BITS + 1,
    HISTOGRAM_BUCKETS = HISTOGRAM_ROWS << HISTOGRAM_BITS
};

/* Zeroed = empty. */
struct histogram {
    uint64_t count[HISTOGRAM_BUCKETS];
    uint64_t total, max;
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The value that `parts_per_thousand` of all values do not exceed, rounded up to the end of its bucket but never above
   the maximum; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, uint64_t parts_per_thousand);

#endif
