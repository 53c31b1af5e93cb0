#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# explain.sh WEIR: what `weir explain` says, to the letter.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

# ---- words ----
explains() # ARGUMENT...; the expected text on stdin
{
    cat >expected
    run "explain $*" "$weir" explain "$@"
    ends 0
    silent err
    # The drawing behind the words is looked at in explain_plot.sh.
    sed -i -e '/^  [0-9]* arrivals/,$d' -e '/^  the rate over time/,$d' out
    same out expected
}

explains 10/min <<'END'
10/min burst=10 algorithm=gcra
  after idling    10 pass at once, then one every 6 s
  in any minute   at most 19.   For never more than 10 in any minute: '10/min algorithm=sliding-log'
  largest call    10; a larger one can never pass
  back to full    1 min after the last call
  memory          8 bytes of state; in a table 22 bytes a key in all
  for an engine   '10/min burst=10 algorithm=gcra'
END

# ---- a rate that changes with time ----
explains --pace '100/s for 1min then ..1000/s for 30s then pause 5s then 200/s' <<'END'
100/s for 1min then ..1000/s for 30s then pause 5s then 200/s burst=10ms catchup=1.1 algorithm=hybrid
  phase  rate             lasts     permits  in all  ends
  1      100/s            1min        6,000   6,000  after 1min
  2      100/s to 1000/s  30s        16,500  22,500  after 90s
  3      pause            5s              0  22,500  after 95s
  4      200/s            for good
  after a stall   11 at once, then 1.1 times as fast until the lost time is made up
  in any second   at most 1,111
  if woken late   at most 1,124: weir_take_wait abandons a start that is over 11 ms late
  largest call    any; one above 10 starts when the pool is full and is paid back afterwards
  memory          32 bytes of state
  note            burst and catchup are the defaults of pacing: they hold the average on a busy machine
END

explains --pace '..3/min for 50s then ..0/s for 1s burst=1 algorithm=gcra' <<'END'
..3/min for 50s then ..0/s for 1s burst=1 algorithm=gcra
  phase  rate        lasts  permits  in all  ends
  1      0 to 3/min  50s       1.25    1.25  after 50s
  2      3/min to 0  1s       0.025   1.275  after 51s
  in any minute   at most 4
  largest call    1; a larger one can never pass
  memory          8 bytes of state
END

run 'phases as JSON' "$weir" explain --pace '100/s..1000/s for 30s then 200/s' --json
jq -e '.limits[0].phases == [
    {"from_per_s": 100, "to_per_s": 1000, "begins_ns": 0, "lasts_ns": 30000000000, "starts": 16500},
    {"from_per_s": 200, "to_per_s": 200, "begins_ns": 30000000000, "lasts_ns": null, "starts": null}]' out >jq.out ||
    fail 'the phases'

run 'a profile to admit' "$weir" explain '100/s for 1min then 200/s'
ends 2
says err 'a rate that changes with time paces one limiter (weir pace, weir explain --pace, WEIR_PACE in a program)'

# ---- scheduled starts, of any limit ----
starts() # N LIMIT OPTION...; the expected ones on stdin
{
    cat >expected
    run "starts of $2" "$weir" explain --starts "$@"
    ends 0
    silent err
    same out expected
}
starts 4 --pace '100/s..1000/s for 30s' <<<$'0\n9985045\n19940358\n29866202'
starts 9 --pace '1000/s for 3ms' <<<$'0\n1000000\n2000000' # and no more: it ends
starts 3 --pace '1000/s for 1ms then pause 5ms then 2000/s' <<<$'0\n1000000\n6500000'
starts 3 --pace 12000,1.1 <<<$'0\n83334\n166667'
starts 4 '10/s burst=2' <<<$'0\n0\n100000000\n200000000'
starts 3 '1/s algorithm=fixed-window align=first' <<<$'0\n1000000000\n2000000000'
starts 2 none </dev/null
starts 2 unlimited <<<$'0\n0'

