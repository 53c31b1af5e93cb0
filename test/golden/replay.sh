#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay.sh WEIR: what limits would have done to small logs whose figures can be counted by hand.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3 gzip
export COLUMNS=80

combined() # ADDRESS SECOND [BYTES]: a line at 10:00 and so many seconds
{
    printf '%s - - [21/Nov/2025:10:%02d:%02d +0000] "GET / HTTP/1.1" 200 %s "-" "test"\n' "$1" $(($2 / 60)) \
        $(($2 % 60)) "${3-5}"
}

# ---- the report ----
# 30 from one client in a second, 10 more a minute later; another sends one.
{
    for _ in {1..30}; do combined 192.0.2.1 0; done
    combined 192.0.2.2 30
    for _ in {1..10}; do combined 192.0.2.1 60; done
} >log
cat >expected <<'END'
41 requests of 2 clients, 1 min;
  timestamps are request ENDS to the second: true refusals may be higher;
  estimates: spread over each second, or exactly as timestamped
    refused                      clients hit   most refused
  5/s burst=5
    22 to 30  53.66 to 73.17 %             1   192.0.2.1   30 of 40
  10/s burst=20
     1 to 10   2.44 to 24.39 %             1   192.0.2.1   10 of 40

  a client sent      p50      p99     most
  in a second          1       30       30   192.0.2.1
  in a minute          1       30       30   192.0.2.1

  to leave 99.9 % of clients unaffected: 5/s burst=30
  to leave 99.9 % of clients unaffected: 10/s burst=30
  5/s burst=5: up to 9 in any second;
    never more than 5: '5/s algorithm=sliding-log'

  when: offered, and refused by each limit; at the tallest column
  offered       █                          ▁                         ▁ 30/s
  5/s burst=5   █                                                    ▁ 25/s
  10/s burst=20 █                                                      10/s
                2025-11-21 10:00:00            2025-11-21 10:01:00 UTC
END
run 'the report' "$weir" replay 5/s --or '10/s burst=20' log
ends 0
silent err
same out expected
# All at once 5 pass, and 20; spread over the second 5 and one every 200 ms, and 20 and one every 100 ms.
"$weir" replay 5/s --or '10/s burst=20' --json log >out
json out '.limits | map([.denied, .denied_spread]) == [[30, 22], [10, 1]]'

run 'a limit that refuses nothing' "$weir" replay '100/s' log
ends 0
printf '  100/s burst=100%55s/s\n' 0 >expected
grep 'burst=100 .*/s$' out >row
same row expected

run 'two limits of one' "$weir" replay '10/s burst=20; 100/h' log
grep 'burst=100' out >row
echo '  10/s burst=20; 100/h burst=100' >expected
same row expected

run 'two limits of one rate' "$weir" replay '10/s burst=20' --or '10/s burst=5' log
if [ "$(grep -c 'to leave 99.9 % of clients unaffected: 10/s burst=30' out)" != 1 ]; then fail 'it is said twice'; fi

run 'a terminal of 200 columns' env COLUMNS=200 "$weir" replay '10/s burst=20' log
says out '1 min; timestamps are request ENDS to the second: true refusals may be higher; estimates:'

# ---- the live line ----
# A third of what the log has, from a pipe that is read first; it is shown when a tenth of a second has passed.
if has_terminal 'golden/replay: the live line'; then
    for _ in {1..30}; do combined 192.0.2.1 0; done >whole.log
    mkfifo third.log
    live() # STREAMS ARGUMENT...: what is on the terminal while the log is read, in the file line
    {
        what="the live line of weir replay ${*:2}"
        python3 "$lib/terminal.py" "$1" "$weir" replay 5/s --or 10/s "${@:2}" third.log whole.log >out &
        local pid=$!
        exec 5>third.log
        sleep 0.2
        head -n 10 whole.log >&5
        exec 5>&-
        wait_end $pid "$what"
        ends 0
        tr '\r' '\n' <out | grep -a ' requests  ' | head -n 1 >line
    }
    live err
    if ! grep -qaE $'^\033\\[K\033\\[2m██████(░){14}  33 %  10 requests  [0-9]+/s  refused 0, 0\033\\[0m$' line; then
        fail 'it is not there'
    fi
    NO_COLOR=1 live both -q
    if ! grep -qaE $'^\033\\[K██████(░){14}  33 %  10 requests' line; then fail 'it is not there, or has a colour'; fi
    live both --each
    if grep -qa '%' line; then fail 'it is there, between the lines'; fi
