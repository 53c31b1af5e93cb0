# SPDX-License-Identifier: MIT
# faults.py CASE RESP HTTP PID [ARGUMENT...]: what a service meets from outside, one case at a time.  Exit status 1: it
# failed.  The figures printed (memory, counts) are for who reads the log; what must hold is asserted.  How large memory
# may be is not asserted where MEMORY=any: a build with sanitizers has much of its own.
import os
import random
import re
import signal
import socket
import sys
import threading
import time

CASE, RESP, HTTP, PID = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
PATIENCE = 60
ANSWER = re.compile(rb"\*8\r\n\$\d+\r\n\w+\r\n(:-?\d+\r\n){5}\$(-1|\d+\r\n[^\r\n]+)\r\n:0\r\n")


def check(right, words):
    if not right:
        print(f"FAILED: {CASE}: {words}")
        sys.exit(1)


def check_memory(grown_kib, most_kib):
    print(f"{CASE}: memory grew by {grown_kib} KiB")
    check(os.environ.get("MEMORY") == "any" or grown_kib <= most_kib, f"memory grew by more than {most_kib} KiB")


def rss_kib():
    with open(f"/proc/{PID}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def connect(port=None):
    client = socket.create_connection(("127.0.0.1", port or RESP), timeout=PATIENCE)
    client.settimeout(PATIENCE)
    return client


def until_closed(client):
    """All that still comes; closing with a reset counts as closed."""
    got = b""
    try:
        while True:
            more = client.recv(1 << 16)
            if not more:
                return got
            got += more
    except ConnectionError:
        return got


def still_answers():
    client = connect()
    client.sendall(b"PING\r\n")
    check(client.recv(100) == b"+PONG\r\n", "it does not answer any more")
    client.close()
    client = connect(HTTP)
    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    check(until_closed(client).startswith(b"HTTP/1.1 200 "), "HTTP does not answer any more")
    client.close()


def take(limit, key):
    parts = [b"WEIR.TAKE", limit, key]
    return b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


# ---- many ----
def crowd():
    """As many connections as the arguments say, all open at once, each with a question; and then none of them."""
    wanted = int(sys.argv[5])
    before = rss_kib()
    clients = [connect() for _ in range(wanted)]
    for client in clients:
        client.sendall(b"PING\r\n")
    for client in clients:
        check(client.recv(100) == b"+PONG\r\n", "one of them gets no answer")
    print(f"{wanted} connections: {(rss_kib() - before) * 1024 // wanted} bytes each, {rss_kib()} KiB in all")
    check_memory(rss_kib() - before, 4 * 1024 + wanted)
    for number, client in enumerate(clients):
        client.sendall(take(b"10/s burst=20", b"client:%d" % number))
    for client in clients:
        answer = client.recv(4096)
        check(answer.startswith(b"*8\r\n$5\r\nallow\r\n"), f"an answer is {answer[:60]!r}")
    print(f"and a key each: {(rss_kib() - before) * 1024 // wanted} bytes each, {rss_kib()} KiB in all")
    check_memory(rss_kib() - before, 64 * 1024 + 4 * wanted)
    for client in clients:
        client.close()
    wait_until(lambda: metric(b"weir_connections") == 1, "connections are there when all have gone")


def page(path):
    client = connect(HTTP)
    client.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
    got = until_closed(client)
    client.close()
    return got


def metric(name):
    found = re.search(rb"^%s (\d+)" % name, page("/metrics"), re.MULTILINE)
    check(found is not None, f"no {name} in /metrics")
    return int(found[1])


def wait_until(condition, words):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, words)
        time.sleep(0.05)


def too_many():
    """Beyond connections: 16 it says so and closes; those that are there go on."""
    clients = [connect() for _ in range(16)]
    for client in clients:
        client.sendall(b"PING\r\n")
        check(client.recv(100) == b"+PONG\r\n", "one of those that may be there gets no answer")
    beyond = connect()
    said = until_closed(beyond)
    check(b"max number of clients" in said, f"the one beyond is told {said!r}")
    clients[0].close()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        late = connect()
        late.sendall(b"PING\r\n")
        try:
            if late.recv(100) == b"+PONG\r\n":
                break
        except ConnectionError:
            pass
        late.close()
        time.sleep(0.05)
    else:
        check(False, "a place that was left stays empty")


