#!/usr/bin/env bats
# Ways that a host's own tables make: policy rules of VPNs and marks, routes that forbid, a bridge
# with another host's address, names that mean a network of containers. Said between hosts, by one
# host alone, and by ifprobe; what they say to type is typed, and mends it. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

ask() { # [PATIENCE]
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait "${1:-1s}" --json
}

failed() { # its only failure, as "CHECK SUBJECT"
    jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output"
}

first_fix() {
    jq -r '[.findings[] | select(.status == "fail" or .status == "warn")][0].fix[0]' <<<"$output"
}

type_it() { # NODE
    on "$1" sh -c "sudo() { \"\$@\"; }; $(first_fix)" >&2
}

mends() { # NODE FAULT FAILURE WORDS
    on "$1" sh -c "$2"
    on all ip neigh flush all
    ask
    [ "$(failed)" = "$3" ]
    [[ $output == *"$4"* ]]
    [[ $(first_fix) == *"# on node$1"* ]]
    type_it "$1"
    ask 3s
    [ "$status" = 0 ]
}

# From node0 alone, about node1.
alone() { # PROGRAM OPTIONS...
    run --separate-stderr on 0 "$BIN/$1" "${@:2}"
}

mark='nft "table ip m { chain o { type route hook output priority -150; ip daddr 10.77.0.2 meta mark set 7; }; }"
    ip rule add fwmark 7 lookup 100; ip route add blackhole default table 100'
vpn='ip tuntap add tailscale0 mode tun; ip address add 100.64.0.1/32 dev tailscale0; ip link set tailscale0 up
    ip rule add priority 5270 lookup 52; ip route add 10.77.0.0/16 dev tailscale0 table 52'

unvpn() { # NODE
    on "$1" sh -c 'ip link del tailscale0; ip rule del priority 5270; ip rule del priority 5269' 2>/dev/null || true
}

@test "routes: a mark that a rule gives, and a policy rule that throws away what has it" {
    mends 2 "$mark" 'mesh.out node2' \
        'ip m o, handle 2: ip daddr 10.77.0.2 mark set 7 gives it the mark 0x7, and a policy rule throws away what has that'
    # the rule that sets it is not to blame for anything by itself
    ask
    [ "$(failed)" = "" ]
    on 2 sh -c 'nft delete table ip m; ip rule del fwmark 7 lookup 100'
}

@test "routes: the same, asked by one host alone: its table of neighbours is not full" {
    on 0 sh -c "$mark"
    alone portcheck node1 --silence 1s --json
    [ "$status" = 1 ]
    [[ $output == *'gives it the mark 0x7'* && $output != *'neighbour table'* ]]
    type_it 0
    alone portcheck node1 --silence 1s
    [ "$status" = 0 ]
    on 0 sh -c 'nft delete table ip m; ip rule del fwmark 7 lookup 100'
}

@test "routes: a router that says so only so often: its word for one port goes for all of them" {
    alone portcheck 10.99.0.77 10.99.0.78 10.99.0.79 --silence 1s --json
    [ "$status" = 1 ]
    told=$(jq -r '[.data.targets[] | select(.to == "10.99.0.77") | "\(.state) \(.cause)"] | unique[]' <<<"$output")
    [ "$told" = "unreachable a router says that there is no route to it" ]
    [ "$(jq '[.findings[] | select(.subject | startswith("10.99.0.77:"))] | length' <<<"$output")" = 1 ]
    # of the last one it had no answer left
    [ "$(jq -r '.findings[-1].message' <<<"$output")" = "filtered: no answer at all: a security group, or a firewall that drops; or 10.77.255.254, which had said of 10.99.0.77 that there is no route to it, says so only so often" ]
    [ "$(jq -r '.findings[-1].fix[0]' <<<"$output")" = "portcheck 10.99.0.79   # alone: does that router say it then?" ]
}

@test "routes: of several rules for a mark nobody is to take one away" {
    on 0 sh -c "$mark; ip rule add priority 500 fwmark 7 lookup 200; ip rule add priority 400 fwmark 7 iif eth0 lookup main"
    alone portcheck node1 --silence 1s --json
    on 0 sh -c 'nft delete table ip m; ip route flush table 100; ip rule del priority 400; ip rule del priority 500; ip rule del fwmark 7'
    [ "$status" = 1 ]
    [[ $output == *'gives it the mark 0x7'* && $output != *' del '* && $(first_fix) == *"ip rule list" ]]
}

