#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_failover.sh WEIR [MINUTES]: a primary under Sentinel that is killed, or paused and comes back when another has
# taken over.  The replica that takes over may not have seen the last writes, so once more a burst: the row
# + B + r * lambda, without its second term, since what was forgotten leaves a bucket at most as full as a new one.
# Where the old one goes on beside the new one for W: + B + r * W.  The clients let nothing pass meanwhile, and find
# the new primary by themselves.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 4 1
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

# Bytes that it has not seen, at most.
lag_of() # NAME
{
    local seen
    seen=$(info_of "$1" slave_repl_offset)
    echo $(($(info_of $now master_repl_offset) - seen))
}

begin_failover() # HOW CLIENT_ARGUMENT...
{
    until_true other_follows
    crowd "$sentinel_url" --away closed --deadline-ms 100 "${@:2}"
    until_true is_very_busy
    lag=$(lag_of $next)
    "$1"_engine $now
    sentinels_act_after 500
    until_true primary_is $next
    sentinels_act_after $calm_ms
    since=$(now_ns)
    until_true granted_since "$since"
    recovered=$((($(now_ns) - since) / 1000000))
}

end_failover() # WHAT EXTRA
{
    judge "Sentinel: $1, lag $lag bytes" "$2" 0
    if [ "$(answers_from away)" != 0 ]; then fail 'something passed while no engine was there'; fi
    echo "    the new primary was found $recovered ms after it was one"
    swap_names
}

# It stays dead until the clients are over.
killed() # CLIENT_ARGUMENT...
{
    begin_failover kill "$@"
    sleep "$seconds"
    end_crowd
    restart_engine $now
    end_failover 'primary killed' $burst
}

# It goes on where it was, and thinks for W that it is the primary still.
paused() # CLIENT_ARGUMENT...
{
    local resumed split_ms
    begin_failover pause "$@"
    resumed=$(now_ns)
    resume_engine $now
    until_true is_replica $now
    split_ms=$((($(now_ns) - resumed) / 1000000))
    end_crowd
    end_failover "two primaries for $split_ms ms" $((burst + split_ms * permits))
}

is_replica() # NAME
{
    [ "$(info_of "$1" role)" = slave ]
}

is_very_busy()
{
    [ "$(cat "$logs"/log.* 2>/dev/null | wc -l)" -gt $((2 * burst)) ]
}

# Sentinel needs ten seconds until it has made a replica of an old primary; so in short only one of each.
if [ "$minutes" = 0 ]; then
    killed
    leases=on
    paused "${by_leases[@]}"
else
    with_and_without killed
    with_and_without paused
fi
leases_were_used
