#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hiredis.sh WEIR: the examples in C, over hiredis and without a library, and the one for the shell.
. "$(dirname "$0")/lib/start.sh" "$@"
needs cc pkg-config redis-cli
start_serve

compile_file() # FILE NAME FLAGS...
{
    run "cc $1" "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$1" -o "${@:2}"
    ends 0
}

compile() # NAME FLAGS...
{
    compile_file "$examples/$1.c" "$@"
}

# ---- without a library ----
compile plain
run 'plain' ./plain "$resp" user:42
ends 0
says out '15 of 16 left'
redis-cli -p "$resp" CL.THROTTLE user:42 999 30 60 999 >/dev/null # by far more than those 16
run 'plain, refused' ./plain "$resp" user:42
ends 1
says out 'refused: again in 19'
run 'plain, a mistake' ./plain "$resp" ''
ends 2
run 'plain, nobody there' ./plain "$(free_port)" user:42
ends 2
says err weir

# As it stands, and with the other state of FAIL_OPEN: what differs is only what happens while weir is away.
switched() # FILE FROM TO: a copy in this folder
{
    sed "s/^\(.*FAIL_OPEN *= *\)$2/\1$3/" "$examples/$1" >"open-$1"
    if cmp -s "open-$1" "$examples/$1"; then fail "no switch in $1"; fi
}

switched plain.c false true
compile_file open-plain.c open-plain
run 'plain, nobody there, open' ./open-plain "$(free_port)" user:42
ends 0
run 'plain, a mistake, open' ./open-plain "$resp" ''
ends 2
is_stopped()
{
    ! grep -h '^State:' "/proc/$pid"/task/*/status | grep -qv '(stopped)'
}

kill -STOP "$pid" # it takes questions, and says nothing
wait_for 'each of its threads is stopped' is_stopped
run 'plain, no answer' ./plain "$resp" user:42
ends 2
run 'plain, no answer, open' ./open-plain "$resp" user:42
ends 0
kill -CONT "$pid"
sed 's/ 15 30 60/ 15 30 60 17/' open-plain.c >never.c
compile_file never.c never
run 'plain, never' ./never "$resp" user:43
ends 1
says out 'refused: never'

# ---- hiredis ----
if ! pkg-config --exists hiredis; then
    skip_part 'the example of hiredis' 'hiredis is not here'
    clean_end
    exit 0
fi
compile hiredis $(pkg-config --cflags --libs hiredis)
for line in {1..200}; do echo "alice@example.test $line"; done >lines
echo 'bob@example.test 201' >>lines
run 'hiredis, 201 lines' ./hiredis "$resp" 70/year <lines
ends 0
silent err
{
    head -n 70 lines
    tail -n 1 lines
} >expected
same out expected
run 'hiredis, a mistake' ./hiredis "$resp" 70/ <lines
says err 'expected a period'
silent out
run 'hiredis, never' ./hiredis "$resp" none <lines
silent out
run 'hiredis, nobody there' ./hiredis "$(free_port)" 70/year <lines
says err weir
same out lines
switched hiredis.c true false
compile_file open-hiredis.c closed-hiredis $(pkg-config --cflags --libs hiredis)
run 'hiredis, nobody there, closed' ./closed-hiredis "$(free_port)" 70/year <lines
says err weir
silent out
run 'hiredis, closed' ./closed-hiredis "$resp" 71/year <lines
says out 'alice@example.test 1'

# ---- the shell: a guess is taken, what was used is settled ----
if has_receipts 'serve/hiredis: redis.sh'; then
    run 'redis.sh' env PORT="$resp" sh "$examples/redis.sh" acme 90000 echo 10
    ends 0
    says out 'acme: 10 tokens instead of 90000'
    run 'redis.sh, the rest was given back' env PORT="$resp" sh "$examples/redis.sh" acme 99000 echo 99000
    ends 0
    run 'redis.sh, refused' env PORT="$resp" sh "$examples/redis.sh" acme 99000 echo 5
    ends 75
    says err 'acme: again in'
    run 'redis.sh, too much' env PORT="$resp" sh "$examples/redis.sh" acme 100001 echo 5
    ends 75
    says err 'acme: never'
    switched redis.sh false true
    run 'redis.sh, too much, open' env PORT="$resp" sh open-redis.sh acme 100001 echo 5
    ends 75
    run 'redis.sh, a mistake' env PORT="$resp" sh open-redis.sh '' 1 echo 5
    ends 75
    silent out
    PORT=$(free_port)
    run 'redis.sh, weir is away' env PORT="$PORT" sh "$examples/redis.sh" acme 1 echo 5
    ends 125
    silent out
    run 'redis.sh, weir is away, open' env PORT="$PORT" sh open-redis.sh acme 1 echo 5
    ends 0
    says out 5
    # It is there and says nothing.
    kill -STOP "$pid"
    run 'redis.sh, weir is silent' timeout 60 env PORT="$resp" sh "$examples/redis.sh" acme 1 echo 5
    ends 125
    silent out
    run 'redis.sh, weir is silent, open' timeout 60 env PORT="$resp" sh open-redis.sh acme 1 echo 5
    ends 0
    says out 5
    kill -CONT "$pid"
    run 'redis.sh, weir falls silent' timeout 60 env PORT="$resp" sh "$examples/redis.sh" silent 100 \
        sh -c 'kill -STOP "$0"; echo 7' "$pid"
    kill -CONT "$pid"
    ends 0
    says err 'silent: 7 tokens, and 100 stay taken'
    run 'redis.sh, the command fails' env PORT="$resp" sh "$examples/redis.sh" other 100000 false
    ends 0
    run 'redis.sh, all was given back' env PORT="$resp" sh "$examples/redis.sh" other 100000 echo 1
    ends 0
fi
clean_end
