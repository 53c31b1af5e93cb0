#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh WEIR, sourced: $weir, $tree (the checkout), $lib (this folder), an empty folder to work in, and the words in
# which the golden tests say what should be.
# Nothing in these tests asserts how long something took: whoever shares the machine must not be able to fail them.
set -uo pipefail
weir=$(realpath "$1")
lib=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tree=$(realpath "$lib/../../..")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
export LC_ALL=C
. "$tree/test/lib/skip.sh"
. "$tree/test/lib/wait.sh"
. "$tree/test/lib/size.sh"

# Not every machine has ::1, and not every container of one that has it.
has_v6()
{
    /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null
}

needs_v6()
{
    if has_v6; then return; fi
    skip_test 'this machine has no ::1' 'ip -6 address add ::1/128 dev lo'
}

# False, and a part skipped, where no terminal can be had.
has_terminal() # PART
{
    if python3 -c 'import pty; pty.openpty()' 2>no_terminal; then return; fi
    skip_part "$1" "no terminal can be had here: $(tail -n 1 no_terminal)" 'mount -t devpts devpts /dev/pts'
    return 1
}

# The first difference ends the test, and shows what the command left behind.
fail() # WORDS
{
    local file
    echo "FAILED: $what: $*"
    for file in out err; do
        if [ -s "$file" ]; then head -c 2000 "$file" | cat -v | sed "s/^/    $file| /;"'$a\'; fi
    done
    show_ended
    exit 1
}

# Names the check and runs the command: its streams go to the files out and err, its end to $status.
run() # WHAT COMMAND...
{
    what=$1
    shift
    "$@" >out 2>err
    status=$?
}

ends() # STATUS
{
    if [ "$status" != "$1" ]; then fail "exit status $status, expected $1"; fi
}

same() # FILE EXPECTED_FILE: byte for byte
{
    if ! cmp -s "$1" "$2"; then
        diff -a "$2" "$1" | head -n 8 | cut -c 1-200 | cat -v
        fail "$1 is not as expected (< expected, > found)"
    fi
}

says() # FILE WORDS
{
    if ! grep -qF -- "$2" "$1"; then fail "$1 does not say: $2"; fi
}

silent() # FILE
{
    if [ -s "$1" ]; then fail "$1 should be empty"; fi
}

# weir pace begins nothing, and says so.
pace_refuses() # WORDS ARGUMENT...
{
    run "pace ${*:2}" "$weir" pace "${@:2}" </dev/null
    ends 2
    silent out
    says err "weir: $1"
}

# A summary has the counts, how late, and how far behind.  How far over it was depends on how late the machine
# woke it, so that figure is not held to anything.
summary_of() # COUNT NOUN
{
    if ! grep -qE "^$1 $2 in [0-9.]+ s, ([0-9.,]+/[sh] asked, )?[0-9.,]+/[sh](;|\$)" err; then
        fail "no summary of $1 $2"
    fi
    if ! grep -qE '^late p50 .*, max ' err; then fail 'the summary does not say how late'; fi
    if ! grep -qE '^behind .* now, .* at worst; never early, never over by more than [0-9]+$' err; then
        fail "the summary does not say: never early"
    fi
}

# Of a file without anything in it jq -e prints nothing, and is content (1.6).
json() # FILE FILTER: jq finds it true
{
    local found
    if ! found=$(jq -e "$2" "$1" 2>/dev/null) || [ -z "$found" ]; then fail "$1 is not so: $2"; fi
}
