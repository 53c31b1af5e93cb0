#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hardened.sh FILE...: each is position-independent, resolved at its start and read-only after that (full RELRO), its
# stack protected, and its copies of known size checked (FORTIFY).
set -euo pipefail
export LC_ALL=C
status=0
for file in "$@"; do
    said=$(readelf --wide --file-header --program-headers --dynamic --symbols "$file")
    for wanted in 'Type: +DYN' 'GNU_RELRO' 'BIND_NOW|Flags:.*NOW' '__stack_chk_fail' '__[a-z]+_chk(@| |$)'; do
        if ! grep -qE "$wanted" <<<"$said"; then
            echo "$file has no $wanted"
            status=1
        fi
    done
done
exit $status
