#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# unix.sh WEIR: Unix sockets: their modes, their files.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli curl
socket=$room/weir.sock

start_other --resp "unix:$socket" --http "$room/http.sock" --threads 2
says serve.out "weir: RESP unix:$socket, HTTP unix:$room/http.sock; limits"
what='modes'
if [ "$(stat -c %a weir.sock http.sock | tr '\n' ' ')" != '660 660 ' ]; then fail "$(stat -c '%a %n' ./*.sock)"; fi
run 'redis-cli -s' redis-cli -s "$socket" PING
echo PONG >expected
same out expected
run half /usr/bin/python3 "$wire" half "$socket"
ends 0
fetch 200 --unix-socket "$room/http.sock" http://any.name/healthz

run 'the same socket again' "$weir" serve --resp "unix:$socket" --http none
ends 2
says err 'there is a file, or another server'
run 'a file that is no socket' "$weir" serve --resp "$room/serve.out" --http none
ends 2
says err 'there is a file, or another server'
what='the first one'
if [ "$(redis-cli -s "$socket" PING)" != PONG ]; then fail 'does not answer any more'; fi
clean_end
if [ -e weir.sock ]; then fail 'the file is still there'; fi

what='a stale socket'
start_other --resp "unix:$socket" --http none
kill -KILL "$pid"
wait "$pid" 2>/dev/null
if [ ! -S weir.sock ]; then fail 'there should be one'; fi
printf 'listen: {unix: %s, unix_mode: 0600, resp: none, http: none}\n' "$socket" >weir.yaml
start_other weir.yaml
if [ "$(stat -c %a weir.sock)" != 600 ]; then fail 'the mode is not that of the file'; fi
if [ "$(redis-cli -s "$socket" PING)" != PONG ]; then fail 'it was not replaced'; fi

what='a socket of somebody else'
rm weir.sock
touch weir.sock
clean_end
if [ ! -e weir.sock ]; then fail 'it was removed'; fi
