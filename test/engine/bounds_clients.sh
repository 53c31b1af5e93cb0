#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_clients.sh WEIR [MINUTES]: burst + rate * t in every window, over all four clients of an engine that lives:
# undisturbed, with clients that are killed and begin again, with clients that are paused longer than a lease lives, and
# with an engine whose clock is stepped.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 12 2
start_engine lua
load_functions lua
start_engine_with_clock stepped
load_functions stepped
engines=(lua)
if [ -e "$module" ]; then
    module_options
    start_engine module "${with_module[@]}"
    engines+=(module)
else
    skip_part 'bounds of the module' 'weir-redis.so is not built' "$build_all"
fi

# Engines before 7.2 tell a module the ms and no us (src/redis/module/clock.c): stale by 1 ms, so B + r * (t + 1 ms).
stale_of() # NAME: permits
{
    if [ "$1" = module ]; then echo $((permits * 1000000 / period_ns)); else echo 0; fi
}

plain() # NAME CLIENT_ARGUMENT...
{
    crowd "$(url_of "$1")" "${patient[@]}" "${@:2}"
    until_true somebody_was_refused
    sleep "$seconds"
    end_crowd
    judge "$1: undisturbed" "$(stale_of "$1")" 90
    nobody_was_away
}

# One every fifth of a second; it begins again at once.
kills() # NAME CLIENT_ARGUMENT...
{
    local number
    crowd "$(url_of "$1")" "${patient[@]}" "${@:2}"
    until_true somebody_was_refused
    while case_goes_on || [ $killed = 0 ]; do
        sleep 0.2
        number=$(one_of $clients)
        kill_client "$number"
        start_client "$number"
    done
    goes_on
    end_crowd
    judge "$1: clients killed $killed times" 0 90
    nobody_was_away
}

# Twice as long as a lease may be spent, so that the engine has its permits back when the client goes on.  A call that
# was stopped between the look at its clock and the answer may act too late, but was decided in time; a window has only
# what was asked for and told in it (window.c), so nothing is allowed for that.
pauses() # NAME CLIENT_ARGUMENT...
{
    local number other count=0 length=0.4 seconds=$seconds
    if [ $leases = on ]; then length=1.2 seconds=$((seconds + 1)); fi
    crowd "$(url_of "$1")" "${patient[@]}" "${@:2}"
    until_true somebody_was_refused
    while case_goes_on || [ $count = 0 ]; do
        number=$(one_of $clients) other=$(((number + 1) % clients))
        if [ $leases = on ]; then until_true leases_are_out; fi
        kill -STOP "${client_pid[number]}" "${client_pid[other]}"
        sleep $length
        kill -CONT "${client_pid[number]}" "${client_pid[other]}"
        count=$((count + 1))
        sleep 0.05
    done
    goes_on
    end_crowd
    judge "$1: two clients paused $count times" 0 90
    nobody_was_away
}

# The second half of the calm part of a wave.  Who is paused from then on for more than a wave goes on in the next
# storm: what he held was taken back, has drained, and was taken by others.
leases_are_out()
{
    local at=$(($(now_ns) / 1000000 % wave_ms))
    [ $at -gt $((wave_ms * 3 / 8)) ] && [ $at -lt $((wave_ms / 2)) ]
}

# Back, by far more than anybody waits: nothing is earned by it, and nobody waits for the time to come again.  Forth:
# what drains in the step, and no more with leases: they end as much too early, but what they held until then has not
# drained.
steps() # MICROSECONDS EXTRA_OF_EACH CLIENT_ARGUMENT...
{
    local at=0 count=0
    crowd "$(url_of stepped)" "${patient[@]}" "${@:3}"
    until_true somebody_was_refused
    while case_goes_on || [ $count = 0 ]; do
        at=$((at + $1)) count=$((count + 1))
        set_clock stepped $at
        sleep 0.25
    done
    goes_on
    end_crowd
    set_clock stepped 0
    judge "clock stepped by $1 us $count times" $((count * $2)) 0
    nobody_was_away
}

for name in "${engines[@]}"; do with_and_without plain "$name"; done
with_and_without kills lua
with_and_without pauses lua
step_us=30000 back_us=7000000000
steps -$back_us 0
steps $step_us $((step_us / 1000))
leases=on
steps -$back_us 0 "${by_leases[@]}"
steps $step_us $((step_us / 1000)) --lease-ms $lease_ms
leases_were_used
