#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# page.sh WEIR: the page of a real weir serve in a real browser: what was asked is on it, it notices when the service is
# gone, and goes on with the next one.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
if ! browser=$("$tree/tools/find" browser); then skip_test 'chromium is not here'; fi
export PYTHONDONTWRITEBYTECODE=1

start_serve
curl -sf -o page "http://127.0.0.1:$http/"
clean_end
if grep -q 'built without its page' page; then
    skip_test 'this weir was built without its page' 'tools/page && tools/build'
fi
run 'the page' /usr/bin/python3 "$tree/test/serve/lib/page.py" "$tree/test/page" "$browser" "$weir" "$room" \
    "$(free_port)"
ends 0
