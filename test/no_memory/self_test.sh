#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# self_test.sh LIBRARY PLANTED [SANITIZER]: each.py finds what planted.c does wrong, and nothing else.
set -euo pipefail
folder=$(dirname "$(realpath "$0")")
. "$folder/../lib/skip.sh"
needs python3 readelf addr2line

library=$1 planted=$2 sanitizer=${3-}
expected='checks_not checks_not_the_second dies waits'
case "$sanitizer ${ASAN_OPTIONS-}" in
*detect_leaks=0*)
    skip_part 'no_memory/self-test: leaks' 'leaks cannot be searched for' 'run it outside this container'
    ;;
*address*) expected='checks_not checks_not_the_second dies leaks waits' ;;
esac

status=0
said=$(WEIR_SIZE=prove WEIR_NO_MEMORY_ENDS_S=5 python3 "$folder/each.py" "$library" "$folder/../unit" "$planted") ||
    status=$?
found=$(sed -n 's/^FAILED: [^:]*: \([a-z_]*\), allocation .*/\1/p' <<<"$said" | sort | tr '\n' ' ')
if [ $status != 1 ] || [ "$found" != "$expected " ]; then
    printf '%s\n' "$said"
    echo "status $status; found: $found; expected: $expected"
    exit 1
fi
tail -n 1 <<<"$said"
