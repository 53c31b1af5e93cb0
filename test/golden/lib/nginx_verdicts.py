#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nginx_verdicts.py LIMIT LOG EACH: nginx's verdicts in its own log beside those of `weir replay --each`.

LOG: $remote_addr [$msec] $request_time $limit_req_status "$http_x_client" ...   LIMIT: in nginx's words.

Prints the agreement of each kind of client, each difference with its explanation, and at last
"lines N differ N unexplained N held N"; whoever calls decides what may be.

What the log does not know.  $msec - $request_time is nginx's wall clock when the request began, in whole ms.  limit_req
counts on another, the monotonic clock, also cut to whole ms, read just behind it.  The two tick at different moments of
a ms, so from one turn of the event loop to another they may drift apart by one ms, and come back:

    wall clock       |  t  |  t+1  |  t+2  |
    monotonic     |  m  |  m+1  |  m+2  |  m+3        t and m, or t and m+1

So a verdict can be computed up to a ms.  Here a bucket follows nginx's own verdicts with all that the other clock may
have said: an interval.  Another follows weir's, by the log's clock alone, and each of weir's verdicts has to be its.  A
difference is explained where

    clock    both verdicts are possible within that ms
    follows  an explained one came before, and since then one bucket holds a permit more than the other
    order    several requests of one client in one ms, and lines are in the order in which requests
             end; or nginx's clock ticked within that ms
    late     weir holds a minute, and then two seconds and the longest duration so far, to put requests in order; one
             that stands behind all that was taken later than it came
    held     nginx's verdict is possible only if it was stopped between reading its two clocks; rare, so few may be

and nothing else."""
import json
import re
import sys
from collections import Counter, defaultdict

LINE = re.compile(r'^(\S+) \[(\d+)\.(\d{3})\] (\d+)\.(\d{3}) (\S+) "([^"]*)"')
VERDICTS = {"PASSED": "passed", "DELAYED_DRY_RUN": "delayed", "REJECTED_DRY_RUN": "refused"}
RANK = {"passed": 0, "delayed": 1, "refused": 2}
HELD_MAX_MS = 100
ORDER_MS = 2000
SHOWN_MAX = 40


class Limit:
    def __init__(self, text):
        words = text.split()
        count, unit = re.match(r"^(\d+)r/([sm])$", words[0]).groups()
        said = dict(word.split("=") for word in words[1:] if "=" in word)
        a_minute = int(count) * (60 if unit == "s" else 1)
        self.leak = a_minute // 60  # thousandths of a request in a ms
        if self.leak * 60 != a_minute:
            sys.exit("nginx_verdicts: the rate is a whole number a second: only then is no leak rounded")
        self.burst = 1000 * int(said.get("burst", 0))
        self.calm = self.burst if "nodelay" in words else 1000 * int(said.get("delay", 0))

    def verdict(self, excess):
        if excess > self.burst:
            return "refused"
        return "delayed" if (excess - self.calm) // self.leak > 0 else "passed"


class Bucket:
    """A client's, between what it holds at least and at most: excess + leak * ms, which only a rest makes larger."""

    def __init__(self):
        self.low = self.high = None

    def excess(self, limit, ms, clock_ms):
        """At least and at most, with this request in it."""
        if self.low is None:
            return 0, 0
        return (max(0, self.low + 1000 - limit.leak * (ms + clock_ms)), max(0, self.high + 1000 - limit.leak * ms))

    def pour(self, limit, ms, clock_ms):
        low, high = limit.leak * ms, limit.leak * (ms + clock_ms)
        if self.low is not None:
            low, high = max(low, self.low + 1000), max(high, self.high + 1000)
        self.low, self.high = low, high


class Client:
    """A bucket that follows nginx's verdicts, one that follows weir's, the line at which they went apart, and the line
    that was late."""

    def __init__(self):
        self.nginx, self.weir, self.apart, self.late = Bucket(), Bucket(), None, None

    def learn(self, limit, ms, verdict, possible):
        """Where the clock decided, nginx's verdict says more of it: the interval becomes smaller, or moves."""
        bucket = self.nginx
        if bucket.low is not None and {limit.verdict(excess) for excess in possible} != {verdict}:
            if verdict == "refused":
                bucket.low = max(bucket.low, limit.burst + 1 - 1000 + limit.leak * ms)
                bucket.high = max(bucket.high, bucket.low)
            else:
                bucket.high = min(bucket.high, limit.burst - 1000 + limit.leak * (ms + 1))
                bucket.low = min(bucket.low, bucket.high)
        if verdict != "refused":
            bucket.pour(limit, ms, 1)

    def note_apart(self, line):
        together = self.weir.low is None if self.nginx.low is None else (
            self.weir.low is not None and self.nginx.low <= self.weir.low <= self.nginx.high)
        self.apart = None if together else self.apart or line


