#!/usr/bin/env bats
# ifprobe on real interfaces: what a peer's answer proves, what NCCL would pick
# there, interfaces that vanish, and what it costs beside `ip`.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

@test "peer: refused is an answer, open is one too; the choice is proven" {
    run -0 --separate-stderr lab 2 'ifprobe --suggest --peer node1'
    [ "${lines[0]}" = "export NCCL_SOCKET_IFNAME='=eth0'" ]
    [[ $stderr == *"eth0: "*"reaches every peer"* && $stderr != *"no peer tested"* ]]
    run -0 --separate-stderr lab 2 'ifprobe --suggest --peer node1:4000 --json'
    valid
    [ "$(jq -r '.data.suggest | .proven, .proof[0].state' <<<"$output")" = $'true\nrefused' ]
    run -0 --separate-stderr lab 2 '
        on 1 "exec python3 -m http.server 4000" >/dev/null 2>&1 &
        until ifprobe --suggest --peer node1:4000 --json >doc && grep -q \"open\" doc; do :; done
        cat doc'
    [ "$(jq -r '.data.suggest | .proven, .proof[0].state' <<<"$output")" = $'true\nopen' ]
}

@test "peer: filtered and unreachable fail, with the reason and what to open" {
    printf 'table inet f { chain i { type filter hook input priority 0; tcp dport 29500 drop; }; }\n' >drop.nft
    run -1 --separate-stderr lab 2 --firewall node1=drop.nft 'ifprobe --suggest --peer node1 --deadline 1500ms'
    [ -z "$output" ]
    [[ $stderr == *"peer.reach node1"*"eth0: no answer in"*"security group"* ]]
    run -0 --separate-stderr lab 2 --firewall node1=drop.nft 'ifprobe --name-only --peer node1:29501 --deadline 1500ms'
    [ "$output" = eth0 ]
    run -1 --separate-stderr lab 2 'ip route add unreachable 10.99.0.0/16
        ifprobe --suggest --peer 10.99.0.1 --peer node1 --deadline 1500ms --json'
    valid
    [ "$(found peer.reach)" = $'10.99.0.1 fail\nnode1 pass' ]
    run -1 --separate-stderr lab 1 'ifprobe --suggest --peer no-such-host --deadline 1500ms'
    [[ $stderr == *"fail: peer.name no-such-host: "* ]]
    run -0 --separate-stderr lab 1 'ifprobe --suggest --peer 10.77.0.1'
    [[ $stderr == *"this host itself"* ]]
}

@test "peer: silence is waited for until it was asked again twice, not until the deadline" {
    printf 'table inet f { chain i { type filter hook input priority 0; tcp dport 29500 drop; }; }\n' >drop.nft
    SECONDS=0
    run -1 --separate-stderr lab 2 --firewall node1=drop.nft 'ifprobe --peer node1 --json'
    ((SECONDS < 10)) # the deadline, which would be waited for
    jq -e '[.findings[] | select(.check == "peer.reach").status] == ["fail"]' <<<"$output"
}

@test "peer: of two interfaces the one that reaches it wins, whatever the rank says" {
    run -0 --separate-stderr lab 2 "$DEAD"'; ifprobe --name-only
        ifprobe --name-only --peer node1 --deadline 1500ms'
    [ "$output" = $'dead0\neth0' ]
    [[ $stderr == *"the only interface that reaches every peer"* ]]
    run -0 --separate-stderr lab 2 "$DEAD"'; ifprobe --peer node1 --deadline 1500ms --json'
    [[ $(jq -r '.data.interfaces[] | select(.name == "dead0").why' <<<"$output") == "reaches 0 of 1 peers: node1: "* ]]
}

@test "peer: without a route to it an answer to what is sent through an interface proves nothing" {
    run -1 --separate-stderr lab 2 '
        ip addr flush dev eth0; ip addr add 10.77.0.1/32 dev eth0; ping -c 1 -I eth0 10.77.0.2 >&2
        rc=0; ifprobe --peer node1 --json >doc || rc=$?; cat doc
        bash -c "sudo() { \"\$@\"; }; $(jq -r ".findings[] | select(.check == \"route.peer\").fix[0]" doc)"
        ifprobe --peer node1 --json | jq -r ".findings[] | \"\(.check) \(.status)\"" >after; exit $rc'
    [ "$(found route.peer)" = "node1 fail" ]
    [ "$(jq .data.suggest.proven <<<"$output")" = false ]
    grep -qx "peer.reach pass" after
    run ! grep route.peer after
}

