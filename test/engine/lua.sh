#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lua.sh: weir.lua in a real redis-server, as functions and as a script.
# First by hand, at times that the test sets (2036, so that nothing expires by the engine's own clock); then asked a
# hundred thousand questions together with src/redis/micro.  Times are in us, answers one line:
# verdict limit remaining delay retry full taken late.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../golden/lib/check.sh" "$@"
PATH=$PATH:/usr/sbin:/sbin
build=${WEIR_BUILD:-$(dirname "$weir")}
functions=$tree/src/redis/script/weir.lua
needs redis-server redis-cli
process=

end_engine()
{
    if [ -n "$process" ]; then
        may_end "$process"
        kill "$process" 2>/dev/null
        wait_end "$process" 'the engine ends'
    fi
    process=
}
trap 'end_engine; rm -rf "$room"' EXIT

start_engine()
{
    what='redis-server'
    redis-server --port 0 --unixsocket "$room/socket" --dir "$room" --save '' --appendonly no >log 2>&1 &
    process=$!
    depends_on "$process" redis-server "$PWD/log"
    wait_for 'it answers' engine_answers
}

engine_answers()
{
    redis-cli -s "$room/socket" PING >/dev/null 2>&1
}

to() # COMMAND...
{
    redis-cli -s "$room/socket" "$@"
}

load() # FILE
{
    what="FUNCTION LOAD $1"
    if [ "$(to -x FUNCTION LOAD REPLACE <"$1")" != weir ]; then fail 'it does not load'; fi
}

at() # US since the beginning
{
    to SET weir:test:now $((start + $1)) >/dev/null
}

# The command's reply in one line, its times as since the beginning, is the one that is expected.
is() # EXPECTED COMMAND...
{
    local expected=$1 found
    shift
    what="$*"
    found=$(to "$@" 2>&1 | tr '\n' ' ' | sed "s/ *$//")
    if [ "$found" != "$expected" ]; then fail "it is '$found', expected '$expected'"; fi
}

take() # EXPECTED LIMIT ARGUMENT...: of key k, without the time
{
    local expected=$1 found
    shift
    what="weir_take $*"
    found=$(to FCALL weir_take 1 k "$@" 2>&1 | head -n 6 | tr '\n' ' ' | sed 's/ *$//')
    if [ "$found" != "$expected" ]; then fail "it is '$found', expected '$expected'"; fi
}

refuses() # WORDS COMMAND...
{
    local words=$1
    shift
    run "$*" to "$@"
    says out "$words"
    if [ "$(wc -l <out)" -gt 2 ]; then fail 'it says more than its error'; fi
}

dirty()
{
    to INFO persistence | tr -d '\r' | sed -n 's/^rdb_changes_since_last_save://p'
}

start=2100000000000000
start_engine
{ sed "s/^\(local function engine_time()\).*/\1 return tonumber(call('GET', 'weir:test:now')) end/" \
    "$functions"; cat "$tree/test/engine/lib/lua_test.lua"; } >variant.lua
what='the clock of the test'
if ! grep -q 'weir:test:now' variant.lua; then fail 'weir.lua has no engine_time() on a line of its own'; fi
load variant.lua

