#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx_hash.sh WEIR: a real nginx that hashes keys over three weir serve: N pass of each key, exactly; one is killed,
# and its keys begin again at the others, once, and no other key does.
. "$(dirname "$0")/lib/start.sh" "$@"
needs curl
. "$tree/test/serve/lib/nginx.sh"
addresses=24 each=5

for number in 0 1 2; do
    start_serve --threads 1
    process[number]=$pid server[number]=$http
done

start_nginx nginx-hash.conf -e "s|10/s burst=20|$each/day|; s/fail_timeout=5s/fail_timeout=1h/" \
    -e "s/127\.0\.0\.1:9351/127.0.0.1:${server[0]}/; s/127\.0\.0\.1:9352/127.0.0.1:${server[1]}/" \
    -e "s/127\.0\.0\.1:9353/127.0.0.1:${server[2]}/"

# How many pass of each address, a line each.
round()
{
    local address urls=()
    for _ in {1..9}; do urls+=(-o /dev/null "http://127.0.0.1:$port/"); done
    for ((address = 1; address <= addresses; address++)); do
        curl -sS --parallel --interface "127.0.0.$address" -w '%{http_code}\n' "${urls[@]}" 2>/dev/null |
            grep -c '^200$'
    done
}

what='three of them'
round >passed
if [ "$(sort -u passed)" != $each ]; then
    cp passed out
    fail "not $each of each key"
fi
keys=()
read_keys() # are counted once a second
{
    local number
    for number in 0 1 2; do
        curl -sS -o metrics "http://127.0.0.1:${server[number]}/metrics"
        keys[number]=$(awk '$1 == "weir_table_keys" { print $2 }' metrics)
    done
    [ $((keys[0] + keys[1] + keys[2])) -ge $addresses ]
}
wait_for 'all keys are counted' read_keys
if [ $((keys[0] + keys[1] + keys[2])) != $addresses ]; then fail "${keys[*]} keys: one is asked at two"; fi
if [[ " ${keys[*]} " == *' 0 '* ]]; then fail "none of $addresses keys is asked at one of them"; fi
what='the same again'
round >passed
if [ "$(sort -u passed)" != 0 ]; then fail 'more pass'; fi

what='one is killed'
may_end "${process[1]}"
kill -KILL "${process[1]}"
wait_end "${process[1]}" 'it ends'
round >passed
cp passed out
if [ "$(grep -cx $each passed)" != "${keys[1]}" ] || [ "$(grep -cx 0 passed)" != $((addresses - keys[1])) ]; then
    fail "not its ${keys[1]} keys, and only these, begin again"
fi
round >passed
if [ "$(sort -u passed)" != 0 ]; then fail 'they begin again once more'; fi
echo "$addresses keys, ${keys[*]} at each of three; ${keys[1]} began again when one was killed"
may_end "$nginx"
kill "$nginx"
wait_end "$nginx" 'nginx ends'
