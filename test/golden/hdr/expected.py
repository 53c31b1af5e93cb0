#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""expected.py STARTS: the counts of each tag that the log of starts makes, in the words of peer.py."""
import collections
import csv
import sys


def end_of(value):
    """The largest value that HdrHistogram cannot tell from this one, with three significant digits."""
    shift = max(0, value.bit_length() - 11)
    return ((value >> shift) + 1 << shift) - 1


counts = {"response": collections.Counter(), "service": collections.Counter()}
with open(sys.argv[1]) as file:
    for row in csv.DictReader(file):
        if row["end_ns"] == "":
            continue
        counts["response"][end_of(max(0, int(row["end_ns"]) - int(row["due_ns"])))] += 1
        counts["service"][end_of(int(row["end_ns"]) - int(row["start_ns"]))] += 1
for tag, counter in sorted(counts.items()):
    for value, count in sorted(counter.items()):
        print("count", tag, value, count)