fi

# ---- the JSON ----
run '--json' "$weir" replay '10/s burst=20' --or '5r/s burst=9' --json log
ends 0
silent err
json out '[.requests, .malformed, .keys] == [41, 0, 2] and (.limits | length) == 2'
json out '.limits[0] | [.limit, .canonical] == ["10/s burst=20", "10/s burst=20 algorithm=gcra"]'
json out '.limits[0] | [.allowed, .denied, .delayed, .keys, .keys_denied] == [31, 10, 0, 2, 1]'
json out '.limits[1] | [.allowed, .denied, .delayed, .keys, .keys_denied] == [21, 20, 18, 2, 1]'
json out '.limits[0].top == [{"key": "192.0.2.1", "requests": 40, "denied": 10, "delayed": 0}]'
json out '.busiest_second == {"p50": 1, "p99": 30, "max": 30, "max_key": "192.0.2.1"}'
json out '(.series.offered | add) == 41 and (.series.limits[0].denied | add) == 10'
json out '.series.step_ns == 1000000000 and .series.offered[0] == 30 and .series.offered[60] == 10'

# A client that comes every 2 s for an hour, and 5 times in its first minute's last second.
{
    for second in {0..3598..2}; do combined 192.0.2.1 "$second"; done
    for _ in {1..5}; do combined 192.0.2.2 59; done
    combined 192.0.2.2 61
} | sort -k 4 >hour.log
run 'an hour' "$weir" replay 10/min --or '20r/m burst=2' --json hour.log
ends 0
json out '.busiest_second == {"p50": 1, "p99": 5, "max": 5, "max_key": "192.0.2.2"}'
json out '.busiest_minute == {"p50": 5, "p99": 30, "max": 30, "max_key": "192.0.2.1"}'
json out '.series.offered | length <= 480 and add == 1806 and min >= 1'
json out '. as $all | all(range(2); . as $i | $all.limits[$i].denied == ($all.series.limits[$i].denied | add)
    and $all.limits[$i].denied > 0 and $all.limits[$i].delayed == ($all.series.limits[$i].delayed | add))'

run '-q' "$weir" replay 5/s -q log
ends 0
silent out

# ---- the burst that leaves clients unaffected ----
python3 "$lib/replay_model.py" make 7 4000 msec >msec.log
msec='$remote_addr [$msec] $request_time $body_bytes_sent'
untouched() # LIMIT
{
    "$weir" replay "$1" --json --format "$msec" msec.log | jq '.limits[0] | .keys - .keys_denied'
}
for share in 50 80 99.9 100; do
    for rate in 2/s 30/min; do
        run "--unaffected $share of $rate" "$weir" replay $rate --json --unaffected $share --format "$msec" msec.log
        burst=$(jq '.limits[0].unaffected_burst' out) keys=$(jq .keys out)
        enough=$(awk -v k="$keys" -v s=$share 'BEGIN { n = k * s / 100; print n == int(n) ? n : int(n) + 1 }')
        if [ "$(untouched "$rate burst=$burst")" -lt "$enough" ]; then fail "burst=$burst affects more"; fi
        if [ "$burst" = 1 ]; then continue; fi
        if [ "$(untouched "$rate burst=$((burst - 1))")" -ge "$enough" ]; then fail "burst=$((burst - 1)) would do"; fi
    done
done

# ---- --fail-above ----
run 'more than 24 %' "$weir" replay '10/s burst=20' -q --fail-above 24 log
ends 1
run 'not more than 24.5%' "$weir" replay '10/s burst=20' -q --fail-above 24.5% log
ends 0
run 'one of two limits' "$weir" replay '10/s burst=20' --or 5/s -q --fail-above 24.5% log
ends 1
run 'none at all' "$weir" replay '100/s' -q --fail-above 0 log
ends 0

