#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tables.sh WEIR: table files of older versions are read, and answer as they did; a damaged one is never taken for new.
. "$(dirname "$0")/../golden/lib/check.sh" "$@"
. "$tree/test/compat/lib/releases.sh"
tables=$build/test/compat-tables
damage=$build/test/compat-damage
for program in "$tables" "$damage"; do
    if [ ! -x "$program" ]; then
        echo "skipped: compat/tables: $program is not built; cure: tools/build --preset release tests-compat"
        exit 77
    fi
done

# Of another rule (a 2 before its text) permits are used now; 0.1.0 kept their time, which could be all of it.
kept_as_permits="^wide '21"

answers_as()
{
    grep -v "$kept_as_permits" out >asked
    grep -v "$kept_as_permits" "$1" >expected
    same asked expected
    if ! grep -q "${kept_as_permits}0/h algorithm=sliding-window. dave +1s 1: 1 0 199 " out; then
        fail "used permits are not kept"
    fi
}

for release in $(releases); do
    unpack "$release" tables old
    run "table files of weir $release" "$tables" check old
    ends 0
    answers_as "$compat/$release/tables/answers"
    run 'the same once more' "$tables" check old # the first one has opened them, in another boot than theirs
    ends 0
    answers_as "$compat/$release/tables/answers"
    unpack "$release" tables old
    run "damaged table files of weir $release" "$damage" old
    cat out
    ends 0
done
