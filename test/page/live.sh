#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# live.sh PAGE_LIVE: the page of weir serve in a real browser; see live.py.  With WEIR_PAGES=FOLDER its pictures stay
# there.
set -euo pipefail
fixture=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

if ! browser=$("$here/../../tools/find" browser); then echo "chromium is not here" && exit 77; fi
if ! command -v python3 >/dev/null; then echo "python3 is not here" && exit 77; fi
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/live.py" "$here/probe.js" "$fixture" "$room" "$browser" ${WEIR_PAGES:+"$WEIR_PAGES"}
