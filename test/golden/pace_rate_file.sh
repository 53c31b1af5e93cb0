#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_rate_file.sh WEIR: the limit in a file is followed while the work goes on, and a bad one changes nothing.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

seq 20 >in
printf '# the nightly load\n\n  100000/s burst=20\r\nnot read\n' >limit
run 'a limit from a file' "$weir" pace --rate-file limit --json --summary summary <in
ends 0
same out in
json summary '.lines == 20 and .target_per_s == 100000'

run 'a limit from a file, for commands' "$weir" pace --rate-file limit --count 2 -- echo '{}' <in
ends 0
printf '1\n2\n' >expected
same out expected

run 'a file that is not there yet' "$weir" pace 50000/s --rate-file none --json --summary summary <in
ends 0
json summary '.lines == 20 and .target_per_s == 50000'

run 'no file and no limit' "$weir" pace --rate-file none <in
ends 2
says err 'weir: --rate-file none: No such file or directory'

printf '# nothing\n' >empty
run 'no limit in the file' "$weir" pace 10/s --rate-file empty <in
ends 2
says err 'weir: empty: expected a line with a limit; for example 1000/s'

mkdir folder
run 'no file, but a folder' "$weir" pace 50000/s --rate-file folder <in
ends 0
says err 'weir: --rate-file folder: not a file; 50000/s goes on'

printf '\n10/\n' >bad
run 'a bad limit in the file' "$weir" pace --rate-file bad <in
ends 2
says err 'weir: bad:2:4: expected a period: s, min, h, d, w; for example 10/s'

# ---- while it runs: at 1/h the rest of the input would take days ----
seq 200 >in
printf '1/h burst=1\n' >limit
run_on() { "$weir" pace --rate-file limit --json --summary summary <in >out 2>err & }
say_new() { printf '%s\n' "$1" >limit.new && mv limit.new limit; }
wait_for() { until grep -qF -- "$1" err; do sleep 0.05; done; }
what='followed while running'
run_on
until [ -s out ]; do sleep 0.05; done
say_new '10/M'
wait_for 'weir: limit:1:4: M is a million; a minute is min; for example 10/min; the limit before goes on'
say_new '10/s algorithm=gcra'
wait_for 'weir: limit:1: while running only the numbers can change, not the algorithm; the limit before goes on'
say_new '# nothing'
wait_for 'weir: limit: expected a line with a limit; for example 1000/s; the limit before goes on'
say_new '1000000/s burst=200'
wait $!
status=$?
ends 0
same out in
json summary '.lines == 200 and .early == 0 and .target_per_s == 1000000'

printf '20/s burst=1\n' >limit
what='nothing passes any more'
run_on
until [ -s out ]; do sleep 0.05; done
say_new none
wait $!
status=$?
ends 2
if ! grep -q '^weir: line .* costs 1, more than the limit in force can ever' err; then fail 'it says so'; fi
