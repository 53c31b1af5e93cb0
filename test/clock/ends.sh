#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ends.sh BUILD_FOLDER young|old [PROGRAM|SCRIPT...]: the quick tests on a machine that seems to have been started 1 s
# ago (young), or 20 years ago (old): their CLOCK_MONOTONIC is moved by a preloaded library (uptime.c).
#
# Without programs: all unit tests, a few runs of each property, the vectors, the examples, and two golden tests of weir
# take, whose state file keeps times.  A SCRIPT runs under that clock with all that it starts.  Each program ends in ten
# minutes: one that waits for a time on another clock does not, and that is a failure.
set -uo pipefail
runs=300 limit_s=600
here=$(dirname "$(realpath "$0")")
build=$(realpath "$1")
end=$2
shift 2
case $end in
young) up_s=1 words='a clock that began 1 s ago' ;;
old) up_s=630720000 words='a clock that began 20 years ago' ;;
*) echo "ends.sh: $end: expected young or old"; exit 2 ;;
esac

shifted() # COMMAND...: its clock says now what up_s says; exec, so that its process is the command's
{
    local now_ns
    now_ns=$("$build/test/clock-now") || return
    export WEIR_TEST_UPTIME_SHIFT_NS=$((up_s * 1000000000 - now_ns))
    exec env LD_PRELOAD="$build/test/clock-uptime.so" "$@"
}

run_one() # PROGRAM|SCRIPT
{
    case $1 in
    *.sh) shifted bash "$1" "$build/weir" ;;
    */property-*) shifted "$1" $runs ;;
    */weir-vectors) shifted "$1" "$here/../vectors/peers" ;;
    *) shifted "$1" ;;
    esac
}

# What it printed is shown only when it failed.
judge() # PROGRAM|SCRIPT
{
    local name=${1##*/} folder status
    folder=$(mktemp -d)
    cd "$build" || return
    timeout -k 5 $limit_s bash "$here/ends.sh" "$build" "$end" --run "$1" >"$folder/out" 2>&1 </dev/null
    status=$?
    case $status in
    0 | 77) echo "passed $name" ;;
    *)
        tail -n 60 "$folder/out" | sed "s/^/    $name| /"
        if [ $status = 124 ]; then status="stopped after $limit_s s"; else status="exit status $status"; fi
        echo "FAILED $name under $words: $status"
        ;;
    esac
    rm -rf "$folder"
}

case ${1-} in
--run) run_one "$2" ;;
--judge) judge "$2"; exit ;;
esac

# ---- does the library do what it is there for? ----
if [ ! -e "$build/test/clock-uptime.so" ]; then
    echo "skipped: clock/$end: $build/test/clock-uptime.so is not built; cure: tools/build --preset release tests-clock"
    exit 77
fi
now_ns=$(shifted timeout $limit_s "$build/test/clock-now")
status=$?
if [ $status != 0 ] || [ $((now_ns / 1000000000 - up_s)) -lt 0 ] || [ $((now_ns / 1000000000 - up_s)) -gt 3600 ]; then
    echo "FAILED: under $words a program sees $now_ns ns and ends with $status: the library does not work here"
    exit 1
fi

# ---- the tests ----
if [ $# = 0 ]; then
    # A program that does not name this function cannot tell one clock from another.
    mapfile -t programs < <(grep -lF clock_gettime "$build"/test/unit-* "$build"/test/property-* "$build/weir-vectors" \
        "$build"/examples/example-* 2>/dev/null)
    if [ -x "$build/weir" ]; then programs+=("$here"/../golden/take{,_wait}.sh); fi
    set -- "${programs[@]}"
fi
found=$(printf '%s\0' "$@" | xargs -0 -n 1 -P 2 bash "$here/ends.sh" "$build" "$end" --judge)
grep -v '^passed ' <<<"$found"
passed=$(grep -c '^passed ' <<<"$found") failed=$(grep -c '^FAILED ' <<<"$found")
echo "$passed passed, $failed failed under $words"
[ "$failed" = 0 ] && [ "$passed" = $# ]
