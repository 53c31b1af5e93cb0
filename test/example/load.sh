#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# load.sh WEIR [LOAD]: the examples of load tests against a real nginx.  What load.c and the server have counted and
# logged is the same, requests are due when the rate says so, and what is late counts.  gate.py fails when it should.
. "$(dirname "$0")/../serve/lib/start.sh" "$1"
needs nginx python3 jq
load=${2-}
gate=$tree/examples/load/gate.py
cat >load.conf <<'END'
pid nginx.pid;
daemon off;
worker_processes 1;
events { worker_connections 512; }
http {
    log_format requests '$uri $status $connection';
    access_log requests requests;
    server {
        listen 127.0.0.1:8080;
        location / { return 204; }
        location /few { keepalive_requests 7; return 200 'few for each connection'; }
        location /bad { return 503; }
    }
}
END
examples=$room
. "$tree/test/serve/lib/nginx.sh"
start_nginx load.conf
url=http://127.0.0.1:$port

served() # COUNT PATH: by nginx, since it was asked last
{
    has_served()
    {
        [ "$(grep -c "^$2 " requests)" = "$1" ]
    }
    wait_for "nginx has served $1" has_served "$@"
    cp requests served
    : >requests
}

# ---- load.c ----
# A line of its log is due,sent,answered,status.
columns() # AWK_EXPRESSION WORDS: true of each line, in the order of the due times; k counts from 0
{
    if ! sort -n log.csv | awk -F , "NR == 1 { first = \$1 } { k = NR - 1; if (!($1)) { print; wrong = 1; exit } }
        END { exit wrong }" >line; then
        fail "$2, but not in $(cat line)"
    fi
}

counts() # REQUESTS GOOD: what it prints, and how many lines it logs
{
    says out "$1 requests, due within"
    says out " $2 answers 2xx or 3xx, $(($1 - $2)) others"
    if [ "$(wc -l <log.csv)" != "$1" ]; then fail "$(wc -l <log.csv) lines in the log"; fi
    columns '$2 >= $1 && $3 >= $2' 'sent when it is due or later, and answered then'
}

# Each line of the .hgrm says how many of the response times in the log are not longer; it has us, the log ns.
same_percentiles()
{
    awk -F , '{ printf "%.6f\n", ($3 - $1) / 1e6 }' log.csv | sort -n >responses
    if ! awk 'NR == FNR { ms[++n] = $1; next }
        FNR <= 2 { next }
        {
            rows++
            while (least < n && ms[least + 1] < $1 - 0.0005) least++
            while (most < n && ms[most + 1] <= $1 + 0.0005) most++
            if ($3 < least || $3 > most || $3 / n - $2 > 1e-9 || $2 - $3 / n > 1e-9) { print; exit 1 }
            last = $3
        }
        END { if (rows == 0 || last != n) exit 1 }' responses times.hgrm >line; then
        fail "the percentiles are not those of the log: $(cat line)"
    fi
}

test_load()
{
    run 'a rate' "$load" 500/s "$url/" 8 1 times.hgrm log.csv
    ends 0
    silent err
    counts 500 500
    columns '$1 == first + k * 2000000' 'due every 2 ms'
    columns '$4 == 204' 'answered 204'
    served 500 /
    if [ "$(cut -d ' ' -f 3 served | sort -u | wc -l)" -gt 8 ]; then fail 'more connections than it was given'; fi
    says out '0 missed'
    same_percentiles
    run 'a picture of its log' "$tree/bench/load/plot" '500/s' log.csv
    ends 0
    says out '500 starts, at most'

    run 'connections that the server closes' "$load" 500/s "$url/few" 4 1 times.hgrm log.csv
    ends 0
    counts 500 500
    served 500 /few
    if [ "$(cut -d ' ' -f 3 served | sort -u | wc -l)" -lt 72 ]; then fail 'more than 7 requests to a connection'; fi

    run 'a server that refuses' "$load" 200/s "$url/bad" 4 0.5 times.hgrm log.csv
    ends 1
    counts 100 0
    columns '$4 == 503' 'answered 503'
    served 100 /bad

    what='every kind of answer'
    : >server.out
    "$tree/test/example/server.py" >server.out 2>server.err &
    listens_as $! server.out
    run "$what" "$load" 300/s "$(cat server.out)" 8 0.6 times.hgrm log.csv
    ends 1
    counts 180 100 # 5 of 9 ways
    if [ "$(grep -c ',0$' log.csv) $(grep -c ',404$' log.csv) $(grep -c ',302$' log.csv)" != '60 20 20' ]; then
        fail 'not the statuses that the server gave'
    fi

    stand_still
    interrupted
    mistakes
}

