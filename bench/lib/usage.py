#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage.py FILE COMMAND...: runs it, and writes to FILE the processor seconds that it and its children took, and the
most memory that it had, in MB, as of a moment before it ended (ru_maxrss would count this program's, too)."""
import os
import subprocess
import sys
import time


def most_mb(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return next((int(line.split()[1]) / 1024 for line in file if line.startswith('VmHWM')), 0)


process = subprocess.Popen(sys.argv[2:])
mb, ended = 0, 0
while not ended:
    mb = max(mb, most_mb(process.pid))
    time.sleep(0.05)
    ended, status, used = os.wait4(process.pid, os.WNOHANG)
with open(sys.argv[1], 'w', encoding='utf-8') as file:
    print(f'{used.ru_utime + used.ru_stime:.3f}\t{mb:.1f}', file=file)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