# A profile's clock is coarser, 2^-16 permits a tick; else a Poisson process has the same starts by both.
"$weir" explain --pace '1000/s for 1s then 1000/s arrivals=poisson seed=7' --starts 1000 >of_profile
"$weir" explain --pace '1000/s arrivals=poisson seed=7' --starts 1000 >of_rate
paste of_profile of_rate | awk '$1 - $2 > 1000 || $2 - $1 > 1000' >apart
if [ "$(wc -l <of_profile)" != 1000 ] || [ -s apart ]; then fail 'a profile of one rate and this rate start apart'; fi
run 'a profile at random' "$weir" explain --pace '100/s for 1s then ..1000/s for 3s arrivals=poisson seed=7'
ends 0
says out 'arrivals        at random: a Poisson process, which seed= repeats'
says out 'in any second   1,000 on average, more than 1,099 in one of 1,000; at the highest rate'

explains '10/s burst=20' <<'END'
10/s burst=20 algorithm=gcra
  after idling    20 pass at once, then one every 100 ms
  in any second   at most 29.   For never more than 10 in any second: '10/s algorithm=sliding-log'
  largest call    20; a larger one can never pass
  back to full    2 s after the last call
  memory          8 bytes of state; in a table 22 bytes a key in all
  for an engine   '10/s burst=20 algorithm=gcra'
END

explains 12000,1.1 <<'END'
12000/s burst=10ms catchup=1.1 algorithm=hybrid
  on schedule     one every 83.333 µs
  after a stall   132 at once, then 1.1 times as fast until the lost time is made up
  shortest gap    0.   For strict limiting, never less than 83.333 µs: '12000/s burst=1'
  in any second   at most 13,331
  if woken late   at most 13,477: weir_take_wait abandons a start that is over 11 ms late
  largest call    any; one above 120 starts when the pool is full and is paid back afterwards
  back to full    10 ms after the last call
  memory          32 bytes of state; in a table 91 bytes a key in all; in a file 166
  note            burst and catchup are the defaults of pacing: they hold the average on a busy machine
  for an engine   '12000/s burst=10ms catchup=1.1 algorithm=hybrid'
END

explains --pace '1000/s arrivals=poisson seed=7' --window 10ms <<'END'
1000/s burst=10ms catchup=1.1 algorithm=hybrid arrivals=poisson seed=7
  on schedule     one every 1 ms on average, at random: a Poisson process, which seed= repeats
  after a stall   11 at once on average, then 1.1 times as fast until the lost time is made up
  shortest gap    0: starts may come together.   For strict limiting, never less than 1 ms: '1000/s burst=1'
  in any second   1,000 on average, more than 1,099 in one of 1,000
  in any 10 ms    10 on average, more than 21 in one of 1,000
  largest call    4,096; a larger one can never pass
  back to full    10 ms after the last call
  memory          32 bytes of state
  note            burst and catchup are the defaults of pacing: they hold the average on a busy machine
END

explains '100/s algorithm=sliding-log' <<'END'
100/s algorithm=sliding-log edge=open
  after idling    100 pass at once, then 100 every 1 s
  in any second   at most 100
  largest call    100; a larger one can never pass
  back to full    1 s after the last call
  memory          456 bytes of state; in a limiter 14,272; in a table 754 bytes a key in all; in a file 1,492
  note            exact: no window of the period holds more, wherever it begins; memory grows with the count
  in weir serve   a call of any cost takes up to 200 steps; logs have up to 8,000 permits, in a client's text 2,000
  in an engine    a call of any cost takes up to 132 steps; logs have up to 100,000 permits
  for an engine   '100/s algorithm=sliding-log edge=open'
END

explains '10/s burst=20; 1000 tokens/h' <<'END'
10/s burst=20 algorithm=gcra
  after idling    20 pass at once, then one every 100 ms
  in any second   at most 29.   For never more than 10 in any second: '10/s algorithm=sliding-log'
  largest call    20; a larger one can never pass
  back to full    2 s after the last call
  memory          8 bytes of state
