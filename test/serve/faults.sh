#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults.sh WEIR: what comes from outside and goes wrong (clients/faults.py says what), and what the machine lacks.
. "$(dirname "$0")/lib/start.sh" "$@"
faults=$tree/test/serve/clients/faults.py

case_of() # NAME [ARGUMENT...]
{
    run "faults.py $1" python3 "$faults" "$1" "$resp" "$http" "$pid" "${@:2}"
    cat out
    if [ "$status" != 0 ]; then cat serve.out; fi
    ends 0
}

start_serve
for name in garbage half_closed oversize slow_reader; do case_of $name; done
clean_end

# ---- as many connections as this machine lets a process have, 10,000 at most ----
ulimit -n "$(ulimit -Hn)"
descriptors=$(ulimit -n)
if [ "$descriptors" = unlimited ] || [ "$descriptors" -gt 10200 ]; then descriptors=10200; fi
start_serve
case_of crowd $((descriptors - 200))
clean_end
echo 'listen: {connections: 16}' >few.yaml
start_serve few.yaml
case_of too_many
clean_end

# ---- a thousand reloads under load ----
echo "limits: {quota: {limit: '1000/d'}}" >weir.yaml
start_serve weir.yaml
case_of reloads "$PWD/weir.yaml"
clean_end

# ---- killed under load: what was answered is owed after the restart.  10 times, one limit; only what was on its way
# may be lost, and never is more allowed than the limit has. ----
what='killed under load'
allowed=0 lost=0
for _ in {1..10}; do
    start_serve --state table
    python3 "$faults" load_until_killed "$resp" "$http" "$pid" >counts 2>err || fail 'the load has failed'
    wait "$pid" 2>/dev/null
    read -r more away <counts
    allowed=$((allowed + more)) lost=$((lost + away))
done
start_serve --state table
run 'redis-cli' redis-cli -p "$resp" WEIR.TAKE 20000/d everybody PEEK
left=$(sed -n 3p out)
if [ "$(sed -n 1p out)" = deny ]; then left=0; fi
echo "allowed $allowed, left $left, on their way at most $lost"
# 20,000 a day come back at one in 4.3 s: a few while this runs.
if [ $((allowed + left)) -gt $((20000 + 60)) ]; then fail "$allowed were allowed and $left are left of 20000"; fi
if [ $((allowed + left + lost)) -lt 20000 ]; then fail "$allowed allowed, $left left, $lost lost: not all 20000"; fi
clean_end

# ---- no space for the table ----
what='a full disk'
if mkdir full && mount -t tmpfs -o size=1m none full 2>/dev/null; then
    run 'weir serve' "$weir" serve --resp 127.0.0.1:0 --http 127.0.0.1:0 --state full/table
    umount full
    ends 2
    says err 'full/table'
    says err 'there is not so much space'
    silent out
else
    echo 'a file system of its own cannot be had here: no full disk is tried'
fi
