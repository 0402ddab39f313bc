#!/usr/bin/env bats
# portcheck --free: a MASTER_PORT that nobody has, here or on all of the hosts, and that a job can
# be given at once. In the lab, where nobody else has ports.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || return; }

lab() { # N SCRIPT, with on and holds
    "$ROOT/scripts/lab" run "$1" -- env PATH="$BIN:$PATH" bash -c '
        on() { $WINDSOCK_RSH "node$1" "$2"; }
        holds() { # NODE PORT [ADDRESS]: somebody listens there, until the lab ends
            on "$1" "python3 -c \"
import socket, sys, os
s = socket.socket(); s.bind((\\\"${3:-0.0.0.0}\\\", $2)); s.listen()
os.close(1) if os.fork() == 0 else os._exit(0)
while True: s.accept()\" 2>/dev/null"
        }
        '"$2"
}

@test "this host: the usual one, and another where that is taken, handed out or reserved" {
    run -0 --separate-stderr lab 1 'portcheck --free
        holds 0 29500; portcheck --free; holds 0 29501 127.0.0.1; portcheck --free
        echo 29502-29510 >/proc/sys/net/ipv4/ip_local_reserved_ports; portcheck --free
        echo 29000 60999 >/proc/sys/net/ipv4/ip_local_port_range; portcheck --free
        MASTER_PORT=4000 portcheck --free'
    [ "${lines[*]}" = "MASTER_PORT=29500 MASTER_PORT=29501 MASTER_PORT=29502 MASTER_PORT=29511 MASTER_PORT=61000 MASTER_PORT=4000" ]
    [[ $stderr == *"29500 is free here"* ]]
}

@test "a MASTER_PORT that is reserved is kept for whoever names it, in the range of the kernel too" {
    run -0 --separate-stderr lab 1 'echo 29500,29600-29700 >/proc/sys/net/ipv4/ip_local_reserved_ports
        echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range
        portcheck --free; MASTER_PORT=29650 portcheck --free; portcheck --free --json | jq -r .findings[0].message'
    [ "${lines[*]}" = "MASTER_PORT=29500 MASTER_PORT=29650 is free here, and the kernel hands it to nobody" ]
    # the next one is for somebody else, and one that is taken is none
    run -0 --separate-stderr lab 1 'echo 29500-29510 >/proc/sys/net/ipv4/ip_local_reserved_ports
        holds 0 29500; portcheck --free'
    [ "$output" = MASTER_PORT=29511 ]
    run -0 --separate-stderr lab 2 'for i in 0 1; do on $i "echo 29500 >/proc/sys/net/ipv4/ip_local_reserved_ports"; done
        portcheck --free --hosts lab'
    [ "$output" = MASTER_PORT=29500 ]
}

@test "several hosts: free on each of them, and open between them" {
    run -0 --separate-stderr lab 3 'holds 1 29500; holds 2 29501
        export $(portcheck --free --hosts lab); echo $MASTER_PORT
        portcheck --free --hosts lab --json >doc'
    [ "$output" = 29502 ]
    [[ $stderr == *"29502 is free on 3 hosts, and open between them"* ]]
    valid "$(<doc)"
    jq -e '.data.free.port == 29502 and .verdict == "pass"' doc
}

@test "several hosts: from the MASTER_PORT of who asks; one host; a part that was not tested: no answer" {
    run -0 --separate-stderr lab 2 'holds 1 4000; export MASTER_PORT=4000
        portcheck --free --hosts lab; portcheck --free --hosts node0'
    [ "${lines[*]}" = "MASTER_PORT=4001 MASTER_PORT=4000" ]
    [[ $stderr == *"4000 is free on node0"* ]]
    # one machine by two names: nothing is between them
    printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >here
    chmod +x here
    run -3 --separate-stderr lab 1 'portcheck --free --hosts 127.0.0.1,127.0.0.2 --rsh ./here'
    [ -z "$output" ]
    [[ $stderr != *"open between"* ]]
    # ssh that cannot be started
    run -3 --separate-stderr lab 1 'portcheck --free --hosts node0,node1 --rsh ./none'
    [ -z "$output" ]
    [[ $stderr != *"port.free"* ]]
}

@test "the kernel hands out all ports: that is said, and the range that leaves some" {
    run -1 --separate-stderr lab 1 'echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range; portcheck --free'
    [ -z "$output" ]
    [[ $stderr == *"which 1024-65535 all are"*"sysctl -w net.ipv4.ip_local_port_range="* ]]
}

@test "a firewall that stops that port, or a host that does not answer: no answer" {
    run -1 --separate-stderr lab 2 '
        on 1 "nft add table inet t; nft add chain inet t in { type filter hook input priority 0\; }; nft add rule inet t in tcp dport 29500 drop"
        portcheck --free --hosts lab --silence 1s'
    [ -z "$output" ]
    [[ $stderr == *29500* ]]
    run -1 --separate-stderr lab 1 'portcheck --free --hosts node0,nowhere'
    [ -z "$output" ]
    [[ $stderr == *nowhere* ]]
    run -2 --separate-stderr lab 1 'portcheck --free node0'
}

@test "a taken MASTER_PORT: the port that is advised was looked at" {
    run -0 --separate-stderr lab 1 'holds 0 29500; holds 0 29501; portcheck'
    [[ $output == *"29500"*"is taken"*"export MASTER_PORT=29502 "* ]]
}

@test "--copy-self: on a host that has not this program" {
    [ "$(id -u)" = 0 ] || skip "needs root to hide it there"
    run -0 --separate-stderr lab 2 'on 1 "mount -t tmpfs none \"$BIN\""
        portcheck --free --hosts lab >without 2>why; echo "$?"
        portcheck --free --hosts lab --copy-self'
    [ "$output" = $'1\nMASTER_PORT=29500' ]
    [ ! -s without ]
    grep -- "-> portcheck --free .*--copy-self" why
}
