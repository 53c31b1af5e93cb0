#!/bin/sh
# SPDX-License-Identifier: MIT
# curl.sh KEY COMMAND [ARGUMENT...]: runs the command at most three times an hour for each key, on all machines that ask
# the same weir.  Refused, it says when again, and ends with 75.
#   WEIR=http://127.0.0.1:9348 examples/serve/curl.sh mail:alice@example.test ./send-mail alice@example.test

# When weir cannot be reached, nothing is sent: a mail can wait, and a flood of them cannot be called back.
# true: it is sent.
FAIL_OPEN=false

weir=${WEIR:-http://127.0.0.1:9348}
key=$1
shift

head=$(mktemp) || exit 125
status=$(curl -sS --max-time 2 -o /dev/null -D "$head" -w '%{http_code}' "$weir/v1/take" \
    --data-urlencode 'limit=3/h' --data-urlencode "key=$key")
again=$(tr -d '\r' <"$head" | sed -n 's/^[Rr]etry-[Aa]fter: //p')
rm -f "$head"

case $status in
200) exec "$@" ;;
429)
    echo "refused: again in $again s" >&2
    exit 75
    ;;
422)
    echo 'refused: never' >&2
    exit 75
    ;;
000) # curl has said why
    if [ "$FAIL_OPEN" = true ]; then exec "$@"; fi
    exit 125
    ;;
*)
    echo "weir answers $status" >&2
    exit 125
    ;;
esac
