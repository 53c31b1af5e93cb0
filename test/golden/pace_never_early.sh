#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pace_never_early.sh WEIR: real runs whose reader stalls for a second: nothing early, nothing lost, the stall is seen.
. "$(dirname "$0")/lib/check.sh" "$@"
needs jq python3

# Reads one line, stalls, reads the rest; when each came is information, nothing is held to it.
cat >reader.py <<'END'
import sys
import time

lines, came = [sys.stdin.buffer.readline()], [time.monotonic()]
time.sleep(1)
for line in sys.stdin.buffer:
    lines.append(line)
    came.append(time.monotonic())
with open("out", "wb") as out:
    out.writelines(lines)
gap = max(later - earlier for earlier, later in zip(came, came[1:]))
print(f"  information: {len(lines)} lines in {came[-1] - came[0]:.3f} s, the longest gap {gap:.3f} s")
END

# Lines of a thousand bytes: a pipe holds 65 of them, and then weir stands.
stalls() # LIMIT LINES
{
    what="$1 with a reader that stalls"
    seq -f '%0999.0f' "$2" >in
    echo "$what"
    "$weir" pace "$1" --json <in 2>err | python3 reader.py
    status=${PIPESTATUS[0]}
    ends 0
    same out in
    json err ".early == 0 and .dropped == 0 and .lines == $2 and .granted == $2"
    json err '.behind_ns.max >= 500000000 and .late_ns.max >= 0'
}
stalls 1000/s 1300
stalls 12000,1.1 4000

# Without a stall, and with the lines leaving one by one.
what='1000/s to a file'
seq 500 >in
run "$what" "$weir" pace 1000/s --json <in
ends 0
same out in
json err '.early == 0 and .lines == 500'
what='commands'
run "$what" "$weir" pace 200/s -j 4 --json -- true <in
json err '.early == 0 and .commands == 500'
