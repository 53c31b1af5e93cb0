# SPDX-License-Identifier: MIT
"""fuzz.py RESP_PORT HTTP_PORT SEED ROUNDS: what no honest client sends, and an honest one beside it.

Each round is one connection: requests that are almost right, cut, spliced, repeated and mutated, in one piece or in
fragments, over RESP or HTTP, which is closed, half closed, reset, or left alone.  After every fifty rounds an honest
client asks over both protocols and has to be answered right.
"""
import random
import socket
import struct
import sys

RESP = [
    b"*3\r\n$9\r\nWEIR.TAKE\r\n$4\r\n10/s\r\n$1\r\na\r\n",
    b"WEIR.TAKE '10/s; 1000/h burst=5' key COST 3\r\n",
    b"WEIR.TAKE '1000/min algorithm=sliding-log' k%d COST 100\r\n",
    b"WEIR.TAKE '5/s algorithm=fixed-window align=clock' k PEEK\r\n",
    b"WEIR.CHARGE '100k tokens/min' k 4000\r\n",
    b"WEIR.SETTLE w2600ad0b600cc47fe 3\r\n",
    b"WEIR.FORGET 10/s a\r\n",
    b"WEIR.TAKE '20 concurrent lease=30s; 100 tokens/s' k%d COST requests 1 tokens 812\r\n",
    b"WEIR.RENEW '20 concurrent lease=30s' k 9472837451776\r\n",
    b"WEIR.RELEASE '20 concurrent lease=30s' k 9472837451776\r\n",
    b"CL.THROTTLE user 15 30 60 1\r\n",
    b"CL.THROTTLE k -9223372036854775808 9223372036854775807 1 -1\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    b"HELLO 3 AUTH a b SETNAME c\r\n",
    b"CLIENT SETINFO LIB-NAME x\r\n",
    b"WEIR.LIMIT SET api '5/h algorithm=leaky burst=3'\r\n",
    b"WEIR.LIMIT DEL api\r\n",
    b"WEIR.LIMIT LIST\r\n",
    b"INFO\r\n",
    b"COMMAND DOCS WEIR.TAKE\r\n",
    b"*-1\r\n*0\r\n$-1\r\n",
    b"RESET\r\n",
]
HTTP = [
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /auth?limit=10/s&key=a HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Method: GET\r\n\r\n",
    b"GET /auth HTTP/1.1\r\nHost: localhost\r\nX-Weir-Limit: 1/h\r\nX-Weir-Key: \xff\x00\r\nX-Real-IP: ::1\r\n\r\n",
    b'POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n'
    b'{"limit":"10/s","key":"a","n":1}',
    b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nlimit\r\n0\r\n\r\n",
    b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 20\r\n\r\n"
    b"limit=10%2Fs&key=abc",
    b"GET /metrics HTTP/1.0\r\n\r\n",
    b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"PUT /v1/limits/api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n5/min",
    b"DELETE /v1/limits/api HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /auth?limit=10%2fs&key=%zz%u1234&cost=99999999999999999999 HTTP/1.1\r\nHost: [::1]:1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]
ODD = [b"\r\n", b"\n", b"\0", b"'", b'"', b"\\", b"$", b"*", b"-", b"%", b"/", b";", b" ", b"{", b"}", b":", b"\xff",
       b"99999999999999999999", b"-9223372036854775808", b"18446744073709551615", b"1e308", b"0x7f", b"A" * 2000,
       b"$1000000000\r\n", b"*1000000000\r\n", b"algorithm=", b"burst=", b"Content-Length: -1\r\n", b"\x1b[31m"]


def mutated(pick, pool):
    request = pick.choice(pool)
    if pick.random() < 0.3:
        return request
    request = bytearray(request)
    for _ in range(pick.choice((1, 1, 2, 5, 20))):
        del request[1 << 16:]
        at = pick.randrange(len(request) + 1)
        what = pick.randrange(6)
        if what == 0 and at < len(request):
            request[at] = pick.randrange(256)
        elif what == 1:
            request[at:at] = pick.choice(ODD)
        elif what == 2:
            del request[at:at + pick.choice((1, 2, 10, 100))]
        elif what == 3:
            other = pick.choice(pool)
            request[at:] = other[pick.randrange(len(other)):]
        elif what == 4:
            to = pick.randrange(at, len(request) + 1)
            request[at:at] = request[at:to] * pick.choice((1, 2, 50))
        elif at < len(request):
            request[at] ^= 1 << pick.randrange(8)
    return bytes(request[:1 << 17])


def send(pick, connection, bytes_):
    size = pick.choice((1, 3, 17, 100, 1 << 20)) if len(bytes_) < 2000 else 1 << 20
    for at in range(0, len(bytes_), size):
        connection.sendall(bytes_[at:at + size])


def one_round(pick, ports, open_ones):
    http = pick.random() < 0.5
    connection = socket.create_connection(("127.0.0.1", ports[http]))
    connection.settimeout(0.2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pool = (HTTP if http else RESP) if pick.random() < 0.95 else RESP + HTTP
    try:
        send(pick, connection, b"".join(mutated(pick, pool) for _ in range(pick.choice((1, 1, 2, 8, 100)))))
        end = pick.randrange(5)
        if end == 0:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        elif end == 1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif end == 2:
            open_ones.append(connection)
            if len(open_ones) > 100:
                open_ones.pop(0).close()
            return
        elif end == 3:
            connection.recv(1 << 16)
    except OSError:
        pass  # cut, or slower than we wait
    connection.close()


def honest(ports, number):
    """A connection of its own for each protocol."""
    def answer(port, request, begins):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(request)
            got = connection.recv(1 << 16)
            if not got.startswith(begins):
                sys.exit(f"an honest client sends {request!r} and is answered {got[:200]!r}")
    answer(ports[0], b"WEIR.TAKE 5/h honest%d\r\n" % number, b"*8\r\n$5\r\nallow\r\n:0\r\n:4\r\n")
    answer(ports[1], b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200 ")


def main():
    ports = int(sys.argv[1]), int(sys.argv[2])
    seed, rounds = int(sys.argv[3]), int(sys.argv[4])
    print(f"seed {seed}, {rounds} rounds", flush=True)
    pick, open_ones = random.Random(seed), []
    for number in range(rounds):
        one_round(pick, ports, open_ones)
        if number % 50 == 49:
            honest(ports, number)


main()
