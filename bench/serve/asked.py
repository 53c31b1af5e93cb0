# SPDX-License-Identifier: MIT
"""A client of weir serve that keeps its own log, for bench/serve/soak: what it was allowed, and whether that is more
than the limit lets through.

A call is decided between the times at which it was sent and answered, but for the longest batch of the service: one
that began before it came.  So permits count for a window only if they were both asked for and answered within it: a
window that is too full is a proof."""
import asyncio
import collections
import json
import re


class Rate:
    """At most burst + rate * t in any window t; asked by one client at a time."""
    def __init__(self, burst, rate):
        self.burst, self.rate = burst, rate
        self.allowed, self.emptiest, self.worst = 0, float("-inf"), 0.0

    def add(self, sent, answered, count):
        if count == 0:
            return
        self.emptiest = max(self.emptiest, self.rate * sent - self.allowed)
        self.allowed += count
        self.worst = max(self.worst, self.allowed - self.rate * answered + self.emptiest)

    def over(self, late_s, more=0):
        return self.worst > self.burst + more + self.rate * late_s + 1e-6

    def said(self, more=0):
        return f"at most {self.worst:.1f} beyond {self.rate:g}/s, of {self.burst + more:g}"

    def reached(self):
        return self.worst > self.burst / 2


class Log:
    """At most `count` in any window of a period (twice that, if the window may slide over two)."""
    def __init__(self, count, period_s):
        self.count, self.period_s, self.shortest = count, period_s, float("inf")
        self.sent = collections.deque(maxlen=count)

    def add(self, sent, answered, count):
        for _ in range(count):
            if len(self.sent) == self.count:
                self.shortest = min(self.shortest, answered - self.sent[0])
            self.sent.append(sent)

    def over(self, late_s, _more=0):
        return self.shortest < self.period_s - late_s

    def said(self, _more=0):
        return f"{self.count + 1} took {self.shortest:.3f} s at least, of {self.period_s:g}"

    def reached(self):
        return self.shortest < 2 * self.period_s


class Slots:
    """At most `count` held at once: from the answer to a take until the release was sent, or a lease after the take
    was."""
    def __init__(self, count, lease_s):
        self.count, self.lease_s, self.held, self.most = count, lease_s, {}, 0

    def take(self, one, sent, now):
        self.held[one] = sent + self.lease_s
        self.held = {other: end for other, end in self.held.items() if end > now}
        self.most = max(self.most, len(self.held))

    def release(self, one):
        self.held.pop(one, None)

    def over(self, _late_s, _more=0):
        return self.most > self.count

    def said(self, _more=0):
        return f"at most {self.most} held, of {self.count}"

    def reached(self):
        return self.most == self.count


def self_check():
    """Logs that are known -> what is wrong with the checks."""
    wrong = []
    for later, over in ((20.4, False), (20.3, True)):
        one = Rate(20, 50)
        for at, count in ((10, 3), (20, 20), (later, 20)):
            one.add(at, at + 0.001, count)
        if one.over(0) != over:
            wrong.append(f"Rate: {later}: {one.said()}")
    for gap, over in ((1, False), (0.8, True)):
        one = Log(10, 1)
        for call in range(30):
            one.add(call // 10 * gap, call // 10 * gap + 0.001, 1)
        if one.over(0.01) != over:
            wrong.append(f"Log: {gap}: {one.said()}")
    for count, over in ((4, False), (5, True)):
        one = Slots(4, 5)
        for call in range(count):
            one.take(call, 0, 1)
        one.take(9, 5, 6)  # those of before are over
        if one.over(0) != over:
            wrong.append(f"Slots: {count}: {one.said()}")
    return wrong


class Resp:
    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, *commands):
        """Commands in one packet -> their replies; an error is a str that begins with "-"."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                   for word in words) for words in commands))
        return [await self.reply() for _ in commands]

    async def reply(self):
        line = await self.reader.readuntil(b"\r\n")
        kind, rest = line[:1], line[1:-2]
        if kind == b"*":
            return [await self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else (await self.reader.readexactly(int(rest) + 2))[:-2]
        return int(rest) if kind == b":" else "-" + rest.decode() if kind == b"-" else rest

    def close(self, rudely=False):
        if self.writer is not None:
            if rudely:
                self.writer.transport.abort()
            self.writer.close()
        self.writer = None


class Http:
    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, method, target, body=None):
        """-> the status, the body"""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        content = b"" if body is None else json.dumps(body).encode()
        self.writer.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(content)}\r\n\r\n".encode() + content)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", head)
        text = await self.reader.readexactly(int(length.group(1))) if length else b""
        return int(head.split()[1]), text.decode()

    def close(self, rudely=False):
        Resp.close(self, rudely)
