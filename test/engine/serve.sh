#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# serve.sh WEIR: two services on one engine have one limit between them; what is kept elsewhere stays there; and what
# each says when the engine goes and comes back.
. "$(dirname "$0")/lib/serve.sh" "$@"
needs curl jq
if ! has_receipts 'engine/serve'; then exit 77; fi
start_engine main --appendonly yes --appendfsync always
run 'weir engine install' "$weir" engine install "$(url_of main)"
ends 0

cat >weir.yaml <<END
engine: {url: "$(url_of main)", nodes: 1, deadline: 1s} # so that a machine that is busy is not away
texts: on
limits:
  api:    {limit: 5/h, key: [tenant]}
  many:   {limit: 1000/year} # not one comes back meanwhile
  both:   {limit: "10 requests/h; 100 tokens/h", key: [tenant], away: closed}
  open:   {limit: 2/h, away: open}
  closed: {limit: 2/h, away: closed}
  tried:  {limit: 1/h, shadow: true}
  login:  {limit: 1/h, key: [address], exempt: [10.0.0.0/8]}
  here:   {limit: "2/h", engine: off}
  back:   {limit: "2 concurrent lease=1h; 100/h", key: none}
  warm:   {limit: "2/s warmup=10s", engine: off}
overrides: {login: {192.0.2.1: 3/h, 192.0.2.2: unlimited}}
END
run 'the file' "$weir" serve weir.yaml --check
ends 0
sed 's/^texts: on//' weir.yaml >named.yaml
run 'the file without texts' "$weir" serve named.yaml --check
ends 0
says out 'texts: off: limits are kept in an engine'
start_serve one weir.yaml --threads 2
start_serve two weir.yaml --threads 2

# ---- one limit for both, by name and by text ----
for turn in one two one two one; do takes allow $turn api acme; done
takes deny one api acme
takes deny two api acme
takes allow two api other
for turn in two one two; do takes allow $turn 3/h user:42; done
takes deny one 3/h user:42
takes deny two 3/h user:42
what='keys in the engine'
to main KEYS '{weir:*|*}' | sort >out
printf '%s\n' '{weir:api|acme}' '{weir:api|other}' '{weir:|user:42}' | sort >expected
same out expected

# ---- also when both are asked at once, many times: 1000 pass, not one more ----
printf 'WEIR.TAKE many k\n%.0s' {1..900} >questions
for turn in {1..2}; do
    redis-cli -p "${resp_of[one]}" <questions >"answers.one.$turn" &
    asking=$!
    redis-cli -p "${resp_of[two]}" <questions >"answers.two.$turn"
    wait $asking
done
what='3600 questions of two services'
cat answers.* >out
if [ "$(grep -c '^allow$' out)" != 1000 ]; then
    grep -c '^allow$' out >err
    fail 'not 1000 passed'
fi

# ---- lists, costs, looks, charges, CL.THROTTLE ----
takes allow one both acme COST 1 60
takes deny two both acme COST 1 60
says out '' # the second of the two limits refused
if [ "$(sed -n 2p out)" != 1 ]; then fail 'which limit refused'; fi
takes allow two both acme COST 1 40 PEEK
takes allow one both acme COST 1 40
takes never one both acme COST 1 101
run 'CL.THROTTLE' redis-cli -p "${resp_of[one]}" CL.THROTTLE throttled 1 30 3600 2
if [ "$(head -n 2 out | tr '\n' ' ')" != '0 2 ' ]; then fail 'not let through'; fi
run 'CL.THROTTLE' redis-cli -p "${resp_of[two]}" CL.THROTTLE throttled 1 30 3600
if [ "$(head -n 2 out | tr '\n' ' ')" != '1 2 ' ]; then fail 'not refused'; fi
run 'WEIR.CHARGE' redis-cli -p "${resp_of[one]}" WEIR.CHARGE api charged 7
takes deny two api charged
run 'WEIR.FORGET' redis-cli -p "${resp_of[two]}" WEIR.FORGET api charged
if [ "$(cat out)" != 1 ]; then fail 'not forgotten'; fi
takes allow one api charged COST 5
what='answers before and behind the one that waits for the engine'
printf 'ECHO before\r\nWEIR.FORGET api nobody\r\nECHO behind\r\nQUIT\r\n' >questions
exec 7<>"/dev/tcp/127.0.0.1/${resp_of[two]}"
cat questions >&7 # printf would send line by line
timeout "$wait_s" cat <&7 | tr -d '\r' | grep -v '^\$' >out
exec 7>&-
printf '%s\n' before :1 behind +OK >expected
same out expected