@test "routes: of a card's own table the route that forbids is taken away, not the rule of the card" {
    on 0 sh -c 'ip route add default via 10.77.255.254 dev eth0 table 10001; ip route add blackhole 10.77.0.2 table 10001
        ip rule add from 10.77.0.1 lookup 10001 priority 1000'
    alone portcheck node1 --silence 1s --json
    [ "$status" = 1 ]
    type_it 0
    [ "$(on 0 ip rule list priority 1000)" = "$(printf '1000:\tfrom 10.77.0.1 lookup 10001')" ]
    [[ $(on 0 ip route show table 10001) == "default via 10.77.255.254 dev eth0"* ]]
    on 0 sh -c 'ip rule del priority 1000; ip route flush table 10001'
}

@test "routes: two cards in one network: either is right, and no route is to be taken away" {
    on 0 sh -c 'ip link add d1 type veth peer name d1p; ip link set d1p up; ip link set d1 up
        ip address add 10.77.0.200/16 dev d1 noprefixroute; ip route add 10.77.0.0/16 dev d1 metric 5
        ip route del 10.77.0.0/16 dev eth0; ip route add 10.77.0.0/16 dev eth0 metric 100'
    alone portcheck 10.77.0.99 --silence 500ms --json
    on 0 sh -c 'ip link del d1; ip route replace 10.77.0.0/16 dev eth0; ip route del 10.77.0.0/16 dev eth0 metric 100; ip route replace default via 10.77.255.254'
    [ "$status" = 1 ]
    [[ $output != *"another interface"* && $output != *"route del"* ]]
}

@test "routes: to a router, though the two are in one network: a host's route, or the table of its own address" {
    local words='leads to a router, though the two are in one network: 10.77'
    mends 2 'ip route add 10.77.0.2/32 via 10.77.0.1' 'mesh.out node2' "$words.0.1"
    # one host alone; and a router that passes it on is no fault
    on 0 sh -c 'ip rule add from 10.77.0.1 lookup 77 priority 100; ip route add default via 10.77.0.3 dev eth0 table 77'
    alone portcheck node1:29500 --silence 300ms --json
    [[ $status = 1 && $output == *"$words.0.3"* && $output != *"security group"* ]]
    [[ $(first_fix) == 'sudo ip rule add to 10.77.0.0/16 lookup main priority 99' ]]
    alone ifprobe --peer node1:29500 --deadline 2s --json
    [[ $output == *"$words.0.3"*'ip rule add to 10.77.0.0/16 lookup main priority 99'* ]]
    type_it 0
    alone portcheck node1:29500 --silence 300ms
    on 0 sh -c 'ip rule del priority 99; ip rule del priority 100; ip route flush table 77'
    [ "$status" = 0 ]
    on 0 ip route add 10.77.0.2/32 via 10.77.255.254
    alone portcheck node1:29500 --silence 300ms --json
    on 0 ip route del 10.77.0.2/32
    [[ $status = 0 && $output != *router* ]]
}

@test "routes: a VPN that takes the cluster's own network, as Tailscale's accepted routes do" {
    mends 2 "$vpn" 'mesh.in node2' 'it leaves that host through another interface'
    unvpn 2
}

@test "routes: a VPN that takes all there is" {
    mends 2 'ip tuntap add wg0 mode tun; ip address add 10.8.0.2/24 dev wg0; ip link set wg0 up
        ip route add default dev wg0 table 51820; ip rule add not fwmark 51820 table 51820' \
        'mesh.in node2' 'it leaves that host through another interface'
    on 2 sh -c 'ip link del wg0; ip rule del not fwmark 51820 table 51820; ip rule del to 10.77.0.0/16 lookup main'
}

@test "routes: one host alone: what it forbids itself, in all its forms" {
    local what
    for what in 'route add blackhole 10.77.0.2' 'route add unreachable 10.77.0.0/24' \
        'route add prohibit 10.77.0.2' 'rule add to 10.77.0.2 blackhole'; do
        on 0 sh -c "ip $what"
        alone portcheck node1 --silence 1s --json
        [ "$status" = 1 ]
        [[ $output == *'a route of this host forbids it'* ]]
        type_it 0
        alone portcheck node1 --silence 1s
        [ "$status" = 0 ]
    done
}

