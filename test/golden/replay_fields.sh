#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_fields.sh WEIR: the fields of a log that are time, duration, key and cost.
. "$(dirname "$0")/lib/check.sh" "$@"
. "$lib/combined.sh"
needs jq
export COLUMNS=80

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
if [ "$(grep -cE '^  in a (second|minute) +[0-9]+ +[0-9]+ +[0-9]+$' out)" != 2 ]; then fail 'there are names'; fi
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
# Characters that are obeyed: the one that turns the direction, and one of C1.
for who in 'a\u202eb\u0085é' '§5\u00a0é'; do
    printf '{"time": "2025-11-21T10:00:01Z", "who": "%s"}\n' "$who" "$who" >obeyed.log
    run "a terminal is not told what to do: $who" "$weir" replay 1/h --key who obeyed.log
    ends 0
    shown=${who//\\u202e/\\xe2\\x80\\xae} shown=${shown//\\u0085/\\xc2\\x85} shown=${shown//\\u00a0/$'\xc2\xa0'}
    says out "  $shown   1 of 2"
done
printf '\377\300\t"\\ - - [21/Nov/2025:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"\n' >bytes.log
run 'keys that are no UTF-8' "$weir" replay none --json bytes.log
python3 -c 'import json, sys; json.loads(open("out", encoding="utf-8").read())' || fail 'no UTF-8'
json out '.limits[0].top[0].key == "\ufffd\ufffd\t\"\\"'

# ---- costs ----
what='costs'
"$weir" replay '3/h burst=3' --key none --cost size --each addresses.log | jq -c .allowed >out
printf '%s\n' true false true true true >expected
same out expected
for cost in 1.5x 1. .5 -1 1x 1.5.5 1e3 2.0; do
    echo "{\"time\": \"2025-11-21T10:00:01Z\", \"client\": \"192.0.2.1\", \"cost\": \"$cost\"}"
done >no_costs.log
run 'what is no cost' "$weir" replay 5/h --cost cost --json no_costs.log
json out '[.requests, .malformed] == [1, 7]'
says err 'a cost is a number; expected digits here, or "-"'
for second in 0 1 2; do combined 192.0.2.1 $second 3; done >threes.log
what='a cost of the second limit'
"$weir" replay '100/h; 5B/h burst=5' --cost bytes=body_bytes_sent --each threes.log | jq -c .allowed >out
printf '%s\n' true false false >expected
same out expected
what='costs'
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
