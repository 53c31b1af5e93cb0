#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# serve.sh WEIR, sourced: what engine.sh has, and services by name, on free ports:
#
#   start_serve one weir.yaml      its ports in ${resp_of[one]} and ${http_of[one]}, what it says in the file serve.one
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/engine.sh" "$@"
needs_part serve
needs_part engine
declare -A resp_of http_of serve_of

start_serve() # NAME ARGUMENT...
{
    local name=$1
    shift
    "$weir" serve "$@" --resp 127.0.0.1:0 --http 127.0.0.1:0 >"serve.$name" 2>&1 &
    serve_of[$name]=$!
    others+=($!)
    what="weir serve $*"
    depends_on "${serve_of[$name]}" "the service $name" "$PWD/serve.$name"
    wait_for "$name says where it listens" grep -qs '^weir: RESP' "serve.$name"
    resp_of[$name]=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\).*/\1/p' "serve.$name")
    http_of[$name]=$(sed -n 's|^weir: .*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' "serve.$name")
    if [ -n "${resp_of[$name]}" ] && [ -n "${http_of[$name]}" ]; then return; fi
    cp "serve.$name" err
    fail 'it does not say where it listens'
}

# In a build with sanitizers a service that ran into one of them has said so.
stop_serve() # NAME
{
    what="the end of $1"
    may_end "${serve_of[$1]}"
    kill "${serve_of[$1]}"
    wait_end "${serve_of[$1]}" 'it ends'
    cp "serve.$1" err
    ends 0
}

takes() # VERDICT SERVICE LIMIT KEY [OPTION...]
{
    run "$2: WEIR.TAKE ${*:3}" redis-cli -p "${resp_of[$2]}" WEIR.TAKE "${@:3}"
    if [ "$(head -n 1 out)" != "$1" ]; then fail "not $1"; fi
}

# What curl got is in the files head and out.
fetch() # STATUS SERVICE PATH CURL_ARGUMENT...
{
    local expected=$1 found
    run "$2: curl ${*:3}" curl -sS -D head -o body -w '%{http_code}' "http://127.0.0.1:${http_of[$2]}$3" "${@:4}"
    found=$(cat out)
    cp body out
    if [ "$found" != "$expected" ]; then fail "status $found, expected $expected"; fi
}
