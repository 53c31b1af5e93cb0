# SPDX-License-Identifier: MIT
# bench.sh, sourced from the top of the tree: what the scripts here have in common.
. test/lib/skip.sh
PATH=$PATH:/usr/sbin

machine()
{
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
}

commit()
{
    git describe --always --dirty --exclude='*'
}

on_processor() # NUMBER COMMAND...
{
    local number=$1
    shift
    if command -v taskset >/dev/null && [ "$(nproc --all)" -gt 1 ]; then exec taskset -c "$number" "$@"; fi
    exec "$@"
}

# Starts a redis-server that listens at FOLDER/socket: its process is $engine.  False, when it does not come to answer,
# for the reason at the end of FOLDER/log.  engine_on: the processor, where it is to have one.
engine=
start_engine() # FOLDER [OPTION...]
{
    local folder=$1 end=$((SECONDS + 60)) command=()
    shift
    if [ -n "${engine_on-}" ]; then command=(on_processor "$engine_on"); fi
    ${command[@]+"${command[@]}"} redis-server --port 0 --unixsocket "$folder/socket" --save '' --appendonly no \
        --dir "$folder" "$@" >"$folder/log" 2>&1 &
    engine=$!
    while [ $SECONDS -lt $end ] && kill -0 "$engine" 2>/dev/null; do
        if [ "$(redis-cli -s "$folder/socket" PING 2>/dev/null)" = PONG ]; then return; fi
        sleep 0.05
    done
    return 1
}

# Ends processes, and waits until they have ended.
stop() # PROCESS...
{
    local process
    for process in "$@"; do kill "$process" 2>/dev/null || true; done
    for process in "$@"; do wait "$process" 2>/dev/null || true; done
}
