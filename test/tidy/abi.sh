#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# abi.sh TREE CC: programs that were linked with the last libweir.so or libweir-redis.so of this number run with this
# one: no function is gone or in another node, and no type that the header shows has another layout.  What it was is in
# test/compat/abi.  Header and map say all of it: tidy/symbols holds the libraries against them.
#
#     test/tidy/abi.sh . cc --write      after the number (weir_abi in CMakeLists.txt) was raised, or for a release
set -euo pipefail
export LC_ALL=C
tree=$(realpath "$1") cc=$2 write=${3-}
. "$(dirname "$(realpath "$0")")/../lib/skip.sh"
needs abidiff abidw
number=$(sed -n 's/^set(weir_abi \([0-9]*\)).*/\1/p' "$tree/CMakeLists.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
status=0

describe() # LIBRARY HEADER: now.abi
{
    {
        echo "#include <weir/$2>"
        awk '/^WEIR_API / { open = 1 } open { ended = sub(/\);.*/, ") { __builtin_trap(); }"); print; open = !ended }' \
            "$tree/include/weir/$2"
    } >now.c
    "$cc" -std=c11 -w -g -O0 -fPIC -shared "-I$tree/include" "-Wl,-soname,$1.so.$number" \
        "-Wl,--version-script=$tree/cmake/${1#lib}.map" now.c -o now.so
    abidw --headers-dir "$tree/include" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
        --type-id-style hash now.so >now.abi
}

# Options say their size, statistics are read by size: these may grow.  What lies behind the size that they had is left
# out; a suppression of abidiff's for that would hide what else changes in them.
ungrown() # KEPT NOW
{
    awk -F"'" '
        function bits(word) # size or offset, of this line
        {
            match($0, word "-in-bits=.[0-9]+")
            return substr($0, RSTART + length(word) + 10, RLENGTH - length(word) - 10) + 0
        }
        /<class-decl / { grows = $2 ~ /^weir_((table_|engine_)?(options|stats)|latency)$/ }
        FNR == NR { if (grows && /<class-decl /) size[$2] = bits("size"); next }
        /<class-decl / {
            grows = grows && $2 in size && size[$2] < bits("size")
            if (grows) { end = size[$2]; sub(/size-in-bits=.[0-9]+/, "size-in-bits=\047" end) }
        }
        grows && /<data-member / { is_new = bits("offset") >= end }
        !is_new
        /<\/data-member>/ { is_new = 0 }' "$1" "$2"
}

functions() # FILE
{
    sed -n "s/.*<elf-symbol name='\(weir_[a-z_0-9]*\)'.* type='func-type'.*/\1/p" "$1" | sort
}

compare() # LIBRARY HEADER
{
    local kept=$tree/test/compat/abi/$1.so.$number.abi newer
    describe "$1" "$2"
    if [ "$write" = --write ]; then
        cp now.abi "$kept"
    elif [ ! -e "$kept" ]; then
        echo "there is no $kept: test/tidy/abi.sh $tree $cc --write"
        status=1
    elif ! { ungrown "$kept" now.abi >ungrown.abi && abidiff --no-added-syms --no-show-locs "$kept" ungrown.abi; }; then
        echo "programs would have to be compiled anew with $1: raise weir_abi in CMakeLists.txt"
        status=1
    else
        newer=$(comm -13 <(functions "$kept") <(functions now.abi) | wc -l)
        if [ "$newer" != 0 ]; then echo "note: $newer functions of $1 are newer than $kept, and not guarded"; fi
    fi
}
compare libweir weir.h
compare libweir-redis redis.h
exit $status
