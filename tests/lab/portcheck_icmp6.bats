#!/usr/bin/env bats
# IPv6 finds its neighbours by ICMPv6: a node whose firewall drops it is up, and is not found. It
# and the rule are named, and not where a host is down. Needs root, nft, jq.
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "not root: the lab's firewalls need it"
    LAB_NAME=$("$ROOT/scripts/lab" up 3 --subnet fd00:77::/64)
    export LAB_NAME
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
}

on() { # NODE CMD...
    "$ROOT/scripts/lab" on "$LAB_NAME" "$1" -- "${@:2}"
}

rules() { # OF node2; whoever is known is forgotten
    on node2 sh -c 'nft flush ruleset; nft -f -' <<<"$1"
    on all ip -6 neigh flush all
}

mesh() { # what failed, and its fixes, of $output
    run --separate-stderr on node0 env WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME" \
        "$BIN/portcheck" --hosts node0,node1,node2 --json "$@"
    valid
}

said() { jq -r '.findings[] | select(.status == "fail") | "\(.check) \(.subject): \(.message)"' <<<"$output"; }

@test "between hosts: the node, the rule, and the command that mends it" {
    for rule in 'hook input priority 0; meta l4proto icmpv6 drop' \
        'hook output priority 0; icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } drop' \
        'hook input priority 0; policy drop; iif lo accept; ct state established,related accept; tcp dport 1-65535 accept'; do
        rules "table inet f { chain c { type filter $rule; }; }"
        mesh
        [ "$status" = 1 ]
        [ "$(said | wc -l)" = 1 ] # and the other way follows from it
        [[ $(said) == *"mesh.out node2: does not reach any other node: this host's own firewall drops ICMPv6"*"inet f c"* ]]
        [[ $(jq -r '.findings[] | select(.status == "info").message' <<<"$output") == *"follows from the same, and the same mends it: is not reached from any other node: that host's own firewall drops ICMPv6"* ]]
        fix=$(jq -r '[.findings[] | select(.status == "fail").fix[]] | unique[]' <<<"$output")
        [ "$fix" = "sudo nft insert rule inet f c meta l4proto icmpv6 accept   # on node2" ]
        on node2 sh -c "sudo() { \"\$@\"; }; $fix"
        on node2 ip -6 neigh flush all # a question that is under way may still end in vain
        mesh
        [ "$status" = 0 ]
    done
}

@test "between hosts: it is not said where TCP itself is dropped, nor of questions that pass" {
    rules 'table inet f { chain c { type filter hook input priority 0; iif lo accept; ct state new tcp dport 1024-65535 drop; }; }'
    mesh
    [ "$status" = 1 ]
    [[ $(said) == "mesh.in node2: is not reached from any other node"*"tcp dport 1024-65535 drop"* ]]
    run ! grep ICMPv6 <<<"$output"
    rules 'table inet f { chain c { type filter hook input priority 0; icmpv6 type echo-request drop; }; }'
    mesh
    [ "$status" = 0 ]
}

# node2 has IPv6 alone; NCCL would take IPv4 on the others, whose addresses node2 has no way to.
@test "between hosts: families that differ are said so, and no group's silence is a way back that lacks" {
    rules ''
    on node0 ip address add 10.9.0.1/24 dev eth0
    on node1 ip address add 10.9.0.2/24 dev eth0
    on node2 nft 'table inet f { chain c { type filter hook input priority 0; tcp dport 29500 tcp flags & (syn|ack) == syn drop; }; }'
    mesh
    on node2 nft flush ruleset
    [ "$status" = 1 ]
    [[ $(said) == *"mesh.out node2: does not reach any other node: there is no route to it: of node2 the others know an address of IPv6, and of node0 one of IPv4"* ]]
    [[ $(said) == *"mesh.in node2: is not reached from any other node (2 of 8 ports, such as 29500)"*"tcp dport 29500"* ]]
    [[ $output == *"export NCCL_SOCKET_FAMILY=AF_INET6   # on all hosts: node2 has no other family"* ]]
    run ! grep "no route back" <<<"$output"
    on node0 ip address del 10.9.0.1/24 dev eth0
    on node1 ip address del 10.9.0.2/24 dev eth0
}

