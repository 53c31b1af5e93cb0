#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_cluster.sh WEIR [MINUTES]: a Cluster of three primaries.  While the slot of a busy key goes from one to the
# next by hand, again and again, nobody is away and the bound is burst + rate * t: the state goes along.  Where a
# primary is killed and its replica takes over, once more a burst.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 4 2
start_cluster
load_functions "${nodes[@]}"

# Long enough for a client to be sent on by ASK before the slot is closed.
half_way()
{
    wait_for 'a client is sent on by ASK' redirected_since "$(redirected)"
}

# How often the engines said ASK.
redirected()
{
    local name
    for name in "${nodes[@]}"; do info_of "$name" errorstat_ASK; done |
        awk -F= '{ sum += $2 } END { print sum + 0 }'
}

redirected_since() # COUNT
{
    [ "$(redirected)" -gt "$1" ]
}

next_node() # NAME
{
    case $1 in
    node1) echo node2 ;;
    node2) echo node3 ;;
    *) echo node1 ;;
    esac
}

moves() # CLIENT_ARGUMENT...
{
    local slot count=0
    crowd "$cluster_url" "${patient[@]}" "$@"
    slot=$(slot_of "{weir:$key$round}")
    until_true somebody_was_refused
    while case_goes_on || [ $count -lt 3 ]; do
        move_slot "$slot" "$(next_node "$(owner_of "$slot")")" half_way
        goes_on
        count=$((count + 1))
    done
    end_crowd
    judge "Cluster: slot moved $count times" 0 90
    if [ "$(counted redirected)" = 0 ]; then fail 'no client was sent on'; fi
    nobody_was_away
}

takes_over() # CLIENT_ARGUMENT...
{
    local owner heir
    crowd "$cluster_url" --away closed --deadline-ms 100 "$@"
    owner=$(owner_of "$(slot_of "{weir:$key$round}")")
    heir=$(replica_of "$owner")
    until_true is_busy
    kill_engine "$owner"
    fail_over_after 1000
    until_true is_primary "$heir"
    fail_over_after $calm_ms
    goes_on
    sleep "$seconds"
    end_crowd
    judge "Cluster: $heir takes over" $burst 0
    restart_engine "$owner"
    until_true follows "$owner"
}

is_primary() # NAME
{
    [ "$(info_of "$1" role)" = master ]
}

with_and_without moves
for name in "${nodes[@]}"; do kill_engine "$name"; done
start_cluster 1
for name in node1 node2 node3; do load_functions "$name"; done
if [ "$minutes" = 0 ]; then
    leases=on
    takes_over "${by_leases[@]}"
else
    with_and_without takes_over
fi
leases_were_used
