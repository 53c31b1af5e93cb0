#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_wait.sh WEIR: who waits never starts early, is refused at once when it would be too long, and gives his place
# back when he is interrupted.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3
export XDG_STATE_HOME=$room/state

# ---- never early ----
# Calls in a row, each with the times between which it was made, and calls at once; starts are too large for jq, which
# counts in doubles.  Ends with 3 when nobody had to wait.
cat >waits.py <<'END'
import json, subprocess, sys, time

def spaced(answers, gap_ns):
    starts = sorted(answer["start_ns"] for answer in answers)
    for one, next_one in zip(starts, starts[1:]):
        if next_one - one < gap_ns:
            sys.exit("starts %d ns apart, and not %d" % (next_one - one, gap_ns))

def in_a_row(gap_ns, command):
    answers = []
    for turn in range(3):
        begun_ns = time.monotonic_ns()
        answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        ended_ns = time.monotonic_ns()
        asked_ns = answer["start_ns"] - answer["delay_ns"]
        print(begun_ns, ended_ns, answer)
        if not answer["allowed"]:
            sys.exit("refused")
        if answer["start_ns"] > ended_ns:
            sys.exit("it came back before its start")
        if not begun_ns <= asked_ns <= ended_ns:
            sys.exit("delay_ns is not the time from the call to its start")
        answers.append(answer)
    spaced(answers, gap_ns)
    if answers[0]["delay_ns"] != 0:
        sys.exit("the first of all had to wait")
    return any(answer["delay_ns"] != 0 for answer in answers)

gap_ns = int(sys.argv[2])
if sys.argv[1] == "row":
    sys.exit(0 if in_a_row(gap_ns, sys.argv[3:]) else 3)
spaced([json.load(open(name)) for name in sys.argv[3:]], gap_ns)
END

# Where processes start so slowly that the gap has passed by then, nobody waits: with ever longer gaps somebody does.
in_a_row() # LIMIT: GAP stands for 50 ms, or more
{
    local ms limit early_ns=0
    case $1 in *leaky*) early_ns=1000000 ;; esac # counts in ms
    for ms in 50 400 3200 12800; do
        limit=${1//GAP/${ms}ms}
        run "three in a row: $limit" python3 waits.py row $((ms * 1000000 - early_ns)) \
            timeout 120 "$weir" take "$limit" "$1 $ms" --wait 120s --json
        if [ $status != 3 ]; then break; fi
    done
    ends 0
}
in_a_row '1/GAP burst=1'
in_a_row '1/GAP burst=1 algorithm=leaky'
in_a_row '1/GAP algorithm=sliding-log'
in_a_row '1/GAP algorithm=sliding-log count-refused'
in_a_row '1/GAP burst=1; 1000/h'

for turn in {1..6}; do timeout 120 "$weir" take '20/s burst=1' crowd --wait forever --json >"answer$turn" 2>>err & done
wait
run 'six at once' python3 waits.py crowd 50000000 answer{1..6}
ends 0
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
if ! env --default-signal=INT true 2>/dev/null; then
    skip_part 'golden/take_wait: interrupted' 'env has no --default-signal' 'apt-get install coreutils'
    exit 0
fi

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
