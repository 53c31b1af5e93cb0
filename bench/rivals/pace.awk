# SPDX-License-Identifier: MIT
# pace.awk, behind figures.awk: for each limiter and rate "p50 / p99 us, cpu", or how much of the rate it holds where
# that is off by more than 1 %.
END {
    for (i = 1; i <= rows; i++) {
        row = order[i]
        if (work[row] !~ /^pace /) continue
        name = who[row]
        if (!(name in line)) names[++count] = name
        held = median(row, VALUE)
        if (absolute(held - 1) > 0.01) line[name] = line[name] sprintf(" %.2f of the rate |", held)
        else
            line[name] = line[name] sprintf(" %.0f / %.0f, %.2f |", median(row, P50) / 1000, median(row, P99) / 1000,
                median(row, CPU))
    }
    for (i = 1; i <= count; i++) print "| " names[i] " |" line[names[i]]
}
