"""Layouts for the differential tests: a host of one's own per test, made of
namespaces, in which a real program and `ifprobe --predict` see the same thing.

A layout is a dict: `name`; `links` {NAME: [ADDRESS/PREFIX, ...]} in order of
creation (a name may carry "!down"; an address may carry "@LABEL"); `host` and
`hosts` (the host's name and its /etc/hosts); `env`; `lo` False keeps lo down.
Results are TAP. Environment: BIN, the folder of ifprobe.
"""
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x20000, 0x4000000, 0x40000000
OURS = ("NCCL_", "GLOO_", "TP_", "OMPI_", "UCX_", "MASTER_", "WORLD_SIZE", "RANK", "LOCAL_")
LIMIT_S, AT_ONCE = 90, 6
AGAIN, PATIENT = 3, 4  # more layouts than this are no accident
patience = 1  # how many times longer than usual the real program may take to answer


def sh(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=20).stdout


def unshare():
    if LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    sh("mount", "--make-rprivate", "/")


def put(path, text, scratch):
    """Puts a text over a file of /etc, for this mount namespace only."""
    if not os.path.exists(path):
        return
    with tempfile.NamedTemporaryFile("w", dir=scratch, delete=False) as f:
        f.write(text)
    os.chmod(f.name, 0o644)
    sh("mount", "--bind", f.name, path)


def make_links(layout):
    lines = ["link set lo up"] if layout.get("lo", True) else []
    for i, (name, addresses) in enumerate(layout.get("links", {}).items()):
        name, _, state = name.partition("!")
        lines += [f"link add {name} type veth peer name peer{i}", f"link set {name} addrgenmode none", f"link set peer{i} up"]
        for address in addresses:
            address, _, label = address.partition("@")
            nodad = " nodad" if ":" in address else ""
            label = f" label {label}" if label else ""
            lines.append(f"addr add {address} dev {name}{label}{nodad}")
        if state != "down":
            lines.append(f"link set {name} up")
    lines += layout.get("ip", [])
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True, timeout=20)


def enter(layout, scratch):
    unshare()
    host = layout.get("host", "node0").encode()
    LIBC.sethostname(host, len(host))
    sh("mount", "-t", "sysfs", "sysfs", "/sys")
    put("/etc/hosts", layout.get("hosts", "127.0.0.1 localhost\n"), scratch)
    put("/etc/nsswitch.conf", "hosts: files dns\n", scratch)
    put("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", scratch)
    for name in [n for n in os.environ if n.startswith(OURS)]:
        del os.environ[name]
    os.environ["HOME"] = scratch
    os.environ.update(layout.get("env", {}))
    make_links(layout)


def predict(stack):
    out = subprocess.run([os.path.join(os.environ["BIN"], "ifprobe"), "--predict", "--json"],
                         capture_output=True, text=True, timeout=30)
    return json.loads(out.stdout)["data"]["predict"][stack]


def sockets(states=("0A",)):
    """Local addresses of this namespace's TCP sockets in these states (0A: listening)."""
    found = set()
    for table, size in (("tcp", 4), ("tcp6", 16)):
        with open(f"/proc/self/net/{table}") as f:
            for line in f.readlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state in states:
                    found.add(ip_text(local.split(":")[0], size))
    return sorted(found)


def in_child(ask_it):
    """What a call returns (a truth value), asked in a process of its own."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if ask_it() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def ip_text(hexed, size):
    raw = b"".join(bytes.fromhex(hexed[i:i + 8])[::-1] for i in range(0, 2 * size, 8))
    return socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, raw)


def one(layout, stack, real, prepare, scratch, fd):
    """The child's life: enter, ask both, send the answers home."""
    try:
        signal.alarm(LIMIT_S * patience)
        enter(layout, tempfile.mkdtemp(dir=scratch))
        prepare(layout)
        ours = predict(stack)
        answer = {"ours": ours, "real": real(layout)}
    except BaseException as e:  # the parent turns it into a failed test
        answer = {"error": f"{type(e).__name__}: {e}"}
    os.write(fd, json.dumps(answer).encode()[:60000])
    os._exit(0)


def start(layout, stack, real, prepare, scratch):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        one(layout, stack, real, prepare, scratch, w)
    os.close(w)
    return layout, pid, r


def finish(pid, r):
    text = b""
    while select.select([r], [], [], LIMIT_S * patience + 5)[0]:
        more = os.read(r, 65536)
        if not more:
            break
        text += more
    os.close(r)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"error": "no answer in time"}


def run(layouts, stack, real, same, title="", prepare=lambda layout: None):
    """Runs every layout; `same(real, ours)` gives None or what differs. Exit code.
    `prepare(layout)` is called inside, before either is asked. A few run at once:
    most of it is waiting for connections that fail. Where they differ the layout is
    asked once more, alone and with patience: on a busy machine answers are late."""
    global patience
    failed, number, todo, running, again = 0, 0, list(layouts), [], []
    with tempfile.TemporaryDirectory() as scratch:
        while todo or running or again:
            if not todo and not running:
                patience, todo = PATIENT, [again.pop(0)]
            while todo and len(running) < AT_ONCE:
                running.append(start(todo.pop(0), stack, real, prepare, scratch))
            layout, pid, r = running.pop(0)
            got = finish(pid, r)
            differs = got.get("error") or same(got["real"], got["ours"])
            if differs and patience == 1 and len(again) < AGAIN:
                again.append(layout)
                continue
            failed += bool(differs)
            number += 1
            print(f"{'not ok' if differs else 'ok'} {number} - {title}{layout['name']}")
            if differs:
                print(f"# {differs}\n# real {got.get('real')}\n# ours {got.get('ours')}")
            sys.stdout.flush()
    return 1 if failed else 0


def skip_unless_possible(*programs):
    """TAP's way to leave everything out, with the reason."""
    missing = [p for p in programs if not os.access(p, os.X_OK)]
    reason = "needs root" if os.geteuid() else f"no {missing[0]}" if missing else None
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)


def torches():
    """Interpreters that can import torch: the system's, and a current one's."""
    venv = os.environ.get("WINDSOCK_TORCH_VENV", os.path.expanduser("~/.cache/windsock/torch"))
    for python in ("/usr/bin/python3", os.path.join(venv, "bin/python")):
        if os.access(python, os.X_OK):
            out = subprocess.run([python, "-c", "import importlib.util as u,sys;"
                                  "sys.exit(u.find_spec('torch') is None)"], timeout=60)
            if out.returncode == 0:
                yield python


def run_with_torches(script, count):
    """Runs `script --inner` with every torch there is and joins their TAP; @count: of the
    tests of each, None: as many as each plans."""
    pythons = list(torches())
    if not pythons:
        print("1..0 # SKIP no Python that has torch (apt-get install python3-torch)")
        return 0
    if count is not None:
        print(f"1..{count * len(pythons)}", flush=True)
    done, planned, failed = 0, (count or 0) * len(pythons), 0
    for python in pythons:
        with subprocess.Popen([python, script, "--inner"], stdout=subprocess.PIPE, text=True) as p:
            for line in p.stdout:
                words = line.split()
                if count is None and line.startswith("1.."):
                    planned += int(words[0][3:])
                    continue
                if "ok" in words[:2]:
                    done += 1
                    at = words.index("ok") + 1
                    line = " ".join(words[:at] + [str(done)] + words[at + 1:]) + "\n"
                print(line, end="", flush=True)
        failed |= p.returncode != 0
    if count is None:
        print(f"1..{planned}")
    return 1 if failed or not done or done != planned else 0
