#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# together.sh TREE: processes of all languages on one table hold one limit together: exactly 100 of their calls pass.
# After the tests of the bindings, which build what is run here; a language that is not built is left out, and said.
set -euo pipefail
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
built=$1/build/bindings
folder=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
export TABLE=$folder/table.weir LIMIT=100/day

in_python()
{
    cd "$folder" # not where build/libweir.so would be imported
    "$built/python/venv/bin/python" -c '
import libweir, os
table = libweir.Table(os.environ["TABLE"], keys=100_000)
print(sum(table.take(os.environ["LIMIT"], "127.0.0.1").allowed for _ in range(110)))'
}

in_node()
{
    cd "$built/node/user"
    node -e '
const table = new (require("libweir").Table)({path: process.env.TABLE, keys: 100_000});
let passed = 0;
for (let i = 0; i < 110; i++) passed += table.take(process.env.LIMIT, "127.0.0.1").allowed;
console.log(passed);'
}

by_server() # PROGRAM: of the examples in Rust and Go; the key is the address of the client
{
    "$1" 127.0.0.1:0 "$TABLE" "$LIMIT" >"$folder/$2.log" &
    servers+=($!)
    for _ in {1..200}; do grep -q listening "$folder/$2.log" && break; sleep 0.05; done
    curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$(sed -n 's/.*://p' "$folder/$2.log")/?[1-110]" |
        grep -c 200 || true
}

in_rust() { by_server "$built/rust/target/debug/examples/server" rust; }
in_go() { by_server "$built/go/server" go; }

calls=() count=0
for one in python:python/venv/bin/python node:node/user/node_modules/libweir \
    rust:rust/target/debug/examples/server go:go/server; do
    language=${one%%:*}
    if [ ! -e "$built/${one#*:}" ]; then
        skip_part bindings/together "$language is not built" 'make bindings'
        continue
    fi
    (trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT; "in_$language" >"$folder/$language") &
    calls+=($!)
    count=$((count + 1))
done
if [ $count -lt 2 ]; then exit 77; fi
for call in "${calls[@]}"; do wait "$call"; done
passed=$(cat "$folder"/{python,node,rust,go} 2>/dev/null | awk '{ passed += $1 } END { print passed }')
echo "$count languages: $(cd "$folder" && grep -H . python node rust go 2>/dev/null | tr '\n' ' '): $passed of 100"
[ "$passed" = 100 ]
