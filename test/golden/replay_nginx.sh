#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay_nginx.sh WEIR: a real nginx says in its log what its limit_req would have done; weir replay says the same.
#
# nginx is started here, with its limits in dry run, and gets requests; its log is replayed with the same limits.  Only
# verdicts that nginx logged are compared, so how fast this machine is does not matter.  nginx_verdicts.py explains
# every difference, or fails.
. "$(dirname "$0")/lib/check.sh" "$@"
PATH=$PATH:/usr/sbin:/sbin
needs python3 jq gzip nginx
seed=${WEIR_SEED:-$RANDOM}
seconds=${WEIR_SECONDS:-12}
held_max=3
echo "seed $seed (again: WEIR_SEED=$seed)"

# ---- nginx ----
locations=(nodelay delays mixed minute single address)
declare -A limit=(
    [nodelay]='10r/s burst=20 nodelay'
    [delays]='2r/s burst=20'
    [mixed]='2r/s burst=20 delay=8'
    [minute]='60r/m burst=5 nodelay'
    [single]='2r/s'
    [address]='5r/s burst=20 nodelay'
)
declare -A traffic=([nodelay]=10 [delays]=2 [mixed]=2 [minute]=1 [single]=2 [address]=5)
log_format='$remote_addr [$msec] $request_time $limit_req_status "$http_x_client" $status'
body=$(printf '%03000d' 0)

# limit_req comes before try_files, and behind return.
location() # NAME
{
    local words=(${limit[$1]})
    cat <<END
        location = /$1 {
            limit_req zone=$1 ${words[*]:1};
            try_files /none @$1;
        }
        location @$1 {
            access_log $room/$1.log verdicts;
            access_log $room/$1.combined.log combined;
            access_log $room/$1.json.log object;
            limit_rate \$bytes_a_second;
            if (\$bytes_a_second) { return 200 $body; }
            return 204;
        }
END
}

