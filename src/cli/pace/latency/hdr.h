/* SPDX-License-Identifier: MIT
   Latencies in the files of HdrHistogram.

   See hdr.c. */
#ifndef WEIR_CLI_PACE_LATENCY_HDR_H
#define WEIR_CLI_PACE_LATENCY_HDR_H

#include <stdbool.h>
#include <stdio.h>

#include <weir/weir.h>

#include "share/histogram.h"

/* Counts of times in ns; the index is that of HdrHistogram. */
struct hdr {
    uint64_t count[HISTOGRAM_HDR_BUCKETS];
};

/* All that the limiter has recorded up to now; false without memory. */
bool hdr_read(struct hdr *hdr, weir_limiter *limiter, weir_measure measure);

/* What was recorded after `before`. */
void hdr_since(struct hdr *since, const struct hdr *now, const struct hdr *before);

/* Count and percentiles; total_ns is left out. */
weir_times hdr_times(const struct hdr *hdr);

/* .hgrm: the percentiles in ms, as outputPercentileDistribution of HdrHistogram prints them. */
void hdr_write_percentiles(const struct hdr *hdr, FILE *out);

/* .hlog: its head, and a line of an interval that begins so long after the log did; false without memory. */
void hdr_write_head(uint64_t unix_ns, FILE *out);
bool hdr_write_interval(const struct hdr *hdr, const char *tag, uint64_t from_ns, uint64_t to_ns, FILE *out);

#endif
