#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# charge.sh WEIR: weir replay --charge and a real weir serve: which lines are charged, under which key, and what is told
# when the service refuses, ends, stands still and comes back.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl jq redis-cli
. "$tree/test/serve/lib/follow.sh"

# A line of a request that ends now.
line() # TENANT ADDRESS [PERMITS]
{
    jq -nc --arg tenant "$1" --arg address "$2" --arg permits "${3-1}" \
        '{msec: (now * 1000 | floor | . / 1000 | tostring), tenant: $tenant, remote_addr: $address, permits: $permits}'
}

is_left() # COUNT LIMIT KEY
{
    [ "$(redis-cli -p "$resp" WEIR.TAKE "$2" "$3" COST 0 PEEK 2>/dev/null | sed -n 3p)" = "$1" ]
}

left() # COUNT LIMIT KEY
{
    wait_for "$1 are left of $2 for $3" is_left "$@"
}

# As a proxy asks: by the fields, not by their key.
peek_leaves() # COUNT TENANT ADDRESS
{
    fetch 200 -G --data-urlencode limit=api --data-urlencode peek=1 --data-urlencode "tenant=$2" -H "X-Real-IP: $3" \
        -H 'X-Weir-Proxy: 1' "http://127.0.0.1:$http/auth"
    header RateLimit | grep -q "r=$1\(;\|$\)"
}

# ---- the lines that the log gains, each at its cost ----
cat >weir.yaml <<'END'
limits:
  api: {limit: "100/day", key: [tenant, address]}
  all: {limit: "100/day", key: none}
END
start_serve weir.yaml
url=redis://127.0.0.1:$resp
line acme 192.0.2.1 >earlier
{ line acme 192.0.2.1; line acme 192.0.2.2; } >log
start_replay log 100/day -F --cost permits --charge "$url" earlier
line acme 192.0.2.1 7 >>log
left 93 100/day 192.0.2.1
line acme 2001:db8::1 3 >>log # whole: so a proxy sends it, and a text has no prefix
left 97 100/day 2001:db8::1
line acme 192.0.2.3 0 >>log
printf '%s' "$(line acme 192.0.2.3 2)" >>log # its end comes later
left 100 100/day 192.0.2.2
left 100 100/day 192.0.2.3
echo >>log
left 98 100/day 192.0.2.3
mv log log.1
line acme 192.0.2.4 5 >>log.1
left 95 100/day 192.0.2.4
line acme 192.0.2.4 6 >log
left 89 100/day 192.0.2.4
line acme "$(printf 'x%.0s' {1..1025})" >>log # nobody can ask for such a key
wait_for 'a key that is too long is told' grep -q 'a key has at most 1024 bytes' told
line acme 192.0.2.4 1 >>log
left 88 100/day 192.0.2.4
end_replay
says said '6 requests charged to 100/day; refused by the service, so not charged: 1'
if [ "$(wc -l <told)" != 1 ]; then fail 'more than that is told'; fi

# ---- more at once than may be without an answer ----
: >log
start_replay log 100/day -F --charge "$url" --charge-limit all --key none --json
for _ in {1..20000}; do echo '{"msec":"1795549872.5"}'; done >many
cat many >>log
end_replay
json said '.charge == {"limit": "all", "charged": 20000, "refused": 0, "lost": 0, "outages": 0}'
silent told

# ---- keys of a limit with a name: what /auth makes of the same fields ----
: >log
start_replay log 100/day -F --cost permits --key tenant,remote_addr/24/48 --charge "$url" --charge-limit api
line 'a,b\c' 192.0.2.1 7 >>log
wait_for 'a comma in a key' peek_leaves 93 'a,b\c' 192.0.2.1
line acme 2001:db8::1 3 >>log # the service cuts it, not --key
wait_for 'an address of the same household' peek_leaves 97 acme 2001:db8::2
what='another household'
if ! peek_leaves 100 acme 2001:db8:0:1::1; then fail 'is charged, too'; fi
line acme nowhere >>log
wait_for 'a key that the service does not take' grep -q 'not charged: ERR the key of this limit has no' told
line acme nowhere >>log
line acme 192.0.2.9 >>log
wait_for 'the next one' peek_leaves 99 acme 192.0.2.9
end_replay
says said '3 requests charged to api; refused by the service, so not charged: 2'
if [ "$(wc -l <told)" != 1 ]; then fail 'more than that is told'; fi

# ---- what the service has against it is said at the start ----
refused() # WORDS ARGUMENT...
{
    local words=$1
    shift
    run "weir replay $*" "$weir" replay "$@" log
    ends 2
    silent out
    says err "weir: replay: --charge: $words"
}
refused "127.0.0.1:$resp: NOLIMIT there is no limit called apj; did you mean api?" 1/s -F --charge "$url" \
    --charge-limit apj
refused 'expected redis://, rediss://, unix://' 1/s -F --charge http://127.0.0.1:9348
refused 'expected the URL of one weir serve' 1/s -F --charge redis+cluster://127.0.0.1:9347
refused 'expected the number of a database' 1/s -F --charge "$url/api"
refused 'unknown host nowhere.invalid' 1/s -F --charge redis://nowhere.invalid:9347
refused "127.0.0.1:$resp: SELECT refused: ERR DB index is out of range" 1/s -F --charge "$url/3"
clean_end

