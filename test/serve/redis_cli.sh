#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# redis_cli.sh WEIR: the documented sessions, typed into redis-cli.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli
start_serve

cli() # ARGUMENT...
{
    run "redis-cli $*" redis-cli -p "$resp" "$@"
    ends 0
}

answers() # EXPECTED ARGUMENT...: what redis-cli prints when it prints for people
{
    local expected=$1
    shift
    cli --no-raw "$@"
    printf '%s\n' "$expected" >expected
    same out expected
}

# ---- WEIR.TAKE, as the README has it ----
cli --no-raw WEIR.TAKE '10/s burst=20' user:42
head -n 6 out >first && mv out all && mv first out
printf '%s\n' '1) "allow"' '2) (integer) 0' '3) (integer) 19' '4) (integer) 0' '5) (integer) 0' \
    '6) (integer) 100000000' >expected
same out expected
if has_receipts 'serve/redis_cli: receipts'; then
    sed -n 7p all | grep -q '^7) "..*"$' || fail 'the seventh is no receipt'
fi

what='a refusal'
cli WEIR.TAKE '3/h' deploy COST 3
cli WEIR.TAKE '3/h' deploy
if [ "$(sed -n 1p out)" != deny ]; then fail 'it is none'; fi
if [ "$(sed -n 5p out)" -lt 1 ] || [ "$(sed -n 5p out)" -gt 1200000000000 ]; then fail 'again in some other time'; fi
if [ -n "$(sed -n 7p out)" ]; then fail 'it has a receipt'; fi
cli WEIR.TAKE '3/h' deploy COST 4
if [ "$(sed -n 1p out)" != never ]; then fail 'four of three pass one day'; fi
cli WEIR.FORGET '3/h' deploy
cli WEIR.TAKE '3/h' deploy COST 3 PEEK
if [ "$(sed -n 1p out)" != allow ]; then fail 'it was not forgotten'; fi
cli WEIR.TAKE '3/h' deploy PEEK
if [ "$(sed -n 3p out)" != 2 ]; then fail 'a look took something'; fi

if has_receipts 'serve/redis_cli: settle'; then
    what='a receipt'
    cli WEIR.TAKE '100k tokens/year' acme COST 4000
    receipt=$(sed -n 7p out)
    cli WEIR.SETTLE "$receipt" 137
    cli WEIR.TAKE '100k tokens/year' acme PEEK COST 1
    left=$(sed -n 3p out)
    if [ "$left" -lt $((100000 - 138)) ] || [ "$left" -gt $((100000 - 136)) ]; then fail 'the rest is not back'; fi
    cli WEIR.SETTLE "$receipt" 0
    cli WEIR.TAKE '100k tokens/year' acme PEEK COST 1
    if [ "$(sed -n 3p out)" -gt $((100000 - 130)) ]; then fail 'it settled twice'; fi
fi
cli WEIR.CHARGE '100k tokens/year' acme 50200
cli WEIR.TAKE '100k tokens/year' acme PEEK COST 1
if [ "$(sed -n 3p out)" -gt 49900 ]; then fail 'it was not charged'; fi

# ---- redis-cell's README: 16 pass, then one every two seconds.  All in one packet; where a second has gone by in
# between, it is done again with another key. ----
what="redis-cell's session"
for turn in {1..20}; do
    began=${EPOCHREALTIME/./}
    exec 3<>"/dev/tcp/127.0.0.1/$resp"
    for _ in {1..17}; do printf 'CL.THROTTLE user%s 15 30 60\r\n' "$turn"; done >packet
    cat packet >&3
    for _ in {1..17}; do
        for _ in {1..6}; do
            IFS= read -r -t "$wait_s" line <&3 || fail 'an answer is missing'
            printf '%s ' "${line%$'\r'}"
        done
        echo
    done >out
    exec 3>&-
    if [ $((${EPOCHREALTIME/./} - began)) -lt 900000 ]; then break; fi
done
{
    for left in {15..0}; do echo "*5 :0 :16 :$left :-1 :$(((16 - left) * 2)) "; done
    echo '*5 :1 :16 :0 :2 :32 '
} >expected
same out expected

# ---- what else redis-cli says to a server ----
answers PONG PING
answers '"hello"' ECHO hello
cli CLIENT ID
if ! [[ $(cat out) =~ ^[0-9]+$ ]]; then fail 'no number'; fi
cli -3 HELLO 3
says out 'proto'
says out '3'
cli INFO
says out 'redis_version:'
cli COMMAND
cli COMMAND DOCS
says out pure-token # of PEEK: what redis-cli shows while WEIR.TAKE is typed
answers OK WEIR.LIMIT SET api '60 requests/min; 100k tokens/min'
cli WEIR.LIMIT LIST
says out api
cli WEIR.LIMIT GET api
says out '60/min burst=60 algorithm=gcra; 100000 tokens/min'
cli WEIR.TAKE api acme COST 1 2000
if [ "$(sed -n 1p out)" != allow ]; then fail 'it is refused'; fi
cli WEIR.TAKE api acme COST 1 100001
if [ "$(sed -n 1p out)" != never ]; then fail 'more than there ever is'; fi
answers OK WEIR.LIMIT DEL api
cli WEIR.TAKE api acme
says out NOLIMIT
cli WEIR.TAKE 10/ acme
says out BADLIMIT
says out 'expected a period'
cli FLUSHALL
says out ERR

# ---- typed by hand, and by whom it is not meant for ----
typed() # BYTES: what the server says until it closes
{
    exec 3<>"/dev/tcp/127.0.0.1/$resp"
    printf "$1" >&3
    timeout 60 cat <&3 >out || fail 'the connection stays open'
    exec 3>&-
}

what='inline commands and QUIT'
typed 'PING\r\nping\nCL.THROTTLE typed 15 30 60\r\nQUIT\r\nPING\r\n'
printf '+PONG\r\n+PONG\r\n*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n+OK\r\n' >expected
same out expected
what='HTTP on the port of RESP'
typed 'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n'
silent out
typed 'GET /v1/take HTTP/1.1\r\nHost: localhost\r\n\r\nPING\r\n'
if grep -q PONG out; then fail 'the request of a web page is answered'; fi
clean_end

# ---- a password ----
printf 'password: open sesame\n' >weir.yaml
start_serve weir.yaml
cli PING
says out NOAUTH
cli WEIR.TAKE 3/h deploy
says out NOAUTH
cli -a 'open' --no-auth-warning PING
says err WRONGPASS
cli -a 'open sesame' --no-auth-warning PING
says out PONG
cli -a 'open sesame' --user default --no-auth-warning WEIR.TAKE 3/h deploy
says out allow
cli -3 -a 'open sesame' --no-auth-warning PING
says out PONG
clean_end
