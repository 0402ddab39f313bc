#!/usr/bin/env bats
# portcheck between nodes where what fails is below TCP, or a route or rule that somebody
# made: one host is named for it, and its command, typed there, mends it. Needs root, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

ask() { # [PATIENCE]
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait "${1:-1s}" --json
}

# NODE FAULT CHECK WORDS [CURE]: one thing fails and says so of that node; what follows from it is
# no failure of its own. CURE: what its command only shows the way to.
mends() {
    local failed fix
    on "$1" sh -c "$2"
    on all ip neigh flush all
    ask
    [ "$status" = 1 ]
    failed=$(jq -c '[.findings[] | select(.status == "fail")]' <<<"$output")
    [ "$(jq length <<<"$failed")" = 1 ]
    [ "$(jq -r '.[0] | "\(.check) \(.subject)"' <<<"$failed")" = "$3 node$1" ]
    [[ $(jq -r '.[0].message' <<<"$failed") == *"$4"* ]]
    fix=$(jq -r '.[0].fix[0]' <<<"$failed")
    [[ $fix == *"# on node$1"* ]]
    [[ $fix != *sysctl*=\ * ]] # an empty value, which older ones do not take
    on "$1" sh -c "sudo() { \"\$@\"; }; ${5:-$fix}" >&2
    ask 3s # a switch may have to learn anew where a card is
    [ "$status" = 0 ]
}

@test "links: a netmask that leaves the others out" {
    mends 2 'ip address add 10.77.0.3/30 dev eth0; ip address del 10.77.0.3/16 dev eth0; ip route del default' \
        mesh.netmask 'its network is /30 (10.77.0.0/30) and that of node3 is /16'
}

@test "links: the hardware address of another host" {
    mends 2 'ip link set eth0 address 02:4c:41:42:00:01' mesh.mac 'has the hardware address of node1, 02:4c:41:42:00:01'
}

@test "links: an entry for a neighbour that somebody made" {
    mends 0 'ip neigh replace 10.77.0.3 lladdr 02:00:00:00:99:99 dev eth0 nud permanent' \
        mesh.arp 'what is for node2 to the hardware address 02:00:00:00:99:99, by an entry that somebody made'
}

@test "links: a card without ARP" {
    mends 2 'ip link set eth0 arp off' mesh.arp 'neither asks for hardware addresses nor answers'
}

@test "links: a policy rule that leads into a black hole" {
    mends 2 'ip rule add from 10.77.0.3 lookup 100 priority 100; ip route add blackhole default table 100' \
        mesh.out 'a route of this host forbids it'
    # other routes of its table may be needed, and so may the rule
    on 2 sh -c '[ ! "$(ip route show table 100)" ] && ip rule del from 10.77.0.3 lookup 100 priority 100'
}

@test "links: a policy rule that forbids one host" {
    # others of its priority are somebody's, and stay; so are those for another user
    mends 2 'ip rule add to 10.77.0.2 uidrange 65000-65001 prohibit priority 90; ip rule add to 10.99.0.0/16 lookup main priority 100; ip rule add to 10.77.0.2 prohibit priority 100' \
        mesh.out 'does not reach node1: a route of this host forbids it'
    [ "$(on 2 ip rule list priority 100)" = "$(printf '100:\tfrom all to 10.99.0.0/16 lookup main')" ]
    on 2 sh -c 'ip rule del priority 100; ip rule del priority 90'
}

@test "links: a rule that cannot be told from another, or may not be the one: nobody is to take it away" {
    local rules
    for rules in 'to 10.77.0.2 fwmark 7 lookup main priority 100' 'to 10.77.0.0/24 lookup 100 priority 90'; do
        on 2 sh -c "ip rule add $rules; ip rule add to 10.77.0.2 prohibit priority 100"
        ask
        on 2 sh -c "ip rule del $rules; ip rule del priority 100"
        [ "$status" = 1 ]
        [[ $output == *'a route of this host forbids it'* && $output != *'rule del'* ]]
    done
}

@test "links: a bridge of containers whose network covers the cluster's" {
    mends 2 'ip link add br-x type bridge; ip address add 10.77.0.99/24 dev br-x; ip link set br-x up' \
        mesh.in 'it leaves that host through another interface'
    on 2 ip link del br-x
}

@test "links: packets that get lost on the way to one host are its" {
    nsenter -t "${LAB_NAME#lab}" -n nft -f - <<'N'
table bridge t { chain c { type filter hook forward priority 0; ip daddr 10.77.0.3 tcp flags & (syn|ack) == syn numgen inc mod 2 0 quota until 480 bytes drop; }; }
N
    ask 3s
    nsenter -t "${LAB_NAME#lab}" -n nft delete table bridge t
    [ "$status" = 1 ]
    [ "$(jq -r '[.findings[] | select(.status == "fail")] | map("\(.check) \(.subject)") | join(",")' <<<"$output")" = "mesh.loss node2" ]
    [[ $(jq -r '.findings[] | select(.check == "mesh.loss").message' <<<"$output") == *"answered only when they were asked again"* ]]
    ask
    [ "$(jq '[.findings[] | select(.check == "mesh.loss")] | length' <<<"$output")" = 0 ]
}

