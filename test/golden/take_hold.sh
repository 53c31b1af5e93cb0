#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_hold.sh WEIR: a semaphore for scripts.  Never more run at once than there are slots, whoever is killed or
# stopped; what a command held is free when it ends; and a command whose lease is lost is told.
# Where a test waits for a lease to end, that is all that it waits for; where it does not, leases are of hours.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq
export XDG_STATE_HOME=$room/state

is_free() # LIMIT KEY
{
    "$weir" take "$1" "$2" --peek >/dev/null
}

is_held()
{
    ! is_free "$@"
}

free() # LIMIT KEY
{
    if is_held "$@"; then fail 'the slot is held'; fi
}

has_ended_itself() # PID: it may be no child of this shell
{
    ! kill -0 "$1" 2>/dev/null
}

says_itself() # FILE WORDS
{
    grep -qF -- "$2" "$1"
}

# ---- N jobs of cron at once ----
# Each writes a line when it begins and one when it ends; a line is written whole.
job='echo begin >>log; sleep 0.05; echo end >>log'
most_at_once() # the most that ran at once, by the log
{
    awk '/begin/ { if (++running > most) most = running } /end/ { running-- } END { print most + 0 }' log
}

what='twenty jobs at once'
: >log
for _ in {1..20}; do "$weir" take '3 concurrent lease=1h' jobs --wait forever -- sh -c "$job" >>out 2>&1 & done
wait
if [ "$(grep -c end log)" != 20 ]; then fail "$(grep -c end log) of 20 ran"; fi
if [ "$(most_at_once)" -gt 3 ]; then fail "$(most_at_once) ran at once"; fi
silent out
for _ in 1 2 3; do free '3 concurrent lease=1h' jobs; done

what='several slots each, and a rate'
: >log
for _ in {1..6}; do
    "$weir" take '5 concurrent jobs lease=1h; 1000/h' wide --cost jobs=2 --wait forever -- sh -c "$job" >>out 2>&1 &
done
wait
if [ "$(grep -c end log)" != 6 ]; then fail "$(grep -c end log) of 6 ran"; fi
if [ "$(most_at_once)" -gt 2 ]; then fail "$(most_at_once) ran at once"; fi
silent out

# ---- held while it runs, and no longer ----
under=(env)
start() # LIMIT KEY ARGUMENT...: its pid in $holder, once the command runs
{
    : >running
    "${under[@]}" "$weir" take "$@" >holder_out 2>holder_err &
    holder=$!
    until_true test -s running
}

hold='echo $$ >running; exec sleep 1000'
L='1 concurrent lease=1h'
what='a slot that is held'
start "$L" held -- sh -c "$hold"
run 'a second one' "$weir" take "$L" held -- touch ran
ends 75
says err 'weir: refused: held: all of 1 concurrent lease=1h are held; the next lease ends in '
says err ', or sooner if released'
run 'a second one that waits a moment' "$weir" take "$L" held --wait 200ms -- touch ran
ends 75
says err '; none was within --wait 200ms'
run 'another status' "$weir" take "$L" held -E 0 -- touch ran
ends 0
if [ -e ran ]; then fail 'it was run all the same'; fi
run 'another key' "$weir" take "$L" other -- true
ends 0
run 'how many are held' "$weir" take '2 concurrent lease=1h' held --peek --json
json out '.allowed and .remaining == 0'

what='one that waits for less than a lease, and is let in by a release'
"$weir" take "$L" held --wait 1min -- true 2>err &
waiting=$!
sleep 0.2 # it has asked, and waits
kill -KILL "$(cat running)"
wait "$holder"
wait_end "$waiting" 'the one that waits'
ends 0
silent err

what='a signal that weir gets'
if env --default-signal=INT,QUIT,HUP true 2>/dev/null; then
    under=(env --default-signal=INT,QUIT,HUP) # a shell ignores the first two in the background, nohup the third
    names=(TERM HUP USR1 USR2 INT QUIT)
else
    names=(TERM USR1 USR2)
    skip_part 'golden/take_hold: SIGINT, SIGQUIT and SIGHUP' 'env has no --default-signal' 'apt-get install coreutils'
fi
for name in "${names[@]}"; do
    start "$L" held -- sh -c "$hold"
    kill -s "$name" "$holder"
    wait_end "$holder" 'the end of a command that was sent a signal'
    ends $((128 + $(kill -l "$name")))
    free "$L" held
    silent holder_err
done
under=(env)

what='the status of the command'
for expected in 0 1 42 255; do
    run "status $expected" "$weir" take "$L" status -- sh -c "exit $expected"
    ends $expected
    silent err
