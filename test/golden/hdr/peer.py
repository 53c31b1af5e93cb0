#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peer.py LOG PERCENTILES: HdrHistogram of Python reads a .hlog; as Peer.java."""
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

MOST = 2**53 - 1
sums = {}
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, MOST, 3))
while (interval := reader.get_next_interval_histogram()) is not None:
    tag = interval.get_tag()
    print("interval", tag, round(interval.get_start_time_stamp()), round(interval.get_end_time_stamp()),
          interval.get_total_count())
    sums.setdefault(tag, HdrHistogram(1, MOST, 3)).add(interval)
for tag, total in sorted(sums.items()):
    for value in total.get_recorded_iterator():
        most = total.get_highest_equivalent_value(value.value_iterated_to)
        print("count", tag, most, value.count_at_value_iterated_to)
with open(sys.argv[2], "wb") as out:
    sums["response"].output_percentile_distribution(out, 1e6, 5)