# ---- gcra: 10/s is 100 ms a permit ----
at 0
take 'allow 0 2 0 0 100000' '10/s burst=3' 1
take 'allow 0 1 0 0 200000' '10/s burst=3' 1
take 'allow 0 0 0 0 300000' '10/s burst=3' 1
take 'deny 0 0 0 100000 300000' '10/s burst=3' 1
take 'never 0 0 0 0 300000' '10/s burst=3' 4
take 'allow 0 0 100000 0 400000' '10/s burst=3' 1 WAIT 100000
at 150000
take 'deny 0 0 0 50000 250000' '10/s burst=3' 1
at 200000
take 'allow 0 0 0 0 300000' '10/s burst=3' 1 # to the us
take 'deny 0 0 0 100000 300000' '10/s burst=3' 1
at 100000 # the clock is set back: as full as it was
take 'deny 0 0 0 100000 300000' '10/s burst=3' 1
at 200000
take 'allow 0 0 0 0 300000' '10/s burst=3' 1
is '1' FCALL weir_forget 1 k
is '0' FCALL weir_forget 1 k
take 'allow 0 2 0 0 0' '10/s burst=3' 1 PEEK
take 'allow 0 2 0 0 100000' '10/s burst=3'
is "allow 0 0 0 0 900000 $((start + 200000)) 0" FCALL weir_charge 1 k '10/s burst=3' 8
is '1' FCALL weir_settle 1 k '10/s burst=3' "$((start + 200000)):8" 1 # nothing back while it is above its burst
take 'deny 0 0 0 700000 900000' '10/s burst=3' 1
at 900000
is '1' FCALL weir_settle 1 k '10/s burst=3' "$((start + 700000)):3" 1 # of 3 permits 2 have drained
take 'allow 0 0 0 0 100000' '10/s burst=3' 2 PEEK

# ---- what was refused writes nothing; what is kept is kept until it is full again ----
to DEL k >/dev/null
take 'allow 0 0 0 0 300000' '10/s burst=3' 3
before=$(dirty)
for _ in 1 2 3; do take 'deny 0 0 0 100000 300000' '10/s burst=3' 1; done
take 'never 0 0 0 0 300000' '10/s burst=3' 9
take 'deny 0 0 0 100000 300000' '10/s burst=3' 1 PEEK
what='writes by what was refused'
if [ "$(dirty)" != "$before" ]; then fail "$before and then $(dirty)"; fi
is "$(((start + 900000 + 300000) / 1000))" PEXPIRETIME k
at 900001
is '1' FCALL weir_forget 1 k
take 'allow 0 0 0 0 300000' '10/s burst=3' 3
is "$(((start + 900000 + 300000) / 1000 + 1))" PEXPIRETIME k # rounded up

# ---- what is asked most has a way of its own: WAIT 0 takes the other one, and leaves the same ----
to DEL k l >/dev/null
for turn in '0 0' '0 1' '5 2' '70007 1' '70006 3' '399999 300' '400000 0' '99999999 4' '99999999 7' '99999999 0001'; do
    at "${turn% *}"
    for limit in '10/s burst=7' '10/s burst=7' '3/s burst=7' '1000/s burst=400'; do
        first=$(to FCALL weir_take 1 k "$limit" "${turn#* }" 2>&1 | tr '\n' ' ')
        is "${first% }" FCALL weir_take 1 l "$limit" "${turn#* }" WAIT 0
        is "$(to FCALL_RO weir_test_stored 1 k)" FCALL_RO weir_test_stored 1 l
    done
done
to DEL k l >/dev/null