# ---- what nothing is kept for, and what is kept here ----
for turn in one two one two; do takes allow $turn login 10.1.2.3; done
for turn in one two one two; do takes allow $turn login 192.0.2.2; done
for turn in one two one; do takes allow $turn login 192.0.2.1; done
takes deny two login 192.0.2.1
for turn in one two; do takes allow $turn tried k; done
for turn in one one two two; do takes allow $turn here k; done
for turn in one two; do takes deny $turn here k; done
for turn in one two; do takes allow $turn warm k; done
if to main KEYS '*' | grep -E 'here|warm|unlimited'; then fail 'in the engine is what should not be there'; fi

# ---- receipts: what one let through either settles, once, with the secret that the engine keeps ----
settles() # ANSWER SERVICE RECEIPT N
{
    run "WEIR.SETTLE at $2" redis-cli -p "${resp_of[$2]}" WEIR.SETTLE "$3" "$4"
    if [ "$(cat out)" != "$1" ]; then fail "not $1"; fi
}

takes allow one api settled COST 5
receipt=$(sed -n 7p out)
takes deny two api settled
settles 1 two "$receipt" 2
settles 0 one "$receipt" 0
takes allow one api settled COST 3
takes deny two api settled
run 'a receipt that was changed' redis-cli -p "${resp_of[one]}" WEIR.SETTLE "${receipt/settled/sottled}" 0
says out 'BADRECEIPT'
what='the secret is one that was made at random'
to main GET 'receipts:{weir:}' >out
grep -qxE '[0-9a-f]{64}' out || fail 'it is not'
to main TTL 'receipts:{weir:}' >out
if [ "$(cat out)" != -1 ]; then fail 'it is forgotten'; fi
# Another one, as doc/operate.md has it: who does not know it yet reads it again, and the one before is valid still.
takes allow one api rotated COST 5
receipt=$(sed -n 7p out)
rotation=$(sed -n "s/^    \(redis-cli SET 'receipts\)/\1/p" "$tree/doc/operate.md")
what='a new secret by the line of doc/operate.md'
eval "${rotation//redis-cli/redis-cli -p ${engine_port[main]}}" >out
says out OK
newer=$(to main GET 'receipts:{weir:}')
settles 1 two "$receipt" 4
# Read again by who settles; who signs does so within a minute, or when it starts.
start_serve late weir.yaml --threads 1
takes allow late api rotated
receipt=$(sed -n 7p out)
settles 1 two "$receipt" 0
# Lost: there is another one, and receipts of before are refused.
to main DEL 'receipts:{weir:}' >/dev/null
start_serve later weir.yaml --threads 1
takes allow later api rotated
run 'a receipt of before' redis-cli -p "${resp_of[later]}" WEIR.SETTLE "$receipt" 0
says out 'BADRECEIPT this is no receipt of this service, nor was it signed with the secret that its engine keeps now'
to main SET 'receipts:{weir:}' "$newer" >/dev/null
stop_serve late
stop_serve later
# A user that may not read it: each service settles its own, and it is told.
to main ACL SETUSER few on '>few' '~{weir:*' '+@all' >/dev/null
sed "s|redis://|redis://few:few@|" weir.yaml >few.yaml
start_serve few few.yaml --threads 1
takes allow few api few COST 5
receipt=$(sed -n 7p out)
settles 1 few "$receipt" 2
until_true grep -q 'the secret of receipts, receipts:{weir:}, cannot be read: NOPERM' serve.few
stop_serve few

