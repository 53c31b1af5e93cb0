#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# holders.sh WEIR: holders of slots that are killed, while the engine is there, while it is killed and comes back from
# its append-only file, and while a replica that Sentinel promotes takes over.  Never more are held than there are
# slots, but where the last writes were lost: then at most as many more, until those holders hear at their next renewal
# that they hold nothing.  When all are dead every slot is free within a lease.
. "$(dirname "$0")/lib/topology.sh" "$@"
needs_built "$build/test/engine-holders" hiredis
seed_of 7
slots=6 lease=400 kills=$(of_size 150 4000)

# The line that holders.c prints, of which no number is above what it may be.
judge() # WHAT MORE
{
    local most ends
    what=$1
    read -r most ends <<<"$(sed -n 's/.* most \([0-9]*\) of .* ends \([0-9]*\) ms/\1 \2/p' held)"
    if [ -z "$most" ] || [ "$most" -gt $((slots + $2)) ]; then fail "$most were held at once, of $slots and $2 more"; fi
    if [ "$ends" -gt $lease ]; then fail "a slot is held for $ends ms, and a lease is $lease"; fi
    echo "$1: $(cat held)"
}

holders() # URL
{
    "$build/test/engine-holders" "$1" $slots $lease "$kills" "$seed" >held 2>held.err
}

may_hold() # URL: beside what the script does; others are ended with it
{
    holders "$1" &
    holding=$!
    others+=("$holding")
}

hold_on()
{
    wait "$holding" || { cp held.err err; fail 'the holders end in an error'; }
}

goes_on()
{
    ! has_ended "$holding"
}

held_now() # NAME
{
    in_engine "$1" EXISTS '{weir:job}' | grep -q 1
}

for way in functions module; do
    options=()
    if [ $way = module ]; then
        if [ ! -e "$module" ]; then
            skip_part module 'it is not built' "$build_all"
            continue
        fi
        options=(--loadmodule "$module")
    fi
    start_engine one "${options[@]}"
    holders "$(url_of one)" || { cp held.err err; fail 'the holders end in an error'; }
    judge "$way" 0
    kill_engine one

    # ---- killed, and back from its file ----
    start_engine one "${options[@]}" --appendonly yes --appendfsync always
    may_hold "$(url_of one)"
    restarts=0
    until_true held_now one
    while goes_on && [ $restarts -lt 4 ]; do
        kill_engine one
        restart_engine one
        restarts=$((restarts + 1))
        until_true eval '! goes_on || held_now one'
        sleep 0.3
    done
    hold_on
    judge "$way, $restarts restarts, AOF always" 0
    kill_engine one
done

# ---- a replica takes over ----
start_pair
start_sentinels
until_true in_step first second
may_hold "$sentinel_url"
until_true held_now first
until_true held_now second
kill_engine first
sentinels_act_after 500
until_true primary_is second
sentinels_act_after $calm_ms
hold_on
judge 'a replica takes over' $slots
