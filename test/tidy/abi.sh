#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# abi.sh TREE CC: programs that were linked with the last libweir.so of this number run with this one: no function is
# gone, and no type that weir.h shows has another layout.  What it was is in test/compat/abi.
#
#     test/tidy/abi.sh . cc --write      after the number (weir_abi in CMakeLists.txt) was raised, or for a release
set -euo pipefail
tree=$1 cc=$2
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
needs abidiff abidw python3
number=$(sed -n 's/^set(weir_abi \([0-9]*\)).*/\1/p' "$tree/CMakeLists.txt")
kept=$tree/test/compat/abi/libweir.so.$number.abi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$tree/tools/amalgamation" "$folder"
cd "$folder"
"$cc" -std=c11 -g -O0 -fPIC -shared -pthread "-Wl,-soname,libweir.so.$number" weir.c -o libweir.so
public=(--headers-dir . --drop-private-types)
abidw "${public[@]}" --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash libweir.so >now.abi
if [ "${3-}" = --write ]; then
    cp now.abi "$kept"
    exit
fi
if [ ! -e "$kept" ]; then
    echo "there is no $kept: test/tidy/abi.sh $tree $cc --write"
    exit 1
fi
if ! abidiff --no-added-syms --no-show-locs "$kept" now.abi; then
    echo 'programs would have to be compiled anew: raise weir_abi in CMakeLists.txt'
    exit 1
fi
