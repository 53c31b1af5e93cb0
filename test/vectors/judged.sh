#!/bin/sh
# SPDX-License-Identifier: MIT
# judged.sh RUNNER DIR [REFERENCE] - does the shipped core still judge as many steps of each file as judged.txt says,
# is nothing skipped but those quirks of the peer that it counts, and does test code answer no more than it says?
set -u

if [ $# -lt 2 ] || [ ! -x "$1" ]; then
    echo "usage: judged.sh RUNNER DIR [REFERENCE] (RUNNER an executable; got \"${1:-}\")" >&2
    exit 2
fi
reference=${3:-$(dirname "$0")/judged.txt}
out=$(mktemp) || exit 2
trap 'rm -f "$out" "$out.err"' EXIT
"$1" "$2" >"$out" 2>"$out.err" || exit 1
if grep '^  skipped: ' "$out.err" | grep -Evx '  skipped: [0-9]+ peer_quirk'; then
    echo "judged: something is skipped that is no peer_quirk"
    exit 1
fi

awk -v reference="$reference" '
    FILENAME == reference {
        sub(/#.*/, "")
        if (NF == 4) {
            least[$1] = $2
            quirks[$1] = $3
            tests[$1] = $4
        }
        next
    }
    {
        name = $0
        sub(/: .*/, "", name)
        if (!match($0, /, [0-9]+ by the core$/)) complain($0, "ends in no count of the steps that the core judged")
        judged[name] = substr($0, RSTART + 2) + 0
        skipped = $0
        sub(/ skipped, .*/, "", skipped)
        sub(/.* /, "", skipped)
        by_peers = match($0, /[0-9]+ by test\/peers, /) ? substr($0, RSTART) + 0 : 0
        if (!(name in least)) complain(name, "is not in " reference)
        else if (skipped != quirks[name]) complain(name, skipped " steps skipped, " quirks[name] " before")
        else if (by_peers != tests[name]) complain(name, by_peers " steps by test/peers, " tests[name] " before")
        of_tests += by_peers
    }
    function complain(what, why) {
        print "judged: " what ": " why
        failed = 1
    }
    END {
        for (name in least) {
            if (!(name in judged)) complain(name, "did not run")
            else if (judged[name] < least[name])
                complain(name, judged[name] " steps by the core, " least[name] " before")
            else if (judged[name] > least[name]) print "judged: " name ": now " judged[name] "; put it in " reference
            if (name in judged) sum += judged[name]
        }
        if (sum == 0) complain("all", "no step was judged by the core")
        if (!failed) print "judged: " sum " steps by the core, and apart from them " of_tests + 0 " by test/peers"
        exit failed
    }' "$reference" "$out"
