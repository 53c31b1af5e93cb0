#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# header.sh TREE CC: each public header, and the program at the head of weir.h, compile alone, as C11, C17, C++17 and
# C++20.
set -euo pipefail
tree=$1 cc=$2
. "$tree/test/lib/skip.sh"
strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$tree/include")
if [[ $cc == *clang* ]]; then cxx=${cc/clang/clang++}; else cxx=g++; fi

compiles() # SOURCE
{
    local standard
    for standard in c11 c17; do "$cc" "-std=$standard" "${strict[@]}" -x c - <<<"$1"; done
    if ! command -v "$cxx" >/dev/null; then return; fi
    for standard in c++17 c++20; do "$cxx" "-std=$standard" "${strict[@]}" -x c++ - <<<"$1"; done
}

for header in "$tree"/include/weir/*.h; do compiles "#include <weir/$(basename "$header")>"; done
example=$(sed -n 's/^       //; /^#include <stdio.h>/,/^}/p; /^#ifndef/q' "$tree/include/weir/weir.h")
if ! grep -q weir_take <<<"$example"; then echo 'weir.h has no program at its head'; exit 1; fi
compiles "$example"
if ! command -v "$cxx" >/dev/null; then skip_part 'tidy/header: C++' "$cxx is not here"; fi