# ---- slots: held by one's client, renewed and released by whichever service it asks ----
takes allow one back x
id=$(tail -n 1 out)
takes allow two back y
takes deny one back x
what='slots in an engine'
holds() # 0|1 SERVICE VERB ID
{
    redis-cli -p "${resp_of[$2]}" "WEIR.$3" back x "$4" >out
    if [ "$(cat out)" != "$1" ]; then fail "$2: $3 $4 is not $1"; fi
}
holds 1 two RENEW "$id"
takes deny two back x
holds 1 two RELEASE "$id"
holds 0 one RELEASE "$id"
takes allow one back x COST 0 5
if [ -n "$(tail -n 1 out)" ]; then fail 'what takes no slot has an id'; fi
takes allow one back x
receipt=$(sed -n 7p out)
settles 1 two "$receipt" 0
takes allow two back x
holds 1 one RELEASE "$(tail -n 1 out)"
takes allow two back x COST 1 PEEK
if [ "$(sed -n 3p out)" != 0 ]; then fail 'one of two is held still'; fi
fetch 200 one /v1/take -d limit=back
says head '"back-1";q=2;qu="concurrent-requests", "back-2";q=100;w=3600'
fetch 200 two /v1/release -d limit=back -d "id=$(jq -r .id body)"
json body '.released == true'

# ---- HTTP ----
fetch 200 one /v1/take -d limit=2/h -d key=web
says out '"remaining":1'
fetch 200 two /v1/take -d limit=2/h -d key=web
taken=$(jq -r .receipt <out)
fetch 429 one /v1/take -d limit=2/h -d key=web
says head 'Retry-After: '
says head 'RateLimit: "default";r=0;t='
fetch 200 two /v1/settle --data-urlencode "receipt=$taken" -d actual=0
says out '"settled":true'
fetch 200 two '/auth?limit=2/h&key=web' -H 'X-Weir-Proxy: 1'
fetch 429 one '/auth?limit=2/h&key=web' -H 'X-Weir-Proxy: 1'
fetch 200 one /v1/forget -d limit=2/h -d key=web
fetch 200 two /v1/take -d limit=2/h -d key=web -d cost=2
fetch 200 two /v1/take -d limit=both -d tenant=web -d cost=1,50
says head 'RateLimit: "both-1";r=9'

# ---- what an engine does not keep ----
run 'a text' redis-cli -p "${resp_of[one]}" WEIR.TAKE '10/s warmup=10s' k
says out 'BADLIMIT'
run 'a name' redis-cli -p "${resp_of[one]}" WEIR.LIMIT SET api '10/s warmup=10s'
says out 'BADLIMIT'
run 'a name that is kept here' redis-cli -p "${resp_of[one]}" WEIR.LIMIT SET here '10/s warmup=10s'
says out 'OK'

# ---- figures ----
fetch 200 one /v1/top
json out '[.[] | select(.limit == "api" and .key == "acme").denied] == [1]'
fetch 200 one /metrics
says out 'weir_engine_foreign_values_total 0'
takes allow one api foreign
foreign=$(to main KEYS '*foreign*')
to main DEL "$foreign" >/dev/null
to main RPUSH "$foreign" "somebody else's" >/dev/null
run 'a foreign value' redis-cli -p "${resp_of[one]}" WEIR.TAKE api foreign
wait_for 'it is told with its key' grep -qF "WEIRVALUE what is at $foreign was not written by weir" serve.one
if [ "$(to main TYPE "$foreign")" != list ]; then fail 'it is written over'; fi
to main DEL "$foreign" >/dev/null
fetch 200 one /metrics
says out 'weir_engine_foreign_values_total 1'
says out 'weir_engine_up 1'
says out 'weir_engine_decisions_total{from="engine"}'
grep -qE '^weir_engine_round_trip_seconds_sum [0-9.]*[1-9]' out || fail 'no round trip was measured'
figure() # NAME: of the service that was asked last
{
    sed -n "s/^$1 //p" out
}
what='as many round trips as answers of the engine'
answers=$(figure 'weir_engine_decisions_total{from="engine"}')
if [ "$(figure weir_engine_round_trip_seconds_count)" != "$answers" ]; then fail "not $answers"; fi
fetch 200 two /v1/stats
json out ".engine.away == false and .engine.name == \"$(url_of main)\""

# ---- a reload that changes the settings keeps what was used ----
sed -i 's/deadline: 1s/deadline: 900ms/' weir.yaml
kill -HUP "${serve_of[one]}" "${serve_of[two]}"
for turn in one two; do
    until_true grep -q 'reloaded: 10 limits$' "serve.$turn"
    takes deny $turn api acme
    takes deny $turn 3/h user:42
