# SPDX-License-Identifier: MIT
# figures.awk: reads what bench/fleet/run simulated, for table.awk and plot.awk (behind lib/plot.awk).
BEGIN {
    FS = "\t"
    A_SECOND = 11000 # 10000/s burst=1000
}

/^# / {
    note[++notes] = substr($0, 3)
    next
}

{
    row = $1 FS $2 FS $3
    requests[row] = $4 + $5
    allowed[row] = $4
    wrongly_denied[row] = $6
    excess[row] = $8
    calls[row] = $9
    waited[row] = $11
    node_least[row] = $12
    if (!($2 in seen)) count[++counts] = $2
    seen[$2]
    count_max = $2 > count_max ? $2 + 0 : count_max
}
