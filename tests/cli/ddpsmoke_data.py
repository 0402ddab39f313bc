#!/usr/bin/env python3
"""Small data sets in the exact formats of MNIST, CIFAR-10 and STL-10, which can be
learned: the place of a bright square is the label.  ddpsmoke_data.py KIND DIR [SEED]"""
import os
import random
import struct
import sys


def image(rng, side, label):
    """Rows of bytes: noise, and a square in one of ten places."""
    cell = side // 4
    top, left = label // 4 * cell, label % 4 * cell
    return [bytes(rng.randrange(180, 256) if top <= y < top + cell and left <= x < left + cell
                  else rng.randrange(0, 80) for x in range(side)) for y in range(side)]


def by_column(rows):
    return bytes(rows[y][x] for x in range(len(rows)) for y in range(len(rows)))


def write(folder, name, *parts):
    with open(os.path.join(folder, name), "wb") as f:
        for part in parts:
            f.write(part)


def mnist(folder, rng):
    for name, n in (("train", 640), ("t10k", 100)):
        labels = [rng.randrange(10) for _ in range(n)]
        write(folder, f"{name}-labels-idx1-ubyte", struct.pack(">II", 0x801, n), bytes(labels))
        write(folder, f"{name}-images-idx3-ubyte", struct.pack(">IIII", 0x803, n, 28, 28),
              *(b"".join(image(rng, 28, y)) for y in labels))


def cifar10(folder, rng):
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        write(folder, name, *(bytes([y]) + b"".join(image(rng, 32, y)) * 3
                              for y in (rng.randrange(10) for _ in range(128))))


def stl10(folder, rng):
    for name, n in (("train", 160), ("test", 40)):
        labels = [rng.randrange(10) for _ in range(n)]
        write(folder, f"{name}_y.bin", bytes(y + 1 for y in labels))
        write(folder, f"{name}_X.bin", *(by_column(image(rng, 96, y)) * 3 for y in labels))


os.makedirs(sys.argv[2], exist_ok=True)
{"mnist": mnist, "cifar10": cifar10, "stl10": stl10}[sys.argv[1]](
    sys.argv[2], random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1))
