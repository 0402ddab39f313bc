#!/usr/bin/env python3
"""Makes dumps as PyTorch's Flight Recorder writes them, of jobs that went wrong.

    ncclwhy_flight.py SITUATION[@TORCH] FOLDER [FORM]

FORM: see flight_dumps.py. A situation is a function below; TORCH is the version of PyTorch whose
numbers some of them have.
"""
import os
import sys
import time

from flight_dumps import SECOND, Job, encode

TP = {"1": ("tp", [0, 1, 2, 3])}


def healthy():
    job = Job(4, TP)
    job.all("0", 20)
    job.all("1", 30)
    return job


def absent():
    """Rank 3 never comes to #31 of tp."""
    job = Job(4, TP)
    job.all("0", 20)
    job.all("1", 29)
    job.ranks[3].call("1", op="broadcast", at=("load", 41))
    for r in 0, 1, 2:
        job.ranks[r].call("1", op="broadcast", at=("load", 41))
        job.ranks[r].call("1", state="started")
    return job


def absent_untimed():
    job = Job(4, TP, timing=False)
    job.all("1", 30)
    job.all("1", ranks=[0, 1, 2], state="scheduled")
    return job


def absent_chain():
    """Ranks 0-2 wait for rank 3 in tp, which waits in dp for rank 7, which waits for nobody."""
    job = Job(8, {"1": ("tp", [0, 1, 2, 3]), "2": ("dp", [3, 7])})
    job.all("0", 5)
    job.all("1", 10)
    job.all("2", 10)
    job.all("1", ranks=[0, 1, 2], state="started")
    job.all("2", ranks=[3], state="started", at=("sync", 120))
    return job


def other_op():
    """Rank 2 leaves one all_reduce out, and meets the next barrier with it."""
    job = Job(4)
    job.all("0", 20)
    job.all("0", ranks=[0, 1, 3], state="started")
    job.all("0", ranks=[2], op="barrier", state="started", at=("save", 140), sizes=[[1]])
    return job


def other_size():
    job = Job(4)
    job.all("0", 20)
    job.all("0", ranks=[0, 1, 2], state="started", sizes=[[64, 128]])
    job.all("0", ranks=[3], state="started", sizes=[[17, 128]])
    return job


def other_type():
    job = Job(2)
    job.all("0", 20)
    job.all("0", ranks=[0], state="started")
    job.all("0", ranks=[1], state="started", dtype="BFloat16")
    return job


def uneven_split():
    """all_to_all with splits that do not add up."""
    job = Job(2)
    job.all("0", 3)
    job.ranks[0].call("0", op="all_to_all", state="started", sizes=[[10, 4]], out=[[12, 4]])
    job.ranks[1].call("0", op="all_to_all", state="started", sizes=[[10, 4]], out=[[10, 4]])
    return job


def uneven_healthy():
    """What may differ from rank to rank, and does."""
    job = Job(2)
    for r, (give, take) in enumerate((([[10, 4]], [[12, 4]]), ([[12, 4]], [[10, 4]]))):
        job.ranks[r].call("0", op="all_to_all", sizes=give, out=take)
        job.ranks[r].call("0", op="gather", sizes=[[3]], out=[[3], [3]] if r == 0 else [])
        job.ranks[r].call("0", op="scatter", sizes=[[3], [3]] if r == 0 else [], out=[[3]])
        job.ranks[r].batch("0", [f"send {r}->{1 - r}", f"recv {r}<-{1 - r}"])
        job.ranks[r].message("0", "send 0->1" if r == 0 else "recv 1<-0")
        job.ranks[r].call("0")
    return job


def crossing():
    """Ranks 0 and 1 of two groups, each in the other order."""
    job = Job(2, {"1": ("tp", [0, 1]), "2": ("dp", [0, 1])})
    job.all("0", 3)
    job.all("1", ranks=[0], state="started", at=("forward", 50))
    job.all("2", ranks=[1], state="started", at=("sync", 120))
    return job