1000 tokens/h burst=1000 algorithm=gcra
  after idling    1,000 pass at once, then one every 3.6 s
  in any hour     at most 1,999.   For never more than 1,000 in any hour: '1000 tokens/h algorithm=sliding-log'
  largest call    1,000; a larger one can never pass
  back to full    1 h after the last call
  memory          8 bytes of state
all limits apply: a call passes only if each allows it, and is charged to none otherwise
  memory          16 bytes of state; in a table 44 bytes a key in all
  for an engine   '10/s burst=20 algorithm=gcra; 1000 tokens/h burst=1000 algorithm=gcra'
END

explains 10/min --pace <<'END'
10/min burst=2 catchup=1 algorithm=hybrid
  on schedule     one every 6 s
  after a stall   2 at once, then as before; the lost time is reported, not made up
  shortest gap    0.   For strict limiting, never less than 6 s: '10/min burst=1'
  in any minute   at most 11
  if woken late   at most 13: weir_take_wait abandons a start that is over 12 s late
  largest call    any; one above 2 starts when the pool is full and is paid back afterwards
  back to full    12 s after the last call
  memory          32 bytes of state; in a table 91 bytes a key in all; in a file 166
  for an engine   '10/min burst=2 catchup=1 algorithm=hybrid'
END

# Strict limiting, EngineBlock's strictness 1 as it was built, and the text that this names for the first.
explains '2000 ops/s strictness=1' <<'END'
2000 ops/s strictness=1 algorithm=timeline
  on schedule     one every 500 µs
  after a stall   3 at once, then as before; the lost time is reported, not made up
  shortest gap    0.   For strict limiting, never less than 500 µs: '2000 ops/s burst=1'
  in any second   at most 2,002
  if woken late   at most 2,005: weir_take_wait abandons a start that is over 1.5 ms late
  largest call    any; the next call waits for it
  back to full    500 µs after the last call
  memory          48 bytes of state; in a table 116 bytes a key in all; in a file 216
  note            EngineBlock's strict limiting as it was built: idle time is given up, starts may come together
END

explains '2000 ops/s burst=1' --pace --window 500us <<'END'
2000 ops/s burst=1 catchup=1 algorithm=hybrid
  on schedule     one every 500 µs
  after a stall   1 at once, then as before; the lost time is reported, not made up
  shortest gap    500 µs: strict limiting
  in any second   at most 2,000
  if woken late   at most 2,002: weir_take_wait abandons a start that is over 1 ms late
  in any 500 µs  at most 1
  largest call    any; one above 1 starts when the pool is full and is paid back afterwards
  back to full    500 µs after the last call
  memory          32 bytes of state; in a table 91 bytes a key in all; in a file 166
  for an engine   '2000 ops/s burst=1 catchup=1 algorithm=hybrid'
END

for text in '2000/s burst=1 catchup=1.1' '1000000000/s' '3000000000/s' '7/s burst=1' \
    '3/h algorithm=timeline catchup=1' '2000/s algorithm=timeline catchup=1.1'; do
    "$weir" explain --pace "$text" | grep 'shortest gap'
done >out
cat >expected <<'END'
  shortest gap    409.09 µs.   For strict limiting, never less than 500 µs: '2000/s burst=1'
  shortest gap    0.   For strict limiting, never less than 1 ns: '1000000000/s burst=1'
  shortest gap    0
  shortest gap    142.857 ms: strict limiting
  shortest gap    20 min: strict limiting
  shortest gap    454.545 µs.   For strict limiting, never less than 500 µs: '2000/s burst=1'
END
what='shortest gaps'
same out expected

# A pool shorter than a sleep: how much comes of it, and what would be enough.
for text in '100000/s burst=1' '28000 ops/s burst=1' '100000/s catchup=2 algorithm=timeline' '10MiB/s burst=1' \
    '20000/s burst=1'; do
    "$weir" explain --pace "$text" | sed -n 's/, which sleeps 50 µs at a time\.  / ../p'
