#!/usr/bin/env bats
# Hosts with two cards in one network, as GPU clusters have them: neither card's route is to go, and
# what is lost between them is named. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

ask() { # RSH
    run --separate-stderr on 0 env WINDSOCK_RSH="${1:-$WINDSOCK_RSH}" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

failed() { # "CHECK SUBJECT" of what failed
    jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output"
}

fix() { # NUMBER
    jq -r --argjson n "$1" '[.findings[] | select(.status == "fail")][0].fix[$n]' <<<"$output"
}

# A second card for each, on the same switch; FIRST: the one that routes prefer.
second_card() { # FIRST SECOND
    local n
    for n in 0 1 2 3; do
        on $n sh -c "ip link add eth1 type veth peer name second$n netns 1
            ip address add 10.77.1.$((n + 1))/16 dev eth1; ip link set eth1 up
            ip route flush 10.77.0.0/16; ip route add 10.77.0.0/16 dev $1; ip route add 10.77.0.0/16 dev $2 metric 100"
        switch ip link set "second$n" master br0 up
    done
}

filters() { # NUMBER: strict is 1
    on all sh -c "for i in all eth0 eth1; do echo $1 >/proc/sys/net/ipv4/conf/\$i/rp_filter; done; ip neigh flush all"
}

teardown() {
    filters 0 2>/dev/null || true
    on 0 ip neigh del 10.77.0.3 dev eth0 2>/dev/null || true
    switch nft delete table netdev t 2>/dev/null || true
    on all sh -c 'ip link del eth1; ip link del br-x; ip link del docker0; ip route replace 10.77.0.0/16 dev eth0; ip rule del priority 1001; ip rule del priority 1002
        ip route flush table 1001; ip route flush table 1002; ip neigh flush all
        sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0' 2>/dev/null || true
}

@test "rails: two cards in one network are no fault, whichever the routes prefer" {
    second_card eth0 eth1
    filters 0
    ask
    [ "$status" = 0 ]
    on all sh -c 'ip route del 10.77.0.0/16 dev eth1; ip route add 10.77.0.0/16 dev eth1; ip route del 10.77.0.0/16 dev eth0; ip route add 10.77.0.0/16 dev eth0 metric 100'
    ask
    [ "$status" = 0 ]
}

@test "rails: the card that NCCL is told is the one that is asked, and which one that was is said" {
    cd "$BATS_TEST_TMPDIR"
    echo 'table inet f { chain in { type filter hook input priority 0; policy accept; iifname eth1 tcp flags & (syn|ack) == syn drop; }; }' >drop.nft
    printf '#!/bin/sh\nhost=$1; shift\nexec $REAL_RSH $host "export $TOLD; $*"\n' >rsh
    chmod +x rsh
    local told lab=("$ROOT/scripts/lab" run 2 --rails 2 --firewall "node1=drop.nft" -- env "PATH=$BIN:$PATH")
    for told in NCCL_SOCKET_IFNAME==eth1 X= NCCL_SOCKET_IFNAME=^eth1 NCCL_SOCKET_IFNAME=lo; do
        run --separate-stderr "${lab[@]}" TOLD="$told" "$told" sh -c 'REAL_RSH=$WINDSOCK_RSH portcheck --rsh ./rsh --hosts lab'
        case $told in
            *==eth1) [[ $status = 1 && $output == *"fail  mesh.in "*"node1 "* ]] ;;
            *) [[ $status = 0 && $output == *"2 pairs "*"reach each other on every port through eth0 (10.77.0.0/16), median "* ]] ;;
        esac
    done
    run -0 --separate-stderr "${lab[@]}" NCCL_SOCKET_IFNAME==eth1 portcheck
    [[ $output == *"peers should use 10.78.0.1, as NCCL's settings say"*"portcheck 10.78.0.1:"* ]]
}

@test "rails: the second card of one host is cut off: that host, each address through its own card, and no route goes" {
    local routes
    second_card eth1 eth0
    filters 0
    switch nft 'table netdev t { chain c { type filter hook ingress device second2 priority 0; drop; }; }'
    ask
    [ "$(failed)" = "mesh.in node2" ]
    [[ $output != *"route del"* ]]
    [[ $(fix 1) == "ping -c 1 -I eth1 10.77.0."*" # on node2: no answer: that card's cable, port or VLAN" ]]
    [[ $(fix 2) == "export NCCL_SOCKET_IFNAME='=eth0' "*"its cards eth0 and eth1 are in one network, 10.77.0.0/16"* ]]
    routes=$(on 2 ip route)
    on 2 sh -c "sudo() { \"\$@\"; }; $(fix 0)" >&2
    [ "$(on 2 ip route)" = "$routes" ]
    ask
    [[ $(failed) != *mesh.in* ]]
}

@test "rails: strict filters, and the other card answers for the address" {
    second_card eth0 eth1
    filters 1
    on 0 ip neigh replace 10.77.0.3 lladdr "$(on 2 cat /sys/class/net/eth1/address)" dev eth0 nud permanent
    ask
    [ "$(failed)" = "mesh.in node2" ]
    [[ $(jq -c '.findings' <<<"$output") == *"reverse-path filter drops it"* ]]
    [[ $(fix 0) == "sudo sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "*"# on node2" ]]
    on 2 sh -c "sudo() { \"\$@\"; }; $(fix 0)" >&2
    ask
    [ "$status" = 0 ]
}

@test "rails: a route that our own ssh needs is not to be taken away; another one is" {
    on 2 sh -c 'ip link add br-x type bridge; ip address add 10.77.0.99/24 dev br-x; ip link set br-x up'
    for client in 10.77.0.50 192.0.2.1; do
        cat >rsh <<EOF
#!/bin/sh
node=\$1
shift
echo "\$*" >"$PWD/\$node"
# as sudo does, which leaves it out, too
exec $WINDSOCK_RSH "\$node" "SSH_CONNECTION='$client 40000 10.77.0.3 22' sh -c 'env -u SSH_CONNECTION sh $PWD/\$node; exit \\$?'"
EOF
        chmod +x rsh
        on all ip neigh flush all
        ask "$PWD/rsh"
        [[ "$(failed)" == "mesh.in node2"* ]]
        if [ "$client" = 192.0.2.1 ]; then
            [[ $output == *"sudo ip route del 10.77.0.0/24 dev br-x   # on node2"* ]]
        else
            [[ $output != *"route del"* && $output == *"ip route get "*"# on node2: should leave through eth0"* ]]
        fi
    done
}

@test "rails: a bridge of containers that has taken the cards' network is none: its route is to go" {
    on 2 sh -c 'ip link add docker0 type bridge; ip address add 10.77.9.9/16 dev docker0; ip link set docker0 up
        ip route del 10.77.0.0/16 dev eth0; ip route add 10.77.0.0/16 dev eth0 metric 100'
    on all ip neigh flush all
    ask
    [[ "$(failed)" == "mesh.in node2"* ]]
    [[ $output == *"sudo ip route del 10.77.0.0/16 dev docker0   # on node2"* && $output != *"table 1001"* ]]
}
