#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh HEADER NM LIBRARY.A LIBRARY.SO: both show exactly the functions that the header marks WEIR_API.
set -euo pipefail
export LC_ALL=C
header=$1 nm=$2 archive=$3 shared=$4

marked=$(grep -hE '^WEIR_API ' "$header" | grep -oE 'weir_[a-z_0-9]+\(' | tr -d '(' | sort -u)
status=0
for library in "$archive" "$shared"; do
    dynamic=() # an archive has its symbols in the members, a shared library in its dynamic table
    if [ "$library" = "$shared" ]; then dynamic=(-D); fi
    shown=$("$nm" ${dynamic[@]+"${dynamic[@]}"} -g --defined-only "$library" |
        awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
    if ! difference=$(diff <(echo "$marked") <(echo "$shown")); then
        echo "$library: < in the header only, > in the library only"
        grep '^[<>]' <<<"$difference"
        status=1
    fi
done
exit $status
