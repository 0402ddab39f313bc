#!/usr/bin/env bats
# portcheck between nodes of which many have the same fault: one finding that names them, what is
# wrong once, and one line to type here that mends it on all of them.
# Needs root, nft, jq.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for nft and routes"
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# rules NAME HOOK RULES...: a table of that name and its rules, to be read on a node.
rules() {
    echo "table inet $1 { chain c { type filter hook $2; ${2:0:1}if lo accept; $3; }; }" >"$1"
}

# NODES SCRIPT EXPECTED: SCRIPT, with all(), breaks them from node0; portcheck finds EXPECTED
# alone, the first line under it is typed here, and all is well.
mends() {
    run -0 --separate-stderr "$ROOT/scripts/lab" run "$1" -- bash -c '
        all() { local n; for ((n = $1; n < $2; n++)); do $WINDSOCK_RSH "node$n" "${@:3}" || exit 9; done; }
        eval "$2" || exit 8
        "$1" --hosts lab --wait 1s --json >broken
        jq -r ".findings[] | select(.status == \"fail\" or .status == \"warn\")
            | \"\(.check) \(.subject) \(.message)\"" broken | sed "s/as [0-9]*)/as N)/" >said
        "$1" --hosts lab --wait 1s >shown
        sed -n "s/^ *-> //p" shown | head -n 1 >fix
        PATH=$(dirname "$1"):$PATH bash -c "$(sed "s/sudo //g" fix)" >&2 && "$1" --hosts lab --wait 1s' - "$BIN/portcheck" "$2"
    diff said - <<<"$3"
    [[ $output != *$'\n'fail* && ${lines[-1]} == PASS* ]]
}

@test "many: eight nodes with the same rule are one finding and one line to type" {
    rules sg 'input priority 0' 'ct state established accept; tcp dport 1024-65535 drop'
    mends 8 'all 0 8 nft -f sg' \
        'mesh.in node[0-7] are not reached from any other node: no answer at all: a security group, or a firewall that drops: inet sg c, handle 4: tcp dport 1024-65535 drop'
    [[ $(<fix) == "windsock on --rsh "*" 'node[0-7]' 'sudo nft insert rule inet sg c ip saddr 10.77.0.0/16 accept'" ]]
    # for programs: on which of them, and what is typed on each
    jq -e '[.findings[] | select(.status == "fail")] | length == 1' broken
    jq -e '.data.rules | length == 1 and .[0].on == [range(8) | "node\(.)"] and .[0].from == ["10.77.0.0/16"]
        and .[0].fix == ["sudo nft insert rule inet sg c ip saddr 10.77.0.0/16 accept"]' broken
    jq -e '[.data.targets[] | select(.state == "filtered")] | length > 8 * 7' broken
}

@test "many: the same rule under another handle is the same rule" {
    rules sg 'input priority 0' 'ct state established accept; ip saddr 10.77.0.1 drop'
    sed 's/ip saddr/icmp type echo-request accept; ip saddr/' sg >other
    mends 4 'all 1 3 nft -f sg; all 3 4 nft -f other' \
        'mesh.in node[1-3] are not reached from node0: no answer at all: a security group, or a firewall that drops: inet sg c: ip saddr 10.77.0.1 drop'
    [[ $(<fix) == "windsock on --rsh "*" 'node[1-3]' "*"ip saddr 10.77.0.1 accept'" ]]
}

@test "many: a rule is mended where it is, though it would be fewer ends the other way" {
    rules sg 'input priority 0' 'ct state established accept; ip saddr 10.77.0.1 drop'
    mends 5 'all 1 5 nft -f sg' \
        'mesh.in node[1-4] are not reached from node0: no answer at all: a security group, or a firewall that drops: inet sg c, handle 4: ip saddr 10.77.0.1 drop'
}

@test "many: of more than a few peers, too, it is known which rule drops the answer" {
    rules sg 'output priority 0' 'tcp flags & (syn | ack) == syn | ack drop'
    mends 12 'all 0 12 nft -f sg' \
        "mesh.in node[0-11] are not reached from any other node (132 of 528 ports, such as N): it arrives there, and that host's own firewall does not let the answer out: inet sg c, handle 3: tcp flags & (syn, ack) syn, ack drop"
}