def ms_off(limit, bucket, ms, verdict, possible):
    """How far from the log's clock nginx's must have been for this verdict; 0: no farther than it always may be."""
    if RANK[limit.verdict(possible[0])] <= RANK[verdict] <= RANK[limit.verdict(possible[1])]:
        return 0
    for off in range(1, HELD_MAX_MS + 1):
        lower, higher = bucket.excess(limit, ms + off, 1)[0], bucket.excess(limit, ms - off, 1)[1]
        if RANK[limit.verdict(lower)] <= RANK[verdict] <= RANK[limit.verdict(higher)]:
            return off
    return None


def own_verdicts(limit, client, same_ms):
    """For each line what weir's verdicts so far ask for: it takes lines of one ms as they stand."""
    own = {}
    for _, ms, line, _, weir, _ in same_ms:
        own[line] = limit.verdict(client.weir.excess(limit, ms, 0)[0])
        if weir != "refused":
            client.weir.pour(limit, ms, 0)
    return own


def explain(limit, client, same_ms, request, own):
    """Why nginx's verdict is not weir's; "" where it is, and None where nothing explains it."""
    _, ms, _, nginx, weir, _ = request
    possible = client.nginx.excess(limit, ms, 1)
    off = ms_off(limit, client.nginx, ms, nginx, possible)
    if off is None or (own != weir and not client.late):
        return None
    if off > 0:
        return "held: nginx's clock was %d ms off the log's" % off
    if nginx == weir:
        return ""
    if RANK[limit.verdict(possible[0])] <= RANK[weir] <= RANK[limit.verdict(possible[1])]:
        return "clock: the excess was %.3f to %.3f of %.3f" % (possible[0] / 1000, possible[1] / 1000,
                                                              limit.burst / 1000)
    if client.late:
        return "late: line %d stands too far behind" % client.late
    if client.apart:
        return "follows line %d" % client.apart
    nginxs, weirs = Counter(one[3] for one in same_ms), Counter(one[4] for one in same_ms)
    if len(same_ms) > 1 and all(abs(nginxs[verdict] - weirs[verdict]) <= 1 for verdict in RANK):
        return "order: %d requests in this ms" % len(same_ms)
    return None


def read(log_path, each_path):
    """For each line: key, ms, its number, nginx's verdict, weir's, and whether weir had to take it later."""
    with open(log_path) as log, open(each_path) as each:
        lines, answers = log.read().splitlines(), [json.loads(line) for line in each]
    if len(lines) != len(answers):
        sys.exit("nginx_verdicts: %d lines, and %d verdicts of weir" % (len(lines), len(answers)))
    ended = 0
    for number, (line, answer) in enumerate(zip(lines, answers), 1):
        address, seconds, ms, duration, duration_ms, status, name = LINE.match(line).groups()
        end = int(seconds) * 1000 + int(ms)
        began = end - int(duration) * 1000 - int(duration_ms)
        late = answer["time_ns"] > began * 10**6 and began < ended - ORDER_MS
        ended = max(ended, end)
        if (answer["time_ns"] != began * 10**6 and not late) or answer["key"] not in (address, name):
            sys.exit("nginx_verdicts: line %d: weir says %s of %s" % (number, answer, line))
        weir = "refused" if not answer["allowed"] else "delayed" if answer["delay_ns"] else "passed"
        yield name, began, number, VERDICTS[status], weir, late


def look_at(limit, requests):
    """Each request with why its verdicts differ."""
    clients, groups = defaultdict(Client), defaultdict(list)
    for request in requests:
        groups[request[1], request[0]].append(request)
    for (ms, name), same_ms in sorted(groups.items()):
        client = clients[name]
        client.late = client.late or next((one[2] for one in same_ms if one[5]), None)
        own = own_verdicts(limit, client, same_ms)
        # In a ms nothing leaks: nginx let the first of them pass and refused the last, whoever was done first.  Where
        # its clock ticked in between it was otherwise, and the two cannot be told apart: both are called order.
        for request in sorted(same_ms, key=lambda one: (RANK[one[3]], one[2])):
            yield request, explain(limit, client, same_ms, request, own[request[2]])
            client.learn(limit, ms, request[3], client.nginx.excess(limit, ms, 1))
        client.note_apart(next((one[2] for one in same_ms if one[3] != one[4]), same_ms[0][2]))


def main():
    limit, counts, sums = Limit(sys.argv[1]), Counter(), Counter()
    for (name, ms, line, nginx, weir, _), why in look_at(limit, read(sys.argv[2], sys.argv[3])):
        kind = name.split("-")[0]
        counts[kind, nginx] += 1
        counts[kind, "differ"] += nginx != weir
        sums.update(lines=1, differ=nginx != weir, unexplained=why is None, held=bool(why) and why.startswith("held"))
        if why != "" and (why is None or sums["differ"] < SHOWN_MAX):
            print("    line %d, %s at %d: nginx %s, weir %s; %s" % (line, name, ms, nginx, weir,
                                                                   why or "NOT EXPLAINED"))
    for kind in sorted({kind for kind, _ in counts}):
        print("  %-6s %6d passed %6d delayed %6d refused   %d differ" % (
            kind, *(counts[kind, what] for what in (*RANK, "differ"))))
    print("lines %d differ %d unexplained %d held %d" % (
        *(sums[what] for what in ("lines", "differ", "unexplained", "held")),))


main()
