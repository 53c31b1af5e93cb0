#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# engine.sh WEIR, sourced: what check.sh of the golden tests has, and real engines of our own by name:
#
#   start_engine one --appendonly yes      on a free port and a socket, in the folder $room/one
#   to one SET key value                   what redis-cli prints; in_engine: the same by the socket
#   kill_engine one; restart_engine one    the same port, options and files
#
# Groups of them (pairs, Sentinel, Cluster) are in topology.sh.  Nothing here sleeps for a time that was guessed: all
# wait until something is so, and the test fails as soon as an engine ends that it did not end itself
# (test/lib/wait.sh).  What was started is killed by its process at the end, also where it is paused.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../golden/lib/check.sh" "$@"
PATH=$PATH:/usr/sbin:/sbin
what='the engines'
build=${WEIR_BUILD:-$(dirname "$weir")}
module=$build/weir-redis.so
functions=$tree/src/redis/script/weir.lua
needs redis-server redis-cli
trap : PIPE
declare -A engine_port engine_pid engine_options engine_clock
others=() # processes of the test that are no engines

end_engines()
{
    local process
    for process in "${engine_pid[@]}" "${others[@]}"; do end_process "$process"; done
    give_ports_back
    rm -rf "$room"
}
trap end_engines EXIT

# Options are those of redis-server; later ones win.  Nothing is kept on disk unless they say so.
start_engine() # NAME [OPTION...]
{
    local name=$1 turn
    shift
    mkdir -p "$room/$name"
    forget_files "$name"
    engine_options[$name]=${*:+$(printf '%q ' "$@")}
    for turn in {1..10}; do # until nobody else took the port first
        engine_port[$name]=$(free_port)
        run_engine "$name"
        if engine_starts "$name"; then return; fi
        if ! grep -q 'Could not create server TCP listening socket' "$room/$name/log" 2>/dev/null; then break; fi
    done
    cat "$room/$name/out" "$room/$name/log" >err 2>/dev/null
    fail "redis-server $* does not start"
}

run_engine() # NAME
{
    local name=$1 port=${engine_port[$1]} options before=()
    eval "options=(${engine_options[$name]})"
    if [ -n "${engine_clock[$name]:-}" ]; then eval "before=(env ${engine_clock[$name]})"; fi
    rm -f "$room/$name/socket"
    "${before[@]}" redis-server --port "$port" --bind 127.0.0.1 --unixsocket "$room/$name/socket" \
        --dir "$room/$name" --logfile "$room/$name/log" --save '' --appendonly no --repl-diskless-sync-delay 0 \
        --enable-debug-command local "${options[@]}" >"$room/$name/out" 2>&1 &
    engine_pid[$name]=$!
}

# Only our own engine answers at the socket; the port may be another's.
engine_starts() # NAME
{
    wait_for "$1 answers" engine_answers_or_is_gone "$1"
    if has_ended "${engine_pid[$1]}"; then return 1; fi
    depends_on "${engine_pid[$1]}" "the engine $1" "$room/$1/out" "$room/$1/log"
}

engine_answers_or_is_gone() # NAME
{
    has_ended "${engine_pid[$1]}" || engine_answers "$1"
}

# It is up also where it wants a password; it is not while it loads its files.
engine_answers() # NAME
{
    in_engine "$1" PING 2>&1 | grep -qE '^(PONG|NOAUTH|NOPERM|ERR unknown command)'
}

in_engine() # NAME WORD...
{
    redis-cli -s "$room/$1/socket" "${@:2}"
}

to() # NAME WORD...
{
    redis-cli -p "${engine_port[$1]}" "${@:2}"
}

url_of() # NAME
{
    echo "redis://127.0.0.1:${engine_port[$1]}"
}

# A line of INFO: the number or word after the colon.
info_of() # NAME FIELD
{
    in_engine "$1" INFO everything | tr -d '\r' | sed -n "s/^$2://p"
}

kill_engine() # NAME: as when the machine loses power
{
    end_process "${engine_pid[$1]}"
}

stop_engine() # NAME: in order; files are written
{
    may_end "${engine_pid[$1]}"
    kill "${engine_pid[$1]}"
    wait_end "${engine_pid[$1]}" "$1 ends"
}

restart_engine() # NAME
{
    run_engine "$1"
    if ! engine_starts "$1"; then
        cp "$room/$1/log" err
        fail "$1 does not start again"
    fi
}

# What it had on its disk is gone.
restart_empty() # NAME
{
    forget_files "$1"
    restart_engine "$1"
}

forget_files() # NAME
{
    rm -rf "$room/$1"/{log,nodes.conf,dump.rdb,appendonlydir}
}

pause_engine() # NAME
{
    kill -STOP "${engine_pid[$1]}"
}

resume_engine() # NAME
{
    kill -CONT "${engine_pid[$1]}"
}

# ---- weir in them ----

load_functions() # NAME...
{
    local name
    for name in "$@"; do
        if ! in_engine "$name" -x FUNCTION LOAD REPLACE <"$functions" >out 2>err || ! grep -qx weir out; then
            fail "weir.lua was not loaded into $name"
        fi
    done
}

# Options of start_engine that load the module; what follows are arguments of the module.
module_options() # [ARGUMENT...]
{
    needs_built "$module" 'a C compiler for the module'
    with_module=(--loadmodule "$module" "$@")
}

# ---- a clock that the test sets ----

start_engine_with_clock() # NAME [OPTION...]
{
    local library=$build/test/engine-clock.so
    if [ ! -e "$library" ]; then fail "$library is not built"; fi
    mkdir -p "$room/$1"
    set_clock "$1" -1000000000000
    engine_clock[$1]="LD_PRELOAD=$library WEIR_TEST_CLOCK=$room/$1/clock"
    start_engine "$@"
    if [ "$(to "$1" TIME | head -n 1)" -gt $(($(date +%s) - 500000)) ]; then fail "$1 has a clock of its own"; fi
    set_clock "$1" 0
}

# By so many microseconds from the right time: 3000000, -2500000
set_clock() # NAME MICROSECONDS
{
    echo "$2" >"$room/$1/clock.new"
    mv "$room/$1/clock.new" "$room/$1/clock"
}
