#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_commands.sh WEIR: a command for each line, run once, with the line unharmed, and its failure not lost.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3
fast=1000/s

# Prints its arguments, so that where each begins and ends can be seen, in one write.
cat >show <<'END'
#!/bin/sh
for argument in "$@"; do all="$all<$argument>"; done
printf '%s\n' "$all"
END
chmod +x show

# ---- once for each line ----
seq 40 >in
run 'each line once' "$weir" pace $fast -- ./show <in
ends 0
sed 's/.*/<&>/' in >expected
same out expected
summary_of 40 commands

run 'each line once, 8 at a time' "$weir" pace $fast -j 8 -- ./show <in
ends 0
sort -o out out
sort -o expected expected
same out expected
summary_of 40 commands

run 'no lines' "$weir" pace $fast -- ./show </dev/null
ends 0
silent out
summary_of 0 commands

run '--count' "$weir" pace $fast --count 3 -j 2 -- ./show <in
ends 0
if [ "$(sort out | tr -d '\n')" != '<1><2><3>' ]; then fail 'not the first three'; fi
summary_of 3 commands

# ---- where the line goes ----
goes() # EXPECTED ARGUMENT...: with the line "x y"
{
    echo "$1" >expected
    shift
    run "arguments $*" "$weir" pace $fast -- ./show "$@" <<<'x y'
    ends 0
    same out expected
}
goes '<x y>'
goes '<a><b c><x y>' a 'b c'
goes '<x y>' {}
goes '<a><x y><b>' a {} b
goes '<x y><x y>' {} {}
goes '<http://h/x y?x yx y>' 'http://h/{}?{}{}'
goes '<{x y}><{><}>' '{{}}' '{' '}'
goes '<--count><-j><--><x y>' --count -j --

run 'the command itself' "$weir" pace $fast -- ./{} a <<<show
ends 0
echo '<a>' >expected
same out expected

run 'a command with options of its own, weir behind it' bash -c 'echo 1 | "$0" pace '$fast' -- ./show -n --json' "$weir"
echo '<-n><--json><1>' >expected
same out expected

# ---- the line as it is ----
printf '%s\n' 'a  b' ' leading' "it's" '"quoted"' 'back\slash' '$(touch hacked) `touch hacked`; touch hacked' '*' '' \
    '-n' '{}' 'last without newline' | head -c -1 >in
sed 's/.*/<&>/' in >expected
echo >>expected
run 'lines as one argument' "$weir" pace $fast -- ./show <in
ends 0
same out expected
if [ -e hacked ]; then fail 'a line was run by a shell'; fi

printf 'two\nlines\0 one \0\0last' >in
printf '<two\nlines>\n< one >\n<>\n<last>\n' >expected
run 'NUL mode' "$weir" pace $fast -0 -- ./show <in
ends 0
same out expected

head -c 100000 /dev/zero | tr '\0' z >in
{ printf '<'; cat in; echo '>'; } >expected
run 'a long line' "$weir" pace $fast -- ./show <in
ends 0
same out expected

# ---- what a command finds ----
run 'its standard input is empty' "$weir" pace $fast -- sh -c 'cat; readlink /proc/self/fd/0' <<<line
ends 0
if [ -e /proc/self/fd ]; then
    echo /dev/null >expected
    same out expected
fi
run 'its streams' "$weir" pace $fast -- sh -c 'echo to out; echo to err >&2' <<<line
echo 'to out' >expected
same out expected
says err 'to err'
run 'its environment' env COLOUR=blue "$weir" pace $fast -- sh -c 'echo $COLOUR' <<<line
echo blue >expected
same out expected

# Of the signals below 32, those blocked and ignored; the C library keeps the next two for itself.  A command is never
# started with SIGPIPE ignored, whatever is done here.
signals_of() # FILE
{
    local name set
    while read -r name set; do echo "$name $((0x$set & 0x7fffefff))"; done < <(grep -E '^Sig(Blk|Ign)' "$1")
}
if [ -e /proc/self/status ]; then
    cp /proc/self/status status.here
    run 'its signals' "$weir" pace $fast -- cat <<<'/proc/self/status' # a shell would set them right
    ends 0
    cp out status.there
    if [ $((0x$(awk '/^SigIgn/ { print $2 }' out) & 0x1000)) != 0 ]; then fail 'SIGPIPE is ignored'; fi
    signals_of status.here >expected
    signals_of status.there >out
    same out expected
else
    skip_part 'golden/pace_commands: signals' '/proc is not here' 'mount -t proc proc /proc'
fi

# ---- at most N at once ----
# Each holds a folder with its number while it runs, and counts those that are there.
cat >crowd <<'END'
#!/bin/sh
mkdir "running/$1"
ls running | wc -l >>crowds
sleep 0.05
rmdir "running/$1"
END
chmod +x crowd
for jobs in 1 3; do
    rm -rf running crowds
    mkdir running
    seq 24 >in
    run "-j $jobs" "$weir" pace $fast -j $jobs -- ./crowd <in
    ends 0
    summary_of 24 commands
    if [ "$(wc -l <crowds)" != 24 ]; then fail 'not all ran'; fi
    if [ "$(sort -n crowds | tail -n 1)" -gt $jobs ]; then fail "$(sort -n crowds | tail -n 1) ran at once"; fi