@test "peer: a tunnel that reaches it, too, is no better for the MTU that it claims" {
    run -0 --separate-stderr lab 2 '
        for n in 0 1; do on $n "ip link add vx0 mtu 9000 type vxlan id 7 remote 10.77.0.$((2 - n)) dstport 4789
            ip addr add 10.9.0.$((n + 1))/24 dev vx0; ip link set vx0 up"; done
        ifprobe --name-only --peer node1=10.77.0.2,10.9.0.2'
    [ "$output" = eth0 ]
    [[ $stderr == *"eth0: reaches every peer, and is the best that does"* ]]
}

@test "peer: a route that leads elsewhere is told, with the command that mends it" {
    run -0 --separate-stderr lab 2 '
        ip link add mv0 link eth0 type macvlan; ip addr add 10.77.0.9/16 dev mv0; ip link set mv0 up
        ip route add 10.77.0.2 dev eth0
        ifprobe --suggest --peer node1 --json >doc; cat doc
        bash -c "sudo() { \"\$@\"; }; $(jq -r ".findings[] | select(.check == \"route.peer\").fix[0]" doc)"
        ifprobe --suggest --peer node1 --json | jq -r ".findings[].check" >after'
    [ "$(found route.peer)" = "node1 warn" ]
    run ! grep route.peer after
}

@test "peer: the command that mends a route keeps the router on the way" {
    run -0 --separate-stderr lab 2 '
        on 1 "ip address add 10.99.0.2/32 dev lo"
        ip link add mv0 link eth0 type macvlan; ip addr add 10.77.0.9/16 dev mv0; ip link set mv0 up
        ip route add 10.99.0.2 via 10.77.0.2 dev eth0 metric 10; ip route add 10.99.0.2 via 10.77.0.2 dev mv0 metric 20
        ifprobe --suggest --peer 10.99.0.2 --json >doc; cat doc
        bash -c "sudo() { \"\$@\"; }; $(jq -r ".findings[] | select(.check == \"route.peer\").fix[0]" doc)"
        ifprobe --suggest --peer 10.99.0.2 --json | jq -r ".findings[] | \"\(.check) \(.status)\"" >after'
    [ "$(found route.peer)" = "10.99.0.2 warn" ]
    [[ $(jq -r '.findings[] | select(.check == "route.peer").fix[0]' <<<"$output") == *"ip route replace 10.99.0.2 via 10.77.0.2 dev mv0" ]]
    grep -qx "peer.reach pass" after
    run ! grep route.peer after
}

@test "peer: a link-local address, as two hosts on a cable have, is one that was asked for" {
    run -0 --separate-stderr lab 2 "$DEAD"'
        for n in 0 1; do on $n "ip addr flush dev eth0; ip addr add 169.254.7.$((n + 1))/16 dev eth0"; done
        ifprobe --name-only; ifprobe --suggest --peer 169.254.7.2 --deadline 1500ms'
    [ "$(head -2 <<<"$output")" = $'dead0\nexport NCCL_SOCKET_IFNAME=\'=eth0\'' ]
    [[ $stderr == *"eth0: the only interface that reaches every peer"* ]]
}

@test "peer: IPv6 alone" {
    run -0 --separate-stderr lab 2 --subnet fd00:77::/64 'ip -4 addr flush dev lo
        ifprobe --suggest --peer node1 --json'
    [ "$(jq -r '.data.suggest | .interface, .proven, .address' <<<"$output")" = $'eth0\ntrue\nfd00:77::1' ]
    run -0 --separate-stderr lab 2 --subnet fd00:77::/64 'ifprobe --name-only --peer "[fd00:77::2]:4000"'
    [ "$output" = eth0 ]
}

