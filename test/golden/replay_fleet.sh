#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_fleet.sh WEIR: small logs at many servers, whose figures can be counted by hand.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq awk
export COLUMNS=100

requests() # COUNT EVERY_MS [CLIENT]: from 10:00 on
{
    awk -v n="$1" -v every="$2" -v who="${3-192.0.2.1}" 'BEGIN {
        for (i = 0; i < n; i++) printf "%s [%.3f]\n", who, 1763719200 + i * every / 1000 }'
}
fleet() # ARGUMENT...: as JSON
{
    "$weir" replay --json --format '$remote_addr [$msec]' "$@"
}
row() # DESIGN FILTER
{
    json out ".limits[0].fleet | map(select(.design == \"$1\"))[0] | $2"
}

# ---- forty at once, at a thousand nodes ----
# 20 may pass.  A node meets one or two of them: alone it lets all pass, with a share the first of each.
requests 40 0 >log
run 'a thousand nodes' fleet '10/s burst=20' --nodes 1000 log
ends 0
silent err
json out '.fleet == {"nodes": 1000, "spread": "random", "engine_rtt_ns": 1000000}'
json out '.limits[0].fleet | map(.design) == ["one limiter", "engine", "shares", "alone", "sticky"]'
json out '.limits[0].fleet | all(.allowed + .denied == 40)'
row 'one limiter' '[.allowed, .excess, .engine_calls, .waited] == [20, 0, 0, 0]'
row engine '[.allowed, .wrongly_denied, .wrongly_allowed, .excess] == [20, 0, 0, 0]'
row engine '[.engine_calls, .engine_calls_most_in_second, .waited] == [40, 40, 40]'
row alone '[.allowed, .wrongly_denied, .wrongly_allowed, .excess] == [40, 0, 20, 20]'
row shares '.allowed > 35 and .excess == .allowed - 20 and .wrongly_allowed - .wrongly_denied == .excess'
row sticky '[.allowed, .wrongly_denied, .wrongly_allowed, .excess, .engine_calls] == [20, 0, 0, 0, 0]'
# At its one node a client has one permit of the share's burst.
run '--spread sticky' fleet '10/s burst=20' --nodes 1000 --spread sticky log
row shares '[.allowed, .wrongly_denied, .wrongly_allowed, .excess] == [1, 19, 0, -19]'
row alone '[.allowed, .wrongly_denied, .wrongly_allowed, .excess] == [20, 0, 0, 0]'
# Half a round trip later they are at the engine: 20 of one second in the next one.
{ requests 20 0 | sed 's/00\.000/00.999/'; requests 20 0 | sed 's/00\.000/01.000/'; } >seconds.log
run 'on their way' fleet '10/s burst=20' --nodes 1000 --engine-rtt 4ms seconds.log
row engine '.engine_calls_most_in_second == 40'
run 'on their way at once' fleet '10/s burst=20' --nodes 1000 --engine-rtt 500us seconds.log
row engine '.engine_calls_most_in_second == 20'
run 'no time on the way' fleet '10/s burst=20' --nodes 1000 --engine-rtt 0 log
row engine '[.allowed, .waited] == [20, 0]'
run 'one node has the whole limit' fleet '10/s burst=20' --nodes 1 --engine-rtt 0 log
json out '.limits[0].fleet | all(.[]; [.allowed, .wrongly_denied, .wrongly_allowed] == [20, 0, 0])'
run 'a burst in time' fleet '10/s burst=2s' --nodes 4 --spread sticky log
row shares '[.allowed, .excess] == [5, -15]'

# More are on their way than fit a first queue, twice: each client's own question arrives, and each has a permit.
crowd() # COUNT SECOND: so many clients, at once
{
    awk -v n="$1" -v second="$2" 'BEGIN {
        for (i = 0; i < n; i++) printf "10.%d.%d.%d [%d.000]\n", second, i / 250, i % 250, 1763719200 + second }'
}
{ crowd 300 0; crowd 1200 5; } >crowd.log
run 'a crowd' fleet '1/h burst=1' --key remote_addr --nodes 4 --engine-rtt 1s crowd.log
row engine '[.allowed, .denied, .engine_calls, .engine_calls_most_in_second] == [1500, 0, 1500, 1200]'

