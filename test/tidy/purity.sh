#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# purity.sh NM OBJECT... -- OBJECT...: the first objects may use symbols of each other, of those after --, and helpers
# that a compiler calls on its own; nothing else.
set -euo pipefail
export LC_ALL=C
nm=$1
shift
judged=() below=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    judged+=("$1")
    shift
done
if [ $# -gt 1 ]; then below=("${@:2}"); fi

# Copies and comparisons of memory (clang makes bcmp of some), wide arithmetic, position independence; the last line is
# what distributions add to every object (stack protector, fortified copies).
helpers='memcpy|memmove|memset|memcmp|bcmp|strcmp|strncmp|strlen|_GLOBAL_OFFSET_TABLE_'
helpers+='|__(u?(div|mod|divmod)|mul)ti[34]|__(ash|lsh|ashr|lshr)[a-z]*ti3|__(clz|ctz|popcount)[dt]i2'
helpers+='|__stack_chk_fail|__mem(cpy|move|set)_chk'

defined=$("$nm" --defined-only -g "${judged[@]}" ${below[@]+"${below[@]}"} | awk 'NF == 3 { print $3 }' | sort -u)
status=0
for object in "${judged[@]}"; do
    used=$("$nm" -u "$object" | awk 'NF == 2 { print $2 }' | sort -u)
    foreign=$(comm -23 <(echo "$used") <(echo "$defined") | grep -vxE "$helpers" | grep . || true)
    if [ -n "$foreign" ]; then
        echo "$object may not use:" $foreign
        status=1
    fi
done
exit $status
