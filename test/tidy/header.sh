#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# header.sh TREE CC: each public header compiles alone, as C11 and as C++17.
set -euo pipefail
tree=$1 cc=$2
. "$tree/test/lib/skip.sh"
strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$tree/include")
if [[ $cc == *clang* ]]; then cxx=${cc/clang/clang++}; else cxx=g++; fi

for header in "$tree"/include/weir/*.h; do
    line="#include <weir/$(basename "$header")>"
    "$cc" -std=c11 "${strict[@]}" -x c - <<<"$line"
    if command -v "$cxx" >/dev/null; then "$cxx" -std=c++17 "${strict[@]}" -x c++ - <<<"$line"; fi
done
if ! command -v "$cxx" >/dev/null; then skip_part 'tidy/header: C++' "$cxx is not here"; fi