printf 'texts: off\npassword: secret\nlimits: {api: 100/day}\n' >weir.yaml
start_serve weir.yaml
url=redis://127.0.0.1:$resp
: >log
refused "127.0.0.1:$resp: PING refused: NOAUTH Authentication required" 1/s -F --charge "$url"
says err 'its password comes from WEIR_PASSWORD, --password-file or the URL'
refused "127.0.0.1:$resp: AUTH refused: WRONGPASS" 1/s -F --charge "redis://:wrong@127.0.0.1:$resp"
WEIR_PASSWORD=secret refused "127.0.0.1:$resp: NOPERM weir.yaml says texts: off" 1/s -F --charge "$url"
echo secret >password
chmod 600 password
refused "127.0.0.1:$resp: NOPERM weir.yaml says texts: off" 1/s -F --charge "$url" --password-file password
export REDISCLI_AUTH=secret
WEIR_PASSWORD=secret start_replay log 100/day -F --charge "$url" --charge-limit api
line acme 192.0.2.1 >>log
left 99 api 192.0.2.1
end_replay
says said '1 request charged to api'
silent told
unset REDISCLI_AUTH
clean_end

# ---- the service is away: what is new is counted, and charging goes on when it is back ----
: >log
start_replay log 100/day -F --charge "$url"
wait_for 'that it is away is told' grep -q 'is unavailable: cannot be reached: Connection refused; ' told
begin() { start_other --resp "127.0.0.1:$resp" --http none; }
begin
wait_for 'that it is back is told' grep -q 'is available again; not charged meanwhile: 0 requests' told
line acme 192.0.2.1 >>log
left 99 100/day 192.0.2.1
end_process "$pid"
wait_for 'that it is away is told again' grep -q 'is unavailable: the server closed the connection' told
many() # COUNT ADDRESS
{
    line acme "$2" >one
    for _ in $(seq "$1"); do cat one; done >many
    cat many >>log
    wait_for 'the log is read on' grep -q "$2  100/day" said # a refusal of its own
}
many 103 192.0.2.7
begin
wait_for 'how many were not charged is told' grep -q 'is available again; not charged meanwhile: 103 requests' told
line acme 192.0.2.1 >>log
left 99 100/day 192.0.2.1 # of the one that has started empty

# It stands still: the log is read on, and what it got by then nobody knows.
kill -STOP "$pid"
many 101 192.0.2.5
wait_for 'that it does not answer is told' grep -q 'is unavailable: it does not answer' told
kill -CONT "$pid"
wait_for 'it is back' grep -q 'is available again; not charged meanwhile: 101 requests' told
end_replay
says said '2 requests charged to 100/day; not charged or unknown, as the service was unavailable: 204'
if [ "$(grep -c 'is unavailable' told)" != 3 ]; then fail 'not once for each outage'; fi
clean_end

# ---- a limit that goes while it is charged to ----
printf 'limits: {api: 100/day}\n' >weir.yaml
start_other weir.yaml --resp "unix:$room/weir.sock" --http none
: >log
start_replay log 100/day -F --charge "unix://$room/weir.sock" --charge-limit api --json
redis-cli -s weir.sock WEIR.LIMIT DEL api >/dev/null
for _ in {1..3}; do line acme 192.0.2.1; done >>log
wait_for 'that it is gone is told' grep -q "weir.sock: requests are not charged: NOLIMIT there is no limit" told
redis-cli -s weir.sock WEIR.LIMIT SET api 100/day >/dev/null
line acme 192.0.2.1 >>log
is_charged() { [ "$(redis-cli -s weir.sock WEIR.TAKE api 192.0.2.1 COST 0 PEEK | sed -n 3p)" = 99 ]; }
wait_for 'charging goes on' is_charged
end_replay
json said '.charge == {"limit": "api", "charged": 1, "refused": 3, "lost": 0, "outages": 0}'
if [ "$(wc -l <told)" != 1 ]; then fail 'more than that is told'; fi
clean_end

# ---- by TLS ----
if ! has_tool openssl; then
    skip_part 'serve/charge by TLS' 'openssl is not here'
    exit
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=weir \
    -addext 'subjectAltName=IP:127.0.0.1' -keyout key.pem -out certificate.pem 2>err
printf 'listen: {resp: "127.0.0.1:%s", http: none, tls: {certificate: %s, key: %s}}\n' "$resp" \
    "$room/certificate.pem" "$room/key.pem" >weir.yaml
run 'weir serve --check' "$weir" serve weir.yaml --check
if grep -q 'built without OpenSSL' err; then
    skip_part 'serve/charge by TLS' 'weir is built without OpenSSL' "$build_all"
    exit
fi
start_other weir.yaml
: >log
start_replay log 100/day -F --charge "rediss://127.0.0.1:$resp?cacert=$room/certificate.pem" --json
line acme 192.0.2.1 >>log
end_replay
json said '.charge == {"limit": "100/day", "charged": 1, "refused": 0, "lost": 0, "outages": 0}'
silent told
clean_end
