#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ending.py PID_FILE END_FILE COMMAND...: runs it and writes how it ended: 0, 2, or -2 when signal 2 killed it.

A shell shows a program that died of a signal and one that exited with 128 + n as the same number."""
import subprocess
import sys

child = subprocess.Popen(sys.argv[3:])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(child.pid))
subprocess.run(["mv", sys.argv[1] + ".new", sys.argv[1]], check=True)
with open(sys.argv[2], "w") as file:
    file.write(str(child.wait()))
