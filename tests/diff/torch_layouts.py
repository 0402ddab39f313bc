"""Random hosts for diff-gloo and diff-torch: interfaces, addresses, what the host's
name leads to, and values of the variable in question, the more likely the more they
are what people write. SEED and N (that many layouts, 0: none) are the environment's.
"""
import os
import random

LO = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
NAMES = ["eth0", "eth1", "ens5", "ib0", "bond0.7", "e", "eth10", "docker0"]
ELSEWHERE = ["10.9.9.9", "fd99::9", "192.168.77.1"]


def how_many(default):
    return int(os.environ.get("N") or default)


def seed():
    return int(os.environ.get("SEED") or 0)


def some_links(r):
    """{NAME: addresses}, and all their addresses without prefix."""
    links, plain = {}, []
    for i, name in enumerate(r.sample(NAMES, r.randint(1, 3))):
        v4 = [f"10.{i}.{k}.5/24" for k in range(r.choice([0, 1, 1, 1, 2]))]
        v6 = [f"fd0{i}::5/64"] * r.choice([0, 0, 1])
        addresses = v4 + v6
        r.shuffle(addresses)
        plain += [a.split("/")[0] for a in addresses]
        if len(v4) == 2 and r.random() < 0.3:
            addresses[addresses.index(v4[1])] += f"@{name}:1"
        links[name + ("!down" if r.random() < 0.1 else "")] = addresses
    return links, plain


def some_hosts(r, mine, names):
    """Lines of /etc/hosts: each of the names leads to none, one or two addresses."""
    lines, known = [], mine + ["127.0.1.1"] + ELSEWHERE
    for name in names:
        for address in r.sample(known, r.choice([0, 1, 1, 1, 1, 2])):
            extra = r.choice(["", "", f" {name}.cluster", " x.y"])
            lines.append(f"{address} {extra.strip()} {name}" if r.random() < 0.5 else f"{address} {name}{extra}")
    r.shuffle(lines)
    return LO + "".join(f"{line}\n" for line in lines)


def some_ifname(r, links):
    """A value of GLOO_SOCKET_IFNAME, or None for none."""
    have = [n.partition("!")[0] for n in links] + ["lo"]
    if r.random() < 0.35:
        return None
    entries = [r.choice(have) if r.random() < 0.85 else r.choice(["eth", "^lo", "=eth0", " eth0", "", "eth0:1", "ETH0"])
               for _ in range(r.choice([1, 1, 1, 2, 3]))]
    return ",".join(entries) + r.choice(["", "", "", ","])


def gloo(count):
    for n in range(count):
        r = random.Random(f"gloo {seed()} {n}")
        links, mine = some_links(r)
        ifname = some_ifname(r, links)
        yield {"name": f"random {seed()}.{n}", "links": links, "hosts": some_hosts(r, mine, ["node0"]),
               "env": {} if ifname is None else {"GLOO_SOCKET_IFNAME": ifname}}


def master(count):
    for n in range(count):
        r = random.Random(f"torch {seed()} {n}")
        links, mine = some_links(r)
        names = ["node0", "node9", "head"]
        value = r.choice(["localhost", "127.0.0.1", "::1", "127.0.1.1", "node0.cluster", *names, *names, *mine, *mine, *ELSEWHERE])
        yield {"name": f"random {seed()}.{n} {value}", "links": links, "hosts": some_hosts(r, mine, names),
               "env": {"MASTER_ADDR": value}}
