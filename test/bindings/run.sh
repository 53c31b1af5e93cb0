#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh TREE LANGUAGE quick|all: the tests of a binding, where its language is here and its dependencies can be had.
set -uo pipefail
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1/bindings/$2/test" "$3" >"$folder/log" 2>&1
status=$?
if [ "$status" = 77 ]; then
    why=$(tail -n 1 "$folder/log" | sed -E 's/(skipped: |bindings\/[a-z]*: )//g; s/; cure:.*//')
    skip_part "bindings/$2" "$why" 'make bindings, with its tools and a network'
else
    tail -n 60 "$folder/log"
fi
exit "$status"
