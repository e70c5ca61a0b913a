#!/usr/bin/env python3
"""Writes golden.h: what the frozen parts of the format must give, computed without any code of this project.

XXH3 comes from the xxhsum program (Debian package xxhash), everything else from Python's whole numbers, after
the text of doc/format.md. Run it only to add vectors: lines already in golden.h must never change.
"""
import os
import struct
import subprocess
import tempfile

M = (1 << 64) - 1


def xxh3(data):
    """Hash of each byte string of a list."""
    with tempfile.TemporaryDirectory() as d:
        names = []
        for i, b in enumerate(data):
            names.append(os.path.join(d, "%05d" % i))
            with open(names[-1], "wb") as f:
                f.write(b)
        out = subprocess.run(["xxhsum", "-H3"] + names, capture_output=True, text=True, check=True).stdout
    # one line a file: XXH3 (name) = hex, or hex and name
    values = []
    for line in out.splitlines():
        if line.startswith("XXH3"):
            values.append(int(line.rsplit("= ", 1)[1], 16))
        else:
            values.append(int(line.split()[0].replace("XXH3_", ""), 16))
    assert len(values) == len(data)
    return values


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M
    return x ^ (x >> 31)


def mix_positions(x):
    x = ((x ^ (x >> 33)) * 0xFF51AFD7ED558CCD) & M
    x = ((x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53) & M
    return x ^ (x >> 33)


def block_of(h, blocks):
    return mix(h) * blocks >> 64


def plain_bit(h, part, w):
    return mix((h + (part + 1) * 0x9E3779B97F4A7C15) & M) * w >> 64


def pattern(n):
    return bytes((i * 37 + n * 11 + 5) & 255 for i in range(n))


def header(flags, kind, parts, blocks, part_bits, target=0.0):
    return struct.pack("<BBBBIId", 1, flags, kind, parts, blocks, part_bits, target)


def blocked(blocks, parts, hashes, kind):
    words = [0] * (blocks * parts)
    for h in hashes:
        for part in range(parts):
            words[block_of(h, blocks) * parts + part] |= 1 << (mix_positions(h) >> 6 * part & 63)
    return header(1, kind, parts, blocks, 64) + struct.pack("<%dQ" % len(words), *words)


def plain(parts, w, hashes, kind):
    stride = (w + 63) // 64
    words = [0] * (parts * stride)
    for h in hashes:
        for part in range(parts):
            bit = plain_bit(h, part, w)
            words[part * stride + bit // 64] |= 1 << bit % 64
    return header(0, kind, parts, 1, w) + struct.pack("<%dQ" % len(words), *words)


def sparse(hashes, kind, target):
    s = sorted(set(hashes))
    return header(2, kind, 0, len(s), 0, target) + struct.pack("<%dQ" % len(s), *s)


def main():
    out = ["/* golden.h: written by golden.py; values of the frozen format. Lines are added, never changed. */", ""]
    lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 64, 65, 96, 127, 128, 129, 160, 200, 239,
               240, 241, 255, 256, 257, 300]
    every = xxh3([pattern(n) for n in range(301)])
    out.append("/* XXH3 of n bytes, byte i = 37 * i + 11 * n + 5 */")
    out.append("static const struct { unsigned n; uint64_t h; } golden_hash[] = {")
    out += ["\t{%d, UINT64_C(0x%016x)}," % (n, every[n]) for n in lengths]
    out += ["};", ""]
    total = 0
    for h in every:
        total = (total * 0x9E3779B97F4A7C15 + h) & M
    out += ["/* All lengths 0 .. 300: sum = sum * 0x9e3779b97f4a7c15 + hash */",
            "static const uint64_t golden_hash_sum = UINT64_C(0x%016x);" % total, ""]

    ints = [0, 1, -1, 2, 42, 1000000007, -(1 << 63), (1 << 63) - 1]
    out.append("static const struct { int64_t value; uint64_t h; } golden_int64[] = {")
    for v, h in zip(ints, xxh3([struct.pack("<q", v) for v in ints])):
        name = "INT64_MIN" if v == -(1 << 63) else "INT64_C(%d)" % v
        out.append("\t{%s, UINT64_C(0x%016x)}," % (name, h))
    out += ["};", ""]

    out.append("/* h, blocks, block, positions of parts 0 .. 7 */")
    out.append("static const struct { uint64_t h; uint32_t blocks; uint32_t block; uint8_t bit[8]; } golden_blocked[] = {")
    hs = [0, 1, 2, 0x0123456789ABCDEF, 0x8000000000000000, M] + every[:4]
    for h in hs:
        for blocks in (1, 3, 1000, 8388607, 4294967295):
            bits = [mix_positions(h) >> 6 * i & 63 for i in range(8)]
            out.append("\t{UINT64_C(0x%016x), %du, %du, {%s}}," % (h, blocks, block_of(h, blocks), ", ".join(map(str, bits))))
    out += ["};", ""]

    out.append("static const struct { uint64_t h; uint32_t part; uint32_t part_bits; uint32_t bit; } golden_plain[] = {")
    for h in hs:
        for part, w in ((0, 1), (0, 1000), (1, 64), (6, 65537), (13, 4294967295), (63, 12345)):
            out.append("\t{UINT64_C(0x%016x), %du, %du, %du}," % (h, part, w, plain_bit(h, part, w)))
    out += ["};", ""]

    keys = xxh3([struct.pack("<q", i) for i in range(1, 9)])
    out.append("/* Filters of the whole numbers 1 .. 8, in external form */")
    for name, b in (("blocked_3x8", blocked(3, 8, keys, 2)), ("blocked_2x3", blocked(2, 3, keys, 2)),
                    ("plain_5x100", plain(5, 100, keys, 2)), ("plain_1x64", plain(1, 64, keys, 2)),
                    ("plain_3x7", plain(3, 7, keys[:2], 2)), ("sparse_8", sparse(keys, 2, 0.01)),
                    ("sparse_zero", sparse([0] + keys[:3], 1, 0.001)), ("empty_1x8", blocked(1, 8, [], 0))):
        out.append("static const char golden_%s[] =" % name)
        hx = b.hex()
        chunks = [hx[i:i + 96] for i in range(0, len(hx), 96)]
        out += ['\t"%s"%s' % (c, ";" if i == len(chunks) - 1 else "") for i, c in enumerate(chunks)]
        out.append("")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.h")
    with open(path, "w") as f:
        f.write("\n".join(out).rstrip() + "\n")
    subprocess.run(["clang-format", "-i", path], check=True)


main()
