#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# values.sh, sourced behind engine.sh and releases.sh: values of an engine as an older weir wrote them, and what is
# asked of them.  `make` asks the weir that wrote them, and engine.sh the one that is built: the answers are the same.
#
#   use_values NAME MODULE|FUNCTIONS RELEASE    uses each limit once, at the beginning
#   dump_values NAME >FILE                      every key of it: its name and its DUMP, in hexadecimal
#   restore_values NAME FILE                    so they come back, and never expire by themselves
#   ask_values NAME MODULE|FUNCTIONS RELEASE    prints what is answered, later and later
began=4102444800000000 # us: in 2100, so that no key expires by the engine's own clock

# A key, a limit, and what was taken.  Limits are so slow that nothing changes while a busy machine asks.  What is in
# two keys is a list of two limits, or a tenant under its parent.
used_values() # RELEASE
{
    rows_of "$1" <<'END'
gcra|10/d burst=20|15
full|20/2d|20
hybrid|10/d algorithm=hybrid|7
leaky|10/d burst=20 algorithm=leaky nodelay|12
fixed|10/d algorithm=fixed-window|10
sliding|10/d algorithm=sliding-window|10
log|20/d algorithm=sliding-log|18
list|10/d; 20/w algorithm=fixed-window|8
{two}1 {two}2|10/d; 20/w algorithm=sliding-log|9
held|3 concurrent lease=30d|2|1.0.0
{under}1 {under}2|5/d guaranteed under 10/d burst=20|7|1.0.0
END
}

in_hex() # NAME COMMAND KEY: the bytes of the answer
{
    in_engine "$1" --no-raw eval 'return (redis.call(ARGV[1], KEYS[1]):gsub(".", function(c)
        return string.format("%02x", string.byte(c)) end))' 1 "$3" "$2" | tr -d '"'
}

moment() # NAME HOW MICROSECONDS since it began
{
    if [ "$2" = module ]; then in_engine "$1" WEIR.CLOCK $((began + $3)) >/dev/null
    else set_clock "$1" $((began + $3 - $(date +%s%N) / 1000)); fi
}

take_value() # NAME HOW KEYS LIMIT COST [PEEK]
{
    local name=$1 how=$2 limit=$4 cost=$5 keys=()
    read -ra keys <<<"$3"
    if [ "$how" = module ]; then
        in_engine "$name" WEIR.TAKE "$limit" "${keys[@]:0:1}" ${keys[1]:+AND "${keys[1]}"} COST "$cost" ${6:+"$6"}
    else
        in_engine "$name" FCALL weir_take ${#keys[@]} "${keys[@]}" "$limit" "$cost" ${6:+"$6"}
    fi
}

use_values()
{
    local keys limit cost
    moment "$1" "$2" 0
    while IFS='|' read -r keys limit cost <&3; do
        take_value "$1" "$2" "$keys" "$limit" "$cost"
    done 3< <(used_values "$3")
    if [ "$2" = module ]; then
        in_engine "$1" CL.THROTTLE cell 15 30 60 16
        in_engine "$1" WEIR.LEASE '100/d burst=100' lease 10 360000000000
    else
        in_engine "$1" FCALL weir_lease 1 lease '100/d burst=100' 10 360000000000
    fi
}

dump_values()
{
    local key
    in_engine "$1" KEYS '*' | sort | while read -r key; do echo "$key $(in_hex "$1" DUMP "$key" </dev/null)"; done
}

restore_values()
{
    local key bytes
    while read -r key bytes <&3; do
        # shellcheck disable=SC2059 # the bytes are the format
        printf "$(sed 's/../\\x&/g' <<<"$bytes")" | in_engine "$1" -x RESTORE "$key" 0 >out
        if [ "$(cat out)" != OK ]; then fail "$key is not restored"; fi
    done 3<"$2"
}

# Without how late it is, which 0.1.0 did not say.  Of functions, whose clock runs, only what does not change in a
# second: the verdict, the limit and what remains.  What is held has an id, the us and three digits by chance.
told() # HOW
{
    tr '\n' ' ' | if [ "$1" = module ]; then cut -d ' ' -f 1-7; else cut -d ' ' -f 1-3; fi |
        sed 's/ *$//; s/ \([0-9]\{16\}\)[0-9]\{3\}:/ \1:/'
}

# Looked at, with what was asked before and with other numbers; then taken; then what a lease and a receipt bring back.
ask_values()
{
    local keys limit cost later us
    for later in 1 90011 300007; do
        us=$((later * 1000000 + 500000))
        moment "$1" "$2" $us
        while IFS='|' read -r keys limit cost <&3; do
            for cost in 1 4; do
                echo "+${later}s $keys '$limit' $cost: $(take_value "$1" "$2" "$keys" "$limit" $cost PEEK | told "$2")"
            done
            echo "+${later}s $keys '2$limit': $(take_value "$1" "$2" "$keys" "2$limit" 1 PEEK | told "$2")"
        done 3< <(used_values "$3")
    done
    moment "$1" "$2" 1500000
    while IFS='|' read -r keys limit cost <&3; do
        echo "$keys taken: $(take_value "$1" "$2" "$keys" "$limit" 1 | told "$2")"
    done 3< <(used_values "$3")
    if [ "$2" = module ]; then
        echo "throttled: $(in_engine "$1" CL.THROTTLE cell 15 30 60 | told module)"
        echo "lease: $(in_engine "$1" WEIR.TAKE '100/d burst=100' lease PEEK | told module)"
        echo "settled: $(in_engine "$1" WEIR.SETTLE '10/d burst=20' gcra "$began:15" 3)"
    else
        echo "lease: $(in_engine "$1" FCALL weir_take 1 lease '100/d burst=100' 1 PEEK | told functions)"
        echo "settled: $(in_engine "$1" FCALL weir_settle 1 gcra '10/d burst=20' "$began:15" 3)"
    fi
    echo "after: $(take_value "$1" "$2" gcra '10/d burst=20' 1 PEEK | told "$2")"
}
