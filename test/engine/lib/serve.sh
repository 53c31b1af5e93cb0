#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# serve.sh WEIR, sourced: what engine.sh has, and services by name, on free ports:
#
#   start_serve one weir.yaml      its ports in ${resp_of[one]} and ${http_of[one]}, what it says in the file serve.one
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/engine.sh" "$@"
if "$weir" serve --help 2>&1 | grep -q 'built without'; then echo 'weir serve is not built'; exit 77; fi
if "$weir" engine --help 2>&1 | grep -q 'built without'; then echo 'libweir-redis is not built'; exit 77; fi
declare -A resp_of http_of serve_of

start_serve() # NAME ARGUMENT...
{
    local name=$1
    shift
    "$weir" serve "$@" --resp 127.0.0.1:0 --http 127.0.0.1:0 >"serve.$name" 2>&1 &
    serve_of[$name]=$!
    others+=($!)
    what="weir serve $*"
    until_true serve_has_started "$name"
    resp_of[$name]=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\).*/\1/p' "serve.$name")
    http_of[$name]=$(sed -n 's|^weir: .*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' "serve.$name")
    if [ -n "${resp_of[$name]}" ] && [ -n "${http_of[$name]}" ]; then return; fi
    cp "serve.$name" err
    fail 'it does not say where it listens'
}

serve_has_started() # NAME
{
    ! kill -0 "${serve_of[$1]}" 2>/dev/null || grep -qs '^weir: RESP' "serve.$1"
}

# In a build with sanitizers a service that ran into one of them has said so.
stop_serve() # NAME
{
    kill "${serve_of[$1]}"
    wait "${serve_of[$1]}"
    status=$?
    what="the end of $1"
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
