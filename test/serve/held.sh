#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# held.sh WEIR: slots that clients hold, over kill -9 of the service: with --state it has them still, and never lets
# more run at once; without it has forgotten them, once for each restart.  And by redis-cli and curl, as people use it.
. "$(dirname "$0")/lib/start.sh" "$@"
needs python3 redis-cli curl jq

slots=5 lease=2
printf 'listen: {resp: none, http: none, unix: %s}\nlimits: {held: "%s concurrent lease=%ss"}\n' "$room/socket" \
    $slots $lease >held.yaml

kill_now()
{
    may_end "$pid"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
}

ask() { redis-cli -s "$room/socket" "$@"; }

is_free() # COUNT
{
    [ "$(ask WEIR.TAKE held backend COST 0 PEEK 2>/dev/null | sed -n 3p)" = "$1" ]
}

# ---- killed while many take, renew and release, with its state in a file ----
start_other held.yaml --state state
mkfifo told
python3 "$tree/test/serve/clients/held.py" "$room/socket" $slots $lease <told >held.out 2>err &
holders=$!
exec 7>told
for ((kills = $(of_size 8 100); kills > 0; kills--)); do
    sleep "0.$((RANDOM % 8 + 1))"
    kill_now
    start_other held.yaml --state state
done
echo >&7
what='holders over kill -9, with a state'
wait_end "$holders" 'they end'
ends 0
read -r grants most stale <held.out
echo "$grants grants, at most $most of $slots at once, $stale stale too early"
if [ "$most" -gt $slots ]; then fail "$most were held at once"; fi
if [ "$grants" -lt $((2 * slots)) ]; then fail "only $grants grants"; fi
if [ "$stale" != 0 ]; then fail "$stale ids were stale before their lease was over"; fi
wait_for 'all slots are back' is_free $slots

# ---- the same, one step at a time: the bound with a state, reached; and without: once more N for each restart ----
kill_now
sed -i "s/lease=${lease}s/lease=1h/" held.yaml # so that none ends meanwhile
start_other held.yaml --state state
ask WEIR.TAKE held backend COST $slots >out
id=$(tail -n 1 out)
kill_now
start_other held.yaml --state state
what='a restart with its state'
ask WEIR.TAKE held backend >out
says out deny
if [ "$(ask WEIR.RENEW held backend "$id")" != 1 ]; then fail 'the id is not known any more'; fi
if [ "$(ask WEIR.RELEASE held backend "$id")" != 1 ]; then fail 'the id cannot be released'; fi
if ! is_free $slots; then fail 'not all are back'; fi
kill_now

start_other held.yaml
what='a restart without a state'
ask WEIR.TAKE held backend COST $slots >out
id=$(tail -n 1 out)
kill_now
start_other held.yaml
ask WEIR.TAKE held backend COST $slots >out
says out allow
ask WEIR.TAKE held backend >out
says out deny
if [ "$(ask WEIR.RENEW held backend "$id")" != 0 ]; then fail 'an id of before the restart is known'; fi
if [ "$(ask WEIR.RELEASE held backend "$id")" != 0 ]; then fail 'an id of before the restart frees another'; fi
clean_end

# ---- by hand ----
printf 'limits: {back: {limit: "2 concurrent lease=1h", key: none}}\n' >weir.yaml
start_serve weir.yaml
url=http://127.0.0.1:$http
what='curl'
fetch 200 -d limit=back "$url/v1/take"
id=$(jq -r .id body)
if [ "$(header RateLimit-Policy)" != '"back";q=2;qu="concurrent-requests"' ]; then fail "$(header RateLimit-Policy)"; fi
if [ "$(header RateLimit)" != '"back";r=1' ]; then fail "$(header RateLimit)"; fi
fetch 200 --json '{"limit": "back"}' "$url/v1/take"
fetch 429 -d limit=back "$url/v1/take"
retry_after 3500 4000
header RateLimit | grep -qE '^"back";r=0;t=3[56][0-9]{2}$' || fail "$(header RateLimit)"
fetch 200 --json "{\"limit\": \"back\", \"id\": \"$id\"}" "$url/v1/renew"
json body '.renewed == true'
fetch 200 -d limit=back -d "id=$id" "$url/v1/release"
json body '.released == true'
fetch 200 -d limit=back -d "id=$id" "$url/v1/release"
json body '.released == false'
redis-cli -p "$resp" WEIR.TAKE back x >out
if [ "$(redis-cli -p "$resp" WEIR.RELEASE back x "$(tail -n 1 out)")" != 1 ]; then fail 'redis-cli releases nothing'; fi
fetch 400 -H 'X-Weir-Proxy: 1' "$url/auth?limit=back&status=403"
says body 'expected a limit that is not concurrent'
clean_end
