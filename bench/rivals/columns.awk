# SPDX-License-Identifier: MIT
# columns.awk, behind figures.awk: a row of Markdown for each limiter, the clock that it reads in each call and its
# medians by threads in columns; `wanted` work.
function clock_of(name) {
    if (name ~ /time given|now passed in|weir_take_at/) return "given"
    if (name ~ /ticker|semaphore|rocksdb/) return "a thread's"
    if (name ~ /lease/) return "at each renewal"
    if (name ~ /MONOTONIC/) return "MONOTONIC"
    if (name ~ /TSC|quanta/) return "counter"
    if (name ~ /coarse/) return "COARSE"
    if (name ~ /^weir_/) return "MONOTONIC"
    if (name ~ /x\/time|uber/) return "time.Now"
    if (name ~ /guava|bucket4j|resilience4j/) return "nanoTime"
    print "bench/rivals/columns.awk: which clock does " name " read?" >"/dev/stderr"
    exit failed = 1
}

END {
    if (failed) exit 1
    for (i = 1; i <= rows; i++) {
        row = order[i]
        if (work[row] != wanted) continue
        name = who[row]
        if (!(name in line)) names[++count] = name
        line[name] = line[name] sprintf(" %.1f |", median(row, VALUE))
    }
    for (i = 1; i <= count; i++) print "| " names[i] " | " clock_of(names[i]) " |" line[names[i]]
}
