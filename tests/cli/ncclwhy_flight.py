#!/usr/bin/env python3
"""Makes dumps as PyTorch's Flight Recorder writes them, of jobs that went wrong.

    ncclwhy_flight.py SITUATION FOLDER [FORM]

FORM: torch (as its C++ Pickler writes), 2 to 5 (a protocol of Python's pickle),
json. A situation is a function below.
"""
import json
import os
import pickle
import struct
import sys
import time

SECOND = 10**9
BEGAN = int(time.time()) * SECOND - 3600 * SECOND
LIBRARY = "/opt/venv/lib/python3.12/site-packages/torch/distributed/"


class TorchPickler:
    """The operations that torch::jit::Pickler uses, in its manner: protocol 2, texts remembered
    by value, objects that are shared by identity, a type tag around every dict and list."""

    def __init__(self):
        self.out, self.next, self.texts, self.objects, self.names = [b"\x80\x02"], 0, {}, {}, {}

    def put(self):
        n, self.next = self.next, self.next + 1
        self.out.append(b"q" + bytes([n]) if n < 256 else b"r" + struct.pack("<I", n))
        return n

    def get(self, n):
        self.out.append(b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n))

    def name(self, module, name):
        key = f"{module}\n{name}\n"
        if key in self.names:
            return self.get(self.names[key])
        self.out.append(b"c" + key.encode())
        self.names[key] = self.put()

    def text(self, s):
        if s in self.texts:
            return self.get(self.texts[s])
        data = s.encode()
        self.out.append(b"X" + struct.pack("<I", len(data)) + data)
        self.texts[s] = self.put()

    def whole(self, n):
        if 0 <= n < 256:
            self.out.append(b"K" + bytes([n]))
        elif 0 <= n < 65536:
            self.out.append(b"M" + struct.pack("<H", n))
        elif -2**31 <= n < 2**31:
            self.out.append(b"J" + struct.pack("<i", n))
        else:
            self.out.append(b"\x8a\x08" + struct.pack("<q", n))

    def container(self, v):
        if isinstance(v, list) and v and all(type(x) is int for x in v):
            self.name("torch.jit._pickle", "build_intlist")
            self.out.append(b"(](")
            for x in v:
                self.whole(x)
            self.out.append(b"etR")
            return
        self.name("torch.jit._pickle", "restore_type_tag")
        self.out.append(b"}(" if isinstance(v, dict) else b"](")
        for x in (y for kv in v.items() for y in kv) if isinstance(v, dict) else v:
            self.value(x)
        self.out.append(b"u" if isinstance(v, dict) else b"e")
        self.text("Dict[Any, Any]" if isinstance(v, dict) else "List[Any]")
        self.out.append(b"\x86R")

    def value(self, v):
        if v is None:
            self.out.append(b"N")
        elif isinstance(v, bool):
            self.out.append(b"\x88" if v else b"\x89")
        elif isinstance(v, int):
            self.whole(v)
        elif isinstance(v, float):
            self.out.append(b"G" + struct.pack(">d", v))
        elif isinstance(v, str):
            self.text(v)
        elif isinstance(v, tuple):
            for x in v:
                self.value(x)
            self.out.append({1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(v)])
        elif id(v) in self.objects:
            self.get(self.objects[id(v)])
        else:
            self.container(v)
            if isinstance(v, dict) and "filename" in v:  # what frames have in common
                self.objects[id(v)] = self.put()

    def dump(self, v):
        self.value(v)
        self.out.append(b".")
        return b"".join(self.out)


def frames(name, line, cache={}):
    """Innermost first, as torch has them."""
    if (name, line) not in cache:
        cache[name, line] = [
            {"name": "all_reduce", "filename": LIBRARY + "distributed_c10d.py", "line": 2696},
            {"name": "wrapper", "filename": LIBRARY + "c10d_logger.py", "line": 83},
            {"name": name, "filename": "/home/ada/train.py", "line": line},
            {"name": "<module>", "filename": "/home/ada/train.py", "line": 300},
        ]
    return list(cache[name, line])


