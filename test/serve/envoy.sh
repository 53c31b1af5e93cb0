#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# envoy.sh WEIR: the example of Envoy is YAML whose parts fit together, and weir answers what it has Envoy ask; curl
# plays Envoy.  Where there is a real one, it looks at the file as well.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
needs_python yaml

# Prints the headers that ext_authz adds, and what the script of the second listener puts in.
cat >look.py <<'PYTHON'
import re
import sys
import yaml

resources = yaml.safe_load(open(sys.argv[1]))["static_resources"]
listeners = {listener["name"]: listener for listener in resources["listeners"]}
clusters = {cluster["name"]: cluster for cluster in resources["clusters"]}


def manager(listener):
    return listener["filter_chains"][0]["filters"][0]["typed_config"]


def filters(listener, name):
    (found,) = [part["typed_config"] for part in manager(listener)["http_filters"] if part["name"].endswith(name)]
    return found


def routes(listener):
    return [route["route"] for host in manager(listener)["route_config"]["virtual_hosts"] for route in host["routes"]]


def ports(cluster):
    assignment = cluster["load_assignment"]
    assert assignment["cluster_name"] == cluster["name"], cluster["name"]
    return [end["endpoint"]["address"]["socket_address"]["port_value"]
            for group in assignment["endpoints"] for end in group["lb_endpoints"]]


for listener in listeners.values():
    assert listener["address"]["socket_address"]["address"] == "127.0.0.1", listener["name"]
    assert manager(listener)["http_filters"][-1]["name"] == "envoy.filters.http.router", listener["name"]
    for route in routes(listener):
        assert route["cluster"] in clusters, route
asks = filters(listeners["site"], "ext_authz")
service = asks["http_service"]
assert service["server_uri"]["cluster"] == "ask"
assert ports(clusters["ask"]) == [listeners["ask"]["address"]["socket_address"]["port_value"]]
assert ports(clusters["weirs"]) == [9351, 9352, 9353]
assert clusters["weirs"]["lb_policy"] == "RING_HASH"
added = {header["key"]: header["value"] for header in service["authorization_request"]["headers_to_add"]}
assert "allowed_headers" not in service["authorization_request"] and "allowed_headers" not in asks
(route,) = routes(listeners["ask"])
assert route["cluster"] == "weirs"
assert [policy["header"]["header_name"] for policy in route["hash_policy"]] == ["x-weir-key"]
assert added["x-weir-key"] == "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
assert manager(listeners["site"])["use_remote_address"] is True
assert asks["failure_mode_allow"] is True
lua = filters(listeners["ask"], "lua")["default_source_code"]["inline_string"]
replaced = dict(re.findall(r'replace\("([^"]+)", "([^"]+)"\)', lua))
print(added["x-weir-limit"], replaced[":path"], replaced[":authority"], sep="\n")
PYTHON
run 'the parts of envoy.yaml' /usr/bin/python3 look.py "$examples/envoy.yaml"
ends 0
{ IFS= read -r limit && IFS= read -r path && IFS= read -r host; } <out
if [ "$limit" != '10/s burst=20' ]; then fail 'it is another limit now: change this test'; fi

start_serve
as_envoy() # STATUS ADDRESS CURL_ARGUMENT...
{
    local answer=$1 address=$2
    shift 2
    fetch "$answer" "http://127.0.0.1:$http$path" -H "Host: $host" -H 'Content-Length: 0' -H 'X-Forwarded-Proto: http' \
        -H "x-weir-limit: ${limit/10\/s burst=20/20\/day}" -H "x-weir-key: $address" "$@"
}
for method in GET POST PUT DELETE PATCH OPTIONS; do as_envoy 200 "192.0.2.$method" -X $method; done
for _ in {1..20}; do as_envoy 200 192.0.2.1 -X POST; done
as_envoy 429 192.0.2.1
retry_after 4000 4752
as_envoy 200 2001:db8::1
fetch 200 "http://127.0.0.1:$http/healthz" -H 'Host: localhost'
what='as it would be asked without the second listener'
fetch 421 "http://127.0.0.1:$http$path" -H 'Host: site.example' -H "x-weir-limit: $limit" -H 'x-weir-key: 192.0.2.1'
clean_end

if has_tool envoy; then
    run 'envoy --mode validate' envoy --mode validate -c "$examples/envoy.yaml"
    ends 0
else
    skip_part 'the example of Envoy' 'envoy is not here' 'apt-get install envoy # of apt.envoyproxy.io'
fi
