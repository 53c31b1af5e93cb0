#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bounds_restart.sh WEIR [MINUTES]: an engine that is killed under load and comes back, with clients that let nothing
# pass meanwhile.  With each write on disk before it is answered nothing is forgotten: burst + rate * t.  Where the end
# of its file, all since its last snapshot or all is gone, a bucket is at most as full of permits as a new one: once
# more burst for each restart.
. "$(dirname "$0")/lib/crowd.sh" "$@"
share_time 8 2
closed=(--away closed --deadline-ms 100)

restarts() # HOW EXTRA_OF_EACH RESTART ENGINE_OPTIONS CLIENT_ARGUMENT...
{
    local restart=$3 count=0 options
    read -ra options <<<"$4"
    start_engine one "${options[@]}"
    load_functions one
    crowd "$(url_of one)" "${closed[@]}" "${@:5}"
    goes_on
    while case_goes_on || [ $count = 0 ]; do
        sleep 0.5
        kill_engine one
        "$restart" one
        if [ "$restart" = restart_empty ]; then load_functions one; fi
        count=$((count + 1))
        goes_on
    done
    end_crowd
    judge "$1: $count restarts" $((count * $2)) 0
    if [ "$(answers_from away)" != 0 ]; then fail 'something passed while the engine was away'; fi
    kill_engine one
}

with_and_without restarts 'AOF, always' 0 restart_engine '--appendonly yes --appendfsync always'
with_and_without restarts 'AOF, every second' $burst restart_engine '--appendonly yes --appendfsync everysec'
with_and_without restarts 'RDB' $burst restart_engine '--save 1 1'
with_and_without restarts 'empty' $burst restart_empty '--appendonly no'
leases_were_used