done >out
cat >expected <<'END'
  by sleeping     at most about 40,000/s in one thread .. To hold the rate: '100000/s burst=10ms catchup=1.1'
  by sleeping     at most about 26,666/s in one thread .. To hold the rate: '28000 ops/s burst=10ms catchup=1.1'
  by sleeping     at most about 40,000/s in one thread .. To hold the rate: '100000/s burst=10ms catchup=1.1'
END
what='pools shorter than a sleep'
same out expected

explains --window 5min 10/min <<'END'
10/min burst=10 algorithm=gcra
  after idling    10 pass at once, then one every 6 s
  in any minute   at most 19.   For never more than 10 in any minute: '10/min algorithm=sliding-log'
  in any 5 min    at most 59
  largest call    10; a larger one can never pass
  back to full    1 min after the last call
  memory          8 bytes of state; in a table 22 bytes a key in all
  for an engine   '10/min burst=10 algorithm=gcra'
END

explains '5/s burst=1' <<'END'
5/s burst=1 algorithm=gcra
  after idling    1 passes, then one every 200 ms
  in any second   at most 5
  largest call    1; a larger one can never pass
  back to full    200 ms after the last call
  memory          8 bytes of state; in a table 22 bytes a key in all
  for an engine   '5/s burst=1 algorithm=gcra'
END

explains none <<'END'
none
  lets through    nothing
  for an engine   'none'
END

explains unlimited <<'END'
unlimited
  lets through    everything
  for an engine   'unlimited'
END

# What it prints as the limit, it reads again as the same limit.
for text in 10/min 12000,1.1 '3/h' '1.5/s' '10k tokens/5h burst=30min' '10MiB/s' '7 per 2 days; 60/min burst=1' 10,2; do
    run "canonical text of $text" "$weir" explain "$text"
    cp out first
    canonical=$(grep -E '^[0-9]' first | paste -sd ';')
    run "canonical text again: $canonical" "$weir" explain "$canonical"
    same out first
done

# ---- JSON ----
run "explain --json" "$weir" explain '10/s burst=20; 12000,1.1; none' --json --window 5min
ends 0
silent err
json out '(.limits | length) == 3'
json out '.engine == "10/s burst=20 algorithm=gcra; 12000/s burst=10ms catchup=1.1 algorithm=hybrid; none"'
json out '.limits[0] == {limit: "10/s burst=20 algorithm=gcra", algorithm: "gcra", unit: "requests",
    fresh: 20, from_rest: 20, group: 1, spacing_ns: 100000000, refill_ns: 2000000000, largest: 20, state_bytes: 8,
    windows: [{window_ns: 1000000000, most: 29}, {window_ns: 300000000000, most: 3019}]}'
json out '.limits[1] == {limit: "12000/s burst=10ms catchup=1.1 algorithm=hybrid", algorithm: "hybrid",
    unit: "requests", fresh: 1, from_rest: 132, group: 1, spacing_ns: 83333, refill_ns: 10000000, largest: null,
    state_bytes: 32,
    windows: [{window_ns: 1000000000, most: 13331}, {window_ns: 300000000000, most: 3960131}]}'
json out '.limits[2] == {limit: "none", algorithm: "none", unit: "requests"}'
if [ "$(wc -l <out)" != 1 ]; then fail "JSON is not one line"; fi

