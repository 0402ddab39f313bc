"""Rules of a cloud beside packets: `portcheck --cloud --audit` judges a random set of them, and four
nodes in namespaces that have the same as nftables rules are asked, every ordered pair, TCP and UDP.

A TCP port counts as open when anything answers: a reset came through the rules as well as a
handshake. UDP counts where the datagram arrives. Needs root, iproute2, nftables; BIN is the folder
of portcheck.
"""
import errno
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = os.path.join(ROOT, "scripts", "lab")
NODES = 4
ADDRS = [f"10.77.0.{k + 1}" for k in range(NODES)]
TRAINING = [29500, 32768, 39999, 45000, 50001, 60999]
PORTS = TRAINING + [22, 1024, 29400, 65535]
QUIET_S, SURE_S = 0.05, 1.5
# Where questions come from: other ports for each case, and none of PORTS. The nodes remember
# connections for minutes: a question from 32768 to 45000 would be let in as the answer to one that
# an earlier case sent from that 45000 to 32768. TCP's lie in the ephemeral range, as ACLs want it.
UDP_FROM, TCP_FROM = 10000, 33000
MOST_CASES = (39999 - TCP_FROM) // 2


def ports_of(proto, first, last):
    """As nftables matches them; "-1" and "all" are any protocol."""
    if proto in ("-1", "all", "*"):
        return ""
    name = {"6": "tcp", "17": "udp"}.get(proto, proto.lower())
    return f"{name} dport {first}-{last}"


# --- a node's part: one line in, one line out ---------------------------------------------


def knock(source, targets, patience):
    """Which of them answer? After @patience without any news the rest is closed."""
    poll, waiting, reached = select.poll(), {}, []
    for at in targets:
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("0.0.0.0", source))
        s.setblocking(False)
        rc = s.connect_ex(tuple(at))
        if rc in (0, errno.ECONNREFUSED):
            reached.append(at)
        elif rc == errno.EINPROGRESS:
            waiting[s.fileno()] = (s, at)
            poll.register(s, select.POLLOUT)
    while waiting:
        news = poll.poll(patience * 1000)
        if not news:
            break
        for fd, _ in news:
            s, at = waiting.pop(fd)
            poll.unregister(fd)
            if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, errno.ECONNREFUSED):
                reached.append(at)
            s.close()
    return reached


class Node:
    def __init__(self):
        self.sinks = []
        for port in PORTS:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("0.0.0.0", port))
            s.setblocking(False)
            self.sinks.append(s)

    def rules(self, text):
        return subprocess.run(["nft", "-f", "-"], input=text, text=True, check=False,
                              stderr=subprocess.PIPE).stderr

    def tcp(self, arg):
        return knock(*arg)

    def udp(self, arg):
        source, targets = arg
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("0.0.0.0", source))
            for at in targets:
                try:
                    s.sendto(b"x", tuple(at))
                except OSError:  # its own rules forbid it
                    pass
        return None

    def heard(self, source):
        out = []
        for s, port in zip(self.sinks, PORTS):
            try:
                while True:
                    addr = s.recvfrom(16)[1]
                    if addr[1] == source:
                        out.append([addr[0], port])
            except BlockingIOError:
                pass
        return out

    def serve(self):
        for line in sys.stdin:
            verb, arg = json.loads(line)
            print(json.dumps(getattr(self, verb)(arg)), flush=True)


