#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_at.sh WEIR: lines of a log, and commands for them, at the times that it has; in every format that replay reads.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3 gzip

combined() # MS PATH: whole seconds, as nginx and Apache write them
{
    printf '192.0.2.1 - - [21/Nov/2025:10:%02d:%02d +0000] "GET %s HTTP/1.1" 200 5 "-" "test"\n' \
        $(($1 / 60000)) $(($1 / 1000 % 60)) "$2"
}

# One log in each format, 100 times as fast: 8 lines over 2 s, one of them out of order.
stamps='0 0 200 1000 1000 1500 1400 2000'
for ms in $stamps; do combined "$ms" "/$ms?a=b"; done >combined
echo time,path,n >csv
for ms in $stamps; do
    printf '2025-11-21T10:00:%02d.%03dZ,/%s,"a, b"\n' $((ms / 1000)) $((ms % 1000)) "$ms" >>csv
    printf '{"ts_ms": %s, "request": {"uri": "/%s?a=b", "method": "GET"}}\n' $((1763719200000 + ms)) "$ms" >>json
    printf '%s.%03d "GET /%s?a=b HTTP/1.1"\n' $((1763719200 + ms / 1000)) $((ms % 1000)) "$ms" >>custom
done

timed() # LINES SPAN_NS BACKWARD ARGUMENT...: of the log in; every byte comes through but the header's
{
    local lines=$1 span=$2 backward=$3
    shift 3
    run "pace $*" "$weir" pace "$@" --speed 100 --json --summary summary <in
    ends 0
    silent err
    same out expected
    json summary ".lines == $lines and .early == 0 and .missed == 0 and .dropped == 0"
    json summary ".log | .span_ns == $span and .backward == $backward and .malformed == 0 and .gaps_cut == 0"
    json summary ".elapsed_s * 1e9 >= $span / 100 - .late_ns.max"
}

cp combined in
cp in expected
timed 8 2000000000 0 --at time
timed 8 2000000000 0 --at time_local
timed 8 2000000000 0 --at time_local -f combined
cp csv in
tail -n +2 csv >expected
timed 8 2000000000 1 --at time
timed 8 2000000000 1 --at time --format csv
cp json in
cp in expected
timed 8 2000000000 1 --at time
timed 8 2000000000 1 --at ts_ms -f json
cp custom in
cp in expected
timed 8 2000000000 1 --at msec --format '$msec "$request"'
timed 8 2000000000 1 --at time -f "log_format x '\$msec \"\$request\"';"
json summary '.log.backward_max_ns == 100000000 and .late_ns.max >= 1000000'
tr '\n' '\0' <custom >in
cp in expected
timed 8 2000000000 1 --at time -0 -f '$msec "$request"'

# Compressed logs, by their first bytes; members and pieces.
for packer in gzip bzip2 xz zstd; do
    if ! has_tool $packer; then
        skip_part "golden/pace_at: $packer" "$packer is not here" "apt-get install $packer"
        continue
    fi
    { head -n 3 csv | $packer -c; tail -n +4 csv | $packer -c; } >in
    tail -n +2 csv >expected
    timed 8 2000000000 1 --at time
    run "$packer in pieces" \
        bash -c '{ head -c 7 in; sleep 0.1; tail -c +8 in; } | "$0" pace --at time --speed 100' "$weir"
    ends 0
    same out expected
done
gzip -c csv | head -c -10 >in
run 'a log that is cut off' "$weir" pace --at time --speed 100 <in
ends 2
says err 'weir: standard input: the gzip data is truncated'
gzip -c csv >in
run 'without --at bytes are bytes' "$weir" pace unlimited <in
ends 0
same out in
printf '\037\235xxxxxx' >in
run 'a format that it cannot read' "$weir" pace --at time <in
ends 2
silent out
says err 'weir: standard input: this is compress, which weir cannot read; instead: gzip -dc LOG | weir pace --at time'

