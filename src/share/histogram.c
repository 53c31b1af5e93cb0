/* SPDX-License-Identifier: MIT
   A log-linear histogram, after HdrHistogram.

       value    0 .. 127 | 128 .. 255 | 256 .. 511 | ...          row r > 0 holds 2^(r+6) .. 2^(r+7) - 1
       row          0    |     1      |     2      |              in 128 buckets of 2^(r-1) values

   A quantile is at most 1/128 above the true one, and never below it. */
#include "share/histogram.h"

static unsigned row_of(uint64_t value)
{
    unsigned row = 0;
    while (row + 1 < HISTOGRAM_ROWS && value >> (row + HISTOGRAM_BITS) != 0) row++;
    return row;
}

static unsigned histogram_bucket(uint64_t value)
{
    const unsigned row = row_of(value);
    const unsigned within = row == 0 ? (unsigned)value : (unsigned)(value >> (row - 1)) & ((1U << HISTOGRAM_BITS) - 1);
    return row << HISTOGRAM_BITS | within;
}

static uint64_t last_value_of(unsigned bucket)
{
    const unsigned row = bucket >> HISTOGRAM_BITS;
    const uint64_t within = bucket & ((1U << HISTOGRAM_BITS) - 1);
    if (row == 0) return within;
    return ((within + (UINT64_C(1) << HISTOGRAM_BITS) + 1) << (row - 1)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count[histogram_bucket(value)]++;
    histogram->total++;
    if (value > histogram->max) histogram->max = value;
}

uint64_t histogram_quantile(const struct histogram *histogram, uint64_t parts_per_thousand)
{
    /* ceil(total * parts / 1000), without overflow. */
    const uint64_t wanted =
        histogram->total / 1000 * parts_per_thousand + (histogram->total % 1000 * parts_per_thousand + 999) / 1000;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS && histogram->total != 0; bucket++) {
        seen += histogram->count[bucket];
        if (seen < wanted || seen == 0) continue;
        const uint64_t value = last_value_of(bucket);
        return value < histogram->max ? value : histogram->max;
    }
    return histogram->max;
}
