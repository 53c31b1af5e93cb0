#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fetch.sh TREE: tools/page and tools/modules without npm and without a network: the registry is a folder.
set -euo pipefail
tree=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
. "$tree/test/lib/skip.sh"
needs curl openssl
if [ ! -d "$tree/web/node_modules/uplot" ]; then skip_test 'uPlot is not here' 'tools/page'; fi

# Only what tools/page may need: no npm.
version=$(sed -n 's/.*\/uplot-\(.*\)\.tgz.*/\1/p' "$tree/web/package-lock.json")
archive=$room/registry/uplot/-/uplot-$version.tgz
mkdir -p "$room/bin" "$room/tree/tools" "$room/tree/web" "$room/package" "$(dirname "$archive")"
for tool in bash env dirname realpath sed awk grep curl openssl tar gzip mktemp rm mkdir cp cat; do
    ln -s "$(command -v $tool)" "$room/bin/$tool"
done
cp "$tree/tools/page" "$tree/tools/modules" "$room/tree/tools"
printf '#!/bin/sh\nexit 1\n' >"$room/tree/tools/deps" && chmod +x "$room/tree/tools/deps"
cp -r "$tree/web/node_modules/uplot/." "$room/package"
tar -C "$room" -czf "$archive" package

lock() # INTEGRITY: the lock file of the tree, but for where the archive is and what it should be
{
    sed -e "s|\"resolved\": \".*\"|\"resolved\": \"file://$archive\"|" \
        -e "s|\"integrity\": \".*\"|\"integrity\": \"$1\"|" \
        "$tree/web/package-lock.json" >"$room/tree/web/package-lock.json"
}

page() # STATUS
{
    local status=0
    PATH=$room/bin "$room/tree/tools/page" >"$room/said" 2>&1 || status=$?
    if [ $status != "$1" ]; then fail "exit status $status, expected $1"; fi
}

fail() # WORDS
{
    echo "FAILED: $*"
    cat "$room/said"
    exit 1
}

place=$room/tree/web/node_modules/uplot
right=sha512-$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)

lock "sha512-${right:8:20}AAAA${right:32}"
page 1
grep -q 'is not what web/package-lock.json locks' "$room/said" || fail 'a wrong checksum is not said'
if [ -e "$place" ]; then fail 'a wrong archive is unpacked'; fi

lock "$right"
page 0
cmp "$place/dist/uPlot.iife.min.js" "$tree/web/node_modules/uplot/dist/uPlot.iife.min.js" || fail 'not unpacked'
grep -q "^weir: getting uplot" "$room/said" || fail "does not say what it does"

mv "$archive" "$room/away.tgz"
page 0
if [ -s "$room/said" ]; then fail 'is not content with what is there'; fi

# Another version than the one that is locked is as good as none; and one that cannot be had leaves all as it is.
sed -i 's/"version": "[^"]*"/"version": "0.0.1"/' "$place/package.json"
page 0
grep -q 'weir replay and weir serve are built without their pages' "$room/said" || fail 'no word of having failed'
mv "$room/away.tgz" "$archive"
page 0
cmp "$place/package.json" "$tree/web/node_modules/uplot/package.json" || fail 'the old version stays'
