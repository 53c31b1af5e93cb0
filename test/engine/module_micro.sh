#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# module_micro.sh WEIR: the module in a real engine decides, stores and expires as src/redis/micro does, step by step.
# WEIR_STEPS and WEIR_SEED change how many, and which.
. "$(dirname "$0")/lib/engine.sh" "$@"
module_options test-clock yes
needs_built "$build/test/engine-module_micro" hiredis
start_engine one "${with_module[@]}"
seed_of 7
steps=${WEIR_STEPS:-$(of_size 20000 500000)}
run "the module and src/redis/micro" "$build/test/engine-module_micro" "$room/one/socket" "$steps" "$seed"
ends 0
cat out
