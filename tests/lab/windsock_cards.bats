#!/usr/bin/env bats
# A node with a second card, where what its best one has is not what the others have. Needs
# root, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them
bats_require_minimum_version 1.5.0

load windsock.sh

teardown() {
    on all sh -c 'ip link del eth1 2>/dev/null || true'
}

card() { # NODE COMMANDS: eth1, which comes before eth0 by its kind
    on "$1" sh -c "ip link add link eth0 name eth1 type macvlan mode bridge; ip link set eth1 up; $2"
}

@test "its best card has IPv6 alone, and IPv4, which all others have, is on another one" {
    card 2 'ip address add fd00:77::3/64 dev eth1 nodad'
    look
    [ "$code" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.nodes[] | select(.host == "node2").data.parts.interface.suggest.address' <<<"$output")" = fd00:77::3 ]
    run -0 --separate-stderr windsock --hosts lab --json
    valid
    [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts and the ways between them, with collectives and training" ]]
    [ "$(jq -r '[.data.parts.training.world.ranks[].address] | join(",")' <<<"$output")" = 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 ]
}

@test "its best card leads to none of the others: NCCL's choice, which does, is right, and no line pins the other one" {
    card 2 'ip address add 10.99.0.1/24 dev eth1'
    look
    [ "$code" = 0 ]
    [ "$(jq -r '.nodes[] | select(.host == "node2").data.parts.interface.suggest.address' <<<"$output")" = 10.99.0.1 ]
    [ "$(jq -r '.findings[] | select(.check == "nccl.choice" and .host == "node2") | "\(.status) \(.message)"' <<<"$output")" = \
        "info NCCL uses eth0, where all others are, and not eth1 with 10.99.0.1: no other host is in that network" ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    # what settings chose is said to be theirs, and no firewall's
    odd 2 'export NCCL_SOCKET_IFNAME==eth1'
    look
    [ "$code" = 1 ]
    [[ $(first '"\(.check) \(.message) \(.fix[0])"') == "mesh.in is not reached from any other node at 10.99.0.1, which spoils 3 pairs: NCCL's settings there chose eth1, which leads to none of the others, and eth0 does "*" export NCCL_SOCKET_IFNAME='=eth0'   # on node2"* ]]
}

@test "NAT that each virtual machine has for itself, beside the network that they share" {
    for n in 0 1 2 3; do
        card $n 'ip address add 10.0.2.15/24 dev eth1; ip route replace default via 10.0.2.2 dev eth1'
    done
    run -0 on 1 "$BIN/ifprobe" --suggest --json
    [ "$(jq -r .data.suggest.interface <<<"$output")" = eth0 ]
    [[ $(jq -r '.data.suggest.why' <<<"$output") == "eth1 is in the translated network (NAT) that a virtual machine has for itself"* ]]
    run -0 on 1 "$BIN/ifprobe" --suggest
    [[ $output == *"export NCCL_SOCKET_IFNAME='=eth0'"* ]]
    look
    [ "$code" = 0 ]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 4 ]
    [ "$(jq '[.findings[] | select(.check == "drift.address")] | length' <<<"$output")" = 0 ]
    # by itself NCCL would send data through it all the same
    [ "$(first '"\(.check) \(.hosts | length) \(.fix[0])"')" = 'nccl.choice 4 ifprobe --bashrc --peer 10.77.0.1 --peer 10.77.0.2   # on node[0-3]' ]
    echo "eval \"\$($BIN/ifprobe --suggest 2>/dev/null)\"" >lines
    odd all ". $PWD/lines"
    healthy
    # it leads out to all of them, and is no better for its larger MTU
    on 0 sh -c 'ip link del eth1; ip address add 10.0.2.2/24 dev eth0'
    on 1 sh -c 'ip link add link eth0 name eth2 type macvlan mode bridge; ip link set eth2 up mtu 1400
        ip address del 10.77.0.2/16 dev eth0; ip address add 10.77.0.2/16 dev eth2'
    run -0 on 1 "$BIN/ifprobe" --suggest --json --peer 10.77.0.1
    on 1 sh -c 'ip link del eth2; ip address add 10.77.0.2/16 dev eth0'
    on 0 ip address del 10.0.2.2/24 dev eth0
    [ "$(jq -r .data.suggest.interface <<<"$output")" = eth2 ]
    [[ $(jq -r '.data.suggest.candidates[] | select(.interface == "eth1").why' <<<"$output") == "reaches every peer, but is in the translated network (NAT)"* ]]
    # where it is all that there is, it is chosen, and said to be what it is
    on 3 ip address del 10.77.0.4/16 dev eth0
    run -0 on 3 "$BIN/ifprobe" --suggest --json
    on 3 ip address add 10.77.0.4/16 dev eth0
    [ "$(jq -r .data.suggest.address <<<"$output")" = 10.0.2.15 ]
    [[ $(jq -r .data.suggest.why <<<"$output") == "the only usable interface, in the translated network (NAT)"* ]]
}
