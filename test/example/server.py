#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""server.py: a web server whose answers end in every way there is, one after the other; prints its port."""
import itertools
import socket
import threading

HEAD = b'HTTP/1.1 200 OK\r\n'
WAYS = [
    HEAD + b'Content-Length: 5\r\n\r\nhello',
    HEAD + b'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    HEAD + b'Content-Length: 100000\r\n\r\n' + b'x' * 100000,
    b'HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    HEAD + b'\r\nuntil the connection is closed',
    b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
    b'no HTTP\r\n\r\n',
    b'',
    HEAD + b'Content-Length: 5\r\n\r\nhel',
]
CLOSES = [3, 4, 6, 7, 8]
turns = itertools.count()


def serve(connection):
    while connection.recv(4096):
        way = next(turns) % len(WAYS)
        connection.sendall(WAYS[way])
        if way in CLOSES:
            break
    connection.close()


listener = socket.create_server(('127.0.0.1', 0))
print(f'http://127.0.0.1:{listener.getsockname()[1]}/', flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
