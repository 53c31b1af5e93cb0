#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hiredis.sh WEIR: the examples in C, over hiredis and without a library, and the one for the shell.
. "$(dirname "$0")/lib/start.sh" "$@"
needs cc pkg-config redis-cli
start_serve

compile() # NAME FLAGS...
{
    local name=$1
    shift
    run "cc $name.c" "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$examples/$name.c" -o "$name" "$@"
    ends 0
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
same out lines

# ---- the shell: a guess is taken, what was used is settled ----
if has_receipts 'serve/hiredis: redis.sh'; then
    run 'redis.sh' env PORT="$resp" sh "$examples/redis.sh" acme 90000 echo 10
    ends 0
    says out 'acme: 10 tokens instead of 90000'
    run 'redis.sh, the rest was given back' env PORT="$resp" sh "$examples/redis.sh" acme 99000 echo 99000
    ends 0
    run 'redis.sh, refused' env PORT="$resp" sh "$examples/redis.sh" acme 99000 echo 5
    ends 75
    says err 'acme: deny, again in'
    run 'redis.sh, too much' env PORT="$resp" sh "$examples/redis.sh" acme 100001 echo 5
    ends 75
    says err 'acme: never'
    run 'redis.sh, the command fails' env PORT="$resp" sh "$examples/redis.sh" other 100000 false
    ends 0
    run 'redis.sh, all was given back' env PORT="$resp" sh "$examples/redis.sh" other 100000 echo 1
    ends 0
fi
clean_end
