#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# found.sh LEAK: a minute of bench/serve/soak finds nothing in weir serve, and half a minute finds what LEAK, which is
# preloaded, loses.
set -euo pipefail
. "$(dirname "$0")/../lib/skip.sh"
needs python3 redis-server
soak=$(dirname "$0")/../../bench/serve/soak
report=$(mktemp)
trap 'rm -f "$report"' EXIT

"$soak" 0.0167 --to "$report"

status=0
WEIR_SOAK_PRELOAD=$1 "$soak" 0.0084 --to "$report" || status=$?
if [ $status != 1 ] || [ "$(grep -cE '^(RSS|Pss|mapped data|descriptors).* leak$' "$report")" != 4 ]; then
    echo "FAILED: exit status $status; not all that leaks was found"
    exit 1
fi
