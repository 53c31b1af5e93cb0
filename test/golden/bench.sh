#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench.sh WEIR: that `weir-bench` measures and says so; never how fast it was.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

# ---- all of it ----

run 'all sections as JSON' "$weir-bench" grant deny clock pace table --for 5ms --keys 1000 --json
ends 0
silent err
if [ "$(wc -l <out)" != 1 ]; then fail 'not one line'; fi
json out 'keys_unsorted == ["weir", "processors", "grant", "deny", "clock", "sleep", "pace", "table"]'
json out '[.grant[].threads] == [.deny[].threads] and ([.grant[].threads] | contains([1, 2, 8]))'
json out '[.pace[].rate_per_s] == [1000, 1000, 100000, 100000, 1000000, 1000000]'
json out '[.pace[].threads] == [1, 8, 1, 8, 1, 8]'

run 'all sections in words' "$weir-bench" --for 5ms --rounds 1
ends 0
silent err
for section in grant deny clock sleep pace table; do
    if [ "$(grep -c "^$section" out)" != 1 ]; then fail "not one title: $section"; fi
done
if [ "$(awk 'length($0) > 100' out | wc -l)" != 0 ]; then fail 'a line is too long to be read'; fi
if grep -qwE 'nan|inf' out; then fail 'something was not measured'; fi
what='columns of pace' # "per second" is one
awk '/ ratio$/ { columns = NF - 1; next } columns && $1 !~ /^[0-9]/ { exit } columns { print NF - columns }' out |
    sort -u >columns
if [ "$(cat columns)" != 0 ]; then fail 'a row has not as many as the title'; fi

# ---- grant and deny ----

run 'grant' "$weir-bench" grant --threads 1,3 --rounds 2 --for 5ms --json
ends 0
silent err
json out 'keys_unsorted == ["weir", "processors", "grant"] and [.grant[].threads] == [1, 3]'
for name in floor_counter floor_cas floor_clock word_at word lease; do
    json out ".grant | all(.${name}_per_s > 0 and .${name}_per_s_min <= .${name}_per_s)"
    json out ".grant | all(.${name}_per_s <= .${name}_per_s_max)"
done
for name in lease_times_counter word_at_times_cas word_times_cas_and_clock lease_of_processors; do
    json out ".grant | all(.$name > 0 and .${name}_min <= .$name and .$name <= .${name}_max)"
done
json out '.grant[0].lease_of_processors == 1'
json out '.grant | all(.lease_clock_reads_per_1000 >= 0 and .lease_clock_reads_per_1000 <= 1000)'
json out '.grant | all(.word_clock_reads_per_1000 == 1000 and (.word_tsc_per_s == null or .word_tsc_per_s > 0))'

run 'a thousand threads' "$weir-bench" grant --threads 1000 --rounds 1 --for 5ms --json
ends 0
silent err
json out '.grant[0] | .threads == 1000 and .word_per_s > 0 and .lease_per_s > 0'

run 'deny' "$weir-bench" deny --threads 1,3 --for 5ms --json
ends 0
silent err
json out 'keys_unsorted == ["weir", "processors", "deny"] and [.deny[].threads] == [1, 3]'
json out '.deny | all(.per_s > 0 and .floor_per_s > 0 and .floor_clock_per_s > 0 and .ticker_per_s > 0)'
json out '.deny | all(.lease_per_s > 0 and .lease_ticker_per_s > 0 and .times_load_and_clock > 0)'

run 'threads alone' "$weir-bench" --threads 2 --for 5ms --json
ends 0
json out 'keys_unsorted == ["weir", "processors", "grant", "deny"]'

# ---- clock ----

run 'clock' "$weir-bench" clock --for 20ms --json
ends 0
silent err
json out '.clock | .floor_load_ns > 0 and .system_ns > 0 and .coarse_ns > 0 and .ticker_ns > 0'
json out '.sleep.sleep_ns == 100000'
json out '.sleep | [.floor, .take_wait] | all(.late_ns.p50 <= .late_ns.p99 and .late_ns.p99 <= .late_ns.p999)'
json out '.sleep.floor | .late_ns.p50 > 0 and .sleeps_per_wait >= 0'

# ---- pace ----

run 'pace' "$weir-bench" --rate 1000,300k --threads 1,2 --min-sleep 100us --rounds 3 --for 2s --json
ends 0
silent err
json out 'keys_unsorted == ["weir", "processors", "pace"]'
json out '[.pace[] | [.rate_per_s, .threads]] == [[1000, 1], [1000, 2], [300000, 1], [300000, 2]]'
json out '.pace | all(.grain_ns == 100000 and .rounds == 3 and .cpu > 0 and .floor_cpu > 0)'
json out '[.pace[].operations] | max > 1'
json out '.pace | all(.window_excess == 0 and .early == 0)'
json out '[.pace[].error_ppm] | any(type == "number")'
json out '.pace | all([.late_ns, .behind_ns, .floor_late_ns] | all(.p50 <= .p99 and .p99 <= .p999 and .p999 <= .max))'
json out '.pace | all([.gaps, .floor_gaps] | all(.within_1us <= .within_10us and .within_10us <= .within_100us))'
json out '.pace | all(.p99_of_floor >= 0 and .sleeps_per_s >= 0 and .behind_p99_of_floor >= 0)'
json out '[.pace[] | [.looked_at_one_in, .gaps_of]] == [[1, "all"], [1, "all"], [2, "thread"], [2, "thread"]]'

