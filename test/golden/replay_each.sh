#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_each.sh WEIR: what --each says of every line, against a slow model of the rules in another language.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3 jq
model=$lib/replay_model.py
seed=${WEIR_SEED:-$RANDOM}
lines=6000
echo "seed $seed (again: WEIR_SEED=$seed)"
msec='$remote_addr [$msec] $request_time $body_bytes_sent'
python3 "$model" make "$seed" $lines msec >msec.log || exit 1
python3 "$model" make "$seed" $lines combined >combined.log || exit 1

# The clock of gcra has ticks of up to a ns, so its retry may be a ns or two from the fraction's.  Verdicts may not.
agrees() # KIND COST NS LIMIT
{
    local arguments=()
    if [ "$1" = msec ]; then arguments=(--format "$msec"); fi
    if [ "$2" = bytes ]; then arguments+=(--cost body_bytes_sent); fi
    run "$4, $1, cost $2" "$weir" replay "$4" --each ${arguments[@]+"${arguments[@]}"} "$1.log"
    ends 0
    silent err
    python3 "$model" decide "$1" "$2" "$4" "$1.log" >expected || fail 'the model failed'
    python3 "$model" agree expected out "$3" >told 2>&1 || fail "$(cat told)"
    if grep -q ' 0 refused' told; then fail 'nothing was refused: this shows nothing'; fi
    if [[ $4 == *r/* && $4 != *nodelay* ]] && grep -q ' 0 delayed' told; then fail 'nothing was delayed'; fi
    echo "$what: $(cat told)"
}

for kind in msec combined; do
    agrees $kind one 2 '10/s burst=20'
    agrees $kind one 2 '7/min burst=3'
    agrees $kind one 0 '10r/s burst=5 nodelay'
    agrees $kind one 0 '5r/s burst=10'
    agrees $kind one 0 '5r/s burst=10 delay=4'
    agrees $kind one 0 '20/min algorithm=sliding-log'
    agrees $kind one 0 '250/h algorithm=sliding-log'
    agrees $kind one 0 '20/min algorithm=sliding-window'
    agrees $kind bytes 2 '3000B/s burst=5000'
    agrees $kind bytes 0 '5000B/min algorithm=sliding-window'
done

# Several limits in one pass say what each says alone, limit by limit for each line; so do the sums.
run 'two limits' "$weir" replay '10/s burst=20' --or '20/min algorithm=sliding-log' --each --format "$msec" msec.log
ends 0
"$weir" replay '10/s burst=20' --each --format "$msec" msec.log >first
"$weir" replay '20/min algorithm=sliding-log' --each --format "$msec" msec.log >second
paste -d '\n' first second >expected
same out expected
cp out both
"$weir" replay '10/s burst=20' --or '20/min algorithm=sliding-log' --json --format "$msec" msec.log >sums
jq -s '[group_by(.limit)[] | {limit: .[0].limit, allowed: map(select(.allowed)) | length,
    denied: map(select(.allowed | not)) | length, keys: map(.key) | unique | length,
    keys_denied: map(select(.allowed | not) | .key) | unique | length}]' out >expected
what='sums of --json and of --each'
jq '[.limits[] | {limit, allowed, denied, keys, keys_denied}]' sums >out
same out expected
what='the most refused of --json and of --each'
jq -c -s 'map(select(.limit == "10/s burst=20")) | group_by(.key) | map({key: .[0].key, requests: length,
    denied: map(select(.allowed | not)) | length}) | map(select(.denied > 0)) | sort_by(-.denied)[:20][]' both >expected
jq -c '.limits[0].top[] | {key, requests, denied}' sums >out
if [ "$(jq -c .denied out)" != "$(jq -c .denied expected)" ]; then fail 'others are refused more'; fi
sort expected -o expected
if [ -n "$(jq -s 'group_by(.denied)[-1][]' out | jq -c . | sort | comm -23 - expected)" ]; then fail 'not those'; fi
json sums ".requests == $lines and .malformed == 0"

# Of several logs the same: a log cut into three, one of them packed, is the same log.
split -n l/3 msec.log part.
gzip part.ab
run 'three logs' "$weir" replay '10/s burst=20' --each --format "$msec" part.aa part.ab.gz part.ac
ends 0
same out first
run 'standard input' "$weir" replay '10/s burst=20' --each --format "$msec" <msec.log
same out first

# Thousands that were decided wait for the first line, which came later than all of them and ended earlier.
awk 'BEGIN {
    print "192.0.2.1 [1763720200.000] 0.000"
    for (i = 1; i <= 20000; i++) printf "192.0.2.1 [%.3f] 500.000\n", 1763720200 + i / 100
}' >held.log
run 'lines that wait for the first' "$weir" replay '3/h burst=3' --each --format '$remote_addr [$msec] $request_time' \
    held.log
ends 0
jq .allowed out | uniq -c | awk '{ print $1, $2 }' >verdicts
printf '%s\n' '1 false' '3 true' '19997 false' >expected
same verdicts expected
