"""Dumps as PyTorch's Flight Recorder writes them, of jobs that are put together call by call.

Forms: torch (as its C++ Pickler writes), 2 to 5 (a protocol of Python's pickle), json.
"""
import json
import os
import pickle
import struct
import time

SECOND = 10**9
BEGAN = (int(time.time()) - int(os.environ.get("AGO", "3600"))) * SECOND  # seconds
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
        self.count(self.seq, group)
        self.add(group, op, state, sizes or [[1024, 4096]], dtype, at, False, **more)

    def count(self, numbers, group):
        numbers[group] = numbers.get(group, 0) + 1

    def message(self, group, op, state="completed", sizes=None, at=("pipe", 61)):
        self.count(self.seq if self.job.torch < (2, 4) else self.p2p, group)
        self.add(group, op, state, sizes or [[8, 512]], "BFloat16", at, True)

    def batch(self, group, ops, state="completed", at=("exchange", 70)):
        """Sends and receives put together: only their end has a state, and PyTorch does not mark
        that as a message: its number among collectives is that of the one before. Before the
        sequence numbers were mended, a batch was counted among the collectives instead."""
        self.count(self.seq if self.job.torch < (2, 6) else self.p2p, group)
        for op in ops:
            self.add(group, op, "scheduled", [[8, 512]], "BFloat16", at, True)
        self.add(group, "coalesced", state, [], "Float", at, self.job.marked_ends, empty=True)


# how a dump is called by its own version, since PyTorch's
VERSIONS = {(2, 3): "1.4", (2, 4): "2.2", (2, 5): "2.4", (2, 6): "2.4", (2, 9): "2.10"}


class Job:
    def __init__(self, world, groups=None, timing=True, size=2000):
        self.groups = {"0": ("default_pg", list(range(world)))} | (groups or {})
        self.timing, self.size, self.torch = timing, size, (2, 9)
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
        if self.torch < (2, 4):
            return {"version": VERSIONS[self.torch], "entries": [
                {"seq_id" if k == "collective_seq_id" else k: v for k, v in e.items()
                 if k not in ("p2p_seq_id", "is_p2p", "op_id", "timeout_ms")}
                for e in rank.entries[-self.size:]]}
        return {
            "version": VERSIONS[self.torch],
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
