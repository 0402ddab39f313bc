#!/usr/bin/python3
"""rdzv_gloo.py N: torch's gloo, for bench-rendezvous. Ranks are forked after the
import, so that it is not counted: until all have initialised and met once, and a barrier."""
import datetime
import os
import signal
import socket
import struct
import sys
import time

import torch
import torch.distributed as dist


def rank(number, size, port, started, out):
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=number,
        world_size=size,
        timeout=datetime.timedelta(seconds=120),
    )
    dist.barrier()
    met = time.monotonic()
    dist.barrier()
    os.write(out, struct.pack("2d", met - started, time.monotonic() - met))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    size = int(sys.argv[1])
    torch.set_num_threads(1)
    read, write = os.pipe()
    port = free_port()
    started = time.monotonic()
    pids = []
    for number in range(size):
        pid = os.fork()
        if not pid:
            rank(number, size, port, started, write)
            os._exit(0)
        pids.append(pid)
    os.close(write)
    lost = 0
    while pids:
        pid, status = os.wait()
        pids.remove(pid)
        if status and not lost:  # the others would wait for it
            for other in pids:
                os.kill(other, signal.SIGKILL)
        lost = lost or status
    if lost:
        sys.exit(1)
    times = [struct.unpack("2d", os.read(read, 16)) for _ in range(size)]
    met, barrier = (max(t) for t in zip(*times))
    print(f"{size}\t{met:.4f}\t{barrier * 1e3:.3f}")


main()
