# SPDX-License-Identifier: MIT
"""At most so many at once, whatever they are written in: hold.py PATH LIMIT KEY

    python hold.py /dev/shm/backups.weir "3 concurrent lease=30s" nightly

waits for a slot of the key, says "held", and holds it until its input ends.  Killed, it frees the slot at once.
"""

import sys

import libweir

path, limit, key = sys.argv[1:]
table = libweir.Table(path, keys=1000, plan=limit)
with table.hold(limit, key, renew=True) as hold:
    print("held", flush=True)
    sys.stdin.read()  # what takes its time
print("lost" if hold.lost else "released")