run 'weir replay reads the same stamps' "$weir" replay 1/h --key none --each -f '$msec "$request"' custom
if [ "$(jq -s 'map(.time_ns) | max - min' out)" != 2000000000 ]; then fail 'it reads others'; fi

# ---- the words ----
cp custom in
run 'the summary for people' "$weir" pace --at time -f '$msec "$request"' --speed 100 --gap-max 600ms <in
ends 0
same out in
sed -E '2s/ in [0-9.]+ s, [0-9.,]+\/s asked, [0-9.,]+\/s$/ in T/; 3s/^late p50 .*/late/
    4s/^behind .*;/behind;/' err >told
cat >expected <<'END'
at the log's time, 100 times as fast, gaps cut to 600ms
8 lines in T
late
behind; never early
2 s of the log; 1 gap cut by 200 ms; 1 line out of order, by up to 100 ms
END
same told expected
run 'whole seconds' "$weir" pace --at time <<<"$(combined 0 /)"
ends 0
cat >expected <<'END'
at the log's time
stamps are whole seconds: all lines of a second start together
END
head -n 2 err >told
same told expected

run '--count' "$weir" pace --at time -f '$msec "$request"' --count 3 <in
ends 0
head -n 3 in >expected
same out expected
run '--for' bash -c 'printf "%s,\n" time 0 0 9999 | "$0" pace --at time --for 300ms' "$weir"
ends 0
printf '0,\n0,\n' >expected
same out expected
run '--bytes' "$weir" pace --at time -f '$msec "$request"' --speed 1000 --bytes --json <in
ends 0
same out in
json err ".bytes == $(wc -c <in) and .lines == 8 and .early == 0"

# ---- lines without a time ----
{ combined 0 /1; echo nonsense; combined 0 /2; } >in
run 'a line without a time' "$weir" pace --at time -q <in
ends 2
head -n 1 in >expected
same out expected
says err 'weir: line 2, column '
says err '; --skip-invalid would skip and count such lines'
run '--skip-invalid' "$weir" pace --at time --skip-invalid <in
ends 0
combined 0 /1 >expected
combined 0 /2 >>expected
same out expected
says err 'weir: line 2, column '
says err '; 1 malformed line skipped'
run '--skip-invalid, JSON' "$weir" pace --at time --skip-invalid --json <in
json err '.lines == 2 and .log.malformed == 1'
for _ in {1..10}; do echo nonsense; done >in
run 'a format that it does not guess' "$weir" pace --at time <in
ends 2
says err "; the format is said with --format, the time's field with --at; --skip-invalid would skip and count "
run 'nothing can be read' "$weir" pace --at time --skip-invalid <in
ends 2
silent out
says err 'weir: no line of 10 could be read; give the format with --format, for example --format json'
if [ "$(grep -c '; skipped$' err)" != 3 ]; then fail 'not the first three lines are shown'; fi
run 'nothing comes' "$weir" pace --at time </dev/null
ends 0
silent out