def crossing_queued():
    """The same, where both were queued: the GPUs run them in different orders."""
    job = Job(2, {"1": ("tp", [0, 1]), "2": ("dp", [0, 1])})
    job.all("0", 3)
    for r, order in enumerate((("1", "2"), ("2", "1"))):
        for group, state in zip(order, ("started", "scheduled")):
            job.ranks[r].call(group, state=state)
    return job


def send_alone():
    job = Job(2, {"1": ("pp", [0, 1])})
    job.all("0", 5)
    for r in range(2):
        job.ranks[r].message("1", "send 0->1" if r == 0 else "recv 1<-0")
    job.ranks[0].message("1", "send 0->1", state="started")
    return job


def send_sizes():
    job = Job(2, {"1": ("pp", [0, 1])})
    job.all("0", 5)
    job.ranks[0].message("1", "send 0->1", state="started", sizes=[[8, 512]])
    job.ranks[1].message("1", "recv 1<-0", state="started", sizes=[[8, 256]])
    return job


def send_both():
    """Both send first."""
    job = Job(2, {"1": ("pp", [0, 1])})
    for r in range(2):
        job.ranks[r].message("1", f"send {r}->{1 - r}", state="started")
    return job


def batch_alone():
    """A batch whose peer never came; batches before it were complete."""
    job = Job(2)
    for r in range(2):
        job.ranks[r].batch("0", [f"send {r}->{1 - r}", f"recv {r}<-{1 - r}"])
    job.ranks[1].batch("0", ["send 1->0", "recv 1<-0"], state="started")
    return job


def batches_healthy(marked=False):
    """Two of four ranks send in batches between the collectives of all."""
    job = Job(4, {"1": ("pp", [0, 1, 2, 3])})
    job.marked_ends = marked
    for _ in range(3):
        job.all("1")
        for r in range(2):
            job.ranks[r].batch("1", [f"send {r}->{1 - r}", f"recv {r}<-{1 - r}"])
    return job


def batches_marked():
    return batches_healthy(True)


def batches_then_absent():
    """... and rank 3 does not come to the next collective."""
    job = batches_healthy()
    job.all("1", ranks=[0, 1, 2], state="started")
    return job


def pipeline(torch, size=2000):
    """A pipeline's ends send in fewer batches than its middle, and once alone, between the
    collectives of all."""
    job = Job(4, {"1": ("pp", [0, 1, 2, 3])}, size=size)
    job.torch = torch
    for _ in range(8):
        for a in range(3):
            job.ranks[a].batch("1", [f"send {a}->{a + 1}"])
            job.ranks[a + 1].batch("1", [f"recv {a + 1}<-{a}"])
        job.ranks[1].message("1", "send 1->2")
        job.ranks[2].message("1", "recv 2<-1")
        job.all("1")
        job.all("1", op="broadcast")
    return job


def pipeline_unfinished(torch):
    job = pipeline(torch)
    job.all("1", state="started")
    return job


def pipeline_absent(torch):
    job = pipeline(torch)
    job.all("1", ranks=[0, 1, 3], state="started")
    return job


def pipeline_small(torch):
    """What came before has fallen off: nobody can tell any more which number is which."""
    job = pipeline(torch, size=20)
    job.all("1", ranks=[0, 1, 3], state="started")
    return job


def pipeline_batch(torch):
    """Rank 2 receives in a batch what nobody sends, behind messages of its own."""
    job = pipeline(torch)
    job.ranks[1].message("1", "send 1->2")
    job.ranks[2].message("1", "recv 2<-1")
    job.ranks[2].batch("1", ["recv 2<-1"], state="started")
    return job


def send_early():
    """The send is complete before the other side takes it, whose GPU is busy."""
    job = Job(2, {"1": ("pp", [0, 1])})
    job.all("0", 5)
    job.ranks[0].message("1", "send 0->1")
    job.ranks[1].message("1", "recv 1<-0", state="scheduled")
    return job


def other_shape():
    """One size in two shapes, which NCCL does not mind; rank 2 is away."""
    job = Job(3)
    job.all("0", 5)
    for r, shape in enumerate(([4096], [64, 64])):
        job.ranks[r].call("0", op="broadcast", state="started", sizes=[shape])
    return job


