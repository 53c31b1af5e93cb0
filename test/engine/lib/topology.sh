#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# topology.sh WEIR, sourced: engine.sh, and engines that belong together:
#
#   start_pair          first -> second               $second is the replica of $first
#   start_sentinels     sentinel1..3 watch first      $sentinel_url; who is primary: primary_now
#   sentinels_act_after, fail_over_after MS   a primary that is silent for so long is taken for dead: nobody takes over
#                       only because this machine is busy, so this is short only while a test has ended one
#   start_cluster [r]   node1..3 (..6 with a replica each)   $cluster_url; slots are moved by move_slot
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/engine.sh" "$@"

calm_ms=60000

# ---- a primary and its replica ----

start_pair() # [OPTION...]
{
    start_engine first "$@"
    start_engine second --replicaof 127.0.0.1 "${engine_port[first]}" "$@"
    until_true follows second
}

follows() # NAME
{
    [ "$(info_of "$1" master_link_status)" = up ]
}

# All that the primary wrote is in its replica.
in_step() # PRIMARY REPLICA
{
    [ "$(info_of "$1" master_repl_offset)" = "$(info_of "$2" slave_repl_offset)" ]
}

promote() # NAME
{
    in_engine "$1" REPLICAOF NO ONE >out 2>err || fail "$1 is not promoted"
}

# ---- Sentinel: three of them watch first and second under the name weir ----

start_sentinels()
{
    local name ports=()
    for name in sentinel1 sentinel2 sentinel3; do
        mkdir -p "$room/$name"
        sentinel_file >"$room/$name/sentinel.conf"
        start_sentinel $name
        ports+=("127.0.0.1:${engine_port[$name]}")
    done
    sentinel_url="redis+sentinel://$(joined "${ports[@]}")/weir"
    for name in sentinel1 sentinel2 sentinel3; do until_true sentinel_knows_all $name; done
}

# A failover that does not succeed is tried again after twice the timeout.
sentinel_file()
{
    echo "sentinel monitor weir 127.0.0.1 ${engine_port[first]} 2"
    echo "sentinel down-after-milliseconds weir $calm_ms"
    echo 'sentinel failover-timeout weir 2000'
}

# redis-server is redis-sentinel under another name; its file comes first and is written by it.
start_sentinel() # NAME
{
    local name=$1
    engine_port[$name]=$(free_port)
    redis-server "$room/$name/sentinel.conf" --sentinel --port "${engine_port[$name]}" --bind 127.0.0.1 \
        --unixsocket "$room/$name/socket" --dir "$room/$name" --logfile "$room/$name/log" >"$room/$name/out" 2>&1 &
    engine_pid[$name]=$!
    if ! engine_starts "$name"; then
        cp "$room/$name/log" err
        fail "$name does not start"
    fi
}

sentinels_act_after() # MS
{
    local name
    for name in sentinel1 sentinel2 sentinel3; do
        in_engine $name SENTINEL SET weir down-after-milliseconds "$1" >out 2>err || fail "$name does not wait $1 ms"
    done
}

sentinel_knows_all() # NAME
{
    local found
    found=$(in_engine "$1" SENTINEL MASTER weir | paste - - | grep -cE '^(num-slaves	1|num-other-sentinels	2)$')
    [ "$found" = 2 ]
}

# The port that Sentinel gives.
primary_now()
{
    in_engine sentinel1 SENTINEL GET-MASTER-ADDR-BY-NAME weir | sed -n 2p
}

primary_is() # NAME: by Sentinel, and it takes writes
{
    [ "$(primary_now)" = "${engine_port[$1]}" ] && [ "$(info_of "$1" role)" = master ]
}

joined() # WORD...: with commas
{
    local IFS=,
    echo "$*"
}

# ---- Cluster ----

# Options for every node are in $cluster_options.
cluster_options=()
start_cluster() # [REPLICAS_OF_EACH]
{
    local replicas=${1:-0} number addresses=()
    nodes=()
    for ((number = 1; number <= 3 * (1 + replicas); number++)); do nodes+=("node$number"); done
    for name in "${nodes[@]}"; do
        start_engine "$name" --cluster-enabled yes --cluster-node-timeout $calm_ms \
            --cluster-require-full-coverage no "${cluster_options[@]}"
        addresses+=("127.0.0.1:${engine_port[$name]}")
    done
    redis-cli --cluster create "${addresses[@]}" --cluster-replicas "$replicas" --cluster-yes >out 2>err ||
        fail 'the Cluster is not made'
    until_true cluster_agrees
    cluster_url="redis+cluster://$(joined "${addresses[@]:0:3}")"
}

