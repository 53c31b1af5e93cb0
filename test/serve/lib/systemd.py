#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""systemd.py WEIR [localhost]: hands sockets over as systemd does, and listens to what it is told; with localhost,
sockets of both addresses or of one, on a machine that has ::1."""
import os
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE_S = 60


def expect(condition, what):
    if not condition:
        sys.exit(what)


def listening(host="127.0.0.1", port=0):
    one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((host, port))
    one.listen()
    return one


def both():
    """The same port at 127.0.0.1 and at ::1."""
    for _ in range(100):
        four = listening()
        try:
            return four, listening("::1", four.getsockname()[1])
        except OSError:
            four.close()
    sys.exit("no port is free at both")


def start(weir, sockets, names, folder, *options, **more):
    """A shell sets LISTEN_PID, which is that of what it becomes."""
    for number, one in enumerate(sockets):
        os.dup2(one.fileno(), 3 + number, inheritable=True)
    environment = dict(os.environ, LISTEN_FDS=str(len(sockets)), LISTEN_FDNAMES=names,
                       NOTIFY_SOCKET=folder + "/notify", **more)
    server = subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" serve "$@"', weir, *options],
                              env=environment, pass_fds=range(3, 3 + len(sockets)), stderr=subprocess.PIPE, text=True)
    with open("/dev/null", "rb") as null:  # it has them; we have one of each
        for number in range(len(sockets)):
            os.dup2(null.fileno(), 3 + number)
    return server


def answers(address):
    with socket.create_connection(address) as client:
        client.sendall(b"PING\r\n")
        expect(client.recv(100) == b"+PONG\r\n", "no answer")


def of_localhost(weir, folder, told):
    """A unit has both addresses, or one of them, and the file says localhost: no more than those two are opened."""
    pair = both()
    port = pair[0].getsockname()[1]
    words = "READY=1\nSTATUS=RESP 127.0.0.1:%d and [::1]:%d; " % (port, port)
    for sockets in pair, pair[:1]:
        if sockets != pair:
            pair[1].close()
        server = start(weir, sockets, ":".join(["resp"] * len(sockets)), folder, "--resp", "localhost:%d" % port)
        try:
            ready = told.recv(1000).decode()
            expect(ready.startswith(words), ready)
            answers(("127.0.0.1", port))
            answers(("::1", port))
            server.send_signal(signal.SIGTERM)
            expect(told.recv(1000).startswith(b"STOPPING=1") and server.wait(PATIENCE_S) == 0, "it does not end well")
        finally:
            server.kill()
            server.wait()


def usual(weir, folder, told):
    resp, http = listening(), listening()
    same = ["--resp", "127.0.0.1:%d" % resp.getsockname()[1]]  # a file may say what a socket unit says
    server = start(weir, [resp, http], "resp:http", folder, *same, WATCHDOG_USEC="200000")
    try:
        ready = told.recv(1000).decode()
        expect(ready.startswith("READY=1\nSTATUS=RESP 127.0.0.1:%d, HTTP" % resp.getsockname()[1]), ready)
        for _ in range(3):
            expect(told.recv(1000) == b"WATCHDOG=1\n", "no watchdog")
        answers(resp.getsockname())
        server.send_signal(signal.SIGHUP)
        words = [word for word in (told.recv(1000).decode() for _ in range(50)) if not word.startswith("WATCHDOG")]
        expect(words[0].startswith("RELOADING=1\nMONOTONIC_USEC=") and words[1].startswith("READY=1"), str(words))
        server.send_signal(signal.SIGTERM)
        word = b"WATCHDOG=1\n"
        while word == b"WATCHDOG=1\n":
            word = told.recv(1000)
        expect(word.startswith(b"STOPPING=1"), str(word))
        expect(server.wait(PATIENCE_S) == 0, "exit status %s" % server.returncode)
        socket.create_connection(resp.getsockname()).close()  # for the next that systemd starts
    finally:
        server.kill()
        server.wait()
    wrong = start(weir, [resp], "else", folder)
    said = wrong.communicate(timeout=PATIENCE_S)[1]
    expect("expected resp, http or unix" in said and wrong.returncode == 2, "another name")


def main(weir, *what):
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]  # so that ours are not among 3 to 5
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    expect(held and told.fileno() > 5, "descriptors are not where they should be")
    told.settimeout(PATIENCE_S)
    with tempfile.TemporaryDirectory() as folder:
        told.bind(folder + "/notify")
        (of_localhost if what == ("localhost",) else usual)(weir, folder, told)


main(*sys.argv[1:])
