#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh HEADER MAP SYMBOLS NM LIBRARY.A LIBRARY.SO: both libraries show exactly the functions that the header marks
# WEIR_API.  The map lists each, and the shared library and Debian's SYMBOLS have it with the map's node.
set -euo pipefail
export LC_ALL=C
header=$1 map=$2 symbols=$3 nm=$4 archive=$5 shared=$6
status=0

same() # FILE NAMES FILE NAMES
{
    local difference
    if difference=$(diff <(echo "$2") <(echo "$4")); then return; fi
    echo "< in $1 only, > in $3 only"
    grep '^[<>]' <<<"$difference"
    status=1
}
shown() # ARCHIVE
{
    "$nm" -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u
}
versioned() # LIBRARY.SO: by readelf, since no llvm-nm before 15 prints versions
{
    readelf --wide --dyn-syms "$1" |
        awk '$5 == "GLOBAL" && $7 != "UND" && $7 != "ABS" { sub(/@@/, "@", $8); print $8 }' | sort -u
}

marked=$(grep -hE '^WEIR_API ' "$header" | grep -oE 'weir_[a-z_0-9]+\(' | tr -d '(' | sort)
listed=$(awk '
    /^WEIR_[A-Z0-9_]+ \{$/ { node = $1 }
    /^ +weir_[a-z_0-9]+;$/ { print substr($1, 1, length($1) - 1) "@" node }
    /\*;/ && $0 !~ /local: \*;/ { print "a wildcard" }' "$map" | sort)
same "$header" "$marked" "$map" "$(sed 's/@.*//' <<<"$listed")"
same "$header" "$marked" "$archive" "$(shown "$archive")"
same "$map" "$listed" "$shared" "$(versioned "$shared")"
same "$map" "$listed" "$symbols" "$(sed -nE 's/^ (weir_[a-z_0-9]+@[A-Z0-9_]+) .*/\1/p' "$symbols" | sort)"
exit $status
