#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vectors.py SOCKET FILE: the vectors of slots (test/vectors/slots), asked of the module and of the functions.

The engine has the module with a clock that is set, and functions whose clock is the key weir:test:now.  Each case is
asked twice, and once more by both in turns at the same keys.
"""
import json
import socket
import sys


class Engine:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.read()

    def read(self):
        line = self.file.readline().rstrip()
        kind, rest = line[:1], line[1:].decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return rest  # a status, or an error


def take(engine, module, text, keys, step):
    if module:
        words = ["WEIR.TAKE", text] + " AND ".join(keys).split() + ["COST", step["n"]]
    else:
        words = ["FCALL", "weir_take", len(keys)] + keys + [text, step["n"]]
    answer = engine.ask(*words + (["PEEK"] if step["op"] == "peek" else []))
    if not isinstance(answer, list) or len(answer) != 9:
        return {"answer": answer}, None
    found = {"allowed": answer[0] == "allow", "never": answer[0] == "never"}
    if found["allowed"]:
        found["remaining"] = answer[2]
    elif not found["never"]:
        found["retry_after_ns"] = answer[4] if module else answer[4] * 1000
    return found, answer[8]


def hold(engine, module, text, keys, op, held):
    if module:
        return {"done": engine.ask("WEIR." + op.upper(), text, *" AND ".join(keys).split() + [held]) == 1}
    return {"done": engine.ask("FCALL", "weir_" + op, len(keys), *keys + [text, held]) == 1}


def run(engine, case, way):
    text, ids = case["limiter"]["text"], []
    keys = ["{%s %s}:%d" % (case["name"].replace(" ", "-"), way, i) for i in range(text.count(";") + 1)]
    keys = [key.replace(" ", "-") for key in keys]
    for number, step in enumerate(case["steps"]):
        module = way == "module" or (way == "both" and number % 2 == 0)
        now = 4102444800000000 + step["t_ns"] // 1000
        engine.ask("WEIR.CLOCK", now)
        engine.ask("SET", "weir:test:now", now)
        if step["op"] in ("try", "peek"):
            found, held = take(engine, module, text, keys, step)
            if held is not None:
                ids.append(held)
        else:
            found = hold(engine, module, text, keys, step["op"], ids[step["id"]])
        if found != step["expect"]:
            sys.exit("%s, %s, step %d: %s, expected %s" % (case["name"], way, number, found, step["expect"]))
    return len(case["steps"])


def main():
    engine, steps = Engine(sys.argv[1]), 0
    with open(sys.argv[2], encoding="ascii") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        for way in ("module", "functions", "both"):
            steps += run(engine, case, way)
    print("%d steps as the vectors have them" % steps)


main()
