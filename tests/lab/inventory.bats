#!/usr/bin/env bats
# What ifprobe sees is what the kernel has: compared with `ip` on real interfaces of many kinds,
# while interfaces come and go, and with a thousand of them.
# shellcheck disable=SC2016,SC2154 # scripts for the node are in single quotes; bats sets stderr
bats_require_minimum_version 1.5.0

setup() {
    "$ROOT/scripts/lab" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
}

lab() { # SCRIPT: in a node of its own, with its own interfaces
    "$ROOT/scripts/lab" run 1 -- env BIN="$BIN" T="$BATS_TEST_TMPDIR" bash -euo pipefail -c "$1"
}

THOUSAND='
    seq 0 499 | awk "{
        printf \"link add x%d type veth peer name y%d\n\", \$1, \$1
        printf \"addr add 10.9.%d.%d/32 dev x%d\n\", \$1 / 250, \$1 % 250 + 1, \$1
        printf \"addr add 10.10.%d.%d/32 dev y%d\n\", \$1 / 250, \$1 % 250 + 1, \$1
        printf \"link set x%d up\nlink set y%d up\n\", \$1, \$1 }" | ip -b -'

@test "names, indexes, MTUs, kinds and addresses are those of ip" {
    run -0 --separate-stderr lab '
        ip link add docker0 type bridge; ip link set docker0 up; ip addr add 172.17.0.1/16 dev docker0
        ip link add br-lan type bridge; ip link add p0 type veth peer name p1 mtu 1300
        ip link set p0 master br-lan; ip link set p0 up; ip link set p1 up
        ip link add mv0 link eth0 type macvlan; ip link set mv0 up
        ip link add vx0 type vxlan id 7 remote 10.77.0.2 dstport 4789
        ip addr add 10.5.0.1/24 dev p1; ip addr add 10.5.1.1/24 dev p1 label p1:1
        ip addr add fd00:5::1/64 dev p1 nodad
        ip -j addr >"$T/ip.json"
        "$BIN/ifprobe" --json >"$T/ifprobe.json" || [ $? -eq 1 ]'
    # link-local addresses come when the kernel likes
    diff <(jq -S '[.[] | {name: .ifname, index: .ifindex, mtu, addresses:
                [.addr_info[] | select(.scope != "link") | .local]}] | sort_by(.index)' \
            "$BATS_TEST_TMPDIR/ip.json") \
        <(jq -S '[.data.interfaces[] | {name, index, mtu, addresses:
                [.addresses[] | select(.scope != "link") | .address]}] | sort_by(.index)' \
            "$BATS_TEST_TMPDIR/ifprobe.json")
    run -0 jq -r '.data.interfaces | map({(.name): .kind}) | add |
        .lo, .eth0, .docker0, ."br-lan", .p0, .mv0, .vx0' "$BATS_TEST_TMPDIR/ifprobe.json"
    [ "$output" = $'loopback\nveth\ncontainer\nbridge\nveth\nmacvlan\ntunnel' ]
}

@test "interfaces that come and go while we look never break an answer" {
    run -0 --separate-stderr lab '
        while :; do
            ip link add c0 type veth peer name c1; ip addr add 10.6.0.1/24 dev c0
            ip link set c0 up; ip link del c0
        done 2>/dev/null &
        churn=$!
        trap "kill $churn; wait" EXIT
        for _ in $(seq 60); do
            "$BIN/ifprobe" --suggest --name-only
        done'
    [ "${#lines[@]}" -eq 60 ]
    [ "$(sort -u <<<"$output")" = eth0 ]
}

@test "an empty namespace is no error of ours, and says that nothing is suitable" {
    run -1 --separate-stderr lab 'ip link del eth0; "$BIN/ifprobe" --suggest'
    [ -z "$output" ]
    [[ $stderr == *loopback* ]]
}

# 3.5 MB of writable memory and the C library's pages: under 5 MB in all.
@test "a thousand interfaces: all are seen, in little memory" {
    run -0 --separate-stderr lab "$THOUSAND"'
        "$BIN/ifprobe" --json >"$T/many.json" || [ $? -eq 1 ]
        ulimit -d 3500
        "$BIN/ifprobe" --suggest --name-only'
    [ "$output" = eth0 ]
    [ "$(jq '.data.interfaces | length' "$BATS_TEST_TMPDIR/many.json")" -eq 1002 ]
}
