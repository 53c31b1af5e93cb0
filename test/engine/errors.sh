#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# errors.sh WEIR: engines and URLs that are not what they should be, beyond those of take.sh: old ones without
# functions, ones that may run nothing, full ones, the wrong kind of URL, half the rights, names that nobody knows.
# Each is told which server, and what is wrong there.
. "$(dirname "$0")/lib/topology.sh" "$@"
needs_part engine

check_says() # STATUS WORDS URL
{
    run "weir engine check $3" "$weir" engine check "$3"
    ends "$1"
    cat err >>out
    says out "$2"
}

install_says() # STATUS WORDS URL
{
    run "weir engine install $3" "$weir" engine install "$3"
    ends "$1"
    cat err >>out
    says out "$2"
}

take_says() # WORDS URL [KEY]
{
    run "weir take --engine $2" "$weir" take 3/h "${3:-k}" --engine "$2"
    ends 2
    silent out
    says err 'nothing was taken: '
    says err "$1"
}

taken() # URL
{
    run "weir take --engine $1" "$weir" take 3/h k --engine "$1"
    ends 0
    silent err
}

# ---- before 7.0 there are no functions: scripts do the same ----
start_engine old --rename-command FUNCTION '' --rename-command FCALL '' --rename-command FCALL_RO ''
install_says 0 "127.0.0.1:${engine_port[old]}: it does not support functions" "$(url_of old)"
says out 'decided by scripts (EVALSHA)'
says out 'scripts will be used'
check_says 0 'decided by scripts (EVALSHA)' "$(url_of old)"
taken "$(url_of old)"

# ---- neither functions nor scripts ----
start_engine none --rename-command FUNCTION '' --rename-command FCALL '' --rename-command EVAL '' \
    --rename-command EVALSHA '' --rename-command SCRIPT ''
check_says 1 "127.0.0.1:${engine_port[none]}: ERR unknown command 'EVAL'" "$(url_of none)"
install_says 1 'and scripts do not work either' "$(url_of none)"
says out "ERR unknown command 'EVAL'"
take_says "127.0.0.1:${engine_port[none]}: refused: ERR unknown command 'EVALSHA'" "$(url_of none)"

# ---- full ----
start_engine full --maxmemory 1 --maxmemory-policy noeviction
install_says 1 'the functions were not loaded: OOM' "$(url_of full)"
take_says "127.0.0.1:${engine_port[full]}: refused: OOM" "$(url_of full)"
check_says 1 "127.0.0.1:${engine_port[full]}: OOM" "$(url_of full)"
start_engine filled
install_says 0 "127.0.0.1:${engine_port[filled]}: functions" "$(url_of filled)"
to filled CONFIG SET maxmemory 1 >out
check_says 1 "127.0.0.1:${engine_port[filled]}: OOM" "$(url_of filled)"
to filled CONFIG SET maxmemory 0 >out
check_says 0 'decided by functions' "$(url_of filled)"
if [ "$(to filled DBSIZE)" -gt 1 ]; then fail 'the check leaves its key'; fi # that of the nodes may be there

# ---- functions of another, of an older weir and of a newer one; nodes that are older ----
library() # FUNCTION WORDS: it says those
{
    printf '#!lua name=weir\nredis.register_function("%s", function() return "%s" end)' "$1" "$2" >library.lua
    to filled -x FUNCTION LOAD REPLACE <library.lua >out
    says out weir
}

library another 1
install_says 1 "it has a function library named weir that is not weir's; FUNCTION DELETE weir removes it" \
    "$(url_of filled)"
if [ "$(to filled FCALL another 0)" != 1 ]; then fail 'it was replaced'; fi
library weir_version 0.9.0
install_says 0 ' in place of 0.9.0' "$(url_of filled)"
version=$(to filled FCALL weir_version 0)
says out "functions $version in place of 0.9.0"
install_says 0 "functions $version, loaded again" "$(url_of filled)"
library weir_version '9.0.0 format 9'
install_says 0 'functions 9.0.0 format 9 of a newer weir are installed; they are kept' "$(url_of filled)"
if [ "$(to filled FCALL weir_version 0)" != '9.0.0 format 9' ]; then fail 'they are not kept'; fi
to filled FUNCTION DELETE weir >out
to filled ZADD '{weir:}:nodes' 4102444800 0123456789abcdef 4102444800 1123456789abcdef.2 >out
install_says 1 '1 nodes with an older weir use this engine' "$(url_of filled)"
if [ -n "$(to filled FUNCTION LIST)" ]; then fail 'functions were loaded'; fi
to filled ZREM '{weir:}:nodes' 0123456789abcdef >out
install_says 0 "functions $version" "$(url_of filled)"

# ---- the wrong database, the wrong kind of URL, nobody there ----
start_engine one
address=127.0.0.1:${engine_port[one]}
check_says 1 "$address: SELECT refused: ERR DB index is out of range" "redis://$address/99"
take_says "$address: SELECT refused: ERR DB index is out of range" "redis://$address/99"
check_says 1 "$address: ERR This instance has cluster support disabled" "redis+cluster://$address"
check_says 1 'none of the servers reports which server has which keys' "redis+cluster://$address"
take_says "$address: ERR This instance has cluster support disabled" "redis+cluster://$address"
check_says 1 "$address: ERR unknown command 'SENTINEL'" "redis+sentinel://$address/weir"
take_says "$address: ERR unknown command 'SENTINEL'" "redis+sentinel://$address/weir"
check_says 1 '/nowhere/socket: cannot be reached: no such file' unix:///nowhere/socket
free=127.0.0.1:$(free_port)
check_says 1 "$free: cannot be reached: Connection refused" "redis://$free"
check_says 1 'no.such.host.invalid:6379: ' redis://no.such.host.invalid
taken "unix://$room/one/socket"

