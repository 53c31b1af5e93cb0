#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_hold.sh WEIR: slots in an engine that a command holds: never more run than there are slots, on however many
# machines; and what a command is told whose engine is gone.
. "$(dirname "$0")/lib/engine.sh" "$@"
needs jq
needs_part engine
export HOME=$room/home # where no state should come about
mkdir "$HOME"
start_engine main
url=$(url_of main)
run 'weir engine install' "$weir" engine install "$url"
ends 0

slots='2 concurrent lease=5s'

start() # KEY ARGUMENT...: its pid in $holder, once the command runs
{
    : >running
    "$weir" take "$slots" "$1" --engine "$url" "${@:2}" -- sh -c 'echo $$ >running; exec sleep 1000' 2>holder_err &
    holder=$!
    until_true test -s running
}

both_free() # KEY
{
    [ "$("$weir" take "$slots" "$1" --cost 2 --peek --json --engine "$url" | jq .allowed)" = true ]
}

has_ended_itself() # PID: it may be no child of this shell
{
    ! kill -0 "$1" 2>/dev/null
}

# ---- more jobs than slots ----
what='jobs at once'
: >log
for _ in {1..6}; do
    "$weir" take "$slots" jobs --wait forever --engine "$url" -- sh -c 'echo begin >>log; sleep 0.05; echo end >>log' \
        >>out 2>&1 &
    jobs_pids+=($!)
done
wait "${jobs_pids[@]}"
most=$(awk '/begin/ { if (++running > most) most = running } /end/ { running-- } END { print most + 0 }' log)
if [ "$(grep -c end log)" != 6 ]; then fail "$(grep -c end log) of 6 ran"; fi
if [ "$most" -gt 2 ]; then fail "$most ran at once"; fi
if ! both_free jobs; then fail 'what ended is held'; fi

# ---- held while it runs ----
start held
run 'both at once' "$weir" take "$slots" held --cost 2 --engine "$url"
ends 1
silent out
says err 'refused: held has 1 left of 2 concurrent lease=5s, not 2; enough leases end in '
kill -TERM "$holder"
wait "$holder"
status=$?
ends 143
silent holder_err
if ! both_free held; then fail 'what ended is held'; fi

what='weir is killed'
start killed
end_process "$holder"
until_true has_ended_itself "$(cat running)"
if both_free killed; then fail 'no engine can know that'; fi
until_true both_free killed

run 'what could not be started has used nothing' "$weir" take "$slots; 1/h" nothing --engine "$url" -- ./not-there
ends 127
run 'so it passes' "$weir" take "$slots; 1/h" nothing --engine "$url" -- true
ends 0
run 'and the rate stays used' "$weir" take "$slots; 1/h" nothing --engine "$url" -- true
ends 75
says err 'nothing has used 1/h burst=1'
run 'a cost by unit' "$weir" take "$slots; 9 tokens/h" units --cost tokens=9 --engine "$url" --json
json out '.allowed and .charged == {"requests": 1, "tokens": 9} and (.id | test("^[0-9]+$"))'
run 'a short lease' "$weir" take '2 concurrent lease=4s' short --engine "$url" -- touch ran
ends 125
says err 'lease=4s is too short to be renewed in time while a command runs; write lease=5s or more'

# ---- without a command ----
run 'an id' "$weir" take '1 concurrent lease=1h' script --engine "$url"
ends 0
silent err
id=$(cat out)
run 'held' "$weir" take '1 concurrent lease=1h' script --engine "$url"
ends 1
run 'renew' "$weir" take '1 concurrent lease=1h' script --renew "$id" --engine "$url"
ends 0
for expected in 0 1; do
    run 'release' "$weir" take '1 concurrent lease=1h' script --release "$id" --engine "$url"
    ends $expected
done
says err "weir: not held any more: $id was released, or its lease is over"
run 'free' "$weir" take '1 concurrent lease=1h' script --engine "$url"
ends 0
id=$(cat out)

# ---- the engine is gone ----
start lost
kill_engine main
wait_end "$holder" 'the lease is lost'
ends 124
says holder_err "weir: lease lost: 127.0.0.1:${engine_port[main]}: "
says holder_err '; the command was sent SIGTERM, as others may run now'
says holder_err 'weir: the command ended with status 143'
run 'renew' "$weir" take '1 concurrent lease=1h' script --renew "$id" --engine "$url"
ends 2
says err "weir: not renewed: 127.0.0.1:${engine_port[main]}: "

start_engine second
url=$(url_of second)
start released
kill_engine second
kill -KILL "$(cat running)"
wait_end "$holder" 'the end of the command'
ends 137
says holder_err "weir: not released: 127.0.0.1:${engine_port[second]}: "
says holder_err '; it is free when its lease is over'
if [ -n "$(find home -type f)" ]; then fail 'there is a file'; fi
if [ -e ran ]; then fail 'a command was run all the same'; fi
