/* SPDX-License-Identifier: MIT
   How often each value occurred, to within a part of the value, in fixed memory. */
#ifndef WEIR_SHARE_HISTOGRAM_H
#define WEIR_SHARE_HISTOGRAM_H

#include <stdint.h>

/* ---- buckets that somebody else holds ---- */

/* Values below 2^bits have a bucket each, and so has each 2^-bits of a larger one. */
unsigned histogram_bucket(uint64_t value, unsigned bits);

/* The largest value of this bucket. */
uint64_t histogram_bucket_end(unsigned bucket, unsigned bits);

/* The value that `parts_per_thousand` of all values do not exceed, rounded up to its bucket's end; 0 when empty. */
uint64_t histogram_bucket_quantile(const uint64_t count[], unsigned buckets, unsigned bits,
                                   uint64_t parts_per_thousand);

/* Of so many values, the first that parts_per_thousand of all do not exceed: which one it is in their order, from 1. */
uint64_t histogram_rank(uint64_t total, uint64_t parts_per_thousand);

/* HdrHistogram's buckets with three significant digits from 1 to 2^53 - 1, which JavaScript can count to; in ns, 104
   days.  The number of a bucket is the index in its array of counts, too. */
enum {
    HISTOGRAM_HDR_BITS = 10,
    HISTOGRAM_HDR_ROW = 1 << HISTOGRAM_HDR_BITS,
    HISTOGRAM_HDR_ROWS = 53 - HISTOGRAM_HDR_BITS + 1,
    HISTOGRAM_HDR_BUCKETS = HISTOGRAM_HDR_ROWS * HISTOGRAM_HDR_ROW
};
static const uint64_t HISTOGRAM_HDR_MOST = (UINT64_C(1) << 53) - 1;

/* ---- to within 1/128 ---- */

enum {
    HISTOGRAM_BITS = 7,
    HISTOGRAM_ROWS = 64 - HISTOGRAM_BITS + 1,
    HISTOGRAM_BUCKETS = HISTOGRAM_ROWS << HISTOGRAM_BITS
};

/* Zeroed = empty. */
struct histogram {
    uint64_t count[HISTOGRAM_BUCKETS];
    uint64_t total, max;
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The same, but never above the maximum. */
uint64_t histogram_quantile(const struct histogram *histogram, uint64_t parts_per_thousand);

#endif
