#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# window.sh WEIR: does the checker of bounds.sh see what is too much, and too little?
. "$(dirname "$0")/../golden/lib/check.sh" "$@"
window=${WEIR_BUILD:-$(dirname "$weir")}/test/engine-window

# Limit: burst 10, then one a millisecond.
judge() # STATUS WHAT EXTRA LEAST FILE...
{
    run "$2" "$window" 10 1 1000000 "$3" "$4" "${@:5}"
    ends "$1"
}

# A permit each STEP ns from FROM on, each known to within 100 ns.
grants() # COUNT FROM STEP
{
    awk -v count="$1" -v from="$2" -v step="$3" \
        'BEGIN { for (i = 0; i < count; i++) printf "%d %d 1 engine\n", from + i * step, from + i * step + 100 }'
}

run 'the search' "$window" --check
ends 0

grants 10 5000000 200 >burst
grants 50 6000000 1000000 >rate
judge 0 'a burst and the rate' 0 99 burst rate
says out '60 granted; worst window 10.00 of 10, 100.0 %'
grants 10 7000000 200 >again
judge 1 'a burst twice' 0 0 burst rate again
says out 'TOO MUCH'
judge 0 'a burst twice where it may be' 10 90 burst rate again
grants 1 5001000 1 >one
judge 1 'one too many' 0 0 burst one
grants 50 6000000 900000 >fast
judge 1 'a rate that is too high' 0 0 burst fast
judge 1 'nothing of the burst was used' 0 90 rate
says out 'TOO LITTLE'

# Nobody knows when: all may have been long ago, or later.
awk '{ print $1 - 600000 * NR, $2 + 600000 * NR, 1 }' again >unknown
judge 0 'grants that took long' 0 0 burst unknown
judge 0 'grants that took long, and may have been a burst' 0 90 unknown
awk '{ print $1, $2 + 8000000, 1 }' burst >late
judge 0 'a burst that was told late' 0 99 late
grants 10 5000000 1000000 >calm
awk '{ print $1, $2 + 300000, 1 }' calm >late
judge 1 'a rate that was told late is no burst' 0 30 late
says out 'TOO LITTLE'
{ cat burst; printf '5002000 5002'; } >cut
judge 0 'a client that was killed' 0 99 cut
: >nothing
judge 0 'nothing at all' 0 0 nothing
echo 'garbage' >garbage
judge 2 'no log' 0 0 garbage
