#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""running_model.py each LIMIT LOG           what `weir replay --each LIMIT` should say of a limit of what runs at once
running_model.py report LIMIT LOG [none]  the figures of its --json, as one object; none: one key for all
running_model.py steps LIMIT LOG FOUND    does the series of this --json have the most at once in each step?

A line of the log is `$remote_addr [$msec] $request_time ...`, as replay_model.py makes them.  Everything is counted
anew from the requests themselves: who still runs is looked up in a list of all that were let in, at each request."""
import collections
import copy
import json
import re
import sys

import replay_model
from replay_model import SECOND

LINE = re.compile(r"^(\S+) \[(\d+)(?:\.(\d{3}))?\] (\d+)\.(\d{3})")
Request = collections.namedtuple("Request", "start number key end")


def requests_of(path, together=False):
    with open(path) as log:
        for number, line in enumerate(log):
            client, seconds, ms, took, took_ms = LINE.match(line).groups()
            took = (int(took) * 1000 + int(took_ms)) * 10**6
            end = int(seconds) * SECOND + int(ms or 0) * 10**6
            key = "" if together else replay_model.key_of(client)
            yield Request(end - took, number, key, end)


class Slots:
    def __init__(self, count, lease):
        self.count, self.lease, self.ends = count, lease, []

    def ask(self, request):
        running = sorted(end for end in self.ends if end > request.start)
        if len(running) >= self.count:
            return False, running[len(running) - self.count] - request.start
        self.ends = running + [min(request.end, request.start + self.lease)]
        return True, 0


class Rate:
    def __init__(self, text):
        limit = replay_model.Limit(text)
        self.rule = limit.rule(limit)

    def ask(self, request):
        allowed, _, retry = self.rule.ask(request.start, 1)
        return allowed, retry


def part(text):
    slots = re.match(r"(\d+) concurrent lease=(\d+)(ms|s)$", text)
    if not slots:
        return Rate(text)
    return Slots(int(slots[1]), int(slots[2]) * {"ms": 10**6, "s": SECOND}[slots[3]])


def lease_of(text):
    return next((one.lease for one in map(part, text.split("; ")) if isinstance(one, Slots)), None)


def ask_all(parts, request):
    """All or nothing: a copy of each is asked first."""
    tried = copy.deepcopy(parts)
    answers = [one.ask(request) for one in tried]
    allowed = all(answer[0] for answer in answers)
    if allowed:
        parts[:] = tried
    return allowed, 0 if allowed else max(answer[1] for answer in answers)


def verdicts(text, requests):
    states = {}
    for request in sorted(requests):
        parts = states.setdefault(request.key, [part(one) for one in text.split("; ")])
        yield (request, *ask_all(parts, request))


def each(text, path):
    answers = []
    for request, allowed, retry in verdicts(text, requests_of(path)):
        answers.append((request.number, {"time_ns": request.start, "key": request.key, "limit": text,
                                         "allowed": allowed, "delay_ns": 0, "retry_ns": retry}))
    for _, answer in sorted(answers, key=lambda one: one[0]):
        print(json.dumps(answer, separators=(",", ":")))


# ---- how many ran at once ----

def at(requests, time):
    return sum(1 for one in requests if one.start <= time < one.end)


def most_at_once(requests):
    return max((at(requests, one.start) for one in requests), default=0)


def by_client(requests):
    clients = collections.defaultdict(list)
    for request in requests:
        clients[request.key].append(request)
    return clients


def spread(requests):
    """The requests of each second evenly over it, in order; each runs as long as ever."""
    seconds = collections.defaultdict(list)
    for request in sorted(requests):
        seconds[request.start // SECOND].append(request)
    for second, those in seconds.items():
        for place, one in enumerate(those):
            start = second * SECOND + place * SECOND // len(those)
            yield Request(start, one.number, one.key, start + one.end - one.start)


def report(text, path, together):
    requests = list(requests_of(path, together))
    answers = list(verdicts(text, requests))
    allowed = [request for request, passes, _ in answers if passes]
    clients = by_client(requests)
    peaks = sorted(most_at_once(those) for those in clients.values())
    lease = lease_of(text)
    found = {
        "denied": len(requests) - len(allowed),
        "denied_spread": sum(not passes for _, passes, _ in verdicts(text, spread(requests))),
        "running_client": max(most_at_once(those) for those in by_client(allowed).values()),
        "running_all": most_at_once(allowed),
        "outlasted": sum(one.end - one.start > lease for one in allowed),
        "unaffected_slots": peaks[-1],
        "offered": {"p50": peaks[(len(peaks) + 1) // 2 - 1], "max": peaks[-1], "all": most_at_once(requests)},
        "longest_ns": max(one.end - one.start for one in requests),
    }
    print(json.dumps(found, sort_keys=True))


def steps(text, path, found_path):
    """The most at once in each step of the series of a --json."""
    with open(found_path) as file:
        series = json.load(file)["series"]
    requests = list(requests_of(path))
    allowed = [request for request, passes, _ in verdicts(text, requests) if passes]
    last = max(one.start for one in requests)
    for those, found in ((requests, series["running"]), (allowed, series["limits"][0]["running"])):
        for step, value in enumerate(found):
            begin = series["first_ns"] + step * series["step_ns"]
            moments = [begin] + [one.start for one in those if begin <= one.start < begin + series["step_ns"]]
            expected = max(at(those, moment) for moment in moments if moment <= last)
            if value != expected:
                sys.exit("step %d has %d, expected %d" % (step, value, expected))


if __name__ == "__main__":
    if sys.argv[1] == "each":
        each(*sys.argv[2:4])
    elif sys.argv[1] == "report":
        report(sys.argv[2], sys.argv[3], sys.argv[4:] == ["none"])
    else:
        steps(*sys.argv[2:5])
