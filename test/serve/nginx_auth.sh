#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx_auth.sh WEIR: a real nginx with the configuration of the examples: as many pass as may, the others get 429 with
# Retry-After, another client is not touched by that, and without weir all pass.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
. "$tree/test/serve/lib/nginx.sh"
start_serve

get() # STATUS CURL_ARGUMENT...
{
    fetch "$@" "http://127.0.0.1:$port/"
}

# By the service of this test.
start_limited() # LIMIT [SED]
{
    start_nginx nginx.conf -e "s/127\.0\.0\.1:9348/127.0.0.1:$http/; s|10/s burst=20|$1|" -e "${2-}"
}

start_limited 20/day # which does not come back while this runs
for left in {19..0}; do
    get 200
    says out hello
    if ! header RateLimit | grep -q "r=$left;"; then fail "$left are left, but RateLimit: $(header RateLimit)"; fi
done
for _ in {1..5}; do
    get 429
    retry_after 4000 4752
done
get 200 --interface 127.0.0.2

# Many at once.
urls=()
for _ in {1..60}; do urls+=(-o /dev/null "http://127.0.0.1:$port/"); done
run '60 requests, 16 at a time' curl -sS --parallel --parallel-max 16 --interface 127.0.0.4 -w '%{http_code}\n' \
    "${urls[@]}"
ends 0
if [ "$(sort out | uniq -c | xargs)" != '20 200 40 429' ]; then fail "not 20 of 60: $(sort out | uniq -c | xargs)"; fi

# What the client says changes nothing.
get 429 -H 'X-Weir-Key: another' -H 'X-Weir-Limit: unlimited' -H 'X-Weir-Cost: 0'
get 429 -X POST -d 'a body'

# ---- weir goes: all pass; weir comes back on its port: it counts again ----
clean_end
get 200
get 200 --interface 127.0.0.3
start_other --resp 127.0.0.1:0 --http "127.0.0.1:$http"
limited_again()
{
    get 200
    [ -n "$(header RateLimit)" ]
}
wait_for 'nginx finds it again' limited_again
clean_end
stop "$nginx"

# ---- the verdict never, and weir away, with either state of FAIL_OPEN ----
for open in 1 0; do
    start_serve
    start_limited none "s/FAIL_OPEN { default 1; }/FAIL_OPEN { default $open; }/"
    get 403
    stop "$nginx"
    start_limited 20/day "s/FAIL_OPEN { default 1; }/FAIL_OPEN { default $open; }/"
    get 200
    clean_end
    get $((open == 1 ? 200 : 500))
    stop "$nginx"
done
