#!/usr/bin/env python3
"""A run over N hosts as windsock would print it, node2 behind a firewall: for the
page's tests, which need more hosts than a lab is quick to make."""
import json
import sys

n = int(sys.argv[1])
hosts = [f"node{i}" for i in range(n)]
bad = "node2"


def address(i):
    return f"10.77.{i // 250}.{i % 250 + 1}"


def finding(i, check, status, message, **more):
    return {"check": check, "status": status, "subject": "eth0", "host": hosts[i],
            "message": message, **more}


def node(i):
    candidates = [{"interface": "eth0", "address": address(i), "prefix": 16,
                   "network": "10.77.0.0", "usable": True}]
    interface = {"suggest": {"interface": "eth0", "address": address(i), "candidates": candidates},
                 "interfaces": [{"name": "eth0", "speed_mbps": 100000, "mtu": 9001}]}
    stages = [{"name": s, "status": "pass", "findings": 1, "seconds": 0.01}
              for s in ("interface", "settings", "limits", "gpus", "ports")]
    return {"host": hosts[i], "data": {
        "parts": {"interface": interface}, "stages": stages, "tier": "quick",
        "facts": {"kernel": "6.1.0", "gpus": 8, "memory": 2e12 + i, "nofile": "1048576"}}}


findings = []
for i in range(n):
    findings += [finding(i, "addr.usable", "pass", f"{address(i)}: the only usable interface"),
                 finding(i, "limits.memory", "pass", "memory is not limited")]
    findings += [finding(i, f"limits.n{k}", "pass", "as it should be") for k in range(12)]
fix = ["sudo nft insert rule inet t c ip saddr 10.77.0.0/16 accept   # on node2"]
hostile = "is not reached </script><img src=x onerror=alert(1)> <b>bold</b> & 'quoted' \"twice\""
cause = {"stage": "reach", "check": "mesh.in", "status": "fail", "subject": bad,
         "message": hostile, "hosts": [], "fix": fix}
findings.append({"check": "mesh.in", "status": "fail", "subject": bad, "host": "node0",
                 "message": hostile, "fix": fix, "expected": "an answer"})
cells = [["self" if a == b else "filtered" if bad in (a, b) else "ok" for b in hosts] for a in hosts]
targets = [{"from": a, "to": b, "port": 29500, "proto": "tcp", "state": "refused",
            "ms": round(0.02 + (i * 7 + k * 13) % 97 / 400, 4)}
           for i, a in enumerate(hosts) for k, b in enumerate(hosts) if a != b and bad not in (a, b)]
results = [{"coll": "all_reduce", "size": 8 << k, "dtype": "float", "in_place": False,
            "time_us": 20 + (8 << k) / 5000, "busbw": (8 << k) / (20 + (8 << k) / 5000) / 1000,
            "algbw": 1.0, "wrong": 0} for k in range(24)]
json.dump({
    "windsock": "0.1.0", "schema": 1, "command": "windsock", "host": "node0",
    "time": "2026-11-20T11:00:00Z", "seconds": 12.5, "verdict": "fail", "findings": findings,
    "series": [],
    "data": {"covers": f"{n} of {n} hosts and the ways between them", "causes": [cause],
             "passing_nodes": [h for h in hosts if h != bad], "failing_nodes": [bad], "exclude": bad, "without": f"srun --exclude={bad} ...",
             "parts": {"reach": {"matrix": {"hosts": hosts, "cells": cells}, "targets": targets},
                       "collectives": {"backend": "tcp", "results": results}}},
    "nodes": [node(i) for i in range(n)]}, sys.stdout)
