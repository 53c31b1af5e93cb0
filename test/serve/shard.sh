#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shard.sh WEIR: the example that hashes keys over three weir serve by itself: N pass of each key, exactly; one is
# killed, and its keys begin again at the others, once, and no other key does; one is silent; all are away.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
needs_python redis
keys=60 each=5 limit=5/day

for number in 0 1 2; do
    start_serve --threads 1
    process[number]=$pid server[number]=127.0.0.1:$resp page[number]=$http
done

# Nobody is away here because the machine is busy.
sed 's/^TIMEOUT_S = [^ ]*/TIMEOUT_S = 30/' "$examples/shard.py" >shard.py
sed 's/^FAIL_OPEN = False/FAIL_OPEN = True/' shard.py >open.py
sed 's/^TIMEOUT_S = [^ ]*/TIMEOUT_S = 5/; s/^AWAY_S = [^ ]*/AWAY_S = 3600/' "$examples/shard.py" >short.py
if cmp -s shard.py "$examples/shard.py" || cmp -s open.py shard.py || cmp -s short.py "$examples/shard.py"; then
    fail 'no switch'
fi

shard() # FILE LIMIT [SERVER...]: nine lines of each key, those that pass in the file out
{
    local file=$1
    shift
    for _ in {1..9}; do
        for ((key = 1; key <= keys; key++)); do echo "sender$key a line"; done
    done >lines
    run "$file $*" /usr/bin/python3 "$file" "$@" <lines
}
round() # [SERVER...]: how many pass of each key that passes, in the file passed
{
    shard shard.py $limit "$@"
    ends 0
    sort out | uniq -c | awk '{ print $1 }' >passed
}

round "${server[@]}"
silent err
if [ "$(wc -l <passed)" != $keys ] || [ "$(sort -u passed)" != $each ]; then fail "not $each of each key"; fi
read_keys() # are counted once a second
{
    local number
    for number in 0 1 2; do
        curl -sS -o metrics "http://127.0.0.1:${page[number]}/metrics"
        owned[number]=$(awk '$1 == "weir_table_keys" { print $2 }' metrics)
    done
    [ $((owned[0] + owned[1] + owned[2])) -ge $keys ]
}
owned=()
wait_for 'all keys are counted' read_keys
what='three of them'
if [ $((owned[0] + owned[1] + owned[2])) != $keys ]; then fail "${owned[*]} keys: one is asked at two"; fi
if [[ " ${owned[*]} " == *' 0 '* ]]; then fail "none of $keys keys is asked at one of them"; fi
round "${server[2]}" "${server[0]}" "${server[1]}"
silent out

# ---- never, no password, a wrong one, and a mistake, with either state of FAIL_OPEN ----
printf 'password: open sesame\n' >weir.yaml
start_serve --threads 1 weir.yaml
for file in shard.py open.py; do
    shard $file none "${server[@]}"
    ends 0
    silent out
    shard $file $limit "127.0.0.1:$resp"
    ends 1
    says err AuthenticationError
    silent out
    WEIR_PASSWORD=wrong shard $file $limit "127.0.0.1:$resp"
    ends 1
    says err WRONGPASS
    silent out
    shard $file 5/ "${server[@]}"
    ends 1
    silent out
done

WEIR_PASSWORD='open sesame' shard shard.py $limit "127.0.0.1:$resp"
ends 0
if [ "$(wc -l <out)" != $((keys * each)) ]; then fail "not $each of each key"; fi
stop

# ---- one is killed ----
may_end "${process[1]}"
kill -KILL "${process[1]}"
wait_end "${process[1]}" 'it ends'
round "${server[@]}"
says err "weir at ${server[1]}:"
if [ "$(wc -l <passed)" != "${owned[1]}" ] || [ "$(sort -u passed)" != $each ]; then
    fail "not its ${owned[1]} keys, and only these, begin again"
fi
round "${server[@]}"
silent out

# ---- the second is silent: the third has their keys ----
kill -STOP "${process[0]}"
shard short.py $limit "${server[@]}"
kill -CONT "${process[0]}"
ends 0
says err "weir at ${server[0]}:"
sort out | uniq -c | awk '{ print $1 }' >passed
if [ ! -s passed ] || [ "$(wc -l <passed)" -ge $keys ] || [ "$(sort -n passed | tail -n 1)" -gt $each ]; then
    fail 'its keys do not begin again'
fi

# ---- all are away ----
for number in 0 2; do
    may_end "${process[number]}"
    kill -KILL "${process[number]}"
    wait_end "${process[number]}" 'it ends'
done
shard shard.py $limit "${server[@]}"
ends 0
silent out
shard open.py $limit "${server[@]}"
ends 0
same out lines
echo "$keys keys, ${owned[*]} at each of three; ${owned[1]} began again when one was killed"
