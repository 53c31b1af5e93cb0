#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_lines.sh WEIR: every byte comes through, whatever happens is said, and how it ended can be seen.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3

# ---- every byte, in order ----
unchanged() # WHAT LINES ARGUMENT...: the file in comes through as it is, counted as so many lines
{
    local lines=$2 name=$1
    shift 2
    run "$name" "$weir" pace "$@" --json --summary summary <in
    ends 0
    silent err
    same out in
    json summary ".lines == $lines and .early == 0 and .over >= 0 and .dropped == 0"
}

seq 5000 >in
unchanged 'lines' 5000 1000000/s
printf 'one\ntwo\nthree' >in
unchanged 'a last line without newline' 3 10000/s
: >in
unchanged 'empty input' 0 10/s
printf '\n\n\na\n\n' >in
unchanged 'empty lines' 5 10000/s
printf 'a\0b\nstill b\0\0last' >in
unchanged 'NUL mode' 4 10000/s -0
unchanged 'NUL mode, long option' 4 10000/s --null
unchanged 'NULs are bytes of a line' 2 10000/s
{ head -c 1048576 /dev/zero | tr '\0' x; echo; seq 10; } >in
unchanged 'a line of 1 MiB' 11 10000/s
seq 60000 | gzip -nc >in
unchanged 'binary data' "$(wc -l <in | awk '{ print $1 + 1 }')" 1000000/s
unchanged 'binary data by bytes' "$(wc -l <in | awk '{ print $1 + 1 }')" 100MB/s --bytes
json summary ".granted == $(wc -c <in)"
{ echo small; head -c 300000 /dev/zero | tr '\0' y; echo; echo small; } >in
unchanged 'a line larger than the pool' 3 20MB/s --bytes
json summary '.granted == 300013'
seq 300 >in
unchanged 'several limits at once' 300 '100000/s burst=10; 50000/s'
unchanged 'by gcra' 300 '100000/s algorithm=gcra'
unchanged 'unlimited' 300 unlimited
unchanged 'fewer wake-ups' 300 3000/s --min-sleep 20ms

run 'a pipe that comes in pieces' \
    bash -c '{ printf "a\nb"; sleep 0.2; printf "c\n"; sleep 0.2; printf d; } | "$0" pace 10000/s' "$weir"
ends 0
printf 'a\nbc\nd' >expected
same out expected
summary_of 3 lines

# ---- a rate, for people ----
seq 3 >in
for rate in '99.5/s burst=9' '9999/s' '10,000/s'; do
    run "$rate" "$weir" pace "${rate//,/}" <in
    ends 0
    says err " s, ${rate%% *} asked, "
done

# ---- stopping on purpose ----
seq 100 >in
head -n 7 in >expected
run '--count' "$weir" pace 10000/s --count 7 <in
ends 0
same out expected
summary_of 7 lines

head -n 2 in >expected
what='a list, its second limit used up'
rm out err # or those of the run before are taken for this one's
"$weir" pace '10/s burst=5 algorithm=gcra; 2/h algorithm=gcra' <in >out 2>err &
two_lines() { [ "$(wc -l <out)" -ge 2 ]; }
until_true two_lines
kill $!
wait $!
status=$?
ends 143
same out expected
run 'nothing passes' "$weir" pace none <in
ends 2
silent out
says err 'weir: line 1 costs 1, more than none can ever let through'

run '--for, endless input' bash -c 'yes | "$0" pace 1000/s --for 300ms' "$weir"
ends 0
if [ ! -s out ]; then fail 'nothing came through'; fi
summary_of "$(wc -l <out)" lines

mkfifo silence
exec 8<>silence
echo line >&8
run '--for, silent input after a line' timeout -k 5 30 "$weir" pace 1000/s --for 100ms <silence
ends 0
summary_of 1 line

what='--for counts from the first line'
rm out err
"$weir" pace 1000/s --for 100ms <silence >out 2>err &
until_true test -s err # the limit: it has begun
sleep 0.5
if has_ended $!; then fail 'it has ended without a line'; fi
echo line >&8
wait_end $! 'the end of --for'
ends 0
summary_of 1 line
exec 8>&-

# ---- --drop: what is too late is counted, and nothing else is missing ----
seq 200000 >in
stall='read -r line; echo "$line"; sleep 1; cat' # head would take more than its line
bash -c '"$0" pace 100000/s --drop --json --summary summary <in | { '"$stall"'; } >out' "$weir"
what='--drop with a stalled pipe'
json summary '.dropped > 0 and .lines + .dropped == 200000 and .lines == .granted and .early == 0'
if [ "$(wc -l <out)" != "$(jq .lines summary)" ]; then fail 'lines were lost besides those dropped'; fi
if ! sort -n -u -c out 2>/dev/null || [ -n "$(comm -13 <(sort in) <(sort out))" ]; then
    fail 'not the lines of the input, in order'