for_engine() # TEXT PLAIN: what an engine is told instead
{
    run "explain --json $1" "$weir" explain "$1" --json
    json out ".engine == $2"
}
for_engine '1.5M/s' '"1500000/s burst=1500000 algorithm=gcra"'
for_engine '0.5 tokens/min' '"1 tokens/2min burst=1 algorithm=gcra"'
for_engine '10r/m burst=5 nodelay' '"83/500s burst=6 algorithm=leaky nodelay"'
for_engine '5 Things/2 weeks' '"5/2w burst=5 algorithm=gcra"'
for_engine '12000,1.25' '"12000/s burst=10ms catchup=1.25 algorithm=hybrid"'
for_engine '10 per hour, 500_000 bytes/d' '"10/h burst=10 algorithm=gcra; 500000 bytes/d burst=500000 algorithm=gcra"'
for_engine '10/s algorithm=cycle' null
run 'a concurrent limit as JSON' "$weir" explain '8 concurrent jobs lease=1h; 100 tokens/s' --json --window 5min
json out '.limits[0] == {limit: "8 concurrent jobs lease=1h", algorithm: "concurrent", unit: "jobs", at_once: 8,
                         lease_ns: 3.6e12, largest: 8, state_bytes: 160} and .limits[1].windows[0].most == 199'
run 'a concurrent limit' "$weir" explain '8 concurrent jobs lease=1h'
sed -i '/^  memory/,$d' out
cat >expected <<'END'
8 concurrent jobs lease=1h
  at once         at most 8 at any time, however fast they come and go
  if one dies     its slot is free 1 h after it was taken or last renewed; renew every 20 min
  if refused      retry says when the next lease ends; a release comes sooner, a renewal later
  largest call    8; a larger one can never pass
END
same out expected

run 'weights as JSON' "$weir" explain 'unlimited weight=3; 5/s' --json
json out '.limits[0] == {limit: "unlimited weight=3", algorithm: "unlimited", unit: "requests", weight: 3} and
          (.limits[1] | has("weight") | not)'
run 'a weight as JSON' "$weir" explain '5/s guaranteed weight=2; 9/s' --json
json out '.limits[0].weight == 2 and .limits[0].limit == "5/s burst=5 algorithm=gcra guaranteed weight=2"'
run 'a weight' "$weir" explain 'unlimited weight=1000'
cat >expected <<'END'
unlimited weight=1000
  lets through    everything
  weight          1,000: so many shares of what its parent has idle, among the tenants that want it
  for an engine   'unlimited weight=1000'
END
same out expected

run "explain --json --pace" "$weir" explain '10 tokens/min' --json --pace
json out '.limits[0].algorithm == "hybrid" and .limits[0].unit == "tokens" and .limits[0].from_rest == 2'

# ---- malformed limits: the column, what was expected or an example, and the place pointed at ----
count=0
while IFS='|' read -r column text message; do
    what="explain '$text'"
    for command in "explain" "pace"; do
        "$weir" $command -- "$text" </dev/null >out 2>err
        status=$?
        ends 2
        silent out
        printf 'weir: column %d: %s\n  %s\n  %*s^\n' "$column" "$message" "$text" $((column - 1)) '' >expected
        same err expected
    done
    count=$((count + 1))