# ---- a share's rate ----
# 10/s at four nodes: 2.5/s at the one that a client meets, so of 101 requests in 10 s the first and each fourth.
requests 101 100 >tenth.log
run 'a share' fleet '10/s burst=4' --nodes 4 --spread sticky tenth.log
row shares '[.allowed, .denied, .wrongly_denied] == [26, 75, 75]'

# ---- the engine is down ----
run 'down all the time' fleet '10/s burst=20' --nodes 1000 --engine-down 0-1s log
json out '.fleet | [.down_from_ns, .down_to_ns] == [0, 1000000000]'
json out '.limits[0].fleet | map(select(.design == "engine" or .design == "shares") | .allowed) | .[0] == .[1]'
row engine '[.engine_calls, .waited] == [0, 0] and .excess > 0'
# 51 requests before 5.1 s and 31 from 7.1 s on are asked; 20 between have a share of one node in four: 5 of them pass.
run 'down in between' fleet '10/s burst=4' --nodes 4 --spread sticky --engine-down 5100ms-7100ms tenth.log
row engine '[.engine_calls, .waited, .allowed] == [81, 81, 86]'

# ---- leases ----
# The tenth request in a fifth of a second asks for a lease, too: of 8.  Seven spent later an eighth of it is left, and
# the next one is asked for: ten takes, two leases, and nobody waits for the second one.
requests 18 1 >busy.log
run 'a lease' fleet '1000/s burst=1000' --nodes 1 --lease 32 --engine-rtt 500us busy.log
json out '.fleet | [.lease, .lease_life_ns, .engine_rtt_ns] == [32, 1000000000, 500000]'
row leases '[.allowed, .engine_calls, .waited] == [18, 12, 10]'
# It is granted 4; when they are spent the next 4 are asked for, and so on.
run 'a small one' fleet '1000/s burst=1000' --nodes 1 --lease 4 --engine-rtt 500us busy.log
row leases '[.allowed, .engine_calls, .waited] == [18, 13, 10]'
run 'not busy enough' fleet '1000/s burst=1000' --nodes 1 --lease 32 tenth.log
row leases '[.engine_calls, .waited] == [101, 101]'
# What nobody spends for a quarter of its lifetime goes back, when its turn comes to be looked at: two leases, a return.
{ requests 18 1; requests 6 400 192.0.2.2 | tail -n 5; } >quiet.log
run 'a return' fleet '1000/s burst=1000' --nodes 1 --lease 32 --engine-rtt 500us quiet.log
row leases '[.allowed, .engine_calls, .waited] == [23, 18, 15]'
# 4 s at 1000/s: the bound is kept, most are answered at once, and nobody is refused.
requests 4000 1 >long.log
for nodes in 1 2 5; do
    run "4 s at $nodes nodes" fleet '1000/s burst=200' --nodes $nodes --lease 32 long.log
    row leases '[.denied, .excess <= 0] == [0, true] and .waited < 200 and .engine_calls < 600'
done
# Eight nodes with a hot key, 16,000/s of 20,000: nobody waits but the first ten at each, and one or two where a first
# lease of 8 is spent within a round trip.
awk 'BEGIN { for (i = 0; i < 32000; i++) printf "192.0.2.1 [%.4f]\n", 1763719200 + i / 16000 }' >hot.log
run 'a hot key' fleet '20000/s burst=4000' --nodes 8 --lease 4096 --engine-rtt 500us hot.log
row leases '[.denied, .excess <= 0, .waited < 100, .engine_calls < 300] == [0, true, true, true]'
# Twice as much as may pass, for 4 s: 200 and 1000 a second, and nothing beyond, whoever holds a lease.
requests 8000 0.5 >twice.log
run 'twice the rate' fleet '1000/s burst=200' --nodes 5 --lease 32 --lease-life 200ms twice.log
row leases '.excess <= 0 and .excess > -50 and .allowed > 4000 and .allowed <= 4200'
row 'one limiter' '[.allowed, .excess] == [4200, 0]'

