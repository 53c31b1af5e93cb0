# SPDX-License-Identifier: MIT
"""redis_py.py PORT PASSWORD: what programs do with redis-py, against a weir serve.  Prints "done"."""
import os
import sys

import redis

PORT, PASSWORD = int(sys.argv[1]), sys.argv[2]
DAY = "5/day"


def client(**options):
    return redis.Redis(host="127.0.0.1", port=PORT, **{"password": PASSWORD, "socket_timeout": 30, **options})


def refused_with(words, what):
    try:
        what()
    except redis.exceptions.RedisError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error: {words}")


def answers(weir):
    assert weir.ping()
    assert weir.info()["redis_version"]
    answer = weir.execute_command("WEIR.TAKE", DAY, "one")
    assert answer[:5] == ["allow", 0, 4, 0, 0], answer
    assert weir.execute_command("CL.THROTTLE", "user", 15, 30, 60) == [0, 16, 15, -1, 2]
    refused_with("expected a period", lambda: weir.execute_command("WEIR.TAKE", "10/", "one"))
    refused_with("unknown command", lambda: weir.get("one"))
    binary = client().execute_command("WEIR.TAKE", DAY, b"\xff\x00\r\n key")
    assert binary[:3] == [b"allow", 0, 4], binary
    assert weir.client_setname("test") and weir.client_getname() == "test"


def pipeline(weir):
    asked = weir.pipeline(transaction=False)
    for _ in range(8):
        asked.execute_command("WEIR.TAKE", DAY, "pipeline")
    given = asked.execute()
    assert [answer[0] for answer in given] == ["allow"] * 5 + ["deny"] * 3, given
    assert given[7][6] is None


def receipts(weir):
    take = weir.execute_command("WEIR.TAKE", "1000/day", "receipt", "COST", 900)
    assert weir.execute_command("WEIR.TAKE", "1000/day", "receipt", "COST", 200)[0] == "deny"
    weir.execute_command("WEIR.SETTLE", take[6], 100)
    assert weir.execute_command("WEIR.TAKE", "1000/day", "receipt", "COST", 800)[0] == "allow"


def strangers():
    for password in (None, "", "open", PASSWORD + "!"):
        refused_with("", client(password=password).ping)


def resp3():
    """Only newer versions of redis-py know it."""
    if int(redis.__version__.split(".")[0]) < 5:
        return
    answer = client(protocol=3, decode_responses=True).execute_command("WEIR.TAKE", DAY, "resp3")
    assert answer[:3] == ["allow", 0, 4], answer


def main():
    weir = client(decode_responses=True)
    answers(weir)
    pipeline(weir)
    if "NO_RECEIPTS" not in os.environ:
        receipts(weir)
    strangers()
    resp3()
    print("done")


main()
