#!/usr/bin/env bats
# portcheck over real packets: every state and cause, made with nftables, routes and
# missing neighbours between the lab's nodes; and the rules it names.
# Needs root, nft, python3, jq.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for nft and routes"
    cat >"$BATS_FILE_TMPDIR/peer" <<'N'
table inet fw { chain in { type filter hook input priority 0; policy accept;
 tcp dport { 29502, 30000-30020 } drop;
 tcp dport 29503 reject with tcp reset;
 tcp dport 29504 reject;
 tcp dport 29505 reject with icmpx type admin-prohibited;
 tcp dport 29506 reject with icmpx type host-unreachable;
 meta nfproto ipv4 tcp dport 29507 reject with icmp type host-prohibited;
 tcp dport 31000-31050 reject;
 udp dport 9002 drop; udp dport 9003 reject with icmpx type admin-prohibited; }; }
N
    cat >"$BATS_FILE_TMPDIR/own" <<'N'
table inet own { chain out { type filter hook output priority 0; policy accept;
 tcp dport 29600 drop; tcp dport 29601 reject; udp dport 29600 drop; }; }
N
    LAB_NAME=$("$ROOT/scripts/lab" up 3 --subnet 10.77.0.0/24 --subnet fd00:77::/64 \
        --firewall "1=$BATS_FILE_TMPDIR/peer" --firewall "0=$BATS_FILE_TMPDIR/own")
    export LAB_NAME
    on 1 sh -c 'setsid python3 -c "
