#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# live.sh PAGE_LIVE PAGE_WITHOUT: the page of weir serve in a real browser; see live.py.  With WEIR_PAGES=FOLDER its
# pictures stay there.  Then the page of a weir that is built without it.
set -euo pipefail
fixture=$(realpath "$1") without=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
. "$here/../lib/skip.sh"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# Plain, without a script, and with the way to the same figures.
"$without" >"$room/plain"
for words in '^text/html; charset=utf-8$' "^default-src 'none'$" 'built without its page' 'href="/metrics"'; do
    if ! grep -q -- "$words" "$room/plain"; then
        echo "FAILED: the plain page: $words"
        cat "$room/plain"
        exit 1
    fi
done
if grep -qi '<script\|<style' "$room/plain"; then echo "FAILED: the plain page has a script or style" && exit 1; fi

if ! browser=$("$here/../../tools/find" browser); then skip_test 'chromium is not here'; fi
needs python3
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/live.py" "$here/probe.js" "$fixture" "$room" "$browser" ${WEIR_PAGES:+"$WEIR_PAGES"}
