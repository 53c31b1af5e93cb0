#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# http.sh WEIR: who may come in over HTTP, from a file as a server reads it, and what a proxy may not be made to say.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl jq

cat >weir.yaml <<'END'
password: s3cret
admin_password: adm1n
listen: {hosts: [Weir.example]}
limits:
  login: {limit: "2/h", key: [address]}
  tenants: {limit: "60 requests/min; 100 tokens/min", key: [tenant]}
END
start_serve weir.yaml
web=http://127.0.0.1:$http

# ---- password and names ----
fetch 401 "$web/v1/limits"
if [ -z "$(header WWW-Authenticate)" ]; then fail 'no WWW-Authenticate'; fi
fetch 200 "$web/v1/limits" -u anybody:s3cret
json out '[.limits[].name] | sort == ["login", "tenants"]'
fetch 200 "$web/v1/limits" -H 'Authorization: Bearer s3cret'
fetch 401 "$web/v1/limits" -u anybody:secret
fetch 200 "$web/healthz"
fetch 200 "$web/healthz" -H 'Host: weir.example'
fetch 421 "$web/healthz" -H 'Host: evil.example'
fetch 403 "$web/v1/forget" -u a:adm1n -H 'Origin: https://evil.example' -d limit=login -d key=192.0.2.1

# ---- /auth: a client's headers change nothing ----
auth()
{
    local status=$1
    shift
    fetch "$status" "$web/auth?limit=login&status=403" -H 'X-Weir-Password: s3cret' -H 'Authorization: Basic Yzpj' \
        -H 'Origin: https://shop.example' "$@"
}
auth 200 -H 'X-Real-IP: 192.0.2.1'
auth 200 -H 'X-Real-IP: 192.0.2.1' -H 'X-Forwarded-For: 198.51.100.9'
auth 403 -H 'X-Real-IP: 192.0.2.1' -H 'X-Forwarded-For: 198.51.100.9'
if [ "$(header X-Weir-Status)" != 429 ]; then fail 'X-Weir-Status does not say 429'; fi
retry_after 1 1980
auth 400 -H 'X-Real-IP: 192.0.2.1' -H 'X-Weir-Key: 192.0.2.2'
auth 400 -H 'X-Real-IP: 192.0.2.1' -H 'X-Weir-Limit: unlimited'
auth 400 -H 'X-Real-IP: 192.0.2.1' -H 'X-Real-IP: 192.0.2.2'
auth 400 -H 'X-Real-IP: 192.0.2.1' -H 'X-Weir-Cost: 0'
auth 400
fetch 400 "$web/auth?limit=login" -H 'X-Real-IP: 192.0.2.3' -H 'X-Forwarded-Method: GET'
says out 'X-Weir-Password'

# ---- several limits, each with its header ----
fetch 200 "$web/v1/take" -u a:s3cret -d limit=tenants -d tenant=acme -d cost=1,70
if [ "$(header RateLimit)" != '"tenants-1";r=59;t=1, "tenants-2";r=30;t=1' ]; then fail "$(header RateLimit)"; fi
fetch 429 "$web/v1/take" -u a:s3cret -d limit=tenants -d tenant=acme -d cost=1,70
json out '.limit == 1'
fetch 422 "$web/v1/take" -u a:s3cret -d limit=tenants -d tenant=acme -d cost=1,101
if [ -n "$(header Retry-After)" ]; then fail 'who never passes need not come again'; fi

# ---- a limit that paces says how late a call is: from when it was due, by this script's own clock ----
now() { date +%s%N; }
before_first=$(now)
fetch 200 "$web/v1/take" -u a:s3cret -d 'limit=2/s algorithm=hybrid burst=4' -d key=late
after_first=$(now)
json out '.late_ns == 0'
sleep 1.1
before_second=$(now)
fetch 200 "$web/v1/take" -u a:s3cret -d 'limit=2/s algorithm=hybrid burst=4' -d key=late
after_second=$(now)
least=$((before_second - after_first - 500000000)) most=$((after_second - before_first - 500000000))
json out ".late_ns >= $least and .late_ns <= $most"
late_ns=$(jq .late_ns out)
fetch 200 "$web/metrics" -u a:s3cret
if ! awk -v late_ns="$late_ns" '$1 == "weir_lateness_seconds{limit=\"(text)\"}" { found = $2 * 1e9 - late_ns }
    END { exit !(found * found < 4) }' out; then
    fail 'metrics say another lateness'
fi

# ---- names of limits ----
fetch 401 "$web/v1/limits" -u a:s3cret --json '{"name": "new", "limit": "5/h"}'
fetch 200 "$web/v1/limits" -u a:adm1n --json '{"name": "new", "limit": "5/h"}'
fetch 200 "$web/v1/limits/new" -u a:adm1n -X DELETE
fetch 404 "$web/v1/limits/new" -u a:adm1n -X DELETE
fetch 200 "$web/metrics" -u a:s3cret --head
clean_end