@test "one host: its own rules, and what can be known of another one's" {
    rules 'table ip6 f { chain c { type filter hook input priority 0; meta l4proto icmpv6 drop; }; }'
    run -1 --separate-stderr on node2 "$BIN/portcheck" '[fd00:77::1]:29500'
    [[ $output == *"this host's own firewall drops ICMPv6"*"sudo nft insert rule ip6 f c meta l4proto icmpv6 accept"* ]]
    run --separate-stderr on node2 "$BIN/portcheck"
    [[ $output == *"warn  local.firewall     ICMPv6 "*"sudo nft insert rule ip6 f c meta l4proto icmpv6 accept"* ]]
    # from outside it cannot be told from a host that is down: both are said
    for at in fd00:77::3 fd00:77::99; do
        for wait in 500ms 4s; do
            run -1 --separate-stderr on node1 "$BIN/portcheck" "[$at]:29500" --wait "$wait"
            [[ $output == *"nobody on this network has answered for that address: the host is down, or its firewall drops ICMPv6"* ]]
            [[ $output == *"sudo portcheck   # on $at: is it up, is $at its address, does its firewall let ICMPv6 in?"* ]]
        done
    done
    rules ''
    run --separate-stderr on node2 "$BIN/portcheck"
    run ! grep ICMPv6 <<<"$output"
    run -0 --separate-stderr on node1 "$BIN/portcheck" '[fd00:77::3]:29500'
}

# The time that it was given for ends while they ask, which takes node0 some seconds at node1.
@test "between hosts: an address that goes away while they ask is its host's, and no security group" {
    local i
    on node1 nft 'table ip6 f { chain c { type filter hook input priority 0; ip6 saddr fd00:77::1 tcp dport 29500 drop; }; }'
    for i in {1..5}; do # a slow machine may not have begun by then
        on node2 sh -c "ip address del fd00:77::3/64 dev eth0; ip address add fd00:77::3/64 dev eth0 nodad valid_lft $((2 * i)) preferred_lft 1"
        mesh --silence $((4 * i))s
        [[ $(said) != *"its address"* ]] || break
    done
    on node1 nft delete table ip6 f
    [ "$status" = 1 ]
    [[ $(said) == *"mesh.address node2: its address fd00:77::3 went away while the hosts asked each other: it was given for a time"* ]]
    [ "$(said | wc -l)" = 2 ] # and node1's rule
    fix=$(jq -r '.findings[] | select(.check == "mesh.address").fix[0]' <<<"$output")
    [[ $fix == "sudo ip address replace fd00:77::3/64 dev eth0   # on node2"* ]]
    on node2 sh -c "sudo() { \"\$@\"; }; ${fix/ dev/ nodad dev}"
    mesh
    [ "$status" = 0 ]
}

@test "between hosts: whenever it is taken away, nothing else is blamed" {
    local seen=0 after
    taken_away() { # AFTER: seconds from when they begin to ask
        on node2 ip address replace fd00:77::3/64 dev eth0 nodad
        on node2 sh -c "sleep $1; ip address del fd00:77::3/64 dev eth0" 3>&- &
        mesh
        wait $!
        [ "$status" = 0 ] || [[ $(said) == "mesh.address node2: "* && $(said | wc -l) = 1 ]]
        [[ $(said) != *"its address fd00:77::3 went away while the hosts asked each other: somebody took it away"* ]] || seen=1
    }
    for after in 0.00 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1 0.2 0.3 0.5; do taken_away $after; done
    for after in 0.{03..15..2} 0.{16..40..3}; do # a busy machine may not have met the moment yet
        [ $seen = 1 ] || taken_away "$after"
    done
    on node2 ip address replace fd00:77::3/64 dev eth0 nodad
    [ $seen = 1 ]
}
