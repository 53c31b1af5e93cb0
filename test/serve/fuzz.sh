#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh WEIR [ROUNDS [SEED]]: clients that send what is almost right, cut, repeated and mutated (clients/fuzz.py);
# honest ones beside them are answered right, and memory stays bounded (where no sanitizer has its own).
. "$(dirname "$0")/lib/start.sh" "$@"
. "$tree/test/lib/size.sh"
needs python3
rounds=${2:-$(of_size 1000 20000)}
WEIR_SEED=${3:-${WEIR_SEED-}}
if [ -z "$WEIR_SEED" ]; then unset WEIR_SEED; fi
seed_of 1

start_serve --threads 2
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; }
before=$(resident)
run "fuzz.py, seed $seed" python3 "$tree/test/serve/clients/fuzz.py" "$resp" "$http" "$seed" "$rounds"
ends 0
grown=$(($(resident) - before))
echo "$rounds rounds from seed $seed, memory grew by $((grown / 1024)) MiB"
# The sanitizers' shadow memory grows by ten times as much, and is not weir's.
if ! grep -aqE '__(asan|tsan|msan)_init' "$weir" && [ "$grown" -gt $((150 * 1024)) ]; then
    fail "memory grew by $grown KiB"
fi
clean_end
