#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# amalgamation.sh TREE CC NM FLAG...: the five components of the library are one file, too.  No name is defined twice;
# the file that tools/amalgamation writes has no warning, shows what weir.h declares, and works beside a program and in
# one, which is told what to do where it comes too late.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
tree=$1 cc=$2 nm=$3
shift 3
needs python3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! "$tree/tools/amalgamation" --list-repeated; then
    echo 'each of these names is defined in several files (tools/amalgamation --list-repeated)'
    exit 1
fi

"$tree/tools/amalgamation" "$folder"
program=$tree/test/tidy/amalgamation.c
strict=(-std=c11 -O2 -Werror "-I$folder" -pthread "$@")
"$cc" "${strict[@]}" -c "$folder/weir.c" -o "$folder/weir.o"
"$cc" "${strict[@]}" "$program" "$folder/weir.o" -o "$folder/beside"
"$folder/beside"
"$cc" "${strict[@]}" -O0 -DWEIR_INCLUDED "$program" -o "$folder/within"
"$folder/within"
if "$cc" "${strict[@]}" -DWEIR_INCLUDED -DWEIR_LATE -fsyntax-only "$program" 2>"$folder/late.txt" ||
    ! grep -q 'include it before all system headers' "$folder/late.txt"; then
    echo 'weir.c behind a system header: not refused'
    cat "$folder/late.txt"
    exit 1
fi

declared=$(grep -hE '^WEIR_API ' "$folder/weir.h" | grep -oE 'weir_[a-z_0-9]+\(' | tr -d '(' | sort -u)
shown=$("$nm" -g --defined-only "$folder/weir.o" | awk '{ print $3 }' | sort -u)
diff <(echo "$declared") <(echo "$shown") || { echo '< weir.h declares; > the one file shows'; exit 1; }
