#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# look.sh PAGE_FIXTURE: the page in a real browser; see look.py.  With WEIR_PAGES=FOLDER the pages stay there.
set -euo pipefail
fixture=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
. "$here/../lib/skip.sh"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

if ! browser=$("$here/../../tools/find" browser); then skip_test 'chromium is not here'; fi
needs python3

for case in day calm one seconds sixteen hostile empty; do
    "$fixture" $case "$room/$case.html"
done
if [ -n "${WEIR_PAGES-}" ]; then mkdir -p "$WEIR_PAGES" && cp "$room"/*.html "$WEIR_PAGES"; fi
python3 "$here/look.py" "$here/probe.js" "$room" "$browser"
