#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# envoy.sh WEIR: the example for Envoy can be read, and weir answers what it makes Envoy ask.  No Envoy is run.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
needs_python yaml
start_serve

# The headers that ext_authz adds, the path of the second listener, that of the health check; and the key's hash.
/usr/bin/python3 - "$examples/envoy.yaml" >asked <<'PYTHON'
import re, sys, yaml
envoy = yaml.safe_load(open(sys.argv[1]))["static_resources"]
chains = [listener["filter_chains"][0]["filters"][0]["typed_config"] for listener in envoy["listeners"]]
authorization = chains[0]["http_filters"][0]["typed_config"]
for header in authorization["http_service"]["authorization_request"]["headers_to_add"]:
    value = header["value"].replace("%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", "192.0.2.1")
    print("header", header["key"] + ":", value)
script = chains[1]["http_filters"][0]["typed_config"]["default_source_code"]["inline_string"]
print("path", re.search(r'":path", "([^"]*)"', script)[1])
route = chains[1]["route_config"]["virtual_hosts"][0]["routes"][0]["route"]
cluster = next(cluster for cluster in envoy["clusters"] if cluster["name"] == route["cluster"])
print("health", cluster["health_checks"][0]["http_health_check"]["path"])
print("hash", route["hash_policy"][0]["header"]["header_name"], cluster["lb_policy"])
print("listener", envoy["listeners"][1]["address"]["socket_address"]["port_value"],
      authorization["http_service"]["server_uri"]["uri"])
PYTHON
says asked 'hash x-weir-key RING_HASH'
says asked 'listener 9350 http://127.0.0.1:9350'
headers=()
# A limit that does not come back while this runs.
while read -r header; do headers+=(-H "$header"); done < <(sed -n 's/^header //p' asked | sed 's|10/s .*|20/day|')
path=$(sed -n 's/^path //p' asked)
for _ in {1..20}; do fetch 200 "${headers[@]}" -H 'Host: localhost' "http://127.0.0.1:$http$path"; done
fetch 429 "${headers[@]}" -H 'Host: localhost' "http://127.0.0.1:$http$path"
fetch 200 -H 'Host: localhost' "http://127.0.0.1:$http$(sed -n 's/^health //p' asked)"
clean_end