# ---- commands ----
cat >show <<'END'
#!/bin/sh
for argument in "$@"; do all="$all<$argument>"; done
printf '%s\n' "$all"
END
chmod +x show
goes() # EXPECTED ARGUMENT...: with the log in
{
    echo "$1" >expected
    shift
    run "arguments $*" "$weir" pace --at time --speed 1000 -- ./show "$@" <in
    ends 0
    same out expected
}
printf '{"time": 1, "uri": "/a b?c=\\"d\\"\\u00e9", "method": "GET"}\n' >in
goes '<GET><http://h/a b?c="d"é>' '{method}' 'http://h{uri}'
goes '</a b>' '{path}'
goes "<$(cat in)>"
goes "<x><$(cat in)>" x '{}'
goes '<><{ uri }><{"uri": 1}><{uri><uri}><{}>' '{none}' '{ uri }' '{"uri": 1}' '{uri' 'uri}' '{{none}}'
cp csv in
printf '</%s><a, b>\n' $stamps >expected
run 'fields of CSV' "$weir" pace --at time --speed 1000 -- ./show '{path}' '{n}' <in
ends 0
same out expected
cp json in
run '8 at a time' "$weir" pace --at time --speed 100 -j 8 --json --summary summary -- ./show '{uri}' <in
ends 0
printf '</%s?a=b>\n' $stamps | sort >expected
sort -o out out
same out expected
json summary '.commands == 8 and .early == 0 and .jobs == 8 and .failed == 0 and .log.backward == 1'
run 'braces of others' "$weir" pace 1000/s -- ./show '{uri}' <<<x
echo '<{uri}><x>' >expected
same out expected
printf '{"time": 1, "uri": "a\\u0000b"}\n{"time": 1, "uri": "c"}\n' >in
run 'a NUL in a field' "$weir" pace --at time --skip-invalid -- ./show '{uri}' <in
ends 0
echo '<c>' >expected
same out expected
says err 'weir: line 1: a field that the command is given contains a NUL byte; skipped'
{ echo time,n; echo 1,a; echo; echo 1,fail; } >in
run 'a command that fails' "$weir" pace --at time -- sh -c '[ "$1" != fail ] || exit 7' - '{n}' <in
ends 7
says err 'weir: sh exited 7 for line 4 ("1,fail")'

# ---- signals ----
set -m
for number in 2 15; do
    for command in '' '-- true'; do
        what="signal $number $command"
        rm -f pid end out err
        printf '{"time": 1, "n": 1}\n{"time": 99999, "n": 2}\n' >in
        python3 "$lib/ending.py" pid end "$weir" pace --at time $command <in >out 2>err &
        until_true test -s pid
        until_true grep -q 'whole seconds' err # it has begun
        kill -$number "$(cat pid)"
        until_true test -s end
        wait
        status=$(cat end)
        ends -$number
        says err '0 ns of the log'
    done
done
set +m

# ---- usage ----
wrong() # MESSAGE ARGUMENT...
{
    echo "weir: $1" >expected
    shift
    run "weir pace $*" "$weir" pace "$@" <combined
    ends 2
    silent out
    grep '^weir' err >told
    same told expected
}
by='pace: by --at the log says when lines start, so there is no '
wrong "${by}limit \"100/s\"; for both: weir pace --at time | weir pace '100/s'" --at time 100/s
wrong "${by}limit \"100/s\"; for both: weir pace --at time | weir pace '100/s'" 100/s --at time -- true
wrong "${by}--rate-file; for both: weir pace --at time | weir pace --rate-file rate" --at time --rate-file rate
wrong "${by}pool that --drop could go by; late lines start at once" --at time --drop
wrong 'pace: the log comes by standard input; for example weir pace --at time < combined' --at time combined
wrong '--at "--speed": expected the field that has the time; for example --at time' --at --speed 10
wrong '--at tiem: no field "tiem"; expected one of remote_addr, remote_user, time_local, request, status, '\
'body_bytes_sent, http_referer, http_user_agent' --at tiem
wrong "pace: --speed needs --at; for example --at time" 100/s --speed 2
wrong "pace: --gap-max needs --at; for example --at time" 100/s --gap-max 2s
wrong "pace: --skip-invalid needs --at; for example --at time" 100/s --skip-invalid
wrong "pace: --format needs --at; for example --at time" 100/s -f json
wrong '--gap-max "10": expected a time; for example 500ms, 10s or 5min' --at time --gap-max 10
for speed in 0 -1 10x 50% fast ''; do
    wrong "--speed \"$speed\": expected how many times as fast as the log, above 0; for example 10 or 0.5" \
        --at time --speed "$speed"
done
wrong 'pace: {pth} in the command: no field "pth"; expected one of remote_addr, remote_user, time_local, request, '\
'status, body_bytes_sent, http_referer, http_user_agent; to pass braces on, put a space in them: { pth }' \
    --at time -- true '{pth}'
j='pace: -j, -J, --think, --keep-going and --grace are for commands; for example weir pace 5/s -j 4 -- curl -fsS {}'
wrong "$j" --at time -j 3
