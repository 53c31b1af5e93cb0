#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace.sh WEIR: weir pace --engine: generators that share one schedule, and what they do while the engine is away.
. "$(dirname "$0")/lib/engine.sh" "$@"
needs jq python3
needs_part engine
start_engine main
url=$(url_of main)
run 'weir engine install' "$weir" engine install "$url"
ends 0

# ---- all lines, each once, by lines and by commands ----
seq 60 >in
run 'lines' "$weir" pace 500/s --engine "$url" --key lines <in
ends 0
same out in
summary_of 60 lines
says err '500/s burst=50 algorithm=gcra'
if ! grep -qE '^engine: [6-9][0-9] permits of "lines" in [0-9]+ requests' err; then fail 'what it got is not said'; fi
run 'commands' "$weir" pace 500/s -j 4 --engine "$url" --key commands --json -- echo <in
ends 0
sort -n out >sorted
same sorted in
json err '.commands == 60 and .early == 0 and .engine.key == "commands" and .engine.permits >= 60 and
    .engine.requests >= 1 and .engine.away_ns == 0 and .target_per_s == 500'
run 'a slow one: a permit at a time, and none ahead' "$weir" pace '20/s burst=1' --count 5 --engine "$url" --json <in
ends 0
json err '.lines == 5 and .engine.permits == 5 and .engine.key == "20/s burst=1 algorithm=gcra"'
run 'a pool of workers that grows' "$weir" pace 500/s -J 4 --engine "$url" --key grows --json -- sh -c 'sleep 0.02' <in
ends 0
json err '.commands == 60 and .jobs <= 4'
run 'weir take of the same limit' "$weir" take '1/h burst=5' shared --cost 5 --engine "$url"
ends 0
what='weir pace behind weir take'
to main CONFIG RESETSTAT >/dev/null
"$weir" pace '1/h burst=5' --engine "$url" --key shared --json <in >out 2>err &
pace=$!
others+=("$pace")
has_asked() # once by a look, and once in earnest
{
    [ "$(info_of main cmdstat_fcall | sed -n 's/^calls=\([0-9]*\),.*/\1/p')" -ge 2 ] 2>/dev/null
}
until_true has_asked
to main KEYS '*' >keys
if ! grep -qxF '{weir:shared}' keys; then fail "the keys in the engine are $(paste -sd ' ' keys)"; fi
kill -TERM "$pace"
wait_end "$pace" 'weir pace ends'
silent out
json err '.lines == 0 and .engine.permits == 0 and .engine.requests == 1'

grown()
{
    [ "$(stat -c %s out)" -gt "$size" ]
}

# ---- by the module, whose replies are in ns ----
module_options
start_engine module "${with_module[@]}"
run 'lines, by the module' "$weir" pace 500/s --engine "$(url_of module)" --key lines --json <in
ends 0
same out in
json err '.lines == 60 and .early == 0 and .engine.permits >= 60'

# ---- two at once: the sum is the limit's.  What is held to is the bound; the rate only where nothing was held up. ----
seconds=3
began=$(date +%s%N)
begin=$(($(date +%s) + 2))
for generator in 1 2; do
    yes | "$weir" pace 1000/s --engine "$url" --key sum --begin $begin --for ${seconds}s --json \
        --starts starts$generator 2>err$generator |
        wc -l >lines$generator &
done
until_true test -s lines1 -a -s lines2
what='two generators'
took=$(($(date +%s%N) - began))
total=$(($(cat lines1) + $(cat lines2)))
if [ "$total" -gt $((took / 1000000 + 100)) ]; then fail "$total lines in $took ns"; fi
for generator in 1 2; do
    json err$generator ".lines == $(cat lines$generator) and .early == 0 and .lines > 0"
done
cat >windows.py <<'END'
# No window of the starts of both has more than burst + 1 and the rate: now and then a pool of them is full.
starts = sorted(int(line.split(",")[1]) for name in ("starts1", "starts2") for line in list(open(name))[1:])
level, last, worst = 0.0, 0, 0.0
for start in starts:
    level = max(0.0, level - (start - last) / 1e6) + 1
    last, worst = start, max(worst, level)
print(f"  information: {len(starts)} starts, at most {worst:.1f} above the rate")
assert worst <= 101.1, worst
END
if ! python3 windows.py 2>err; then fail "$(tail -n 1 err)"; fi
held_up=$(jq -s '[.[] | .late_ns.max] | max' err1 err2)
echo "  information: $(cat lines1) and $(cat lines2) lines in $seconds s, at most $held_up ns late"
if [ "$held_up" -gt 25000000 ]; then
    skip_part 'engine/pace: 99 % of the rate' "a start was $held_up ns late here" 'run it on an idle machine'
elif [ "$total" -lt $((seconds * 990)) ]; then
    fail "$total lines, not $((seconds * 990))"
fi

# ---- what nobody uses lapses, and is no burst later ----
what='a generator that stands still'
rm out
yes | "$weir" pace 500/s --engine "$url" --key stands --json >out 2>err &
pace=$!
others+=("$pace")
until_true test -s out
kill -STOP "$pace"
sleep 0.5 # longer than the burst lasts
kill -CONT "$pace"
size=$(stat -c %s out)
until_true grown
kill -TERM "$pace"
wait_end "$pace" 'weir pace ends'
json err '.engine.lapsed > 0 and .missed == .engine.lapsed and .over == 0 and .early == 0'

# ---- away, while it works ----
what='an engine that dies'
rm out
yes | "$weir" pace 200/s --engine "$url" --key dies --json >out 2>err &
pace=$!
others+=("$pace")
until_true test -s out
kill_engine main
until_true grep -q "no more is started until the engine answers: 127.0.0.1:${engine_port[main]}" err
restart_engine main
until_true grep -qE 'the engine answers again, after [0-9.]+ (µs|ms|s)$' err
size=$(stat -c %s out)
until_true grown
kill -TERM "$pace"
wait_end "$pace" 'weir pace ends'
grep '^{' err >summary
json summary '.engine.away_ns > 0 and .early == 0'

# ---- away from the beginning, as weir take ----
kill_engine main
pace_refuses "nothing was started: 127.0.0.1:${engine_port[main]}: " 10/s --engine "$url"

# ---- usage ----
pace_refuses 'pace: --key needs --engine' 10/s --key k
pace_refuses 'pace: --prefix needs --engine' 10/s --prefix k
pace_refuses 'pace: --password-file needs --engine' 10/s --password-file k
pace_refuses 'pace: --engine: ' 10/s --engine http://127.0.0.1
pace_refuses 'pace: a key has 1 to 4096 bytes' 10/s --engine "$url" --key ''
pace_refuses 'pace: 12000,1.5: an engine has no catchup' 12000,1.5 --engine "$url"
pace_refuses "pace: 10/s algorithm=timeline: with --engine expected one limit that has a rate, and no "\
"other algorithm than" '10/s algorithm=timeline' --engine "$url"
pace_refuses 'pace: --engine counts starts, not bytes' 10MiB/s --engine "$url"
pace_refuses 'pace: --engine cannot be used with --drop, --rate-file or --part' 10/s --drop --engine "$url"
pace_refuses 'pace: --engine cannot be used with --drop, --rate-file or --part' \
    10/s --part 1/2 --begin 'next hour' --engine "$url"
