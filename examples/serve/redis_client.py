#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Guards a login: five tries in any quarter of an hour for a user, and fifty for the address that they come from.

    weir serve &  python3 redis_client.py alice 203.0.113.9        needs redis-py: apt install python3-redis
"""
import math
import os
import sys

import redis

# When weir cannot be reached, no login may be tried: else whoever stops it can guess.  True: it may.
FAIL_OPEN = False

weir = redis.Redis(host="127.0.0.1", port=int(os.environ.get("PORT", 9347)),
                   password=os.environ.get("WEIR_PASSWORD"), decode_responses=True, socket_timeout=2)


def refused_for(user, address):
    """Seconds to wait before this login may be tried; None: now; inf: never.  Both are asked in one packet."""
    both = weir.pipeline(transaction=False)
    both.execute_command("WEIR.TAKE", "5/15min algorithm=sliding-log", f"user:{user}")
    both.execute_command("WEIR.TAKE", "50/15min algorithm=sliding-log", f"address:{address}")
    try:
        answers = both.execute()
    except redis.AuthenticationError:
        raise  # redis-py counts it as a ConnectionError, but weir answered: a mistake, and nobody passes
    except (redis.ConnectionError, redis.TimeoutError) as away:
        print("weir:", away, file=sys.stderr)
        return None if FAIL_OPEN else math.inf
    waits = [retry_ns / 1e9 or math.inf for verdict, _, _, _, retry_ns, *_ in answers if verdict != "allow"]
    return max(waits, default=None)


def succeeded(user):
    """Who knew the password starts anew."""
    # Where the service has a password, this needs that of an admin (weir.yaml).
    weir.execute_command("WEIR.FORGET", "5/15min algorithm=sliding-log", f"user:{user}")


if __name__ == "__main__":
    wait = refused_for(*sys.argv[1:3])
    if wait is not None:
        sys.exit("refused" if wait == math.inf else f"too many tries: again in {wait:.0f} s")
    print("the password, please")
    if sys.stdin.readline().strip() == "open sesame":
        succeeded(sys.argv[1])
        print("welcome")
