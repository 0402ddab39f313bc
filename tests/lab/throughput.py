"""Sends BYTES to NODE, where a receiver is started through WINDSOCK_RSH; prints Mbit/s."""
import os, shlex, socket, subprocess, sys, time

RECEIVER = """
import socket, time
s = socket.create_server(("", 7000))
print("ready", flush=True)
c, _ = s.accept()
n, start = 0, time.monotonic()
while data := c.recv(65536):
    n += len(data)
print(n * 8 / 1e6 / (time.monotonic() - start))
"""
node, size = sys.argv[1], int(sys.argv[2])
rsh = os.environ["WINDSOCK_RSH"].split()
receiver = subprocess.Popen(rsh + [node, "timeout 30 python3 -c " + shlex.quote(RECEIVER)],
                            stdout=subprocess.PIPE, text=True)
assert receiver.stdout.readline() == "ready\n"
with socket.create_connection((node, 7000), timeout=10) as s:
    s.sendall(bytes(size))
print(float(receiver.stdout.readline()))
