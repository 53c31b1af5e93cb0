#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# take_together.sh WEIR: many processes at once, and processes killed at any moment, never get more than the limit.
. "$(dirname "$0")/lib/check.sh" "$@"
export XDG_STATE_HOME=$room/state

# Starts COUNT at once and counts in $passed those with status 0; any other than 0 and 1 fails.  On a busy machine a
# process may find the lock taken for as long as it waits: then nothing was taken, and it comes again.
at_once() # COUNT ARGUMENT...
{
    local count=$1 pids=() pid status
    shift
    what="$count at once: take $*"
    for ((turn = 0; turn < count; turn++)); do
        "$weir" take "$@" >/dev/null 2>>err &
        pids+=($!)
    done
    passed=0
    for pid in "${pids[@]}"; do
        wait "$pid"
        status=$?
        for ((turn = 0; status == 2 && turn < 100; turn++)); do
            if ! grep -q 'nothing was taken: .*another process holds its lock' err; then break; fi
            "$weir" take "$@" >/dev/null 2>>err
            status=$?
        done
        if [ $status = 0 ]; then passed=$((passed + 1)); fi
        if [ $status -gt 1 ]; then fail "exit status $status"; fi
    done
}

limits=('7/w' '7/w algorithm=leaky nodelay' '7/w algorithm=fixed-window' '7/w algorithm=sliding-window'
    '7/w algorithm=sliding-log' '7/w; 100/90d' '100/d; 7/w algorithm=sliding-log')
for limit in "${limits[@]}"; do
    : >err
    at_once 20 "$limit" "key of $limit"
    if [ "$passed" != 7 ]; then fail "$passed passed, expected 7"; fi
    at_once 5 "$limit" "key of $limit"
    if [ "$passed" != 0 ]; then fail "$passed passed afterwards"; fi
    at_once 3 "$limit" "another key of $limit"
    if [ "$passed" != 3 ]; then fail "$passed of 3 passed with another key"; fi
done

# One that writes half a megabyte takes long enough for another to come in between, if it could.
: >err
at_once 20 '60000/w algorithm=sliding-log' large --cost 6000
if [ "$passed" != 10 ]; then fail "$passed passed, expected 10"; fi

what='different keys at once'
for key in {1..20}; do "$weir" take 1/w "$key" 2>>err || echo "$key"; done >refused &
for key in {21..40}; do "$weir" take 1/w "$key" 2>>err || echo "$key"; done >also_refused
wait
silent refused
silent also_refused

# ---- killed ----
# Whoever was killed may have taken a permit or not; nobody gets one too many, and nobody waits for the dead.
RANDOM=4
killed_at_any_moment() # KILLS LIMIT PERMITS
{
    local kills=$1 limit=$2 permits=$3 pid died=0 allowed=0 spins turn end=$((SECONDS + 60))
    what="killed at any moment: take $limit"
    for ((turn = 0; turn < kills || (died == 0 && SECONDS < end); turn++)); do
        "$weir" take "$limit" victim >/dev/null 2>&1 &
        pid=$!
        spins=$((RANDOM % 4000))
        for ((; spins > 0; spins--)); do :; done
        kill -9 $pid
        wait $pid
        status=$?
        case $status in
        0) allowed=$((allowed + 1)) ;;
        1) ;;
        137) died=$((died + 1)) ;;
        *) fail "exit status $status" ;;
        esac
    done 2>/dev/null
    if [ $died = 0 ]; then fail 'in a minute nobody was killed in time'; fi
    while run "$what, afterwards" timeout 60 "$weir" take "$limit" victim && [ $status = 0 ]; do
        allowed=$((allowed + 1))
        if [ $allowed -gt "$permits" ]; then fail "more than $permits were allowed"; fi
    done
    ends 1
    if [ $((allowed + died)) -lt "$permits" ]; then fail "$allowed allowed and $died killed: permits were lost"; fi
    run "$what, another key" timeout 60 "$weir" take "$limit" bystander
    ends 0
}
killed_at_any_moment 200 120/90d 120
killed_at_any_moment 200 '120/year algorithm=sliding-log' 120
killed_at_any_moment 100 '80/year algorithm=leaky nodelay; 1000/year' 80

# While the file is made, too: whoever comes next finds it made, or makes it.
for kind in gcra fixed-window; do
    for turn in {1..40}; do
        rm -rf "$XDG_STATE_HOME"
        "$weir" take "3/w algorithm=$kind" first >/dev/null 2>&1 &
        pid=$!
        for ((spins = RANDOM % 4000; spins > 0; spins--)); do :; done
        kill -9 $pid
        wait $pid
        allowed=0
        run "$kind: killed while it makes the file" timeout 60 "$weir" take "3/w algorithm=$kind" first
        ends 0
        for again in 1 2 3; do "$weir" take "3/w algorithm=$kind" first 2>err && allowed=$((allowed + 1)); done
        if [ $allowed != 1 ] && [ $allowed != 2 ]; then fail "$allowed more were allowed, expected 1 or 2"; fi
    done 2>/dev/null
done
