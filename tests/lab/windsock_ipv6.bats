#!/usr/bin/env bats
# A cluster with IPv6 alone, and the node of it that speaks IPv4, has no address, or was
# told to use IPv4: named first, with the command that mends it. Needs root, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh
LAB_OPTIONS=(--subnet fd00:77::/64)

# Whatever a test left, the next finds a healthy cluster.
teardown() {
    on 2 sh -c 'sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; ip address flush dev eth0 scope global
        ip address add fd00:77::3/64 dev eth0; ip route replace default via fd00:77::ffff' >/dev/null 2>&1
}

@test "all is well where there is no IPv4: every command, and addresses in the place of names" {
    run -0 --separate-stderr windsock --hosts lab --json
    valid
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts and the ways between them, with collectives and training" ]]
    [ "$(jq -r '[.data.parts.training.world.ranks[].address] | join(",")' <<<"$output")" = fd00:77::1,fd00:77::2,fd00:77::3,fd00:77::4 ]
    run -0 --separate-stderr windsock --hosts "[fd00:77::1],fd00:77::2" --json
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = fd00:77::1,fd00:77::2 ]
    [[ $(jq -r .data.covers <<<"$output") == "2 of 2 hosts and the ways between them, with collectives and training" ]]
}

@test "a host with IPv4 alone: it and no other, with the address that its name promises" {
    on 2 sh -c 'ip address flush dev eth0 scope global; ip address add 10.77.0.3/16 dev eth0'
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.family node2 10.77.0.3" ]
    [[ $(first .message) == "is IPv4, all that it has, and 3 of 4 hosts are reached by IPv6"* ]]
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = node2 ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node3 ]
    # the others were tested all the same
    [ "$(jq -r '.findings[] | select(.check == "mesh.reach").status' <<<"$output")" = pass ]
    follow 2
    # NCCL takes IPv4 first on a host that has both
    look
    [ "$(first '"\(.check) \(.hosts[0])"')" = "drift.family node2" ]
    fix=$(first '.fix[0]')
    [[ $fix == "export NCCL_SOCKET_FAMILY=AF_INET6 "*"# on all hosts"* ]]
    # so it is typed: on that host alone, where it makes the difference, and on all of them
    odd 2 "${fix%%  #*}"
    look
    [ "$code" = 0 ]
    [ "$(first '"\(.check) \(.message)"')" = "lint.differs not set on node[0-1,3]; AF_INET6 on node2" ]
    odd all "${fix%%  #*}"
    healthy
    [ "$(jq -r '.nodes[] | select(.host == "node2").data.parts.interface.suggest.address' <<<"$output")" = fd00:77::3 ]
    run -0 --separate-stderr windsock --hosts lab --json
    [ "$(jq -r '[.data.parts.training.world.ranks[].address] | join(",")' <<<"$output")" = fd00:77::1,fd00:77::2,fd00:77::3,fd00:77::4 ]
    on 2 ip address del 10.77.0.3/16 dev eth0
    WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME"
    healthy
}

@test "a host with no more than its link-local address, and one with IPv6 switched off" {
    for fault in 'ip address flush dev eth0 scope global' 'sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1'; do
        on 2 sh -c "$fault"
        look
        [ "$code" = 1 ]
        [ "$(first '"\(.check) \(.hosts[0])"')" = "addr.usable node2" ]
        [[ $(first '.fix[0]') == *"ip address add fd00:77::3/64 dev eth0   # on node2" ]]
        follow 2
        healthy
    done
}

@test "a host that is told to use IPv4: NCCL would publish loopback there" {
    odd 2 'export NCCL_SOCKET_FAMILY=AF_INET'
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.subject)"')" = "predict.reach node2" ]
    fix=$(first '.fix[0]')
    [[ $fix == "ifprobe --suggest --hosts "* ]]
    on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" PATH="$BIN:$PATH" sh -c "$fix" >lines
    grep -q 'NCCL_SOCKET_FAMILY=AF_INET6' lines
    odd all ". $PWD/lines"
    look
    [ "$code" = 0 ]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 4 ]
}
