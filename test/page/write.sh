#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# write.sh PAGE_FIXTURE PAGE_WITHOUT: what page_write says when there is no page, or no place for it.
set -euo pipefail
fixture=$(realpath "$1") without=$(realpath "$2")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"

fails() # WORDS COMMAND...
{
    local words=$1 status=0
    shift
    "$@" 2>err || status=$?
    if [ $status != 2 ]; then echo "FAILED: $*: exit status $status, expected 2" && exit 1; fi
    if ! grep -qF -- "$words" err; then echo "FAILED: $*: does not say: $words" && cat err && exit 1; fi
}

fails 'weir: --html page: this build has no page; to add it, run tools/page && tools/build in the source tree' \
    "$without" day page
if [ -e page ]; then echo "FAILED: leaves a file behind" && exit 1; fi
fails 'weir: --html no/where: No such file or directory' "$fixture" day no/where
if [ ! -w /dev/full ]; then
    echo 'skipped: page/write: a full disk: /dev/full is not here; cure: mknod -m 666 /dev/full c 1 7'
else
    fails 'weir: --html /dev/full: No space left on device' "$fixture" day /dev/full
fi

# The same result is the same page, to the byte.
"$fixture" hostile one && "$fixture" hostile two && cmp one two