# ---- timestamps ----
cat >durations.log <<'END'
192.0.2.1 [1763719200.000] 0.000
192.0.2.1 [1763719203.000] 2.500
192.0.2.1 [1763719203.100] 0.100
END
ends_format='$remote_addr [$msec] $request_time'
starts() # ARGUMENT...
{
    "$weir" replay 1/s --each --format "$ends_format" "$@" durations.log |
        jq -c '[.time_ns / 1e6 - 1763719200000, .allowed]'
}
what='durations are taken off'
starts >out
printf '%s\n' '[0,true]' '[500,false]' '[3000,true]' >expected
same out expected
what='--timestamps start'
starts --timestamps start >out
printf '%s\n' '[0,true]' '[3000,true]' '[3100,false]' >expected
same out expected
run 'starts are said' "$weir" replay 1/s --format "$ends_format" durations.log
says out 'timestamps are request starts, to the millisecond'
run 'no range' "$weir" replay 1/s --json --format "$ends_format" durations.log
json out '.timestamps_are_ends == false and (.limits[0] | has("denied_spread") | not)'
what='a name that promises the start, with a duration, from the first line on'
for second in 1 3; do
    printf '{"start_time":"2025-11-21T10:00:0%d.250Z","duration":700,"client":"192.0.2.1"}\n' $second
done >starts.log
"$weir" replay 1/s --each starts.log | jq -c '.time_ns - 1763719200000000000 | . / 1e6 | round' >out
printf '%s\n' 1250 3250 >expected
same out expected
"$weir" replay 1/s --each --timestamps end starts.log | jq -c '.time_ns - 1763719200000000000 | . / 1e6 | round' >out
printf '%s\n' 550 2550 >expected
same out expected

printf '192.0.2.1 [1763719200.000] %s\n' 0.5 2592001 >durations.log
run 'a duration in other units' "$weir" replay 1/s --json --format "$ends_format" durations.log
json out '.requests == 1 and .malformed == 1'
says err 'weir: durations.log:2: a request that took more than 30 days'

# Decided in order of time, and printed in that of the lines.
printf '192.0.2.1 [1763719201.000] %s\n192.0.2.1 [1763719201.500] %s\n' 0.100 1.400 >durations.log
what='out of order'
starts >out
printf '%s\n' '[900,false]' '[100,true]' >expected
same out expected
{
    printf '192.0.2.1 [1763719%s.000] 0.000\n' 200 300
    printf '192.0.2.1 [1763719%s.000] 0.000\n' 100 110
} >durations.log
run 'two far out of order' "$weir" replay 1/s --format "$ends_format" durations.log
says out '2 lines far out of order, counted at their place in the log'
{
    printf '192.0.2.1 [1763719%s.000] 0.000\n' 200 300
    printf '192.0.2.1 [1763719%s.000] 0.000\n' 100
} >durations.log
run 'far out of order' "$weir" replay 1/s --format "$ends_format" durations.log
says out '1 line far out of order, counted at its place in the log'
json <("$weir" replay 1/s --json --format "$ends_format" durations.log) '.late == 1'

# The first long request of a log is in order as well, though nothing before it took long.
printf '192.0.2.1 [1763719%s.000] %s\n' 200 0 230 0 245 0 250 49.500 >durations.log
what='a long one at first'
starts >out
printf '%s\n' '[0,true]' '[30000,true]' '[45000,true]' '[500,false]' >expected
same out expected

# ---- which field is the time ----
for second in 1 3; do
    printf '{"seen":"2025-11-21T10:00:0%d.250Z","ts":1,"client":"192.0.2.1"}\n' $second
done >seen.log
run '--time, a name of its own' "$weir" replay 1/s --json --time seen seen.log
json out '.first_ns == 1763719201250000000 and .requests == 2'
run '--time, not the best of those that are known' "$weir" replay 1/s --json --time start_time starts.log
json out '.requests == 2'
{ echo id,seen,client; printf '7,2025-11-21 10:00:0%d,192.0.2.1\n' 1 2; } >seen.csv
run '--time of CSV, which is known by it' "$weir" replay 1/h --json --time seen seen.csv
json out '.requests == 2 and .limits[0].denied == 1 and .first_ns == 1763719201000000000'
run '--time of a pattern, in ms by its name' "$weir" replay 1/h --json --time time_ms \
    --format '$remote_addr $msec $time_ms' <(echo '192.0.2.1 1763719203.000 1763719201250')
json out '.first_ns == 1763719201250000000 and .resolution_ns == 1000000'
printf '{"seen": 3, "ts_ms": 2500}\n{"ts_ms": 3500}\n' >usual.log
run '--time time, which is any' "$weir" replay 1/h --json --key none --time time usual.log
json out '.requests == 2 and .first_ns == 2500000000'
printf '{"time": 3, "ts_ms": 2500}\n' >usual.log
run '--time time, which is there' "$weir" replay 1/h --json --key none --time time usual.log
json out '.first_ns == 3000000000'
run '--time that no line has' "$weir" replay 1/s --time when seen.log
ends 2
says err 'weir: seen.log:1:1: expected a field "when", with the time'
sed 's/"ts":1,//' seen.log >only.log
run 'no time that is known' "$weir" replay 1/s only.log
ends 2
says err 'weir: replay: no line of 2 could be read as json; '
says err '; if the time field has another name, give it with --time FIELD'