# Two clients with that: each has leases of its own.
awk '{ print; sub("192.0.2.1", "192.0.2.2"); print }' twice.log >both.log
run 'two clients' fleet '1000/s burst=200' --nodes 5 --lease 32 --lease-life 200ms both.log
row leases '.excess <= 0 and .allowed > 8000 and .allowed <= 8400'

# Twenty times as much, for 2 s: two or three questions for each permit, not twenty, and all that may pass does,
# at every node, of which the least has half of its part.  Without leases each asks.
requests 40000 0.05 >flood.log
run 'a flood' fleet '1000/s burst=200' --nodes 20 --lease 32 --engine-rtt 500us flood.log
row leases '[.allowed >= 2190, .allowed <= 2200, .engine_calls < 6000, .node_least > 55] == [true, true, true, true]'
row engine '[.engine_calls, .allowed, .node_least > 70] == [40000, 2200, true]'
row 'one limiter' '.node_least == .allowed'

# ---- the same again, and for people ----
"$weir" replay '1000/s burst=200' --nodes 5 --lease 32 --format '$remote_addr [$msec]' twice.log >first
run 'the same figures' "$weir" replay '1000/s burst=200' --nodes 5 --lease 32 --format '$remote_addr [$msec]' twice.log
ends 0
same out first
table_of() # LOG ARGUMENT...: what is printed of the fleet
{
    "$weir" replay --format '$remote_addr [$msec]' "${@:2}" "$1" >out 2>err
    status=$?
    ends 0
    silent err
    sed -n '/a fleet/,$p' out >table
}
what='the table'
table_of log '10/s burst=20' --or '20/s burst=40' --nodes 1000 --engine-rtt 500us
cat >expected <<'TABLE'
  a fleet of 1,000 nodes, requests to random nodes; an engine 500us round trip
                                  wrongly  wrongly  over the  engine   most in     share
  10/s burst=20  passed  refused  refused   passed     bound   calls  a second    waited
  one limiter        20       20        0        0         -       0         0    0.00 %
  engine             20       20        0        0         -      40        40  100.00 %
  shares             39        1        1       20        19       0         0    0.00 %
  alone              40        0        0       20        20       0         0    0.00 %
  sticky             20       20        0        0         -       0         0    0.00 %
                                  wrongly  wrongly  over the  engine   most in     share
  20/s burst=40  passed  refused  refused   passed     bound   calls  a second    waited
  one limiter        40        0        0        0         -       0         0    0.00 %
  engine             40        0        0        0         -      40        40  100.00 %
  shares             39        1        1        0         -       0         0    0.00 %
  alone              40        0        0        0         -       0         0    0.00 %
  sticky             40        0        0        0         -       0         0    0.00 %
TABLE
same table expected
what='the table of one node, with leases, while the engine is down'
table_of tenth.log '10/s burst=20' --nodes 1 --spread sticky --lease 32 --lease-life 500ms --engine-down 2s-4s
cat >expected <<'TABLE'
  a fleet of 1 node, clients sticky to a node; an engine 1ms round trip
  leases of up to 32 permits for 500ms; down from 2s to 4s: shares meanwhile
                                  wrongly  wrongly  over the  engine   most in    share
  10/s burst=20  passed  refused  refused   passed     bound   calls  a second   waited
  one limiter       101        0        0        0         -       0         0   0.00 %
  engine            101        0        0        0         -      81        10  80.20 %
  leases            101        0        0        0         -      81        10  80.20 %
  shares            101        0        0        0         -       0         0   0.00 %
  alone             101        0        0        0         -       0         0   0.00 %
  sticky            101        0        0        0         -       0         0   0.00 %