# ---- rights: which one is missing, and the rule that would give it ----
user() # NAME RULE...
{
    to one ACL SETUSER "$1" reset on ">$1" "${@:2}" >out
    says out OK
    as=redis://$1:$1@$address
}

user pingless '~{weir:*' +fcall +time +get +set +info
check_says 1 "$address: PING refused: NOPERM" "$as"
take_says "run the 'ping' command" "$as"
user unasked '~{weir:*' +ping +info +time +command
install_says 1 'the ACL rule +function|load allows it' "$as"
says out 'the ACL rule +fcall allows it'
says out 'the ACL rule +evalsha allows it'
says out 'the ACL rule +eval allows it'
# Loaded, and refused after all; and not loaded, where they are there and work.
user keyless '~other:*' +@all
install_says 1 'the ACL rule ~{weir:* allows it' "$as"
user loadless '~{weir:*' +@all '-function|load'
install_says 1 'the ACL rule +function|load allows it' "$as"
says out 'decided by functions'
to one FUNCTION DELETE weir >out
user elsewhere '~other:*' +@all
check_says 1 'the ACL rule ~{weir:* allows it' "$as"
take_says NOPERM "$as"
user off off
check_says 1 "$address: " "$as"
says out 'AUTH refused'
check_says 1 'AUTH refused' "redis://:unneeded@$address"

# ---- what is not weir's under some keys: those alone are answered by the policy, it is told once, and it stays ----
to one RPUSH '{weir:mixed3}' other >out
to one SET '{weir:mixed7}' other >out
take_says 'WEIRVALUE what is at {weir:mixed3}' "redis://$address" mixed3
take_says WEIRVALUE "redis://$address" mixed7
run 'keys of others' "$build/test/engine-grants" --url "redis://$address" --limit '1000/s burst=1000' --key mixed \
    --keys 10 --every-us 1000 --seconds 1 --away closed --deadline-ms 30000 --log grants.log
ends 0
if ! awk '{ sum[$1] += $2 } END { exit !(sum["away"] > 0 && sum["engine"] > 3 * sum["away"]) }' out; then
    fail 'not two keys of ten'
fi
if [ "$(grep -c 'WEIRVALUE ' out)" != 1 ]; then fail 'it is not told once'; fi
if grep -q ' away ' out; then fail 'the whole engine was taken for away'; fi
if [ "$(to one GET '{weir:mixed7}')" != other ] || [ "$(to one LLEN '{weir:mixed3}')" != 1 ]; then
    fail 'a value of others was changed'
fi

# ---- Sentinel and Cluster ----
start_pair
start_sentinels
check_says 1 "127.0.0.1:${engine_port[sentinel3]}: this sentinel monitors no primary named other" \
    "${sentinel_url%weir}other"
install_says 0 "127.0.0.1:${engine_port[first]}: functions" "$sentinel_url"
check_says 0 "127.0.0.1:${engine_port[first]}: decided by functions" "$sentinel_url"
taken "$sentinel_url"
start_cluster
install_says 0 "127.0.0.1:${engine_port[node3]}: functions" "$cluster_url"
taken "$cluster_url"
run 'check of a Cluster' "$weir" engine check "$cluster_url"
ends 0
for name in "${nodes[@]}"; do says out "127.0.0.1:${engine_port[$name]}: decided by functions"; done
if grep -q 'cannot be counted' out; then fail 'MOVED is taken for a refusal'; fi
check_says 1 "write redis+cluster://127.0.0.1:${engine_port[node2]}" "$(url_of node2)"
install_says 1 "write redis+cluster://127.0.0.1:${engine_port[node2]}" "$(url_of node2)"
for name in "${nodes[@]}"; do
    if [ "$name" != "$(owner_of "$(slot_of '{weir:k}')")" ]; then
        take_says 'it is part of a cluster: expected redis+cluster:// in the URL' "$(url_of "$name")"
    fi
done

# ---- what a server says is shown, and obeyed by no terminal ----
python3 -c '
import socket
server = socket.create_server(("127.0.0.1", 0))
print("http", server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    while client.recv(1 << 16):
        client.sendall(b"-ERR \x1b]0;owned\x07\xc2\x9b31m\r\n" * 16)
' >hostile &
others+=($!)
depends_on $! 'a hostile server' "$PWD/hostile"
wait_for 'it listens' grep -q http hostile
for verb in check install; do
    run "weir engine $verb" "$weir" engine $verb "redis://127.0.0.1:$(sed 's/http //' hostile)"
    cat err >>out
    says out '?]0;owned?'
    if LC_ALL=C grep -q $'[\x1b\x07\x9b]' out; then fail 'a terminal would obey it'; fi
done
run 'weir take' "$weir" take 1/h k --engine "redis://127.0.0.1:$(sed 's/http //' hostile)"
says err '?]0;owned?'
if LC_ALL=C grep -q $'[\x1b\x07\x9b]' err; then fail 'a terminal would obey it'; fi
