#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx_gate.sh WEIR: a real nginx whose requests only look, and weir replay that charges what its log gains: who takes
# too much is shut out when that is logged, nobody else is, and passes again when it is paid; the same once more when
# weir serve was killed, and each request that passed is charged or counted as not charged.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
. "$tree/test/serve/lib/nginx.sh"
. "$tree/test/serve/lib/follow.sh"

# As the head of the example says it, for a limit by which a debt is paid within seconds.
limit='2/s burst=4 debt=8'
start_serve
start_nginx nginx-gate.conf -e "s/127\.0\.0\.1:9348/127.0.0.1:$http/; s|10/s burst=20 debt=200|$limit|"
format=$(sed -n "s/.*--format '\([^']*\)'.*/\1/p" "$examples/nginx-gate.conf")
start_replay gate.log "$limit" -F --format "$format" --charge "redis://127.0.0.1:$resp"

passed=0
# As fast as one connection can; how many passed is in $now, and what else nginx said in the file codes.
get() # COUNT ADDRESS
{
    local urls=()
    for _ in $(seq "$1"); do urls+=(-o /dev/null "http://127.0.0.1:$port/"); done
    curl -sS --interface "$2" -w '%{http_code}\n' "${urls[@]}" >codes 2>err
    now=$(grep -c '^200$' codes)
    passed=$((passed + now))
}
passes() # ADDRESS
{
    get 1 "$1"
    [ "$now" = 1 ]
}
quiet() # ADDRESS: no more than its burst in all of this
{
    what="a quiet client, $1"
    if ! passes "$1"; then fail "status $(cat codes)"; fi
}
# Until there is a refusal; what the log had not yet is its excess.
noisy() # ADDRESS
{
    local before=$passed
    what="a noisy client, $1"
    for _ in {1..100}; do
        get 50 "$1"
        if grep -qvx '200\|429' codes; then fail "status $(sort -u codes | xargs)"; fi
        excess=$((passed - before - 4))
        if [ "$now" = 50 ]; then continue; fi
        if [ $excess -lt 0 ]; then fail 'is shut out before its burst is over'; fi
        return
    done
    fail "is not shut out, after $((passed - before)) requests"
}

quiet 127.0.0.3
noisy 127.0.0.2
quiet 127.0.0.3
wait_for 'who was shut out passes when it has paid' passes 127.0.0.2
quiet 127.0.0.3
first=$excess

# ---- weir serve is killed: all pass, and are counted ----
end_process "$pid"
wait_for 'that it is unavailable is told' grep -q 'is unavailable' told
what='without weir serve'
get 50 127.0.0.4
if [ "$now" != 50 ]; then fail "$now of 50 pass"; fi
wait_for 'the log is read on' grep -q '127.0.0.4  2/s' said # a refusal of its own
start_other --resp "127.0.0.1:$resp" --http "127.0.0.1:$http"
wait_for 'that it is back is told' grep -q "is available again; not charged meanwhile: 50 requests" told
noisy 127.0.0.2
wait_for 'and passes when it has paid' passes 127.0.0.2

is_logged()
{
    [ "$(wc -l <gate.log)" = $passed ]
}
wait_for 'each that passed is in the log' is_logged
end_replay
what='each that passed'
cp said out
says said "  $((passed - 50)) requests charged to $limit; not charged or unknown, as the service was unavailable: 50"
echo "the noisy client was shut out after $first and $excess requests more than its burst"
clean_end
stop "$nginx"
