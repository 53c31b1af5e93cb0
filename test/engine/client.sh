#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# client.sh WEIR: libweir-redis against real engines, one server: each way to ask, to be refused, and to be away.
. "$(dirname "$0")/lib/ask.sh" "$@"

limit_is() # TEXT
{
    order limit "$1"
    says out 'limit: ok'
}

# ---- answers ----

bucket() # a burst of 5, then no more; 1/h earns nothing meanwhile
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
    order settle 0
    says out 'settled no'
    order peek other 4
    says out 'allow remaining 0 from engine'
    order charge other 4
    order take other
    says out 'deny'
    order forget other
    order take other 5
    says out 'allow remaining 0 from engine'
    order batch crowd 2500
    says out 'engine 2500 away 0 allowed 2500'
}

several()
{
    limit_is '1/h burst=3; 2/h burst=2'
    order take list 1 3
    printf 'allow remaining %d from engine\n' 1 0 >expected
    echo 'deny remaining 0 from engine' >>expected
    same out expected
    limit_is '3/h algorithm=sliding-log; 2/year algorithm=fixed-window'
    order take logs 1 3
    same out expected
}

start_engine one
open_ask "$(url_of one)"
bucket
several
order check
says out 'decided by functions'
says out 'done 0'
order install
says out 'done 0'
in_engine one --scan >keys
grep -qx '{weir:tenant}' keys || fail "the key of tenant is not {weir:tenant}"
grep -qx '{weir:logs}:0' keys || fail 'a log in a list has no key of its own'

# ---- by scripts, where there are no functions ----
start_engine six --rename-command FUNCTION '' --rename-command FCALL ''
open_ask "$(url_of six)"
bucket
several
counts commands -lt 2700
order check
says out 'decided by scripts'
order install
says out 'scripts will be used'
in_engine six SCRIPT FLUSH >out
answers again || fail 'the script is not sent again once it was forgotten'
what='functions come and go'
open_ask "$(url_of one)"
limit_is '1/h burst=5'
in_engine one FUNCTION FLUSH >out
answers gone || fail 'the functions are not loaded again'
in_engine one FUNCTION LIST | grep -q weir || fail 'the functions are not there'
in_engine one FUNCTION FLUSH >out
printf '#!lua name=weir\nredis.register_function("other", function() return 1 end)\n' |
    in_engine one -x FUNCTION LOAD >out
answers foreign || fail 'no scripts beside a foreign library'
in_engine one FUNCTION LIST | grep -q other || fail 'a foreign library was replaced'
order install
says out "it has a function library named weir that is not weir's"
says out 'done -3'

# ---- ways to a server ----
open_ask "unix://$room/one/socket?db=3"
limit_is '1/h burst=5'
order take there
in_engine one -n 3 EXISTS '{weir:there}' | grep -q 1 || fail 'it is not in database 3'
open_ask "redis://localhost:${engine_port[one]}"
limit_is '1/h burst=5'
order take named
says out 'allow remaining 4 from engine'
open_ask "$(url_of one)" prefix=mine/
limit_is '1/h burst=5'
order take there
in_engine one EXISTS '{mine/there}' | grep -q 1 || fail 'the prefix is not the key'"'"'s'

# ---- rights ----
start_engine closed --requirepass secret
open_ask "redis://:secret@127.0.0.1:${engine_port[closed]}"
bucket
refused_with() # WORDS URL [OPTION...]
{
    open_ask "${@:2}"
    limit_is '1/h burst=5'
    order take tenant
    says out "changed away"
    says out "$1"
    says out 'from away'
    order check
    says out "$1"
    says out 'done -3'
}
refused_with WRONGPASS "redis://:other@127.0.0.1:${engine_port[closed]}"
refused_with NOAUTH "$(url_of closed)"
refused_with 'DB index is out of range' "redis://:secret@127.0.0.1:${engine_port[closed]}/99"
redis_acl() # RULE...
{
    in_engine one ACL SETUSER limited reset on '>pass' "$@" >out
}
redis_acl '~{weir:*' +@all
in_engine one FLUSHALL >out
open_ask "$(url_of one)" user=limited password=pass
bucket
redis_acl '~{weir:*' +@all -fcall -evalsha -eval
order take tenant
says out 'from away'
order check
says out 'the ACL rule +fcall allows it'
redis_acl '~{other:*' +@all
open_ask "$(url_of one)" user=limited password=pass
limit_is '1/h burst=5'
order take tenant
says out 'told'
order check
says out 'the ACL rule ~{weir:* allows it'

# ---- what is there already, or cannot be kept ----
open_ask "$(url_of one)"
limit_is '1/h burst=5'
in_engine one RPUSH '{weir:taken}' mine >out
order take taken
says out 'WEIRVALUE what is at {weir:taken}'
says out 'from away'
counts foreign -eq 1
order take free
says out 'from engine'
in_engine one SET '{weir:text}' 'a note' >out
order take text
says out 'from away'
in_engine one GET '{weir:text}' | grep -qx 'a note' || fail 'a foreign value was written over'
order limit '10/s algorithm=warmup warmup=3s'
says out 'limit: -6'

