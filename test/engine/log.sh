#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# log.sh WEIR: the longest sliding-log in a real engine: what a call of any cost makes the engine do is counted, module
# and functions answer alike, and a log that an older weir left is read on.
. "$(dirname "$0")/lib/engine.sh" "$@"
module_options
start_engine one "${with_module[@]}"
load_functions one
fill=$(cat "$tree/test/engine/lib/fill_log.lua")
log='100000/d algorithm=sliding-log'

fill_log() # KEY CALLS FIRST: in the last hour
{
    began=$(in_engine one EVAL "$fill" 1 "$1" "$2" 3600000000 "$3")
}

# Verdict, limit, remaining: the times are the engine's.
asked() # HOW VERB KEY WORD...
{
    local how=$1 verb=$2 key=$3
    shift 3
    what="$how: $verb $key $*"
    in_engine one CONFIG RESETSTAT >out
    if [ "$how" = module ]; then in_engine one "WEIR.${verb^^}" "$log" "$key" "$@" >out
    else in_engine one FCALL "weir_$verb" 1 "$key" "$log" "${@#COST}" >out; fi
    in_engine one INFO commandstats | tr -d '\r' | grep -vE '_(eval|fcall|info|config|weir)' |
        sed 's/.*:calls=\([0-9]*\),.*/\1/' | awk '{ sum += $1 } END { print sum + 0 }' >commands
    if [ "$(cat commands)" -gt 128 ]; then fail "it took $(cat commands) commands"; fi
}

answers_alike() # KEY CALLS FIRST VERB WORD...
{
    local key=$1 calls=$2 first=$3 verb=$4 how
    shift 4
    for how in module functions; do
        fill_log "$key" "$calls" "$first"
        local words=("${@/BEGAN+/$began+}")
        if [ "$verb" = settle ]; then words[0]=$((${words[0]%:*})):${words[0]#*:}; fi
        if [ "$how" = functions ] && [ "${words[0]}" = COST ]; then words=("${words[@]:1}"); fi
        asked $how "$verb" "$key" "${words[@]}"
        head -n 3 out >"of-$how"
    done
    same of-module of-functions
    in_engine one FCALL weir_take 1 "$key" "$log" 1 PEEK | head -n 1 >out # of what the functions left
}

for key in "$RANDOM" "$RANDOM"; do
    what='a take of all'
    in_engine one WEIR.TAKE "$log" "m$key" COST 100000 >out
    says out allow
    in_engine one FCALL weir_take 1 "f$key" "$log" 100000 >out
    says out allow
    if [ "$(in_engine one STRLEN "m$key") $(in_engine one STRLEN "f$key")" != '80 80' ]; then fail 'it is no entry'; fi
done
answers_alike full 100000 777 take COST 1
says of-module deny
answers_alike most 99999 12345 take COST 1
says of-module allow
answers_alike most 99999 12345 charge 60000
answers_alike grows 65533 32766 take COST 7
says of-module allow
answers_alike grows 65533 64000 take COST 7
says of-functions allow
answers_alike newest 100000 0 settle 'BEGAN+99999:1' 0
says out allow # what was given back
answers_alike reached 100000 99000 settle 'BEGAN+98975:1' 0
says out allow # what was given back
answers_alike beyond 100000 0 settle 'BEGAN+98974:1' 0
says out deny # more would have to be written than a call may

# ---- what an older weir left: as it was, or counted a little longer ----
answers_alike old:full 100000 0 take COST 1
says of-module deny
answers_alike old:short 64 0 take COST 1
says of-module 99935
for how in module functions; do
    fill_log old:kept 64 0
    for left in 99935 99934; do
        asked $how take old:kept
        if [ "$(sed -n 3p out)" != $left ]; then fail "expected $left: a take is written with the log"; fi
    done
    what="$how: an old log, half of it out of sight"
    in_engine one EVAL "$fill" 1 old:half 1000 86399999500 0 >out
    sleep 0.01 # more than its 1000 us
    asked $how take old:half
    if [ "$(sed -n 3p out)" != 99999 ]; then fail 'what is out of sight counts'; fi
    if [ "$(in_engine one TYPE old:half)" != string ]; then fail 'it is not written anew'; fi
done
for limit in 10/d '10/d algorithm=fixed-window'; do
    for how in module functions; do
        what="$how: an old log, now $limit"
        fill_log old:other 1000 0
        if [ $how = module ]; then in_engine one WEIR.TAKE "$limit" old:other >out
        else in_engine one FCALL weir_take 1 old:other "$limit" >out; fi
        says out allow
        if [ "$(in_engine one TYPE old:other)" != string ]; then fail 'it stays'; fi
    done
done

# ---- a damaged log: both refuse it, or both say the same ----
fill_log sound 9 3
for at in 8 9 16 24 30 32 35 36 40 43 44 48 50 52 56 58 60 64 66 72 80 86 88 91; do
    for byte in $'\x01' $'\xff'; do
        what="byte $at"
        in_engine one COPY sound spoiled REPLACE >/dev/null
        in_engine one SETRANGE spoiled "$at" "$byte" >/dev/null
        in_engine one WEIR.TAKE "$log" spoiled PEEK 2>&1 | head -n 3 >of-module
        in_engine one FCALL weir_take 1 spoiled "$log" 1 PEEK 2>&1 | head -n 3 >of-functions
        same of-module of-functions
    done
done