done

# Two must be able to run at once: each waits until the other is there.
cat >meet <<'END'
#!/bin/sh
: >"here-$1"
for turn in $(seq 1200); do
    if [ -e here-a ] && [ -e here-b ]; then exit 0; fi
    sleep 0.05
done
exit 1
END
chmod +x meet
run '-j 2 runs two at once' "$weir" pace $fast -j 2 -- ./meet < <(printf 'a\nb\n')
ends 0

# ---- failures ----
cat >judge <<'END'
#!/bin/sh
echo "$1" >>judged
case $1 in *[!0-9]*) kill -"${1#kill-}" $$ ;; *) exit "$1" ;; esac
END
chmod +x judge
judged() # EXPECTED: the lines that were started
{
    if [ "$(paste -sd ' ' judged)" != "$1" ]; then fail "started: $(paste -sd ' ' judged), expected $1"; fi
}

rm -f judged
run 'the first failure stops' "$weir" pace $fast -- ./judge < <(printf '%s\n' 0 0 7 0 8)
ends 7
says err 'weir: ./judge exited 7 for line 3 ("7"); stopping (--keep-going would continue)'
judged '0 0 7'
summary_of 3 commands

rm -f judged
run '--keep-going' "$weir" pace $fast --keep-going -- ./judge < <(printf '%s\n' 0 0 7 0 8 0)
ends 7
says err 'weir: ./judge exited 7 for line 3 ("7")'
says err 'weir: ./judge exited 8 for line 5 ("8")'
if grep -q stopping err; then fail 'it says that it stops'; fi
judged '0 0 7 0 8 0'
summary_of 6 commands

rm -f judged
run 'none fails with --keep-going' "$weir" pace $fast --keep-going -j 3 -- ./judge < <(printf '%s\n' 0 0 0)
ends 0

# ---- what became of them ----
run 'failures are summed up' "$weir" pace $fast -j 2 --keep-going -- ./judge < <(printf '%s\n' 0 7 kill-9 7 0)
if [ "$status" != 7 ] && [ "$status" != 137 ]; then fail "exit status $status, expected that of a command"; fi
if ! grep -qE '^5 commands in .*; [12] of 2 busy$' err; then fail 'it does not say how many were busy'; fi
if ! grep -qE '^service p50 .*, max .*; 3 failed: 2 with status 7, 1 with status 137$' err; then fail 'no outcomes'; fi
run 'none fails' "$weir" pace $fast -- true < <(printf '%s\n' 0 7)
if ! grep -qE '^service p50 .*, max .*; none failed$' err; then fail 'no outcomes'; fi
run 'what could not be run' "$weir" pace $fast --keep-going -- no-such-command < <(printf '%s\n' 0 7)
if ! grep -qE '^service p50 .*; 2 failed: 2 with status 127$' err; then fail 'no outcomes'; fi
run 'outcomes as JSON' "$weir" pace $fast -j 2 --keep-going --json --summary summary -- ./judge \
    < <(printf '%s\n' 0 7 kill-9 7 0)
json summary '.failed == 3 and .statuses == {"7": 2, "137": 1} and .jobs == 2 and .busy_max >= 1 and .busy_max <= 2'
json summary '(.service_ns | keys) == ["max", "p50", "p90", "p99", "p999"] and .service_ns.p50 > 0 and .missed >= 0'
json summary '(.response_ns | keys) == (.service_ns | keys) and .response_ns.max >= .service_ns.p50'

# Both are busy for longer than a line may wait, whatever the machine does.
what='saturation'
seq 12 >in
run "$what" "$weir" pace 1000/s -j 2 -- sh -c 'sleep 0.1' <in
ends 0
if ! grep -qE '^12 commands in .* s, 1000/s asked, [0-9.]+/s; [0-9,]+ starts missed; 2 of 2 busy$' err; then
    fail 'it does not say so'
fi
if has_terminal 'golden/pace_commands: the live line'; then
    is_live() # BYTES_OF_THE_LINE
    {
        grep -qaE "^.*"$'\r\033\[K'"$1.*  late p99 " out
    }
    shows() # STREAMS BYTES_OF_THE_LINE ARGUMENT...
    {
        run "the live line of weir pace ${*:3}" python3 "$lib/terminal.py" "$1" "$weir" pace "${@:3}" <in
        ends 0
        if ! is_live "$2"; then fail 'there is none'; fi
    }
    shows_none() # STREAMS ARGUMENT...
    {
        run "no live line of weir pace ${*:2}" python3 "$lib/terminal.py" "$1" "$weir" pace "${@:2}" <in
        ends 0
        if is_live ''; then fail 'there is one'; fi
    }
    busy='commands?  1000/s asked, [0-9.]+/s; [0-9]+ starts missed; [0-2] of 2 busy'
    for streams in err both; do
        shows $streams $'\033\\[2m'"[0-9]+ $busy" 1000/s -j 2 -- sh -c 'sleep 0.1'
    done
    NO_COLOR=1 shows err "[0-9]+ $busy" 1000/s -j 2 -- sh -c 'sleep 0.1'
    shows err $'\033\\[2m[0-9]+ lines? ' 40/s
    shows err $'\033\\[2m[0-9]+ lines  phase 2 of 2  40/s asked' '50/s for 20ms then 40/s for 1h'
    shows_none both 40/s
    shows_none err 40/s -q
    shows_none err 40/s --json
