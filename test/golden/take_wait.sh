#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_wait.sh WEIR: who waits never starts early, is refused at once when it would be too long, and gives his place
# back when he is interrupted.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3
export XDG_STATE_HOME=$room/state

# ---- never early ----
# Runs it and writes to the file ended when it came back.
cat >timed.py <<'END'
import subprocess, sys, time
status = subprocess.run(sys.argv[1:]).returncode
ended = time.monotonic_ns()
open("ended", "w").write(str(ended))
sys.exit(status)
END

# The starts of COUNT calls in the order of their starts; each at least GAP_NS after the one before.
spaced() # COUNT GAP_NS
{
    if [ "$(wc -l <starts)" != "$1" ]; then fail "not $1 of them were allowed"; fi
    if ! jq -es --argjson gap "$2" \
        'map(.start_ns) | sort | [.[1:], .[:-1]] | transpose | map(.[0] - .[1] >= $gap) | all' starts >/dev/null; then
        cp starts out
        fail "a start was early: they are to be $2 ns apart"
    fi
}

in_a_row() # LIMIT GAP_NS
{
    : >starts
    for turn in 1 2 3; do
        run "three in a row: $1" timeout 120 python3 timed.py "$weir" take "$1" row --wait 60s --json
        ends 0
        cat out >>starts
        if [ "$(jq .start_ns out)" -gt "$(cat ended)" ]; then fail 'it came back before its start'; fi
    done
    spaced 3 "$2"
    if ! jq -es '.[0].delay_ns == 0 and .[1].delay_ns > 0' starts >/dev/null; then
        cp starts out
        # Whoever shares the machine may have held us up for longer than the gap.
        if [ "$(jq -s '.[1].start_ns - .[0].start_ns' starts)" -lt $(($2 * 3 / 2)) ]; then fail 'delay_ns is wrong'; fi
    fi
}
in_a_row '20/s burst=1' 50000000
in_a_row '20/s burst=1 algorithm=leaky' 49000000 # counts in ms
in_a_row '1/50ms algorithm=sliding-log' 50000000
in_a_row '1/50ms algorithm=sliding-log count-refused' 50000000
in_a_row '20/s burst=1; 1000/h' 50000000

what='six at once'
for turn in {1..6}; do timeout 120 "$weir" take '20/s burst=1' crowd --wait forever --json >"answer$turn" 2>>err & done
wait
cat answer? >starts
spaced 6 50000000
: >out
what='six at once, where nothing can be taken ahead'
for turn in {1..6}; do timeout 120 "$weir" take '2/50ms algorithm=fixed-window' crowd --wait forever >>out 2>&1 & done
wait
silent out

# ---- too long ----
for limit in '1/h' '1/h algorithm=leaky' '1/h algorithm=fixed-window' '1/h algorithm=sliding-log'; do
    run "$limit" "$weir" take "$limit" long --wait 1s
    ends 0
    run "$limit, too long" "$weir" take "$limit" long --wait 10min
    ends 1
    if ! grep -qE '^weir: refused: long has used .*; again in .* min.*, later than --wait 10min$' err &&
        ! grep -qF 'again in 1 h, later than --wait 10min' err; then fail 'not in these words'; fi
    run "$limit, too long for a command" "$weir" take "$limit" long --wait 10min -- touch run
    ends 75
    run "$limit: what was refused has used nothing" "$weir" take "$limit" long --peek --json
    json out '.retry_ns > 0 and .retry_ns <= 3.6e12'
done
if [ -e run ]; then fail 'it was run all the same'; fi
run 'never' "$weir" take 3/h never --cost 4 --wait forever
ends 2

# ---- interrupted ----
if ! env --default-signal=INT true 2>/dev/null; then echo 'env has no --default-signal'; exit 77; fi

retry_above() # NS
{
    [ "$("$weir" take 1/h sleeper --peek --json | jq .retry_ns)" -gt "$1" ]
}

interrupt() # NAME NUMBER [NAME_THAT_IS_IGNORED]
{
    what="interrupted by SIG$1"
    rm -f pid end
    python3 "$lib/ending.py" pid end env --default-signal="$1" ${3+--ignore-signal="$3"} "$weir" take 1/h sleeper \
        --wait 1000d -- touch run &
    until_true test -s pid
    until_true retry_above 3600000000000
    if [ -n "${3-}" ]; then kill -s "$3" "$(cat pid)"; fi
    kill -s "$1" "$(cat pid)"
    until_true test -s end
    wait
    status=$(cat end)
    ends "-$2"
    if retry_above 3600000000000; then fail 'its place was not given back'; fi
    if [ -e run ]; then fail 'the command was run'; fi
}
run 'the only one' "$weir" take 1/h sleeper
ends 0
interrupt INT 2
interrupt TERM 15
interrupt HUP 1
interrupt TERM 15 HUP # nohup