# ---- the other kinds ----
at 1000000
to DEL k >/dev/null
take 'allow 0 0 0 0 2000' '1000/s catchup=1.1 burst=2' 1 # the schedule begins with it
take 'deny 0 0 0 1000 2000' '1000/s catchup=1.1 burst=2' 1
at 1001000
take 'allow 0 0 0 0 2000' '1000/s catchup=1.1 burst=2' 1
at 1012000
# Due 1 ms after that.
is "allow 0 1 0 0 910 $((start + 1012000)) 10000" FCALL weir_take 1 k '1000/s catchup=1.1 burst=2' 1
at 1001000
to DEL k >/dev/null
take 'allow 0 2 0 0 500000' '2/s burst=3 nodelay' 1
take 'allow 0 1 0 0 1000000' '2/s burst=3 nodelay' 1
take 'allow 0 0 0 0 1500000' '2/s burst=3 nodelay' 1
take 'deny 0 0 0 500000 1500000' '2/s burst=3 nodelay' 1
to DEL k >/dev/null
take 'allow 0 0 0 0 1000000' '2/s algorithm=fixed-window' 2
at 1500000
take 'deny 0 0 0 501000 501000' '2/s algorithm=fixed-window' 1
at 2001000
take 'allow 0 1 0 0 1000000' '2/s algorithm=fixed-window' 1
take 'deny 0 0 0 3600000000 3600000000' '2/s algorithm=fixed-window block=1h' 2
to DEL k >/dev/null
at 2000000
take 'allow 0 0 0 0 1500001' '2/s algorithm=sliding-window' 2 # of 2, the next window sees 1 until its middle
at 3000000
take 'deny 0 0 0 1 500001' '2/s algorithm=sliding-window' 1
at 3000001
take 'allow 0 0 0 0 1000000' '2/s algorithm=sliding-window' 1
to DEL k >/dev/null
at 4000000
take 'allow 0 0 0 0 1000000' '2/s algorithm=sliding-log' 2
is 80 STRLEN k
at 4999999
take 'deny 0 0 0 1 1' '2/s algorithm=sliding-log' 1
at 5000000
take 'allow 0 0 0 0 1000000' '2/s algorithm=sliding-log gap=1ms' 1
take 'deny 0 0 0 1000 1000000' '2/s algorithm=sliding-log gap=1ms' 1
take 'deny 0 0 0 1000000 1000000' '2/s algorithm=sliding-log count-refused' 2
to DEL k >/dev/null
is 1 FCALL weir_settle 1 k '2/s algorithm=sliding-log' "$((start + 5000000)):1" 0
is 24 STRLEN k
to DEL k >/dev/null
take 'allow 0 9007199254740991 0 0 0' unlimited 5
take 'never 0 0 0 0 0' none 5

# ---- several limits: all or none ----
to DEL k >/dev/null
take 'allow 1 1 0 0 1800000000' '10/s; 2/h' 1
take 'deny 1 1 0 1800000000 1800000000' '10/s; 2/h' 1 2
take 'allow 1 0 0 0 3600000000' '10/s; 2/h' 1 1
take 'deny 1 0 0 1800000000 3600000000' '10/s; 2/h' 1 1
is "allow 1 0 0 0 1000000 $((start + 5000000)) 0" FCALL weir_take 2 '{k}a' '{k}b' '10/s; 1/s algorithm=sliding-log' 1 1
is "deny 1 0 0 1000000 1000000 $((start + 5000000)) 0" \
    FCALL weir_take 2 '{k}a' '{k}b' '10/s; 1/s algorithm=sliding-log' 1 1
is 'string' TYPE '{k}a'
is 'string' TYPE '{k}b'

