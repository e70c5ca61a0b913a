#!/usr/bin/env python3
"""The paper's formulas in exact whole numbers, without any code of this project.

Prints lines of: what, m, k, n, argument, value with 25 digits; separated by tabs. They say who is right where a
printed figure of the paper and the SQL functions differ. F_s is computed twice, as the paper defines it, over the
number of bits set, and in closed form; both must be the same fraction. "short" are the paper's sums without their
last term, that all n k hashes fall on different bits: these give what the paper prints in tables 2 and 3.
"""
from decimal import Decimal, getcontext
from fractions import Fraction
from math import comb, floor, log, prod

getcontext().prec = 25

SIZES = [(64, 4), (64, 8), (512, 4), (512, 8), (512, 16), (4096, 4), (4096, 8), (4096, 16)]
OVERLAPS = [(512, 8, 2), (512, 8, 5), (512, 8, 10), (4096, 4, 10), (4096, 8, 5), (4096, 8, 10), (4096, 8, 20),
            (4096, 8, 40), (4096, 16, 20)]
SUM_BITS = 512  # sums over the bits set are taken up to this m: they are long


def show(what, m, k, n, argument, value):
    print("\t".join(map(str, (what, m, k, n, argument, Decimal(value.numerator) / Decimal(value.denominator)))))


def occupied(balls, bins):
    """Ways, of bins^balls, in which the balls occupy i bins, for i = 0 .. min(balls, bins)."""
    ways = [1]
    for _ in range(balls):
        ways = [(ways[i] * i if i < len(ways) else 0) + (ways[i - 1] * (bins - i + 1) if i > 0 else 0)
                for i in range(min(len(ways), bins) + 1)]
    return ways


def element(n, m, k, d):
    """F_s(n, m, k, d) in closed form: inclusion and exclusion over the bits that stay empty."""
    return Fraction(sum((-1)**j * comb(d, j) * (m - j)**(n * k) for j in range(d + 1)), m**(n * k))


def falling(i, d):
    """i (i - 1) ... (i - d + 1)"""
    return prod(range(i - d + 1, i + 1)) if i >= d else 0


def sums(n, m, k, ways):
    """F_s(n, m, k) and F_s(n, m, k, d) for d = k .. k - 3 as the paper defines them, from the ways to set i bits."""
    total = m**(n * k)
    mean = Fraction(sum(w * i**k for i, w in enumerate(ways)), total * m**k)
    return mean, [Fraction(sum(w * falling(i, d) for i, w in enumerate(ways)), total * falling(m, d))
                  for d in range(k, k - 4, -1)]


def standard(n, m, k):
    """F_s in closed form."""
    return sum(Fraction(ways, m**k) * element(n, m, k, d) for d, ways in enumerate(occupied(k, m)) if d > 0)


def no_overlap(balls1, balls2, bins):
    """P(no bin has balls of both colours)."""
    return Fraction(sum(ways * (bins - i)**balls2 for i, ways in enumerate(occupied(balls1, bins))),
                    bins**(balls1 + balls2))


def main():
    for m, k in SIZES:
        for divisor in (1, 2, 4):
            n = floor(m / k * log(2) / divisor)
            show("F_a", m, k, n, divisor, (1 - Fraction(m - 1, m)**(n * k))**k)
            show("F_s", m, k, n, divisor, standard(n, m, k))
            show("F_p", m, k, n, divisor, (1 - Fraction(m - k, m)**n)**k)
            elements = [element(n, m, k, k - c) for c in range(4)]
            for c in range(4):
                show("element", m, k, n, c, elements[c])
            if m <= SUM_BITS:
                ways = occupied(n * k, m)
                assert sums(n, m, k, ways) == (standard(n, m, k), elements)
                if n * k < len(ways):
                    ways[n * k] = 0
                mean, elements = sums(n, m, k, ways)
                show("F_s short", m, k, n, divisor, mean)
                for c in range(4):
                    show("element short", m, k, n, c, elements[c])
        for c in range(4):
            show("collision", m, k, 0, c, Fraction(occupied(k, m)[k - c], m**k))
    for m, k, n in OVERLAPS:
        show("overlap standard", m, k, n, 0, 1 - no_overlap(n * k, n * k, m))
        show("overlap partitioned", m, k, n, 0, (1 - no_overlap(n, n, m // k))**k)


main()
