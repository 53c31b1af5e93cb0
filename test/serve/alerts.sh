#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# alerts.sh WEIR: promtool accepts the rules and the configuration of examples/serve.  tidy/rows sees to it that the
# metrics are there that they name.
. "$(dirname "$0")/lib/start.sh" "$@"
if has_tool promtool; then
    run 'promtool' promtool check config "$tree/examples/serve/prometheus.yaml"
    ends 0
else
    skip_part 'promtool' 'promtool is not here' 'apt-get install prometheus'
fi
