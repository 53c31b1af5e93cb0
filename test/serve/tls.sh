#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tls.sh WEIR: both protocols under TLS, with a certificate of our own, which is renewed by a reload.
. "$(dirname "$0")/lib/start.sh" "$@"
needs openssl curl

make_certificate() # NAME
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
        -addext 'subjectAltName=IP:127.0.0.1' -keyout key.pem -out certificate.pem 2>/dev/null
}

says_pong() # OPENSSL_ARGUMENT...
{
    local answer
    answer=$(printf 'PING\r\nQUIT\r\n' | timeout "$wait_s" openssl s_client -connect "127.0.0.1:$resp" -quiet \
        -CAfile certificate.pem "$@" 2>err | head -c 7)
    if [ "$answer" != $'+PONG\r' ]; then fail "found $answer"; fi
}

make_certificate first
printf 'listen: {resp: "127.0.0.1:0", http: "127.0.0.1:0", tls: {certificate: %s, key: %s}}\n' \
    "$room/certificate.pem" "$room/key.pem" >weir.yaml
run 'weir serve --check' "$weir" serve weir.yaml --check
if grep -q 'built without OpenSSL' err; then skip_test 'weir serve is built without OpenSSL' "$build_all"; fi
ends 0
start_other weir.yaml
resp=$(sed -n 's/^weir: RESP 127\.0\.0\.1:\([0-9]*\) (TLS).*/\1/p' serve.out)
http=$(sed -n 's|^weir: .*https://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' serve.out)
for version in -tls1_2 -tls1_3; do
    what="RESP $version"
    says_pong "$version"
done
what='RESP -tls1_1'
if printf 'PING\r\nQUIT\r\n' | timeout "$wait_s" openssl s_client -connect "127.0.0.1:$resp" -quiet -tls1_1 2>err |
    grep -q PONG; then
    fail 'an old version is served'
fi
fetch 200 --cacert certificate.pem "https://127.0.0.1:$http/healthz"
fetch 200 --cacert certificate.pem "https://127.0.0.1:$http/" # some 16 KiB records
run 'without TLS' curl -sS "http://127.0.0.1:$http/healthz"
if [ "$status" = 0 ]; then fail 'it is served without'; fi
if ! has_tool redis-cli || ! redis-cli --help 2>&1 | grep -- --tls >/dev/null; then
    skip_part 'redis-cli --tls' 'no redis-cli that speaks TLS is here'
else
    run 'redis-cli --tls' redis-cli --tls --cacert certificate.pem -p "$resp" PING
    echo PONG >expected
    same out expected
fi

# Who ends first is told the end, too: else he could not know that nothing was cut off.
cat >ends.py <<'END'
import socket, ssl, sys
came, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
client = ssl._create_unverified_context().wrap_bio(came, to_send)


def until_done(wire, step, *arguments):
    while True:
        try:
            return step(*arguments)
        except ssl.SSLWantReadError:
            wire.sendall(to_send.read())
            more = wire.recv(65536)
            assert more, 'it closes without a word'
            came.write(more)


with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as wire:
    until_done(wire, client.do_handshake)
    client.write(b'PING\r\n')
    assert until_done(wire, client.read, 7) == b'+PONG\r\n'
    until_done(wire, client.unwrap)
END
run 'the end of a client that ends' /usr/bin/python3 ends.py "$resp"
ends 0

what='another certificate'
cp certificate.pem old.pem
make_certificate second
kill -HUP "$pid"
wait_for 'it is renewed' grep -q 'certificate renewed' serve.out
fetch 200 --cacert certificate.pem "https://127.0.0.1:$http/healthz"

what='a wrong one'
echo nonsense >certificate.pem
kill -HUP "$pid"
wait_for 'it is refused' grep -q 'expected PEM' serve.out
cp certificate.pem wrong.pem
run 'the old one goes on' curl -sS -k "https://127.0.0.1:$http/healthz"
ends 0
clean_end

run 'a wrong one at the start' "$weir" serve weir.yaml
ends 2
says err 'tls: certificate'

# ---- what is missing, and what does not belong together, is said so ----
make_certificate third
cp key.pem third.pem
make_certificate fourth
rm key.pem
run 'no key' "$weir" serve weir.yaml
ends 2
says err "tls: key $room/key.pem: no such file"
cp third.pem key.pem
run "another one's key" "$weir" serve weir.yaml
ends 2
says err "tls: key $room/key.pem: it is not that of certificate $room/certificate.pem"
rm certificate.pem
run 'no certificate' "$weir" serve weir.yaml
ends 2
says err "tls: certificate $room/certificate.pem: no such file"
