#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# concurrent.sh WEIR: slots in a real engine: the module and weir.lua by turns at the same keys hold what the core
# holds, step by step; and what no random step does: a key that was another limit's, foreign values, refusals, a
# replica.
. "$(dirname "$0")/lib/engine.sh" "$@"
. "$tree/test/engine/lib/module.sh"
module_options test-clock yes
needs_built "$build/test/engine-concurrent" hiredis
start_engine one "${with_module[@]}"
start_engine replica --replicaof "127.0.0.1 ${engine_port[one]}"
sed "s/^\(local function engine_time()\).*/\1 return tonumber(call('GET', 'weir:test:now')) end/" \
    "$functions" >variant.lua
to one -x FUNCTION LOAD REPLACE <variant.lua >out || fail 'the functions do not load'
until_true eval '[ "$(info_of replica master_link_status)" = up ]'

# ---- random steps ----
seed_of 7
steps=${WEIR_STEPS:-$(of_size 10000 200000)}
run 'the module, weir.lua and the core' "$build/test/engine-concurrent" "$room/one/socket" "$steps" "$seed"
ends 0
cat out

# ---- the vectors ----
what='vectors'
if command -v python3 >/dev/null; then
    run vectors python3 "$tree/test/engine/vectors.py" "$room/one/socket" "$tree/test/vectors/slots/concurrent.json"
    ends 0
    cat out
else
    skip_part vectors 'python3 is not here' 'tools/deps test'
fi

both_at() # MICROSECONDS since it began
{
    at "$1"
    to one SET weir:test:now $((began + $1)) >/dev/null
}

members() # KEY: how many, without the clock's
{
    echo $(($(to one ZCARD "$1") - 1))
}

id_at() # KEY PLACE
{
    to one ZRANGE "$1" "$2" "$2"
}

both_at 0
two='2 concurrent lease=30s'
list="$two; 10/s"

# ---- what a take answers, and that a refusal writes nothing ----
answer WEIR.TAKE "$two" k
id=$(id_at k 1)
what='the answer of a take'
if [ "$(cat out)" != "allow 0 1 0 0 30000000000 $id:1 0 $id" ]; then fail 'it is another one'; fi
if [[ "$id" != ${began}??? ]]; then fail "the id $id does not begin with its time"; fi
answer FCALL weir_take 1 k "$two" 1
what='the answer of weir_take'
other=$(to one ZRANGE k 1 2 | grep -v "^$id$")
if [ "$(cat out)" != "allow 0 0 0 0 30000000 $began 0 $other" ]; then fail 'it is another one'; fi
before=$(info_of one rdb_changes_since_last_save)
asks 'deny 0 0 0 30000000000 30000000000 (nil) 0 (nil)' WEIR.TAKE "$two" k
asks 'never 0 0 0 0 30000000000 (nil) 0 (nil)' WEIR.TAKE "$two" k COST 3
asks "deny 0 0 0 30000000 30000000 $began 0 (nil)" FCALL weir_take 1 k "$two" 2
asks 0 WEIR.RELEASE "$two" k 12
asks 0 FCALL weir_renew 1 k "$two" 12
what='writes of what was refused'
if [ "$(info_of one rdb_changes_since_last_save)" != "$before" ]; then fail 'there are some'; fi

# ---- renewed by one, released by the other ----
both_at 20000000
asks 1 WEIR.RENEW "$two" k "$id"
asks 1 FCALL weir_release 1 k "$two" "$other"
asks 0 WEIR.RELEASE "$two" k "$other"
asks $(((began + 50000000) / 1000)) PEXPIRETIME k
both_at 49999999
asks 'allow 0 0 0 0 1000 (nil) 0 (nil)' WEIR.TAKE "$two" k PEEK
asks 1 FCALL weir_release 1 k "$two" "$id"
asks 0 EXISTS k

# ---- in a list: all or nothing, in both directions, and a part of both given back ----
answer WEIR.TAKE "$list" '{l}:a' AND '{l}:b' COST 2 1
id=$(id_at '{l}:a' 1)
asks "deny 0 0 0 30000000000 30000000000 (nil) 0 (nil)" WEIR.TAKE "$list" '{l}:a' AND '{l}:b' COST 1 1
answer FCALL weir_take 1 '{l}:b' 10/s 1 PEEK
says out 'allow 0 8 '
asks 1 WEIR.SETTLE "$list" '{l}:a' AND '{l}:b' "$id:2:1" 1 0
asks 2 ZCARD '{l}:a'
answer FCALL weir_take 1 '{l}:b' 10/s 1 PEEK
says out 'allow 0 9 '
answer FCALL weir_take 2 '{l}:a' '{l}:b' "$list" 1 11
says out 'never 1'
asks 2 ZCARD '{l}:a'
asks 1 FCALL weir_release 2 '{l}:a' '{l}:b' "$list" "$id"

