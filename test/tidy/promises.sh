#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# promises.sh BUILD FILE...: each test that these pages name is one.
set -euo pipefail
# Not by ctest -N, which would empty the log of the run that this is part of.
known=$(sed -nE 's/^add_test\((\[=\[|")?([a-z]+\/[A-Za-z0-9_-]+).*/\2/p' "$1/CTestTestfile.cmake")
tests='`(unit|property|model|stress|golden|serve|engine|clock|compat|vectors|tidy)/[a-z_-]+`'
shift
status=0
for page; do
    named=$(grep '^|' "$page" | grep -oE "$tests" || :)
    [ -n "$named" ] || { echo "$page names no test"; status=1; }
    for test in ${named//\`/}; do
        grep -qxF -- "$test" <<<"$known" || { echo "$page: there is no test $test"; status=1; }
    done
done
exit $status
