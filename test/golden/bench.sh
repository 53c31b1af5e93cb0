#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench.sh WEIR: that `weir bench` measures and says so; never how fast it was.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

small=(--keys 2000 --for 1ms)
run 'as JSON' "$weir" bench "${small[@]}" --threads 1,2,3 --json
ends 0
silent err
json out '.table.keys == 2000 and .table.bytes >= 2000 * 16 and .table.batch == 32'
json out '.table.bytes_per_key > 16 and .table.bytes_per_key_at_last > 16'
json out '[.table.threads[].threads] == [1, 2, 3]'
for name in floor single floor_loop loop floor_batch batch; do
    json out "[.table, .table.threads[]] | all(.${name}_per_s > 0)"
done
for name in single loop batch; do
    json out "[.table, .table.threads[]] | all(.${name}_of_floor > 0)"
    json out "[.table.threads[]] | all(.${name}_of_first > 0) and .[0].${name}_of_first == 1"
done
json out '.table.single_per_s == .table.threads[0].single_per_s'

run 'in words' "$weir" bench "${small[@]}" --threads 2
ends 0
silent err
says out 'table of 2,000 keys of 8 to 16 bytes: '
for way in 'one by one' 'in a loop' 'batches of 32'; do
    if [ "$(grep -cE "^ +2  $way +[0-9.]+ +[0-9.]+ +[0-9.]+$" out)" != 1 ]; then fail "not one row: $way"; fi
done

wrong() # MESSAGE ARGUMENT...
{
    local message=$1
    shift
    run "wrong: $*" "$weir" bench "$@"
    ends 2
    silent out
    says err "$message"
}

for threads in 0 65 1,,2 1, ,1 x -1 1,2,3,4,5,6,7,8,9 ''; do
    wrong "weir: --threads \"$threads\": expected up to 8 numbers from 1 to 64; for example 1,2,4" "--threads=$threads"
done
wrong 'weir: --keys "999": expected at least 1000 keys' --keys 999
wrong 'weir: --keys "1000000001": ' --keys 1000000001
wrong 'weir: --for "2h": expected at most 1h' --for 2h
wrong 'weir: bench: what is "10/s"? see weir bench --help' 10/s
wrong 'weir: bench: there is no option --rate; see weir bench --help' --rate 5
