#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ask.sh WEIR, sourced: topology.sh, and a program that asks as a user's would (ask.c), one at a time:
#
#   open_ask URL [OPTION...]      begins; it waits for an engine as long as a busy machine needs, or as OPTION says
#   order WORD...                 an order to it: what it says is in the file out
#   close_ask
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/topology.sh" "$@"
ask=$build/test/engine-ask
needs_built "$ask" hiredis
patient='deadline=30000'
marks=0 ask_pid=

open_ask() # URL [OPTION...]
{
    close_ask
    rm -f orders said
    mkfifo orders said
    "$ask" "$1" "$patient" "${@:2}" <orders >said 2>err &
    ask_pid=$!
    others+=("$ask_pid")
    depends_on "$ask_pid" 'the client' "$PWD/err"
    exec 7>orders 8<said
}

order() # WORD...
{
    local line
    what="$*"
    marks=$((marks + 1))
    printf '%s\nmark %d\n' "$*" $marks >&7
    : >out
    while true; do
        if ! IFS= read -r -t "$wait_s" line <&8; then fail 'the client does not answer'; fi
        if [ "$line" = "-- $marks" ]; then break; fi
        echo "$line" >>out
    done
}

close_ask()
{
    if [ -z "$ask_pid" ]; then return; fi
    may_end "$ask_pid"
    echo end >&7 # engines that were started meanwhile have the pipe as well
    exec 7>&- 8<&-
    wait_end "$ask_pid" 'the client ends'
    ask_pid=
}

# "commands 12": the number
stat_of() # NAME
{
    order stats
    sed -n "s/^$1 //p" out
}

counts() # NAME RELATION NUMBER, as -le 3
{
    local number
    number=$(stat_of "$1")
    if ! [ "$number" "$2" "$3" ]; then fail "$1 is $number, not $2 $3"; fi
}

# The engine answers questions.  Each try is a call, and calls are what probes.
answers() # [KEY]
{
    order count "${1:-somebody}" 1
    grep -q '^engine 1 ' out
}

is_away()
{
    ! answers
}
