#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""systemd.py WEIR: hands sockets over as systemd does, and listens to what it is told."""
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


def listening():
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    one.listen()
    return one


def start(weir, sockets, names, folder, *options, **more):
    """A shell sets LISTEN_PID, which is that of what it becomes."""
    for number, one in enumerate(sockets):
        os.dup2(one.fileno(), 3 + number, inheritable=True)
    environment = dict(os.environ, LISTEN_FDS=str(len(sockets)), LISTEN_FDNAMES=names,
                       NOTIFY_SOCKET=folder + "/notify", **more)
    return subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0" serve "$@"', weir, *options],
                            env=environment, pass_fds=range(3, 3 + len(sockets)), stderr=subprocess.PIPE, text=True)


def main(weir, folder):
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]  # so that ours are not among 3 to 5
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(folder + "/notify")
    told.settimeout(PATIENCE_S)
    resp, http = listening(), listening()
    expect(held and told.fileno() > 5, "descriptors are not where they should be")
    same = ["--resp", "127.0.0.1:%d" % resp.getsockname()[1]]  # a file may say what a socket unit says
    server = start(weir, [resp, http], "resp:http", folder, *same, WATCHDOG_USEC="200000")
    try:
        ready = told.recv(1000).decode()
        expect(ready.startswith("READY=1\nSTATUS=RESP 127.0.0.1:%d, HTTP" % resp.getsockname()[1]), ready)
        for _ in range(3):
            expect(told.recv(1000) == b"WATCHDOG=1\n", "no watchdog")
        client = socket.create_connection(resp.getsockname())
        client.sendall(b"PING\r\n")
        expect(client.recv(100) == b"+PONG\r\n", "no answer")
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
    expect("expected resp, http or unix" in wrong.communicate()[1] and wrong.returncode == 2, "another name")


with tempfile.TemporaryDirectory() as room:
    main(sys.argv[1], room)
