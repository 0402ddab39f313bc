#!/usr/bin/env bats
# Several paths to a host, one of them dead: connections work or do not by their ports, and that is
# said, with the next hop, instead of a security group. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

# node3 by node1 and node2, which pass on what is not for them; by ports, or (0) by addresses alone.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME" WINDSOCK_HOSTS=node0,node1,node2,node3
    on all sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0
    on 0 sysctl -qw net.ipv4.fib_multipath_hash_policy=1
    on 0 ip route add 10.77.0.4/32 nexthop via 10.77.0.2 nexthop via 10.77.0.3
}

teardown() {
    on all sh -c 'nft flush ruleset; ip route del 10.77.0.4/32; ip route flush cache' 2>/dev/null || true
}

dead() { # NODE
    on "$1" nft 'table ip f { chain c { type filter hook forward priority 0; drop; }; }'
}

alone() { # PORTS
    run --separate-stderr on 0 "$BIN/portcheck" "node3:$1" --silence "${PATIENCE:-1s}" --json
}

between() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --silence "${PATIENCE:-1s}" --json
}

first() { # KEY of what failed
    jq -r --arg k "$1" '[.findings[] | select(.status == "fail")][0] | .[$k] | if type == "array" then .[0] else . end' <<<"$output"
}

type_it() { # on node0
    on 0 sh -c "sudo() { \"\$@\"; }; $(first fix)" >&2
}

many=1-64 # of so many some go by the one, some by the other

@test "paths: both next hops work: nothing is said, and nothing takes longer" {
    alone $many
    [ "$status" = 0 ]
    between
    [ "$status" = 0 ]
}

@test "paths: one next hop is dead: it is named, and the line that takes it out mends it" {
    dead 2
    alone $many
    [ "$status" = 1 ]
    [[ $(first message) == *"one of several paths to it is dead: "*" of 16 source ports reach it, the same ones each time, and none by this host's next hop via 10.77.0.3 dev eth0"* ]]
    [[ $(first fix) == "sudo ip route replace 10.77.0.4/32 via 10.77.0.2 dev eth0"* ]]
    [[ $output != *"security group"* ]]
    type_it
    alone $many
    [ "$status" = 0 ]
}

@test "paths: between hosts one finding says so, of the host whose next hop it is" {
    dead 1
    for _ in {1..20}; do # few ports are asked: by chance all of them may go by the other
        between
        [[ $output != *"security group, or"* ]] || { echo "$output" && false; }
        [ "$status" = 0 ] || break
    done
    [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output")" = "mesh.out node0" ]
    [[ $(first message) == "does not reach node3"*"none by this host's next hop via 10.77.0.2 dev eth0"* ]]
    [[ $(first fix) == "sudo ip route replace 10.77.0.4/32 via 10.77.0.3 dev eth0   # on node0" ]]
    type_it
    between
    [ "$status" = 0 ]
}

@test "paths: by addresses alone all of it goes by the dead one: that it may be, and how to try" {
    on 0 sysctl -qw net.ipv4.fib_multipath_hash_policy=0
    dead 1
    dead 2
    alone 9
    [ "$status" = 1 ]
    [[ $(first message) == *"or what all of it goes by is dead, via 10.77.0."*" dev eth0, one of 2 next hops that this host has to it"* ]]
    [[ $(first fix) == "sudo ip route replace 10.77.0.4/32 via 10.77.0."*" dev eth0   # is it answered then?" ]]
}

@test "paths: ports that a rule drops, and one that limits, have nothing to do with paths" {
    on 0 ip route del 10.77.0.4/32
    on 3 nft 'table ip f { chain c { type filter hook input priority 0; ip saddr 10.77.0.1 tcp dport 1-32 drop; }; }'
    alone $many
    [ "$status" = 1 ]
    [[ $output != *"paths"* ]]
    on 3 nft 'flush ruleset; table ip f { chain c { type filter hook input priority 0; ip saddr 10.77.0.1 tcp flags syn limit rate over 5/second burst 5 packets drop; }; }'
    alone $many
    [ "$status" = 1 ]
    [[ $output != *"several paths"* ]]
}

@test "paths: a rule for a range of source ports, as a network ACL's, is no path" {
    on 0 ip route del 10.77.0.4/32
    on 3 nft 'table ip f { chain c { type filter hook input priority 0; iif eth0 tcp sport 1024-49151 drop; }; }'
    PATIENCE=400ms alone 1-32
    on 0 ip route add 10.77.0.4/32 dev eth0 # for teardown
    [ "$status" = 1 ]
    [[ $(first message) == *"it is answered from source ports above "*" and never from those below "*": a rule for a range of them"* ]]
    [[ $output != *"one of several paths"* ]]
    type_it
    PATIENCE=400ms alone 1-32
    on 0 sysctl -qw net.ipv4.ip_local_port_range='32768 60999'
    [ "$status" = 0 ]
}
