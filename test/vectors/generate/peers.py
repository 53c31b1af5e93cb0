# SPDX-License-Identifier: MIT
"""What the generators share: their command line and the form of a vector file.

    NAME.py DIR [CASES [SEED]]: writes DIR/FILE_random.json, a file for each system that NAME knows

A generator gives a row for each file: its name, the system as in the shared vectors, and make(pick, number), which
makes one case with the random numbers of pick; what is None or has no steps is left out."""
import json
import random
import sys
from pathlib import Path


def write(*rows):
    if not 2 <= len(sys.argv) <= 5 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} DIR [CASES [SEED]]")
    folder, cases, seed = (sys.argv[1:4] + ["300", "1"][len(sys.argv) - 2:])[:3]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for file, system, make in rows:
        pick = random.Random(f"{file} {seed}")
        made = [make(pick, number) for number in range(int(cases))]
        vectors = {"system": system, "produced_by": "derived", "cases": [one for one in made if one and one["steps"]]}
        (Path(folder) / f"{file}_random.json").write_text(json.dumps(vectors, separators=(",", ":")), encoding="ascii")
