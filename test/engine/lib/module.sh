#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module.sh, sourced behind engine.sh: an engine called one, whose module has a clock that is set.
began=4102444800000000 # us: in 2100, so that no key expires by the engine's own clock

at() # MICROSECONDS since it began
{
    what="the clock"
    to one WEIR.CLOCK $((began + $1)) >out 2>err
    says out OK
}

# What redis-cli prints, in one line: an answer of nothing is (nil).
answer() # WORD...
{
    to one "$@" 2>err | sed 's/^$/(nil)/' | tr '\n' ' ' | sed 's/ $//' >out
}

asks() # EXPECTED WORD...
{
    local expected=$1
    shift
    what="$*"
    answer "$@"
    if [ "$(cat out)" != "$expected" ]; then fail "expected: $expected"; fi
}

refuses() # WORDS_OF_THE_ERROR WORD...
{
    local expected=$1
    shift
    what="$*"
    to one "$@" >out 2>err
    says out "$expected"
}

value_of() # KEY [NAME]: its bytes in hexadecimal
{
    in_engine "${2:-one}" --no-raw eval 'return (redis.call("GET", KEYS[1]):gsub(".", function(c)
        return string.format("%02x", string.byte(c)) end))' 1 "$1" | tr -d '"'
}