# Apache writes vhost_combined, and Apache stamps the start.
{ for _ in 1 2; do printf 'example.com:443 '; combined 192.0.2.1 0; done; } >vhost.log
for format in '' '--format vhost_combined'; do
    run "stamps of vhost_combined $format" "$weir" replay 1/s $format --json vhost.log
    json out '.requests == 2 and .timestamps_are_ends == false'
    run "and --timestamps end $format" "$weir" replay 1/s $format --timestamps end --json vhost.log
    json out '.timestamps_are_ends == true'
done

# Each name that is known for a time, a duration or a key is in the manual.
what='names in the manual'
here=$(dirname "$(dirname "$lib")")
grep -o '"[A-Za-z@_0-9:.-]*"' "$here/../src/format/log/names.c" | tr -d '"' | grep -v '^[a-z]*/names.h$\|^request$' |
    while read -r name; do
        if ! grep -qwF -- "$name" "$here/../doc/man/weir-replay.1"; then echo "$name"; fi
    done >out
silent out

# ---- keys ----
run 'a field that no line has' "$weir" replay 1/s --json --key nosuch,user starts.log
says err 'weir: replay: no line has nosuch,user, so all requests were counted as one client'
json out '.requests == 2 and .keys == 1'
run 'no such client, and none is wanted' "$weir" replay 1/s --json --key none starts.log
silent err
keys_of() # ARGUMENT...
{
    "$weir" replay 1/s --each "$@" | jq -r .key
}
cat >addresses.log <<'END'
{"time": "2025-11-21T10:00:00Z", "client": "192.0.2.77", "user": "eve", "size": 3}
{"time": "2025-11-21T10:00:01Z", "client": "::ffff:192.0.2.77", "user": "a b", "size": 0.5}
{"time": "2025-11-21T10:00:02Z", "client": "2001:db8:1:2:3::4", "user": "-", "size": 0}
{"time": "2025-11-21T10:00:03Z", "client": "2001:0DB8:0001:0002:ffff::1", "size": "-"}
{"time": "2025-11-21T10:00:04Z", "client": "a host", "user": "q\"\u001b[31m"}
END
what='addresses'
keys_of addresses.log >out
printf '%s\n' 192.0.2.77 192.0.2.77 2001:db8:1:2::/64 2001:db8:1:2::/64 'a host' >expected
same out expected
what='prefixes'
keys_of --key client/24/48 addresses.log >out
printf '%s\n' 192.0.2.0/24 192.0.2.0/24 2001:db8:1::/48 2001:db8:1::/48 'a host' >expected
same out expected
keys_of --key client/23/47 addresses.log >out
printf '%s\n' 192.0.2.0/23 192.0.2.0/23 2001:db8::/47 2001:db8::/47 'a host' >expected
same out expected
keys_of --key client/31/63 addresses.log >out
printf '%s\n' 192.0.2.76/31 192.0.2.76/31 2001:db8:1:2::/63 2001:db8:1:2::/63 'a host' >expected
same out expected
keys_of --key client/128 addresses.log >out
printf '%s\n' 192.0.2.77 192.0.2.77 2001:db8:1:2:3::4 2001:db8:1:2:ffff::1 'a host' >expected
same out expected
what='control characters in JSON, those of two bytes too'
printf '{"time": "2025-11-21T10:00:0%dZ", "client": "\\u009b31m\\u007fq"}\n' 0 0 >hostile.log
"$weir" replay 1/h --json hostile.log >out
if LC_ALL=C grep -q $'\xc2\x9b\|\x7f' out; then fail 'they are printed'; fi
says out '"\u009b31m\u007fq"'
what='several fields'
keys_of --key user,client/16/64 addresses.log >out
printf '%s\n' 'eve 192.0.0.0/16' 'a b 192.0.0.0/16' '- 2001:db8:1:2::/64' '- 2001:db8:1:2::/64' \
    $'q"\e[31m a host' >expected
