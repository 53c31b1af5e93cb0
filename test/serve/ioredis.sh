#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ioredis.sh WEIR: the client of Node: commands, pipelines, a password, a server that goes and comes back; the example.
. "$(dirname "$0")/lib/start.sh" "$@"
needs node
export NODE_PATH=$tree/test/serve/clients/node_modules
if [ ! -d "$NODE_PATH/ioredis" ]; then
    echo 'ioredis is not here: tools/clients gets it, with a network'
    exit 77
fi

printf 'password: open sesame\n' >weir.yaml
start_serve weir.yaml
run 'ioredis' node "$tree/test/serve/clients/ioredis.js" "$weir" "$resp" "$pid"
ends 0
says out done

# ---- the example ----
start_serve
PORT=$resp node "$examples/client.js" 0 '3/h' >node.out 2>&1 &
node=$!
what='the example'
wait_for 'it listens' grep -q ^http node.out
web=$(sed -n 's/^\(http.*\)$/\1/p' node.out)
for answer in 200 200 200 429; do fetch $answer "$web"; done
retry_after 1 1320
clean_end
fetch 200 "$web" # weir is away, and it fails open
stop "$node" 2>/dev/null
exit 0