fi
run '--drop without a stall' bash -c 'seq 3 | "$0" pace 1000/s --drop --json' "$weir"
ends 0
says err '"dropped":'
json err '.lines + .dropped == 3'
run '--drop, the words' bash -c '"$0" pace 100000/s --drop <in 2>err2 | { '"$stall"'; } | wc -l' "$weir"
dropped=$(sed -n 's/ dropped as too late$//p' err2)
if [ "$((dropped + $(cat out)))" != 200000 ]; then fail "$dropped dropped and $(cat out) lines are not 200000"; fi

# Of arrivals at random no number in a window is too many.
seq 3000 >in
run 'at random' "$weir" pace '10000/s arrivals=poisson seed=7' --json <in
ends 0
same out in
json err '.lines == 3000 and .early == 0 and .over == null'
run 'at random, in words' "$weir" pace '10000/s arrivals=poisson seed=7' <in
ends 0
grep -qx 'behind .*; never early, at random and so without a bound' err || fail 'the summary does not say so'

# ---- the summary ----
seq 20 >in
run '--json' "$weir" pace 1000/s --json <in
ends 0
same out in
if [ "$(wc -l <err)" != 1 ]; then fail 'JSON is not one line, or not alone'; fi
json err 'keys == ["achieved_per_s", "behind_ns", "dropped", "early", "elapsed_s", "granted", "late_ns", "lines",
    "missed", "over", "target_per_s"]'
json err '(.late_ns | keys) == ["max", "p50", "p90", "p99", "p999"] and (.behind_ns | keys) == ["max", "now"]'
json err '[paths(type != "object") as $p | getpath($p) | type] | unique == ["number"]'
json err '.target_per_s == 1000 and .lines == 20 and .granted == 20 and .elapsed_s > 0 and .achieved_per_s > 0'
json err '.late_ns | .p50 <= .p90 and .p90 <= .p99 and .p99 <= .p999 and .p999 <= .max'
json err '.behind_ns.now <= .behind_ns.max'

run 'the summary for people' "$weir" pace 12000,1.1 <in
ends 0
summary_of 20 lines
if [ "$(head -n 1 err)" != '12000/s burst=10ms catchup=1.1 algorithm=hybrid' ]; then fail 'the limit is not shown'; fi
if [ "$(wc -l <err)" != 4 ]; then fail 'not four lines'; fi
run 'a rate by the hour' "$weir" pace 100/h --count 1 <in
says err '1 line in 0.000 s, 100/h asked, 0/h'

run 'a pool shorter than a sleep' "$weir" pace '100000/s burst=1' --min-sleep 1ms <in
ends 0
same out in
cat >expected <<'END'
100000/s burst=1 catchup=1 algorithm=hybrid
at most about 2,000/s in one thread, which sleeps 1 ms at a time.   To hold the rate: '100000/s burst=10ms catchup=1.1'
END
head -n 2 err >told
same told expected

run '--summary FILE' "$weir" pace 1000/s --summary summary.txt <in
ends 0
same out in
cp summary.txt err
summary_of 20 lines
run '--summary in no folder' "$weir" pace 1000/s --summary nowhere/summary <in
ends 2
: >empty # refused before any work, or the summary would be lost
same out empty
says err 'weir: --summary nowhere/summary: No such file or directory'

# ---- the other end ----
if [ -w /dev/full ]; then
    run '--summary to a full disk' "$weir" pace 1000/s --summary /dev/full <in
    ends 2
    same out in
    says err 'weir: --summary /dev/full: No space left on device'
    what='standard output to a full disk'
    "$weir" pace 1000/s <in >/dev/full 2>err
    status=$?
    ends 2
    says err 'weir: standard output: No space left on device'
    for arguments in --version --help 'pace --help'; do
        what="$arguments to a full disk"
        "$weir" $arguments >/dev/full 2>err
        status=$?
        ends 2
        says err 'weir: standard output: No space left on device'
    done
fi

# A reader that stands for long holds up more lines than a pipe takes.
yes "$(printf %01000d 0)" | head -n 500 >long
missed=' % of the starts were missed: what held them up was longer than the pool, 2 ms; '
what='what was missed'
"$weir" pace '1000/s burst=2' <long 2>err | { sleep 0.5; cat >out; }
same out long
if ! grep -q "^[0-9.]*${missed}catchup=1\.1 would make up for them$" err; then fail 'it is not said'; fi
what='what is made up for'
"$weir" pace '1000/s burst=2 catchup=1.1' <long 2>err | { sleep 0.5; cat >out; }
same out long
if grep -q 'would make up' err; then fail 'it is said that it should be made up for'; fi

what='a reader that goes'
yes | python3 "$lib/ending.py" pid end "$weir" pace 100000/s 2>err | head -n 1 >out
echo y >expected
same out expected
if [ "$(cat end)" != -13 ]; then fail "ended with $(cat end), not by SIGPIPE"; fi
if grep -qi 'weir:\|broken pipe' err; then fail 'it complains'; fi

run 'standard input closed' "$weir" pace 1000/s 0<&-
ends 2
silent out
says err 'weir: standard input: Bad file descriptor'
run 'standard input a directory' "$weir" pace 1000/s <.
ends 2
silent out
says err 'weir: standard input: Is a directory'

