#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# forward_auth.sh WEIR: the example of Caddy, by a real one where there is one; and that of Traefik, whom curl plays,
# with the headers that its manual tells of and those that the example sets.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
start_serve "$examples/weir.yaml"

# ---- Traefik ----
# X-Forwarded-For and X-Real-Ip are what Traefik sets, since it trusts nobody.
as_traefik() # STATUS ADDRESS CURL_ARGUMENT...
{
    local answer=$1 address=$2
    shift 2
    fetch "$answer" "http://127.0.0.1:$http/auth?limit=site" -H 'X-Forwarded-Method: GET' -H 'X-Forwarded-Proto: http' \
        -H 'X-Forwarded-Host: hello.example' -H 'X-Forwarded-Uri: /?q=1' -H "X-Forwarded-For: $address" \
        -H "X-Real-Ip: $address" -H 'Cookie: a=b' -H 'User-Agent: somebody' "$@"
}
what="the limit of weir.yaml"
if ! grep -q '^ *site: *{limit: "10/s burst=20", key: \[address/64\]}' "$examples/weir.yaml"; then
    fail 'it is another one now: change this test'
fi
clean_end
sed -e 's|10/s burst=20|20/day|' -e '/^ *site:/{p;s/site: .*/shut: {limit: none, key: [address]}/}' \
    "$examples/weir.yaml" >weir.yaml
start_serve weir.yaml
for _ in {1..20}; do as_traefik 200 203.0.113.9; done
as_traefik 429 203.0.113.9
retry_after 4000 4752
as_traefik 200 203.0.113.10
what='never: Traefik passes on what is not 2xx'
fetch 403 "http://127.0.0.1:$http/auth?limit=shut" -H 'X-Forwarded-Method: GET' -H 'X-Forwarded-For: 203.0.113.9' \
    -H 'X-Real-Ip: 203.0.113.9'
what='what the client says himself'
as_traefik 400 203.0.113.9 -H 'X-Weir-Limit: unlimited'
as_traefik 400 203.0.113.9 -H 'X-Weir-Key: another'
as_traefik 400 203.0.113.9 -H 'X-Weir-Cost: 0'
for n in {1..20}; do as_traefik 200 "2001:db8::$n"; done
as_traefik 429 2001:db8::ffff
as_traefik 200 2001:db8:0:1::1
clean_end

# ---- Caddy ----
if ! has_tool caddy; then
    skip_part 'the example of Caddy' 'caddy is not here' 'apt-get install caddy'
    exit 0
fi
export HOME=$room XDG_DATA_HOME=$room XDG_CONFIG_HOME=$room

# $caddy and $web.  Somebody else may have been faster to take the port.
start_caddy() # SED_ARGUMENT...: what is changed of the example, besides ports
{
    local turn port
    what=caddy
    for turn in {1..5}; do
        port=$(free_port)
        sed -e "s/127\.0\.0\.1:8080/127.0.0.1:$port/; s/127\.0\.0\.1:9348/127.0.0.1:$http/" "$@" "$examples/Caddyfile" \
            >Caddyfile
        caddy run --config Caddyfile --adapter caddyfile >caddy.err 2>&1 &
        caddy=$!
        wait_for 'caddy listens' caddy_has_started "$port"
        web=http://127.0.0.1:$port/
        if ! has_ended "$caddy"; then
            depends_on "$caddy" caddy "$PWD/caddy.err"
            return
        fi
        if ! grep -q 'address already in use' caddy.err; then break; fi
    done
    cp caddy.err err
    fail 'it does not start'
}

caddy_has_started() # PORT
{
    has_ended "$caddy" || listens "$1"
}

twenty() # of this client pass, whatever else he says
{
    for _ in {1..20}; do
        fetch 200 "$web"
        says out hello
    done
    fetch 429 "$web"
    retry_after 4000 4752
    fetch 429 "$web" -H 'X-Forwarded-For: 1.2.3.4' -H 'X-Real-IP: 1.2.3.4' -H 'X-Weir-Cost: 0'
    fetch 200 "$web" --interface 127.0.0.2
}

start_serve
start_caddy -e 's|10/s burst=20|20/day|'
twenty
fetch 429 "$web" -H 'X-Weir-Key: another' -H 'X-Weir-Limit: unlimited'
clean_end
fetch 502 "$web"
stop "$caddy"

# The verdict never.
start_serve
start_caddy -e 's|10/s burst=20|none|'
fetch 403 "$web"
stop "$caddy"
clean_end

# The same by a limit with a name, which counts addresses.
start_serve weir.yaml
start_caddy -e 's|"10/s burst=20"|site|' -e '/header_up X-Weir-Key/d'
twenty
fetch 400 "$web" -H 'X-Weir-Key: another'
clean_end
stop "$caddy"
exit 0
