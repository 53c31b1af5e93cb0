#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_many.sh WEIR: parts of one schedule, a closed model with think time, and a pool of workers that grows.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3

# ---- parts: when each start is due is in unit/pace_lines ----
seq 40 >in
begin=$(($(date +%s) + 1))
for part in 1 2 3; do
    "$weir" pace 300/s --part $part/3 --begin $begin --starts starts$part --json <in >out$part 2>err$part &
done
wait
cat >grid.py <<'END'
# Each start of part K of 3 was due at the k-th of 300 a second, k = K - 1, K + 2, ..., to the ns.
for part in (1, 2, 3):
    last = part - 4
    for line in list(open(f"starts{part}"))[1:]:
        due = int(line.split(",")[0])
        k = round(due * 300 / 10**9)
        assert due == -(-k * 10**9 // 300) and k % 3 == part - 1 and k > last, f"part {part}: {due} ns"
        last = k
END
what='due times of three parts'
if ! python3 grid.py 2>err; then fail "$(tail -n 1 err)"; fi
for part in 1 2 3; do
    what="part $part of 3"
    same out$part in
    json err$part ".part == $part and .parts == 3 and .lines == 40 and .target_per_s == 100 and .early == 0"
done

run 'what a part says' "$weir" pace 300/s --part 2/3 --begin "$(date +%s)" <in
ends 0
same out in
summary_of 40 lines
says err 'part 2 of 3: began at '
says err 'part 2 of 3: together they are 300/s, as exactly as the clocks of their machines agree'
run 'a beginning alone' "$weir" pace 300/s --begin "$(($(date +%s) - 3600))" <in
ends 0
same out in
says err 'began at '
if grep -q 'part ' err; then fail 'it says that it is a part'; fi
run 'commands of a part' "$weir" pace 300/s --part 3/3 --begin "$(date +%s)" -j 3 -- echo <in
ends 0
sort -n out >sorted
same sorted in
run 'a part, --count and --for' "$weir" pace 300/s --part 1/3 --begin "$(date +%s)" --count 7 --for 1h <in
ends 0
head -n 7 in >expected
same out expected
run '--for that is over when a part joins' "$weir" pace 300/s --part 1/3 --begin "$(($(date +%s) - 60))" --for 1s <in
ends 0
what='a signal before the beginning'
python3 "$lib/ending.py" pid end "$weir" pace 300/s --begin 'next hour' <in >out 2>err &
until_true grep -q 'begins at .*, in ' err
until_true test -s pid
kill -15 "$(cat pid)"
until_true test -s end
wait
status=$(cat end)
ends -15
silent out

pace_refuses 'pace: --part needs --begin; for example --begin "next minute"' 100/s --part 1/2
pace_refuses '--part "5/2": there is no part 5 of 2; did you mean 2/5?' 100/s --begin 1 --part 5/2
pace_refuses '--part "2": expected K/N, the Kth of N parts, 1 to 1000; for example 2/5' 100/s --begin 1 --part 2
pace_refuses '--begin "soon": expected a time; for example 2026-11-28T12:00:00Z, ' 100/s --begin soon
pace_refuses '--begin "2026-11-28T12:00:00": say the zone' 100/s --begin 2026-11-28T12:00:00
pace_refuses 'pace: --begin: that was before this machine was started' 100/s --begin 1971-01-01T00:00:00Z
pace_refuses 'pace: --begin: that was before this machine was started' 100/s --begin 0
begin=(--begin 'next minute' --part 1/2)
pace_refuses 'pace: --part needs one limit with a schedule (algorithm=hybrid); for example 1000/s' \
    "${begin[@]}" '9/s algorithm=gcra'
pace_refuses 'pace: --part needs one limit with a schedule' "${begin[@]}" '9/s; 100/min'
pace_refuses 'pace: --part counts starts, not bytes' "${begin[@]}" 1MiB/s
echo 9/s >rate
pace_refuses 'pace: --part and --rate-file exclude each other' "${begin[@]}" --rate-file rate

# ---- think time: a worker begins no sooner than so long after its command's end, and not for nothing ----
cat >noted <<'END'
#!/usr/bin/env python3
import time

with open("log", "a") as log:
    log.write(f"{time.monotonic_ns()} {time.monotonic_ns()}\n")
END
chmod +x noted
apart() # NS: each line of the log begins so long after the one before has ended
{
    if ! awk -v least="$1" 'NR > 1 && $1 - last < least { exit 1 } { last = $2 }' log; then fail 'it did not think'; fi
}
for limit in unlimited 1000/s; do
    rm -f log
    seq 4 >in
    run "--think, $limit" "$weir" pace $limit --think 150ms -- ./noted <in
    ends 0
    summary_of 4 commands
    if [ "$(wc -l <log)" != 4 ]; then fail 'not all ran'; fi
    apart 150000000
done
seq 2 >in
run 'no thinking behind the last line' timeout -k 5 60 "$weir" pace unlimited -j 2 --think 1h -- true <in
ends 0
run 'nor behind the last of --count' timeout -k 5 60 "$weir" pace unlimited --think 1h --count 1 -- true <in
ends 0
what='a signal while they think'
mkfifo pipe
exec 9<>pipe
rm -f pid end done-*
python3 "$lib/ending.py" pid end "$weir" pace unlimited -j 2 --think 1h -- sh -c ': >done-$0' <pipe >out 2>err &
printf '1\n2\n' >&9
until_true test -e done-1 -a -e done-2
kill -15 "$(cat pid)"
until_true test -s end
wait
status=$(cat end)
ends -15
summary_of 2 commands
exec 9>&-

# ---- a pool that grows ----
# Each waits until so many are there: that many workers, or it never ends.
cat >crowd <<'END'
#!/bin/sh
mkdir "here/$2"
for turn in $(seq 1200); do
    if [ "$(ls here | wc -l)" -ge "$1" ]; then exit 0; fi
    sleep 0.05
done
exit 1
END
chmod +x crowd
for first in 1 2; do
    rm -rf here
    mkdir here
    seq 5 >in
    run "from $first to 5 workers" "$weir" pace 1000/s -j $first -J 5 --json -- ./crowd 5 <in
    ends 0
    json err '.commands == 5 and .jobs == 5 and .jobs_max == 5 and .busy_max == 5'
done
seq 20 >in
run 'never more than MAX' "$weir" pace 1000/s -J 3 -- sh -c 'sleep 0.05' <in
ends 0
if ! grep -qE '^20 commands in .*, 1000/s asked, .*; [0-9,]+ starts? missed; [1-3] of 3 busy, up to 3$' err; then
    fail 'it does not say how many there were'
fi
run 'a part that grows' "$weir" pace 1000/s -J 3 --part 1/2 --begin "$(date +%s)" --json -- true <in
ends 0
json err '.commands == 20 and .jobs >= 1 and .jobs <= 3'
what='no start is due: no more workers'
exec 9<>pipe
rm -f pid end end-*
python3 "$lib/ending.py" pid end "$weir" pace 1/h -J 4 --json -- sh -c 'sleep 0.3; : >end-$0' <pipe >out 2>err &
printf '1\n2\n' >&9
until_true test -e end-1
kill -15 "$(cat pid)"
until_true test -s end
wait
json err '.commands == 1 and .jobs == 1 and .jobs_max == 4'
exec 9>&-

pace_refuses 'pace: -j, -J, --think, --keep-going and --grace are for commands' 10/s --think 1s
pace_refuses 'pace: -j, -J, --think, --keep-going and --grace are for commands' 10/s -J 5
pace_refuses 'pace: -J 2 is less than -j 4, with which it begins' 10/s -j 4 -J 2 -- true
pace_refuses 'pace: unlimited: no start is ever late, so -J has nothing to go by; write -j 20' \
    unlimited -j 4 -J 20 -- true

# ---- by the times in a log ----
printf '{"time":"2026-11-21T17:46:0%d.%d00Z"}\n' 1 0 1 1 1 2 1 3 >in
run 'a log, a pool of workers that grows, and think time' "$weir" pace --at time -J 3 --think 10ms --json -- true <in
ends 0
json err '.commands == 4 and .jobs <= 3'
pace_refuses 'pace: by --at the log says when lines start, so there is no schedule to share by --part or --engine' \
    --at time --part 1/2 --begin 'next hour'
pace_refuses 'pace: by --at the log says when lines start, so there is no schedule to share by --part or --engine' \
    --at time --engine redis://127.0.0.1