TABLE
same table expected
what='the head without leases, while the engine is down'
table_of tenth.log '10/s burst=20' --nodes 3 --engine-down 2s-4s
head -n 2 table >heads
cat >expected <<'TABLE'
  a fleet of 3 nodes, requests to random nodes; an engine 1ms round trip
  down from 2s to 4s: shares meanwhile
TABLE
same heads expected
run 'a limit with a long text' "$weir" replay 1GB/h --nodes 4 --format '$remote_addr [$msec]' log
grep -qE '^  1GB/h +passed' out || fail 'it is not shown as it was typed'
# The columns of a limit that is cut stand below each other.
run 'a limit that is cut' "$weir" replay '1000000 elephants/3661s burst=12345' --nodes 4 \
    --format '$remote_addr [$msec]' log
sed -n '/wrongly/,$p' out | tail -n 2 | LC_ALL=C.UTF-8 awk '{ print length }' | uniq >widths
sed -n '/wrongly/,$p' out | sed -n 2p | LC_ALL=C.UTF-8 sed 's/…/./' | awk '{ print length }' >>widths
grep -q '^  1000000 elephants/3661s…' out || fail 'it is not cut'
if [ "$(uniq widths | wc -l)" != 1 ]; then fail 'the columns are not'; fi
run 'a narrow terminal' env COLUMNS=80 "$weir" replay '10/s burst=20' --nodes 1000 --format '$remote_addr [$msec]' log
if sed -n '/a fleet/,$p' out | grep -q '.\{81\}'; then fail 'the table is wider than 80'; fi

# ---- whole seconds are spread ----
# Ten in a second: as stamped 5 would pass; a tenth of a second apart each finds its permit back.
for _ in {1..10}; do
    echo '192.0.2.1 - - [21/Nov/2025:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "test"'
done >second.log
run 'whole seconds' "$weir" replay --json '10/s burst=5' --nodes 3 second.log
row 'one limiter' '.allowed == 10'
row engine '.allowed == 10'

# ---- what does not fit together ----
refused() # WORDS ARGUMENT...
{
    local words=$1
    shift
    run "$*" "$weir" replay "$@" log
    ends 2
    silent out
    says err "$words"
    if [ "$(wc -l <err)" != 1 ]; then fail 'it is said twice'; fi
}
refused '--lease needs --nodes; for example --nodes 8' 10/s --lease 8
refused '--lease-life needs --lease' 10/s --lease-life 1s
refused '--engine-rtt needs --nodes; for example --nodes 8' 10/s --engine-rtt 1ms
refused '--engine-down needs --nodes; for example --nodes 8' 10/s --engine-down 1s-2s
refused '--spread needs --nodes; for example --nodes 8' 10/s --spread sticky
refused '--lease-life needs --lease; for example --lease 32' 10/s --nodes 8 --lease-life 1s
refused 'choose --nodes or --each' 10/s --nodes 8 --each
refused 'choose --nodes or --follow' 10/s --nodes 8 --follow
refused 'is 2 limits' '10/s; 100/min' --nodes 8
refused 'is not a gcra limit' '10/s algorithm=fixed-window' --nodes 8
refused 'is not a gcra limit' 'unlimited' --nodes 8
refused 'is not a gcra limit' 10r/s --nodes 8
refused 'a burst of 16 or more' '10/s burst=15' --nodes 8 --lease 8
refused 'expected 2 permits or more; leave out --lease' 100/s --nodes 8 --lease 1
refused 'from 1ms to 1h' 100/s --nodes 8 --lease 8 --lease-life 2h
refused 'expected a whole number from 1 to 1000000' 10/s --nodes 0
refused 'expected two times' 10/s --nodes 8 --engine-down 5s
refused 'is not after the first' 10/s --nodes 8 --engine-down 5s-5s
refused 'expected a time' 10/s --nodes 8 --engine-down x-5s
refused 'expected at most 1s' 10/s --nodes 8 --engine-rtt 2s
refused 'expected random or sticky' 10/s --nodes 8 --spread any