@test "links: a few of a hundred packets that get lost are told where rates are measured" {
    on 2 nft 'table ip l { chain c { type filter hook input priority 0; iif eth0 numgen random mod 100 < 3 drop; }; }'
    run -0 --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" --hosts node0,node1,node2 --bandwidth 0.5 --json
    on 2 nft delete table ip l
    jq -e '[.findings[] | select(.subject == "node2" and .status == "warn" and (.message | contains("had to be sent again")))] | length > 0' <<<"$output"
    jq -e '[.data.pairs[] | select(.to == "node2").resent] | length == 2 and all(. > 0.01 and . < 0.1)' <<<"$output"
}

@test "links: a way of which the first packets are lost, all of them, as where a tunnel begins" {
    nsenter -t "${LAB_NAME#lab}" -n nft -f - <<'N'
table bridge t {
    set seen { type ipv4_addr . ipv4_addr . inet_service . inet_service; flags dynamic; size 65535; }
    chain c { type filter hook forward priority 0; ip saddr 10.77.0.2 ip daddr 10.77.0.3 tcp flags & (syn|ack) == syn ip saddr . ip daddr . tcp sport . tcp dport != @seen add @seen { ip saddr . ip daddr . tcp sport . tcp dport } counter drop; }
}
N
    ask 3s
    dropped=$(nsenter -t "${LAB_NAME#lab}" -n nft -j list table bridge t | jq '[.. | .counter? // empty | .packets] | add')
    nsenter -t "${LAB_NAME#lab}" -n nft delete table bridge t
    [ "$dropped" -ge 3 ]
    [ "$status" = 0 ]
    [ "$(jq '[.findings[] | select(.check == "mesh.loss")] | length' <<<"$output")" = 0 ]
    [ "$(jq -r '[.findings[] | select(.check == "mesh.first") | "\(.status) \(.subject)"] | join(", ")' <<<"$output")" = 'info node1 to node2' ]
}

@test "links: a shaper leaves next to nothing: the host and what it sends" {
    mends 2 'tc qdisc add dev eth0 root tbf rate 2mbit burst 16kb latency 50ms' \
        mesh.bandwidth 'sends ' 'tc qdisc del dev eth0 root'
}

@test "links: a shaper at all of them is what there is between them, and no fault of theirs" {
    on all tc qdisc add dev eth0 root tbf rate 2mbit burst 16kb latency 50ms
    ask
    on all tc qdisc del dev eth0 root
    [ "$status" = 0 ]
    [ "$(jq -c '[.findings[] | select(.check == "mesh.bandwidth").status] | unique' <<<"$output")" = '["warn"]' ]
}

@test "links: an address that is sent elsewhere: the rule of nat" {
    mends 2 'nft "table ip n { chain c { type nat hook prerouting priority -100; tcp dport 1024-65535 dnat to 10.9.9.9; }; }"' \
        mesh.in 'ip n c, handle 2: tcp dport 1024-65535 dnat to 10.9.9.9'
    on 2 nft delete table ip n
}

@test "links: all ports are reserved; nearly all" {
    mends 2 'sysctl -qw net.ipv4.ip_local_reserved_ports=1024-65535' host.answer 'no port is left that its kernel may hand out'
    on 2 sysctl -qw net.ipv4.ip_local_reserved_ports=1024-60900
    run --separate-stderr on 2 "$BIN/portcheck" --json
    [[ $(jq -r '.findings[] | select(.check == "local.port_range") | "\(.status) \(.message)"' <<<"$output") == \
        "warn only 99 ephemeral ports, ip_local_reserved_ports keeps the others"* ]]
    local fix
    fix=$(jq -r '.findings[] | select(.check == "local.port_range").fix[0]' <<<"$output")
    [[ $fix != *=\ * && $fix != *= ]] # older sysctls take no empty value
    on 2 sh -c "sudo() { \"\$@\"; }; $fix" >&2
    [ "$(on 2 cat /proc/sys/net/ipv4/ip_local_reserved_ports)" = "" ]
}

@test "links: the best cards of two hosts are in networks of their own: they meet by the other" {
    run --separate-stderr "$ROOT/scripts/lab" run 3 --rails 2 -- bash -c '
        for n in 0 1 2; do
            $WINDSOCK_RSH node$n "ip route del default; ip link set eth0 mtu 1400; ip address flush dev eth1
                ip address add 10.$n.0.2/24 dev eth1"
        done
        $WINDSOCK_RSH node0 "ip link set eth1 down"
        exec "$BIN/portcheck" --hosts "$WINDSOCK_HOSTS" --wait 1s --json'
    [ "$status" = 0 ]
    jq -e '[.findings[] | select(.check == "mesh.reach").message | contains("reach each other on every port")] == [true]' <<<"$output"
}