def absent_and_missing():
    """Rank 5 did not come; of rank 3 there is no dump."""
    job = Job(8)
    job.all("0", 5)
    job.all("0", ranks=[0, 1, 2, 4, 6, 7], state="started")
    job.skip = {3}
    return job


def send_meets_collective():
    """Rank 0 sends; rank 1 is in a collective instead."""
    job = Job(2, {"1": ("pp", [0, 1])})
    job.all("0", 4)
    job.ranks[0].message("1", "send 0->1", state="started")
    job.all("0", ranks=[1], state="started", op="barrier")
    return job


def unbegun():
    job = Job(4)
    job.all("0", 20)
    job.all("0", state="scheduled")
    return job


def unbegun_one():
    """Rank 2's GPU is busy with something else."""
    job = Job(4)
    job.all("0", 20)
    job.all("0", ranks=[0, 1, 3], state="started")
    job.all("0", ranks=[2], state="scheduled")
    return job


def unfinished():
    job = Job(4)
    job.all("0", 20)
    job.all("0", state="started")
    return job


def unfinished_untimed():
    job = Job(4, timing=False)
    job.all("0", 20)
    job.all("0", state="scheduled")
    return job


def missing():
    job = absent()
    job.skip = {3}
    return job


def small():
    """Rank 1 did much in another group since: what it did in tp is gone."""
    job = Job(2, {"1": ("tp", [0, 1]), "2": ("own", [1])}, size=100)
    job.all("1", 10)
    job.all("1", ranks=[0], state="started")
    job.all("1", ranks=[1], state="completed", op="all_reduce")
    job.all("2", 400)
    return job


def small_messages():
    """Rank 1 sent much since: its watchdog's number is that of a message, not of a collective."""
    job = Job(3, {"1": ("tp", [0, 1]), "2": ("pp", [1, 2])}, size=100)
    job.all("1", 300)
    job.all("1", ranks=[0], state="started")
    for _ in range(60):
        job.ranks[1].message("1", "send 1->0")
        job.ranks[1].message("2", "send 0->1")
        job.ranks[2].message("2", "recv 1<-0")

    def dump_of(r, inner=job.dump_of):
        dump = inner(r)
        if r == 1:
            dump["pg_status"]["1"]["last_enqueued_collective"] = 60
        return dump

    job.dump_of = dump_of
    return job


def straggler():
    job = Job(4, TP)
    for _ in range(20):
        for r in range(4):
            job.ranks[r].call("1", duration=2.0 if r == 2 else 40.0)
    return job


def old_layout():
    """As PyTorch 2.2 wrote: one number for all, no list of groups."""
    job = absent()

    def dump_of(r, inner=job.dump_of):
        dump = inner(r)
        for e in dump["entries"]:
            e["seq_id"] = e.pop("collective_seq_id")
            for key in "p2p_seq_id", "is_p2p", "process_group", "op_id", "timeout_ms":
                del e[key]
        return {"version": "1.5", "entries": dump["entries"]}

    job.dump_of = dump_of
    return job


def under_way():
    """Nothing hangs: it was dumped while it ran."""
    job = absent()
    late = int(time.time()) * SECOND - max(r.now for r in job.ranks)
    for r in job.ranks:
        for e in r.entries:
            e["time_created_ns"] += late
    return job


def large():
    """As many as a big job has: see SIZE, RANKS."""
    ranks, size = int(os.environ.get("RANKS", "8")), int(os.environ.get("SIZE", "2000"))
    groups = {str(i + 1): (f"tp{i}", list(range(8 * i, 8 * i + 8))) for i in range(ranks // 8)}
    job = Job(ranks, groups)
    for i in range(size // 2):
        for r in range(ranks):
            job.ranks[r].call("0", at=("step", i % 200))
            job.ranks[r].call(str(r // 8 + 1), at=("forward", i % 150))
    job.all("0", ranks=[r for r in range(ranks) if r != 5], state="started")
    return job


if __name__ == "__main__":
    situation, folder, *form = sys.argv[1:]
    how, _, version = situation.partition("@")
    more = [tuple(int(part) for part in version.split("."))] if version else []
    globals()[how](*more).write(folder, *(form or ["torch"]))