# ---- a replica ----
start_pair
refused_with "read-only replica; its primary is 127.0.0.1:${engine_port[first]}" "$(url_of second)"

# ---- away ----
policy() # POLICY EXPECTED...
{
    open_ask "redis://127.0.0.1:$(free_port)" away="$1" nodes=2
    limit_is '2/h burst=6'
    order take tenant 1 5
    says out 'changed away'
    grep -v changed out >answers
    printf '%s\n' "${@:2}" >expected
    same answers expected
    counts outage_count -eq 1
    counts connects -le 20
}
none='deny remaining 0 from away'
policy local 'allow remaining 2 from away' 'allow remaining 1 from away' 'allow remaining 0 from away' "$none" "$none"
policy closed "$none" "$none" "$none" "$none" "$none"
all='allow remaining 0 from away'
policy open "$all" "$all" "$all" "$all" "$all"

# A server that accepts and never answers: a call ends all the same, and the next ones do not wait at all.
away_from_it()
{
    order take nobody
    grep -q 'from away' out
}
from_it()
{
    order take nobody
    grep -q 'from engine' out
}
what='a black hole'
start_engine hole
pause_engine hole
open_ask "$(url_of hole)" deadline=30
limit_is '1/h burst=5'
order batch crowd 2500 # its deadline is over before the last of them could be asked
says out 'engine 0 away 2500'
open_ask "$(url_of hole)" deadline=30
limit_is '1/h burst=5'
order count tenant 20 # how many nodes there are is not known: it may not be alone
says out 'engine 0 away 20 allowed 0'
open_ask "$(url_of hole)" deadline=30 nodes=1
limit_is '1/h burst=5'
order count tenant 200
says out 'engine 0 away 200 allowed 5'
says out 'changed away'
counts late -ge 1
counts late -le 5
resume_engine hole
until_true answers

# What a share let pass is charged to the engine before its key is asked for again, however often it goes.
what='an engine that comes and goes'
start_engine flaps
open_ask "$(url_of flaps)" nodes=1
limit_is '1/h burst=5'
for turn in 1 2 3; do
    kill_engine flaps
    until_true away_from_it
    order count tenant 20
    if [ $turn = 1 ]; then says out 'engine 0 away 20 allowed 5'; else says out 'engine 0 away 20 allowed 0'; fi
    order count "other$turn" 3
    restart_engine flaps # empty
    until_true from_it
    order take "other$turn"
    says out 'allow remaining 1 from engine'
    if [ $turn = 1 ]; then
        order take tenant
        says out 'deny remaining 0 from engine'
    fi
done

# An idle connection that was closed is seen to be before a question goes there, also with a heartbeat outstanding.
what='an engine that is another one by now'
start_engine brief
open_ask "$(url_of brief)"
limit_is '1/h burst=5'
order take tenant
for turn in 1 2 3; do
    kill_engine brief
    restart_engine brief
    order take tenant
    says out 'allow remaining 4 from engine'
done
in_engine brief CLIENT KILL TYPE normal SKIPME yes >out
order batch crowd 1000
says out 'engine 1000 away 0 allowed 1000'
counts outage_count -eq 0

# Without a question: that it is away is noticed, and that it is back.
what='a tick'
start_engine ticked
open_ask "$(url_of ticked)"
limit_is '1/h burst=5'
ticks_say() # WORDS
{
    order tick 20
    cat out >>heard
    grep -q "$1" heard
}
knows_itself()
{
    order tick 20
    order stats
    grep -q 'nodes 1' out
}
until_true knows_itself # some 7 s after it was reached
in_engine ticked ZCARD '{weir:}:nodes' | grep -q 1 || fail 'a node that asks nothing is not counted'
for blow in kill pause; do
    : >heard
    ${blow}_engine ticked
    until_true ticks_say '^changed away'
    if [ $blow = kill ]; then
        order count tenant 20
        says out 'engine 0 away 20 allowed 5'
    fi
    if [ $blow = pause ]; then resume_engine ticked; else restart_engine ticked; fi
    until_true ticks_say '^changed back'
done
in_engine ticked CONFIG SET maxmemory 1 >out
order take tenant
says out 'refused: OOM'
order tick 100
if grep -q '^changed back' out; then fail 'a full engine is taken for one that is back'; fi
: >heard
in_engine ticked CONFIG SET maxmemory 0 >out
until_true ticks_say '^changed back'
counts calls -eq 21

# Paused, killed, started again: it is away once, and asked again when it is back.
what='an engine that stops'
open_ask "$(url_of one)" deadline=100
limit_is '1/h burst=5'
until_true answers
for blow in pause kill; do
    before=$(stat_of outage_count)
    ${blow}_engine one
    until_true is_away
    order count else 5
    says out 'engine 0 away 5'
    counts outage_count -gt "$before"
    if [ $blow = pause ]; then resume_engine one; else restart_engine one; fi
    until_true answers
done
close_ask
echo 'client: all as expected'
