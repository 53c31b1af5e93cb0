#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# curl.sh WEIR: the HTTP of the manual, by curl; and the examples that speak it: shell, Python, Go.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl jq
start_serve
web=http://127.0.0.1:$http

# ---- POST /v1/take ----
fetch 200 "$web/v1/take" -d '{"limit": "3/h", "key": "deploy"}' -H 'Content-Type: application/json'
json out '.verdict == "allow" and .remaining == 2 and .retry_ns == 0 '
if has_receipts 'serve/curl: receipts'; then json out '.receipt | type == "string"'; fi
fetch 200 "$web/v1/take" -d limit=3/h -d key=deploy -d cost=2
json out '.verdict == "allow" and .remaining == 0'
if [ -z "$(header RateLimit)" ] || [ -z "$(header RateLimit-Policy)" ]; then fail 'no RateLimit'; fi
fetch 429 "$web/v1/take" -d limit=3/h -d key=deploy
json out '.verdict == "deny" and .receipt == null and .retry_ns > 0 and .retry_ns <= 1200e9'
retry_after 1 1320
fetch 200 "$web/v1/take" -d limit=3/h -d key=another
fetch 400 "$web/v1/take" -d limit=10/ -d key=deploy
says out 'expected a period'
fetch 400 "$web/v1/take" -d limit=3/h
fetch 405 "$web/v1/take"
fetch 404 "$web/v2/take"

# ---- settle, forget, limits ----
fetch 200 "$web/v1/take" -d 'limit=100k tokens/day' -d key=acme -d cost=90000
receipt=$(jq -r .receipt body)
fetch 429 "$web/v1/take" -d 'limit=100k tokens/day' -d key=acme -d cost=20000
if has_receipts 'serve/curl: settle'; then
    fetch 200 "$web/v1/settle" --data-urlencode "receipt=$receipt" -d actual=10
    fetch 200 "$web/v1/take" -d 'limit=100k tokens/day' -d key=acme -d cost=99000
else
    fetch 400 "$web/v1/settle" --data-urlencode "receipt=$receipt" -d actual=10
    fetch 400 "$web/v1/settle" -d receipt=any -d actual=10
    says out 'this weir was built without OpenSSL: it has no receipts'
fi
fetch 200 "$web/v1/forget" -d 'limit=100k tokens/day' -d key=acme
fetch 200 "$web/v1/take" -d 'limit=100k tokens/day' -d key=acme -d cost=100000
fetch 200 "$web/v1/forget" -d 'limit=100k tokens/day' -d key=acme
fetch 200 "$web/v1/charge" -d 'limit=100k tokens/day' -d key=acme -d cost=50000
fetch 429 "$web/v1/take" -d 'limit=100k tokens/day' -d key=acme -d cost=60000
fetch 200 "$web/v1/limits"
fetch 200 "$web/healthz"
fetch 200 "$web/readyz"
fetch 200 "$web/metrics"
says out '# TYPE'
fetch 200 "$web/v1/top"
json out .
fetch 421 "$web/v1/limits" -H 'Host: evil.example'

# ---- one connection for several, as every client does it ----
run 'twice over one connection' curl -sS -o one -o two -w '%{num_connects}\n' "$web/healthz" "$web/healthz"
printf '1\n0\n' >expected
same out expected

# ---- the examples ----
export WEIR=$web
for _ in {1..3}; do
    run 'curl.sh' sh "$examples/curl.sh" 'mail:alice & bob' sh -c 'echo sent; exit 7'
    ends 7
    says out sent
done
run 'curl.sh, refused' sh "$examples/curl.sh" 'mail:alice & bob' echo sent
ends 75
says err 'refused: again in 1'
silent out
# The verdict never, a mistake, and weir away, with either state of FAIL_OPEN.
sed 's/^FAIL_OPEN=false/FAIL_OPEN=true/' "$examples/curl.sh" >open.sh
if cmp -s open.sh "$examples/curl.sh"; then fail 'no switch'; fi
for file in "$examples/curl.sh" open.sh; do
    sed 's|limit=3/h|limit=none|' "$file" >never.sh
    run "never, $file" sh never.sh mail echo sent
    ends 75
    says err 'refused: never'
    silent out
    run "a mistake, $file" sh "$file" '' echo sent
    ends 125
    silent out
done
WEIR=http://127.0.0.1:$(free_port)
run 'curl.sh, weir is away' sh "$examples/curl.sh" mail echo sent
ends 125
silent out
run 'curl.sh, weir is away, open' sh open.sh mail echo sent
ends 0
says out sent
WEIR=$web

four() # URL: three an hour
{
    local answer
    for answer in 200 200 200 429; do fetch $answer "$1"; done
    retry_after 1 1320
    says out 'too many requests'
}

sed 's/^FAIL_OPEN = True/FAIL_OPEN = False/' "$examples/http_client.py" >closed.py
if cmp -s closed.py "$examples/http_client.py"; then fail 'no switch'; fi
other() # NAME FILE LIMIT: its address in $other
{
    rm -f "$1.out"
    /usr/bin/python3 "$2" 0 "$3" >"$1.out" 2>"$1.err" &
    listens_as $! "$1.out"
    other=$(cat "$1.out")
}
for file in "$examples/http_client.py" closed.py; do
    other never "$file" none
    fetch 403 "$other"
    other wrong "$file" 10/
    fetch 403 "$other"
done
other open "$examples/http_client.py" 1000000/s
open=$other
other closed closed.py 1000000/s
fetch 200 "$open"
fetch 200 "$other"

/usr/bin/python3 "$examples/http_client.py" 0 3/h >python.out 2>python.err &
python=$!
what='http_client.py'
listens_as $python python.out
four "$(cat python.out)"
stop "$python"

clean_end
fetch 200 "$open" # weir is away: FAIL_OPEN decides
fetch 503 "$other"
