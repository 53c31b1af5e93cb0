#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Several weir serve, and each key asked at one of them: lines of stdin that begin with a sender pass, so many of each.

    weir serve --resp 127.0.0.1:9351 --http none &  ... 9352, 9353      needs redis-py: apt install python3-redis
    python3 shard.py '10/min' 127.0.0.1:9351 127.0.0.1:9352 127.0.0.1:9353 <lines

When one is down its keys are asked at the next ones on the ring, and begin with a full burst there; those of the others
stay.  Everybody who shares a limit needs the same list of servers, in any order.
"""
import bisect
import hashlib
import os
import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# When no weir can be reached, no line passes.  True: all do.  Whatever else is not "allow" is refused.
FAIL_OPEN = False

POINTS = 160  # of each server on the ring: so they have about as many keys each
TIMEOUT_S = 0.2  # whoever does not answer by then is away,
AWAY_S = 5  # and is not asked for so long


def point(text):
    """Where it lies on the ring: everybody must reckon alike, so not hash()."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class Shards:
    def __init__(self, servers):
        self.ring = sorted((point(f"{server}/{i}"), server) for server in servers for i in range(POINTS))
        self.away_until = dict.fromkeys(servers, 0.0)
        self.weir = {}
        for server in servers:
            host, port = server.rsplit(":", 1)
            # A question that is repeated takes twice.
            self.weir[server] = redis.Redis(host, int(port), password=os.environ.get("WEIR_PASSWORD"),
                                            decode_responses=True, socket_timeout=TIMEOUT_S,
                                            retry=Retry(NoBackoff(), 0))

    def servers_of(self, key):
        """Its own first, then those behind it on the ring."""
        at, told = bisect.bisect(self.ring, (point(key),)), set()
        for i in range(len(self.ring)):
            server = self.ring[(at + i) % len(self.ring)][1]
            if server not in told:
                told.add(server)
                yield server

    def take(self, limit, key, cost=1):
        """What WEIR.TAKE answers: verdict, limit, remaining and so on; None: nobody does."""
        for server in self.servers_of(key):
            if time.monotonic() < self.away_until[server]:
                continue
            try:
                return self.weir[server].execute_command("WEIR.TAKE", limit, key, "COST", cost)
            except redis.AuthenticationError:
                raise  # redis-py counts it as a ConnectionError, but weir answered: a mistake, and nobody passes
            except (redis.ConnectionError, redis.TimeoutError) as away:
                print(f"weir at {server}:", away, file=sys.stderr)
                self.away_until[server] = time.monotonic() + AWAY_S
        return None


def main(limit, *servers):
    shards = Shards(servers)
    for line in sys.stdin:
        answer = shards.take(limit, line.split(maxsplit=1)[0] if line.strip() else "")
        if FAIL_OPEN if answer is None else answer[0] == "allow":
            print(line, end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
