# SPDX-License-Identifier: MIT
"""fair.py PORT PID: who sends much at once, and another one that asks meanwhile.

One connection sends 64 KiB of costly commands.  The other is answered while the first still waits for most of its
answers; those come whole, and in their order.

Two hundred connections have sent 64 KiB each, all for the same key, when one more asks for that: how many were decided
before is what its answer says of the key.

Forty connections have sent a few costly commands each, which are read together, while another one goes on sending: all
are answered, in their order.
"""
import os
import re
import signal
import socket
import sys

COSTLY = b"WEIR.TAKE '2000/s algorithm=sliding-log' key%d COST 2000\r\n"


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answers(connection, wanted, seconds=60):
    """Reads until so many answers have come; each has one verdict."""
    connection.settimeout(seconds)
    got = b""
    while got.count(b"-allow") + got.count(b"$5\r\nallow") + got.count(b"$4\r\ndeny") < wanted:
        more = connection.recv(1 << 16)
        if not more:
            sys.exit(f"the connection ended after {got.count(b'allow')} answers of {wanted}")
        got += more
    return got


MANY, SHARED, LIMIT = 200, b"WEIR.TAKE 100000000/365d shared\r\n", 100000000


def many(port, pid):
    greedy = [connect(port) for _ in range(MANY)]
    honest = connect(port)
    for connection in greedy + [honest]:  # all of them are let in
        connection.sendall(b"PING\r\n")
        connection.recv(100)
    commands = SHARED * ((64 << 10) // len(SHARED))
    os.kill(pid, signal.SIGSTOP)
    for connection in greedy:
        connection.sendall(commands)
    honest.sendall(SHARED)
    os.kill(pid, signal.SIGCONT)
    honest.settimeout(60)
    before = LIMIT - 1 - int(re.match(rb"\*8\r\n\$5\r\nallow\r\n:0\r\n:(\d+)", honest.recv(1000)).group(1))
    asked = MANY * commands.count(b"\n")
    print(f"{asked} questions of {MANY} connections, {before} before the other's")
    if before > 3 * 4096:
        sys.exit("the other was served behind more than three rounds of work")
    for connection in greedy:
        answers(connection, commands.count(b"\n"))


def read(connection, size):
    connection.settimeout(60)
    got = b""
    while len(got) < size:
        got += connection.recv(1 << 16) or sys.exit(f"the connection ended after {got}")
    return got


def costly(port, pid):
    connections, other = [connect(port) for _ in range(40)], connect(port)
    other.sendall(b"COMMAND DOCS\r\n" * 2 + b"ECHO docs\r\n")
    docs = b""
    while not docs.endswith(b"$4\r\ndocs\r\n"):
        docs += read(other, 1)
    docs = docs[:len(docs) // 2 - 5]
    for connection in connections:
        connection.sendall(b"PING\r\n")
        connection.recv(100)
    long = b"*2\r\n$4\r\nECHO\r\n$9999\r\n%s\r\n" % (b"x" * 9999) * 20  # more than is read at once
    os.kill(pid, signal.SIGSTOP)
    other.setblocking(False)
    sent = other.send(long)
    other.setblocking(True)
    for connection in connections:
        connection.sendall(b"".join(b"ECHO %d\r\nCOMMAND DOCS\r\n" % i for i in range(5)))
    os.kill(pid, signal.SIGCONT)
    other.sendall(long[sent:])
    expected = b"".join(b"$1\r\n%d\r\n%s" % (i, docs) for i in range(5))
    for connection in connections:
        got = read(connection, len(expected))
        if got != expected:
            sys.exit(f"answered {got}")


def main():
    port = int(sys.argv[1])
    many(port, int(sys.argv[2]))
    costly(port, int(sys.argv[2]))
    greedy, honest = connect(port), connect(port)
    commands = []
    while sum(map(len, commands)) < (64 << 10) - 80:
        commands.append(COSTLY % len(commands))
    commands.append(b"ECHO the-end-allow\r\n")
    honest.sendall(b"PING\r\n")
    honest.recv(100)
    greedy.sendall(b"".join(commands))
    while True:  # until the first of its answers is there
        greedy.settimeout(60)
        got = greedy.recv(1 << 16)
        break
    honest.sendall(b"PING\r\n")
    honest.settimeout(60)
    if honest.recv(100) != b"+PONG\r\n":
        sys.exit("the other is not answered")
    greedy.setblocking(False)
    try:
        while True:
            more = greedy.recv(1 << 16)
            if not more:
                sys.exit("the connection has ended")
            got += more
    except BlockingIOError:
        pass
    first = got.count(b"-allow") + got.count(b"$5\r\nallow") + got.count(b"$4\r\ndeny")
    greedy.setblocking(True)
    got += answers(greedy, len(commands) - first) if first < len(commands) else b""
    if not got.endswith(b"$13\r\nthe-end-allow\r\n"):
        sys.exit("the last answer is not the last")
    print(f"{len(commands)} answers, {first} before the other's")
    if first == len(commands):
        sys.exit("the other was served behind all of them")


main()
