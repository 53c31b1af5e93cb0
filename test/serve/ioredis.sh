#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ioredis.sh WEIR: the client of Node: commands, pipelines, a password, a server that goes and comes back; the example.
. "$(dirname "$0")/lib/start.sh" "$@"
needs node
export NODE_PATH=$tree/test/serve/clients/node_modules
if [ ! -d "$NODE_PATH/ioredis" ]; then skip_test 'ioredis is not here' 'tools/modules test/serve/clients'; fi

printf 'password: open sesame\n' >weir.yaml
resp=$(free_port) # where another one starts when this one was stopped
start_other weir.yaml --resp "localhost:$resp" --http none
has_receipts 'serve/ioredis: a receipt' || export NO_RECEIPTS=1
may_end "$pid" # the client stops it
run 'ioredis' node "$tree/test/serve/clients/ioredis.js" "$weir" "$resp" "$pid"
ends 0
says out done

# ---- the example ----
start_serve
PORT=$resp node "$examples/client.js" 0 '3/h' >node.out 2>node.err &
node=$!
what='the example'
listens_as $node node.out
web=$(sed -n 's/^\(http.*\)$/\1/p' node.out)
sed 's/^const FAIL_OPEN = true;/const FAIL_OPEN = false;/' "$examples/client.js" >closed.js
if cmp -s closed.js "$examples/client.js"; then fail 'no switch'; fi
other() # NAME FILE LIMIT: its address in $other
{
    rm -f "$1.out"
    PORT=$resp node "$2" 0 "$3" >"$1.out" 2>"$1.err" &
    listens_as $! "$1.out"
    other=$(sed -n 's/^\(http.*\)$/\1/p' "$1.out")
}
for file in "$examples/client.js" closed.js; do
    other "never" "$file" none
    fetch 403 "$other"
    other "wrong" "$file" 10/
    fetch 403 "$other"
done
other closed closed.js 1000000/s
fetch 200 "$other"
for answer in 200 200 200 429; do fetch $answer "$web"; done
retry_after 1 1320
kill -STOP "$pid" # it takes questions, and says nothing
fetch 200 "$web"
fetch 503 "$other"
kill -CONT "$pid"
clean_end
fetch 200 "$web" # weir is away: FAIL_OPEN decides
fetch 503 "$other"
stop "$node"
exit 0
