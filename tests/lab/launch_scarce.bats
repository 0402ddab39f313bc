#!/usr/bin/env bats
# What a process was not given: descriptors 0 to 2, files that it may open, ports to connect from.
# shellcheck disable=SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load launch.sh

@test "join without stdin, stdout and stderr, as from a daemon: takes part all the same" {
    on 0 "$BIN/ncclbench" --serve --wait-time 20 -b 1K -e 1K >"$OUT" 2>"$ERR" 3>&- &
    wait_for 10 grep -q "windsock join" "$ERR"
    local code
    code=$(sed -n 's/.*windsock join [^ ]* //p' "$ERR")
    on 1 sh -c "exec timeout 60 $BIN/windsock join node0:29499 $code <&- >&- 2>&-" 3>&-
    wait $!
    grep -q "PASS coll.data" "$OUT" || { cat "$OUT" "$ERR"; false; }
}

@test "a soft limit of open files is no limit for ranks of another launcher" {
    local r
    for r in 0 1 2; do
        on $r env RANK=$r WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 sh -c \
            "ulimit -S -n 16; exec $BIN/ncclbench --sockets 8 -b 1K -e 1K" >"out$r" 2>&1 3>&- &
    done
    wait
    grep -q "PASS coll.data" out0 || { cat out?; false; }
    for r in 0 1 2; do # and a hard one is named, with what to do
        on $r env RANK=$r WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 sh -c \
            "[ $r != 1 ] || ulimit -n 20; exec $BIN/ncclbench --sockets 8 -b 1K -e 1K --deadline 60" >"out$r" 2>&1 3>&- &
    done
    wait
    grep -q "Too many open files" out1 && grep -q "ulimit -n" out1 || { cat out?; false; }
    grep -q "rank 1 (node1, .*\(Too many open files\|died\)" out0 || { cat out0; false; }
}

@test "who finds another rank's door closed leaves it to that rank to say why" {
    local r
    on 2 tc qdisc add dev eth0 root tbf rate 128kbit burst 1540 latency 9s # too late for rank 1
    for r in 0 1 2; do
        on $r env RANK=$r WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 sh -c \
            "[ $r != 1 ] || ulimit -n 16; exec $BIN/ncclbench --sockets 8 -b 1K -e 1K --deadline 60" >"out$r" 2>&1 3>&- &
    done
    wait
    on 2 tc qdisc del dev eth0 root
    grep -q "rank 1 (node1, .*Too many open files" out0 || { cat out?; false; }
    ! grep "Connection refused" out? || false
}

@test "no port left to connect from: it is this host that has none, and no other rank's fault" {
    on 0 sysctl -qw net.ipv4.ip_local_port_range="40000 40007"
    run on 0 timeout 60 "$BIN/ncclbench" --np 2 --sockets 8 -b 1K -e 1K
    on 0 sysctl -qw net.ipv4.ip_local_port_range="32768 60999"
    echo "$output"
    [ "$status" != 0 ]
    [[ $output == *"cannot connect to rank 0 ("*"): Cannot assign requested address"* ]]
    [[ $output == *"net.ipv4.ip_local_port_range='1024 65535'"* ]]
    [[ $output != *"FAIL rank.alive: rank 0"* ]]
}
