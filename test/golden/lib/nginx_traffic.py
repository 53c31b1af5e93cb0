#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nginx_traffic.py PORT SEED SECONDS LOCATION=REQUESTS_A_SECOND...

Sends HTTP/1.1 requests to 127.0.0.1:PORT and reads all answers.  Each location gets, around the rate of its limit:

    steady-N   half of the rate, evenly: never refused
    burst-N    20 to 45 at the same moment and then silence, half of them in one piece on one connection
    lump-N     26 over a second, and then silence
    brim-N     half again the rate, at random: most of the time its bucket is full
    slow-N     the rate, at random, some in pairs, and the answers take seconds: lines stand far behind

The client is the header X-Client, and an address of its own in 127/8 for the location /address.  When a request is
sent depends on how busy the machine is; nobody needs it to be on time, since only what the server logs is looked at."""
import random
import socket
import sys
import threading
import time

WORKERS = 6
SLOW_BYTES_A_SECOND = (800, 1300, 2200)  # of 3000: one to four seconds
PAIRS = 0.04
CLASSES = {"steady": 40, "burst": 30, "lump": 8, "brim": 1, "slow": 2}
PAUSE_S = (2.5, 5.0)  # between two bursts


def address_of(name):
    kind, number = name.split("-")
    return "127.%d.0.%d" % (list(CLASSES).index(kind) + 1, int(number) + 1)


# ---- when who sends how many: (moment, client, requests in one piece) ----

def poisson(rng, rate, seconds):
    now = rng.expovariate(rate)
    while now < seconds:
        yield now
        now += rng.expovariate(rate)


def pauses(rng, seconds):
    now = rng.uniform(0, PAUSE_S[1])
    while now < seconds:
        yield now
        now += rng.uniform(*PAUSE_S)


def moments(rng, kind, rate, seconds):
    if kind == "steady":
        gap = 2 / rate
        first = rng.uniform(0, gap)
        return [(first + i * gap, 1) for i in range(int((seconds - first) / gap) + 1)]
    if kind == "burst":
        sizes = [(now, rng.randint(20, 45), rng.random() < 0.5) for now in pauses(rng, seconds)]
        return [one for now, size, whole in sizes for one in ([(now, size)] if whole else [(now, 1)] * size)]
    if kind == "lump":
        return [(now + i / 26, 1) for now in pauses(rng, seconds) for i in range(26)]
    if kind == "slow":
        return [(now, 1) for now in poisson(rng, rate, seconds) for _ in range(1 + (rng.random() < PAIRS))]
    return [(now, 1) for now in poisson(rng, rate * 1.5, seconds)]


def schedule(rng, location, rate, seconds):
    for kind, clients in CLASSES.items():
        for number in range(clients):
            for moment, count in moments(rng, kind, rate, seconds):
                yield moment, location, "%s-%d" % (kind, number), count


# ---- sending ----

class Connections:
    def __init__(self, port, rng):
        self.port, self.rng, self.open, self.pending = port, rng, {}, []

    def connect(self, name, location):
        source = address_of(name) if location == "address" else "127.0.0.1"
        return socket.create_connection(("127.0.0.1", self.port), timeout=120, source_address=(source, 0))

    def request(self, location, name, more):
        return ("GET /%s HTTP/1.1\r\nHost: test\r\nX-Client: %s\r\n%s\r\n" % (location, name, more)).encode()

    def send(self, location, name, count):
        if name.startswith("slow"):
            slow = "X-Bytes-A-Second: %d\r\nConnection: close\r\n" % self.rng.choice(SLOW_BYTES_A_SECOND)
            self.pending.append(self.connect(name, location))
            self.pending[-1].sendall(self.request(location, name, slow))
            return
        where = (location, name) if location == "address" else None
        if where not in self.open:
            self.open[where] = self.connect(name, location)
        self.open[where].sendall(self.request(location, name, "") * count)
        self.read(self.open[where], count)

    @staticmethod
    def read(connection, count):
        """An answer that is not slow has no body (204)."""
        found = b""
        while found.count(b"\r\n\r\n") < count:
            piece = connection.recv(1 << 16)
            if not piece:
                raise ConnectionError("closed behind %d of %d answers" % (found.count(b"\r\n\r\n"), count))
            found += piece
        if not found.startswith(b"HTTP/1.1 204 "):
            raise ValueError("an answer begins with %r" % found[:40])

    def finish(self):
        for connection in self.pending:
            while connection.recv(1 << 16):
                pass
            connection.close()
        for connection in self.open.values():
            connection.close()


def work(connections, events, began, failures):
    try:
        for moment, location, name, count in events:
            time.sleep(max(0.0, began + moment - time.monotonic()))
            connections.send(location, name, count)
        connections.finish()
    except Exception as problem:  # whatever it is, the test has to hear of it
        failures.append(problem)


def main():
    port, seed, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    rng = random.Random(seed)
    shares, failures = [[] for _ in range(WORKERS)], []
    for word in sys.argv[4:]:
        location, rate = word.split("=")
        for event in schedule(rng, location, float(rate), seconds):
            rng.choice(shares).append(event)
    began = time.monotonic()
    threads = [threading.Thread(target=work, args=(Connections(port, random.Random(rng.random())), sorted(share), began,
                                                  failures)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(event[3] for share in shares for event in share))
    if failures:
        sys.exit("nginx_traffic: %s" % failures[0])


main()
