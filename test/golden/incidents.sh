#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# incidents.sh WEIR: doc/concurrency.md and doc/tenants.md show what their commands print, and pictures of it.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3
mkdir doc
run 'tools/incidents' "$tree/tools/incidents" "$weir" doc
ends 0
for file in doc/*; do
    what="$file (tools/incidents makes it anew)"
    same "$file" "$tree/$file"
done