@test "many: two rules that let nothing out are one line" {
    rules a 'output priority 0' 'ct state established accept; tcp dport 1-65535 drop'
    rules b 'output priority 1; policy drop' 'ct state established accept'
    mends 6 'all 2 5 nft -f a; all 2 5 nft -f b' \
        "mesh.out node[2-4] do not reach any other node: this host's own firewall does not let it out: inet a c, handle 4: tcp dport 1-65535 drop; and policy drop of inet b c"
    [[ $(<fix) == "windsock on --rsh "*" 'node[2-4]' "*" accept && sudo nft "* ]]
}

@test "many: the same black hole for large packets" {
    mends 6 'all 0 6 ip link set dev eth0 gso_max_segs 1
        echo "table ip x { chain in { type filter hook prerouting priority -300; iifname eth0 meta length > 1400 drop; }; }" >x
        all 1 4 nft -f x' \
        'mesh.bulk node[1-3] are not reached from any other node by bulk data: small messages pass and bulk does not: a path-MTU black hole swallows large packets; packets of 1400 bytes pass'
    [[ $(<fix) == "windsock on --rsh "*" 'node[1-3]' 'sudo ip link set dev eth0 mtu 1400'" ]]
}

@test "many: the same route is missing" {
    mends 6 'all 2 5 "ip route add 10.77.0.1 dev eth0; ip route del default; ip route del 10.77.0.0/16"' \
        'mesh.out node[2-4] do not reach node[1-5]: there is no route to it'
    [[ $(<fix) == "windsock on --rsh "*" 'node[2-4]' 'sudo ip route replace 10.77.0.0/16 dev eth0'" ]]
}

@test "many: their names mean the loopback on all of them" {
    mends 5 'all 0 5 "printf \"127.0.0.1 localhost\n127.0.1.1 \$(hostname)\n\" >/etc/hosts"' \
        "$(for n in 0 1 2 3 4; do
            echo "mesh.name node$n means 127.0.1.1 on itself: a rank there that publishes its name's address, as Gloo does, is found by no other node"
        done)"
    [ "$(grep -c '^warn' shown)" = 1 ]
    grep '^warn  mesh.name  *node\[0-4\] .*means 127.0.1.1' shown
    [[ $(<fix) == "windsock on --rsh "*" 'node[0-4]' "* ]]
}

@test "many: few ephemeral ports everywhere" {
    mends 4 'all 0 4 "echo 50000 51000 >/proc/sys/net/ipv4/ip_local_port_range"' \
        "$(for n in 0 1 2 3; do
            echo 'local.port_range 50000-51000 only 1001 ephemeral ports: NCCL alone takes several per rank and peer'
        done)"
    [ "$(grep -c '^warn' shown)" = 1 ]
    [[ $(<fix) == "windsock on --rsh "*" 'node[0-3]' "* ]]
}

@test "many: windsock says what each one's own look finds once for all, too" {
    rules sg 'input priority 0; policy drop' 'ct state established accept'
    run -0 --separate-stderr "$ROOT/scripts/lab" run 6 -- bash -c '
        for n in 0 1 2 3 4 5; do $WINDSOCK_RSH node$n nft -f sg; done
        "$1" --hosts lab --quick >shown
        grep -A 1 "local.firewall" shown | sed -n "s/^ *-> //p" >fix
        PATH=$(dirname "$1"):$PATH bash -c "$(sed "s/sudo //g" fix)" >&2 && "$1" --hosts lab --quick' - "$BIN/windsock"
    [ "$(grep -c local.firewall shown)" = 1 ]
    range=$(tr -s '[:blank:]' - </proc/sys/net/ipv4/ip_local_port_range)
    grep "^warn  local.firewall  *29500,$range  *node\[0-5\]: this host's firewall drops" shown
    [[ $(<fix) == "windsock on --rsh "*" 'node[0-5]' 'sudo nft insert rule inet sg c ip saddr 10.77.0.0/16 accept'" ]]
    [[ $output != *$'\n'fail* && $output != *local.firewall* && ${lines[-1]} == PASS* ]]
}
