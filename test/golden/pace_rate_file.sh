#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_rate_file.sh WEIR: the limit in a file is followed while the work goes on, and a bad one changes nothing.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

seq 20 >in
printf '# the nightly load\r\n\r\n  100000/s burst=20\r\nnot read\n' >limit
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
says err 'weir: --rate-file folder: not a file; 50000/s stays in force'

printf '\n10/\n' >bad
run 'a bad limit in the file' "$weir" pace --rate-file bad <in
ends 2
says err 'weir: bad:2:4: expected a period: s, min, h, d, w; for example 10/s'

for text in '10' '# a note
10/s'; do
    printf '%s' "$text" >unfinished
    run 'a limit without a newline' "$weir" pace 10/s --rate-file unfinished <in
    ends 2
    silent out
    says err ": no newline at the end of the line, which may be half written; add one"
done
says err 'weir: unfinished:2: no newline' # where it stands

# ---- while it runs: at 1/h the rest of the input would take days ----
seq 200 >in
printf '1/h burst=1\n' >limit
run_on()
{
    rm -f out err # or those of the run before are taken for this one's
    "$weir" pace --rate-file limit --json --summary summary <in >out 2>err &
}
say_new() { printf '%s\n' "$1" >limit.new && mv limit.new limit; }
wait_for() { until_true grep -qF -- "$1" err; }
what='followed while running'
run_on
until_true test -s out
say_new '10/M'
wait_for 'weir: limit:1:4: M is a million; a minute is min; for example 10/min; the previous limit stays in force'
say_new '10/s algorithm=gcra'
stays='; the previous limit stays in force'
wait_for 'weir: limit:1: while running only the numbers can change, not the algorithm'"$stays"
say_new '# nothing'
wait_for 'weir: limit: expected a line with a limit; for example 1000/s; the previous limit stays in force'
say_new '1000000/s burst=200'
wait $!
status=$?
ends 0
same out in
json summary '.lines == 200 and .early == 0 and .target_per_s == 1000000'

# Half of 1000000/s is no limit: the complaint says that it was looked at, and comes once.
what='half written while running'
printf '1/h burst=1\n' >limit
run_on
until_true test -s out
half="weir: limit:1: no newline at the end of the line, which may be half written; add one$stays"
said() { [ "$(grep -cxF -- "$half" err)" = "$1" ]; }
printf '1000000/s burst' >limit.new && mv limit.new limit
until_true said 1
sleep 0.5 # a few more looks at the same file
if ! said 1; then fail 'said more than once'; fi
printf '=200' >>limit
until_true said 2 # another text, another complaint
if [ "$(wc -l <out)" != 1 ]; then fail 'a limit without its newline was adopted'; fi
echo >>limit
wait $!
status=$?
ends 0
same out in
json summary '.target_per_s == 1000000'

# Ten changes a second are not ten lines a second, and the last one is told whenever it comes.
what='many changes'
seq 2000 >in
rm out err
printf '1/h burst=1\n' >limit
began=$SECONDS
"$weir" pace --rate-file limit --summary summary <in >out 2>err &
until_true test -s out
for count in $(seq 2 60); do
    say_new "$count/h burst=1"
    sleep 0.1
done
say_new '1000000/s burst=2000'
wait $!
status=$?
ends 0
same out in
if [ "$(wc -l <err)" -gt $((SECONDS - began + 3)) ]; then fail 'more than one limit a second'; fi
if [ "$(wc -l <err)" -lt 3 ]; then fail 'the changes are not told'; fi
if [ "$(tail -n 1 err)" != '1000000/s burst=2000 catchup=1 algorithm=hybrid' ]; then fail 'the last one is not told'; fi

seq 20000 >in # a thousand seconds
printf '20/s burst=1\n' >limit
what='a limit that lets nothing through for ever'
rm -f out err
"$weir" pace --rate-file limit <in >out 2>err &
until_true test -s out
say_new none
until_true grep -q '^weir: limit:1: none would never let anything through; to stop for a while write pause' err

what='a pause, and on'
say_new ' pause '
until_true grep -qx pause err
sleep 0.2 # whoever was about to write has written
held=$(wc -l <out)
sleep 0.5
if [ "$(wc -l <out)" != "$held" ]; then fail 'it goes on'; fi
say_new '1000000/s burst=2000'
wait $!
status=$?
ends 0
same out in
