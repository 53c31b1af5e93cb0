#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_threads.sh WEIR: with a second processor, where a thread reads ahead, every byte is as with one.
. "$(dirname "$0")/lib/check.sh" "$@"
needs python3 taskset gzip
if [ "$(nproc)" -lt 2 ]; then skip_test 'one processor: no thread reads ahead' 'a machine with two'; fi
one=$(taskset -cp $$ | sed 's/.*[ ,]//; s/-.*//')

# Clients of all rates, times out of order, malformed lines far apart, each kind of what is told.
python3 - <<'END'
import gzip
import random
random.seed(31)
lines = []
for i in range(60000):
    second = i // 40 + random.randrange(3)
    address = f'10.0.{random.randrange(3)}.{min(255, int(random.expovariate(0.1)))}'
    lines.append(f'{address} - - [21/Nov/2025:{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000] '
                 f'"GET /{i} HTTP/1.1" 200 {i % 700} "-" "{"agent " * (i % 30)}"\n')
for at in (9000, 9001, 25000, 40000, 59999):
    lines[at] = f'malformed {at}\n'
open('log', 'w').writelines(lines)
well = [line for line in lines if not line.startswith('malformed')]
open('well', 'w').writelines(well)
open('late', 'w').writelines(well[:30000] + ['10.0.0.1 - - [21/Nov/2025:10:00:00 +0000] "x" 200 -7 "-" "-"\n'])
packed = gzip.compress(open('log', 'rb').read())
open('cut.gz', 'wb').write(packed[:len(packed) // 2])
END

# The same words, the same end and the same bytes, by one processor and by all.
alike() # STATUS OPTION...
{
    local expected=$1
    shift
    run "one processor: $*" taskset -c "$one" "$weir" replay "$@"
    ends "$expected"
    mv out out.one
    mv err err.one
    run "$*" "$weir" replay "$@"
    ends "$expected"
    same out out.one
    same err err.one
}
alike 0 5/s log
says err 'log:9001:1: expected'
alike 0 5/s --or '20/min algorithm=sliding-log' --each log
alike 0 5/s --json log well log
alike 2 5/s --each --strict log
says err 'log:9001:1: expected'
alike 2 5/s --each --strict well log
alike 0 9000B/s --cost body_bytes_sent --json well
alike 2 9000B/s --cost body_bytes_sent --strict late
says err 'a cost is a number'
alike 2 5/s --json cut.gz well
says err 'the gzip data is truncated'
alike 0 5/s --json --nodes 3 well

run 'a pipe' bash -c 'cat well | "$1" replay 5/s --each' - "$weir"
ends 0
mv out expected
run 'a file' "$weir" replay 5/s --each well
same out expected

# More than one block, and then nothing: the thread waits for bytes, and a signal or a wrong line end it all the same.
mkfifo pipe
stopped() # STATUS LINES... : of what comes by the pipe; what is said is in out and err
{
    "$weir" replay 5/s "$@" - <pipe >out 2>err &
    pid=$!
    exec 9>pipe
    cat well >&9
}
what='a signal while the pipe is silent'
stopped --json
sleep 0.5
kill -INT $pid
wait $pid
status=$?
ends 130
says out '"requests":59995'
exec 9>&-

what='a malformed line while the pipe is silent'
stopped --strict
echo malformed >&9
wait $pid
status=$?
ends 2
says err 'standard input:59996:1: expected'
exec 9>&-

run 'a broken pipe' bash -c '"$1" replay 5/s --each well | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"' - "$weir"
says out 141
