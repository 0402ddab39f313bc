"""Reads "SIZE OURS THEIRS" lines (microseconds) from stdin; prints medians and ratios per size.
Usage: ratios.py RANKS"""
import math, statistics, sys

ranks = int(sys.argv[1])
rounds = {}
for line in sys.stdin:
    size, ours, theirs = line.split()
    rounds.setdefault(int(size), []).append((float(ours), float(theirs)))

print(f"{'bytes':>10} {'ours us':>11} {'Open MPI us':>12} {'busbw GB/s':>11} {'theirs':>7} "
      f"{'time ratio':>10} {'(range)':>13}")
logs = []
for size, pairs in sorted(rounds.items()):
    ratios = sorted(a / b for a, b in pairs)
    ratio = statistics.median(ratios)
    logs.append(math.log(ratio))
    a, b = (statistics.median(x) for x in zip(*pairs))
    bus = size / 1e3 * 2 * (ranks - 1) / ranks
    print(f"{size:>10} {a:>11.1f} {b:>12.1f} {bus / a:>11.2f} {bus / b:>7.2f} {ratio:>10.2f} "
          f"({ratios[0]:.2f}-{ratios[-1]:.2f})".rjust(0))
print(f"geometric mean of the ratios: {math.exp(statistics.fmean(logs)):.2f}")
