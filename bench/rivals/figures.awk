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

# Leaves the least and the most in low and high.
function median(row, column,    i) {
    for (i = 1; i <= rounds_of[row]; i++) sample[i] = figure[row, column, i] + 0
    return middle(rounds_of[row])
}

function is_rival(row) {
    return folder[row] != "weir" && folder[row] != "floor"
}

function absolute(x) {
    return x < 0 ? -x : x
}

# How far from its schedule: early is no better than late.
function off(row,    p50, p99) {
    p50 = absolute(median(row, P50))
    p99 = absolute(median(row, P99))
    return p50 > p99 ? p50 : p99
}

function on_rate(row) {
    return absolute(median(row, VALUE) - 1) <= 0.01
}
