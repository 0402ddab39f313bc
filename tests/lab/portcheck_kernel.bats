#!/usr/bin/env bats
# What a host's kernel does to connections of its own accord, or asks of the network: ECN that
# something on the way drops, queues and tables that are too small, a bridge that waits for spanning
# tree, an IPv6 address that is a duplicate. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

ask() { # [SILENCE]
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --silence "${1:-1s}" --json
}

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

said() { # STATUS: what has it, as "CHECK SUBJECT"
    jq -r --arg s "$1" '[.findings[] | select(.status == $s) | "\(.check) \(.subject)"] | join(", ")' <<<"$output"
}

message() { # CHECK
    jq -r --arg c "$1" '.findings[] | select(.check == $c).message' <<<"$output"
}

type_it() { # NODE CHECK
    local fix
    fix=$(jq -r --arg c "$2" '.findings[] | select(.check == $c).fix[0]' <<<"$output")
    [ "$fix" ] && [ "$fix" != null ]
    on "$1" sh -c "sudo() { \"\$@\"; }; $fix" >&2
}

drop_ecn='table bridge t { chain c { type filter hook forward priority 0; tcp flags & (ecn|cwr) == (ecn|cwr) drop; }; }'

teardown() {
    switch nft delete table bridge t 2>/dev/null || true
    on all sh -c 'sysctl -qw net.ipv4.tcp_ecn=2; umount /proc/sys/net/netfilter/nf_conntrack_count' 2>/dev/null || true
}

@test "kernel: what asks for ECN is dropped on the way, and answered when it asks without" {
    on 1 sysctl -qw net.ipv4.tcp_ecn=1
    switch nft "$drop_ecn"
    ask 4s
    [ "$(said fail)" = "mesh.ecn node1" ]
    [[ $(message mesh.ecn) == "asks for ECN (net.ipv4.tcp_ecn), and in all 3 pairs nothing was answered before it was asked again without"* ]]
    type_it 1 mesh.ecn
    ask 4s
    [ "$status" = 0 ]
    [[ $output != *ECN* ]]
}

@test "kernel: the same where nobody waits so long: ECN is the first that is to be tried" {
    on 1 sysctl -qw net.ipv4.tcp_ecn=1
    switch nft "$drop_ecn"
    ask 500ms
    [ "$(said fail)" = "mesh.out node1" ]
    [[ $(message mesh.out) == *"; or something drops what asks for ECN, as it did (net.ipv4.tcp_ecn)"* ]]
    type_it 1 mesh.out
    ask
    [ "$status" = 0 ]
}

@test "kernel: ECN that passes is nothing to speak of, and silence without it is not its" {
    on all sysctl -qw net.ipv4.tcp_ecn=1
    ask
    [ "$status" = 0 ]
    [[ $output != *ECN* ]]
    on all sysctl -qw net.ipv4.tcp_ecn=2
    switch nft 'table bridge t { chain c { type filter hook forward priority 0; ip saddr 10.77.0.2 tcp flags & (syn|ack) == syn drop; }; }'
    ask
    [ "$(said fail)" = "mesh.out node1" ]
    [[ $output != *ECN* ]]
}

@test "kernel: silence that lasts when it is asked without ECN is not for ECN" {
    on all sysctl -qw net.ipv4.tcp_ecn=1
    switch nft 'table bridge t { chain c { type filter hook forward priority 0; ip saddr 10.77.0.2 tcp flags & (syn|ack) == syn drop; }; }'
    ask 4s
    [ "$(said fail)" = "mesh.out node1" ]
    [[ $output != *ECN* && $output != *tcp_ecn* ]]
}