class Rank:
    def __init__(self, job, rank):
        self.job, self.rank, self.entries, self.record = job, rank, [], 0
        self.seq, self.p2p, self.now = {}, {}, BEGAN

    def add(self, group, op, state, sizes, dtype, at, p2p, duration=None, out=None, empty=False):
        self.now += 10**7
        begun = state != "scheduled" and self.job.timing
        entry = {
            "frames": frames(*at),
            "record_id": self.record,
            "pg_id": list(self.job.groups).index(group),
            "process_group": (group, self.job.groups[group][0]),
            "collective_seq_id": self.seq.get(group, 0),
            "p2p_seq_id": self.p2p.get(group, 0),
            "op_id": self.record + 1,
            "profiling_name": "nccl:" + op,
            "time_created_ns": self.now,
        }
        if duration is not None:
            entry["duration_ms"] = float(duration)
        elif state == "completed" and self.job.timing:
            entry["duration_ms"] = 1.5
        entry |= {
            "input_sizes": [] if empty else sizes,
            "input_dtypes": [] if empty else [dtype] * len(sizes),
            "output_sizes": [] if empty else (sizes if out is None else out),
            "output_dtypes": [] if empty else [dtype] * len(sizes if out is None else out),
            "state": state,
            "time_discovered_started_ns": self.now + 10**6 if begun else None,
            "time_discovered_completed_ns": self.now + 2 * 10**6 if state == "completed" else None,
            "retired": state == "completed",
            "timeout_ms": 600000,
            "is_p2p": p2p,
        }
        self.record += 1
        self.entries.append(entry)
        return entry

    def call(self, group, op="all_reduce", state="completed", sizes=None, dtype="Float",
             at=("step", 88), **more):
        self.seq[group] = self.seq.get(group, 0) + 1
        self.add(group, op, state, sizes or [[1024, 4096]], dtype, at, False, **more)

    def message(self, group, op, state="completed", sizes=None, at=("pipe", 61)):
        self.p2p[group] = self.p2p.get(group, 0) + 1
        self.add(group, op, state, sizes or [[8, 512]], "BFloat16", at, True)

    def batch(self, group, ops, state="completed", at=("exchange", 70)):
        """Sends and receives put together: only their end has a state, and PyTorch does not mark
        that as a message: its number among collectives is that of the one before."""
        self.p2p[group] = self.p2p.get(group, 0) + 1
        for op in ops:
            self.add(group, op, "scheduled", [[8, 512]], "BFloat16", at, True)
        self.add(group, "coalesced", state, [], "Float", at, self.job.marked_ends, empty=True)


class Job:
    def __init__(self, world, groups=None, timing=True, size=2000):
        self.groups = {"0": ("default_pg", list(range(world)))} | (groups or {})
        self.timing, self.size, self.version = timing, size, "2.10"
        self.ranks = [Rank(self, r) for r in range(world)]
        self.marked_ends = False
        self.skip, self.names = set(), "nccl_trace_rank_%d"

    def all(self, group, times=1, ranks=None, **how):
        for _ in range(times):
            for r in self.groups[group][1] if ranks is None else ranks:
                self.ranks[r].call(group, **how)

    def dump_of(self, r):
        rank = self.ranks[r]
        mine = {n: g for n, g in self.groups.items() if r in g[1]}
        last = {}
        for e in rank.entries:
            s = last.setdefault(str(e["pg_id"]), [-1, -1, -1])
            for i, done in enumerate((True, e["state"] != "scheduled", e["state"] == "completed")):
                if done and not e["is_p2p"]:
                    s[i] = e["collective_seq_id"]
        keys = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
        return {
            "version": self.version,
            "pg_config": {n: {"name": n, "desc": g[0], "ranks": str(g[1])} for n, g in mine.items()},
            "comm_lib_version": "2.27.3",
            "pg_status": {k: dict(zip(keys, v)) for k, v in last.items()},
            "entries": rank.entries[-self.size:],
        }

    def write(self, folder, form="torch"):
        os.makedirs(folder, exist_ok=True)
        for r in range(len(self.ranks)):
            if r in self.skip:
                continue
            name = os.path.join(folder, self.names % r + (".json" if form == "json" else ""))
            with open(name, "wb") as f:
                f.write(encode(self.dump_of(r), form))


def encode(dump, form):
    if form == "torch":
        return TorchPickler().dump(dump)
    if form == "json":  # torch leaves the frames out of it, writes counts as texts, sorts keys
        dump = dump | {"entries": [{k: v if v is not None else 0 for k, v in e.items()
                                    if k != "frames"} for e in dump["entries"]]}
        dump["pg_status"] = {k: {n: str(c) for n, c in v.items()}
                             for k, v in dump["pg_status"].items()}
        return json.dumps(dump, sort_keys=True, separators=(",", ":")).encode()
    return pickle.dumps(dump, protocol=int(form))


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
    globals()[situation]().write(folder, *(form or ["torch"]))
