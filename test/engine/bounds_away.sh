#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_away.sh WEIR [MINUTES]: what passes while no engine is there, by each of the three policies.
#   local    N' of N nodes: (N'/N) * (B + r * t) + N', of what was granted while away
#   closed   nothing       open   everything
# When it is back the limit is the engine's again.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 6 2
by_leases=(--lease-ms $lease_ms) # all the time: waves would let the shares of who is alone fill between them
start_engine one --appendonly yes --appendfsync always
load_functions one

# Killed when the burst is gone; away for as long as a case lasts, and until each client has noticed and the condition
# holds; the clients are over when all have found it again.
while_away() # CONDITION CLIENT_ARGUMENT...
{
    crowd "$(url_of one)" --deadline-ms 2000 "${@:2}" # a connection that is refused is noticed at once
    until_true is_busy
    kill_engine one
    killed_ns=$(now_ns)
    sleep $((seconds - 1))
    until_true all_are_away
    until_true "$1"
    restarted_ns=$(now_ns)
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

all_have_spent_their_share()
{
    [ "$(grep -l ' refused_alone ' "$logs"/out.* | wc -l)" = "$clients" ]
}

# For so long some may have had their shares beside the engine: from the first permit of a share until it was killed (a
# machine that is very busy makes a client take it for away before), and from its start to the last one.
overlap_ms()
{
    awk -v killed=$killed_ns -v restarted=$restarted_ns '
        $4 != "away" { next }
        first == 0 || $1 < first { first = $1 }
        $2 > last { last = $2 }
        END {
            if (first != 0 && first < killed) beside += killed - first
            if (last > restarted) beside += last - restarted
            printf "%d\n", beside / 1e6 + 1
        }' "$logs"/log.*
}

# In all: what the engine gives, and beside it a share of each node, and what has drained in the engine meanwhile.
local_share() # NODES CLIENT_ARGUMENT...
{
    local nodes=$1 share=$((burst * clients / $1)) overlap
    while_away all_have_spent_their_share --away local --nodes "$nodes" "${@:2}"
    judge_from away "away, local: $clients of $nodes nodes" $share $((permits * clients)) $((period_ns * nodes)) \
        $clients 0
    overlap=$(overlap_ms)
    judge "    in all, shares beside it for $overlap ms" $((burst + share + clients + overlap * permits)) 0
}

closed()
{
    while_away true --away closed "$@"
    judge 'away, closed' 0 0
    if [ "$(answers_from away)" != 0 ]; then fail 'something passed'; fi
}

open()
{
    while_away true --away open --every-us 1000 --patience-ms 1 "$@"
    what="away, open, leases $leases"
    if [ "$(answers_from away)" != "$(counted away)" ]; then fail 'something was refused while away'; fi
    printf '%-50s %s passed\n' "$what" "$(answers_from away)"
}

# Killed and started again and again: what shares let pass is charged to it when it is back, node by node.  So once, and
# not for each outage: the shares' burst, what it holds again before all have charged, half a second of the rate until
# the last node has found it, and a permit for each node.
again_and_again()
{
    local outages lag_ms=500
    crowd "$(url_of one)" --deadline-ms 2000 --away local --nodes "$clients" "$@"
    until_true is_busy
    for ((outages = 0; outages < 10; outages++)); do
        kill_engine one
        until_true all_are_away
        sleep 0.4
        restart_engine one
        until_true all_ask_it "$(now_ns)"
    done
    end_crowd
    judge "away and back, $outages times" $((2 * burst + lag_ms * permits + clients * outages)) 0
}

with_and_without again_and_again
with_and_without local_share 4
with_and_without local_share 8
with_and_without closed
with_and_without open
