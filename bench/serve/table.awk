# SPDX-License-Identifier: MIT
# table.awk: the figures of bench/serve/run as a table, and what the service is held to (behind lib/middle.awk).
BEGIN {
    FS = "\t"
    RATE = 7; P50 = 8; P99 = 9; P999 = 10; ALLOWED = 11; DENIED = 12; SERVER = 13; CLIENT = 14
}

/^# / { note[++notes] = substr($0, 3); next }

{
    row = $2 FS $3 FS $4 FS ($6 == "most" ? "" : "half")
    if (!(row in rounds_of)) order[++rows] = row
    turn_of[row, ++rounds_of[row]] = $1
    for (i = RATE; i <= CLIENT; i++) figure[row, $1, i] = $i
}

function median(row, column,    i) {
    for (i = 1; i <= rounds_of[row]; i++) sample[i] = figure[row, turn_of[row, i], column] + 0
    return middle(rounds_of[row])
}

# The middle of the rounds' ratios: turns of one round lie close together, so what disturbs one disturbs both.
function ratio(above, below, column,    i, n, turn) {
    for (i = 1; i <= rounds_of[above]; i++) {
        turn = turn_of[above, i]
        if (figure[below, turn, column] > 0) sample[++n] = figure[above, turn, column] / figure[below, turn, column]
    }
    return n > 0 ? middle(n) : -1
}

function print_row(row,    part) {
    split(row, part, FS)
    printf "%-11s %-12s %8s %5s %10.0f", part[1], part[2], part[3], part[4], median(row, RATE)
    printf " %19s", sprintf("%.0f-%.0f", low, high)
    printf " %8.1f %8.1f %8.1f", median(row, P50), median(row, P99), median(row, P999)
    printf " %8.3f %8.3f %6.1f\n", median(row, SERVER), median(row, CLIENT),
        100 * median(row, DENIED) / (median(row, ALLOWED) + median(row, DENIED))
}

# ---- what it is held to ----

# sense: 1, the ratio is to be at least the goal; -1, at most; 0, there is none.
function hold(what, above, below, column, sense, goal,    reached, thrift) {
    printf "%-58s", what
    reached = ratio(above, below, column)
    if (reached < 0) {
        print " not measured"
        return
    }
    printf " %6.2f (%.2f-%.2f)", reached, low, high
    if (sense != 0) {
        printf ", %s %s: %s", (sense > 0 ? "at least" : "at most"), goal, \
            ((reached - goal) * sense >= 0 ? "yes" : "NO")
    }
    thrift = column == RATE ? ratio(above, below, SERVER) : -1
    if (thrift > 0) printf "; server us a request: %.2f times", thrift
    print ""
}

function of(who, kind, pipeline, half) {
    return who FS kind FS pipeline FS half
}

function hold_all() {
    hold("RESP, pipeline 1: weir / bare", of("weir", "throttle", 1), of("bare", "throttle", 1), RATE, 1, 0.9)
    hold("RESP, pipeline 16: weir / bare", of("weir", "throttle", 16), of("bare", "throttle", 16), RATE, 1, 0.9)
    hold("RESP, pipeline 64: weir / bare", of("weir", "throttle", 64), of("bare", "throttle", 64), RATE, 0)
    hold("RESP, pipeline 1: WEIR.TAKE / bare", of("weir", "take", 1), of("bare", "take", 1), RATE, 0)
    hold("RESP, pipeline 16: WEIR.TAKE / bare", of("weir", "take", 16), of("bare", "take", 16), RATE, 0)
    hold("RESP, pipeline 64: weir / naive", of("weir", "throttle", 64), \
        of("naive", "throttle", 64), RATE, 1, 1.3)
    hold("RESP, pipeline 64, keys that owe: weir / naive", of("weir-owing", "owing", 64), \
        of("naive-owing", "owing", 64), RATE, 0)
    hold("RESP, pipeline 16: weir / GCRA in Lua", of("weir", "throttle", 16), \
        of("redis", "evalsha", 16), RATE, 1, 10)
    hold("RESP, pipeline 16: weir / redis-cell", of("weir", "throttle", 16), of("cell", "throttle", 16), RATE, 1, 5)
    hold("HTTP, pipeline 1: weir /auth / nginx limit_req", of("weir-http", "http-header", 1), \
        of("nginx", "http-query", 1), RATE, 1, 1.1)
    hold("HTTP, pipeline 1: weir POST /v1/take / nginx limit_req", of("weir-http", "http-post", 1), \
        of("nginx", "http-query", 1), RATE, 0)
    hold("HTTP, pipeline 1: weir /auth / bare", of("weir-http", "http-header", 1), \
        of("bare-http", "http-header", 1), RATE, 0)
    hold("HTTP, pipeline 1: weir POST /v1/take / bare", of("weir-http", "http-post", 1), \
        of("bare-http", "http-post", 1), RATE, 0)
    hold("p99 at half load: weir / bare", of("weir", "throttle", 1, "half"), of("bare", "throttle", 1, "half"), P99, \
        -1, 1.5)
    hold("two server threads / one, pipeline 1", of("weir-2", "throttle", 1), of("weir", "throttle", 1), RATE, 0)
    hold("two server threads / one, pipeline 64", of("weir-2", "throttle", 64), of("weir", "throttle", 64), RATE, 0)
}

END {
    for (i = 1; i <= notes; i++) print note[i]
    print ""
    print "Medians of the rounds, in which all took turns.  requests/s, the least and the most of the rounds; p50, p99,"
    print "p99.9: us from sending a batch of `pipeline` requests (with half: from when it was due) to its last answer;"
    print "server, client: us of processor time a request; denied: of a hundred requests.  half: at half the most"
    print "that the bare server has answered at pipeline 1.  weir-2: two threads, one of them beside the client.  bare:"
    print "a server that answers without deciding; naive: one that decides each request by itself.  owing: the same as"
    print "throttle with a limit of ten an hour, so that a key still owes when it comes again."
    print ""
    printf "%-11s %-12s %8s %5s %10s %19s %8s %8s %8s %8s %8s %6s\n", "who", "kind", "pipeline", "load", "requests/s",
        "min-max", "p50 us", "p99 us", "p99.9 us", "server", "client", "denied"
    for (i = 1; i <= rows; i++) print_row(order[i])
    print ""
    print "Ratios: the middle of the rounds' (least-most)."
    hold_all()
}
