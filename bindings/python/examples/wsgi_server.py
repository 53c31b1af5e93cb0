# SPDX-License-Identifier: MIT
"""A server with a limit for each client, one for all workers: Flask, by gunicorn.

    pip install flask gunicorn
    gunicorn --workers 4 wsgi_server:app
    curl -s -o /dev/null -w "%{http_code} " "localhost:8000/?[1-40]"
"""

import os

import flask

import libweir
import libweir.wsgi

LIMIT = os.environ.get("LIMIT", "10/s burst=20")
TABLE = os.environ.get("TABLE", "/dev/shm/wsgi_server.weir")

app = flask.Flask(__name__)
app.wsgi_app = libweir.wsgi.Limit(app.wsgi_app, LIMIT, libweir.Table(TABLE, keys=100_000))  # type: ignore


@app.get("/")
def index() -> dict[str, int]:
    return {"worker": os.getpid()}
