#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_latency.sh WEIR: latencies in the files of HdrHistogram, intervals, the log of starts, what must not happen.
# The oracle is the log of starts; the peers are HdrHistogram of Java and of Python.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3
hdr=$tree/test/golden/hdr
peers=$(dirname "$weir")/test/hdr # what is fetched stays there
jar=$peers/HdrHistogram-2.2.2.jar

# Commands of 0 to 30 ms, some of which fail; two at once are too few, so that most starts are late.
cat >work <<'END'
#!/bin/sh
sleep "0.0$(($1 % 4))"
if [ $(($1 % 10)) = 7 ]; then exit 3; fi
END
chmod +x work
seq 120 >in

run 'all files' "$weir" pace 200/s -j 2 --keep-going --json --summary summary --every 100ms --hgrm r.hgrm \
    --hlog r.hlog --starts starts.csv -- ./work <in
ends 3
tail -n 1 summary >total
head -n -1 summary >intervals
head -n 1 starts.csv >head
echo due_ns,start_ns,end_ns,status >expected
same head expected
if [ "$(wc -l <starts.csv)" != 121 ]; then fail 'not each start is logged'; fi

what='the log of starts'
cat >starts.py <<'END'
import csv, json, sys
total = json.load(open("total"))
rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(open("starts.csv"))]
def check(holds, what):
    if not holds:
        sys.exit(what)
