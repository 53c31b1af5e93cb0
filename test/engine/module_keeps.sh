#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module_keeps.sh WEIR: what the module leaves behind: on replicas and in files that know nothing of it, after a
# restart, in memory that is full, in a Cluster, and for how long.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
module_options test-clock yes

# ---- a replica without the module has the same bytes, and drops them at the same time ----
start_engine one "${with_module[@]}" --appendonly yes --appendfsync always
start_engine replica --replicaof "127.0.0.1 ${engine_port[one]}"
has_caught_up()
{
    [ "$(info_of replica master_link_status)" = up ] &&
        [ "$(info_of replica slave_repl_offset)" = "$(info_of one master_repl_offset)" ]
}
until_true has_caught_up
use_all() # writes at every key
{
    to one WEIR.TAKE '10/s burst=20' a COST 3
    to one WEIR.TAKE '10/s burst=20; 100/h' b COST 2 5
    to one WEIR.TAKE '10/s burst=20; 5/s algorithm=sliding-log' '{c}1' AND '{c}2' COST 2 3
    to one WEIR.TAKE '5/s algorithm=sliding-log' d COST 5
    to one CL.THROTTLE e 15 30 60
    to one WEIR.CHARGE '10/s burst=20' f 30
    to one WEIR.LEASE '1000/s burst=800' g 10 1000000
    to one WEIR.TAKE '3/min algorithm=fixed-window count-refused' h COST 2
}
dump() # NAME: every key with its type, bytes and expiry
{
    in_engine "$1" eval 'local keys, lines = redis.call("KEYS", "*"), {}
        table.sort(keys)
        for _, key in ipairs(keys) do
            lines[#lines + 1] = key .. " " .. redis.sha1hex(redis.call("DUMP", key)) .. " " ..
                redis.call("PEXPIRETIME", key)
        end
        return lines' 0
}
alike() # WORDS NAME
{
    what=$1
    dump one >expected
    dump "$2" >out
    same out expected
}
at 0
use_all >/dev/null
at 250000
use_all >/dev/null
for turn in {1..24}; do # a ring that grows while it turns, and something given back in it
    at $((250000 + turn * turn * (turn < 9 ? 5000 : 1000)))
    to one WEIR.TAKE '20/s algorithm=sliding-log' i >/dev/null
done
to one WEIR.SETTLE '20/s algorithm=sliding-log' i "$((began + 250000 + 22 * 22 * 1000)):1" 0 >/dev/null
at 250000
until_true has_caught_up
what='all keys are there'
if [ "$(dump one | wc -l)" != 10 ]; then dump one >out; fail 'expected 10 keys'; fi
alike 'the replica' replica
until_true has_caught_up

# ---- the result goes there, not the command; refusals that are not counted, and looks, send nothing ----
# The offset moves by pings as well, so it is the keys' own counter that is looked at.
changes()
{
    info_of one rdb_changes_since_last_save
}
before=$(changes)
to one WEIR.TAKE '10/s burst=20' f >out
what='a refusal'
says out deny
to one WEIR.TAKE '10/s burst=20' a COST 19 >out
says out deny
to one WEIR.TAKE '10/s burst=20' a COST 99 >out
says out never
to one WEIR.TAKE '10/s burst=20' a PEEK >out
to one CL.THROTTLE e 15 30 60 99 >out
to one WEIR.TAKE '5/s algorithm=sliding-log' d >out
says out deny
if [ "$(changes)" != "$before" ]; then fail "$(($(changes) - before)) changes were told to replicas"; fi
to one WEIR.TAKE '3/min algorithm=fixed-window count-refused' h COST 3 >out
says out deny
if [ "$(changes)" = "$before" ]; then fail 'a refusal that is counted was not told'; fi
what='what is in the append-only file'
if grep -qaiE 'weir\.|cl\.throttle' "$room"/one/appendonlydir/*.incr.aof; then fail 'our commands are in it'; fi
if ! grep -qa PXAT "$room"/one/appendonlydir/*.incr.aof; then fail 'no expiry is in it'; fi

# ---- forgotten there as well ----
to one WEIR.FORGET '10/s burst=20' f >/dev/null
until_true has_caught_up
alike 'the replica, after WEIR.FORGET' replica

# ---- a replica with the module refuses to write ----
start_engine second "${with_module[@]}" --replicaof "127.0.0.1 ${engine_port[one]}"
until_true eval '[ "$(info_of second master_link_status)" = up ]'
what='a take on a replica'
to second WEIR.TAKE 10/s a >out 2>err
says out READONLY
alike 'a replica with the module' second

# ---- the same after a reload, and after a restart from the append-only file ----
dump one >was
what='DEBUG RELOAD'
in_engine one DEBUG RELOAD >out 2>err
says out OK
dump one >out
same out was
asks 'allow 0 16 0 0 350000000 (nil) 0' WEIR.TAKE '10/s burst=20' a PEEK COST 0
kill_engine one
restart_engine one
what='a restart'
dump one >out
same out was
at 250000
asks 'allow 0 16 0 0 350000000 (nil) 0' WEIR.TAKE '10/s burst=20' a PEEK COST 0
at 350000
asks "allow 0 16 0 0 350000000 $((began + 350000)):1 0" WEIR.TAKE '10/s burst=20' a
kill_engine one
what='a restart without the module'
cp -r "$room/one/appendonlydir" "$room/aof"
mkdir -p "$room/plain"
start_engine plain
kill_engine plain
cp -r "$room/aof" "$room/plain/appendonlydir"
engine_options[plain]='--appendonly yes '
restart_engine plain
restart_engine one
alike 'an engine without the module, from its append-only file' plain

# ---- for how long: by the engine's own clock, not before all is back ----
at_own_clock()
{
    what='the clock of the engine'
    to one WEIR.CLOCK 0 >out 2>err
    says out OK
}
at_own_clock
for limit in '10/h burst=20' '7/min' '1/333333333ns burst=5' '3/min algorithm=fixed-window' \
    '3/min algorithm=sliding-window' '5/min algorithm=leaky burst=5' '5/min algorithm=hybrid'; do
    what="the life of a key of $limit"
    in_engine one eval 'local taken = redis.call("WEIR.TAKE", ARGV[1], KEYS[1])
        return {taken[6], taken[7], redis.call("PEXPIRETIME", KEYS[1])}' 1 "life of $limit" "$limit" >out 2>err
    full_ns=$(sed -n 1p out) taken_us=$(sed -n 2p out | cut -d : -f 1) until_ms=$(sed -n 3p out)
    if [ $((until_ms * 1000)) -lt $((taken_us + full_ns / 1000)) ]; then fail "it ends at $until_ms ms"; fi
    now_us=$(in_engine one TIME | tr '\n' ' ' | awk '{ printf "%.0f", $1 * 1000000 + $2 }')
    if [ "$taken_us" -gt "$now_us" ]; then fail "it was taken at $taken_us, and now it is $now_us"; fi
done
what='a key that has expired'
to one WEIR.TAKE '1000/s burst=1' brief >/dev/null
until_true eval '[ "$(to one EXISTS brief)" = 0 ]'

# ---- memory that is full ----
what='memory that is full'
in_engine one CONFIG SET maxmemory 1 >/dev/null
refuses 'OOM command not allowed' WEIR.TAKE 10/s new
refuses 'OOM command not allowed' CL.THROTTLE new 15 30 60
in_engine one CONFIG SET maxmemory-policy allkeys-lru >/dev/null
in_engine one CONFIG SET maxmemory 0 >/dev/null

# ---- nothing is left in memory: the same keys again and again; what leaks 16 bytes does so in every round ----
what='memory'
mixed='10/s burst=20; 5/s algorithm=sliding-log'
used=("$(info_of one used_memory_dataset)")
for _ in {1..5}; do
    printf "WEIR.TAKE \"$mixed\" {m}1 AND {m}2\nWEIR.TAKE 10/x m\nCL.THROTTLE mm 1 1 1\nWEIR.CHARGE 10/s m 1\n%.0s" \
        {1..3000} |
        in_engine one >/dev/null
    used+=("$(info_of one used_memory_dataset)")
    if [ $((used[-1] - used[-2])) -lt 48000 ]; then break; fi
done
if [ $((used[-1] - used[-2])) -ge 48000 ]; then fail "the engine grew round by round: ${used[*]} bytes"; fi

# ---- a Cluster: keys of one slot ----
start_engine cluster "${with_module[@]}" --cluster-enabled yes --cluster-node-timeout 5000
what='a cluster'
in_engine cluster CLUSTER ADDSLOTSRANGE 0 16383 >out 2>err
until_true eval 'in_engine cluster CLUSTER INFO | grep -q cluster_state:ok'
in_engine cluster WEIR.TAKE '1/s; 5/s' '{x}1' AND '{x}2' >out 2>err
says out allow
in_engine cluster WEIR.TAKE '1/s; 5/s' x AND y >out 2>err
says out CROSSSLOT
what='a slot that nobody has'
in_engine cluster CONFIG SET cluster-require-full-coverage no >/dev/null
in_engine cluster CLUSTER DELSLOTS "$(in_engine cluster CLUSTER KEYSLOT z)" >/dev/null
in_engine cluster CL.THROTTLE z 15 30 60 >out 2>err
says out CLUSTERDOWN
echo 'replicas, files and clusters keep what the module has written'
