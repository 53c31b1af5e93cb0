#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# client_many.sh WEIR: libweir-redis with Sentinel and Cluster: who has the keys is found, and found again.
. "$(dirname "$0")/lib/ask.sh" "$@"

limit_is() # TEXT
{
    order limit "$1"
    says out 'limit: ok'
}

# ---- Sentinel ----
start_pair
start_sentinels
open_ask "$sentinel_url"
limit_is '1/h burst=5'
order take tenant 1 2
printf 'allow remaining %d from engine\n' 4 3 >expected
same out expected
order check
says out "127.0.0.1:${engine_port[first]}: Redis"
what='a failover'
until_true in_step first second
open_ask "$sentinel_url" deadline=100
limit_is '1/h burst=5'
until_true answers
kill_engine first
until_true is_away
sentinels_act_after 500
until_true answers
until_true primary_is second
sentinels_act_after $calm_ms
order take tenant
says out 'remaining 2 from engine'
what='a sentinel that is gone'
kill_engine sentinel1
open_ask "$sentinel_url"
limit_is '1/h burst=5'
order take tenant
says out 'remaining 1 from engine'
open_ask "${sentinel_url%/weir}/other"
limit_is '1/h burst=5'
order take tenant
says out 'monitors no primary of that name'
says out 'from away'
order check
says out 'done -3'
for name in first second sentinel2 sentinel3; do kill_engine $name; done

# ---- Cluster ----
start_cluster 1
open_ask "$cluster_url"
limit_is '1/h burst=5'
order batch user 1000
says out 'engine 1000 away 0 allowed 1000'
counts redirected -eq 0
counts connects -le 4
order install
for name in node1 node2 node3; do says out "127.0.0.1:${engine_port[$name]}: functions"; done
says out 'done 0'
limit_is '3/h algorithm=sliding-log; 2/year algorithm=fixed-window'
order take logs 1 3
printf 'allow remaining %d from engine\n' 1 0 >expected
echo 'deny remaining 0 from engine' >>expected
same out expected
limit_is '1/h burst=5'

what='a slot that moves'
key='{weir:user7}'
slot=$(slot_of "$key")
from=$(owner_of "$slot")
to=node1
if [ "$from" = node1 ]; then to=node2; fi
order take user7
says out 'remaining 3 from engine'
open_slot "$slot" "$from" "$to"
order take user7
says out 'remaining 2 from engine'
move_keys "$slot" "$from" "$to"
order take user7
says out 'remaining 1 from engine'
counts redirected -ge 1
close_slot "$slot" "$to"
order take user7
says out 'remaining 0 from engine'
order take user7
says out 'deny remaining 0 from engine'

what='two of three are gone'
open_ask "$cluster_url" deadline=300
limit_is '1/h burst=5'
order batch user 200
said_by() # WORDS NAME...
{
    local name
    order batch user 200
    cat out >>heard
    for name in "${@:2}"; do
        grep -q "127.0.0.1:${engine_port[$name]}: $1" heard || return 1
    done
}
: >heard
pause_engine node1
pause_engine node2
until_true said_by 'no answer within' node1 node2
resume_engine node1
resume_engine node2
until_true cluster_agrees
until_true said_by 'answers again' node1 node2

what='a primary of three is gone'
replica=$(replica_of node3)
open_ask "$cluster_url" deadline=100
limit_is '1/h burst=5'
order batch user 200
kill_engine node3
nodes=(node1 node2 "$replica")
fail_over_after 1000
all_answer()
{
    order batch user 200
    grep -q '^engine 200 ' out
}
until_true all_answer
fail_over_after $calm_ms
close_ask

what='a URL of one server that is part of a cluster'
open_ask "$(url_of node1)"
limit_is '1/h burst=5'
order batch user 100
says out 'expected redis+cluster://'
close_ask
echo 'client_many: all as expected'
