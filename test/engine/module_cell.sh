#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module_cell.sh WEIR: CL.THROTTLE in an engine answers what redis-cell has answered, step by step.
#
# The vectors' times are in ns; an engine is asked at the us above.  redis-cell drops what is left of a second below one
# ms, where weir rounds up, and counts what remains in whole us.  Where a reply differs it has to be for that alone.
# Two cases are left out: a burst below 0, which weir refuses, and the clock that goes back, with which the state in an
# engine goes back as well; what it answers then is below.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
needs jq
module_options test-clock yes
start_engine one "${with_module[@]}"

# ---- what redis-cell documents ----
at 0
asks '0 16 15 -1 2' CL.THROTTLE user123 15 30 60 1
asks '0 16 14 -1 4' CL.THROTTLE user123 15 30 60
for _ in {1..14}; do to one CL.THROTTLE user123 15 30 60 >/dev/null; done
asks '1 16 0 2 32' CL.THROTTLE user123 15 30 60
asks '1 16 0 -1 32' CL.THROTTLE user123 15 30 60 17
asks '0 16 0 -1 32' cl.throttle user123 15 30 60 0
refuses 'ERR Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]' CL.THROTTLE user123 15 30
refuses "ERR Couldn't parse as integer: 1.5 (max_burst" CL.THROTTLE user123 1.5 30 60
refuses 'ERR Zero rates are not supported' CL.THROTTLE user123 15 0 60
refuses "ERR Couldn't parse as integer: -9223372036854775808" CL.THROTTLE user123 -9223372036854775808 30 60
refuses 'ERR max_burst is 0 to 2^63 - 2' CL.THROTTLE user123 -1 30 60
refuses 'ERR quantity is 0 to 2^63 - 2' CL.THROTTLE user123 15 30 60 -1
refuses 'ERR no limit can be made of these max_burst, count and period' CL.THROTTLE user123 9223372036854775806 1 60
asks '0 16 15 -1 2' CL.THROTTLE zeros 0015 +30 00000000000000000000000060

# ---- the vectors ----
jq -r '.cases[] | select((.peer_quirk | not) and .name != "clock goes backwards") | .limiter as $limit | .name as $name
    | .steps[] | [.t_ns, .n, (.expect.reply // ["error"] | join(" ")), (.expect.reset_in_ns // 0),
    (.expect.retry_after_ns // 0), $limit.max_burst, $limit.count, $limit.period_s, $name] | @tsv' \
    "$tree/test/vectors/peers/redis_cell.json" >steps
awk -F '\t' -v began="$began" '{
    printf "WEIR.CLOCK %.0f\nCL.THROTTLE \"%s\" %s %s %s %s\n", began + int(($1 + 999) / 1000), $9, $6, $7, $8, $2
}' steps >words
run 'the vectors' in_engine one <words
grep -vx OK out | awk '/^ERR/ { print "error"; next } NF { line = line (n++ ? " " : "") $0 }
    n == 5 { print line; n = 0; line = "" }' >found
paste steps found | awk -F '\t' '
    {
        split($3, told, " ")
        split($NF, found, " ")
        for (i = 1; i <= 5; i++) {
            if (told[i] == found[i]) continue
            rest = (i == 4 ? $5 : $4) % 1000000000
            if (i >= 4 && rest > 0 && rest < 1000000 && found[i] == told[i] + 1) explained++
            else if (i == 3 && $4 > 0 && $4 < 1000 && found[i] == told[i] - 1) explained++
            else { printf "step %d (%s): told %s, found %s\n", NR, $9, $3, $NF; wrong = 1 }
        }
    }
    END { printf "%d steps, %d numbers differ, by a part below one ms\n", NR, explained; exit wrong }' >out
status=$?
ends 0
says out '53 steps, 5 numbers differ'
cat out

# ---- the clock goes back, and the state with it: nothing is earned, and nothing is owed for longer ----
at 100000000
asks '0 2 1 -1 1' CL.THROTTLE back 1 1 1
at 50000000
asks '0 2 0 -1 2' CL.THROTTLE back 1 1 1
asks '1 2 0 1 2' CL.THROTTLE back 1 1 1
at 51000000
asks '0 2 0 -1 2' CL.THROTTLE back 1 1 1