run 'a rate that is over before its second operation' "$weir-bench" --rate 1 --threads 1 --for 2ms --json
ends 0
json out '.pace[0] | .operations <= 1 and .error_ppm == null and .gaps.within_1us == null'

# ---- table ----

small=(--keys 2000 --for 1ms)
run 'table as JSON' "$weir-bench" "${small[@]}" --threads 1,2,3 --json
ends 0
silent err
json out 'keys_unsorted == ["weir", "processors", "table"]'
json out '.table.keys == 2000 and .table.bytes >= 2000 * 16 and .table.batch == 32 and .table.rounds == 15'
json out '.table.bytes_per_key > 16 and .table.bytes_per_key_at_last > 16'
json out '[.table.threads[].threads] == [1, 2, 3]'
for name in floor single floor_loop loop floor_batch batch both tenant; do
    json out "[.table, .table.threads[]] | all(.${name}_per_s > 0)"
done
for name in single loop batch; do
    json out "[.table, .table.threads[]] | all(.${name}_of_floor > 0)"
    json out "[.table.threads[]] | all(.${name}_of_first > 0) and .[0].${name}_of_first == 1"
done
json out '.table.single_per_s == .table.threads[0].single_per_s'
json out '.table.clock_per_s > 0 and .table.clock_per_s == .table.threads[0].clock_per_s'

run 'table in words' "$weir-bench" "${small[@]}" --threads 2
ends 0
silent err
says out 'table of 2,000 keys of 8 to 16 bytes: '
for way in 'one by one' 'in a loop' 'batches of 32' tenants; do
    if [ "$(grep -cE "^ +2  $way +[0-9.]+ +[0-9.]+ +[0-9.]+$" out)" != 1 ]; then fail "not one row: $way"; fi
done

# ---- mistakes ----

wrong() # MESSAGE ARGUMENT...
{
    local message=$1
    shift
    run "wrong: $*" "$weir-bench" "$@"
    ends 2
    silent out
    says err "$message"
}

expected='expected up to 8 numbers from 1 to 1000; for example 1,2,8'
for threads in 0 1001 1,,2 1, ,1 x -1 1,2,3,4,5,6,7,8,9 ''; do
    wrong "weir-bench: --threads \"$threads\": $expected" "--threads=$threads"
done
expected='expected up to 8 whole numbers a second, from 1 to 1000000000; for example 1000,100k,1M'
for rate in 0 1e6 1000,0 -5 1000/s 1000000001 1000, ''; do
    wrong "weir-bench: --rate \"$rate\": $expected" "--rate=$rate"
done
wrong 'weir-bench: --min-sleep "0s": expected more than 0 and at most 1s' --min-sleep 0s
wrong 'weir-bench: --min-sleep "2s": expected more than 0 and at most 1s' --min-sleep 2s
wrong 'weir-bench: --min-sleep "5": expected a time' --min-sleep 5
expected='expected a whole number from 1000 to 1000000000; for example 10M'
for keys in 0 999 1000000001 1e6 ''; do
    wrong "weir-bench: --keys \"$keys\": $expected" "--keys=$keys"
done
if awk '/^MemTotal:/ { small = $2 < 30000000 } END { exit !small }' /proc/meminfo 2>/dev/null; then
    run 'more keys than there is memory for' "$weir-bench" table --keys 1000000000 --for 1ms
    ends 2
    says err 'weir-bench: 1000000000 keys need about 44000 MB, more than this machine has; see --keys'
fi
wrong 'weir-bench: --for "2h": expected more than 0 and at most 1h' --for 2h
wrong 'weir-bench: --for "0s": expected more than 0 and at most 1h' --for 0s
wrong 'weir-bench: --rounds "0": expected a whole number from 1 to 25' --rounds 0
wrong 'weir-bench: --rounds "26": expected a whole number from 1 to 25' --rounds 26
wrong 'weir-bench: there is no section "10/s"; expected grant, deny, clock, pace or table' 10/s
wrong 'weir-bench: --rate is for the section pace, which is not among those named; add pace' grant --rate 5
wrong 'weir-bench: --min-sleep is for the section pace, which is not among those named; add pace' table --min-sleep 1ms
wrong 'weir-bench: --keys is for the section table, which is not among those named; add table' pace --keys 5000
wrong 'weir-bench: there is no option --warp; see weir-bench --help' --warp 5

# A machine that has no room for so many threads is told so.
if (ulimit -u 1) 2>/dev/null && [ "$(id -u)" != 0 ]; then
    what='no room for threads'
    (
        ulimit -u 1
        "$weir-bench" grant --threads 8 --for 1ms >out 2>err
    )
    status=$?
    ends 2
    says err 'weir-bench: the system cannot run 8 threads; see --threads'
fi

# ---- the command that it was ----

for arguments in bench 'bench --help' 'help bench'; do
    # shellcheck disable=SC2086 # they are words
    run "weir $arguments" "$weir" $arguments
    ends 2
    silent out
    says err 'weir: there is no command "bench"; it is the program weir-bench now'
done
run 'the version' "$weir-bench" --version
ends 0
silent err
"$weir" --version | sed 's/^weir /weir-bench /' >expected
same out expected
if [ -e /dev/full ]; then
    run 'nowhere to write' sh -c '"$1" --help >/dev/full' sh "$weir-bench"
    ends 2
    says err 'weir-bench: standard output: No space left on device'
fi
