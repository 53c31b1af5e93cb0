#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_running.sh WEIR: limits of what runs at once, against a model that looks up at each request who still runs.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3 jq
model=$lib/running_model.py
seed=${WEIR_SEED:-$RANDOM}
echo "seed $seed (again: WEIR_SEED=$seed)"
msec='$remote_addr [$msec] $request_time $body_bytes_sent'
python3 "$lib/replay_model.py" make "$seed" 3000 msec >log || exit 1

# ---- each verdict ----
agrees() # LIMIT
{
    run "$1" "$weir" replay "$1" --each --format "$msec" log
    ends 0
    silent err
    python3 "$model" each "$1" log >expected || fail 'the model failed'
    python3 "$lib/replay_model.py" agree expected out 2 >told 2>&1 || fail "$(cat told)"
    if grep -q ' 0 refused' told; then fail 'nothing was refused: this shows nothing'; fi
    echo "$what: $(cat told)"
}

agrees '1 concurrent lease=60s'
agrees '3 concurrent lease=60s'
agrees '3 concurrent lease=500ms'
agrees '2 concurrent lease=2s; 10/s burst=3'
agrees '10/s burst=3; 2 concurrent lease=20s'
agrees '20/min algorithm=sliding-log; 2 concurrent lease=20s'

# ---- the figures ----
figures='{denied: .limits[0].denied, denied_spread: (.limits[0].denied_spread // .limits[0].denied),
    running_client: .limits[0].running_client, running_all: .limits[0].running_all, outlasted: .limits[0].outlasted,
    unaffected_slots: .limits[0].unaffected_slots, longest_ns,
    offered: {p50: .running.p50, max: .running.max, all: .running_all}}'
counts() # LIMIT LOG KEY
{
    local arguments=()
    if [ "$3" = none ]; then arguments=(--key none); fi
    run "figures of $1, $2, key $3" "$weir" replay "$1" --json --format "$msec" ${arguments[@]+"${arguments[@]}"} "$2"
    ends 0
    cp out found
    if [ "$(jq .late out)" != 0 ]; then fail 'lines out of order'; fi
    jq -S -c "$figures" out >told
    python3 "$model" report "$1" "$2" "$3" | jq -S -c . >expected || fail 'the model failed'
    if [ "$2" != seconds ]; then jq -c '.denied_spread = .denied' expected >all && mv all expected; fi
    same told expected
    echo "$what: $(cat told)"
}

counts '3 concurrent lease=60s' log addresses
python3 "$model" steps '3 concurrent lease=60s' log found >told 2>&1 || fail "$(cat told)"
counts '10 concurrent lease=3s' log none
counts '2 concurrent lease=20s; 10/s burst=3' log addresses
sed 's/\.[0-9]*\]/]/' log >seconds
counts '3 concurrent lease=60s' seconds addresses
says err 'timestamps are whole seconds'

# Limits side by side say what each says alone.
"$weir" replay '3 concurrent lease=60s' --json --format "$msec" log | jq '.limits[0]' >expected
"$weir" replay '10 concurrent lease=3s' --json --format "$msec" log | jq '.limits[0]' >>expected
run 'side by side' "$weir" replay '3 concurrent lease=60s' --or '10 concurrent lease=3s' --json --format "$msec" log
ends 0
jq '.limits[]' out >told
same told expected

# An hour in which nothing runs, between two requests.
printf '192.0.2.1 [%s.000] 0.500 200\n' 1763719201 1763722801 >gap.log
run 'nothing runs for an hour' "$weir" replay '3 concurrent lease=60s' --json \
    --format '$remote_addr [$msec] $request_time $status' gap.log
ends 0
json out '.series.running | length > 200 and [.[] | select(. != 0)] == [1, 1]'
json out '.series.limits[0].running | [.[] | select(. != 0)] == [1, 1]'

