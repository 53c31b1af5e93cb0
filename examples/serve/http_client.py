#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A web application of Python (WSGI: Flask, Django, bottle), limited for each client; with what Python brings.

    weir serve &  python3 http_client.py 8080 '1/s burst=5'     then    curl -i http://127.0.0.1:8080/
"""
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from wsgiref.simple_server import make_server

WEIR = os.environ.get("WEIR", "http://127.0.0.1:9348")
# When weir cannot be reached, a request passes: a site without limits beats no site.  False: it gets 503.
FAIL_OPEN = True


def limited(application, limit):
    """The application behind a limit: others are answered here, as weir says."""

    def answer(environ, start_response):
        ask = {"limit": limit, "key": environ["REMOTE_ADDR"]}
        request = urllib.request.Request(f"{WEIR}/v1/take", json.dumps(ask).encode(),
                                         {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=0.2).close()
        except urllib.error.HTTPError as refused:
            if refused.code == 429:
                start_response("429 Too Many Requests", [("Retry-After", refused.headers["Retry-After"])])
                return [b"too many requests\n"]
            # 422, never; or a mistake in the question: only 200 is "allow".
            print("weir:", refused.read().decode(), file=sys.stderr)
            start_response("403 Forbidden", [])
            return [b"refused\n"]
        except (OSError, http.client.HTTPException) as away:
            print("weir:", away, file=sys.stderr)
            if not FAIL_OPEN:
                start_response("503 Service Unavailable", [])
                return [b"refused\n"]
        return application(environ, start_response)

    return answer


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello\n"]


if __name__ == "__main__":
    server = make_server("127.0.0.1", int(sys.argv[1]), limited(hello, sys.argv[2]))
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