fi

for number in 9 15; do
    rm -f judged
    run "killed by signal $number" "$weir" pace $fast -- ./judge < <(printf '%s\n' kill-$number 0)
    ends $((128 + number))
    says err "for line 1 (\"kill-$number\")"
    judged "kill-$number"
done

run 'standard input a directory' "$weir" pace $fast -- echo <.
ends 2
silent out
says err 'weir: standard input: Is a directory'

seq 3 >in
run 'not found' "$weir" pace $fast -- no-such-command <in
ends 127
silent out
says err 'weir: no-such-command: No such file or directory'
says err 'for line 1 ("1"); stopping'
run 'not found, --keep-going' "$weir" pace $fast --keep-going -- no-such-command <in
ends 127
says err 'for line 3 ("3")'
: >no-program
run 'not executable' "$weir" pace $fast -- ./no-program <in
ends 126
silent out
says err 'weir: ./no-program: Permission denied'
run 'a folder' "$weir" pace $fast -- . <in
ends 126
run 'a line longer than any argument may be' \
    bash -c 'head -c 3000000 /dev/zero | tr "\0" z | "$0" pace 10/s -- true' "$weir"
ends 126
says err 'weir: true: Argument list too long'

printf 'a very long line%0100d\n' 0 >in
run 'the message shows the beginning of a long line' "$weir" pace $fast -- false <in
ends 1
says err "(\"$(head -c 60 in)\")"

# ---- stopping on purpose, while the input is silent and while a command runs ----
mkfifo pipe
exec 9<>pipe
echo line >&9
run '--for, silent input after a line' timeout -k 5 30 "$weir" pace $fast --for 100ms -j 2 -- ./show <pipe
ends 0
summary_of 1 command

signalled() # NUMBER OPTION...: while a command of a second runs, which is waited for
{
    local number=$1
    shift
    rm -f pid end started
    python3 "$lib/ending.py" pid end "$weir" pace $fast "$@" -- \
        sh -c 'echo $$ >started; exec sleep 1' <pipe >out 2>err &
    echo line >&9
    until_true test -s started -a -s pid
    kill -"$number" "$(cat pid)"
    until_true test -s end
    wait
    status=$(cat end)
    ends "-$number"
    summary_of 1 command
    if kill -0 "$(cat started)" 2>/dev/null; then fail 'what was started was not waited for'; fi
}

for number in 2 15; do
    what="signal $number"
    signalled $number
done

what='a signal, and the end of --for while commands still run'
signalled 15 --for 500ms

# Commands that last longer than any test waits; each says that it was ended.
cat >long <<'END'
#!/bin/sh
trap 'kill $!; echo >ended; exit' TERM
sleep 300 &
echo $$ >started
wait
END
chmod +x long
begin_long() # ARGUMENT...
{
    rm -f pid end started ended
    python3 "$lib/ending.py" pid end "$weir" pace $fast "$@" -- ./long <pipe >out 2>err &
    echo line >&9
    until_true test -s started -a -s pid
}
end_long() # STATUS WORDS
{
    until_true test -s end
    status=$(cat end)
    ends "$1"
    summary_of 1 command
    says err "weir: 1 command still running: $2"
}
not_ended() # what was left to itself goes on, and is ended here
{
    if [ -e ended ] || ! kill -0 "$(cat started)" 2>/dev/null; then fail 'the command was ended'; fi
    kill "$(cat started)"
    until_true test -e ended
    wait
}

what='a second signal'
begin_long
kill -2 "$(cat pid)"
kill -15 "$(cat pid)"
end_long -15 'not waited for'
not_ended

what='the same signal once more'
again() { kill -2 "$(cat pid)" 2>/dev/null; test -s end; } # two that come at the same moment are one
begin_long -j 3
until_true again
end_long -2 'not waited for'
not_ended

what='--grace that is over'
begin_long --grace 100ms -j 3
kill -2 "$(cat pid)"
end_long -2 'sent SIGTERM, --grace is over'
until_true test -e ended
wait

what='--grace, and a second signal in it'
begin_long --grace 1h
kill -2 "$(cat pid)"
kill -15 "$(cat pid)"
end_long -15 'not waited for'
not_ended

what='--grace that is long enough'
signalled 15 --grace 1h
if grep -q 'still running' err; then fail 'it says that it left a command'; fi
exec 9>&-
