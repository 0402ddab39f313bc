#!/usr/bin/env bats
# A network that is well, and a node whose settings keep a job from starting on it: a
# name that leads elsewhere, an address that two have, variables that hosts disagree
# about, a host that gives no answer. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

# A way to the nodes that types SETUP on one of them before the command.
odd() { # NODE SETUP
    printf '#!/bin/sh\nhost=$1\nshift\n[ "$host" != node%s ] || set -- "%s; $*"\nexec "%s" rsh "%s" "$host" "$@"\n' \
        "$1" "$2" "$ROOT/scripts/lab" "$LAB_NAME" >rsh
    chmod +x rsh
    WINDSOCK_RSH=$PWD/rsh
}

# Its own advice, typed on NODE, and the next run passes.
mend() { # NODE
    local fix
    fix=$(first '.fix[0]')
    on "$1" sh -c "sudo() { \"\$@\"; }; $fix" >&2
    look
    [ "$code" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
}

@test "the name of the first host leads elsewhere on one: a failure before any rank is started" {
    look
    [ "$code" = 0 ]
    on 1 sh -c 'h=$(sed "s/^10\.77\.0\.1\b/10.77.9.1/" /etc/hosts); echo "$h" >/etc/hosts'
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.master node1 node0" ]
    [[ $(first .message) == "leads to 10.77.9.1, which is not node0"* ]]
    [ "$(jq -r .data.exclude <<<"$output")" = node1 ]
    mend 1
}

@test "--master: the name that a job meets at is not known on one host, and is itself on another" {
    on 3 sh -c 'h=$(grep -v node2 /etc/hosts); echo "$h" >/etc/hosts'
    on 2 sh -c 'h=$(cat /etc/hosts); printf "127.0.1.1 node2\n%s\n" "$h" >/etc/hosts'
    look
    [ "$(jq '[.findings[] | select(.check == "drift.master")] | length' <<<"$output")" = 0 ]
    look --master node2
    [ "$code" = 1 ]
    [ "$(jq -r '[.findings[] | select(.check == "drift.master") | "\(.host) \(.message)"] | join(",")' <<<"$output")" = \
        "node3 is not known: a job that meets there does not start" ]
    on 2 sh -c 'h=$(grep -v ^127.0.1.1 /etc/hosts); echo "$h" >/etc/hosts'
    mend 3
}

@test "a name that only its own host knows is for ssh; one that means another address elsewhere may be translated" {
    for node in 1 2 3; do
        on $node sh -c 'cp /etc/hosts '"$PWD/hosts$node"'; h=$(grep -v node0 /etc/hosts); echo "$h" >/etc/hosts'
    done
    look
    [ "$code" = 0 ]
    [ "$(jq '[.findings[] | select(.check == "drift.master")] | length' <<<"$output")" = 0 ]
    look --master node0
    [ "$code" = 1 ]
    [ "$(jq -c '[.findings[] | select(.check == "drift.master" and .status == "fail").host]' <<<"$output")" = '["node1","node2","node3"]' ]
    for node in 1 2 3; do
        on $node sh -c 'echo "10.77.9.1 node0" >>/etc/hosts'
    done
    look
    for node in 1 2 3; do
        on $node sh -c "cat '$PWD/hosts$node' >/etc/hosts"
    done
    [ "$code" = 0 ]
    [ "$(jq -c '[.findings[] | select(.check == "drift.master").status] | unique' <<<"$output")" = '["warn"]' ]
    [ "$(jq -c .data.exclude <<<"$output")" = null ]
}

@test "one address on two hosts: which of them to take it from, whatever else it breaks" {
    on 3 ip address add 10.77.0.3/16 dev eth0
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.address node3 10.77.0.3" ]
    [ "$(first '.fix[0]')" = "sudo ip address del 10.77.0.3/16 dev eth0" ]
    [[ $(first '.fix[1]') == "sudo ip neigh flush to 10.77.0.3"* ]]
    for node in 0 1 3; do on $node ip neigh flush to 10.77.0.3; done
    on 3 ip address del 10.77.0.3/16 dev eth0
    for node in 0 1 3; do on $node ip neigh flush to 10.77.0.3; done
    look
    [ "$code" = 0 ]
}

@test "an address that NCCL would publish on one host and the others cannot reach" {
    odd 3 'export NCCL_SOCKET_IFNAME=lo'
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.stage) \(.check) \(.subject)"')" = "paths predict.reach node3" ]
    [[ $(first .message) == "NCCL there would publish 127.0.0.1, which node[0-2] cannot reach" ]]
    [ "$(jq -r .data.exclude <<<"$output")" = node3 ]
}

@test "variables that hosts disagree about; what a healthy cluster answered is not asked again" {
    odd 2 'export NCCL_ALGO=Ring'
    look
    [ "$code" = 0 ]
    [ "$(first '"\(.check) \(.subject)"')" = "lint.differs NCCL_ALGO" ]
    [[ $(first .message) == *"Ring on node2" ]]
    odd 2 :
    look
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
}

@test "buffers of TCP and a limit of the address space on one host alone" {
    was=$(on 2 sysctl -n net.ipv4.tcp_rmem)
    on 2 sysctl -qw net.ipv4.tcp_rmem='4096 4096 4096'
    look
    [[ $(first '"\(.check) \(.hosts[0]) \(.message)"') == "drift.tcp_rmem node2 4096 4096 4096 here, "* ]]
    mend 2
    [ "$(on 2 sysctl -n net.ipv4.tcp_rmem)" = "$was" ]
    odd 1 'ulimit -v 68719476736'
    look
    [ "$(first '"\(.check) \(.hosts[0])"')" = "limits.address_space node1" ]
}

@test "why a host gives no answer stands in the cause, with the command" {
    printf '#!/bin/sh\n[ "$1" != node3 ] || { echo "ssh: connect to host node3 port 22: Connection refused" >&2; exit 255; }\nexec "%s" rsh "%s" "$@"\n' \
        "$ROOT/scripts/lab" "$LAB_NAME" >rsh
    chmod +x rsh
    WINDSOCK_RSH=$PWD/rsh look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0])"')" = "host.answer node3" ]
    [[ $(first .message) == *"connection refused"* ]]
    [[ $(first '.fix[0]') == *"/rsh node3 windsock"* ]]
}
