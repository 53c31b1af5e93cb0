# SPDX-License-Identifier: MIT
# nginx.sh, sourced behind start.sh: a real nginx with one of the examples, on free ports.
needs nginx
if ! nginx -V 2>&1 | grep -q http_auth_request_module; then
    skip_test 'this nginx has no auth_request' 'apt-get install nginx-light'
fi

nginx_has_started()
{
    [ -s pid ] || has_ended "$nginx"
}

# The example as it is, but for ports, places of files, the patience with a busy machine, and what the test changes.
# Somebody else may have been faster to take a port.  $port, $nginx
start_nginx() # EXAMPLE SED_ARGUMENT...
{
    local example=$1
    shift
    what=nginx
    for _ in {1..5}; do
        port=$(free_port)
        sed -e "s/127\.0\.0\.1:8080/127.0.0.1:$port/; s/127\.0\.0\.1:8081/127.0.0.1:$(free_port)/" \
            -e 's/proxy_\(connect\|read\)_timeout .*/proxy_\1_timeout 30s;/' \
            -e "s|^pid [^;]*;|pid $room/pid; error_log $room/error.log notice;|" \
            -e "s|^http {|http { client_body_temp_path $room/request; proxy_temp_path $room/proxy; \\
                fastcgi_temp_path $room/fastcgi; uwsgi_temp_path $room/uwsgi; scgi_temp_path $room/scgi;|" \
            "$@" "$examples/$example" >nginx.conf
        nginx -p "$room" -e "$room/error.log" -c "$room/nginx.conf" >out 2>err &
        nginx=$!
        wait_for 'nginx starts' nginx_has_started
        if [ -s pid ]; then
            depends_on "$nginx" nginx "$room/error.log"
            return
        fi
        if ! grep -q 'Address already in use' error.log; then break; fi
    done
    cat error.log >>err
    fail 'it does not start'
}
