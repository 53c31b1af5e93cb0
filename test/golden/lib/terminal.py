#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py STREAMS COMMAND...: runs it with standard error as a terminal, and standard output too where STREAMS is
both and not err; prints what the terminal got, and exits as it did."""
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
streams = {"stderr": theirs} if sys.argv[1] == "err" else {"stdout": theirs, "stderr": theirs}
child = subprocess.Popen(sys.argv[2:], **streams)
os.close(theirs)
shown = b""
try:
    while piece := os.read(ours, 4096):
        shown += piece
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(child.wait())
