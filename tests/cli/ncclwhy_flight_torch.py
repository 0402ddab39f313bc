#!/usr/bin/env python3
"""Dumps whose bytes come from torch's own C++ Pickler, the one that writes the Flight Recorder's:
torch.jit.save() keeps a module's attributes with it in data.pkl. They have the shape of a dump;
rank 2 never comes to #6.

    ncclwhy_flight_torch.py FOLDER
"""
import io
import os
import sys
import zipfile
from typing import Any, Dict, List, Optional

import torch


class Dump(torch.nn.Module):
    version: str
    pg_config: Dict[str, Any]
    pg_status: Dict[str, Any]
    entries: List[Any]

    def __init__(self):
        super().__init__()
        self.version = "2.10"
        self.pg_config: Dict[str, Any] = {}
        self.pg_status: Dict[str, Any] = {}
        self.entries: List[Any] = []

    def forward(self) -> int:
        return 0

    @torch.jit.export
    def fill(self, last: int) -> int:
        group: Dict[str, Any] = {}
        group["name"] = "0"
        group["desc"] = "default_pg"
        group["ranks"] = "[0, 1, 2]"
        self.pg_config["0"] = group
        status: Dict[str, Any] = {}
        status["last_enqueued_collective"] = last
        status["last_started_collective"] = last
        status["last_completed_collective"] = 5
        self.pg_status["0"] = status
        wrapper: Dict[str, Any] = {}
        wrapper["name"] = "all_reduce"
        wrapper["filename"] = "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py"
        wrapper["line"] = 2696
        own: Dict[str, Any] = {}
        own["name"] = "step"
        own["filename"] = "/home/ada/train.py"
        own["line"] = 88
        frames: List[Any] = [wrapper, own]
        nothing: Optional[int] = None
        for i in range(last):
            e: Dict[str, Any] = {}
            e["frames"] = frames
            e["record_id"] = i
            e["pg_id"] = 0
            e["process_group"] = ("0", "default_pg")
            e["collective_seq_id"] = i + 1
            e["p2p_seq_id"] = 0
            e["op_id"] = i + 1
            e["profiling_name"] = "nccl:all_reduce"
            e["time_created_ns"] = 1700000000000000000 + i
            e["duration_ms"] = 1.5
            e["input_sizes"] = [[300, 70000]]
            e["input_dtypes"] = ["Float"]
            e["output_sizes"] = [[300, 70000]]
            e["output_dtypes"] = ["Float"]
            over = i < 5
            e["state"] = "completed" if over else "started"
            e["time_discovered_started_ns"] = 1700000000000000100 + i
            if over:
                e["time_discovered_completed_ns"] = 1700000000000000200 + i
            else:
                e["time_discovered_completed_ns"] = nothing
            e["retired"] = over
            e["timeout_ms"] = 600000
            e["is_p2p"] = False
            self.entries.append(e)
        return last


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for rank, last in enumerate((6, 6, 5)):
        module = torch.jit.script(Dump())
        module.fill(last)
        kept = io.BytesIO()
        torch.jit.save(module, kept)
        with zipfile.ZipFile(kept) as z:
            name = next(n for n in z.namelist() if n.endswith("/data.pkl"))
            with open(os.path.join(folder, f"rank_{rank}"), "wb") as f:
                f.write(z.read(name))
