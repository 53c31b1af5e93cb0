#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_away.sh WEIR [MINUTES]: what passes while no engine is there, by each of the three policies.
#   local    N' of N nodes: (N'/N) * (B + r * t) + N', of what was granted while away; beginning with max(1, B/N)
#   closed   nothing       open   everything
# When it is back the limit is the engine's again.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 6 2
by_leases=(--lease-ms $lease_ms) # all the time: waves would let the shares of who is alone fill between them
start_engine one --appendonly yes --appendfsync always
load_functions one

# Killed when the burst is gone; the clients are over when all have found it again.
while_away() # CLIENT_ARGUMENT...
{
    crowd "$(url_of one)" --deadline-ms 100 "${endless[@]}" "$@"
    until_true is_busy
    kill_engine one
    sleep $((seconds - 1))
    restart_engine one
    until_true all_ask_it "$(now_ns)"
    end_crowd
}

# Each of them got a permit from it.
all_ask_it() # NS
{
    local log
    for log in "$logs"/log.*; do
        awk -v since="$1" '$4 != "away" && $1 > since { found = 1 } END { exit !found }' "$log" || return 1
    done
}

is_busy()
{
    [ "$(cat "$logs"/log.* 2>/dev/null | wc -l)" -gt $burst ]
}

# From the first client that found the engine again to the last: for so long some have their shares beside the engine.
overlap_ms()
{
    grep -h ' back ' "$logs"/out.* | awk '
        { ms = $1 / 1e6 }
        NR == 1 { first = last = ms }
        { first = ms < first ? ms : first; last = ms > last ? ms : last }
        END { printf "%d\n", last - first + 1 }'
}

# In all: what the engine gives, and beside it a share of each node, and what has drained in the engine meanwhile.
local_share() # NODES CLIENT_ARGUMENT...
{
    local nodes=$1 share=$((burst * clients / $1))
    while_away --away local --nodes "$nodes" "${@:2}"
    judge_from away "away, local: $clients of $nodes nodes" $share $((permits * clients)) $((period_ns * nodes)) \
        $clients 90
    overlap=$(overlap_ms)
    judge "    in all, back within $overlap ms" $((burst + share + clients + overlap * permits)) 0
}

closed()
{
    while_away --away closed "$@"
    judge 'away, closed' 0 0
    if [ "$(answers_from away)" != 0 ]; then fail 'something passed'; fi
}

open()
{
    while_away --away open --every-us 1000 --patience-ms 1 "$@"
    what="away, open, leases $leases"
    if [ "$(answers_from away)" != "$(counted away)" ]; then fail 'something was refused while away'; fi
    if [ "$(answers_from away)" = 0 ]; then fail 'nobody was away'; fi
    printf '%-50s %s passed\n' "$what" "$(answers_from away)"
}

with_and_without local_share 4
with_and_without local_share 8
with_and_without closed
with_and_without open
