"""Reads "SIZE OURS OPENMPI GLOO" lines (microseconds, - where a peer is missing) from stdin;
prints medians and, per size, the ratio of times ours / theirs: to Open MPI, to Gloo, to the
better of both in each round. Usage: ratios.py RANKS"""
import math, statistics, sys

ranks = int(sys.argv[1])
rounds = {}
for line in sys.stdin:
    size, *times = line.split()
    rounds.setdefault(int(size), []).append([float(t) if t != "-" else math.nan for t in times])


def median(values):
    known = [v for v in values if not math.isnan(v)]
    return statistics.median(known) if known else math.nan


print(f"{'bytes':>10} {'ours us':>10} {'OpenMPI us':>10} {'Gloo us':>10} {'busbw GB/s':>10} "
      f"{'/OpenMPI':>8} {'/Gloo':>6} {'/best':>6} (range)")
logs = []
for size, rows in sorted(rounds.items()):
    ours, mpi, gloo = zip(*rows)
    best = sorted(o / min(t for t in (m, g) if not math.isnan(t)) for o, m, g in rows)
    logs.append(math.log(statistics.median(best)))
    bus = size / 1e3 * 2 * (ranks - 1) / ranks / median(ours)
    print(f"{size:>10} {median(ours):>10.1f} {median(mpi):>10.1f} {median(gloo):>10.1f} {bus:>10.2f} "
          f"{median([a / b for a, b in zip(ours, mpi)]):>8.2f} "
          f"{median([a / b for a, b in zip(ours, gloo)]):>6.2f} "
          f"{statistics.median(best):>6.2f} ({best[0]:.2f}-{best[-1]:.2f})")
print(f"geometric mean of /best: {math.exp(statistics.fmean(logs)):.2f}")
