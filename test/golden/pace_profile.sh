#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_profile.sh WEIR: a rate that changes with time, on the command line and in a file; it ends, and says what each
# phase was like.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq

seq 1000 >in
cat >profile <<'END'
# the nightly load

100/s for 100ms
  ..400/s for 100ms   # a ramp
pause 50ms then
then 100/s for 100ms
burst=1s
END
sed -i '6s/^then //' profile

# All lines that are due leave; with a pool of a second none is lost, however busy the machine is.
run 'a profile from a file' "$weir" pace --profile profile --json --summary summary <in
ends 0
silent err
head -n 45 in >expected
same out expected
json summary '.lines == 45 and .missed == 0 and .early == 0'
json summary '[.phases[].phase] == ["100/s for 100ms", "..400/s for 100ms", "100/s for 100ms"]'
json summary '[.phases[].asked] == [10, 26, 9] and [.phases[].started] == [10, 26, 9]'
json summary 'all(.phases[]; (.achieved_per_s * .lasted_ns / 1e9 - .started | fabs) < 1e-6)'
json summary '[.phases[].begins_ns] == [0, 100000000, 250000000] and all(.phases[]; .missed == 0)'

printf '%s\n' '100/s for 100ms' 'then ..400/s for 100ms' ' then pause 50ms' '100/s for 100ms' 'burst=1s' >leading
run 'then at the beginning of lines' "$weir" pace --profile leading <in
ends 0
same out expected
says err '100/s for 100ms then ..400/s for 100ms then pause 50ms then 100/s for 100ms burst=1s'

run 'the same on the command line' "$weir" pace \
    '100/s for 100ms then ..400/s for 100ms then pause 50ms then 100/s for 100ms burst=1s' <in
ends 0
same out expected
says err '  ..400/s for 100ms: 26 asked, 26 started, 260/s, late p99 '
if grep -q missed err; then fail 'nothing was missed'; fi

run 'a last phase without an end' "$weir" pace '100/s for 100ms then 200/s burst=1s' --count 30 \
    --json --summary summary <in
ends 0
json summary '[.phases[].started] == [10, 20]'

run 'nothing has begun' "$weir" pace '100/s for 100ms then 200/s' --json --summary summary </dev/null
ends 0
json summary '[.phases[] | .asked, .started, .missed, .lasted_ns, .achieved_per_s] | length == 10 and all(. == 0)'

run 'commands' "$weir" pace '50/s for 100ms burst=1s' -j 2 -- echo <in
ends 0
head -n 5 in >expected
sort -n out -o out
same out expected

run 'an end before its end' "$weir" pace '100000/s for 1h' --count 7 -q <in
ends 0
head -n 7 in >expected
same out expected

# No line comes any more, and the input stays open.
mkfifo slow
exec 3<>slow
echo a >&3
run 'an end while no line waits' timeout 30 "$weir" pace '1000/s for 10ms' -q <slow
exec 3>&-
ends 0

# ---- mistakes ----
wrong() # WORDS: the error of the file
{
    run "a file: $1" "$weir" pace --profile bad </dev/null
    ends 2
    silent out
    says err "weir: $1"
}
printf '100/s for 1s\n\n  than 200/s\n' >bad
wrong 'bad:3:3: unknown word "than"; did you mean then?'
printf '100/s for 1s\n..200/s # how long?\n5/s\n' >bad
wrong 'bad:2:1: a ramp needs a time; for example ..1000/s for 30s'
printf '100/s for 1s\n200/s for 5M\n' >bad
wrong 'bad:2:12: M is a million; a minute is min; for example 100/s for 1min'
printf '# nothing\n' >bad
wrong 'bad: expected one phase a line; for example 100/s for 1min'
rm bad
wrong '--profile bad: No such file or directory'
run 'a limit, too' "$weir" pace --profile profile 10/s </dev/null
ends 2
says err 'weir: pace: the limit is in --profile profile; leave out 10/s'
run 'a pipe' "$weir" pace '100/s to 1000/s' </dev/null
ends 2
says err 'a ramp is written with two dots; for example 100/s..1000/s for 30s'
run 'admission' "$weir" take '100/s for 1s then 5/s' -- true
ends 125
says err 'a rate that changes with time paces one limiter'