# ---- signals ----
set -m # or those in the background would ignore SIGINT
begin() # ARGUMENT...: in the background, on a pipe that stays open as fd 9, with one line through
{
    rm -f pipe pid end out err
    mkfifo pipe
    python3 "$lib/ending.py" pid end "$weir" pace "$@" <pipe >out 2>err &
    exec 9>pipe
    echo first >&9
    until_true test -s out -a -s pid
}

finish()
{
    until_true test -s end
    exec 9>&-
    wait
    status=$(cat end)
}

for number in 2 15; do
    what="signal $number"
    begin 1000/s
    kill -$number "$(cat pid)"
    finish
    ends -$number
    summary_of 1 line
    what="signal $number during a wait for the start"
    begin '1/h burst=1 algorithm=gcra'
    echo second >&9
    kill -$number "$(cat pid)"
    finish
    ends -$number
    echo first >expected
    same out expected
    summary_of 1 line
done

what='SIGUSR1'
begin 1000/s
kill -USR1 "$(cat pid)"
until_true grep -q '^behind' err
summary_of 1 line
(echo second >&9) || fail 'it did not go on'
until_true grep -q second out
exec 9>&-
finish
ends 0
summary_of 2 lines
if [ "$(grep -c '^behind' err)" != 2 ]; then fail 'not two summaries'; fi
set +m

# ---- usage ----
wrong() # MESSAGE ARGUMENT...
{
    echo "weir: $1" >expected
    shift
    run "weir $*" "$weir" "$@" </dev/null
    ends 2
    silent out
    same err expected
}
run 'quiet' "$weir" pace 1000/s -q <<<line
ends 0
silent err
if [ "$(cat out)" != line ]; then fail 'the line is lost'; fi
wrong 'there is no command "nonsense"; see weir --help' nonsense
wrong 'there is no command "--nonsense"; see weir --help' --nonsense
wrong 'there is no command "tkae"; did you mean take?' tkae
wrong 'there is no command "pcae"; did you mean pace?' help pcae
wrong 'pace: expected a limit; for example weir pace 1000/s' pace
wrong 'pace: expected a limit; for example weir pace 1000/s' pace --count 3
wrong 'pace: unexpected argument "burst=2"; quote a limit that has spaces, put a command after --' pace 10/s burst=2
wrong 'pace: there is no option --bogus; see weir pace --help' pace 10/s --bogus
wrong 'pace: there is no option --bytse; did you mean --bytes?' pace 10/s --bytse
wrong 'pace: there is no option -y; see weir pace --help' pace 10/s -y
wrong 'pace: there is no option -y; see weir pace --help' pace 10/s -0y
wrong 'pace: --count needs a value; see weir pace --help' pace 10/s --count
wrong 'pace: -j needs a value; see weir pace --help' pace 10/s -j
wrong '--count "0": expected a whole number from 1 to 18446744073709551614' pace 10/s --count 0
wrong '--count "1.5": expected a whole number from 1 to 18446744073709551614' pace 10/s --count 1.5
wrong '--count "-1": expected a whole number from 1 to 18446744073709551614' pace 10/s --count -1
wrong '--jobs "10001": expected a whole number from 1 to 10000' pace 10/s --jobs 10001 -- true
wrong '--for "10": expected a time; for example 500ms, 10s or 5min' pace 10/s --for 10
wrong '--min-sleep "": expected a time; for example 500ms, 10s or 5min' pace 10/s --min-sleep ''
j='pace: -j, -J, --think, --keep-going and --grace are for commands; for example weir pace 5/s -j 4 -- curl -fsS {}'
wrong "$j" pace 10/s -j 3
wrong "$j" pace 10/s --keep-going
wrong "$j" pace 10/s --grace 2s
wrong '--grace "2": expected a time; for example 500ms, 10s or 5min' pace 10/s --grace 2 -- true
wrong 'pace: --drop is for lines, not for commands' pace 10/s --drop -- true
wrong 'pace: --drop needs one limit with a schedule (algorithm=hybrid)' pace '10/s; 20/s' --drop
wrong 'pace: --drop needs one limit with a schedule (algorithm=hybrid)' pace '10/s algorithm=gcra' --drop

run 'weir' "$weir"
ends 2
silent out
for words in 'usage: weir COMMAND' '  pace ' '  explain ' 'weir COMMAND --help'; do says err "$words"; done
cp err help
for argument in --help -h help; do
    run "weir $argument" "$weir" $argument
    ends 0
    silent err
    same out help
done
header=$tree/include/weir/weir.h
sed -n 's/^#define WEIR_VERSION "\(.*\)"/weir \1/p' "$header" >expected
for argument in --version version; do
    run "weir $argument" "$weir" $argument
    ends 0
    silent err
    same out expected
done
for command in pace explain; do
    run "weir $command --help" "$weir" $command --help
    ends 0
    silent err
    says out "usage: weir $command LIMIT"
    cp out help
    run "weir $command -h" "$weir" $command -h
    ends 0
    same out help
done

# A gap lets through most in a window that is no part of the period.
seq 100 >in
run 'over, with a gap' "$weir" pace '100/8s gap=10ms algorithm=sliding-log' --json <in
ends 0
json err '.lines == 100 and .over < 6'
