#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults.sh WEIR: what comes from outside and goes wrong (clients/faults.py says what), and what the machine lacks.
. "$(dirname "$0")/lib/start.sh" "$@"
. "$tree/test/lib/disk.sh"
faults=$tree/test/serve/clients/faults.py
if grep -aqE '__(asan|tsan|msan)_init' "$weir"; then export MEMORY=any; fi

case_of() # NAME [ARGUMENT...]
{
    run "faults.py $1" python3 "$faults" "$1" "$resp" "$http" "$pid" "${@:2}"
    cat out
    if [ "$status" != 0 ]; then tail serve.out; fi
    ends 0
}

start_serve
for name in garbage half_closed oversize late_reader slow_reader; do case_of $name; done
clean_end

# ---- as many connections as this machine lets a process have, 10,000 at most; a thousand at least ----
ulimit -n "$(ulimit -Hn)"
descriptors=$(ulimit -n)
if [ "$descriptors" = unlimited ] || [ "$descriptors" -gt 10200 ]; then descriptors=10200; fi
more='run it with more: ulimit -Hn 10200'
few="a process may have $descriptors descriptors"
if [ "$descriptors" -lt 1500 ]; then
    skip_part 'a crowd of connections' "$few" "$more"
    skip_part '1,200 requests that are not finished' "$few" "$more"
else
    start_serve
    case_of crowd $((descriptors - 200))
    clean_end
fi
echo 'listen: {connections: 16}' >few.yaml
start_serve few.yaml
case_of too_many
clean_end

echo "{threads: 1, listen: {unix: $PWD/socket}}" >unix.yaml
start_serve unix.yaml
case_of slow_crowd "$PWD/socket"
if [ "$descriptors" -ge 1500 ]; then case_of unfinished "$PWD/socket"; fi
clean_end

# ---- reloads under load ----
echo "limits: {quota: {limit: '1000/year'}}" >weir.yaml
start_serve weir.yaml
case_of reloads "$PWD/weir.yaml" "$PWD/serve.out" "$(of_size 150 1000)"
clean_end

# ---- killed under load, a few times: what was answered is owed after the restart; of what was on its way each may be
# counted or not.  One permit comes back in 3 seconds. ----
limit=10000000/year
allowed=0 away=0 begun=$SECONDS
for ((kills = $(of_size 3 10); kills > 0; kills--)); do
    start_serve --state table
    may_end "$pid"
    {
        run 'faults.py load_until_killed' python3 "$faults" load_until_killed "$resp" "$http" "$pid" $limit
        wait "$pid"
    } 2>/dev/null # where the shell tells that it was killed
    ends 0
    read -r more lost <out
    allowed=$((allowed + more)) away=$((away + lost))
    start_serve --state table
    case_of left $limit
    read -r left <out
    clean_end
    if [ $((allowed + left)) -gt $((10000000 + (SECONDS - begun) / 3 + 1)) ]; then
        fail "$allowed were allowed and $left are left of 10000000: debts were forgotten"
    fi
    if [ $((allowed + left + away)) -lt 10000000 ]; then fail "$allowed allowed, $left left, $away lost: not all"; fi
done
echo "allowed $allowed, left $left, on their way at most $away"

# ---- no space for the table: a file system of 1 MiB, where this user may have one ----
what='a full disk'
make_small_disk
if [ ${#small_disk[@]} = 0 ]; then
    skip_part 'a full disk' 'no file system of its own can be had here' 'run the tests as root'
else
    run 'weir serve' "${small_disk[@]}" 1m "$weir" serve --resp 127.0.0.1:0 --http 127.0.0.1:0 --state table
    ends 2
    says err 'table'
    says err 'there is not enough space'
    silent out
fi
