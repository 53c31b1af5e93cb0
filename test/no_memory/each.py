# SPDX-License-Identifier: MIT
"""each.py LIBRARY SOURCES PROGRAM...: in the tests of each program the n-th allocation of weir's own code fails.

LIBRARY is what fails.c becomes, SOURCES the folder with the tests' own code, in which none fails.  A program is run
once to see which calls lead to each allocation of each test.  Then, for every such way, a test that comes along it is
run alone while this allocation fails, and for some more allocations of any way.  How many depends on WEIR_SIZE;
WEIR_SEED chooses.

A test may fail: what it asked for was not there.  But no process dies by a signal, no sanitizer finds anything, and
every run comes to its end.  A test that has passed has not leaked.
"""
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

# A test that takes half a minute with a sanitizer takes longer on a busy machine.
ENDS_WITHIN_S = int(os.environ.get("WEIR_NO_MEMORY_ENDS_S", "120"))
EACH_WAY, OTHERS = {"check": (1, 0), "test": (1, 0), "prove": (1, 5)}[os.environ.get("WEIR_SIZE", "test")]
# no_memory and tls make allocations fail themselves; extremes takes seconds for each test, and comes along by others'
# ways.
LEFT_OUT = {"no_memory", "tls", "extremes"}
LEAKS = re.compile(r"LeakSanitizer: detected memory leaks")
WRONG = re.compile(r"(ERROR: (?!LeakSanitizer)\w*Sanitizer|runtime error|Test failed with exception): [^\n]*")
ASSERTED = re.compile(r"/test/unit/[^\n]*: Assertion `")  # a test's own, where cmocka's are of no use
OUTPUT_END = 6000

# ASan is not the first library here, is to show where it was before cmocka does, and is confused by its own stacks for
# signals where a child of fork ends; the dynamic linker's memory it would know itself without this library.
ASAN = "verify_asan_link_order=0:handle_segv=2:use_sigaltstack=0"
LEAKED_BY_OTHERS = "leak:dl_open_worker_begin\n"


def code_of(program, sources):
    """Where the code of these sources is in this program: FIRST-END,... of their functions."""
    table = subprocess.run(["readelf", "-sW", program], check=True, capture_output=True, text=True).stdout
    own, spans = False, []
    for line in table.splitlines():
        field = line.split()
        if len(field) < 8 or not field[0].rstrip(":").isdigit():
            continue
        if field[3] == "FILE":
            own = field[7] in sources
        elif own and field[3:5] == ["FUNC", "LOCAL"]:
            first = int(field[1], 16)
            spans.append((first, first + int(field[2], 0)))
    return ",".join(f"{first:x}-{end:x}" for first, end in sorted(spans))


class Program:
    def __init__(self, path, library, sources, suppressions):
        self.path = path
        self.name = os.path.basename(path).removeprefix("unit-")
        self.environment = {
            **os.environ,
            "LD_PRELOAD": library,
            "WEIR_NO_MEMORY_EXCEPT": code_of(path, sources),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":" + ASAN,
            "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0",
        }

    def run(self, more):
        """The output, and what is wrong with how it ended, or None."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen([self.path], env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                status = None
            output.seek(0)
            text = output.read().decode(errors="replace")
        return text, wrong_with(status, text)

    def count(self):
        """Of each test the way to each of its allocations; and the output, and what is wrong."""
        ways = collections.defaultdict(list)
        with tempfile.NamedTemporaryFile("r") as told:
            text, wrong = self.run({"WEIR_NO_MEMORY_TOLD": told.name})
            for line in told:
                test, way = line.split()
                ways[int(test)].append(way)
        return ways, text, wrong

    def fail(self, test, n):
        return self.run({"WEIR_NO_MEMORY_TEST": str(test), "WEIR_NO_MEMORY_AT": str(n)})

    def place(self, text):
        """Which function was refused its memory."""
        at = re.search(r"^no memory: allocation \d+, at (0x[0-9a-f]+)$", text, re.M)
        if at is None:
            return "nowhere"
        line = ["addr2line", "-f", "-i", "-s", "-e", self.path, at[1]]
        return " ".join(subprocess.run(line, check=False, capture_output=True, text=True).stdout.split())


def wrong_with(status, text):
    if status is None:
        return f"it did not end within {ENDS_WITHIN_S} s"
    if WRONG.search(text):
        return WRONG.search(text)[0]
    if status < 0 and not ASSERTED.search(text):
        return f"it died of signal {-status}"
    all_passed = re.search(r"\[       OK \]", text) and not re.search(r"\[  FAILED  \]", text)
    return "it passed, and leaks" if all_passed and LEAKS.search(text) else None


def chosen(ways, generator):
    """(test, n): so many of each way, and some others."""
    of_way = collections.defaultdict(list)
    for test, of_test in sorted(ways.items()):
        for n, way in enumerate(of_test, 1):
            of_way[way].append((test, n))
    picked = set()
    for places in of_way.values():
        generator.shuffle(places)
        places.sort(key=lambda place: len(ways[place[0]]))  # small tests are fast ones
        picked.update(places[:EACH_WAY])
    rest = [place for places in of_way.values() for place in places if place not in picked]
    return sorted(picked) + generator.sample(rest, min(OTHERS, len(rest)))


def report(program, test, n, text, wrong):
    name = re.search(r"\[ RUN      \] (\S+)", text)
    print(f"FAILED: {program.name}: {name[1] if name else test}, allocation {n}, in {program.place(text)}: {wrong}\n"
          f"    LD_PRELOAD={program.environment['LD_PRELOAD']} WEIR_NO_MEMORY_TEST={test} WEIR_NO_MEMORY_AT={n} "
          f"ASAN_OPTIONS={ASAN} {program.path}\n    with WEIR_NO_MEMORY_EXCEPT, see fails.c\n{text[-OUTPUT_END:]}",
          flush=True)


def main():
    library, sources, paths = sys.argv[1], set(os.listdir(sys.argv[2])), sys.argv[3:]
    seed = os.environ.get("WEIR_SEED", "1")
    if seed == "new":
        seed = str(random.randrange(1 << 30))
    print(f"seed {seed}: WEIR_SEED={seed} does the same again", flush=True)
    allocations = runs = wrongs = missed = 0
    workers = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    with tempfile.NamedTemporaryFile("w") as suppressions, workers as pool:
        suppressions.write(LEAKED_BY_OTHERS)
        suppressions.flush()
        programs = [Program(path, library, sources, suppressions.name) for path in paths]
        programs = [program for program in programs if program.name not in LEFT_OUT]
        failing = []
        for program, (ways, text, wrong) in zip(programs, pool.map(Program.count, programs)):
            allocations += sum(map(len, ways.values()))
            if wrong is not None:
                wrongs += 1
                print(f"FAILED: {program.name}, where nothing fails: {wrong}\n{text[-OUTPUT_END:]}", flush=True)
            for test, n in chosen(ways, random.Random(f"{seed} {program.name}")):
                failing.append((program, test, n, pool.submit(program.fail, test, n)))
        for program, test, n, ended in failing:
            text, wrong = ended.result()
            runs += 1
            missed += "no memory: allocation" not in text
            if wrong is not None:
                wrongs += 1
                report(program, test, n, text, wrong)
    print(f"{len(programs)} programs, {allocations} allocations; {runs} failed, one in a run, of which {missed} were "
          f"not come to; {wrongs} wrong ends")
    return 1 if wrongs != 0 or missed == runs else 0


sys.exit(main())