# ---- charged: as many as are free ----
answer WEIR.CHARGE "$two" k 5
says out 'allow 0 0 '
what='slots that were charged'
if [ "$(members k)" != 2 ]; then fail "$(members k)"; fi
to one DEL k >/dev/null
answer FCALL weir_charge 1 k "$two" 5
if [ "$(members k)" != 2 ]; then fail "$(members k)"; fi

# ---- a lower limit takes nobody's slot away; a higher one has room at once ----
to one DEL k >/dev/null
answer WEIR.TAKE '5 concurrent lease=30s' k COST 4
id=$(id_at k 1)
asks "deny 0 0 0 30000000000 30000000000 (nil) 0 (nil)" WEIR.TAKE "$two" k
asks 1 WEIR.RENEW "$two" k "$id"
asks 'allow 0 1 0 0 30000000000 (nil) 0 (nil)' WEIR.TAKE '6 concurrent lease=30s' k COST 1 PEEK

# ---- slots that are over go as others come, no more at once, and never are there more members than slots ----
for take in 'WEIR.TAKE LIMIT k COST 6' 'FCALL weir_take 1 k LIMIT 6'; do
    to one DEL k >/dev/null
    read -ra words <<<"$take"
    for second in 0 40; do
        both_at $((second * 1000000))
        answer "${words[@]/LIMIT/10 concurrent lease=30s}"
        says out 'allow 0 4 '
    done
    what="members after $take"
    if [ "$(members k)" != 10 ]; then fail "there are $(members k)"; fi
done

# ---- as many ids of one us that it cannot be luck that they differ ----
to one DEL k >/dev/null
what='300 ids of one us'
to one -r 300 WEIR.TAKE '300 concurrent lease=30s' k >/dev/null
if [ "$(members k)" != 300 ]; then fail "$(members k) are held"; fi

# ---- the clock is set back: what is held is held as long as it was, and what is over stays over ----
to one DEL k j >/dev/null
both_at 100000000
answer WEIR.TAKE "$two" k
answer WEIR.TAKE "$two" j
both_at 130000000
answer WEIR.TAKE "$two" k
both_at 40000000
asks 'allow 0 0 0 0 30000000000 (nil) 0 (nil)' WEIR.TAKE "$two" k PEEK
answer FCALL weir_take 1 k "$two" 2 # refused, and the time is noted
answer FCALL weir_take 1 j "$two" 2
both_at 69999999
asks 'deny 0 1 0 1000 1000 (nil) 0 (nil)' WEIR.TAKE "$two" k COST 2 PEEK
asks 'deny 0 1 0 1000 1000 (nil) 0 (nil)' WEIR.TAKE "$two" j COST 2 PEEK
both_at 70000000
answer WEIR.TAKE "$two" k COST 2
says out 'allow'
what='members'
if [ "$(members k)" != 2 ]; then fail "there are $(members k)"; fi
answer FCALL weir_take 1 j "$two" 2
says out 'allow'

# ---- a key that was another limit's makes room; what is not weir's does not ----
for slots in 'WEIR.TAKE LIMIT k' 'FCALL weir_take 1 k LIMIT 1'; do
    for rate in 'WEIR.TAKE LIMIT k' 'FCALL weir_take 1 k LIMIT 1'; do
        for text in 10/s '10/s algorithm=sliding-log'; do
            to one DEL k >/dev/null
            for turn in 1 2; do
                read -ra words <<<"$rate"
                answer "${words[@]/LIMIT/$text}"
                says out 'allow 0 9 '
                read -ra words <<<"$slots"
                answer "${words[@]/LIMIT/$two}"
                says out 'allow 0 1 '
            done
        done
    done