@test "kernel: queues for connections that are too short, and those that are reset" {
    on 2 sysctl -qw net.core.somaxconn=4
    on 1 sysctl -qw net.ipv4.tcp_abort_on_overflow=1 net.ipv4.tcp_syncookies=0 net.ipv4.tcp_max_syn_backlog=8
    ask
    [ "$status" = 0 ]
    [ "$(said warn)" = "local.backlog net.ipv4.tcp_max_syn_backlog, local.backlog net.ipv4.tcp_abort_on_overflow, local.backlog net.core.somaxconn" ]
    on 2 sysctl -qw net.core.somaxconn=4096
    on 1 sysctl -qw net.ipv4.tcp_abort_on_overflow=0 net.ipv4.tcp_max_syn_backlog=4096
    run --separate-stderr on 2 "$BIN/portcheck" --json
    [[ $output != *local.backlog* ]]
    on 2 sysctl -qw net.core.somaxconn=4
    run --separate-stderr on 2 "$BIN/portcheck" --json
    type_it 2 local.backlog
    [ "$(on 2 sysctl -n net.core.somaxconn)" = 4096 ]
    on 1 sysctl -qw net.ipv4.tcp_syncookies=1
}

# The limit belongs to the whole machine, so the count is made up, and the switch drops.
@test "kernel: a table of connections that is full is why new ones are dropped; nearly full is a warning" {
    local most
    on 2 nft 'table ip t { chain c { type filter hook input priority 0; ct state new accept; }; }'
    most=$(on 2 cat /proc/sys/net/netfilter/nf_conntrack_max)
    echo "$((most * 95 / 100))" >count
    on 2 mount --bind "$PWD/count" /proc/sys/net/netfilter/nf_conntrack_count
    ask
    [ "$status" = 0 ]
    [ "$(said warn)" = "local.conntrack nf_conntrack" ]
    echo "$most" >count
    switch nft 'table bridge t { chain c { type filter hook forward priority 0; ip daddr 10.77.0.3 tcp flags & (syn|ack) == syn drop; }; }'
    ask
    [ "$(said fail)" = "mesh.in node2" ]
    [[ $(message mesh.in) == *"its table of connections is full, $most of $most (nf_conntrack_max), and new ones are dropped"* ]]
    [[ $(jq -r '.findings[] | select(.check == "mesh.in").fix[0]' <<<"$output") == *"sysctl -w net.netfilter.nf_conntrack_max=$((4 * most))   # on node2" ]]
    on 2 umount /proc/sys/net/netfilter/nf_conntrack_count
    ask
    [[ $(message mesh.in) != *"is full"* ]]
    # and one that forgets soon
    switch nft delete table bridge t
    on 2 sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=600
    ask
    [ "$status" = 0 ]
    [ "$(said warn)" = "local.conntrack nf_conntrack_tcp_timeout_established" ]
    [[ $(message local.conntrack) == *"forgets a connection that is silent for 10 min: "* ]]
    on 2 sh -c "sudo() { \"\$@\"; }; $(jq -r '.findings[] | select(.check == "local.conntrack").fix[0]' <<<"$output")" >&2
    ask
    [ "$(said warn)" = "" ]
    on 2 nft delete table ip t
}

@test "kernel: a bridge of its own that waits for spanning tree; what is to be typed ends that" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 3 -- bash -c '
        $WINDSOCK_RSH node2 "ip link add br9 type bridge stp_state 1 forward_delay 1500; ip link set br9 up
            ip address flush dev eth0; ip link set eth0 master br9; ip address add 10.77.0.3/16 dev br9"
        "$BIN/portcheck" --hosts lab --silence 1s --json >said
        fix=$(jq -r ".findings[] | select(.check == \"mesh.flap\").fix[0]" said)
        $WINDSOCK_RSH node2 "sudo() { \"\$@\"; }; $fix" && exec "$BIN/portcheck" --hosts lab --json'
    [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject) \(.message)"] | map(split(":")[0]) | join(", ")' said)" = \
        "mesh.flap node2 its bridge br9 passes nothing yet" ]
}

