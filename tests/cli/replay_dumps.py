#!/usr/bin/env python3
"""Makes dumps as PyTorch's Flight Recorder writes them, of trainings that ran well.

    replay_dumps.py SITUATION FOLDER [STEPS]

Made up, all of them: sizes, times and groups are chosen here. A situation is a function below.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ncclwhy_flight import Job  # noqa: E402

STEPS = 6


def step(job, seconds):
    """So long until the next one: a step computes, too."""
    for rank in job.ranks:
        rank.now += int(seconds * 1e9)


def ddp():
    """Two ranks: three buckets and a barrier a step; at the start a broadcast."""
    job = Job(2)
    job.all("0", op="broadcast", sizes=[[1 << 20]])
    for _ in range(STEPS):
        step(job, 2)
        for n in 1 << 18, 1 << 18, 12345:
            job.all("0", sizes=[[n]], duration=400.0)
        job.all("0", op="all_reduce_barrier", sizes=[[1]], duration=0.1)
    return job


def untimed():
    """The same on a slow host: no times of collectives, and a step of ten seconds."""
    job = Job(2, timing=False)
    for _ in range(STEPS):
        step(job, 10)
        for n in 1 << 18, 1 << 17:
            job.all("0", sizes=[[n]])
    return job


def waiting():
    """Rank 1 comes late each time: the others' times hold that, and its own do not."""
    job = Job(2)
    for _ in range(STEPS):
        step(job, 2)
        for n in 1 << 16, 1 << 10:
            job.all("0", ranks=[0], sizes=[[n]], duration=900.0)
            job.all("0", ranks=[1], sizes=[[n]], duration=0.3)
    return job


def singles():
    """Tensor groups of one rank each, as programs make them where they are not split so."""
    job = Job(2, {"1": ("tp", [0]), "2": ("tp", [1])})
    for _ in range(STEPS):
        step(job, 1)
        for tp in "1", "2":
            job.all(tp, sizes=[[64]])
        job.all("0", sizes=[[1 << 16]])
    return job


def measured():
    """All-reduces of 1 MiB and 256 KiB among RANKS ranks, that took THEN_MS milliseconds each."""
    job = Job(int(os.environ["RANKS"]))
    then = [float(ms) for ms in os.environ.get("THEN_MS", "1 1").split()]
    for _ in range(STEPS):
        step(job, 2)
        for n, ms in zip((1 << 18, 1 << 16), then):
            job.all("0", sizes=[[n]], duration=ms)
    return job


def ring():
    """Recorders that keep the last eight collectives only."""
    job = Job(2, size=8)
    for _ in range(STEPS):
        step(job, 1)
        for n in 1 << 16, 1 << 10:
            job.all("0", sizes=[[n]], duration=1.0)
    return job


def quick():
    """Far quicker than any network."""
    job = Job(2)
    for _ in range(STEPS):
        step(job, 0.01)
        for n in 1 << 20, 1 << 19:
            job.all("0", sizes=[[n]], duration=0.0001)
    return job


def grid():
    """Two by two: tensor groups side by side, data groups across; gathers, scatters, tokens."""
    job = Job(4, {"1": ("tp", [0, 1]), "2": ("tp", [2, 3]), "3": ("dp", [0, 2]), "4": ("dp", [1, 3])})
    for _ in range(STEPS):
        step(job, 1)
        for layer in range(4):
            for tp in "1", "2":
                job.all(tp, sizes=[[16, 1024]], dtype="BFloat16", duration=1.0)
        for dp in "3", "4":
            job.all(dp, op="_reduce_scatter_base", sizes=[[1 << 16]], out=[[1 << 15]],
                    duration=2.0)
            job.all(dp, op="_allgather_base", sizes=[[1 << 15]], out=[[1 << 16]], duration=2.0)
        job.all("0", sizes=[[1]], duration=0.1)
    return job


def tensor():
    """Four ranks, two tensor groups that send much and often."""
    job = Job(4, {"1": ("tp", [0, 1]), "2": ("tp", [2, 3])})
    for _ in range(STEPS):
        step(job, 1)
        for _ in range(3):
            for tp in "1", "2":
                job.all(tp, sizes=[[1 << 18]], duration=1.0)
        job.all("0", sizes=[[1]], duration=0.1)
    return job


def pipeline():
    """Three ranks in a row send forward and backward, in batches and one by one."""
    job = Job(3, {"1": ("pp", [0, 1, 2])})
    for _ in range(STEPS):
        step(job, 1)
        for a, b in (0, 1), (1, 2):
            job.ranks[a].message("1", f"send {a}->{b}")
            job.ranks[b].message("1", f"recv {b}<-{a}")
        for a, b in (1, 0), (2, 1):
            job.ranks[a].batch("1", [f"send {a}->{b}"])
            job.ranks[b].batch("1", [f"recv {b}<-{a}"])
        job.all("0", sizes=[[4096]])
    return job


def strange():
    """What nobody knows, what has no tensors, a type without a name, uneven parts."""
    job = Job(2)
    for _ in range(STEPS):
        step(job, 1)
        job.all("0", op="fancy_exchange", sizes=[[8]])
        job.all("0", sizes=[[8]], dtype="QInt32")
        job.all("0", op="all_to_all", sizes=[[1000, 3]], out=[[1001, 3]])
        job.all("0", op="all_gather", sizes=[[7]], out=[[7], [9]])
        job.all("0", op="gather", sizes=[[64]], out=[[64], [64]])
        job.all("0", op="scatter", sizes=[[64], [64]], out=[[64]])
        job.all("0", op="reduce", sizes=[[64]], dtype="Half")
        job.all("0", op="reduce_scatter_tensor_coalesced", sizes=[[6], [10]], out=[[3], [5]])
        job.all("0", op="coalesced", sizes=[], empty=True)
    return job


def unknown():
    """Nothing that could be done again."""
    job = Job(2)
    job.all("0", 4, op="fancy_exchange")
    return job


def missing():
    """Of rank 3 there is no dump."""
    job = grid()
    job.skip = {3}
    return job


def huge():
    """More than any memory has room for."""
    job = Job(2)
    for _ in range(STEPS):
        job.all("0", sizes=[[1 << 36]])
        job.all("0", sizes=[[1 << 10]])
    return job


def long():
    """Fifty calls a step."""
    job = Job(2, size=1 << 20)
    for _ in range(STEPS):
        step(job, 0.1)
        for n in range(1, 50):
            job.all("0", sizes=[[n << 4]])
    return job


if __name__ == "__main__":
    if len(sys.argv) > 3:
        STEPS = int(sys.argv[3])
    globals()[sys.argv[1]]().write(sys.argv[2])
