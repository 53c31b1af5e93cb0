#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# alerts.sh WEIR: each metric that examples/serve/alerts.yaml names is in src/serve/stats/metrics.c; promtool, where
# it is, accepts the rules and the configuration.
. "$(dirname "$0")/lib/start.sh" "$@"
what='metrics of the alerts'
grep -oE 'weir_[a-z_]+' "$tree/examples/serve/alerts.yaml" | sort -u >named
if [ ! -s named ]; then fail 'no rule names a metric'; fi
while read -r metric; do
    grep -q "\"${metric%_bucket}[\"{]" "$tree/src/serve/stats/metrics.c" || fail "there is no $metric"
done <named
if has_tool promtool; then
    run 'promtool' promtool check config "$tree/examples/serve/prometheus.yaml"
    ends 0
else
    skip_part 'promtool' 'promtool is not here' 'apt-get install prometheus'
fi