done

# ---- away: each limit as the file says, and it is told ----
kill_engine main
is_away() # SERVICE 0|1
{
    curl -sS -o figures "http://127.0.0.1:${http_of[$1]}/metrics" && grep -qx "weir_engine_up $((1 - $2))" figures
}

# Nobody asks: it is noticed by the ticks of a second.
until_true is_away one 1
for turn in {1..3}; do takes allow one open k; done
takes deny one closed k
takes allow one api fresh
if [ "$(sed -n 7p out)" != '' ]; then fail 'a receipt that nobody can settle'; fi
run 'WEIR.FORGET' redis-cli -p "${resp_of[one]}" WEIR.FORGET api acme
says out 'ENGINE'
fetch 503 one /v1/forget -d limit=2/h -d key=web
what='what was decided meanwhile, by limit (api: and of what is foreign), and why it is away'
curl -sS -o out "http://127.0.0.1:${http_of[one]}/metrics"
for line in '{limit="open",verdict="allow"} 3' '{limit="closed",verdict="deny"} 1' '{limit="api",verdict="allow"} 2' \
    '{limit="both",verdict="allow"} 0'; do
    says out "weir_engine_fallback_decisions_total$line"
done
says out 'weir_engine_outages_total{reason="connection"} 1'
says out 'weir_engine_queue_full_total 0'
run 'WEIR.SETTLE' redis-cli -p "${resp_of[one]}" WEIR.SETTLE "$receipt" 1
says out 'BADRECEIPT'
says serve.one ': away: '
fetch 200 one /v1/stats
json out '.engine.away == true'
restart_engine main
until_back() # SERVICE
{
    redis-cli -p "${resp_of[$1]}" WEIR.TAKE 3/h noticed >/dev/null
    is_away "$1" 0
}
until_true is_away one 0
says serve.one ': back'
until_true until_back two # whose connection has ended: it finds out when it asks
takes deny one api acme
takes deny two api acme
stop_serve one
stop_serve two

# ---- who is there is heard, though nobody asks: each one's share is a half then ----
sed "s|, nodes: 1,|,|" weir.yaml >heard.yaml
to main DEL '{weir:}:nodes' >/dev/null # who had no connection when it stopped would be counted for a minute
start_serve three heard.yaml --threads 2
start_serve four heard.yaml --threads 2
says serve.three "; state in $(url_of main), what is not kept there in memory only"
hears_two() # SERVICE
{
    curl -sS -o figures "http://127.0.0.1:${http_of[$1]}/metrics" && grep -qx 'weir_engine_nodes 2' figures
}
what='services that nobody asks hear of each other'
for turn in three four; do until_true hears_two $turn; done
what='a service that nobody asks finds out that the engine is away, and that it is back'
kill_engine main
for turn in three four; do until_true is_away $turn 1; done
restart_engine main
for turn in three four; do until_true is_away $turn 0; done
says serve.three ': back: '
stop_serve three
stop_serve four

# ---- a busy key: most answers come from leases, and none too many ----
burst=$(of_size 10000 100000) questions=$((burst * 6 / 5))
cat >leased.yaml <<EOF
engine: {url: "$(url_of main)", deadline: 1s, lease: 10s}
limits: {api: $burst/year}
EOF
start_serve leased leased.yaml
allows() # how many of the questions passed
{
    yes 'WEIR.TAKE api busy' | head -n $questions | redis-cli -p "${resp_of[leased]}" | grep -c '^allow'
}
what='leases of weir serve'
allows >out
if [ "$(cat out)" -gt $((burst + 1)) ] || [ "$(cat out)" -lt $((burst * 49 / 50)) ]; then
    fail "$(cat out) of $burst passed"
fi
fetch 200 leased /metrics
leased=$(sed -n 's/^weir_engine_decisions_total{from="lease"} //p' out)
if [ "$leased" -lt $((questions / 2)) ]; then fail "$leased of $questions answers came from leases"; fi
stop_serve leased

