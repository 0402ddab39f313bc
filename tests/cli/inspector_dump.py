#!/usr/bin/env python3
"""Writes files as NCCL's Inspector plug-in does, of a training that never was.

    tests/cli/inspector_dump.py DIR [--hosts 2] [--gpus 4] [--steps 400] [--busbw 330]
        [--late HOST[:GPU]] [--dies HOST:GPU] [--sinks SHARE] [--stalls] [--checkpoint]
        [--tensor [--alone]] [--small] [--coll AllReduce] [--sampled] [--verbose [CHANNELS]] [--lose HOST:GPU]
        [--name NAME] [--weak HOST] [--skew SECONDS] [--stats] [--largest BYTES]

One all_reduce of 1 GiB (or --largest) and one of 25 MiB a step among all GPUs; --tensor adds an all_gather in a
communicator of each host and an all_reduce of one GPU of each host; --alone leaves just these. Every rank has computed for a
different time when it comes, so its own time holds a wait: only of the one that comes last it is
the collective's. The numbers are drawn alike in each run.
"""
import argparse
import json
import os
import random

p = argparse.ArgumentParser()
p.add_argument("dir")
p.add_argument("--hosts", type=int, default=2)
p.add_argument("--gpus", type=int, default=4)
p.add_argument("--steps", type=int, default=400)
p.add_argument("--busbw", type=float, default=330.0)
p.add_argument("--late")
p.add_argument("--dies")
p.add_argument("--weak")
p.add_argument("--lose")
p.add_argument("--sinks", type=float, default=0)
p.add_argument("--skew", type=float, default=0)
p.add_argument("--largest", type=int, default=1 << 30)
p.add_argument("--coll", default="AllReduce")
p.add_argument("--name")
p.add_argument("--verbose", type=int, nargs="?", const=16, default=0)
for flag in ("stalls", "checkpoint", "tensor", "small", "sampled", "alone", "stats"):
    p.add_argument("--" + flag, action="store_true")
o = p.parse_args()
draw = random.Random(7)
os.makedirs(o.dir, exist_ok=True)
START, SIZES = 1_780_000_000_000_000, [25 << 20] if o.small else [o.largest, 25 << 20]
world = [(h, g) for h in range(o.hosts) for g in range(o.gpus)]
files = {(h, g): open(f"{o.dir}/node{h}-pid{4000 + g}.log", "w") for h, g in world}
FACTOR = {"AllReduce": lambda n: 2 * (n - 1) / n, "AllGather": lambda n: n - 1,
          "ReduceScatter": lambda n: n - 1, "Broadcast": lambda n: 1}


def who(text, h, g):
    return text is not None and text in (f"{h}", f"{h}:{g}")


def line(comm, members, rank, coll, sn, size, us, at):
    h, g = members[rank]
    header = {"id": comm, "rank": rank, "n_ranks": len(members),
              "nnodes": len({m[0] for m in members})}
    if o.name:
        header = {"id": comm, "comm_name": o.name, **header}
    alg = size * FACTOR[coll](len(members)) / us / 1e3
    perf = {"coll": coll, "coll_sn": sn, "coll_msg_size_bytes": size, "coll_exec_time_us": us,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": round(alg / 2, 6),
            "coll_busbw_gbs": round(alg, 6)}
    if o.verbose:
        events = [{"channel_id": c, "kernel_start_sn": 3, "kernel_stop_sn": 48,
                   "kernel_record_sn": 47} for c in range(o.verbose)]
        perf["event_trace_sn"] = {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": events}
    stats = {"coll_records": 1, "coll_dropped_total": sn, "coll_dropped_since_last_dump": 1,
             "p2p_records": 0, "p2p_dropped_total": 0, "p2p_dropped_since_last_dump": 0}
    record = {"header": header,
              "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "",
                           "rec_mechanism": "nccl_profiler_interface",
                           "dump_timestamp_us": int(at + 1e6 * o.skew * h),
                           "hostname": f"node{h}", "pid": 4000 + g}, "coll_perf": perf}
    if o.stats:
        began = {**{k: record[k] for k in ("header", "metadata")}, "dump_stats": stats}
        files[h, g].write(json.dumps(began, separators=(",", ":")) + "\n")
    files[h, g].write(json.dumps(record, separators=(",", ":")) + "\n")


def collective(comm, members, coll, sn, size, step, at):
    """What all its ranks write of it."""
    busbw = o.busbw * draw.uniform(0.95, 1.05) * (0.2 + 0.8 * min(1, size / (1 << 30)))
    if comm == f"0xaa{o.weak}":
        busbw *= 0.4
    if o.sinks:
        busbw *= 1 - o.sinks * step / o.steps
    us = size * FACTOR[coll](len(members)) / busbw / 1e3
    if o.stalls and step == o.steps // 2:
        us *= 40
    late = [draw.uniform(0, 0.1) * us + (us * 0.8 if who(o.late, *m) else 0) for m in members]
    if o.checkpoint and step == o.steps // 3:
        late[0] += 30e6
    for rank, m in enumerate(members):
        if who(o.dies, *m) and step > o.steps // 2 or who(o.lose, *m):
            continue
        if o.sampled and draw.random() < 0.5:
            continue
        line(comm, members, rank, coll, sn, size, int(us + max(late) - late[rank]), at)


for step in range(o.steps):
    at = START + step * 1_000_000
    for i, size in enumerate(SIZES):
        if o.alone:
            break
        collective("0x7f8c496ae9f661", world, o.coll, step * len(SIZES) + i, size, step, at)
    if o.tensor:
        for h in range(o.hosts):
            collective(f"0xaa{h}", [m for m in world if m[0] == h], "AllGather", step, 32 << 20,
                       step, at)
        for g in range(o.gpus):
            collective(f"0xbb{g}", [m for m in world if m[1] == g], "AllReduce", step, o.largest,
                       step, at)
for f in files.values():
    f.close()
