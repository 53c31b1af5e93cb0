# SPDX-License-Identifier: MIT
# table.awk: the figures of bench/rivals/run as tables (see run).

# Sorts group[1..n] by place[row], the least first.
function sort_group(n,    i, j, moved) {
    for (i = 2; i <= n; i++) {
        moved = group[i]
        for (j = i - 1; j >= 1 && place[group[j]] > place[moved]; j--) group[j + 1] = group[j]
        group[j + 1] = moved
    }
}

# The rows of one work and count of threads, into group[].
function gather(wanted, count,    i, n) {
    n = 0
    for (i = 1; i <= rows; i++) if (work[order[i]] == wanted && threads[order[i]] == count) group[++n] = order[i]
    return n
}

# The counts of threads of a work, ascending, into counts[].
function gather_counts(wanted,    i, j, n, moved, seen) {
    n = 0
    for (i = 1; i <= rows; i++) {
        if (work[order[i]] != wanted || threads[order[i]] in seen) continue
        seen[threads[order[i]]]
        moved = threads[order[i]] + 0
        for (j = n++; j >= 1 && counts[j] > moved; j--) counts[j + 1] = counts[j]
        counts[j + 1] = moved
    }
    return n
}

function ratio(above, below) {
    return below > 0 ? sprintf("%.2f", above / below) : "-"
}

# ---- how many a second ----

function reference_of(wanted) {
    if (wanted == "deny") return "weir_take, refused"
    if (wanted == "hold") return "weir_take + weir_release"
    if (wanted == "keyed") return "weir_table, MONOTONIC"
    return "weir_take"
}

# The first row that takes from a lease; 0 when there is none.
function lease_rate(n,    i) {
    for (i = 1; i <= n; i++) if (who[group[i]] ~ /^weir_lease/) return median(group[i], VALUE)
    return 0
}

function print_rates(wanted, count,    n, i, row, own, lease, best, rate) {
    n = gather(wanted, count)
    lease = lease_rate(n)
    own = reference_of(wanted) FS wanted FS count
    own = own in rounds_of ? median(own, VALUE) : 0
    best = ""
    for (i = 1; i <= n; i++) {
        row = group[i]
        place[row] = -median(row, VALUE)
        if (is_rival(row) && (best == "" || place[row] < place[best])) best = row
    }
    sort_group(n)
    printf "\n%-34s %9s %17s", wanted ", threads: " count, "M/s", "min-max"
    if (wanted !~ /floor/) printf " %19s", "/ " reference_of(wanted)
    if (lease > 0) printf " %9s", "lease /"
    print ""
    for (i = 1; i <= n; i++) {
        row = group[i]
        rate = median(row, VALUE)
        printf "%s %-32s %9.1f %17s", row == best ? "*" : " ", who[row], rate, sprintf("%.1f-%.1f", low, high)
        if (wanted !~ /floor/) printf " %19s", ratio(rate, own)
        if (lease > 0) printf " %9s", ratio(lease, rate)
        print ""
    }
}

# ---- pacing ----

function print_pace_row(row, floor_p99, best,    achieved, p50, p99) {
    p50 = median(row, P50)
    p99 = median(row, P99)
    achieved = median(row, VALUE)
    printf "%s %-32s %9.4f %17s %10.1f %10.1f %8s %7.2f\n", row == best ? "*" : " ", who[row], achieved,
        sprintf("%.4f-%.4f", low, high), p50 / 1e3, p99 / 1e3, (p99 > 0 ? ratio(p99, floor_p99) : "early"),
        median(row, CPU)
}

# Of the rivals that hold the rate and stray no further from the schedule, who needs the least processor time?
function print_thrift(own, n,    i, row, best) {
    best = ""
    for (i = 1; i <= n; i++) {
        row = group[i]
        if (!is_rival(row) || !on_rate(row) || off(row) > off(own)) continue
        if (best == "" || median(row, CPU) < median(best, CPU)) best = row
    }
    printf "  %s: ", who[own]
    if (best == "") print "no rival holds the rate as close to the schedule"
    else printf "%s of the processor time of %s, the thriftiest as close to the schedule\n", \
            ratio(median(own, CPU), median(best, CPU)), who[best]
}

function print_pace(wanted, count,    n, i, row, best, floor_p99) {
    n = gather(wanted, count)
    best = ""
    for (i = 1; i <= n; i++) {
        row = group[i]
        place[row] = off(row)
        if (who[row] == "bare sleep, slack 50 us") floor_p99 = median(row, P99)
        if (is_rival(row) && on_rate(row) && (best == "" || place[row] < place[best])) best = row
    }
    sort_group(n)
    printf "\n%-34s %9s %17s %10s %10s %8s %7s\n", wanted "/s, threads: " count, "achieved", "min-max", "p50 us",
        "p99 us", "/ floor", "cpu/s"
    for (i = 1; i <= n; i++) print_pace_row(group[i], floor_p99, best)
    for (i = 1; i <= n; i++) if (folder[group[i]] == "weir") print_thrift(group[i], n)
}

# ---- all ----

function print_work(wanted,    n, i) {
    n = gather_counts(wanted)
    for (i = 1; i <= n; i++) {
        if (wanted ~ /^pace/) print_pace(wanted, counts[i])
        else print_rates(wanted, counts[i])
    }
}

END {
    for (i = 1; i <= notes; i++) print note[i]
    print ""
    print "Medians of the rounds, in which all took turns; ratios are of medians.  * the best rival."
    print "M/s: million calls a second, all threads together, of one limiter, or (keyed) of a million uniform keys of 8"
    print "to 16 bytes; a row with its time given reads no clock in each call.  lease /: how many times"
    print "that rate is reached with a lease."
    print "pace: so many threads in a loop of one limiter\x27s blocking acquire.  achieved: of the rate.  p50, p99:"
    print "lateness of permit i against first + i / rate; - is early.  / floor: p99 to that of the bare sleep with the"
    print "usual slack.  cpu/s: processor seconds a second; measuring takes its part of them, the same for all.  Rivals"
    print "are compared by the larger of |p50| and |p99|, and only those that hold the rate to 1 %."
    print_work("floor")
    print_work("grant")
    print_work("deny")
    print_work("hold")
    print_work("keyed floor")
    print_work("keyed")
    for (i = 1; i <= rows; i++) {
        if (work[order[i]] ~ /^pace/ && !(work[order[i]] in printed)) print_work(work[order[i]])
        printed[work[order[i]]]
    }
}