@test "kernel: asked from a host whose own bridge waits, or whose card has no link: nobody else is suspected" {
    run -1 --separate-stderr "$ROOT/scripts/lab" run 3 -- bash -c '
        $WINDSOCK_RSH node2 "ip link add br9 type bridge stp_state 1 forward_delay 3000; ip link set br9 up
            ip address flush dev eth0; ip link set eth0 master br9; ip address add 10.77.0.3/16 dev br9"
        for patience in 1s 4s; do $WINDSOCK_RSH node2 "$BIN/portcheck 10.77.0.1:29500 --silence $patience"; done >said
        $WINDSOCK_RSH node2 "$BIN/ifprobe" >saw
        fix=$(sed -n "s/^ *-> \(.*bridge link set.*\)/\1/p" said | head -n 1)
        $WINDSOCK_RSH node2 "sudo() { \"\$@\"; }; $fix" && $WINDSOCK_RSH node2 "$BIN/portcheck 10.77.0.1:29500" >mended || exit
        $WINDSOCK_RSH node2 "ip link set eth0 nomaster; ip link del br9; ip address add 10.77.0.3/16 dev eth0
            ip link add v9 type veth peer name v9p; ip link set v9 up; ip address add 10.99.0.1/24 dev v9"
        $WINDSOCK_RSH node2 "$BIN/portcheck 10.99.0.2:29500 --silence 1s"'
    [ "$(grep -c "its own card to it has no link, br9: spanning tree (STP) holds its port eth0 back" said)" = 2 ]
    [[ $(<said) != *"nobody"* ]]
    [[ $(<saw) == *"no port of it forwards yet"*"bridge link   # br9: "* && $(<saw) != *"ip addr add"* ]]
    [[ $(<mended) == PASS* || $(<mended) == *$'\n'PASS* ]]
    [[ $output == *"its own card to it has no link, v9 ("* && $output != *"nobody"* ]]
}

@test "kernel: a port to a VM, or of another bridge, that waits for spanning tree explains nothing" {
    echo 'table ip t { chain c { type filter hook input priority 0; ip saddr 10.77.0.1 tcp flags & (syn|ack) == syn drop; }; }' >rules
    run -1 --separate-stderr "$ROOT/scripts/lab" run 3 -- bash -c '
        $WINDSOCK_RSH node2 "ip link add br8 type bridge stp_state 1 forward_delay 3000; ip link set br8 up
            ip address add 192.168.8.1/24 dev br8; ip link add v8 type veth peer name v8p; ip link set v8p up
            ip link set v8 up master br8
            nft -f $PWD/rules"
        "$BIN/portcheck" --hosts lab --silence 1s --json >said
        $WINDSOCK_RSH node2 "ip link del br8; ip link add br9 type bridge; ip link set br9 up
            ip address flush dev eth0; ip link set eth0 master br9; ip address add 10.77.0.3/16 dev br9
            ip link set br9 type bridge stp_state 1 forward_delay 3000; bridge link set dev eth0 state 3
            ip link add v9 type veth peer name v9p; ip link set v9p up
            ip link set v9 up master br9; cat /sys/class/net/eth0/brport/state" >state
        exec "$BIN/portcheck" --hosts lab --silence 1s --json'
    for output in "$(<said)" "$output"; do
        [[ $output != *"spanning tree"* ]]
        [ "$(said fail)" = "mesh.in node2" ]
    done
}

@test "kernel: an IPv6 address that another machine has: the host that lacks one says why" {
    run -1 --separate-stderr "$ROOT/scripts/lab" run 3 --subnet fd00:77::/64 -- bash -c '
        $WINDSOCK_RSH node2 "ip address del fd00:77::3/64 dev eth0
            sysctl -qw net.ipv6.conf.all.accept_dad=1 net.ipv6.conf.eth0.accept_dad=1
            ip address add fd00:77::2/64 dev eth0"
        for ((i = 0; i < 100; i++)); do
            [[ $($WINDSOCK_RSH node2 "ip -6 address show dev eth0") != *dadfailed* ]] || break
            sleep 0.1
        done
        exec "$BIN/portcheck" --hosts lab --silence 1s --json'
    [ "$(message mesh.address)" = "has no address that the others could use (eth0: its IPv6 address is a duplicate: another machine has it too)" ]
}
