#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stop.sh WEIR: SIGTERM answers what came; kill -9 loses no debt that is in a file.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli

ended() # STATUS
{
    wait "$pid"
    status=$?
    ends "$1"
}

for threads in 1 3; do
    start_serve --threads "$threads"
    run "drain with $threads" /usr/bin/python3 "$wire" drain "$resp" "$pid"
    ends 0
    ended 0
done

what='nobody is there'
start_serve
kill -INT "$pid"
ended 0
if listens "$resp"; then fail 'it still listens'; fi
cp serve.out out
says out 'weir: stopping'

what='two signals'
start_serve
kill -TERM "$pid"
kill -TERM "$pid"
ended 0

takes() # VERDICT
{
    run 'WEIR.TAKE' redis-cli -p "$resp" WEIR.TAKE 3/h somebody
    ends 0
    if [ "$(head -n 1 out)" != "$1" ]; then fail "not $1"; fi
}

start_serve --state "$room/table"
for _ in 1 2 3; do takes allow; done
takes deny
kill -KILL "$pid"
wait "$pid" 2>/dev/null
start_serve --state "$room/table"
if ! grep -q "; state in $room/table$" serve.out; then cp serve.out err; fail 'it does not say where the state is'; fi
takes deny
clean_end
start_serve
takes allow
clean_end
