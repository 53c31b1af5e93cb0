#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# crowd.sh WEIR [MINUTES], sourced: topology.sh, and four client processes that ask for the permits of one limit as fast
# as they get them, while the test does something to them or to the engine:
#
#   crowd URL [CLIENT_ARGUMENT...]       begins a case; each client writes a log of what it got (grants.c)
#   while case_goes_on; do ...; done     something is done to them, as long as the case lasts
#   end_crowd                            after what the test waits for, however long that takes here
#   judge EXTRA LEAST                    the worst window of all logs (window.c), printed beside the bound
#
# A case lasts a second or two, and with MINUTES, or where WEIR_SIZE=prove (test/lib/size.sh), so long that all cases of
# a script take about so many.  What is asserted holds however slow the machine is: what was granted is held to the
# bound by times between which it must have been, and whatever a case is about is waited for: that the limit has
# refused, that each client has noticed that the engine is away.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/topology.sh" "$@"
minutes=${2:-$(of_size 0 1)}
grants=$build/test/engine-grants
window=$build/test/engine-window
for program in "$grants" "$window"; do needs_built "$program" hiredis; done

# What is held to: a burst, and a permit a millisecond after that.
burst=200 permits=1 period_ns=1000000
limit="1000/s burst=$burst"
key=crowd # with the number of the case; in the engine {weir:crowd1}
clients=4
# Where all ask all the time the bucket is empty and has no leases to give; a wave begins with a full one (grants.c).
lease_ms=200 wave_ms=1000
by_leases=(--lease-ms $lease_ms --wave-ms $wave_ms)
patient=(--deadline-ms 30000) # nobody is away only because this machine is busy
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
    client_args=(--url "$1" --limit "$limit" --key "$key$round" --seconds 100000 --nodes "$clients" "${@:2}")
    client_pid=() client_life=() killed=0 case_ends=$((SECONDS + seconds))
    for ((number = 0; number < clients; number++)); do
        client_life[number]=0
        start_client $number
    done
}

# Each life of a client has a log of its own.
start_client() # NUMBER
{
    local life=$1.$((client_life[$1]++))
    "$grants" "${client_args[@]}" --log "$logs/log.$life" >"$logs/out.$life" 2>"$logs/err.$life" &
    client_pid[$1]=$!
    others+=($!)
    depends_on $! "client $1" "$logs/err.$life"
}

kill_client() # NUMBER
{
    end_process "${client_pid[$1]}"
    killed=$((killed + 1))
}

# By the time that it was given.
case_goes_on()
{
    [ $SECONDS -lt $case_ends ]
}

end_crowd()
{
    local number
    for number in "${!client_pid[@]}"; do may_end "${client_pid[number]}"; done
    kill -TERM "${client_pid[@]}"
    for number in "${!client_pid[@]}"; do
        wait_end "${client_pid[number]}" "client $number ends"
        if [ $status = 0 ]; then continue; fi
        cat "$logs"/err.* >err
        fail "client $number ended with $status"
    done
    others=()
}

# ---- what a case waits for ----

# More than the burst was granted, so that the bucket is about empty.
is_busy()
{
    [ "$(cat "$logs"/log.* | wc -l)" -gt $burst ]
}

# The engine has refused: the bucket has been emptied.
somebody_was_refused()
{
    grep -qs ' refused_by_engine ' "$logs"/out.*
}

all_are_away()
{
    [ "$(grep -l ' away ' "$logs"/out.* | wc -l)" = "$clients" ]
}

# Did they get anything from the engine after that time?
granted_since() # NS
{
    cat "$logs"/log.* | awk -v since="$1" '$4 != "away" && $1 > since { found = 1 } END { exit !found }'
}

# It is not as if the limit stood still from now on.
goes_on()
{
    wait_for 'a permit is granted by the engine' granted_since "$(now_ns)"
}

# ---- what came of it ----

# Of all clients that came to their end: commands, outage_count, redirected ...
counted() # NAME
{
    cat "$logs"/out.* | awk -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }'
}

# A case is printed with what was done to it.  EXTRA is what the bound allows beyond burst + rate * t.
judge() # WHAT EXTRA LEAST
{
    what="$1, leases $leases"
    least=$3
    if [ "$3" != 0 ] && ! somebody_was_refused; then fail 'the bucket was never empty'; fi
    if [ $leases = on ]; then
        by_lease=$((by_lease + $(answers_from lease)))
        least=$(($3 / 2)) # leases are an eighth of the bucket each, and may be out with others
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
    local lines
    lines=$(grep -h ' away ' "$logs"/out.* | wc -l)
    if [ "$lines" != 0 ]; then
        grep -h ' away ' "$logs"/out.* >err
        fail "clients took the engine for away $lines times"
    fi
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

one_of() # COUNT: 0 to COUNT - 1
{
    echo $((RANDOM % $1))
}
