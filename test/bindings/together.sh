#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# together.sh TREE: processes of all languages on one table hold one limit together: of a limit of 100, 20 calls of each
# pass when they come in turn, and then all at once exactly what is left.  After the tests of the bindings, which build
# what is run here; a language that is not built is left out, and said.
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
print(sum(table.take(os.environ["LIMIT"], "127.0.0.1").allowed for _ in range(int(os.environ["CALLS"]))))'
}

in_node()
{
    cd "$built/node/user"
    node -e '
const table = new (require("libweir").Table)({path: process.env.TABLE, keys: 100_000});
let passed = 0;
for (let i = 0; i < Number(process.env.CALLS); i++) passed += table.take(process.env.LIMIT, "127.0.0.1").allowed;
console.log(passed);'
}

by_server() # PROGRAM: of the examples in Rust and Go; the key is the address of the client
{
    "$1" 127.0.0.1:0 "$TABLE" "$LIMIT" >"$folder/$2.log" &
    servers+=($!)
    for _ in {1..200}; do grep -q listening "$folder/$2.log" && break; sleep 0.05; done
    curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$(sed -n 's/.*://p' "$folder/$2.log")/?[1-$CALLS]" |
        grep -c 200 || true
}

in_rust() { by_server "$built/rust/target/debug/examples/server" rust; }
in_go() { by_server "$built/go/server" go; }

languages=()
for one in python:python/venv/bin/python node:node/user/node_modules/libweir \
    rust:rust/target/debug/examples/server go:go/server; do
    if [ -e "$built/${one#*:}" ]; then languages+=("${one%%:*}"); continue; fi
    skip_part bindings/together "${one%%:*} is not built" 'make bindings'
done
if [ ${#languages[@]} -lt 2 ]; then exit 77; fi

ask() # LANGUAGE CALLS: how many passed
{
    (trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT; CALLS=$2 "in_$1")
}

for language in "${languages[@]}"; do
    passed=$(ask "$language" 20)
    [ "$passed" = 20 ] || { echo "$language: $passed of 20 calls passed, and the table has room"; exit 1; }
done
calls=()
for language in "${languages[@]}"; do
    ask "$language" 110 >"$folder/$language" &
    calls+=($!)
done
for call in "${calls[@]}"; do wait "$call"; done
passed=$(cat "${languages[@]/#/$folder/}" | awk '{ passed += $1 } END { print passed }')
left=$((100 - 20 * ${#languages[@]}))
echo "${languages[*]}: 20 each, then $passed of $left"
[ "$passed" = $left ]
