#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# one_file.sh TREE CC NM FLAG...: the five components of the library are one file, too.  No name is defined twice; the
# file that tools/one_file writes has no warning, shows what weir.h declares, and a program works with it.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
tree=$1 cc=$2 nm=$3
shift 3
needs python3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! "$tree/tools/one_file" --list-repeated "$tree"; then
    echo 'each of these names is defined in several files (tools/one_file --list-repeated)'
    exit 1
fi

"$tree/tools/one_file" "$tree" >"$folder/weir.c"
strict=(-std=c11 -O2 -Werror "-I$tree/include" -pthread "$@")
"$cc" "${strict[@]}" -c "$folder/weir.c" -o "$folder/weir.o"
"$cc" "${strict[@]}" "$tree/test/tidy/one_file.c" "$folder/weir.o" -o "$folder/program"
"$folder/program"

declared=$(grep -hE '^WEIR_API ' "$tree/include/weir/weir.h" "$tree/include/weir/lease.h" |
    grep -oE 'weir_[a-z_0-9]+\(' | tr -d '(' | sort -u)
shown=$("$nm" -g --defined-only "$folder/weir.o" | awk '{ print $3 }' | sort -u)
diff <(echo "$declared") <(echo "$shown") || { echo '< weir.h declares; > the one file shows'; exit 1; }