# ---- to and from a sliding-log: another kind, which begins anew; the key is usable at once ----
for change in '2/d 2/d:algorithm=sliding-log' '2/d:algorithm=sliding-log 2/d' \
    '2/d:algorithm=sliding-log 2/d:algorithm=fixed-window' '2/d:algorithm=sliding-window 2/d:algorithm=sliding-log'; do
    to DEL k >/dev/null
    what="$change"
    to FCALL weir_take 1 k "$(tr : ' ' <<<"${change%% *}")" 2 >/dev/null
    to FCALL weir_take 1 k "$(tr : ' ' <<<"${change##* }")" 1 >out
    if [ "$(sed -n '1p;3p' out | tr '\n' ' ')" != 'allow 1 ' ]; then fail 'it does not begin anew'; fi
done
is '2' FCALL weir_forget 2 '{k}a' '{k}b'

# ---- leases ----
at 0
to DEL k >/dev/null
is "10 $start 90 0" FCALL weir_lease 1 k '100/s burst=100' 10 1000000
at 100000
take 'allow 0 89 0 0 2000000' '100/s burst=100' 1 # what is out does not drain
is "5 $start 88 0" FCALL weir_lease 1 k '100/s burst=100' 5 1000000 $start 10 4
is '1' FCALL weir_return 1 k '100/s burst=100' $start 5 5
is '0' FCALL weir_return 1 k '100/s burst=100' $start 5 5
at 5000000
is '0' FCALL weir_return 1 k '100/s burst=100' $start 5 5

# ---- what is refused, and how ----
to DEL k >/dev/null
refuses 'WEIRLIMIT col 4: expected a period up to 2^52 us: ns, us, ms, s, min, h, d, w' FCALL weir_take 1 k '10/' 1
refuses 'WEIRLIMIT the text of a limit has at most 1024 bytes' FCALL weir_take 1 k "10/s$(printf '%1021s' '')" 1
refuses 'WEIRLIMIT col 7: burst is at least 1' FCALL weir_take 1 k '100/s burst=0' 1
refuses 'WEIRLIMIT col 4: expected a period' FCALL weir_take 1 k '10/M' 1
refuses 'WEIRLIMIT col 4: expected "/" and a period behind a plain count' FCALL weir_take 1 k '100k tokens/min' 1
refuses 'for example 100000 tokens/min (weir explain writes any limit so)' FCALL weir_take 1 k '100k tokens/min' 1
refuses 'WEIRLIMIT col 6: expected an option of an engine, or ";"' FCALL weir_take 1 k '10/s 1000/h' 1
refuses 'WEIRLIMIT col 16: expected one of gcra hybrid leaky' FCALL weir_take 1 k '10/s algorithm=cycle' 1
refuses 'WEIRLIMIT col 6: debt does not belong to algorithm=leaky, which has burst nodelay delay' \
    FCALL weir_take 1 k '10/s debt=2 algorithm=leaky' 1
refuses 'WEIRLIMIT col 6: start=empty is not kept in an engine' FCALL weir_take 1 k '10/s start=empty' 1
refuses 'WEIRLIMIT col 6: expected an option of an engine' FCALL weir_take 1 k '10/s shadow' 1
refuses 'WEIRLIMIT col 1: expected a whole number, in digits' FCALL weir_take 1 k '' 1
refuses 'WEIRARG expected a limit' FCALL weir_take 1 k
refuses 'WEIRARG this limit takes one cost, not 2' FCALL weir_take 1 k 10/s 1 2
refuses 'WEIRARG these are 3 limits: expected one cost for all, or 3, not 2' FCALL weir_take 1 k '1/s;2/s;3/s' 1 2
refuses 'WEIRARG expected costs, PEEK, or WAIT us, not "-1"' FCALL weir_take 1 k 10/s -1
refuses 'WEIRARG expected costs, PEEK, or WAIT us, not "4503599627370497"' FCALL weir_take 1 k 10/s 4503599627370497
refuses 'WEIRARG WAIT is for one limit' FCALL weir_take 1 k '1/s;2/s' 1 WAIT 5
refuses 'WEIRARG expected us behind WAIT' FCALL weir_take 1 k 10/s 1 WAIT
refuses 'WEIRARG expected a receipt' FCALL weir_settle 1 k 10/s 5 1
refuses 'WEIRARG the receipt "5:1" is of 1 limits, and these are 2' FCALL weir_settle 1 k '1/s;2/s' 5:1 1
refuses 'WEIRARG expected a cost' FCALL weir_charge 1 k 10/s
refuses 'WEIRLIMIT a lease needs one gcra limit' FCALL weir_lease 1 k '1/s;2/s' 8 1000
refuses 'WEIRLIMIT a lease needs one gcra limit with a burst of 16 or more' \
    FCALL weir_lease 1 k '10/s burst=15' 2 1000
refuses 'WEIRARG expected a lifetime of 1 to 1099511627776 us' FCALL weir_lease 1 k '10/s burst=20' 2 0
refuses 'WEIRARG expected a lifetime of 1 to 1099511627776 us' FCALL weir_lease 1 k '10/s burst=20' 2 1099511627777
refuses 'WEIRKEYS these are 2 limits: expected one key for all, or 2, not 3' FCALL weir_take 3 a b c '1/s;2/s' 1 1
refuses 'WEIRKEYS expected different keys' FCALL weir_take 2 a a '1/s;2/s' 1 1
refuses 'WEIRKEYS a sliding-log in a list has a key of its own' FCALL weir_take 1 k '1/s; 2/s gap=1s' 1 1
what='keys after refusals'
is '0' EXISTS k
for value in hello 'weir' "$(printf 'weir\001\001')" 'weirdweirdweirdweirdweirdweirdweirdweird'; do
    to SET k "$value" >/dev/null
    expected='what is at k was not written by weir'
    if [ ${#value} = 6 ]; then expected='a state of weir, but damaged; to start afresh: DEL k'; fi
    refuses "WEIRVALUE $expected" FCALL weir_take 1 k 10/s 1
    is "$value" GET k
done
to DEL k >/dev/null
to RPUSH k 1 >/dev/null
for limit in 10/s '10/s burst=9' '10/s algorithm=sliding-log'; do
    refuses 'WEIRVALUE what is at k was not written by weir' FCALL weir_take 1 k "$limit" 1
done
to DEL k >/dev/null
to ZADD k 5 five >/dev/null
for limit in 10/s '10/s algorithm=sliding-log'; do
    refuses 'WEIRVALUE what is at k was not written by weir' FCALL weir_take 1 k "$limit" 1
done

# ---- as a script: the same answers ----
tail -n +2 variant.lua | sed '/^-- lua_test.lua/,$d' >script.lua
sha=$(to -x SCRIPT LOAD <script.lua)
to DEL k >/dev/null
at 0
is "allow 0 9 0 0 100000 $start 0" EVALSHA "$sha" 1 k weir_take 10/s 1
is "allow 0 8 0 0 200000 $start 0" EVAL "$(cat script.lua)" 1 k weir_take 10/s 1
is "allow 0 7 0 0 300000 $start 0" FCALL weir_take 1 k 10/s 1
is 1 EVALSHA "$sha" 1 k weir_settle 10/s "$start:1" 0
is "deny 0 8 0 100000 200000 $start 0" EVALSHA "$sha" 1 k weir_take 10/s 9 PEEK
refuses 'WEIRLIMIT col 4: expected a period' EVALSHA "$sha" 1 k weir_take 10/ 1
refuses 'WEIRARG expected the name of a function first' EVALSHA "$sha" 1 k weir_tak 10/s 1
is 1 EVALSHA "$sha" 1 k weir_forget
version=$("$weir" --version | sed "s/^weir //;s/ .*//")
says <(to FCALL_RO weir_version 0) "$version"
says <(to EVALSHA "$sha" 0 weir_version) "$version"

# ---- a dump of the library, and a restart from disk, keep it all ----
to FCALL weir_take 1 k 10/s 4 >/dev/null
to SAVE >/dev/null
end_engine
start_engine
is "allow 0 5 0 0 500000 $start 0" FCALL weir_take 1 k 10/s 1
what='FUNCTION DUMP and RESTORE'
redis-cli -s "$room/socket" FUNCTION DUMP | head -c -1 >dump
to FUNCTION FLUSH >/dev/null
if [ "$(to -x FUNCTION RESTORE <dump)" != OK ]; then fail 'it does not restore'; fi
is "allow 0 4 0 0 600000 $start 0" FCALL weir_take 1 k 10/s 1

# ---- by the engine's own clock ----
load "$functions"
to DEL k >/dev/null
what='the engine own clock'
taken=$(to FCALL weir_take 1 k 3/h 1 | sed -n 7p)
now=$(to TIME | head -n 1)
if [ $((taken / 1000000)) -gt "$now" ] || [ $((taken / 1000000)) -lt $((now - 600)) ]; then
    fail "$taken is not $now"
fi
what='PTTL'
left=$(to PTTL k)
if [ "$left" -gt 1200001 ] || [ "$left" -lt 600000 ]; then fail "$left"; fi

# ---- together with src/redis/micro ----
load variant.lua
seed_of 7
for program in lua_micro lua_text; do
    if [ ! -x "$build/test/engine-$program" ]; then
        skip_part "engine-$program" 'it is not built, as it wants hiredis' "$build_all"
        continue
    fi
    to FLUSHALL >/dev/null
    run "engine-$program" "$build/test/engine-$program" "$room/socket" "$(of_size 20000 200000)" "$seed"
    tail -n 3 out
    ends 0
done
echo 'weir.lua: all as it should be'
