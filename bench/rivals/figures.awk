# SPDX-License-Identifier: MIT
# figures.awk: reads what bench/rivals/run has measured, for table.awk and plot.awk.  A line is a round, the folder, and
# what that folder's run printed: who, work, threads, then figures; "# " begins what was noted about the run.
BEGIN {
    FS = "\t"
    VALUE = 6 # columns
    P50 = 7
    P99 = 8
    CPU = 9
}

/^# / {
    note[++notes] = substr($0, 3)
    next
}

{
    row = $3 FS $4 FS $5
    if (!(row in rounds_of)) {
        order[++rows] = row
        folder[row] = $2
        who[row] = $3
        work[row] = $4
        threads[row] = $5
    }
    rounds_of[row]++
    for (column = VALUE; column <= NF; column++) figure[row, column, rounds_of[row]] = $column
}

# Leaves the least and the most in `low` and `high`.
function median(row, column,    n, i, j, moved, v) {
    n = rounds_of[row]
    for (i = 1; i <= n; i++) v[i] = figure[row, column, i] + 0
    for (i = 2; i <= n; i++) {
        moved = v[i]
        for (j = i - 1; j >= 1 && v[j] > moved; j--) v[j + 1] = v[j]
        v[j + 1] = moved
    }
    low = v[1]
    high = v[n]
    return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
}

function is_rival(row) {
    return folder[row] != "weir" && folder[row] != "floor"
}

function absolute(x) {
    return x < 0 ? -x : x
}

function most(a, b) {
    return a > b ? a : b
}

# How far from its schedule: early is no better than late.
function off(row) {
    return most(absolute(median(row, P50)), absolute(median(row, P99)))
}

function on_rate(row) {
    return absolute(median(row, VALUE) - 1) <= 0.01
}
