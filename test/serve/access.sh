#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# access.sh WEIR: who may do what: passwords that follow one another without a restart, the admin's, the Unix socket,
# free texts, and who is there without having said the password.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli curl

write_file() # LINE...
{
    printf '%s\n' "$@" 'limits: {api: 5/h}' >new.yaml
    mv new.yaml weir.yaml
}

reload() # WORDS
{
    local before
    before=$(grep -c -- "$1" serve.out)
    kill -HUP "$pid"
    more_often() { [ "$(grep -c -- "$1" serve.out)" -gt "$before" ]; }
    wait_for "it says $1" more_often "$1"
}

asks() # WORDS REDIS_CLI_ARGUMENT...
{
    run "redis-cli ${*:2}" redis-cli -p "$resp" --no-auth-warning "${@:2}"
    says out "$1"
}

# ---- passwords: the new one and the old one, then the new one alone ----
(umask 077 && echo old >password)
write_file 'password_file: password' "listen: {unix: $PWD/socket}"
start_serve weir.yaml
asks PONG -a old PING
exec {silent}<>"/dev/tcp/127.0.0.1/$resp" # says no password; see below
(umask 077 && printf 'new\nold\n' >password)
reload 'reloaded'
asks PONG -a new PING
asks PONG -a old PING
fetch 200 "http://127.0.0.1:$http/v1/limits" -u a:new
fetch 200 "http://127.0.0.1:$http/v1/limits" -u a:old
echo new >password
reload 'reloaded'
if grep -q 'need a restart' serve.out; then fail 'a password needs a restart'; fi
asks PONG -a new PING
asks NOAUTH -a old PING
fetch 401 "http://127.0.0.1:$http/v1/limits" -u a:old

# ---- changes: over the Unix socket, or with the admin's password ----
asks NOPERM -a new WEIR.LIMIT SET other 1/h
run 'over the Unix socket' redis-cli -s "$PWD/socket" --no-auth-warning -a new WEIR.LIMIT SET other 1/h
says out OK
write_file 'password_file: password' 'admin_password: root' "listen: {unix: $PWD/socket}"
reload 'reloaded'
asks OK --user admin -a root WEIR.LIMIT SET other 1/h
asks NOPERM -a new WEIR.FORGET other a
fetch 401 "http://127.0.0.1:$http/v1/limits/other" -u a:new -X DELETE
fetch 200 "http://127.0.0.1:$http/v1/limits/other" -u a:root -X DELETE
asks 1 -a root WEIR.FORGET api a

# ---- who has not said the password is cut while it is silent: much earlier than after `idle`, which is 5 minutes ----
what='a silent client'
if ! IFS= read -r -t 120 -u "$silent" && [ $? -gt 128 ]; then fail 'it is still there'; fi
exec {silent}<&-
clean_end

# ---- a public address: no texts, no changes, and a reload does not open it ----
write_file 'password: secret'
start_other weir.yaml --resp :0 --http none
resp=$(sed -n 's/^weir: RESP .*:\([0-9]*\);.*/\1/p' serve.out)
asks 'texts: on in weir.yaml allows others' -a secret WEIR.TAKE 1/h a
asks 'NOPERM CL.THROTTLE brings a limit of its own: an address of this service is public' -a secret CL.THROTTLE a 1 1 60
asks allow -a secret WEIR.TAKE api a
asks NOPERM -a secret WEIR.LIMIT DEL api
write_file ''
reload 'no password is set any more; the limits are unchanged'
asks NOAUTH PING
write_file 'password: secret' 'texts: on'
reload 'reloaded'
asks allow -a secret WEIR.TAKE 1/h a
clean_end
