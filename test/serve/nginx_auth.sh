#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx_auth.sh WEIR: a real nginx with the configuration of the examples: as many pass as may, the others get 429 with
# Retry-After, another client is not touched by that, and without weir all pass.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl nginx
if ! nginx -V 2>&1 | grep -q http_auth_request_module; then
    skip_test 'this nginx has no auth_request' 'apt-get install nginx-light'
fi
start_serve

# The example as it is, but for ports, places of files, and a limit that does not come back while this runs.
configuration() # PORT ANOTHER_PORT
{
    sed -e "s/127\.0\.0\.1:8080/127.0.0.1:$1/; s/127\.0\.0\.1:8081/127.0.0.1:$2/" \
        -e "s/127\.0\.0\.1:9348/127.0.0.1:$http/; s|10/s burst=20|20/day|" \
        -e 's/proxy_\(connect\|read\)_timeout .*/proxy_\1_timeout 30s;/' \
        -e "s|^pid [^;]*;|pid $room/pid; error_log $room/error.log notice;|" \
        -e "s|access_log off;|access_log off; client_body_temp_path $room/request; proxy_temp_path $room/proxy; \\
            fastcgi_temp_path $room/fastcgi; uwsgi_temp_path $room/uwsgi; scgi_temp_path $room/scgi;|" \
        "${changes[@]}" "$examples/nginx.conf"
}
changes=()

# Somebody else may have been faster to take the port.
start_nginx()
{
    local turn
    what=nginx
    rm -f pid
    for turn in {1..5}; do
        port=$(free_port)
        configuration "$port" "$(free_port)" >nginx.conf
        nginx -p "$room" -e "$room/error.log" -c "$room/nginx.conf" >out 2>err &
        nginx=$!
        wait_for 'nginx starts' nginx_has_started
        if [ -s pid ]; then
            depends_on "$nginx" nginx "$room/error.log"
            return
        fi
        if ! grep -q 'Address already in use' error.log; then break; fi
    done
    cat error.log >>err
    fail 'it does not start'
}

nginx_has_started()
{
    [ -s pid ] || has_ended "$nginx"
}

get() # STATUS CURL_ARGUMENT...
{
    fetch "$@" "http://127.0.0.1:$port/"
}

start_nginx
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
    changes=(-e "s/FAIL_OPEN { default 1; }/FAIL_OPEN { default $open; }/" -e 's/"20.day"/none/')
    start_nginx
    get 403
    stop "$nginx"
    changes=("${changes[@]:0:2}")
    start_nginx
    get 200
    clean_end
    get $((open == 1 ? 200 : 500))
    stop "$nginx"
done
