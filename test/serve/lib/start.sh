#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# start.sh WEIR, sourced: what check.sh of the golden tests has, and a real `weir serve` on free ports.
# Whatever was started is stopped by its process, also when the test fails.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../golden/lib/check.sh" "$@"
PATH=$PATH:/usr/sbin:/sbin
trap : PIPE # who writes to a connection that was closed goes on
examples=$tree/examples/serve
wire=$tree/test/serve/lib/wire.py

stop_all()
{
    local process
    for process in $(jobs -pr); do
        kill "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
    rm -rf "$room"
}
trap stop_all EXIT

# Until the command succeeds; after half a minute the test has failed.
wait_for() # WORDS COMMAND...
{
    local words=$1 turn
    shift
    for turn in {1..600}; do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.05
    done
    fail "$words: it did not come to that"
}

free_port()
{
    /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

listens() # PORT
{
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# At the addresses that are given, or in the file: $pid, and what it printed in serve.out.
start_other() # ARGUMENT...
{
    what="weir serve $*"
    rm -f serve.out # what another one said is not what this one says
    "$weir" serve "$@" >serve.out 2>&1 &
    pid=$!
    wait_for 'it says where it listens' serve_has_started
    if ! kill -0 "$pid" 2>/dev/null; then
        cp serve.out err
        fail 'it does not start'
    fi
}

# The same on free ports: $resp and $http.
start_serve() # ARGUMENT...
{
    start_other --resp 127.0.0.1:0 --http 127.0.0.1:0 "$@"
    resp=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\).*/\1/p' serve.out)
    http=$(sed -n 's|^weir: .*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' serve.out)
    if [ -z "$resp" ] || [ -z "$http" ]; then
        cp serve.out err
        fail 'it does not say where it listens'
    fi
}

serve_has_started()
{
    ! kill -0 "$pid" || grep -qE '^weir: (RESP|HTTP)' serve.out
}

# By the process that start_serve (or the test) started last, or the one that is named.
stop() # [PROCESS]
{
    local process=${1:-$pid}
    kill "$process" && wait "$process"
}

# What curl got is in the files head and out, and in err where it is not what was expected.
fetch() # STATUS CURL_ARGUMENT...
{
    local expected=$1 found
    shift
    run "curl $*" curl -sS -D head -o body -w '%{http_code}' "$@"
    found=$(cat out)
    cp body out 2>/dev/null
    if [ "$found" != "$expected" ]; then fail "status $found, expected $expected"; fi
}

# The value of a header in the file head.
header() # NAME
{
    tr -d '\r' <head | sed -n "s/^$1: //Ip"
}

# In a build with sanitizers a server that ran into one of them has said so.
clean_end()
{
    stop
    status=$?
    what='the end of weir serve'
    if [ "$status" != 0 ]; then cp serve.out err; fail "exit status $status"; fi
}

# Retry-After in the file head is a number of seconds within these.
retry_after() # LEAST MOST
{
    local found
    found=$(header Retry-After)
    if ! [[ $found =~ ^[0-9]+$ ]] || [ "$found" -lt "$1" ] || [ "$found" -gt "$2" ]; then
        fail "Retry-After: $found is not between $1 and $2"
    fi
}
