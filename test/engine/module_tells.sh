#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module_tells.sh WEIR: an engine that nobody listens to, and then somebody does: whatever the module wrote, before,
# meanwhile and after, is where it ought to be.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
module_options
# A call of every kind that writes; {1..40} of them are other keys.
use() # ENGINE FIRST LAST
{
    local i
    for ((i = $2; i <= $3; i++)); do
        printf 'CL.THROTTLE a%d 9999 10 3600\nWEIR.TAKE "10/h burst=20" b%d\nWEIR.TAKE "9/h; 99/d" c%d\n' $i $i $i
        printf 'WEIR.TAKE "9/h algorithm=sliding-log" d%d\nWEIR.CHARGE "9/h" b%d 3\nCL.THROTTLE a%d 9999 10 3600\n' \
            $i $i $i
    done | in_engine "$1" >used
    if grep -q ERR used; then cp used out; fail "$1 refuses"; fi
}
alike() # WORDS ONE OTHER
{
    what=$1
    in_engine "$2" DEBUG DIGEST >expected
    in_engine "$3" DEBUG DIGEST >out
    same out expected
}
follows() # REPLICA OF
{
    until_true eval "[ \"\$(info_of $1 master_link_status)\" = up ] &&
        [ \"\$(info_of $1 slave_repl_offset)\" = \"\$(info_of $2 master_repl_offset)\" ]"
}

# ---- nobody: nothing is told, but a change counts for the next file ----
start_engine one "${with_module[@]}"
before=$(info_of one rdb_changes_since_last_save)
use one 1 5
what='changes that nobody is told'
if [ "$(info_of one rdb_changes_since_last_save)" -lt $((before + 25)) ]; then fail 'they were not counted'; fi

# ---- a replica comes while calls are written: one between its request and the snapshot, too ----
in_engine one CONFIG SET repl-diskless-sync-delay 1 >/dev/null
start_engine replica --replicaof "127.0.0.1 ${engine_port[one]}"
until_true eval '[ "$(info_of one repl_backlog_active)" = 1 ]'
for turn in {6..15}; do use one "$turn" "$turn"; done
until_true eval '[ "$(info_of one rdb_bgsave_in_progress)" = 1 ] || [ "$(info_of replica master_link_status)" = up ]'
for turn in {16..25}; do use one "$turn" "$turn"; done
follows replica one
use one 20 40
follows replica one
alike 'a replica that came meanwhile' one replica

# ---- one that had nobody becomes a replica, gets one without a snapshot, and is promoted ----
start_engine two "${with_module[@]}"
use two 1 5
in_engine two REPLICAOF 127.0.0.1 "${engine_port[one]}" >/dev/null
follows two one
in_engine replica REPLICAOF 127.0.0.1 "${engine_port[two]}" >/dev/null
follows replica two
what='a replica that has its data already'
if [ "$(info_of two sync_partial_ok)" != 1 ]; then fail "it was given $(info_of two sync_full) snapshots"; fi
in_engine two REPLICAOF NO ONE >/dev/null
use two 30 50
follows replica two
alike 'a replica of one that was promoted' two replica

# ---- an append-only file that is switched on, once beside a snapshot ----
start_engine three "${with_module[@]}"
use three 1 5
in_engine three CONFIG SET rdb-key-save-delay 20000 >/dev/null # us: the snapshot takes its time
in_engine three BGSAVE >/dev/null
until_true eval '[ "$(info_of three rdb_bgsave_in_progress)" = 1 ]'
use three 3 8
in_engine three CONFIG SET appendonly yes >/dev/null
use three 8 12
in_engine three CONFIG SET rdb-key-save-delay 0 >/dev/null
until_true eval '[ "$(info_of three aof_rewrite_scheduled)$(info_of three aof_rewrite_in_progress)" = 00 ]'
use three 10 20
in_engine three DEBUG DIGEST >expected
engine_options[three]+='--appendonly yes '
stop_engine three
restart_engine three
what='a restart from an append-only file that was switched on'
in_engine three DEBUG DIGEST >out
same out expected
what='what is in it'
if grep -qaiE 'weir\.|cl\.throttle' "$room"/three/appendonlydir/*; then fail 'our commands are in it'; fi
echo 'whoever begins to listen has what the module wrote'