configuration() # PORT
{
    local name
    cat <<END
daemon off;
worker_processes 1;
pid $room/pid;
error_log $room/error.log notice;
events { worker_connections 4000; }
http {
    client_body_temp_path $room/body;
    proxy_temp_path $room/proxy;
    fastcgi_temp_path $room/fastcgi;
    uwsgi_temp_path $room/uwsgi;
    scgi_temp_path $room/scgi;
    access_log off;
    root /dev/null;
    keepalive_requests 1000000;
    limit_req_dry_run on;
    limit_req_log_level info;
    map \$http_x_bytes_a_second \$bytes_a_second { default \$http_x_bytes_a_second; "" 0; }
    log_format verdicts '$log_format';
    log_format object escape=json '{"msec":\$msec,"request_time":\$request_time,"client":"\$http_x_client",'
        '"agent":"\$http_user_agent","verdict":"\$limit_req_status"}';
END
    for name in "${locations[@]}"; do
        local key='$http_x_client' rate=${limit[$name]%% *}
        if [ "$name" = address ]; then key='$binary_remote_addr'; fi
        echo "    limit_req_zone $key zone=$name:4m rate=$rate;"
    done
    echo "    server { listen 127.0.0.1:$1;"
    for name in "${locations[@]}"; do location "$name"; done
    echo '    }'
    echo '}'
}

free_port()
{
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# nginx writes its pid once it listens.  Somebody else may have been faster to take the port.
start_nginx()
{
    local turn
    for turn in {1..5}; do
        port=$(free_port)
        configuration "$port" >nginx.conf
        nginx -p "$room" -e "$room/error.log" -c "$room/nginx.conf" >out 2>err &
        nginx=$!
        while kill -0 "$nginx" 2>/dev/null && [ ! -s pid ]; do sleep 0.05; done
        if [ -s pid ]; then return; fi
        wait "$nginx"
        if ! grep -q 'Address already in use' error.log; then break; fi
    done
    cat error.log >>err
    fail 'nginx does not start'
}

# Returns once the last line is in the logs.
stop_nginx()
{
    kill -QUIT "$nginx"
    wait "$nginx"
    nginx=
}

# The two clocks that nginx reads stay as far apart as they are, until somebody sets one of them.
ms_apart()
{
    python3 -c 'import time; print(round((time.time_ns() - time.monotonic_ns()) / 1e6))'
}

nginx=
what='nginx and its traffic'
trap 'if [ -n "$nginx" ]; then kill "$nginx" && wait "$nginx"; fi; rm -rf "$room"' EXIT
before=$(ms_apart)
start_nginx
shares=()
for name in "${locations[@]}"; do shares+=("$name=${traffic[$name]}"); done
python3 "$lib/nginx_traffic.py" "$port" "$seed" "$seconds" "${shares[@]}" >out 2>err || fail 'the requests failed'
sent=$(cat out)
stop_nginx
if grep -E '\[(warn|error|crit|alert|emerg)\]' error.log >err; then fail 'nginx complains'; fi
moved=$(($(ms_apart) - before))
if [ "${moved#-}" -gt 2 ]; then skip_test "the wall clock was set by about $moved ms while this ran" 'run it again'; fi
if [ "$(cat "${locations[@]/%/.log}" | wc -l)" != "$sent" ]; then fail "not $sent lines in the logs"; fi

# ---- its verdicts and weir's ----
lines=0 differ=0 unexplained=0 held=0
compare() # NAME
{
    local key=http_x_client total
    if [ "$1" = address ]; then key=remote_addr; fi
    run "$1: ${limit[$1]}" "$weir" replay "${limit[$1]}" --key "$key" --format "$log_format" --each "$1.log"
    ends 0
    silent err
    mv out each
    python3 "$lib/nginx_verdicts.py" "${limit[$1]}" "$1.log" each >out 2>err || fail 'the comparison failed'
    total=($(tail -n 1 out))
    echo "$what: $((total[1] - total[3])) of ${total[1]} verdicts agree"
    sed '$d' out
    for verdict in PASSED REJECTED_DRY_RUN; do
        if ! grep -qF " $verdict " "$1.log"; then fail "nothing was $verdict: this shows nothing"; fi
    done
    if [[ ${limit[$1]} == *burst* && ${limit[$1]} != *nodelay* ]] && ! grep -qF ' DELAYED_DRY_RUN ' "$1.log"; then
        fail 'nothing was delayed: this shows nothing'
    fi
    lines=$((lines + total[1])) differ=$((differ + total[3]))
    unexplained=$((unexplained + total[5])) held=$((held + total[7]))
}

for name in "${locations[@]}"; do compare "$name"; done
what='all limits'
echo "$what: $lines verdicts, $differ differ, $unexplained of them not explained, $held where nginx was held up"
if [ "$unexplained" != 0 ]; then fail "$unexplained verdicts that nobody can explain"; fi
if [ "$held" -gt "$held_max" ]; then fail "nginx cannot have been held up $held times between its two clocks"; fi
if [ $((differ * 1000)) -gt "$lines" ]; then fail 'less than 99.9 % agree'; fi

# ---- the same log as JSON, and packed ----
run 'as JSON lines' "$weir" replay "${limit[nodelay]}" --key client --format json --each nodelay.json.log
ends 0
silent err
mv out each
"$weir" replay "${limit[nodelay]}" --key http_x_client --format "$log_format" --each nodelay.log >out
same out each
gzip nodelay.json.log
run 'as packed JSON lines' "$weir" replay "${limit[nodelay]}" --key client --format json --each nodelay.json.log.gz
ends 0
same out each

# ---- whole seconds ----
# Each of them came somewhere in its second.  That is worth no more than a second's leak more or less of burst, so with
# those the count has to lie on either side of nginx's.  What weir prints is an estimate, and need not.
run 'combined log' "$weir" replay "${limit[address]}" --or '5r/s burst=15 nodelay' --or '5r/s burst=25 nodelay' --json \
    address.combined.log
ends 0
silent err
truly=$(grep -c ' REJECTED_DRY_RUN ' address.log)
jq -r --arg truly "$truly" '.limits | "combined log: nginx refused \($truly); weir says " +
    "\(.[0] | [.denied_spread, .denied] | sort | join(" to ")); it cannot be outside " +
    "\(.[2].denied) to \(.[1].denied)"' out
json out ".limits | .[2].denied <= $truly and $truly <= .[1].denied"
json out '.limits | .[2].denied <= .[0].denied and .[0].denied <= .[1].denied'
