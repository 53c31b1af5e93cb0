#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# start.sh WEIR, sourced: what check.sh of the golden tests has, and a real `weir serve` on free ports.
# Whatever was started is stopped by its process, also when the test fails; and the test fails as soon as a service ends
# that it did not stop (test/lib/wait.sh): stop, clean_end, or may_end before it is stopped in another way.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../golden/lib/check.sh" "$@"
PATH=$PATH:/usr/sbin:/sbin
trap : PIPE # who writes to a connection that was closed goes on
examples=$tree/examples/serve
wire=$tree/test/serve/lib/wire.py

stop_all()
{
    local process end=$((SECONDS + 5))
    for process in $(jobs -pr); do
        may_end "$process"
        kill "$process" 2>/dev/null
    done
    for process in $(jobs -pr); do
        until has_ended "$process" || [ $SECONDS -ge $end ]; do sleep 0.02; done
        kill -KILL "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
    give_ports_back
    rm -rf "$room"
}
trap stop_all EXIT

# At the addresses that are given, or in the file: $pid, and what it printed in serve.out.
start_other() # ARGUMENT...
{
    what="weir serve $*"
    rm -f serve.out # what another one said is not what this one says
    "$weir" serve "$@" >serve.out 2>&1 &
    pid=$!
    depends_on "$pid" "$what" "$PWD/serve.out"
    wait_for 'it says where it listens' grep -qE '^weir: (RESP|HTTP)' serve.out
}

# The same on free ports: $resp and $http, of 127.0.0.1 and, where there is one, of ::1.
start_serve() # ARGUMENT...
{
    start_other --resp localhost:0 --http localhost:0 "$@"
    resp=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\).*/\1/p' serve.out)
    http=$(sed -n 's|^weir: .*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' serve.out)
    if [ -z "$resp" ] || [ -z "$http" ]; then
        cp serve.out err
        fail 'it does not say where it listens'
    fi
}

# By the process that start_serve (or the test) started last, or the one that is named.
stop() # [PROCESS]
{
    local process=${1:-$pid}
    may_end "$process"
    kill "$process"
    wait_end "$process" 'it ends'
}

# Another program that the test starts in the background, from its output FILE: until it says where it listens.
listens_as() # PROCESS FILE
{
    depends_on "$1" "$what" "$PWD/$2" "$PWD/${2%.*}.err"
    wait_for 'it says where it listens' grep -q '^http' "$2"
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
    what='the end of weir serve'
    stop
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
