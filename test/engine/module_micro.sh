#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module_micro.sh WEIR: the module in a real engine decides, stores and expires as src/micro does, step by step.
# WEIR_STEPS and WEIR_SEED change how many, and which.
. "$(dirname "$0")/lib/engine.sh" "$@"
module_options test-clock yes
if [ ! -x "$build/test/engine-module_micro" ]; then
    echo 'hiredis is not here'
    exit 77
fi
start_engine one "${with_module[@]}"
run "the module and src/micro" "$build/test/engine-module_micro" "$room/one/socket" "${WEIR_STEPS:-20000}" \
    "${WEIR_SEED:-7}"
ends 0
cat out