done
run 'a command that is killed' "$weir" take "$L" status -- sh -c 'kill -KILL $$'
ends 137
free "$L" status
run 'its streams' "$weir" take "$L" status -- sh -c 'cat; echo to err >&2' <<<'to out'
echo 'to out' >expected
same out expected
echo 'to err' >expected
same err expected
if [ -e /proc/self/status ]; then
    grep -E '^Sig(Blk|Ign)' /proc/self/status >expected
    run 'its signals' "$weir" take "$L" status --wait 1h -- grep -E '^Sig(Blk|Ign)' /proc/self/status
    same out expected
    (trap '' TERM USR1 && exec "$weir" take "$L" status -- grep -E '^SigIgn' /proc/self/status) >out
    (trap '' TERM USR1 && exec grep -E '^SigIgn' /proc/self/status) >expected
    same out expected
    run 'its descriptors' "$weir" take "$L" status -- ls /proc/self/fd </dev/null
    ls /proc/self/fd </dev/null 2>err >expected
    same out expected
fi

what='a command that could not be started'
for turn in 1 2; do
    run 'no such command' "$weir" take "$L; 1/h" nothing -- ./not-there
    ends 127
    says err './not-there: No such file'
    run 'no program' "$weir" take "$L; 1/h" nothing -- "$room"
    ends 126
done
run 'it has used nothing' "$weir" take "$L; 1/h" nothing -- true
ends 0
run 'what it used stays used' "$weir" take "$L; 1/h" nothing -- true
ends 75
says err 'nothing has used 1/h burst=1'

# ---- killed ----
what='weir is killed'
start "$L" killed -- sh -c "$hold"
end_process "$holder"
free "$L" killed
until_true has_ended_itself "$(cat running)"
start "$L" killed --lost-signal none -- sh -c "$hold"
end_process "$holder"
free "$L" killed
if has_ended_itself "$(cat running)"; then fail 'the command was told, with --lost-signal none'; fi
kill -KILL "$(cat running)"

what='the command is killed'
start "$L" killed -- sh -c "$hold"
kill -KILL "$(cat running)"
wait "$holder"
status=$?
ends 137
free "$L" killed

# Killed at any moment: none is one too many, and all slots are free afterwards.
RANDOM=7
what='killed at any moment'
: >log
for turn in {1..60}; do
    "$weir" take '2 concurrent lease=1h' victim --wait forever --lost-signal KILL -- \
        sh -c 'echo $$ >>log; exec sleep 0.02' >/dev/null 2>&1 &
    pid=$!
    for ((spins = RANDOM % 3000; spins > 0; spins--)); do :; done
    if ((turn % 2)); then kill -9 $pid; fi
    if ((turn % 10 == 0)); then wait; fi
done 2>/dev/null
wait
both_are_free()
{
    [ "$("$weir" take '2 concurrent lease=1h' victim --cost 2 --peek --json | jq .allowed)" = true ]
}
until_true both_are_free

# ---- stopped past the lease ----
stopped() # ARGUMENT...: $status and holder_err
{
    start '1 concurrent lease=1s' stopped "$@" -- sh -c "$stopped"
    kill -STOP "$holder"
    until_true is_free '1 concurrent lease=1s' stopped
    kill -CONT "$holder"
    wait_end "$holder" 'the end of a command that lost its lease'
}

what='a lease that is lost'
stopped=$hold
stopped
ends 124
says holder_err 'weir: lease lost: it was over, or was reset; the command was sent SIGTERM, as others may run now'
says holder_err 'weir: the command ended with status 143'
stopped --lost-signal KILL
ends 124
says holder_err 'was sent SIGKILL'
stopped='trap "echo told; exit 7" USR1; echo $$ >running; while :; do sleep 0.01; done'
stopped --lost-signal USR1
ends 124
says holder_out told
says holder_err 'the command ended with status 7'
stopped='echo $$ >running; until [ -e may_end ]; do sleep 0.01; done'
what='a lease that is lost, without a signal'
start '1 concurrent lease=1s' stopped --lost-signal none -- sh -c "$stopped"
kill -STOP "$holder"
until_true is_free '1 concurrent lease=1s' stopped
kill -CONT "$holder"
lost_words='weir: lease lost: it was over, or was reset; the command goes on, and others may run now'
until_true says_itself holder_err "$lost_words"
touch may_end
wait_end "$holder" 'the end of the command'
ends 124
what='a lease that is lost when the command ends'
start "$L" reset -- sh -c "$stopped"
rm may_end
start "$L" reset2 -- sh -c "$stopped"
"$weir" take "$L" reset2 --reset
touch may_end
wait "$holder"
status=$?
ends 124
says holder_err 'weir: lease lost: it was over, or was reset'
wait