# The worker is stopped: what was due meanwhile is answered afterwards, and its time counts from when it was due.
stand_still()
{
    local worker now count
    worker=$(pgrep -P "$nginx")
    what='a server that stands still'
    kill -STOP "$worker"
    "$load" '200/s catchup=2' "$url/" 4 3600 times.hgrm log.csv >out 2>err &
    wait_for 'requests are under way' received 4
    sleep 0.5
    now=$(python3 -c 'import time; print(time.monotonic_ns())')
    kill -CONT "$worker"
    wait_for 'its answers' has_logged 400
    kill -INT $!
    wait_end $! 'it ends'
    ends 0
    count=$(wc -l <log.csv)
    counts "$count" "$count"
    columns "\$3 >= $now" 'answered after the stop'
    columns '$1 == first + k * 5000000' 'due every 5 ms'
    if ! awk -F , -v now="$now" '$1 < now && $2 >= now { late = 1 } END { exit !late }' log.csv; then
        fail 'no request was sent late, though there are only 4 connections'
    fi
    same_percentiles
    served "$count" /
}

received() # COUNT: connections with something that nginx has not read
{
    [ "$(awk -v port="$(printf ':%04X' "$port")" 'index($2, port) && $5 !~ /:00000000$/ { unread++ }
        END { print unread + 0 }' /proc/net/tcp)" -ge "$1" ]
}

has_logged() # COUNT
{
    [ "$(wc -l <requests)" -ge "$1" ]
}

interrupted()
{
    what='Ctrl-C'
    "$load" 500/s "$url/" 4 3600 times.hgrm log.csv >out 2>err &
    wait_for '100 requests' has_logged 100
    kill -INT $!
    wait_end $! 'it ends'
    ends 0
    counts "$(wc -l <log.csv)" "$(wc -l <log.csv)"
    served "$(wc -l <log.csv)" /
}

mistakes()
{
    run 'no arguments' "$load"
    ends 2
    says err 'usage: load LIMIT http://'
    run 'no such limit' "$load" 100s "$url/"
    ends 2
    says err 'column 4: expected a unit'
    run 'no such scheme' "$load" 100/s "https://127.0.0.1:$port/"
    ends 2
    says err usage
    run 'nobody there' "$load" 100/s "http://127.0.0.1:$(free_port)/" 4 1
    ends 1
    says err 'Connection refused'
    says out '0 requests'
}

# ---- gate.py: the thresholds are such that it does not matter how busy the machine is ----
gate() # WHAT STATUS PATH ARGUMENT...
{
    local path=$3
    what="gate.py, $1"
    yes "$url$path" 2>/dev/null | WEIR=$weir "$gate" "${@:4}" >out 2>err
    status=${PIPESTATUS[1]}
    ends "$2"
}

test_gate()
{
    gate 'all is well' 0 / --p99 60000 --late 60000 -- 500/s --count 200
    json out '.calls == 200 and .failed == 0 and .p99_ms > 0 and .p99_ms <= .max_ms'
    silent err
    served 200 /
    gate 'too late' 1 / --p99 0 --late 60000 -- 500/s --count 50
    says err 'gate: p99 is'
    json out '.calls == 50'
    gate 'errors' 1 /bad --p99 60000 --late 60000 -- 500/s --count 50
    says err 'gate: 50 of 50 calls failed'
    json out '.errors["HTTPError: HTTP Error 503: Service Temporarily Unavailable"] == 50'
    gate 'a busy machine' 2 / --late 0 -- 500/s --count 50
    says err 'gate: not measured'
    what='gate.py, no line'
    WEIR=$weir "$gate" 500/s </dev/null >out 2>err
    status=$?
    ends 2
    says err 'gate: not measured: no line came'
    gate 'no such limit' 2 / -- 500s --count 50
    says err 'weir: '
    weir=$room/nothing gate 'no weir' 1 / -- 500/s
    says err "gate: $room/nothing is not here"
}

if [ -n "$load" ]; then
    test_load
else
    skip_part 'the load generator in C' 'built without http_parser, or without epoll_pwait2' "$build_all"
fi
test_gate
stop "$nginx"