@test "peer: two names are two peers, and this host proves nothing to itself" {
    run -1 --separate-stderr lab 2 'ifprobe --json --peer node1,nosuch'
    [ "$(found peer.name)" = "nosuch fail" ]
    [ "$(found peer.reach)" = "node1 pass" ]
    [ "$(jq .data.suggest.proven <<<"$output")" = false ]
    run -0 --separate-stderr lab 2 'ifprobe --suggest --peer 0.0.0.0 --peer 127.0.0.2 --json'
    [ "$(found peer.name)" = $'0.0.0.0 info\n127.0.0.2 info' ]
    [ "$(jq .data.suggest.proven <<<"$output")" = false ]
}

@test "peer: nobody answers: the interface is not blamed, the address is there" {
    run -1 --separate-stderr lab 2 '
        on 1 "nft add table t; nft add chain t c \"{ type filter hook input priority 0; policy drop; }\""
        ifprobe --json --peer node1 --deadline 1500ms'
    [ "$(found addr.usable)" = "this host fail" ]
    [[ $(jq -r '.findings[] | select(.check == "addr.usable") | .message, .fix[]' <<<"$output") != *"ip addr add"* ]]
    [ "$(jq -r .data.covers <<<"$output")" = "this host, and the way from it to 1 peer" ]
    run -1 --separate-stderr lab 2 '
        on 1 "nft add table t; nft add chain t c \"{ type filter hook input priority 0; }\"; nft add rule t c tcp flags syn reject with icmp type host-unreachable"
        ifprobe --json --peer node1'
    jq -e '.findings[] | select(.check == "peer.reach").fix | (.[0] | startswith("ping -c 3 node1 ")) and (.[1] | endswith("a firewall rejects it"))' <<<"$output"
}

@test "peer: a proof that was cut short accuses nobody" {
    run -3 --separate-stderr lab 2 '
        on 1 "nft add table t; nft add chain t c \"{ type filter hook input priority 0; policy drop; }\""
        ifprobe --json --peer node1 --budget 700ms'
    [ "$(jq -r .verdict <<<"$output")" = error ]
    [ "$(found peer.reach)" = "node1 skip" ]
    [ "$(found addr.usable)" = "this host skip" ]
    run -3 --separate-stderr lab 2 '
        on 1 "nft add table t; nft add chain t c \"{ type filter hook input priority 0; policy drop; }\""
        ifprobe --suggest --peer node1 --budget 700ms'
    [ -z "$output" ]
    [[ $stderr != *"no interface is suitable"* ]]
    # while its name is still asked for, too
    for args in --json '--suggest --json' --suggest; do
        run -3 --separate-stderr lab 2 'echo "hosts: dns" >ns; echo "nameserver 10.77.9.9" >rs # nobody
            exec unshare -m sh -c "mount --bind ns /etc/nsswitch.conf; mount --bind rs /etc/resolv.conf
                exec ifprobe --peer far.example '"$args"' --budget 1s"'
        [[ $args != --suggest ]] || { [ -z "$output" ]; continue; }
        [ "$(jq -r .verdict <<<"$output")" = error ]
        [ "$(found peer.reach)" = "far.example skip" ]
        [ "$(jq -c '[.findings[] | select(.status == "fail")]' <<<"$output")" = "[]" ]
    done
    run -3 --separate-stderr lab 2 'ifprobe --json --hosts lab --budget 700ms --rsh "sh -c \"exec sleep 60\""'
    [ "$(jq -r .verdict <<<"$output")" = error ]
    [ "$(found host.answer)" = $'node0 skip\nnode1 skip' ]
    run -3 --separate-stderr lab 2 'ifprobe --json --hosts lab --rsh /nonexistent'
    [ "$(found host.answer)" = $'node0 error\nnode1 error' ]
}

@test "peer: an answer is of no use to an NCCL that will not start" {
    run -1 --separate-stderr lab 2 'NCCL_SOCKET_IFNAME=eth9 ifprobe --predict --peer node1 --json'
    [ "$(found predict.peer)" = "node1 fail" ]
}

@test "peer: an answer over IPv4 says nothing of an NCCL that would use IPv6" {
    local set='sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; export NCCL_SOCKET_FAMILY=AF_INET6;'
    run -0 --separate-stderr lab 2 "$set"'ip addr add fd00:7::1/64 dev eth0 nodad; ip addr del "$(ip -6 -o addr show dev eth0 scope link |
        sed "s/.*inet6 //; s/ .*//")" dev eth0; ifprobe --predict --peer 10.77.0.2 --json'
    [ "$(found predict.peer)" = "10.77.0.2 skip" ]
    run -1 --separate-stderr lab 2 "$set"'ip addr add fe80::7/64 dev eth0 nodad 2>/dev/null; ifprobe --predict --peer 10.77.0.2 --json'
    [ "$(found predict.peer)" = "10.77.0.2 fail" ]
}

