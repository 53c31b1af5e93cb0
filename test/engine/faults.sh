#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults.sh WEIR [MINUTES]: an engine that is killed, or stops answering, under a steady load, and comes back.  Every
# call is answered, by the policy of the limit; figures of time are printed, and what fails here is a hang, memory that
# grows with what is asked while away, a client that does not return, and a herd that does.  The engine is away until
# each client has had a hundred answers without it: that shows that calls go on, however busy the machine is.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 5 1
every_us=1000
deadline_ms=20
hang_us=20000000 # a thousand deadlines: no machine is so busy
memory_kb=8192  # of new memory, for keys_max keys out of very many
steady=(--deadline-ms $deadline_ms --every-us $every_us --keys 1000000 --keys-max 1000)

# The largest third word of the lines with this second one.
most_of() # WORD FILE...
{
    awk -v word="$1" '$2 == word && $3 > most { most = $3 } END { print most + 0 }' "${@:2}"
}

# From then until the last client says that the engine is back, in ms; nothing where one does not.
until_back() # NS
{
    local out
    for out in "$logs"/out.*; do
        awk -v since="$1" '$2 == "back" && $1 > since { print ($1 - since) / 1e6; exit }' "$out"
    done | sort -n | awk -v clients="$clients" '{ last = $1 } END { if (NR == clients) printf "%d\n", last + 1 }'
}

all_are_answered()
{
    [ "$(grep -l ' still_away' "$logs"/out.* | wc -l)" = "$clients" ]
}

all_are_back() # NS
{
    [ -n "$(until_back "$1")" ]
}

# kill: it forgets who asked what.  pause: connections stay, and nobody answers.
fault() # kill|pause POLICY
{
    local since commands connects peak began=$SECONDS
    start_engine one --appendonly yes
    load_functions one
    crowd "$(url_of one)" --away "$2" "${steady[@]}"
    until_true is_busy
    "$1"_engine one
    until_true all_are_away
    sleep "$seconds"
    until_true all_are_answered
    since=$(now_ns)
    case $1 in
    kill) restart_engine one ;;
    pause) resume_engine one ;;
    esac
    until_true all_are_back "$since"
    peak=$(info_of one connected_clients)
    sleep 0.5
    end_crowd
    commands=$(info_of one cmdstat_fcall | sed 's/calls=\([0-9]*\).*/\1/')
    connects=$(counted connects)
    check_fault "$1, $2" "$since" "$commands" "$connects" "$peak" $((SECONDS - began))
    kill_engine one
}

check_fault() # WHAT NS COMMANDS CONNECTS PEAK SECONDS
{
    local calls=$(($(counted granted) + $(counted denied))) back longest grown
    what=$1
    back=$(until_back "$2")
    longest=$(cat "$logs"/out.* | awk '$1 == "longest_us" && $2 > most { most = $2 } END { print most + 0 }')
    grown=$(($(counted memory_kb) - $(counted memory_before_kb)))
    printf '%-14s first answer while away %s us; longest of all %s us, %s of %s later than %s ms\n' "$1" \
        "$(most_of first "$logs"/out.*)" "$longest" "$(counted late)" $calls $deadline_ms
    printf '%-14s all back after %s ms; %s connections made, %s at once, %s commands; memory +%s KiB\n' '' \
        "$back" "$4" "$5" "$3" $((grown / clients))
    if [ "$longest" -gt $hang_us ]; then fail "a call took $longest us"; fi
    if [ $((grown / clients)) -gt $memory_kb ]; then fail "memory grew by $((grown / clients)) KiB a client"; fi
    if [ "$3" -gt $((calls + 100)) ]; then fail "$3 commands for $calls calls"; fi
    if [ "$4" -gt $((clients * 10 * ($6 + 2))) ] || [ "$5" -gt $((clients * 2 + 1)) ]; then
        fail "a herd: $4 connections made by $clients clients, $5 at once"
    fi
    if [ "$(counted away)" = 0 ]; then fail 'nobody was away'; fi
}

fault kill local
fault kill open
fault kill closed
fault pause local
fault pause closed
