#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wire.py WHAT ADDRESS [ARGUMENT]...: a client of `weir serve` that behaves badly, or looks closely.

ADDRESS is a port of 127.0.0.1, or the path of a Unix socket.  Nothing here asserts how long something took: what is
waited for is waited for a minute."""
import os
import signal
import socket
import sys
import time

PATIENCE_S = 60
PING, PONG = b"PING\r\n", b"+PONG\r\n"


def connect(address):
    if address.startswith("/"):
        one = socket.socket(socket.AF_UNIX)
        one.connect(address)
    else:
        one = socket.create_connection(("127.0.0.1", int(address)))
    one.settimeout(PATIENCE_S)
    return one


def read_all(one):
    """Until the other side closes; a reset is an end, too."""
    parts = []
    while True:
        try:
            part = one.recv(1 << 16)
        except ConnectionResetError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


def read(one, size):
    got = b""
    while len(got) < size:
        part = one.recv(size - len(got))
        if not part:
            break
        got += part
    return got


def expect(found, expected, what):
    if found != expected:
        sys.exit("%s: found %r, expected %r" % (what, found[:200], expected[:200]))


def is_served(one, what):
    one.sendall(PING)
    expect(read(one, len(PONG)), PONG, what)


def half(address):
    """Half-closed: what came is answered, and then it ends."""
    one = connect(address)
    one.sendall(PING * 1000 + b"PI")
    one.shutdown(socket.SHUT_WR)
    expect(read_all(one), PONG * 1000, "a thousand answers and the end")


def bytewise(address):
    one = connect(address)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in b"*1\r\n$4\r\nPING\r\n" * 3:
        one.sendall(bytes([byte]))
        time.sleep(0.001)
    expect(read(one, 3 * len(PONG)), PONG * 3, "three answers")


def foreign(address):
    """A browser that was sent here by a page of somebody else's."""
    for request in (b"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", b"Host: x\r\nPING\r\n"):
        one = connect(address)
        one.sendall(request)
        expect(read_all(one), b"", "closed without a word")


def loris(address):
    """Clients that never end their request are cut, and others are served meanwhile."""
    good, slow = connect(address), [connect(address) for _ in range(50)]
    for one in slow:
        one.sendall(b"*3\r\n$9\r\nWEIR.TAK")
        one.setblocking(False)
    end = time.monotonic() + PATIENCE_S
    while slow:
        if time.monotonic() > end:
            sys.exit("%d are still there" % len(slow))
        is_served(good, "another client")
        time.sleep(0.2)
        for one in list(slow):
            try:
                one.sendall(b"*" if one is slow[0] else b"")  # this one goes on, a byte at a time
                if one.recv(100) == b"":
                    slow.remove(one)
            except BlockingIOError:
                pass
            except (ConnectionResetError, BrokenPipeError):
                slow.remove(one)
    is_served(good, "another client")


def idle(address):
    """Who says nothing any more is let go, and who does stays."""
    good, silent = connect(address), connect(address)
    is_served(silent, "at first")
    silent.setblocking(False)
    end = time.monotonic() + PATIENCE_S
    while True:
        is_served(good, "who goes on")
        time.sleep(0.1)
        try:
            expect(silent.recv(100), b"", "the end")
            break
        except BlockingIOError:
            if time.monotonic() > end:
                sys.exit("it is still there")
    is_served(good, "who goes on")


def greedy(address):
    """Asks, and never reads an answer."""
    good, one = connect(address), connect(address)
    one.setblocking(False)
    end = time.monotonic() + PATIENCE_S
    while True:
        if time.monotonic() > end:
            sys.exit("it was not cut")
        try:
            one.send(b"INFO\r\n" * 2000)
        except BlockingIOError:
            is_served(good, "another client")
            time.sleep(0.05)
        except (ConnectionResetError, BrokenPipeError):
            break
    is_served(good, "another client")


def crowd(address, most):
    """Beyond the limit of connections one is told so; when one goes, another may come."""
    clients = [connect(address) for _ in range(int(most))]
    for number, one in enumerate(clients):
        is_served(one, "client %d" % number)
    refused = connect(address)
    expect(read_all(refused), b"-ERR max number of clients reached\r\n", "one too many")
    clients.pop().close()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        another = connect(address)
        another.sendall(PING)
        try:
            if read(another, len(PONG)) == PONG:
                return
        except ConnectionResetError:
            pass
        time.sleep(0.05)
    sys.exit("when one has gone, no other may come")


def exhaust(address):
    """More connections than the server has descriptors: some are refused, the others go on, and then all is well."""
    clients = [connect(address) for _ in range(200)]
    served = 0
    for one in clients:
        try:
            one.sendall(PING)
            served += read(one, len(PONG)) == PONG
        except (ConnectionResetError, BrokenPipeError):
            pass
    if not 0 < served < len(clients):
        sys.exit("%d of %d were served" % (served, len(clients)))
    for one in clients:
        one.close()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        one = connect(address)
        try:
            one.sendall(PING)
            if read(one, len(PONG)) == PONG:
                return
        except (ConnectionResetError, BrokenPipeError):
            pass
        time.sleep(0.05)
    sys.exit("nobody is served any more")


def drain(address, process):
    """What was sent before the stop is answered, also to who was not let in yet.  The server is held meanwhile, so that
    all of it comes at once, and is more than one turn reads."""
    count = 12000
    clients = [connect(address) for _ in range(4)]
    for one in clients:
        is_served(one, "before the stop")
    os.kill(int(process), signal.SIGSTOP)
    clients += [connect(address) for _ in range(6)]
    for one in clients:
        one.sendall(PING * count)
    os.kill(int(process), signal.SIGTERM)
    os.kill(int(process), signal.SIGCONT)
    for one in clients:
        expect(read_all(one), PONG * count, "what came is answered")


def pipelined(address, count):
    one = connect(address)
    for _ in range(int(count)):
        one.sendall(PING * 10000)
        expect(read(one, 10000 * len(PONG)), PONG * 10000, "ten thousand answers")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