what='a lease that is renewed'
start '1 concurrent lease=1s' renewed -- sh -c 'echo $$ >running; exec sleep 3'
while [ -e "/proc/$(cat running)" ]; do
    if "$weir" take '1 concurrent lease=1s' renewed >/dev/null 2>&1 && [ -e "/proc/$(cat running)" ]; then
        fail 'the slot was free while the command ran'
    fi
    sleep 0.1
done
wait "$holder"
status=$?
if [ $status != 0 ] && [ $status != 124 ]; then ends 0; fi # 124: this machine stood still for a second

# ---- without a command ----
L2='2 concurrent lease=1h'
run 'an id' "$weir" take "$L2" script
ends 0
silent err
id=$(cat out)
if ! [[ $id =~ ^[1-9][0-9]*$ ]]; then fail 'is no id'; fi
run 'an id as JSON' "$weir" take "$L2" script --json
json out '.allowed and .charged == 1 and (.id | test("^[1-9][0-9]*$"))'
other=$(jq -r .id out)
if [ "$id" = "$other" ]; then fail 'the same id twice'; fi
run 'held when weir has ended' "$weir" take "$L2" script
ends 1
silent out
for turn in 1 2; do
    run 'renew' "$weir" take "$L2" script --renew "$id"
    ends 0
    silent out
    silent err
done
run 'release' "$weir" take "$L2" script --release "$id"
ends 0
silent out
silent err
for option in renew release; do
    run "$option what is released" "$weir" take "$L2" script --$option "$id"
    ends 1
    says err "weir: not held any more: $id was released, or its lease is over"
    run "$option what is released, as another status" "$weir" take "$L2" script --$option "$id" -E 9
    ends 9
done
run 'another key' "$weir" take "$L2" script2 --release "$other"
ends 1
run 'the other one is still held' "$weir" take "$L2" script --renew "$other"
ends 0
run 'peek has no id' "$weir" take "$L2" script --peek --json
json out 'has("id") | not'
run 'a slot of one that was killed, without a command' true
start "$L" mixed -- sh -c "$hold"
end_process "$holder"
run 'a dead holder, found without a command' "$weir" take "$L" mixed
ends 0

# ---- what people type ----
wrong() # WORDS STATUS ARGUMENT...
{
    run "take ${*:3}" "$weir" take "${@:3}"
    ends "$2"
    silent out
    says err "$1"
}
wrong 'write lease=TIME; for example 20 concurrent lease=30s' 2 '3 concurrent' backup
wrong 'unexpected argument "./backup.sh"; quote a limit that has spaces, put a command after --' 2 \
    '3 concurrent lease=1h' backup ./backup.sh
wrong 'unexpected argument "lease=1h"; quote a limit that has spaces, put a command after --' 125 \
    3 concurrent lease=1h backup -- ./backup.sh
wrong 'lease=999ms is too short to be renewed in time while a command runs; write lease=1s or more' 125 \
    '3 concurrent lease=999ms' backup -- touch ran
wrong '3/h holds nothing: --renew, --release and --lost-signal are for a limit such as' 2 3/h backup --renew 5
wrong '3/h holds nothing' 125 3/h backup --lost-signal TERM -- touch ran
wrong '--lost-signal is for a command: put it after --' 2 "$L" backup --lost-signal TERM
wrong '--lost-signal "SIGTERM": expected TERM, INT, HUP, QUIT, USR1, USR2, STOP, KILL or none' 125 \
    "$L" backup --lost-signal SIGTERM -- touch ran
for id in '' x -1 1x 18446744073709551616; do
    wrong "--release \"$id\": expected the id that weir take printed" 2 "$L" backup --release "$id"
done
wrong '--renew and --release exclude each other' 2 "$L" backup --renew 1 --release 1
for option in --peek --json --reset '--wait 1s' '--cost 1'; do
    # shellcheck disable=SC2086 # an option and its value
    wrong '--renew takes nothing: it cannot be used with' 2 "$L" backup --renew 1 $option
done
wrong '--release takes nothing: it cannot be used with' 125 "$L" backup --release 1 -- touch ran
wrong 'can never be allowed: 4 jobs are more than 3 concurrent jobs lease=1h' 2 '3 concurrent jobs lease=1h' b --cost 4
if [ -e ran ]; then fail 'a command was run all the same'; fi

run 'weir pace' "$weir" pace '3 concurrent lease=1h' </dev/null
ends 2
says err "a line holds no slot; for so many commands at once write -j 3, for all processes together weir take '3 "
