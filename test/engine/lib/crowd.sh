#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# crowd.sh WEIR [MINUTES], sourced: topology.sh, and four client processes that ask for the permits of one limit as fast
# as they get them, while the test does something to them or to the engine:
#
#   crowd URL [CLIENT_ARGUMENT...]       begins a case; each client writes a log of what it got (grants.c)
#   while crowded; do ...; done          something is done until they are over; or, where they are endless,
#   end_crowd                            after what the test waits for, however long that takes here
#   judge EXTRA LEAST                    the worst window of all logs (window.c), printed beside the bound
#
# A case lasts a second or two, and with MINUTES so long that all cases of a script take about so many.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/topology.sh" "$@"
minutes=${2:-0}
grants=$build/test/engine-grants
window=$build/test/engine-window
for program in "$grants" "$window"; do
    if [ ! -e "$program" ]; then echo "$program is not built: it wants hiredis"; exit 77; fi
done

# What is held to: a burst, and a permit a millisecond after that.
burst=200 permits=1 period_ns=1000000
limit="1000/s burst=$burst"
key=crowd # with the number of the case; in the engine {weir:crowd1}
clients=4
# Where all ask all the time the bucket is empty and has no leases to give; a wave begins with a full one (grants.c).
lease_ms=200 wave_ms=1000
by_leases=(--lease-ms $lease_ms --wave-ms $wave_ms)
patient=(--deadline-ms 5000) # nobody is away only because this machine is busy
endless=(--seconds 600) # until they are told
client_args=() round=0 leases=off by_lease=0

# How long each of so many cases lasts, and how long where nobody asked for minutes.
share_time() # CASES SECONDS
{
    seconds=$2
    if [ "$minutes" != 0 ]; then seconds=$((minutes * 60 / $1 + 1)); fi
}

# Without leases and with them: calls it twice, with what says so as its last arguments.
with_and_without() # FUNCTION ARGUMENT...
{
    leases=off
    "$@"
    leases=on
    "$@" "${by_leases[@]}"
    leases=off
}

crowd() # URL CLIENT_ARGUMENT...
{
    local number
    round=$((round + 1))
    logs=$room/round$round
    mkdir "$logs"
    client_args=(--url "$1" --limit "$limit" --key "$key$round" --seconds "$seconds" --nodes "$clients" "${@:2}")
    client_pid=() client_life=() killed=0
    for ((number = 0; number < clients; number++)); do
        client_life[number]=0
        start_client $number
    done
}

# Each life of a client has a log of its own.
start_client() # NUMBER [CLIENT_ARGUMENT...]
{
    local life=$1.$((client_life[$1]++))
    "$grants" "${client_args[@]}" "${@:2}" --log "$logs/log.$life" >"$logs/out.$life" 2>"$logs/err.$life" &
    client_pid[$1]=$!
    others+=($!)
}

kill_client() # NUMBER
{
    end_process "${client_pid[$1]}"
    killed=$((killed + 1))
}

# Is one of them still at it?
crowded()
{
    local process
    for process in "${client_pid[@]}"; do
        if kill -0 "$process" 2>/dev/null; then return 0; fi
    done
    return 1
}

end_crowd()
{
    kill -TERM "${client_pid[@]}" 2>/dev/null
    crowd_is_over
}

crowd_is_over()
{
    local number
    for number in "${!client_pid[@]}"; do
        wait "${client_pid[number]}"
        status=$?
        if [ $status != 0 ]; then
            cat "$logs"/err.* >err
            fail "a client ended with $status"
        fi
    done
    others=()
}

# Of all clients that came to their end: commands, aways, redirected ...
counted() # NAME
{
    cat "$logs"/out.* | awk -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }'
}

# A case is printed with what was done to it.  EXTRA is what the bound allows beyond burst + rate * t.
judge() # WHAT EXTRA LEAST
{
    what="$1, leases $leases"
    least=$3
    if [ $leases = on ]; then
        by_lease=$((by_lease + $(answers_from lease)))
        least=$(($3 / 2)) # a wave is one try, and what is out with somebody who is late misses in it
    fi
    "$window" $burst $permits $period_ns "$2" "$least" "$logs"/log.* >out 2>err
    status=$?
    printf '%-50s %s\n' "$what" "$(cat out)"
    ends 0
}

# The same of those answers only that came from engine, lease or away.
judge_from() # FROM WHAT BURST PERMITS PERIOD_NS EXTRA LEAST
{
    cat "$logs"/log.* | awk -v from="$1" '$4 == from' >"$logs/from"
    what="$2, leases $leases"
    "$window" "$3" "$4" "$5" "$6" "$7" "$logs/from" >out 2>err
    status=$?
    printf '%-50s %s\n' "$what" "$(cat out)"
    ends 0
}

# The engine was there all the time.
nobody_was_away()
{
    local aways
    aways=$(grep -h ' away ' "$logs"/out.* | wc -l)
    if [ "$aways" != 0 ]; then
        grep -h ' away ' "$logs"/out.* >err
        fail "clients took the engine for away $aways times"
    fi
}

# A limit that is busy all the time lets more than half of its rate pass.
it_went_on()
{
    local granted
    granted=$(cat "$logs"/log.* | wc -l)
    if [ "$granted" -lt $((seconds * 500)) ]; then fail "only $granted were granted in $seconds s"; fi
}

# At the end of a script: were those cases what they are called?
leases_were_used()
{
    if [ $by_lease = 0 ]; then fail 'no permit was spent from a lease'; fi
    echo "$by_lease permits were spent from leases"
}

# So many grants came from there.
answers_from() # FROM
{
    cat "$logs"/log.* | awk -v from="$1" '$4 == from' | wc -l
}

# In ns, by the clock of the logs.
now_ns()
{
    awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime
}

# Did they get anything from the engine after that time?
granted_since() # NS
{
    cat "$logs"/log.* | awk -v since="$1" '$4 != "away" && $1 > since { found = 1 } END { exit !found }'
}

one_of() # COUNT: 0 to COUNT - 1
{
    echo $((RANDOM % $1))
}
