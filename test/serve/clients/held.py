# SPDX-License-Identifier: MIT
# held.py SOCKET SLOTS LEASE_S: holders of slots, while the service is killed and started again, until this is told to
# end (a line of input).  Each takes, holds, renews or does not, and releases or does not; what is certain to be held is
# noted.  Printed: grants, the most that were held at once, ids that were stale before their lease was over.
import random
import socket
import sys
import threading
import time

PATH, SLOTS, LEASE = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
KEY, HOLDERS = "backend", 4 * SLOTS
END = threading.Event()
HELD, STALE = [], []  # (from, until); how long before its end


class Gone(Exception):
    pass


class Service:
    def __init__(self):
        self.stream = None

    # The answer to one command, as lines; Gone: nobody knows what became of it.
    def ask(self, *words):
        try:
            if self.stream is None:
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(10)
                connection.connect(PATH)
                self.stream = connection.makefile("rwb")
            self.stream.write(b"*%d\r\n" % len(words))
            self.stream.write(b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
            self.stream.flush()
            return self.answer()
        except OSError:
            self.stream = None
            time.sleep(0.01)
            raise Gone() from None

    def answer(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise OSError
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"*":
            return [self.answer() for _ in range(int(text))]
        if kind == b"$":
            if text == "-1":
                return None
            return self.stream.read(int(text) + 2)[:-2].decode()
        if kind == b"-":
            sys.exit(f"FAILED: {text}")
        return int(text)


# Holds one slot for as long as it likes; returns from when until when that is certain.
def hold(service, name, sure):
    asked = time.monotonic()
    answer = service.ask("WEIR.TAKE", name, KEY)
    if answer[0] != "allow":
        time.sleep(random.uniform(0, LEASE / 10))
        return
    begun, until, slot = time.monotonic(), asked + LEASE, answer[8]
    try:
        while random.random() < 0.7:
            time.sleep(random.uniform(0, LEASE * 0.6))
            asked = time.monotonic()
            if service.ask("WEIR.RENEW", name, KEY, slot) == 1:
                until = asked + LEASE
            elif time.monotonic() < until:
                STALE.append(until - time.monotonic())
        if random.random() < 0.7:
            until = min(until, time.monotonic())
            service.ask("WEIR.RELEASE", name, KEY, slot)
    except Gone:
        pass
    sure.append((begun, until))


def holder(name, sure):
    service = Service()
    while not END.is_set():
        try:
            hold(service, name, sure)
        except Gone:
            pass


def most_at_once(sure):
    moments = [(begun, 1) for begun, until in sure if begun < until]
    moments += [(until, -1) for begun, until in sure if begun < until]
    held = most = 0
    for _, step in sorted(moments):
        held += step
        most = max(most, held)
    return most


threads = [threading.Thread(target=holder, args=("held", HELD)) for _ in range(HOLDERS)]
for thread in threads:
    thread.start()
sys.stdin.readline()
END.set()
for thread in threads:
    thread.join()
print(len(HELD), most_at_once(HELD), len(STALE))
