#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# loopback.sh WEIR: both loopback addresses, which is what localhost means: each client reaches the service by either,
# and whoever holds the port of either is told of.
. "$(dirname "$0")/lib/start.sh" "$@"
needs_v6
needs redis-cli curl

# ---- by each address, with one thread and with several ----
for threads in 1 3; do
    printf 'limits: {site: {limit: "2/day", key: [address]}}\n' >weir.yaml
    start_serve weir.yaml --threads $threads
    says serve.out "weir: RESP 127.0.0.1:$resp and [::1]:$resp, "
    says serve.out ", HTTP and page http://127.0.0.1:$http/ and http://[::1]:$http/; "
    for host in 127.0.0.1 ::1; do
        for turn in {1..20}; do # by any of the threads
            run "redis-cli -h $host" redis-cli -h "$host" -p "$resp" WEIR.TAKE 100/day "key of $host"
            if [ "$(head -n 3 out | tr '\n' ' ')" != "allow 0 $((100 - turn)) " ]; then fail "not the answer $turn"; fi
        done
    done

    # ---- two a day for each address that is asked for, in all its spellings; a browser by the name of either ----
    for url in "http://127.0.0.1:$http" "http://[::1]:$http"; do
        spellings=(127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1)
        if [[ $url == *::1* ]]; then spellings=(::1 0:0::1 0:0:0:0:0:0:0:1); fi
        for answer in 200 200 429; do
            fetch $answer "$url/auth?limit=site" -H "X-Real-IP: ${spellings[0]}" -H 'X-Weir-Proxy: 1'
            spellings=("${spellings[@]:1}")
        done
        fetch 200 "$url/" -H "Origin: $url"
        fetch 403 "$url/v1/take" -d limit=1/s -d key=k -H 'Origin: http://evil.example'
        fetch 200 "$url/healthz" -H "Host: localhost:$http"
        fetch 421 "$url/healthz" -H 'Host: evil.example'
    done
    fetch 200 "http://[::1]:$http/v1/top"
    says out '"limit":"site","key":"127.0.0.1"'
    says out '"limit":"site","key":"::/64"'

    # ---- by the name, whichever of the two it is first for a client ----
    for address in '[::1]' 127.0.0.1; do
        fetch 200 --resolve "localhost:$http:$address" "http://localhost:$http/readyz"
    done
    clean_end
done

# ---- one of the two alone, and a port that somebody has there ----
start_other --resp none --http '[::1]:0' --threads 2
if ! grep -qE '^weir: HTTP and page http://\[::1\]:[0-9]+/; limits' serve.out; then fail 'it does not say so'; fi
clean_end
start_other --resp '[::1]:0' --http none
taken=$(sed -n 's/^weir: RESP \[::1\]:\([0-9]*\);.*/\1/p' serve.out)
run 'a port that is taken at ::1' "$weir" serve --resp "localhost:$taken" --http none
ends 2
says err "cannot listen on [::1]:$taken: address in use"
run 'the same for HTTP' "$weir" serve --http "localhost:$taken" --resp none
ends 2
says err "cannot listen on [::1]:$taken: address in use"
clean_end

run 'sockets that systemd hands over' /usr/bin/python3 "$tree/test/serve/lib/systemd.py" "$weir" localhost
ends 0

# ---- redis-py, where it is, by the name ----
start_serve
if /usr/bin/python3 -c 'import redis' 2>/dev/null; then
    cat >name.py <<'END'
import socket, sys
import redis

# What Debian's /etc/hosts says, whatever this machine's says.
asked, real = [], socket.getaddrinfo


def debian(host, port, family=0, kind=0, *more, **others):
    asked.append(host)
    assert host == 'localhost', host
    return real('::1', port, 0, kind) + real('127.0.0.1', port, 0, kind)


socket.getaddrinfo = debian
weir = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
assert weir.execute_command('WEIR.TAKE', '5/day', 'by name')[0] == 'allow'
print(asked[0], weir.connection_pool.get_connection('PING')._sock.getpeername()[0])
END
    run 'redis-py by the name' /usr/bin/python3 name.py "$resp"
    echo 'localhost ::1' >expected
    same out expected
else
    skip_part 'redis-py by the name' "Python's module redis is not here"
fi
clean_end
