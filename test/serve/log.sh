#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# log.sh WEIR: a mistake leaves a trace, on standard error and on the page; refusals do on standard output, where they
# are wanted.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-cli curl jq
what='weir serve'
printf '%s\n' 'limits: {api: 1/h}' 'log: {refused: "5/s"}' >weir.yaml
"$weir" serve weir.yaml --resp 127.0.0.1:0 --http 127.0.0.1:0 >refused.json 2>serve.out &
pid=$!
depends_on "$pid" 'weir serve' "$PWD/serve.out"
wait_for 'it says where it listens' grep -q '^weir: RESP' serve.out
resp=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\).*/\1/p' serve.out)
http=$(sed -n 's|^weir: .*http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' serve.out)

# A typo in nginx, asked for by a hundred clients.
for _ in {1..100}; do curl -s -o body "http://127.0.0.1:$http/auth" -H 'X-Weir-Limit: 10/' -H 'X-Weir-Key: a'; done
wait_for 'the mistake is told' grep -q '^weir: HTTP 400 /auth: limit: expected a period' serve.out
fetch 200 "http://127.0.0.1:$http/v1/stats"
json out '(.mistakes | length) == 1 and (.mistakes[0].text | startswith("HTTP 400 /auth: limit: expected a period"))'
json out '.errors == 100'

yes 'WEIR.TAKE api a' | head -n 101 | redis-cli -p "$resp" >answers
clean_end
if [ "$(grep -c '^weir: HTTP 400' serve.out)" -gt 60 ]; then fail 'it is told for each client'; fi
jq -s . refused.json >out
what=refusals
json out 'length >= 5 and length <= 60 and all(.refused == "api" and .key == "a" and .verdict == "deny")'
