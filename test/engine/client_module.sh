#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# client_module.sh WEIR: libweir-redis against engines that have the module: every verb, lists, logs, the module in a
# Cluster, and a user who may not use it.
. "$(dirname "$0")/lib/ask.sh" "$@"
module_options

limit_is() # TEXT
{
    order limit "$1"
    says out 'limit: ok'
}

used_of() # NAME COMMAND: how often that was called there
{
    info_of "$1" "cmdstat_$2" | sed 's/calls=\([0-9]*\).*/\1/'
}

verbs()
{
    limit_is '1/h burst=5'
    order take tenant 1 7
    printf 'allow remaining %d from engine\n' 4 3 2 1 0 >expected
    printf 'deny remaining 0 from engine\n%.0s' 1 2 >>expected
    same out expected
    order peek other 5
    says out 'allow remaining 0 from engine'
    order peek other 6
    says out 'never remaining'
    order take other 4
    order settle 1
    says out 'settled yes'
    order peek other 4
    says out 'allow remaining 0 from engine'
    order charge other 4
    order take other
    says out 'deny'
    order forget other
    says out 'allow'
    order take other 5
    says out 'allow remaining 0 from engine'
    order settle 7 # more than it was taken for
    says out 'settled yes'
    order batch crowd 1000
    says out 'engine 1000 away 0 allowed 1000'
}

lists()
{
    limit_is '1/h burst=3; 2/h burst=2'
    order take list 1 3
    { printf 'allow remaining %d from engine\n' 1 0 && echo 'deny remaining 0 from engine'; } >expected
    same out expected
    order forget list
    order take list
    says out 'allow remaining 1 from engine'
    order settle 0
    says out 'settled yes'
    order take list
    says out 'allow remaining 1 from engine'
    limit_is '3/h algorithm=sliding-log; 2/year algorithm=fixed-window'
    order take logs 1 3
    same out expected
    order forget logs
    order take logs 2
    says out 'allow remaining 0 from engine'
    order settle 1
    says out 'settled yes'
    order take logs
    says out 'allow remaining 0 from engine'
    for text in '5/min algorithm=hybrid' '5/min algorithm=leaky burst=5' '5/min algorithm=sliding-window' \
        '5/min algorithm=fixed-window' '5/min algorithm=sliding-log'; do
        limit_is "$text"
        order take "each${#text}"
        says out 'allow remaining'
        says out 'from engine'
        order settle 0
        says out 'settled yes'
        order forget "each${#text}"
        says out 'allow'
    done
}

start_engine one "${with_module[@]}"
open_ask "$(url_of one)"
verbs
lists
for command in weir.take weir.charge weir.settle weir.forget; do
    if [ "$(used_of one $command)" -lt 1 ]; then fail "$command was not used"; fi
done
if [ -n "$(used_of one fcall)$(used_of one evalsha)" ]; then fail 'functions or scripts were used'; fi
in_engine one --scan >keys
grep -qxF '{weir:logs}:0' keys || fail 'a log in a list has no key of its own'
order check
says out 'decided by the module weir-redis'
says out 'done 0'
order install
says out 'it needs no functions'

what='a user who may not use the module'
in_engine one ACL SETUSER limited reset on '>pass' '~{weir:*' +@all -weir.take >out
open_ask "$(url_of one)" user=limited password=pass
limit_is '1/h burst=5'
order take aside
says out 'allow remaining 4 from engine'
order check
says out 'the ACL rule +weir.take allows it'
says out 'decided by functions'
says out 'done 0'

cluster_options=("${with_module[@]}")
start_cluster
open_ask "$cluster_url"
verbs
lists
order check
for name in "${nodes[@]}"; do says out "127.0.0.1:${engine_port[$name]}: decided by the module"; done
says out 'done 0'
what='a slot that moves'
limit_is '1/h burst=5'
slot=$(slot_of '{weir:mover}') from=$(owner_of "$(slot_of '{weir:mover}')") to=node1
if [ "$from" = node1 ]; then to=node2; fi
order take mover
open_slot "$slot" "$from" "$to"
order take mover
says out 'remaining 3 from engine'
move_keys "$slot" "$from" "$to"
order take mover
says out 'remaining 2 from engine'
close_slot "$slot" "$to"
order take mover
says out 'remaining 1 from engine'
close_ask
echo 'client_module: all as expected'
