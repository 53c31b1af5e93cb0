#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tls.sh WEIR: rediss:// to a real engine: by a name and by an address that its certificate has, and by ones that it has
# not, with an authority that nobody trusts, to a port that speaks no TLS, and answers longer than a record.
. "$(dirname "$0")/lib/ask.sh" "$@"
needs openssl
checked=$("$weir" engine check rediss://127.0.0.1:1 2>&1 || true)
if [[ $checked == *'built without'* ]]; then
    skip_test 'libweir-redis is built without TLS' "$build_all"
fi
redis-cli --help >out 2>&1 || true
if ! grep -q -- --tls out; then
    skip_test 'redis-server has no TLS' 'apt-get install redis-server'
fi

# ---- an authority, and certificates of it ----
authority() # NAME
{
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.crt" -days 2 -subj "/CN=$1" >out 2>&1 ||
        fail "no authority $1"
}
certificate() # NAME AUTHORITY SUBJECT_ALTERNATIVE_NAMES
{
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj '/CN=engine' >out 2>&1 &&
        openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.crt" \
            -extfile <(echo "subjectAltName=$3") >out 2>&1 || fail "no certificate $1"
}
authority trusted
authority other
certificate both trusted DNS:localhost,IP:127.0.0.1
certificate named trusted DNS:localhost
certificate foreign other DNS:localhost,IP:127.0.0.1
export SSL_CERT_FILE=$PWD/trusted.crt SSL_CERT_DIR=/nowhere

start_tls() # NAME CERTIFICATE
{
    tls_port=$(free_port)
    start_engine "$1" --tls-port "$tls_port" --tls-cert-file "$PWD/$2.crt" --tls-key-file "$PWD/$2.key" \
        --tls-ca-cert-file "$PWD/trusted.crt" --tls-auth-clients no
}

limit_is() # TEXT
{
    order limit "$1"
    says out 'limit: ok'
}

refused_with() # WORDS URL
{
    open_ask "$2"
    limit_is '1/h burst=5'
    order take tenant
    says out "$1"
    says out 'from away'
    order check
    says out "$1"
    says out 'done -3'
}

start_tls one both
for host in localhost 127.0.0.1; do
    open_ask "rediss://$host:$tls_port"
    limit_is '1/h burst=5'
    order take "$host" 1 6
    { printf 'allow remaining %d from engine\n' 4 3 2 1 0 && echo 'deny remaining 0 from engine'; } >expected
    same out expected
    order batch "$host" 2500 # more than fits into a socket at once
    says out 'engine 2500 away 0 allowed 2500'
    order install
    says out 'done 0'
    order check
    says out 'done 0'
    order tick 3
done
run 'take by TLS' "$weir" take 3/h k --engine "rediss://localhost:$tls_port"
ends 0
what='an engine that is started again'
open_ask "rediss://localhost:$tls_port"
limit_is '1/h burst=5'
order take tenant
kill_engine one
restart_engine one
order take tenant
says out 'allow remaining 4 from engine'
open_ask "rediss://localhost:${engine_port[one]}" deadline=200 # Redis 7 waits for the end of a line, 8 refuses
limit_is '1/h burst=5'
order take tenant
silent_or_refused='no connection within [0-9]+ ms|TLS failed: '
if ! grep -qE "$silent_or_refused" out; then fail 'it does not say what is wrong'; fi
order check
if ! grep -qE "$silent_or_refused" out; then fail 'it does not say what is wrong'; fi
says out 'done -3'

start_tls two named
refused_with 'its certificate is not trusted: IP address mismatch' "rediss://127.0.0.1:$tls_port"
start_tls three foreign
refused_with 'its certificate is not trusted: ' "rediss://localhost:$tls_port"
SSL_CERT_FILE=/nowhere/file
refused_with 'its certificate is not trusted: ' "rediss://localhost:$tls_port"
# ---- an engine that asks for a certificate ----
export SSL_CERT_FILE=$PWD/trusted.crt
certificate client trusted DNS:client
certificate stranger other DNS:client
tls_port=$(free_port)
start_engine four --tls-port "$tls_port" --tls-cert-file "$PWD/both.crt" --tls-key-file "$PWD/both.key" \
    --tls-ca-cert-file "$PWD/trusted.crt" --tls-auth-clients yes
url="rediss://localhost:$tls_port"
client="cert=$PWD/client.crt&key=$PWD/client.key"
SSL_CERT_FILE=/nowhere/file run 'a certificate of ours' \
    "$weir" take 3/h k --engine "$url/0?cacert=$PWD/trusted.crt&$client"
ends 0
run 'engine install' "$weir" engine install "$url?$client"
ends 0
refused_with 'it does not take our certificate (?cert=FILE&key=FILE in the URL): ' "$url"
refused_with 'it does not take our certificate (?cert=FILE&key=FILE in the URL): ' \
    "$url?cert=$PWD/stranger.crt&key=$PWD/stranger.key"
not_read() # WORDS QUERY
{
    run "a file that is wrong: $2" "$weir" take 3/h k --engine "$url?$2"
    ends 2
    says err "$1"
}
not_read "cert /nowhere: no such file" "cert=/nowhere&key=$PWD/client.key"
not_read "key $PWD/both.key: it is not that of cert $PWD/client.crt" "cert=$PWD/client.crt&key=$PWD/both.key"
not_read "cert $PWD/client.key: expected PEM that can be read: no start line" "cert=$PWD/client.key&key=$PWD/client.key"
not_read "cacert $PWD/client.key: expected PEM that can be read: no certificate or crl found" "cacert=$PWD/client.key"
openssl rsa -aes128 -passout pass:secret -in client.key -out locked.key >out 2>&1
not_read "key $PWD/locked.key: " "cert=$PWD/client.crt&key=$PWD/locked.key"
not_read 'cert=FILE and key=FILE belong together' "cert=$PWD/client.crt"
close_ask
echo 'tls: all as expected'
