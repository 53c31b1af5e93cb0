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
end_process "$pid"
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

# ---- fewer rights ----
if [ "$(id -u)" != 0 ] || ! getent passwd nobody >/dev/null || ! has_tool setpriv; then
    skip_part 'user: nobody' 'it wants root, a user nobody and setpriv' 'run the tests as root'
else
    chmod 755 .
    mkdir -m 755 ours
    run 'a folder of others' setpriv --reuid nobody --clear-groups "$weir" serve --resp "$room/ours/sock" --http none
    ends 2
    says err 'ours/sock: permission denied; this user may not write to its directory'
    printf '#!/bin/sh\nexec setpriv --groups 4,24 %q "$@"\n' "$weir" >with_groups
    chmod +x with_groups
    weir=$room/with_groups
    printf 'user: nobody\nlisten: {unix: %s, resp: none, http: none}\n' "$room/nobody.sock" >weir.yaml
    start_other weir.yaml
    what='user: nobody'
    nobody=$(id -u nobody)
    if [ "$(stat -c %u nobody.sock)" != "$nobody" ]; then fail 'the socket is not theirs'; fi
    for row in "Uid:$(printf '\t%s' "$nobody" "$nobody" "$nobody" "$nobody")" $'NoNewPrivs:\t1' \
        $'CapEff:\t0000000000000000'; do
        if ! grep -qxF -- "$row" "/proc/$pid/status"; then fail "the process is not: $row"; fi
    done
    if ! grep -qE '^Groups:.(65534)? *$' "/proc/$pid/status"; then fail 'it has other groups'; fi
    if [ "$(redis-cli -s nobody.sock PING)" != PONG ]; then fail 'does not answer'; fi
    clean_end
    printf 'user: no-such-user\n' >weir.yaml
    run 'a user that is not there' "$weir" serve weir.yaml --resp 127.0.0.1:0 --http none
    ends 2
    says err 'user "no-such-user": no such user'
fi
