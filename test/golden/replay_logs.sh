#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_logs.sh WEIR: formats of logs, packed ones, lines that are none, and logs that grow.
. "$(dirname "$0")/lib/check.sh" "$@"
. "$lib/combined.sh"
needs jq python3 gzip
export COLUMNS=80

two_clients >log

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