printf '192.0.2.1 [1763719201.000] 0.500 200\n%.0s' 1 2 3 >three.log
run 'two limits of one lease' "$weir" replay '1 concurrent lease=60s' --or '2 concurrent lease=60s' \
    --format '$remote_addr [$msec] $request_time $status' three.log
if [ "$(grep -c 'to leave 99.9 % of clients unaffected: 3 concurrent lease=1min$' out)" != 1 ]; then
    fail 'it is not said, or twice'
fi

# ---- where durations come from ----
# The last one ends when the others do: three at once, of which one is refused.
three() # FORMAT: a line for each by its end and its duration in ms
{
    printf "$1\n" 1764504000.100 100 1764504000.250 200 1764504000.300 250
}
denied() # WORDS DENIED ARGUMENT...
{
    run "$1" "$weir" replay "${slots-2} concurrent lease=60s" --key none --json "${@:3}"
    ends 0
    json out ".limits[0].denied == $2"
}
three '{"ts":%s,"duration_ms":%s}' >known.json
three '{"ts":%s,"took":%s000}' >took.json
{ echo ts,took && three '%s,%s ms'; } >took.csv
three '%s %s000' >apache.log
denied 'a name that is known' 1 known.json
denied 'a name and its unit' 1 --duration took:us took.json
denied 'the unit is in the value' 1 --duration took took.csv
denied 'the unit is in the name of a variable' 1 --format '$msec $request_time_us' apache.log
# A start at 0.1, 0.25 and 0.3 s: of the first two, one is over when the third begins.
denied 'stamps are starts' 0 --timestamps start known.json
denied 'stamps are starts' 1 --timestamps start --format '$msec $request_time_ms' apache.log

refuses() # WORDS ARGUMENT...
{
    run "refuses: $1" "$weir" replay "${@:2}"
    ends 2
    silent out
    says err "$1"
}
refuses 'how long each request took, and this log has no field for it' '2 concurrent lease=1s' --key none \
    --format '$msec' apache.log
refuses 'how long each request took, and no line of this log says it' '2 concurrent lease=1s' took.json
refuses '--duration lasted:us: no field "lasted"; expected one of ts, took' 5/s --key none --duration lasted:us took.csv
refuses 'limits what runs at once' '2 concurrent lease=1s' -F --charge redis://127.0.0.1:1 known.json
{ cat known.json && echo '{"ts":1764504001}'; } >one_without.json
denied 'a line without a duration' 1 one_without.json
says err '1 of 4 requests have no duration'

run 'slots and bytes' "$weir" replay '2 concurrent lease=1s; 1MB/s' --cost ts --key none -q known.json
ends 2
says err 'limits count requests and bytes: write --cost bytes=ts'
for slots in '2 concurrent' '2 concurrent jobs'; do
    run "$slots and bytes" "$weir" replay "$slots lease=1s; 1MB/s" --cost bytes=ts --key none -q known.json
    ends 0
    silent err
done
run 'slots in another unit' "$weir" replay '2 concurrent jobs lease=1s' --key none -q known.json
silent err

# Nobody knows beforehand how long a request may take: 40 s, after minutes in which none took any time.
{
    for second in {100..339}; do echo "1764504$second.000 0.001"; done
    echo '1764504350.000 40.000'
    for second in {351..360}; do echo "1764504$second.000 0.001"; done
} >sudden.log
slots=1 denied 'a request that suddenly takes long' 29 --format '$msec $request_time' sudden.log
json out '.late == 0'

# ---- the report ----
run 'the report' env COLUMNS=90 "$weir" replay '2 concurrent lease=200ms' --or 1/s --key none known.json
ends 0
cat >expected <<'END'
  most at once, had nothing been refused: 3; the longest ran 250 ms
  most at once with 2 concurrent lease=200ms: 2
  most at once with 1/s: 1

  to leave 99.9 % of clients unaffected: 3 concurrent lease=200ms
END
grep -A 5 'most at once, had' out | head -n 5 >told
same told expected