same out expected
what='one key for all'
keys_of --key none addresses.log | sort -u >out
echo >expected
same out expected
run 'no key, no clients' "$weir" replay 1/s --key none addresses.log
says out '5 requests, 4 s;'
if grep -q 'clients hit' out; then fail 'there are clients'; fi
printf '{"time": "2025-11-21T10:00:0%dZ", "who": "%d"}\n' 1 1 2 2 >who.log
run 'no address anywhere' "$weir" replay 1/h --json who.log
ends 0
json out '.limits[0] | [.keys, .denied] == [1, 1]'
says err "weir: replay: no line has a client address, so all requests were counted as one client"
run '--key' "$weir" replay 1/h --json --key who who.log
silent err
json out '.limits[0] | [.keys, .denied] == [2, 0]'
run 'a terminal is not told what to do' "$weir" replay none --key user addresses.log
if grep -q $'\e' out; then fail 'an escape'; fi
printf '\377\300\t"\\ - - [21/Nov/2025:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"\n' >bytes.log
run 'keys that are no UTF-8' "$weir" replay none --json bytes.log
python3 -c 'import json, sys; json.loads(open("out", encoding="utf-8").read())' || fail 'no UTF-8'
json out '.limits[0].top[0].key == "\ufffd\ufffd\t\"\\"'

# ---- costs ----
what='costs'
"$weir" replay '3/h burst=3' --key none --cost size --each addresses.log | jq -c .allowed >out
printf '%s\n' true false true true true >expected
same out expected
combined 192.0.2.1 0 - >sizes.log
combined 192.0.2.1 0 7 >>sizes.log
combined 192.0.2.1 0 4 >>sizes.log
run 'bytes that nobody counts' "$weir" replay '5B/h burst=5' --json sizes.log
says err 'weir: replay: a limit counts bytes, but each request costs 1; name the field that has them'
run 'bytes that are charged as requests' "$weir" replay '5B/h' --or 1/s --cost body_bytes_sent --json sizes.log
says err 'weir: replay: some limits count requests and some bytes, but --cost is charged to all of them; write'
says err ' --cost bytes=body_bytes_sent, and a request costs 1'
run 'one number for several units' "$weir" replay '1/s; 5B/h' --cost body_bytes_sent --json sizes.log
ends 2
says err 'weir: limits count requests and bytes: write --cost bytes=body_bytes_sent'
run 'a unit that is not named' "$weir" replay '1 jobs/s; 5B/h' --cost bytes=body_bytes_sent --json sizes.log
ends 2
says err 'weir: limits count jobs and bytes: write --cost jobs=body_bytes_sent'
# 0, 7 and 4 bytes at one time: 2 requests an hour, 12 bytes; of a log, whose places are as many as are needed, too.
for bytes in '12B/h burst=12' '12B/h algorithm=sliding-log'; do
    for requests in '2/h burst=2' '2/h algorithm=sliding-log'; do
        run "a cost by unit: $requests; $bytes" "$weir" replay "$requests; $bytes" --or "$bytes" --or "$requests" \
            --cost bytes=body_bytes_sent --json sizes.log
        silent err
        json out '[.limits[] | .allowed] == [2, 3, 2]'
    done
done
for words in --nodes=2 '--tenant=remote_addr' '-F --charge=redis://127.0.0.1:1'; do
    # shellcheck disable=SC2086 # options
    run "a cost by unit with $words" "$weir" replay 5B/h --cost bytes=body_bytes_sent $words sizes.log
    ends 2
    says err 'weir: replay: --cost UNIT=FIELD cannot be used with --nodes, --tenant or --charge'
done
for cost in =body_bytes_sent bytes=; do
    run "--cost $cost" "$weir" replay 5B/h --cost "$cost" sizes.log
    ends 2
    says err '--cost: expected a field, or a unit and its field'
done
run 'a cost that is what the limit counts' "$weir" replay '5/h' --cost body_bytes_sent --json sizes.log
silent err
run 'a cost above the burst' "$weir" replay '5B/h burst=5' --cost body_bytes_sent --json sizes.log
json out '.limits[0] | [.allowed, .denied] == [2, 1]'

# ---- formats, and what cannot be read ----
{ echo time,client,status; printf '2025-11-21T10:00:0%d.5Z,192.0.2.1,200\n' 1 2 3; } >csv.log
run 'CSV, its header in each file' "$weir" replay 1/h --json csv.log csv.log
json out '.requests == 6 and .malformed == 0 and .resolution_ns == 100000000'
cat >piece <<'END'
    log_format timed escape=json '$remote_addr - $remote_user '  # who
                     '[$time_local]';
    server { access_log access.log timed; }
