/* SPDX-License-Identifier: MIT
   A log-linear histogram, after HdrHistogram.  With 7 bits:

       value    0 .. 127 | 128 .. 255 | 256 .. 511 | ...          row r > 0 holds 2^(r+6) .. 2^(r+7) - 1
       row          0    |     1      |     2      |              in 128 buckets of 2^(r-1) values

   A quantile is at most 2^-bits above the true one, and never below it. */
#include "share/histogram.h"

/* The logarithm, rounded down: half of the rows that are left are above each guess. */
static unsigned row_of(uint64_t value, unsigned bits)
{
    unsigned row = 0;
    uint64_t rest = value >> (bits - 1);
    for (unsigned half = 32; half != 0; half /= 2) {
        if (rest >> half == 0) continue;
        rest >>= half;
        row += half;
    }
    return row;
}

unsigned histogram_bucket(uint64_t value, unsigned bits)
{
    const unsigned row = row_of(value, bits);
    const unsigned within = row == 0 ? (unsigned)value : (unsigned)(value >> (row - 1)) & ((1U << bits) - 1);
    return row << bits | within;
}

uint64_t histogram_bucket_end(unsigned bucket, unsigned bits)
{
    const unsigned row = bucket >> bits;
    const uint64_t within = bucket & ((1U << bits) - 1);
    return row == 0 ? within : ((within + (UINT64_C(1) << bits) + 1) << (row - 1)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count[histogram_bucket(value, HISTOGRAM_BITS)]++;
    histogram->total++;
    if (value > histogram->max) histogram->max = value;
}

/* ceil(total * parts / 1000), without overflow. */
uint64_t histogram_rank(uint64_t total, uint64_t parts_per_thousand)
{
    return total / 1000 * parts_per_thousand + (total % 1000 * parts_per_thousand + 999) / 1000;
}

uint64_t histogram_bucket_quantile(const uint64_t count[], unsigned buckets, unsigned bits, uint64_t parts_per_thousand)
{
    uint64_t total = 0, seen = 0;
    for (unsigned bucket = 0; bucket < buckets; bucket++) total += count[bucket];
    const uint64_t wanted = histogram_rank(total, parts_per_thousand);
    for (unsigned bucket = 0; bucket < buckets && total != 0; bucket++) {
        seen += count[bucket];
        if (seen != 0 && seen >= wanted) return histogram_bucket_end(bucket, bits);
    }
    return 0;
}

uint64_t histogram_quantile(const struct histogram *histogram, uint64_t parts_per_thousand)
{
    const uint64_t value =
        histogram_bucket_quantile(histogram->count, HISTOGRAM_BUCKETS, HISTOGRAM_BITS, parts_per_thousand);
    return value < histogram->max ? value : histogram->max;
}