class Nodes:
    """The four of them, asked at once."""

    def __init__(self, lab):
        me = [sys.executable, os.path.abspath(sys.argv[0]), "--node"]
        self.all = [subprocess.Popen([LAB, "on", lab, f"node{k}", "--", *me], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    for k in range(NODES)]

    def ask(self, verb, args):
        for p, arg in zip(self.all, args):
            p.stdin.write(json.dumps([verb, arg]) + "\n")
            p.stdin.flush()
        return [json.loads(p.stdout.readline()) for p in self.all]

    def close(self):
        for p in self.all:
            p.stdin.close()
        for p in self.all:
            p.wait(timeout=10)


# --- both answers -------------------------------------------------------------------------


def packets(nodes, rules, number):
    """The (from, to, port) that pass, for TCP and UDP."""
    said = nodes.ask("rules", rules)
    assert not any(said), said
    others = [[[a, p] for a in ADDRS if a != me for p in PORTS] for me in ADDRS]
    tcp = nodes.ask("tcp", [[TCP_FROM + 2 * number, t, QUIET_S] for t in others])
    source = UDP_FROM + number
    nodes.ask("udp", [[source, t] for t in others])
    udp = nodes.ask("heard", [source] * NODES)
    return ({(me, a, p) for me, found in zip(ADDRS, tcp) for a, p in found},
            {(a, me, p) for me, found in zip(ADDRS, udp) for a, p in found})


def inside(spans, port):
    return any(int(s.split("-")[0]) <= port <= int(s.split("-")[-1])
               for s in spans.split(",") if s)


def audit(documents, address_of, path):
    """TCP and UDP as said, and whether it passes; None: it says that it cannot know."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(json.dumps(d, indent=1) for d in documents))
    run = subprocess.run([os.path.join(os.environ["BIN"], "portcheck"), "--cloud", "--audit", path,
                          "--json"], text=True, capture_output=True, check=False,
                         env={**os.environ, "MASTER_PORT": "29500"})
    doc = json.loads(run.stdout)
    of = {address_of(n): c["names"][0]
          for c in doc["data"]["audit"]["nodes"] for n in c["names"]}
    pairs = {(p["from"], p["to"]): p for p in doc["data"]["audit"]["pairs"]}
    tcp, udp = set(), set()
    for a in ADDRS:
        for b in ADDRS:
            if a != b:
                pair = pairs[of[a], of[b]]
                tcp |= {(a, b, p) for p in PORTS if inside(pair["tcp"], p)}
                udp |= {(a, b, p) for p in PORTS if inside(pair["udp"], p)}
    if any("trains" not in p for p in pairs.values()):
        return tcp, udp, None  # a prefix list has the say, which only EC2 can read
    return tcp, udp, run.returncode == 0


def differences(nodes, kind, case, number, path):
    said_tcp, said_udp, passes = audit(kind.documents(case), kind.address_of, path)
    tcp, udp = packets(nodes, [kind.to_nft(case, k) for k in range(NODES)], number)
    # Late on a busy machine: asked again, with all the time it may take.
    late = said_tcp - tcp
    if late:
        again = nodes.ask("tcp", [[TCP_FROM + 2 * number + 1,
                                   [[b, p] for a, b, p in sorted(late) if a == me], SURE_S]
                                  for me in ADDRS])
        tcp |= {(me, b, p) for me, found in zip(ADDRS, again) for b, p in found}
    if said_udp - udp:
        time.sleep(0.2)
        more = nodes.ask("heard", [UDP_FROM + number] * NODES)
        udp |= {(a, me, p) for me, found in zip(ADDRS, more) for a, p in found}
    trains = all((a, b, p) in tcp for a in ADDRS for b in ADDRS if a != b for p in TRAINING)
    out = [f"TCP {x} is said to be {'open' if x in said_tcp else 'closed'}"
           for x in sorted(said_tcp ^ tcp)]
    out += [f"UDP {x} is said to be {'open' if x in said_udp else 'closed'}"
            for x in sorted(said_udp ^ udp)]
    if passes is not None and trains != passes:
        out.append(f"the audit {'passes' if passes else 'fails'}, packets show otherwise")
    return out, len(tcp) + len(udp), passes


def compare(kind, cases, first):
    """@kind: make_case(seed), documents(case), to_nft(case, node), address_of(name)."""
    assert cases <= MOST_CASES, f"at most {MOST_CASES} at a time"
    bad, reached, passed = 0, 0, 0
    lab = subprocess.run([LAB, "up", str(NODES)], text=True, check=True,
                         stdout=subprocess.PIPE).stdout.strip()
    try:
        nodes = Nodes(lab)
        with tempfile.TemporaryDirectory() as folder:
            print(f"1..{cases + 1}")
            for n in range(cases):
                wrong, some, passes = differences(nodes, kind, kind.make_case(first + n), n,
                                                  os.path.join(folder, "rules.json"))
                print(f"{'not ok' if wrong else 'ok'} {n + 1} - seed {first + n}: {some} open",
                      flush=True)
                for line in wrong[:10]:
                    print("# " + line)
                bad += bool(wrong)
                reached += some
                passed += bool(passes)
        nodes.close()
    finally:
        subprocess.run([LAB, "down", lab], check=False)
    # Cases that are all open or all closed would prove little.
    asked = cases * NODES * (NODES - 1) * len(PORTS) * 2
    mixed = 0.2 < reached / asked < 0.8 and 0.1 < passed / cases < 0.9
    print(f"{'ok' if mixed or cases < 100 else 'not ok'} {cases + 1} - {reached} of {asked} asked "
          f"were open, {passed} of {cases} sets let training through")
    return bad or not mixed and cases >= 100


def main(kind):
    if sys.argv[1:] == ["--node"]:
        Node().serve()
    elif os.geteuid():
        print("1..0 # SKIP not root")
    else:
        sys.exit(1 if compare(kind, int(sys.argv[1]) if len(sys.argv) > 1 else 300,
                              int(sys.argv[2]) if len(sys.argv) > 2 else 1) else 0)
