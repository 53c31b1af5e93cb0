#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fair.sh WEIR: who sends much at once is served a share at a time, and others in between (clients/fair.py says how).
. "$(dirname "$0")/lib/start.sh" "$@"
needs python3

start_serve --threads 1
run 'clients that ask for much' python3 "$tree/test/serve/clients/fair.py" "$resp" "$pid"
ends 0
cat out
clean_end
