# SPDX-License-Identifier: MIT
# peers.sh, sourced from the top of the tree by what compares load generators: the server that they load, and those of
# them that are built here, into $peers.  $work is a folder for files that go away.
peers=bench/stall/target
vegeta_version=v12.13.0 k6_version=v1.8.1
nginx= worker= missing=()
PATH=$PATH:/usr/sbin:/usr/local/go/bin

needs_nginx() # WHO
{
    if command -v nginx >/dev/null; then return; fi
    echo "skipped: $1: no nginx; cure: tools/deps test"
    exit 77
}

# What cannot be built is named in $missing.
install_peers()
{
    mkdir -p $peers
    install_peer vegeta github.com/tsenart/vegeta/v12@$vegeta_version
    install_peer k6 go.k6.io/k6@$k6_version
}

install_peer() # NAME MODULE
{
    if command -v go >/dev/null && GOBIN=$PWD/$peers go install "$2" >"$work/go" 2>&1; then return; fi
    rm -f "$peers/$1"
    missing+=("$1: $2 cannot be built: $(command -v go >/dev/null || echo 'no go'; tail -n 1 "$work/go" 2>/dev/null)")
}

# One worker, on a free port: $port, $nginx and $worker.  Somebody else may be faster to take the port.
start_nginx() # [LINE]: of the configuration, about what it logs
{
    for _ in {1..5}; do
        port=$((20000 + RANDOM % 12000))
        cat >"$work/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $work/pid; error_log $work/error.log notice;
events { worker_connections 4096; }
http {
    ${1-access_log off;} keepalive_requests 100000000; client_body_temp_path $work/request;
    proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi; uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    server { listen 127.0.0.1:$port backlog=4096; location / { return 204; } }
}
CONF
        nginx -p "$work" -e "$work/error.log" -c "$work/nginx.conf" &
        nginx=$!
        for _ in {1..50}; do
            sleep 0.1
            worker=$(ps -o pid= --ppid "$nginx" | head -n 1 | tr -d ' ') || true
            if [ -n "$worker" ] && [ -s "$work/pid" ]; then return; fi
            if ! kill -0 "$nginx" 2>/dev/null; then break; fi
        done
    done
    cat "$work/error.log" >&2
    exit 1
}

# The server stands still meanwhile, for so many seconds, so many after the command has begun.
stalled() # BEFORE FOR COMMAND...
{
    local stopper status=0 before=$1 stall=$2
    shift 2
    (
        sleep "$before"
        kill -STOP "$worker"
        sleep "$stall"
        kill -CONT "$worker"
    ) &
    stopper=$!
    "$@" || status=$?
    wait "$stopper"
    return $status
}

leave()
{
    if [ -n "$worker" ]; then kill -CONT "$worker" 2>/dev/null || true; fi
    if [ -n "$nginx" ]; then kill "$nginx" 2>/dev/null && wait "$nginx" || true; fi
    rm -rf "$work"
}
trap leave EXIT