# ---- an engine that stands still: who asks it waits, and nobody else ----
cat >still.yaml <<END
engine: {url: "$(url_of main)", nodes: 1, deadline: 1s, away: closed}
limits: {far: 1000/h, here: {limit: 1000/h, engine: off}}
END
start_serve still still.yaml --threads 1
printf '%s\n' :997 :995 +PONG :996 +OK >expected

stand_still() # KEY
{
    takes allow still far before
    pause_engine main
    exec 7<>"/dev/tcp/127.0.0.1/${resp_of[still]}"
    printf 'WEIR.TAKE far %s COST 3\r\nWEIR.TAKE here %s COST 5\r\nPING\r\nWEIR.TAKE far %s\r\n' "$1" "$1" "$1" >&7
    exec 8<>"/dev/tcp/127.0.0.1/${resp_of[still]}" # closes while it waits
    printf 'WEIR.TAKE far gone\r\n' >&8
    exec 8>&-
    takes allow still here other # while the engine stands still: one thread has to answer
    fetch 200 still /healthz
    what='nothing is answered before the engine is back'
    if IFS= read -r -t 0.01 line <&7; then early=$line; fi
    resume_engine main
    printf 'QUIT\r\n' >&7
    timeout "$wait_s" cat <&7 | tr -d '\r' | grep -E '^(:99|\+)' >out
    exec 7>&-
}

# What corrects waits as well: nobody else does.
correct_still() # KEY
{
    takes allow still far "$1" COST 5
    receipt=$(sed -n 7p out)
    pause_engine main
    exec 7<>"/dev/tcp/127.0.0.1/${resp_of[still]}" 8<>"/dev/tcp/127.0.0.1/${resp_of[still]}"
    printf 'WEIR.SETTLE "%s" 2\r\n' "$receipt" >&7
    printf 'WEIR.FORGET far gone\r\n' >&8
    takes allow still here other
    fetch 200 still /healthz
    if IFS= read -r -t 0.01 line <&7; then early=$line; fi
    if IFS= read -r -t 0.01 line <&8; then early=$line; fi
    resume_engine main
    for at in 7 8; do
        printf 'QUIT\r\n' >&$at
        timeout "$wait_s" cat <&$at
    done | tr -d '\r' >corrected
    exec 7>&- 8>&-
}

# On a machine that is held up for longer than the deadline the policy has answered: it is tried again.
for try in 1 2 3 4 5 6 7 8; do
    early=
    stand_still "k$try"
    if [ -z "$early" ] && cmp -s out expected; then break; fi
    sleep 1
done
what='the answers, in order'
same out expected
printf '%s\n' :1 +OK :1 +OK >expected
for try in 1 2 3 4 5 6 7 8; do
    early=
    correct_still "c$try"
    if [ -z "$early" ] && cmp -s corrected expected; then break; fi
    sleep 1
done
what='settled and forgotten once the engine is back'
same corrected expected
takes allow still far "c$try" COST 0
if [ "$(sed -n 3p out)" != 998 ]; then fail 'not what was settled'; fi
stop_serve still

# ---- the example ----
sed "s|url: .redis://127.0.0.1:6379.|deadline: 1s, url: \"$(url_of main)\"|" \
    "$tree/examples/serve/engine.yaml" >engine.yaml
start_serve example engine.yaml
takes allow example site 192.0.2.7
takes allow example quota acme COST 1000
takes deny example quota acme
takes allow example burst ''
what='keys of the example'
to main KEYS '{weir:*}' | grep -E 'quota|burst' >out
echo '{weir:quota|acme}' >expected
same out expected
stop_serve example

# ---- files that are wrong ----
wrong() # WORDS ENGINE LIMITS
{
    printf 'engine: %s\nlimits: {api: %s}\n' "$2" "$3" >wrong.yaml
    run "engine: $2" "$weir" serve wrong.yaml --check
    ends 2
    says err "$1"
}

wrong 'wrong.yaml:1:16: engine.url: ' '{url: "http://127.0.0.1"}' 1/s
wrong 'wrong.yaml:2:15: limits.api: ' '{url: "redis://127.0.0.1"}' '10/s warmup=10s'
wrong 'engine: off' '{url: "redis://127.0.0.1"}' '10/s warmup=10s'