@test "routes: one host alone: a way that leads into a VPN is no firewall's silence" {
    on 0 sh -c "$vpn"
    alone portcheck node1 --silence 1s --json
    [ "$status" = 1 ]
    [[ $output == *"route to it leaves through another interface"* && $output != *"security group"* ]]
    type_it 0
    alone portcheck node1 --silence 1s
    [ "$status" = 0 ]
    unvpn 0
}

@test "routes: a way that was asked for is no fault of the routes" {
    on 0 sh -c 'ip tuntap add tun0 mode tun; ip address add 10.8.0.1/24 dev tun0; ip link set tun0 up'
    alone portcheck node1 --from tun0 --silence 500ms --json
    on 0 ip link del tun0
    [ "$status" = 1 ]
    [[ $output != *"another interface"* && $output != *"route del"* ]]
}

@test "routes: ifprobe: an answer through the card is no proof where the routes lead elsewhere" {
    on 0 sh -c "$vpn"
    alone ifprobe --peer node1 --json
    [[ $(jq -r '.findings[] | select(.check == "route.peer") | "\(.status) \(.message)"' <<<"$output") == \
        "warn the routing table sends to it through tailscale0, not eth0"* ]]
    type_it 0
    [ "$(on 0 ip rule list priority 5269)" = "$(printf '5269:\tfrom all to 10.77.0.0/16 lookup main')" ]
    alone ifprobe --peer node1 --json
    [ "$(jq '[.findings[] | select(.check == "route.peer")] | length' <<<"$output")" = 0 ]
    unvpn 0
}

@test "routes: ifprobe: a route that forbids is found though the card reaches it" {
    on 0 ip route add blackhole 10.77.0.2
    alone ifprobe --peer node1 --json
    [ "$status" = 1 ]
    [[ $(jq -r '.findings[] | select(.check == "route.peer") | "\(.status) \(.message)"' <<<"$output") == \
        "fail a route of this host forbids it (blackhole), though it answers what is sent through eth0"* ]]
    on 0 sh -c "sudo() { \"\$@\"; }; $(jq -r '.findings[] | select(.check == "route.peer").fix[0]' <<<"$output")"
    alone ifprobe --peer node1
    [ "$status" = 0 ]
}

@test "routes: a bridge of containers that has another host's address" {
    mends 2 'ip link add docker0 type bridge; ip address add 10.77.0.1/24 dev docker0; ip link set docker0 up' \
        'mesh.twice node2' 'its interface docker0 has the address of node0, 10.77.0.1'
    on 2 ip link del docker0
}

@test "routes: a name that means a network of containers, or an address of before" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 3 -- bash -c '
        $WINDSOCK_RSH node1 "sed s/10.77.0.2/172.17.0.1/ /etc/hosts >$PWD/h1; cat $PWD/h1 >/etc/hosts
            ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up"
        $WINDSOCK_RSH node2 "sed s/10.77.0.3/10.77.0.99/ /etc/hosts >$PWD/h2; cat $PWD/h2 >/etc/hosts"
        "$BIN/portcheck" --hosts lab --wait 1s --json >said
        for node in node1 node2; do
            fix=$(jq -r --arg n $node ".findings[] | select(.check == \"mesh.name\" and .subject == \$n).fix[0]" said)
            $WINDSOCK_RSH $node "sudo() { \"\$@\"; }; $fix" || exit
        done
        exec "$BIN/portcheck" --hosts lab --wait 1s --json'
    [ "$(jq '[.findings[] | select(.check == "mesh.name")] | length' <<<"$output")" = 0 ]
    [ "$(jq -r '[.findings[] | select(.check == "mesh.name") | "\(.subject) \(.message)"] | map(split(":")[0]) | join("; ")' said)" = \
        "node1 means 172.17.0.1 on itself, which is docker0's, a network of containers; node2 means 10.77.0.99 on itself, which it does not have" ]
}

@test "routes: a name that means a network of containers only after the right address" {
    on 0 sh -c 'ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up
        echo "172.17.0.1 node0" >>/etc/hosts'
    alone ifprobe --json
    on 0 sh -c 'sed /^172/d /etc/hosts >hosts; cat hosts >/etc/hosts; rm hosts; ip link del docker0'
    [ "$(jq -r '.findings[] | select(.check == "host.name").status' <<<"$output")" = pass ]
}
