#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""arrivals_rows.py > arrivals_rows.h: what test/unit/arrivals_test.c holds arrivals at random against.

Logarithms and quantiles are mpmath's (pip install mpmath).  The starts are those of the definition in core/arrivals.h,
written once more; doc/algorithms.md shows it.  --tables prints the tables of core/arrivals.c."""
import random
import sys

import mpmath

mpmath.mp.prec = 200
M = 2**64 - 1


# ---- the definition ----
def ln(x, bits):
    return int(mpmath.nint(mpmath.log(x) * 2**bits))


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M
    return z ^ z >> 31


def log(u):
    zeros = 64 - u.bit_length()
    u <<= zeros
    factor = (128 << 14) // (65 + (u >> 57) % 64)
    d = 2**63 - (u * (factor << 49) >> 64) << 7
    s = 0
    for j in range(9, 0, -1):
        s = 2**62 // j + (d * s >> 70)
    return (zeros * ln(2, 64) >> 6) + ln(mpmath.mpf(factor) / 2**14, 58) + (d * s >> 74)


def gap(seed, k, scale):
    h = mix(mix(seed) + k * 0x9E3779B97F4A7C15 & M) | 1
    return log(h) + ((h * 0xD1342543DE82EF95 & M) >> 6 + scale) >> 58 - scale


def starts(permits, period_ns, seed, count):
    """In ns from the first, for permits / period_ns in lowest terms."""
    scale, tick = (-(-period_ns // permits) - 1).bit_length(), 0
    for k in range(count):
        tick += gap(seed, k, scale) if k > 0 else 0
        yield -(-tick * period_ns // (permits << scale))


# ---- rows ----
def poisson_999(mean):
    """The least n that a Poisson number is above with a probability of 1/1000 at most; mean in 2^-20."""
    m, n, tails, tail = mpmath.mpf(mean) / 2**20, mean >> 20, [], mpmath.mpf(0)
    p = mpmath.exp(n * mpmath.log(m) - m - mpmath.loggamma(n + 1)) if mean else mpmath.mpf(1)
    while p > mpmath.mpf(10) ** -30:
        p *= m / (n + 1 + len(tails))
        tails.append(p)
    while tails and tail + tails[-1] <= mpmath.mpf(1) / 1000:
        tail += tails.pop()
    return n + len(tails)


def print_rows(name, kind, rows, per_line):
    print(f"\nstatic const struct {kind} {name}[] = {{")
    for i in range(0, len(rows), per_line):
        print("    " + ", ".join(rows[i : i + per_line]) + ",")
    print("};")


def print_tables():
    factors = [(128 << 14) // (65 + i) for i in range(64)]
    print(", ".join(str(f) for f in factors))
    print(", ".join(f"0x{ln(mpmath.mpf(f) / 2**14, 58):016x}" for f in factors))
    print(", ".join(f"0x{2**62 // j:016x}" for j in range(9, 0, -1)))


def main():
    pick = random.Random(1)
    borders = [b + by for i in range(65) for b in [(64 + i) << 57] for by in (-1, 0, 1) if 0 < b + by <= M]
    any_size = [pick.getrandbits(64) >> pick.randrange(64) or 1 for _ in range(200)]
    rounded = [0xB3676320ADD10C47, 0xECA0056B6A15BF3A, 0xBE5B4815A2E7AAF7]  # by the last bit of 1, of 1/2, of 1/3
    us = sorted(set([1, 2, 3, M - 2, M - 1, M] + borders + any_size + rounded))
    means = [0, 1, 524, 1048, 1049, 10486, 524288, 2**20, 2**21, 5 << 20, 11 * 10**6, 100 << 20, 999 << 20, 1000 << 20]
    means += [10**4 << 20, 123456789012, 10**6 << 20, 10**8 << 20]
    print("/* SPDX-License-Identifier: MIT")
    print("   Made by arrivals_rows.py: u, -ln(u / 2^64) in 2^-58, and how far the definition's is off;")
    print("   99.9 % quantiles; starts by the definition. */")
    print("/* clang-format off */")
    logs = [(u, -ln(mpmath.mpf(u) / 2**64, 58)) for u in us]
    print_rows("logs", "log_row", [f"{{0x{u:016x}, 0x{exact:016x}, {log(u) - exact}}}" for u, exact in logs], 2)
    print_rows("quantiles", "quantile_row", [f"{{UINT64_C({m}), {poisson_999(m)}}}" for m in means], 3)
    rates = [("1000/s", 1, 10**6, 7), ("1000/s", 1, 10**6, 8), ("3/s", 3, 10**9, 0), ("50000000/s", 1, 20, 1)]
    rates += [("1G/s", 1, 1, 1), ("7/min", 7, 6 * 10**10, M), ("1/year", 1, 31536 * 10**12, 1)]
    rows = []
    for text, permits, period_ns, seed in rates:
        ns = list(starts(permits, period_ns, seed, 6))
        rows.append(f'{{"{text} arrivals=poisson seed={seed}",\n     {{' + ", ".join(map(str, ns)) + "}}")
    print_rows("starts", "start_row", rows, 1)


if __name__ == "__main__":
    print_tables() if sys.argv[1:] == ["--tables"] else main()
