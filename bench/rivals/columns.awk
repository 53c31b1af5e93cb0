# SPDX-License-Identifier: MIT
# columns.awk, behind figures.awk: a row of Markdown for each limiter, its medians by threads in columns; `wanted` work.
END {
    for (i = 1; i <= rows; i++) {
        row = order[i]
        if (work[row] != wanted) continue
        name = who[row]
        if (!(name in line)) names[++count] = name
        line[name] = line[name] sprintf(" %.1f |", median(row, VALUE))
    }
    for (i = 1; i <= count; i++) print "| " names[i] " |" line[names[i]]
}