# ---- rude ----
def garbage():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    words = [b"*3\r\n", b"$-7\r\n", b"$99999999999\r\n", b"\r\n", b"\0\xff\xfe", b"PING", b"HELLO 3\r\n",
             b"GET / HTTP/1.1\r\n", b"Content-Length: 10\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"{\"limit\":",
             b"*1000000\r\n", b"\"'", take(b"1/s", b"k"), b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\n"]
    for _ in range(400):
        client = connect(dice.choice([RESP, HTTP]))
        try:
            for _ in range(dice.randrange(1, 40)):
                some = dice.choice(words) if dice.random() < 0.7 else dice.randbytes(dice.randrange(1, 300))
                client.sendall(some)
            client.shutdown(socket.SHUT_WR)
            until_closed(client)
        except OSError:
            pass
        client.close()
    still_answers()


def half_closed():
    """Who has said all he wants to say still gets every answer."""
    client = connect()
    client.sendall(take(b"1000000/s", b"half") * 3000)
    client.shutdown(socket.SHUT_WR)
    check(until_closed(client).count(b"*8\r\n") == 3000, "answers are missing")
    client = connect(HTTP)
    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    client.shutdown(socket.SHUT_WR)
    check(until_closed(client).count(b"HTTP/1.1 200 ") == 100, "answers of HTTP are missing")


def oversize():
    before = rss_kib()
    for port, sent, said in [
        (RESP, b"*2\r\n$4\r\nPING\r\n$100000000\r\n" + b"x" * (1 << 20), b"-ERR Protocol error"),
        (RESP, b"*100000\r\n" + b"$1\r\nx\r\n" * 1000, b"-ERR Protocol error"),
        (RESP, b"PING " + b"x" * (1 << 20), b"-ERR Protocol error"),
        (HTTP, b"GET /" + b"x" * (1 << 20), b"HTTP/1.1 4"),
        (HTTP, b"GET / HTTP/1.1\r\n" + b"X-Filler: y\r\n" * 100000, b"HTTP/1.1 431 "),
        (HTTP, b"POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n", b"HTTP/1.1 413 "),
    ]:
        client = connect(port)
        try:
            client.sendall(sent)
        except ConnectionError:
            pass
        got = until_closed(client)
        # A reset may overtake the words; then there is nothing to look at.
        check(got == b"" or said in got, f"{sent[:30]!r} is answered by {got[:80]!r}")
    still_answers()
    check_memory(rss_kib() - before, 32 * 1024)


def slow_reader():
    """Asks for a gigabyte of answers and reads none: is cut, and nothing is kept for it."""
    before, most = rss_kib(), 0
    client = connect()
    client.setblocking(False)
    question = take(b"1000000000/s", b"slow") * 1000
    end = time.monotonic() + PATIENCE
    cut = False
    while not cut and time.monotonic() < end:
        try:
            client.send(question)
        except BlockingIOError:
            time.sleep(0.05)
        except ConnectionError:
            cut = True
        most = max(most, rss_kib())
    check(cut, "it is not cut")
    check_memory(most - before, 32 * 1024)
    wait_until(lambda: b", 1 did not read their responses; " in page("/v1/stats"), "it is not told of")
    nothing = rb"0 sent no whole request within \d+ s, 0 did not read their responses; refused: 0 over"
    check(re.search(nothing, page("/v1/stats")) is None, "nothing is told of, too")
    still_answers()


def late_reader():
    """Asks until the service takes no more, and reads nothing before: then it gets every answer, and may go on so."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", RESP))
    number = 0
    for _ in range(3):
        asked, expected, handled = b"", b"", -1
        client.setblocking(False)
        while True:
            if not asked:
                words = [b"$120\r\n%0120d\r\n" % (number + i) for i in range(1000)]
                asked = b"".join(b"*2\r\n$4\r\nECHO\r\n" + word for word in words)
                expected += b"".join(words)
                number += 1000
            try:
                asked = asked[client.send(asked):]
            except BlockingIOError:
                before, handled = handled, metric(b'weir_requests_total{protocol="resp"}')
                if before == handled:
                    break
        client.settimeout(PATIENCE)
        sender = threading.Thread(target=client.sendall, args=(asked,))
        sender.start()
        got = bytearray()
        while len(got) < len(expected):
            more = client.recv(1 << 16)
            check(more != b"", f"it is closed after {len(got)} bytes of {len(expected)}")
            got += more
        sender.join()
        check(got == expected, "the answers are not those to what was asked")
    client.close()
    still_answers()


def slow_crowd():
    """Four hundred that ask for more than their sockets hold and read nothing: what all of them have pending together
    is bounded, and others are served.  Over a Unix socket, whose buffers are small."""
    before, most, cut = rss_kib(), 0, metric(b'weir_connections_closed_total{reason="dropped"}')
    clients = [socket.socket(socket.AF_UNIX) for _ in range(400)]
    for client in clients:
        client.connect(sys.argv[5])
        client.setblocking(False)
    for _ in range(4):
        for client in clients:
            try:
                client.send(b"INFO\r\n" * 1200)
            except OSError:
                pass  # its socket is full, or it is one of those that are cut
        still_answers()
        most = max(most, rss_kib())
    check_memory(most - before, 96 * 1024)
    wait_until(lambda: metric(b'weir_connections_closed_total{reason="dropped"}') > cut, "none of them is cut")
    still_answers()


def unfinished():
    """1,200 that send most of a large request and then nothing: as many are kept as memory is given to all together,
    the others are cut, and who has sent a small beginning is served when the rest comes."""
    begin, rest = b"*2\r\n$4\r\nECHO\r\n$4000\r\n" + b"x" * 3000, b"x" * 1000 + b"\r\n"
    before, received = rss_kib(), metric(b"weir_received_bytes_total")
    cut = metric(b'weir_connections_closed_total{reason="dropped"}')
    clients = [socket.socket(socket.AF_UNIX) for _ in range(1200)]
    for client in clients:
        client.connect(sys.argv[5])
        try:
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$65000\r\n" + b"x" * 60000)
        except ConnectionError:
            pass  # it is one of those that are cut
    wait_until(lambda: metric(b'weir_connections_closed_total{reason="dropped"}') > cut
               or metric(b"weir_received_bytes_total") - received > 1200 * 60000, "it does not read all")
    small = [connect() for _ in range(30)]
    for client in small:
        client.sendall(begin)
    still_answers()
    grown = rss_kib() - before
    for client in small:
        client.sendall(rest)
        check(client.recv(100).startswith(b"$4000\r\nx"), "a small request does not get through")
    cut = metric(b'weir_connections_closed_total{reason="dropped"}') - cut
    print(f"{cut} of {len(clients)} are cut")
    check_memory(grown, 96 * 1024)
    check(cut > 0, "none of them is cut")


# ---- under load ----
class Load(threading.Thread):
    """Asks in packets of a hundred, one after the other, and counts the answers."""

    def __init__(self, limit, key):
        super().__init__()
        self.limit, self.key = limit, key
        self.allowed = self.denied = self.lost = 0
        self.problem = None
        self.stop = False

    def run(self):
        question, got = take(self.limit, self.key) * 100, b""
        try:
            client = connect()
            while not self.stop:
                client.sendall(question)
                got = b""
                while not is_hundred(got):
                    more = client.recv(1 << 16)
                    if not more:
                        raise ConnectionError("closed")
                    got += more
                    if b"-ERR" in got or b"LIMIT" in got:
                        self.problem = got[:200]
                        return
                self.count(got)
                got = b""
        except OSError as problem:
            self.lost, self.problem = 100 - self.count(got), problem

    def count(self, got):
        """Returns how many verdicts there are; an answer may be cut off before its own."""
        allowed, denied = got.count(b"$5\r\nallow\r\n"), got.count(b"$4\r\ndeny\r\n")
        self.allowed += allowed
        self.denied += denied
        return allowed + denied


def is_hundred(got):
    return got.count(b"*8\r\n") == 100 and ANSWER.fullmatch(got, got.rindex(b"*8\r\n")) is not None


def start_loads(limit):
    loads = [Load(limit, b"everybody") for _ in range(2)]
    for load in loads:
        load.start()
    for load in loads:
        wait_until(lambda load=load: not load.is_alive() or load.allowed + load.denied != 0, "nothing is answered")
    return loads


def times_read(log):
    with open(log) as file:
        words = file.read()
    return words.count(" reloaded: "), words.count("the limits are unchanged")


def reloads():
    """The file is written anew and SIGHUP sent until that has been told, many times, every third time a bad one:
    clients notice nothing, and nobody gets a permit more: the limit has 1,000 a year however often it is read."""
    path, log, turns = sys.argv[5], sys.argv[6], int(sys.argv[7])
    texts = ("1000/year'}", "1000/year burst=1000'}, more: {limit: 1/s}", "1000/'}")
    good, other, bad = ("limits: {quota: {limit: '%s}\n" % text for text in texts)
    loads = start_loads(b"quota")
    for turn in range(turns):
        with open(path + ".new", "w") as file:
            file.write([good, other, bad][turn % 3])
        os.replace(path + ".new", path)
        told, end = sum(times_read(log)), time.monotonic() + PATIENCE
        os.kill(PID, signal.SIGHUP)
        while sum(times_read(log)) == told:
            check(time.monotonic() < end, f"reload {turn} is not told")
            time.sleep(0.0005)
    wait_until(lambda: any(load.denied != 0 for load in loads), "nobody is refused")
    for load in loads:
        load.stop = True
    for load in loads:
        load.join()
        check(load.problem is None, f"a client was told {load.problem!r}")
    allowed = sum(load.allowed for load in loads)
    read, refused = times_read(log)
    print(f"{read} read, {refused} refused; {allowed} allowed, {sum(load.denied for load in loads)} denied")
    check(read >= turns * 0.6 and refused >= turns * 0.3, "there were not so many")
    check(allowed == 1000, f"{allowed} were allowed, not 1000")
    still_answers()


def load_until_killed():
    """Prints how many were allowed until the service went away, and how many answers were still to come."""
    loads = start_loads(sys.argv[5].encode())
    time.sleep(random.uniform(0, 0.2))
    os.kill(PID, signal.SIGKILL)
    for load in loads:
        load.join()
    print(sum(load.allowed for load in loads), sum(load.lost for load in loads))


def left():
    """Prints how many permits are left."""
    client = connect()
    client.sendall(take(sys.argv[5].encode(), b"everybody").replace(b"*3", b"*4", 1) + b"$4\r\nPEEK\r\n")
    got = b""
    while ANSWER.fullmatch(got) is None:
        more = client.recv(4096)
        check(more != b"", f"closed after {got!r}")
        got += more
    # A peek answers what a take would have left: one less than there is.
    print(int(got.split(b"\r\n:")[2].split(b"\r\n")[0]) + 1 if b"allow" in got else 0)


globals()[CASE]()
