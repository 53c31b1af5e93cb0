#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# redis_benchmark.sh WEIR: redis-benchmark runs to its end, pipelined or not, and all that it asked for was counted.
. "$(dirname "$0")/lib/start.sh" "$@"
needs redis-benchmark redis-cli
start_serve
requests=20000

benchmark() # ARGUMENT...
{
    run "redis-benchmark $*" redis-benchmark -p "$resp" -n $requests -q "$@"
    ends 0
    if grep -qi 'error' out err; then fail 'it complains'; fi
    says out 'requests per second'
}

benchmark -c 50 -t ping_inline,ping_mbulk
benchmark -c 50 CL.THROTTLE user 15 30 60
benchmark -c 50 -P 16 CL.THROTTLE user 15 30 60
benchmark -c 50 -P 16 -r 100000 CL.THROTTLE user:__rand_int__ 15 30 60
benchmark -c 50 -P 64 -r 100000 WEIR.TAKE '10/s burst=20' user:__rand_int__
benchmark -c 50 -P 16 PING

# One key that nothing comes back to in a year: as many as may have passed, whoever asked.
benchmark -c 50 -P 16 WEIR.TAKE "$((requests * 2))/year" all
run 'what is left' redis-cli -p "$resp" WEIR.TAKE "$((requests * 2))/year" all PEEK
if [ "$(sed -n 3p out)" -gt $((requests + 100)) ] || [ "$(sed -n 3p out)" -lt $((requests - 100)) ]; then
    fail "$(sed -n 3p out) of $((requests * 2)) are left after $requests"
fi
clean_end
