#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay.sh WEIR: what limits would have done to small logs whose figures can be counted by hand.
. "$(dirname "$0")/lib/check.sh" "$@"
. "$lib/combined.sh"
needs jq python3
export COLUMNS=80

# ---- the report ----
two_clients >log
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

{
    for _ in {1..30}; do combined 192.0.2.1 0; done
    for second in {0..40}; do combined 192.0.2.200 $second; done
} >rows.log
run 'rows of a table' env COLUMNS=120 "$weir" replay 5/s --or '10/h burst=10' rows.log
ends 0
sed -n '/most refused/,/^$/p' out >rows
cat >expected <<'END'
  limit           refused                      clients hit   most refused
  5/s burst=5     21 to 25  29.58 to 35.21 %             1   192.0.2.1     25 of 30
  10/h burst=10         51           71.83 %             2   192.0.2.200   31 of 41

END
same rows expected

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

# ---- --fail-above ----
run 'more than 24 %' "$weir" replay '10/s burst=20' -q --fail-above 24 log
ends 1
run 'not more than 24.5%' "$weir" replay '10/s burst=20' -q --fail-above 24.5% log
ends 0
run 'one of two limits' "$weir" replay '10/s burst=20' --or 5/s -q --fail-above 24.5% log
ends 1
run 'none at all' "$weir" replay '100/s' -q --fail-above 0 log
ends 0

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
refused '--key "remote_addr/24,8": for bits of IPv4 and IPv6 write address/24/48' 1/s --key remote_addr/24,8 log
refused '--key "remote_addr/24,": one number is bits of IPv6' 1/s --key remote_addr/24, log
refused '--key "a/64,48,b": for bits of IPv4 and IPv6 write address/24/48' 1/s --key a/64,48,b log
refused '--key "a,,b": expected a field' 1/s --key a,,b log
refused '--key remote_addr: no field' 1/s --format '[$time_local]' log
refused '--format: unknown format "apache"' 1/s --format apache log
refused '--format: column 6: expected a } after the name, as in ${status}' 1/s --format '$foo ${x' log
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
