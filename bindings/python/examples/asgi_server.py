# SPDX-License-Identifier: MIT
"""A server with a limit for each client, one for all workers: FastAPI, by uvicorn.

    pip install fastapi uvicorn
    uvicorn asgi_server:app --workers 4
    curl -s -o /dev/null -w "%{http_code} " "localhost:8000/?[1-40]"
"""

import os

import fastapi

import libweir
import libweir.asgi

LIMIT = os.environ.get("LIMIT", "10/s burst=20")
TABLE = os.environ.get("TABLE", "/dev/shm/asgi_server.weir")

app = fastapi.FastAPI()
app.add_middleware(libweir.asgi.Limit, limit=LIMIT, table=libweir.Table(TABLE, keys=100_000))


@app.get("/")
def index() -> dict[str, int]:
    return {"worker": os.getpid()}
