# SPDX-License-Identifier: MIT
"""stats.py STATS TOP: the answers of /v1/stats and /v1/top, held against what metrics.sh asked.

Prints what is wrong, and fails."""
import json
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    stats = json.load(file)
with open(sys.argv[2], encoding='utf-8') as file:
    top = json.load(file)
problems = []


def check(what, good, more=''):
    if not good:
        problems.append(f'{what}: {more}')


check('all', stats['all'] == {'allowed': 13, 'denied': 5, 'never': 1, 'shadowed': 0, 'permits': 13, 'late_ns': 0},
      stats['all'])
keys = {(row['limit'], row['key']): row['denied'] for row in top}
check('the most refused', keys.get((None, 'text"key')) == 2 and keys.get(('api', 'acme\\secret')) == 2, top)
check('the page has the same', stats['top'] == top[:20], stats['top'])
check('nothing is left out', stats['more'] is False and stats['sample'] == len(stats['samples']), stats)
for problem in problems:
    print('FAILED:', problem)
sys.exit(bool(problems))
