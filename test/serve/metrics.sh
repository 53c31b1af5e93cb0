#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# metrics.sh WEIR: /metrics, read by a parser of Prometheus' text that is not ours, says what was asked and answered; no
# key is in it.  /v1/stats and /v1/top say the same.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
needs_python prometheus_client

start_serve
at=http://127.0.0.1:$http
take() # LIMIT KEY TIMES
{
    local i
    for ((i = 0; i < $3; i++)); do
        curl -s -o answer "$at/v1/take" --data-urlencode "limit=$1" --data-urlencode "key=$2"
    done
}

run 'a limit is defined' curl -sf "$at/v1/limits" -d name=api -d limit=3/year
ends 0
take 10/year 'text"key' 12
take api 'acme\secret' 5
curl -s -o answer "$at/v1/take" -d limit=nonsense -d key=x
curl -s -o answer "$at/v1/take" -d limit=2/year -d key=x -d cost=3

curl -sf -D head -o metrics "$at/metrics"
run 'the type of the text' grep -i '^content-type: text/plain; version=0.0.4; charset=utf-8' head
ends 0
run 'another reads it' /usr/bin/python3 "$tree/test/serve/lib/metrics.py" metrics
ends 0
if has_tool promtool; then
    run 'promtool has nothing to say' sh -c 'promtool check metrics <metrics'
    ends 0
else
    skip_part 'promtool check metrics' 'promtool is not here' 'apt-get install prometheus # starts one, too'
fi
run 'no key is in it' grep -E 'acme|secret|text"key' metrics
ends 1
curl -sf -o top.json "$at/v1/top"
curl -sf -o stats.json "$at/v1/stats?since=0"
run 'JSON says the same' /usr/bin/python3 "$tree/test/serve/lib/stats.py" stats.json top.json
ends 0
clean_end
