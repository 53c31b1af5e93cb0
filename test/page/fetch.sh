#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fetch.sh TREE: tools/page without npm and without a network: the archive stands in a file.
set -euo pipefail
tree=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
for tool in curl openssl; do
    if ! command -v $tool >/dev/null; then echo "$tool is not here" && exit 77; fi
done

# Only what tools/page may need: no npm.
mkdir -p "$room/bin" "$room/tree/tools" "$room/tree/web" "$room/package"
for tool in bash env dirname sed grep curl openssl tar gzip mktemp rm mkdir cp cat; do
    ln -s "$(command -v $tool)" "$room/bin/$tool"
done
cp "$tree/tools/page" "$room/tree/tools"
printf '#!/bin/sh\nexit 1\n' >"$room/tree/tools/deps" && chmod +x "$room/tree/tools/deps"
cp -r "$tree/web/node_modules/uplot/." "$room/package"
tar -C "$room" -czf "$room/uplot.tgz" package

lock() # INTEGRITY: the lock file of the tree, but for where the archive is and what it should be
{
    sed -e "s|\"resolved\": \".*\"|\"resolved\": \"file://$room/uplot.tgz\"|" \
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
right=sha512-$(openssl dgst -sha512 -binary "$room/uplot.tgz" | openssl base64 -A)

lock "sha512-${right:8:20}AAAA${right:32}"
page 1
grep -q 'is not what web/package-lock.json locks' "$room/said" || fail 'a wrong checksum is not said'
if [ -e "$place" ]; then fail 'a wrong archive is unpacked'; fi

lock "$right"
page 0
cmp "$place/dist/uPlot.iife.min.js" "$tree/web/node_modules/uplot/dist/uPlot.iife.min.js" || fail 'not unpacked'
grep -q "^weir: getting uPlot" "$room/said" || fail "does not say what it does"

mv "$room/uplot.tgz" "$room/away.tgz"
page 0
if [ -s "$room/said" ]; then fail 'is not content with what is there'; fi

# Another version than the one that is locked is as good as none; and one that cannot be had leaves all as it is.
sed -i 's/"version": "[^"]*"/"version": "0.0.1"/' "$place/package.json"
page 0
grep -q 'weir replay and weir serve are built without their pages' "$room/said" || fail 'no word of having failed'
mv "$room/away.tgz" "$room/uplot.tgz"
page 0
cmp "$place/package.json" "$tree/web/node_modules/uplot/package.json" || fail 'the old version stays'
