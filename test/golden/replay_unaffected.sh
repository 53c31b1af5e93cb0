#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_unaffected.sh WEIR: the burst that it names leaves so many clients unaffected, and one less does not.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3

python3 "$lib/replay_model.py" make 7 4000 msec >msec.log
msec='$remote_addr [$msec] $request_time $body_bytes_sent'
untouched() # LIMIT
{
    "$weir" replay "$1" --json --format "$msec" msec.log | jq '.limits[0] | .keys - .keys_denied'
}
for share in 50 80 99.9 100; do
    for rate in 1/s 2/s 30/min; do
        run "--unaffected $share of $rate" "$weir" replay $rate --json --unaffected $share --format "$msec" msec.log
        burst=$(jq '.limits[0].unaffected_burst' out) keys=$(jq .keys out)
        if ! [[ $burst =~ ^[1-9][0-9]*$ ]]; then fail "no burst, but $burst"; fi
        enough=$(awk -v k="$keys" -v s=$share 'BEGIN { n = k * s / 100; print n == int(n) ? n : int(n) + 1 }')
        if [ "$(untouched "$rate burst=$burst")" -lt "$enough" ]; then fail "burst=$burst affects more"; fi
        if [ "$burst" = 1 ]; then continue; fi
        if [ "$(untouched "$rate burst=$((burst - 1))")" -ge "$enough" ]; then fail "burst=$((burst - 1)) would do"; fi
    done
done