END
run 'a format out of nginx.conf' "$weir" replay '10/s burst=20' --json --format "$(cat piece)" log
json out '.requests == 41 and .malformed == 0'
run 'its quoted words' "$weir" replay 1/s --json --format "'\$remote_addr - \$remote_user '
    '[\$time_local]'" log
json out '.requests == 41 and .malformed == 0'
gzip -c log >packed
cat packed packed >twice.gz
run 'gzip, by what is in it' "$weir" replay '10/s burst=20' --json packed
if grep -q 'built without' err; then
    skip_part 'golden/replay: gzip' 'weir is built without zlib' "$build_all"
else
    json out '.requests == 41 and .limits[0].denied == 10'
    run 'two members' "$weir" replay '10/s burst=20' --json twice.gz
    json out '.requests == 82'
    head -c 100 packed >cut.gz
    run 'gzip, cut off' "$weir" replay 1/s --json cut.gz log
    ends 2
    says err 'weir: cut.gz: the gzip data is truncated'
    json out '.requests >= 41'
fi
seq 60000 | sed 's/\(.*\)/{"time": \1, "client": "\1", "path": "\/\1"}/' >long.json
run 'a long one, plain' "$weir" replay 1/h --json long.json
mv out plain
json plain '.requests == 60000 and .keys == 60000'
for tool in gzip bzip2 xz zstd; do
    if ! has_tool $tool; then
        skip_part "golden/replay: $tool" "$tool is not here"
        continue
    fi
    { $tool -c <long.json | head -c 999999; head -c 70000 /dev/zero; } >"long.$tool"
    run "$tool" "$weir" replay 1/h --json "long.$tool"
    if grep -q 'built without' err; then
        skip_part "golden/replay: $tool" 'weir is built without its library' "$build_all"
    else
        same out plain
    fi
    run "$tool, from a pipe" bash -c "'$weir' replay 1/h --json <long.$tool"
    if ! grep -q 'built without' err; then same out plain; fi
done

{
    printf 'garbage\n'
    combined 192.0.2.1 0
    printf '\n\377\0\1 [not a log] \200\nx\ny\n'
    combined 192.0.2.1 0
} >bad.log
run 'malformed lines, for people' "$weir" replay 1/s bad.log
ends 0
says out ' 4 malformed lines'
if grep -q 'out of order' out; then fail 'no line is out of order'; fi
run 'malformed lines' "$weir" replay 1/s --json bad.log
ends 0
json out '.requests == 2 and .malformed == 4'
if [ "$(grep -c '^weir: bad.log:[0-9]*' err)" != 3 ]; then fail 'not the first three'; fi
says err 'weir: bad.log:1:'
says err 'weir: bad.log:4:'
run '--strict' "$weir" replay 1/s --strict bad.log
ends 2
silent out
if [ "$(wc -l <err)" != 1 ]; then fail 'more than the first'; fi
seq 10 >numbers
run 'nothing that can be read' "$weir" replay 1/s numbers
ends 2
silent out
says err 'weir: replay: no line of 10 could be read as combined; give the format'
run 'an empty log' "$weir" replay 1/s --json /dev/null
ends 0
json out '.requests == 0 and .limits[0].denied == 0'
{ combined 192.0.2.1 0; head -c 1500000 /dev/zero | tr '\0' x; echo; combined 192.0.2.1 1; } >long.log
run 'a line that is too long' "$weir" replay 1/s --json long.log
json out '.requests == 2 and .malformed == 1'
says err 'weir: long.log:2: a line of more than 1 MiB'

# ---- following ----
: >live.log
rm -f out
what='--follow'
python3 "$lib/ending.py" pid ended "$weir" replay '2/h burst=2' --follow live.log >out 2>err &
until_true test -s out
until_true test -s pid
for _ in 1 2 3; do combined 192.0.2.1 0 >>live.log; done
until_true grep -q '^2025-11-21 10:00:00.000Z  192.0.2.1  2/h burst=2  again in 30 min$' out
mv live.log live.log.1
combined 192.0.2.1 5 >live.log
until_true grep -q '^2025-11-21 10:00:05.000Z  192.0.2.1' out
kill -INT "$(cat pid)"
wait
silent err
if [ "$(cat ended)" != -2 ]; then fail "it ended with $(cat ended)"; fi
says out '4 requests of 1 client'