@test "an IPv6 link-local peer: no program can tell others such an address, and what to give both ends" {
    run -1 --separate-stderr lab 1 'ip addr flush dev eth0; sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; ip addr add fe80::7/64 dev eth0 nodad 2>/dev/null; ifprobe --suggest --peer fe80::9%eth0'
    [[ $stderr == *"peer.reach fe80::9%eth0: is link-local, as is all that eth0 has: NCCL and Gloo cannot tell others such an address"*"ip addr add fd00:a::1/64 dev eth0   # here; on the next host fd00:a::2/64"* ]]
}

@test "bare with peers: their answers, and what was covered" {
    run -0 --separate-stderr lab 2 'ifprobe --peer node1'
    [[ $output == *"peer.reach"*node1*"answers through eth0"* ]]
    [[ ${lines[-1]} == PASS*"this host, and the way from it to 1 peer" ]]
}

@test "a bridge that was there before the NIC: NCCL would take it, we do not" {
    local make='ip link add br-lan type bridge; ip link set br-lan up; ip addr add 172.19.0.1/16 dev br-lan
        ip link add port type veth peer name inside; ip link set port master br-lan; ip link set port up
        ip link set inside up
        ip link add mv0 link eth0 type macvlan; ip addr flush dev eth0; ip addr add 10.77.0.1/16 dev mv0
        ip link set mv0 up;'
    run -0 --separate-stderr lab 2 "$make"' ifprobe --json'
    [ "$(found nccl.choice)" = "br-lan warn" ]
    [ "$(jq -r '.data | .predict.nccl.interface, .suggest.interface' <<<"$output")" = $'br-lan\nmv0' ]
    run -1 --separate-stderr lab 2 "$make"' ifprobe --predict --peer node1 --deadline 1500ms --json'
    valid
    [ "$(found predict.peer)" = "node1 fail" ]
    run -0 --separate-stderr lab 2 "$make"' eval "$(ifprobe --suggest --peer node1 --deadline 1500ms)"
        ifprobe --predict --peer node1 --deadline 1500ms --json'
    [ "$(found predict.peer)" = "node1 pass" ]
}

@test "the name's fix works on a node's own /etc/hosts, which is a mount" {
    run -0 --separate-stderr lab 1 '
        { echo "127.0.0.1 localhost"; echo "127.0.1.1 node0"; } >/etc/hosts
        ifprobe --json >before
        bash -c "sudo() { \"\$@\"; }; $(jq -r ".findings[] | select(.check == \"host.name\").fix[0]" before)"
        ifprobe --json'
    [ "$(found host.name)" = "node0 pass" ]
    [ "$(jq -r '.findings[] | select(.check == "host.name").status' before)" = warn ]
}

@test "interfaces that come and go while we look: 200 runs of every mode, none breaks" {
    run -0 --separate-stderr lab 1 '
        while :; do
            ip link add c0 type veth peer name c1; ip addr add 10.6.0.1/24 dev c0
            ip link set c0 up; ip link del c0
        done 2>/dev/null &
        churn=$!
        trap "kill $churn; wait" EXIT
        for _ in $(seq 50); do
            ifprobe --json | jq -r .data.suggest.interface
            ifprobe --suggest --name-only --quiet
            ifprobe --predict --json | jq -r .data.predict.nccl.outcome
            ifprobe --check >/dev/null && echo checked
        done'
    [ "$(sort <<<"$output" | uniq -c | sed 's/^ *//')" = $'50 checked\n100 eth0\n50 ok' ]
    [ -z "$stderr" ]
}

@test "no dearer than ip, linear, small" {
    command -v "${CC:-cc}" >/dev/null || skip "no compiler"
    # the machine may be busy with something else: one fair round is enough
    for _ in 1 2 3; do
        run env MANY_ROUNDS=15 ROUNDS=51 "$ROOT/tests/peers/bench-ifprobe" gate
        [ "$status" -ne 0 ] || return 0
    done
    echo "$output"
    return 1
}