def quantile(values, parts):
    return sorted(values)[-(-len(values) * parts // 1000) - 1]
def near(got, true):
    return true <= got <= true * (1 + 1 / 128)
check(all(row["due_ns"] <= row["start_ns"] <= row["end_ns"] for row in rows), "times are not in their order")
late = [row["start_ns"] - row["due_ns"] for row in rows]
response = [row["end_ns"] - row["due_ns"] for row in rows]
service = [row["end_ns"] - row["start_ns"] for row in rows]
for name, values in ("late_ns", late), ("response_ns", response), ("service_ns", service):
    for level, parts in ("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999):
        check(near(total[name][level], quantile(values, parts)), f"{name} {level}")
    check(total[name]["max"] == max(values), f"{name} max")
check(total["statuses"] == {"3": sum(row["status"] == 3 for row in rows)} and total["failed"] == 12, "statuses")
check(max(late) > 100000000, "nothing is late")
END
if ! python3 starts.py >out 2>&1; then fail 'it is not what the summary says'; fi

what='the sum of the intervals is the total'
for name in commands granted dropped ended failed; do
    jq -s "map(.$name) | add" intervals >out
    if [ $name = ended ]; then jq .commands total >expected; else jq ".$name" total >expected; fi
    same out expected
done
jq -c .statuses total >expected
jq -cs 'map(.statuses["3"] // 0) | {"3": add}' intervals >out
same out expected
jq -s 'length as $n | (map(.interval) == [range(1; $n + 1)]) and .[0].from_s == 0 and $n > 3 and
    ([range(1; $n) as $i | .[$i].from_s == .[$i - 1].to_s] | all) and
    all(.[]; (.achieved_per_s * (.to_s - .from_s) - .granted | fabs) <= .achieved_per_s * 0.0011 + 0.01)' intervals >out
echo true >expected
same out expected
jq -s '(map(.service_ns.max) | max) as $most | $most' intervals >out
json total ".service_ns.max <= $(cat out) and .service_ns.max * 1.001 + 1 >= $(cat out)"
jq -s '(map(.late_ns.max) | max) as $most | $most' intervals >out
json total ".late_ns.max <= $(cat out) and .late_ns.max * 1.008 + 1 >= $(cat out)"

# ---- the peers ----
python3 "$hdr/expected.py" starts.csv >counts
compare() # of what the peer has read
{
    grep ^count read >out
    same out counts
    # Of an interval: when it began and ended, and how many ended in it; in both tags.
    for tag in response service; do
        sed -n "s/^interval $tag //p" read | cut -d ' ' -f 3 >out
        jq .ended intervals >expected
        same out expected
    done
    jq -rs '.[-1].to_s' intervals >out
    sed -n 's/^interval response //p' read | awk 'NR == 1 { from = $1 } { to = $2 } END { print to - from }' >took
    if ! awk 'NR == FNR { s = $1; next } { exit !($1 / 1000 > s - 0.01 && $1 / 1000 < s + 0.01) }' out took; then
        fail "intervals last $(cat took) ms, expected $(cat out) s"
    fi
}

what='HdrHistogram of Python'
get_python()
{
    PYTHONPATH=$peers/python python3 -c 'import hdrh' 2>/dev/null ||
        python3 -m pip install --quiet --target "$peers/python" hdrhistogram==0.10.8 >pip.log 2>&1
}
if ! get_python; then
    skip_part "golden/pace_latency: $what" 'it cannot be had' 'python3 -m pip install hdrhistogram'
else
    export PYTHONPATH=$peers/python
    if ! python3 "$hdr/peer.py" r.hlog percentiles >read 2>err; then fail 'it cannot read it'; fi
    compare
    # Its levels are not those of Java and C, and its deviation is in ns; so these are what can be compared.
    parts='.*Percentile.*|^ .* [01]\.0{12} .*|^#.Mean [ =0-9.]*|^#.Buckets.*'
    grep -oE "$parts" r.hgrm >out
    grep -oE "$parts" percentiles >expected
    same out expected
fi

what='HdrHistogram of Java'
get_java()
{
    local copy=(mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy
        -Dartifact=org.hdrhistogram:HdrHistogram:2.2.2 "-DoutputDirectory=$peers")
    has_tool java && { [ -e "$jar" ] || { has_tool mvn && "${copy[@]}" >mvn.log 2>&1; }; }
}
if ! get_java; then
    skip_part "golden/pace_latency: $what" 'there is no JDK, or no HdrHistogram' 'apt-get install maven default-jdk'
else
    if ! java -cp "$jar" "$hdr/Peer.java" r.hlog percentiles >read 2>err; then fail 'it cannot read it'; fi
    compare
    same r.hgrm percentiles
fi

# ---- without commands ----
seq 300 >in
run 'lines' "$weir" pace 10000/s --json --every 10ms --starts starts.csv --summary summary <in
ends 0
same out in
jq -s '.[:-1] | map(.lines) | add' summary >out
echo 300 >expected
same out expected
if [ "$(grep -cE '^[0-9]+,[0-9]+,,$' starts.csv)" != 300 ]; then fail 'not each start is logged'; fi
awk -F , 'NR > 2 && ($1 - before < 99999 || $1 - before > 100001) { print } NR > 1 { before = $1 }' starts.csv >out
silent out # due at the rate

# With --begin times are the same in all parts, so that their logs are those of one.
what='parts'
begin=$(($(date +%s) + 4)) # both have begun by then, also on a busy machine
for part in 1 2; do
    seq 20 | "$weir" pace 1000/s -q --part $part/2 --begin $begin --starts part$part.csv >out 2>err &
    parts[part]=$!
done
for part in 1 2; do
    if ! wait "${parts[part]}"; then fail "part $part"; fi
done
cat part?.csv | cut -d , -f 1 | grep -v due | sort -n >out
seq 0 1000000 39000000 >expected
same out expected

# ---- Ctrl-C: what has happened is there, and commands that ended are in all files ----
run 'a signal' timeout -s INT 1 "$weir" pace 100/s --hgrm r.hgrm --hlog r.hlog --starts starts.csv -- sh -c 'exit 0' \
    < <(yes)
ends 124 # of timeout
grep -cE '^[0-9]+,[0-9]+,[0-9]+,[0-9]+$' starts.csv >out # the signal may end one, too
sed -nE 's/^#.Max .*Total count    = *([0-9]+)\]$/\1/p' r.hgrm >expected
same out expected
if [ "$(grep -c ^Tag=service, r.hlog)" = 0 ]; then fail 'there is no interval'; fi

# ---- what must not happen ----
run 'nothing has' "$weir" pace 1000/s --fail-late p50=1h,max=1h --fail-late p99.9=1h --fail-missed 1000 <<<line
ends 0
says err 'weir: --fail-late p50=1h: it was '
says err 'weir: --fail-late p99.9=1h: it was '
says err 'weir: --fail-missed 1000: 0 missed'
run 'quietly' "$weir" pace 1000/s --fail-late p50=1h -q <<<line
ends 0
silent err
seq 20 >in
run 'too late' "$weir" pace 1000/s -q --fail-late p50=1h,max=1ms -- sh -c 'sleep 0.01' <in
ends 99
if [ "$(wc -l <err)" != 1 ] || ! grep -qE '^weir: --fail-late max=1ms: it was .*, too late$' err; then
    fail 'it does not say so'
fi
run 'missed' "$weir" pace '1000/s catchup=1' --fail-missed 0 -- sh -c 'sleep 0.01' <in
ends 99
if ! grep -qE '^weir: --fail-missed 0: [0-9]+ missed, too many$' err; then fail 'it does not say so'; fi
run 'a failure goes before' "$weir" pace 1000/s --fail-late max=1ns --keep-going -- false <in
ends 1
says err 'too late'

# ---- what is refused ----
refused() # MESSAGE ARGUMENT...
{
    local message=$1
    shift
    run "refused: $*" "$weir" pace 10/s "$@" <<<line
    ends 2
    says err "weir: $message"
}
refused 'pace: --hlog is of the times of commands; for example weir pace 5/s -j 4 --hlog FILE -- curl -fsS {}' --hlog x
refused 'pace: --hgrm is of the times of commands' --hgrm x
refused 'pace: --every is for --hlog and for --json; for example weir pace 1000/s --json --every 1s' --every 1s
refused '--every: expected 10ms or more; for example 1s' --json --every 1ms
refused '--hgrm nowhere/x: No such file' --hgrm nowhere/x -- true
refused '--starts nowhere/x: No such file' --starts nowhere/x
for bound in 99=50ms p99 p99=50 p99=fast p99.99=1s p0=1s p101=1s mean=1s '' p50=1s, p99:50ms; do
    refused "--fail-late \"" --fail-late "$bound"
    says err 'for example p99=50ms or p50=1ms,p99.9=50ms,max=1s'
done
refused '--fail-missed "none": expected how many starts may be missed; for example 0' --fail-missed none
if [ -e /dev/full ]; then
    run 'a full disk' "$weir" pace 1000/s --starts /dev/full <<<line
    ends 2
    says err 'weir: --starts /dev/full: No space left on device'
    run 'a full disk' "$weir" pace 1000/s --hgrm /dev/full -- true <<<line
    ends 2
    says err 'weir: --hgrm /dev/full: No space left on device'
fi
exit 0