done
to one DEL foreign >/dev/null
for command in 'SET foreign hello' 'ZADD foreign 1 one' 'ZADD foreign -1 weir:x 5 five' 'RPUSH foreign 1'; do
    read -ra words <<<"$command"
    to one DEL foreign >/dev/null
    to one "${words[@]}" >/dev/null
    refuses 'WEIRVALUE what is at foreign was not written by weir' WEIR.TAKE "$two" foreign
    refuses 'WEIRVALUE what is at foreign was not written by weir' FCALL weir_take 1 foreign "$two" 1
done

# ---- refusals ----
refuses 'WEIRLIMIT only slots of a concurrent limit are held' WEIR.RENEW 10/s k 12
refuses 'WEIRLIMIT only slots of a concurrent limit are held' FCALL weir_release 1 k 10/s 12
refuses 'WEIRARG expected the id of a take, the last value of its reply, not "x"' WEIR.RELEASE "$two" k x
refuses 'WEIRARG expected the id of a take, the last value of its reply, not "x"' FCALL weir_renew 1 k "$two" x
refuses 'WEIRKEYS a concurrent limit in a list has a key of its own' WEIR.TAKE "$list" k
refuses 'WEIRKEYS a concurrent limit in a list has a key of its own' FCALL weir_take 1 k "$list" 1
refuses 'an engine keeps at most 10000 slots' WEIR.TAKE '10001 concurrent lease=1s' k
refuses 'an engine keeps at most 10000 slots' FCALL weir_take 1 k '10001 concurrent lease=1s' 1

# ---- a cost by unit ----
units='2 concurrent jobs lease=30s; 100 tokens/s; 50 tokens/s'
keys=('{u}:a' AND '{u}:b' AND '{u}:c')
both_at 200000000
answer WEIR.TAKE "$units" "${keys[@]}" COST tokens 20 jobs 2
says out 'allow 0 0 '
asks 1 WEIR.RELEASE "$units" "${keys[@]}" "$(id_at '{u}:a' 1)"
both_at 201000000
answer FCALL weir_take 3 '{u}:a' '{u}:b' '{u}:c' "$units" jobs 2 tokens 20
says out 'allow 0 0 '
answer WEIR.TAKE '60 requests/min; none; 9 tokens/s' u COST tokens 3 PEEK
says out 'never 1 '
answer FCALL weir_charge 1 u '60 requests/min; 100 tokens/s' request 2 tokens 3
says out 'allow 0 58 '
words='limits count requests and tokens: write'
refuses "$words COST tokens 812" WEIR.TAKE '60 requests/min; 100 tokens/s' u COST 812
refuses "$words tokens 812" FCALL weir_take 1 u '60 requests/min; 100 tokens/s' 812
refuses "\"token\" is no unit here; $words COST tokens 5" WEIR.TAKE '60 requests/min; 100 tokens/s' u COST token 5
refuses "\"token\" is no unit here; $words tokens 5" FCALL weir_take 1 u '60 requests/min; 100 tokens/s' token 5
refuses '"tokens" has no cost;' WEIR.CHARGE '60 requests/min; 100 tokens/s' u requests 5
refuses '"tokens" has no cost;' FCALL weir_charge 1 u '60 requests/min; 100 tokens/s' requests 5
refuses '"tokens" has two costs;' WEIR.TAKE '60 requests/min; 100 tokens/s' u COST tokens 5 tokens 5
refuses '"tokens" has two costs;' FCALL weir_take 1 u '60 requests/min; 100 tokens/s' tokens 5 tokens 5

# ---- as a script; and the replica has it all ----
tail -n +2 variant.lua >script.lua
sha=$(to one -x SCRIPT LOAD <script.lua)
to one DEL k >/dev/null
answer EVALSHA "$sha" 1 k weir_take "$two" 1
id=$(id_at k 1)
asks 1 EVALSHA "$sha" 1 k weir_renew "$two" "$id"
asks 1 EVALSHA "$sha" 1 k weir_release "$two" "$id"
answer WEIR.TAKE '300 concurrent lease=9h' k COST 300
answer FCALL weir_take 1 j '300 concurrent lease=9h' 298
asks 1 WEIR.SETTLE '300 concurrent lease=9h' k "$(id_at k 1):300" 7
until_true eval '[ "$(info_of one master_repl_offset)" = "$(info_of replica slave_repl_offset)" ]'
what='the replica'
in_engine one DEBUG DIGEST >expected
in_engine replica DEBUG DIGEST >out
same out expected
echo 'slots in an engine: all as it should be'
