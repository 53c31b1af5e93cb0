#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stop.sh WEIR: SIGTERM answers what came; kill -9 loses no debt that is in a file.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli

ended() # STATUS
{
    wait_end "$pid" 'it ends'
    ends "$1"
}

for threads in 1 3; do
    start_serve --threads "$threads"
    may_end "$pid"
    run "drain with $threads" /usr/bin/python3 "$wire" drain "$resp" "$pid"
    ends 0
    ended 0
done

what='nobody is there'
start_serve
may_end "$pid"
kill -INT "$pid"
ended 0
if listens "$resp"; then fail 'it still listens'; fi
cp serve.out out
says out 'weir: stopping'

what='two signals'
start_serve
may_end "$pid"
kill -TERM "$pid"
kill -TERM "$pid"
ended 0

# A client that was told of the end, and stays: the service ends a moment later, and not by reading its file.
what='a reload while it stops'
printf 'limits: {api: 3/h}\n' >weir.yaml
start_serve weir.yaml
exec 8<>"/dev/tcp/127.0.0.1/$resp"
printf 'PING\r\n' >&8
may_end "$pid"
kill -TERM "$pid"
timeout "$wait_s" cat <&8 >out # until its end
says out '+PONG'
kill -HUP "$pid"
ended 0
exec 8>&-
if grep -q 'reloaded' serve.out; then cp serve.out err; fail 'it reads its file'; fi

takes() # VERDICT
{
    run 'WEIR.TAKE' redis-cli -p "$resp" WEIR.TAKE 3/h somebody
    ends 0
    if [ "$(head -n 1 out)" != "$1" ]; then fail "not $1"; fi
}

start_serve --state "$room/table"
for _ in 1 2 3; do takes allow; done
takes deny
what='whose files they are'
stat -c '%a %n' "$room"/table* >modes
if grep -v '^600 ' modes >out; then fail 'others may use them'; fi
end_process "$pid"
start_serve --state "$room/table"
if ! grep -q "; state in $room/table; .*tables of [0-9]* MiB, at most [0-9]* MiB" serve.out; then
    cp serve.out err
    fail 'it does not say where the state is'
fi
takes deny
clean_end
start_serve
takes allow
clean_end

# Whose state is cut off ends, and says which file that is.
start_serve --state "$room/table"
takes deny
may_end "$pid"
truncate -s 0 "$room/table"
redis-cli -p "$resp" WEIR.TAKE 3/h somebody >/dev/null 2>&1 || :
ended 3
cp serve.out err
says err "weir: $room/table, or a file beside it, was truncated while it was in use"
