#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_failover.sh WEIR [MINUTES]: a primary under Sentinel that is killed, or paused and comes back when another has
# taken over.  The replica that takes over may not have seen the last writes, so once more a burst; that is the row
# + B + r * lambda, held to without the second term: what the new primary forgot leaves its bucket no emptier than empty.
# The client lets nothing pass meanwhile, finds the new primary by itself, and its old one does not lead it back.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 4 6
start_pair
load_functions first
start_sentinels
until_true in_step first second
now=first next=second

# With a clear field: the other is an up-to-date replica that Sentinel knows.
other_follows()
{
    [ "$(primary_now)" = "${engine_port[$now]}" ] && follows $next && in_step $now $next &&
        in_engine sentinel1 SENTINEL REPLICAS weir | paste - - | grep -q "^port	${engine_port[$next]}$" &&
        ! in_engine sentinel1 SENTINEL REPLICAS weir | grep -qE 's_down|o_down|disconnected'
}

swap_names()
{
    local was=$now
    now=$next next=$was
}

lag_of() # NAME: bytes that it has not seen
{
    echo $(($(info_of $now master_repl_offset) - $(info_of "$1" slave_repl_offset)))
}

failover() # HOW CLIENT_ARGUMENT...
{
    local lag since
    until_true other_follows
    crowd "$sentinel_url" --away closed --deadline-ms 100 "${@:2}"
    until_true is_busy
    lag=$(lag_of $next)
    "$1"_engine $now
    until_true primary_is $next
    since=$(now_ns)
    until_true granted_since_or_over "$since"
    recovered=$((($(now_ns) - since) / 1000000))
    case $1 in
    pause) resume_engine $now ;;
    kill) restart_engine $now ;;
    esac
    swap_names
    crowd_is_over
    judge "Sentinel: $1, replica $lag bytes behind" $burst 90
    if ! granted_since "$since"; then fail 'nothing passed after the failover'; fi
    echo "    first permit from the new primary after $recovered ms"
    if [ "$(answers_from away)" != 0 ]; then fail 'something passed while no engine was there'; fi
}

is_busy()
{
    [ "$(cat "$logs"/log.* | wc -l)" -gt $((2 * burst)) ]
}

granted_since_or_over() # NS
{
    granted_since "$1" || ! crowded
}

with_and_without failover kill
with_and_without failover pause