mkfifo silence
exec 8<>silence
rm -f pid ended out
what='SIGINT while nothing comes'
python3 "$lib/ending.py" pid ended "$weir" replay 1/s --follow silence >out 2>err &
until_true test -s out # it is ready then
until_true test -s pid
kill -INT "$(cat pid)"
wait
exec 8>&-
if [ "$(cat ended)" != -2 ]; then fail "it ended with $(cat ended)"; fi
says out '0 requests of 0 clients'

# ---- what is wrong is said ----
refused() # WORDS ARGUMENT...
{
    local words=$1
    shift
    run "weir replay $*" "$weir" replay "$@"
    ends 2
    silent out
    says err "weir: $words"
}
refused 'replay: expected a limit; for example'
refused 'column 4: expected a period' 10/
refused 'log is a file; the limit comes first' log
refused 'column 4: expected a period' 1/s --or 10/ log
refused 'nowhere: No such file or directory' 1/s log nowhere
name=$(printf 'x%.0s' {1..63})
refused "--key $name: no field" 1/s --key "$name" log
refused "--key \"$(printf 'x%.0s' {1..60})" 1/s --key "x$name" log
says err "\": a field's name is too long; for example"
refused '--key nofield: no field "nofield"; expected one of remote_addr,' 1/s --key nofield log
refused '--cost nofield: no field "nofield"' 1/s --cost nofield log
refused '--key "remote_addr/0": expected bits' 1/s --key remote_addr/0 log
refused '--key "remote_addr/33/64": expected bits' 1/s --key remote_addr/33/64 log
refused '--key "remote_addr/24": one number is bits of IPv6, 33 to 128; for those of IPv4 write both: address/24/48' \
    1/s --key remote_addr/24 log
refused '--key "remote_addr/24,48": for bits of IPv4 and IPv6 write address/24/48' 1/s --key remote_addr/24,48 log
refused '--key "a/64,48,b": for bits of IPv4 and IPv6 write address/24/48' 1/s --key a/64,48,b log
refused '--key "a,,b": expected a field' 1/s --key a,,b log
refused '--key remote_addr: no field' 1/s --format '[$time_local]' log
refused '--format: unknown format "apache"' 1/s --format apache log
charge='--charge redis://127.0.0.1:9347'
refused 'replay: --charge charges new lines of a log; add --follow' 1/s $charge log
refused 'replay: --charge is for one limit; leave out --or' 1/s --or 2/s -F $charge log
refused 'replay: --charge follows a file, not standard input' 1/s -F $charge
refused 'replay: --charge follows a file, not standard input' 1/s -F $charge log -
refused 'replay: --charge: without --charge-limit the key is one field' 1/s -F $charge --key remote_addr,host log
refused 'replay: --charge: without --charge-limit the key is one field' 1/s -F $charge --key remote_addr/24/48 log
refused 'replay: --charge: without --charge-limit the key is one field' 1/s -F $charge --key none log
refused '--charge-limit "5/s": expected the name of a limit' 1/s -F $charge --charge-limit 5/s log
refused '--charge-limit "": expected the name of a limit' 1/s -F $charge --charge-limit '' log
refused 'replay: --charge-limit needs --charge' 1/s -F --charge-limit api log
refused 'replay: --password-file needs --charge' 1/s -F --password-file secret log
refused '--time nofield: no field "nofield"; expected one of remote_addr,' 1/s --time nofield log
refused '--format: no column is a time; expected time, ts, timestamp or the like among id, client; name the time' \
    1/s --format csv <(echo id,client)
refused '--timestamps "middle": expected start or end' 1/s --timestamps middle log
refused '--unaffected "0": expected a share' 1/s --unaffected 0 log
refused '--fail-above "101": expected a share' 1/s --fail-above 101 log
refused 'replay: --each and --json both write to standard output' 1/s --each --json log
refused 'replay: at most 16 limits at once' 1/s $(printf -- '--or 1/s %.0s' {1..16}) log
if [ -w /dev/full ]; then
    what='standard output to a full disk'
    for sink in --each --json -q; do
        "$weir" replay 1/s "$sink" log >/dev/full 2>err
        status=$?
        if [ "$sink" = -q ]; then ends 0; else ends 2; fi
        if grep -q unavailable err; then fail 'it names a reason that is none'; fi
    done
fi