done <<'END'
1||expected a rate: a count, a slash and a period; for example 10/s
1|requests|expected a rate: a count, a slash and a period; for example 10/s
1|-5/s|expected a rate: a count, a slash and a period; for example 10/s
4|10/|expected a period: s, min, h, d, w; for example 10/s
7|10 per|expected a period: s, min, h, d, w; for example 10/s
4|10/fortnight|expected a period: s, min, h, d, w; for example 10/s
5|10/0s|a period is longer than 0; for example 10/s
7|10/0.1ns|a period is a whole number of ns, up to 584 years; for example 10/s
4|10/M|M is a million; a minute is min; for example 10/min
3|5/month|a month has 28 to 31 days; write 5/30d
3|10s|expected a unit or a slash; "s" is a period: write 10/s, or 10 requests/s
3|10Mb/s|bits or bytes? write 10MB/s for bytes, 1250kB/s for ten megabits
1|0/s|a rate is above 0; to stop everything write none
11|10/s debt=99999999999999999999|a number this long is more than 64 bits hold; expected a count; for example debt=1000
4|10 aaaaaaaaaaaaaaaaaaaaaaaa/s|a unit has at most 23 letters; for example 10 tokens/s
14|300/s weight=0 algorithm=gcra|a weight is 1 to 1000; for example 300/s weight=3
18|unlimited weight=1001|a weight is 1 to 1000; for example 300/s weight=3
12|300/s; 9/s weight=2 algorithm=gcra|the weight of a tenant is in its first limit; for example 300/s weight=3; 10k/h
6|none weight=2|weight does not belong to algorithm=none; it goes with gcra, unlimited
1|5 concurrent|how long may one run that never says it ended? write lease=TIME; for example 20 concurrent lease=30s
11|60/min; 9 concurent|unknown word "concurent"; did you mean concurrent?
6|10/s 1000/h|expected an option or ";" ; two limits are joined by ";": 10/s; 1000/h
6|10/s;|expected a rate: a count, a slash and a period; for example 10/s
33|1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s|a text holds at most 8 limits
6|none burst=3|burst does not belong to algorithm=none; it goes with gcra, hybrid, bursty, leaky
5|10r/h|r/ is nginx's spelling and knows r/s and r/m only; for example 10r/s
1|rate=12000|a limit is written without "rate="; write 12000/s
1|rate=12000,1.1|a limit is written without "rate="; write 12000,1.1
2|1E6|a number has no exponent; write 1000000/s
4|100rps|a rate has a slash and a period, not "rps"; write 100/s
11|12000,1.1,restart|"restart" is a command to nosqlbench's limiter, not a limit; write 12000,1.1
15|100/sec burst=0|burst is at least 1, or nothing could ever pass; for example burst=1
12|10/s burst=1e9/s|expected a count or a time; for example burst=20 or burst=2s
11|10/s burst|expected "=" and a value after burst
15|10/s burst=20 burst=30|burst is given twice
6|10/s burts=20|unknown word "burts"; did you mean burst?
17|10/s strictness=1.1|strictness is 0 to 1; to run faster while behind write catchup=1.1
14|10/s catchup=0.5|catchup is 1 or more: how much faster to run while behind; for example 1.1
7|12000,0.9|catchup is 1 or more; for EngineBlock's strictness write 12000/s strictness=0.9
6|10/s catchup=1.1 algorithm=gcra|catchup does not belong to algorithm=gcra; it goes with hybrid, timeline
21|12000,1.1 algorithm=gcra|this spelling of the rate is that of hybrid; for another algorithm write it as 10/s
16|10/s algorithm=simrate|simrate was nosqlbench's present limiter, kept for comparison only; write algorithm=hybrid
12|10/s start=half|expected start=full or start=empty
11|10/s debt=many|expected a count; for example debt=1000
6|10/s shadow|shadow is no option of a limit's text; in weir.yaml write shadow: true beside the limit
END
if [ "$count" -lt 30 ]; then fail "only $count malformed limits"; fi

# ---- bad usage ----
wrong() # MESSAGE ARGUMENT...
{
    echo "weir: $1" >expected
    shift
    run "explain $*" "$weir" explain "$@"
    ends 2
    silent out
    same err expected
}
wrong "explain: expected one limit; for example weir explain '10/s burst=20'"
wrong "explain: expected one limit, in quotes when it has spaces; for example weir explain '10/s burst=20'" \
    10/s burst=20
wrong '--window "soon": expected a time; for example 500ms, 10s or 5min' 10/s --window soon
wrong '--window "0s": a window is at least 1 ns long' 10/s --window 0s
wrong 'explain: --window needs a value; see weir explain --help' 10/s --window
wrong 'explain: there is no option --nope; see weir explain --help' 10/s --nope
wrong 'explain: there is no option -x; see weir explain --help' 10/s -x
wrong 'explain: there is no option -5; see weir explain --help' -5/s

if [ -w /dev/full ]; then
    what="explain to a full disk"
    "$weir" explain 10/s >/dev/full 2>err
    status=$?
    ends 2
    echo 'weir: standard output: No space left on device' >expected
    same err expected
fi