import socket, time
s = socket.socket(socket.AF_INET6); s.bind((\"::\", 29500)); s.listen(256)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind((\"\", 9001))
while True:
    data, peer = u.recvfrom(100); u.sendto(b\"x\", peer)" >/dev/null 2>&1 &'
    local i
    for ((i = 0; i < 200; i++)); do
        on 1 sh -c 'cat /proc/net/tcp6' | grep -q ':733C ' && break
        sleep 0.05
    done
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
}

on() { # NODE CMD...
    "$ROOT/scripts/lab" on "$LAB_NAME" "node$1" -- "${@:2}"
}

asked() { # ARGUMENTS: from node0, as JSON in $doc
    run --separate-stderr on 0 "$BIN/portcheck" "$@" --json
    doc=$output
    valid "$doc"
}

is() { # PORT STATE CAUSE-WORDS [MS-RANGE: a jq condition]
    jq -e --argjson port "$1" --arg state "$2" --arg cause "$3" \
        ".data.targets[] | select(.port == \$port) | .state == \$state
         and ((.cause // \"\") | contains(\$cause)) and (${4:-true})" <<<"$doc" >/dev/null || {
        jq -c --argjson port "$1" '.data.targets[] | select(.port == $port)' <<<"$doc"
        return 1
    }
}

states() { # ADDRESS
    asked "$1:29500-29506"
    [ "$status" = 1 ]
    is 29500 open '' '.ms < 1000'
    is 29501 refused 'nothing listens' '.ms < 1000'
    is 29502 filtered 'security group' 'has("ms") | not'
    is 29503 refused 'nothing listens'
    is 29504 unreachable "that host's own firewall" '.ms < 1000'
    is 29505 unreachable "that host's own firewall" '.ms < 1000'
    is 29506 unreachable "that host's own firewall" '.ms < 1000'
}

@test "open, refused, filtered, and every reject of a host firewall, over IPv4" {
    states 10.77.0.2
    asked 10.77.0.2:29507
    is 29507 unreachable "that host's own firewall"
}

@test "the same over IPv6" {
    states '[fd00:77::2]'
}

@test "what failed says what to type, and the exit code is 1" {
    run -1 --separate-stderr on 0 "$BIN/portcheck" 10.77.0.2:29502
    [ -z "$stderr" ]
    [[ $output == *"fail  port.tcp"*"10.77.0.2:29502"*"filtered: no answer at all"*"(expected an answer: open or refused)"* ]]
    [[ $output == *"-> aws ec2 authorize-security-group-ingress"*"--source-group"* ]]
    [[ $output == *"-> sudo ufw prepend allow from 10.77.0.0/24   # on 10.77.0.2"* ]]
}

@test "nobody at that address: told after three seconds, not called a firewall" {
    asked 10.77.0.77:29500
    [ "$status" = 1 ]
    is 29500 unreachable 'nobody on this network has that address' '.ms > 2500 and .ms < 3900'
}

@test "a router's words: no route, nobody there, prohibited" {
    # node2 routes to a network of its own that has rules and a missing neighbour.
    on 2 sh -c 'ip link add in0 type veth peer name out0; ip link set in0 up; ip link set out0 up
        ip addr add 10.66.0.1/24 dev in0; echo 1 >/proc/sys/net/ipv4/ip_forward
        ip route add unreachable 10.67.0.0/24
        nft "add table ip r; add chain ip r f { type filter hook forward priority 0; policy accept; }
             add rule ip r f tcp dport 5 reject with icmp type admin-prohibited"'
    on 0 sh -c 'ip route replace 10.66.0.0/24 via 10.77.0.3; ip route replace 10.67.0.0/24 via 10.77.0.3'
    asked 10.66.0.9:4,5 10.67.0.9:6
    is 4 unreachable 'a router says that nobody has that address'
    is 5 unreachable 'a firewall on the way rejects it' '.ms < 1000'
    jq -e '.data.targets[] | select(.port == 6) | .state == "unreachable" and .ms < 1000' <<<"$doc"
    run -1 on 0 "$BIN/portcheck" 10.66.0.9:5
    [[ $output == *"(says 10.77.0.3)"* ]]
}

@test "routes of this host: none, prohibit, unreachable, blackhole" {
    on 0 sh -c 'ip route replace prohibit 10.88.0.1; ip route replace unreachable 10.88.0.2
        ip route replace blackhole 10.88.0.3; ip route del default'
    asked 10.88.0.1:1 10.88.0.2:2 10.88.0.3:3 10.99.0.4:4
    on 0 ip route add default via 10.77.0.254
    is 1 unreachable 'a route of this host'
    is 2 unreachable 'a route of this host'
    is 3 unreachable 'a route of this host'
    is 4 unreachable 'no route'
}

@test "this host's own output rules: dropped and rejected, and the rule is named" {
    on 0 ip neigh flush dev eth0 # what is dropped here never asks who has the address
    asked 10.77.0.2:29600,29601
    is 29600 filtered "this host's own firewall"
    is 29601 unreachable "this host's own firewall"
    asked --udp 10.77.0.2:29600
    is 29600 unreachable "this host's own firewall"
    run -1 on 0 "$BIN/portcheck" 10.77.0.2:29600
    [[ $output == *"inet own out, handle "*": tcp dport 29600 drop"* ]]
    [[ $output == *"-> sudo nft insert rule inet own out ip daddr 10.77.0.0/24 accept"* ]]
}

@test "UDP: open, refused, silent, prohibited" {
    asked --udp 10.77.0.2:9001-9004
    is 9001 open ''
    is 9002 silent 'proves nothing'
    is 9003 unreachable "that host's own firewall"
    is 9004 refused 'nothing listens'
}

@test "more rejects than the kernel sends at once are not taken for a security group" {
    asked 10.77.0.2:31000-31050
    jq -e '[.data.targets[] | .cause] | all(contains("own firewall"))' <<<"$doc"
}

@test "--from a source that the group does not know, and one that it knows" {
    asked 10.77.0.2:29500 --from 10.77.0.1
    is 29500 open ''
    asked 10.77.0.2:29500 --from lo --wait 300ms
    [ "$status" = 1 ]
}

@test "random rulesets: what we read out of them is what packets meet" {
    run -0 "$ROOT/scripts/lab" run 2 -- "$ROOT/tests/lab/nft_diff" 1 20
    [[ ${lines[-1]} == "20 rulesets, 800 ports, 0 unsure, 0 differ" ]]
}

@test "bare: this host's own rule is named, and the fix is in its manager's words" {
    managed() { # RULESET: from a node of its own
        printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/rules"
        run -0 --separate-stderr "$ROOT/scripts/lab" run 1 --firewall "$BATS_TEST_TMPDIR/rules" -- "$BIN/portcheck"
    }
    managed 'table inet firewalld { chain filter_INPUT { type filter hook input priority 10; policy accept;
        ct state established,related accept; iifname lo accept; reject with icmpx admin-prohibited; }; }'
    [[ $output == *"warn  local.firewall"*"rejects what comes from 10.77.0.0/16: inet firewalld filter_INPUT"* ]]
    [[ $output == *"-> sudo firewall-cmd --permanent --zone=trusted --add-source=10.77.0.0/16"* ]]
    managed 'table ip filter { chain ufw-before-input { tcp dport 22 accept; }
        chain INPUT { type filter hook input priority 0; policy drop; iifname lo accept; jump ufw-before-input; }; }'
    [[ $output == *"policy drop of ip filter INPUT"*"-> sudo ufw prepend allow from 10.77.0.0/16"* ]]
    managed 'table ip filter { chain INPUT { type filter hook input priority 0; policy accept; tcp dport 1024-65535 drop; }; }'
    [[ $output == *"tcp dport 1024-65535 drop"*"-> sudo nft insert rule ip filter INPUT ip saddr 10.77.0.0/16 accept"* ]]
}
