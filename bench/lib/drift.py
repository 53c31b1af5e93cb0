# SPDX-License-Identifier: MIT
"""Does a figure that was sampled for hours grow?  bench/serve/soak asks.

The first quarter of a run, an hour at most, warms up and is not judged.  The first hour of the rest (a quarter of it,
in shorter runs) is held against the last one, median against median, and the slope is Theil and Sen's: the median of
the slopes between all pairs of samples, which no outlier moves.  What is named:

    memory   leak    slope of more than 1 % an hour, and both it and the medians say: more than 2 MiB since
    count    leak    both say: since then 2 more, and half of the first part's samples differ by less than what is
                     beyond that (descriptors, threads, connections)
    time     drift   the last median is more than 1.5 times the first, and the slope says half of that at least; only
                     where the parts that are compared are 5 minutes or longer: a machine has other work
"""
import statistics

HOUR_S = 3600
BINS = 120  # the slope is that of so many medians
PER_HOUR, LEAST_KIB, LEAST_COUNT, TIMES, LEAST_PART_S = 0.01, 2048, 2, 1.5, 300


def binned(rows):
    size = -(-len(rows) // BINS)
    return [tuple(statistics.median(column) for column in zip(*rows[at:at + size])) for at in range(0, len(rows), size)]


def slope(rows):
    """Per hour, of (seconds, value)."""
    rows = binned(rows)
    return HOUR_S * statistics.median((other[1] - one[1]) / (other[0] - one[0])
                                      for at, one in enumerate(rows) for other in rows[at + 1:])


class Figure:
    def __init__(self, name, kind):
        self.name, self.kind, self.rows = name, kind, []

    def add(self, second, value):
        self.rows.append((second, value))

    def judge(self):
        """-> first, last, slope per hour, "leak", "drift", "steady" or why there is no verdict"""
        began, end = self.rows[0][0], self.rows[-1][0]
        warm = began + min(HOUR_S, (end - began) / 4)
        rows = [row for row in self.rows if row[0] >= warm]
        if len(rows) < 8:
            return None, None, None, "too few samples"
        part = min(HOUR_S, (end - warm) / 4)
        begin = sorted(value for at, value in rows if at <= warm + part)
        first = statistics.median(begin)
        last = statistics.median(value for at, value in rows if at >= end - part)
        rise = slope(rows)
        return first, last, rise, self.verdict(first, last, rise, rise * (end - warm) / HOUR_S, part,
                                               begin[len(begin) * 3 // 4] - begin[len(begin) // 4])

    def verdict(self, first, last, rise, since, part, spread):
        since = min(since, last - first)
        if self.kind == "memory":
            return "leak" if since > LEAST_KIB and rise > PER_HOUR * first else "steady"
        if self.kind == "count":
            return "leak" if since > LEAST_COUNT + spread else "steady"
        if part < LEAST_PART_S:
            return "not judged: short"
        return "drift" if last > TIMES * first and since > (last - first) / 2 else "steady"


def self_check():
    """Series that are known -> what is wrong with the rule."""
    hours, wrong = 8, []

    def saw(second):  # a noise that is the same each time
        return (second * 7919 % 101) / 50 - 1

    cases = (("flat", "memory", lambda s: 60000 + 300 * saw(s), "steady"),
             ("2 % an hour", "memory", lambda s: 60000 * (1 + 0.02 * s / HOUR_S) + 300 * saw(s), "leak"),
             ("half a percent an hour", "memory", lambda s: 60000 * (1 + 0.005 * s / HOUR_S), "steady"),
             ("it fills in the first hour", "memory", lambda s: 60000 + 9000 * min(1, s / HOUR_S), "steady"),
             ("a spike", "memory", lambda s: 60000 + 90000 * (5 < s / HOUR_S < 5.1), "steady"),
             ("a descriptor an hour", "count", lambda s: 40 + s // HOUR_S + 3 * saw(s), "leak"),
             ("connections that come and go", "count", lambda s: 40 + 9 * saw(s), "steady"),
             ("twice as slow at the end", "time", lambda s: 50 * (1 + s / HOUR_S / hours) + 4 * saw(s), "drift"),
             ("one slow hour", "time", lambda s: 50 + 50 * (3 < s / HOUR_S < 4), "steady"))
    for name, kind, at, expected in cases:
        figure = Figure(name, kind)
        for second in range(0, hours * HOUR_S, 30):
            figure.add(second, at(second))
        if figure.judge()[3] != expected:
            wrong.append(f"{name}: {figure.judge()}, expected {expected}")
    return wrong
