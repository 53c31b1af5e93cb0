#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_memory.sh WEIR: a client takes as much memory as weir-replay(1) says, however many permits a sliding-log has.
. "$(dirname "$0")/lib/check.sh" "$@"
needs awk python3
if grep -aqE '__(asan|tsan|msan)_init' "$weir"; then
    skip_test "the memory of sanitizers is not weir's" 'tools/test test runs it in the release build'
fi
clients=100000

# A line from each client: of these many, within a minute.
make_log() # CLIENTS FORMAT_OF_TIME
{
    awk -v clients="$1" -v time="$2" 'BEGIN {
        for (i = 0; i < clients; i++) {
            printf "10.%d.%d.%d [" time "]\n", i / 65536, i / 256 % 256, i % 256, 1700000000 + i * 50 / clients
        }
    }'
}
for kind in msec:%.3f seconds:%d; do
    make_log $clients "${kind#*:}" >"few-${kind%:*}.log"
    make_log $((2 * clients)) "${kind#*:}" >"many-${kind%:*}.log"
done

# In bytes, at its peak: so many clients that it is more than Python has, which the system counts as well.
peak() # LIMIT LOG
{
    run "replay '$1' $2" python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(status)' "$weir" replay "$1" --format "$format" "$2"
    ends 0
    cat out
}

takes_at_most() # BYTES_OF_A_CLIENT LIMIT KIND
{
    local many few each
    many=$(peak "$2" "many-$3.log") || fail "$many"
    few=$(peak "$2" "few-$3.log") || fail "$few"
    each=$(((many - few) / clients))
    what="'$2', $3"
    echo "$what: $each bytes for each client"
    if [ $each -gt "$1" ]; then fail "$each bytes for a client with one request, at most $1 are promised"; fi
}

format='$remote_addr [$msec]'
for limit in 100/min '100/min algorithm=sliding-log' '10000/min algorithm=sliding-log'; do
    takes_at_most 300 "$limit" msec
    takes_at_most 400 "$limit" seconds
done
takes_at_most 400 '10000/min algorithm=sliding-log; 100/s algorithm=sliding-log' msec
