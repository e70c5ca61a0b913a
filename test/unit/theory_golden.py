#!/usr/bin/env python3
"""Writes theory_golden.h: what the formulas of theory.h must give, computed without any code of this project.

The closed forms are evaluated as they stand, alternating signs and all, in exact whole numbers where these have
less than 10,000 bits, otherwise with 1000 decimal digits, at most 600 of which cancel. Both ways are
compared where both are possible. theory.c works in another way, so an error of one is not one of the other.

With --dense the grid is finer: theory_golden.py --dense >theory_golden.h; make run ONLY=theory
"""
import decimal
import itertools
import sys
from decimal import Decimal
from fractions import Fraction
from math import comb, log2

decimal.setcontext(decimal.Context(prec=1000, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX))

MAX_BITS = 10000
SMALLEST = Decimal("1e-280")  # what theory.h promises its accuracy for


def power(base, exponent):
    """A fraction to a large power, as a Decimal."""
    if exponent == 0:
        return Decimal(1)
    if base == 0:
        return Decimal(0)
    return ((Decimal(base.numerator) / Decimal(base.denominator)).ln() * exponent).exp()


def powers(bases, exponent):
    """Each of the fractions to that power: exact if that is feasible."""
    bits = max(log2(max(b.denominator, 2)) for b in bases) * exponent
    if bits > MAX_BITS:
        return [power(b, exponent) for b in bases]
    exact = [b**exponent for b in bases]
    for b, e in zip(bases[1:3], exact[1:3]):
        assert abs(decimal_of(e) - power(b, exponent)) < Decimal("1e-900"), (b, exponent)
    return exact


def decimal_of(x):
    return x if isinstance(x, Decimal) else Decimal(x.numerator) / Decimal(x.denominator)


def alternating(d, terms):
    return sum((-1) ** j * comb(d, j) * terms[j] for j in range(d + 1))


def distinct(m, k):
    """P(k hashes give d distinct positions) for d = 0 .. k, by inclusion and exclusion."""
    def surjections(d):
        return sum((-1) ** j * comb(d, j) * (d - j) ** k for j in range(d + 1))
    return [Fraction(comb(m, d) * surjections(d), m**k) for d in range(k + 1)]


def standard(n, m, k):
    """F_s(n, m, k) and the list of F_s(n, m, k, d)."""
    top = min(k, m)
    empty = powers([Fraction(m - j, m) for j in range(top + 1)], n * k)
    elements = [alternating(d, empty) for d in range(top + 1)]
    share = distinct(m, k)
    if isinstance(empty[0], Decimal):
        share = [decimal_of(s) for s in share]
    return sum(s * e for s, e in zip(share, elements)), elements


def blocked(n, blocks, k, w):
    s = Fraction(w - 1, w)
    return alternating(k, powers([1 - (1 - s**j) / blocks for j in range(k + 1)], n))


def plain(n, k, fill_base):
    """(1 - fill_base^n)^k"""
    return (1 - decimal_of(powers([Fraction(1), fill_base], n)[1])) ** k


def row(name, *args):
    value = decimal_of(args[-1])
    assert 0 <= value <= 1, (name, args[:-1])
    if value == 0 or value >= SMALLEST:
        print("    {%s, {%s}, %s}," % (name, ", ".join("%d" % a for a in args[:-1]), repr(float(value))))


def main(dense):
    n_grid = [0, 1, 2, 5, 11, 88, 1000, 10**6, 10**9]
    m_grid = [1, 2, 3, 64, 65, 512, 4096, 10**6, 10**9]
    k_grid = [1, 2, 4, 8, 16, 64]
    if dense:
        n_grid += [3, 7, 22, 44, 355, 3 * 10**4, 5 * 10**7]
        m_grid += [5, 17, 33, 96, 255, 2**15, 2**24, 2**30 - 1]
        k_grid += [3, 7, 31, 33, 48, 63]
    print("/* theory_golden.h: written by theory_golden.py: function, arguments, value. */")
    print("static const TheoryValue theory_golden[] = {")
    for i, (n, m, k) in enumerate(itertools.product(n_grid, m_grid, k_grid)):
        if not dense and (i * 7 // 3) % 3 == 0 and max(n, m) > 4096:
            continue
        total, elements = standard(n, m, k)
        row("STANDARD", n, m, k, total)
        for d in sorted({1, (k + 1) // 2, k - 1, k} - {0}) if dense or i % 4 == 0 else [k]:
            if d <= m:
                row("ELEMENT", n, m, k, d, elements[d])
        if dense or i % 5 == 0:
            row("APPROX", n, m, k, plain(n * k, k, Fraction(m - 1, m)))
            if m >= k:
                row("PARTITIONED", n, m, k, plain(n, k, Fraction(m - k, m)))
                row("OVERLAP_PARTITIONED", n, 3, m, k, plain(3 * n, k, Fraction(m - k, m)))
            row("OVERLAP_STANDARD", n, 3, m, k, plain(3 * n * k * k, 1, Fraction(m - 1, m)))
    for m, k in itertools.product(m_grid, k_grid):
        share = distinct(m, k)
        for c in sorted({0, 1, 2, 3, k - 1}):
            if c < k:
                row("COLLISION", m, k, c, share[k - c])
    for i, (n, b, k, w) in enumerate(itertools.product(
            [0, 1, 40, 3000, 10**6, 10**9], [1, 2, 100, 10**7, 10**9], [1, 3, 8, 64], [1, 2, 64, 4096, 10**9])):
        if dense or i % 4 == 0:
            row("BLOCKED", n, b, k, w, blocked(n, b, k, w))
    print("};")


main("--dense" in sys.argv[1:])