# Of those nodes that live.
fail_over_after() # MS
{
    local name
    for name in "${nodes[@]}"; do
        if has_ended "${engine_pid[$name]}"; then continue; fi
        in_engine "$name" CONFIG SET cluster-node-timeout "$1" >out 2>err || fail "$name does not wait $1 ms"
    done
}

# Every node has all slots, all nodes, and follows whom it should.
cluster_agrees()
{
    local name
    for name in "${nodes[@]}"; do
        node_agrees "$name" || return 1
    done
}

node_agrees() # NAME
{
    local known
    known=$(in_engine "$1" CLUSTER INFO | tr -d '\r' | grep -cE "^(cluster_state:ok|cluster_slots_ok:16384|\
cluster_known_nodes:${#nodes[@]}|cluster_size:3)$")
    if [ "$known" != 4 ]; then return 1; fi
    [ "$(info_of "$1" role)" = master ] || follows "$1"
}

slot_of() # KEY
{
    in_engine node1 CLUSTER KEYSLOT "$1"
}

id_of() # NAME
{
    in_engine "$1" CLUSTER MYID
}

# Of the live nodes, as the first of them sees it.
owner_of() # SLOT
{
    local port name
    port=$(in_engine "${nodes[0]}" CLUSTER NODES | awk -v slot="$1" '
        $3 !~ /fail/ {
            for (i = 9; i <= NF; i++) {
                if ($i ~ /^\[/) continue
                split($i, ends, "-")
                if (slot >= ends[1] + 0 && slot <= (ends[2] == "" ? ends[1] : ends[2]) + 0) {
                    sub(/@.*/, "", $2)
                    sub(/.*:/, "", $2)
                    print $2
                }
            }
        }')
    for name in "${nodes[@]}"; do
        if [ "${engine_port[$name]}" = "$port" ]; then echo "$name"; fi
    done
}

replica_of() # NAME
{
    local id name
    id=$(id_of "$1")
    for name in "${nodes[@]}"; do
        if in_engine "$name" CLUSTER NODES | grep -q "myself,slave $id "; then echo "$name"; fi
    done
}

# By hand and in steps, so that a test can look at the middle: while a slot is open its old owner answers for the keys
# that it still has, and ASK for all others.
open_slot() # SLOT FROM TO
{
    in_engine "$3" CLUSTER SETSLOT "$1" IMPORTING "$(id_of "$2")" >out || fail "$3 does not import slot $1"
    in_engine "$2" CLUSTER SETSLOT "$1" MIGRATING "$(id_of "$3")" >out || fail "$2 does not migrate slot $1"
}

# A key that is made meanwhile is made at TO.
move_keys() # SLOT FROM TO
{
    local keys
    while true; do
        mapfile -t keys < <(in_engine "$2" CLUSTER GETKEYSINSLOT "$1" 100)
        if [ -z "${keys[0]:-}" ]; then return; fi
        in_engine "$2" MIGRATE 127.0.0.1 "${engine_port[$3]}" '' 0 5000 KEYS "${keys[@]}" >out 2>err
        grep -qE '^(OK|NOKEY)' out || fail "MIGRATE from $2 to $3"
    done
}

close_slot() # SLOT TO
{
    local name id
    id=$(id_of "$2")
    in_engine "$2" CLUSTER SETSLOT "$1" NODE "$id" >out || fail "$2 does not take slot $1"
    for name in "${nodes[@]}"; do
        if [ "$(info_of "$name" role)" = master ]; then in_engine "$name" CLUSTER SETSLOT "$1" NODE "$id" >out; fi
    done
}

# The command, where there is one, is run while all keys are at TO and the slot is not.
move_slot() # SLOT TO [COMMAND...]
{
    local from
    from=$(owner_of "$1")
    if [ -z "$from" ] || [ "$from" = "$2" ]; then fail "slot $1 is at '$from' and cannot move to $2"; fi
    open_slot "$1" "$from" "$2"
    move_keys "$1" "$from" "$2"
    "${@:3}"
    close_slot "$1" "$2"
}
