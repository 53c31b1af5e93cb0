#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# holders.sh TREE: processes of all languages hold slots of one file together: never more than there are, and kill -9 of
# one gives its slot at once to whoever waits, though the lease is an hour.  Each language is killed once, and waits
# once.  After the tests of the bindings, which build what is run here; a language that is not built is left out.
set -euo pipefail
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
tree=$1 built=$1/build/bindings
folder=$(mktemp -d)
holders=()
trap 'kill -9 "${holders[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
TABLE=$folder/table.weir

in_python() { cd "$folder" && exec "$built/python/venv/bin/python" "$tree/bindings/python/examples/hold.py" "$@"; }
in_node() { cd "$built/node/user" && exec node node_modules/libweir/examples/hold.mjs "$@"; }
in_rust() { exec "$built/rust/target/debug/examples/hold" "$@"; }
in_go() { exec "$built/go/hold" "$@"; }

languages=()
for one in python:python/venv/bin/python node:node/user/node_modules/libweir/examples/hold.mjs \
    rust:rust/target/debug/examples/hold go:go/hold; do
    if [ -e "$built/${one#*:}" ]; then languages+=("${one%%:*}"); continue; fi
    skip_part bindings/holders "${one%%:*} is not built" 'make bindings'
done
count=${#languages[@]}
if [ "$count" -lt 2 ]; then exit 77; fi
LIMIT="$((count - 1)) concurrent lease=1h"

close_inputs() # of the others, which end when their last writer has closed them
{
    local input
    for input in "${end[@]}"; do exec {input}>&-; done
}

start() # LANGUAGE: it holds until ${end[LANGUAGE]} is closed
{
    rm -f "$folder/$1.in" "$folder/$1"
    mkfifo "$folder/$1.in"
    (close_inputs; "in_$1" "$TABLE" "$LIMIT" nightly) <"$folder/$1.in" >"$folder/$1" &
    process[$1]=$!
    holders+=($!)
    local input
    exec {input}>"$folder/$1.in"
    end[$1]=$input
}

close_input() # LANGUAGE
{
    local input=${end[$1]}
    exec {input}>&-
    unset "end[$1]"
}

says() # LANGUAGE WORD: within 10 s
{
    local i
    for i in {1..1000}; do grep -qx "$2" "$folder/$1" && return; sleep 0.01; done
    echo "$1 does not say $2: $(cat "$folder/$1")"
    exit 1
}

declare -A process end
for ((turn = 0; turn < count; turn++)); do
    victim=${languages[turn]} waiter=${languages[(turn + count - 1) % count]}
    for ((i = turn; i < turn + count - 1; i++)); do
        start "${languages[i % count]}"
        says "${languages[i % count]}" held
    done
    start "$waiter"
    sleep 0.5
    if [ -s "$folder/$waiter" ]; then echo "$waiter holds one more than there are"; exit 1; fi
    killed=$(date +%s%N)
    kill -9 "${process[$victim]}"
    says "$waiter" held
    echo "$victim killed: $waiter has its slot after $((($(date +%s%N) - killed) / 1000000)) ms"
    for ((i = turn + 1; i < turn + count; i++)); do
        language=${languages[i % count]}
        close_input "$language"
        says "$language" released
    done
    close_input "$victim"
    wait 2>/dev/null || true
done
