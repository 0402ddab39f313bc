#!/usr/bin/env bats
# portcheck between nodes where a question arrives and its answer does not: whose
# firewall drops the answer, a rule between the hosts, a route that goes another way, a
# reverse-path filter that really drops; and MTUs. What it says to type is typed, and
# mends it. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for nft and routes"
    # without "ct state": answers to one's own questions are dropped, too
    cat >"$BATS_FILE_TMPDIR/stateless" <<'N'
table inet t { chain c { type filter hook input priority 0; policy accept; iifname != "lo" tcp dport 32768-60999 drop; }; }
N
    cat >"$BATS_FILE_TMPDIR/answers" <<'N'
table inet t { chain c { type filter hook output priority 0; policy accept; oifname != "lo" tcp sport 29500-65535 ct state established drop; }; }
N
}

mesh() { # NODES SCRIPT [LAB-OPTIONS...]: SCRIPT runs on node0, $1 is portcheck
    "$ROOT/scripts/lab" run "$1" "${@:3}" -- bash -c "$2" - "$BIN/portcheck"
}

# Looks, types the first advice of the finding $CHECK where it says so, and looks again.
mends='
    doc=$("$1" --hosts lab --wait 1s --json)
    fix=$(jq -r --arg c "$CHECK" "[.findings[] | select(.check == \$c)][0].fix[0]" <<<"$doc")
    node=${fix##*# on }; node=${node%%,*}
    printf "%s\n" "$doc"
    $WINDSOCK_RSH "$node" "${fix#sudo }" >&2
    "$1" --hosts lab --wait 1s >&2
'

# What the switch of the lab drops, whatever comes in from $froms.
switch='
    nsenter -t 1 -n nft -f - <<N
table netdev t { chain c { type filter hook ingress devices = { $froms } priority 0; policy accept; $drops drop; }; }
N
'

finding() { # CHECK: its "SUBJECT MESSAGE"
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | "\(.subject) \(.message)"' <<<"$output"
}

@test "ways: a stateless rule of the asker's own drops the answers; nobody else is blamed" {
    CHECK=mesh.in run -0 --separate-stderr mesh 4 "export CHECK; $mends" --firewall "2=$BATS_FILE_TMPDIR/stateless"
    # one rule, both ways: it is said once what mends it
    [ "$(jq '[.findings[] | select(.status == "fail")] | length' <<<"$output")" = 1 ]
    [[ $(finding mesh.out) == "node2 follows from the same, and the same mends it: does not reach any other node"*"it arrives there, and this host's own firewall drops the answer: inet t c, handle 2: "* ]]
    # nothing of it is the others' fault
    [ "$(jq -c '[.findings[] | select(.status == "fail") | .subject] | unique' <<<"$output")" = '["node2"]' ]
    [[ $output != *"asymmetric"* ]]
    [[ $stderr == *"PASS"* ]]
}

@test "ways: own rules that drop what leaves before anybody is asked for its card" {
    printf 'table inet o { chain c { type filter hook output priority 0; ip daddr 10.77.0.3 drop; }; }' >"$BATS_TEST_TMPDIR/1"
    printf 'table inet o { chain c { type filter hook output priority 0; ip daddr 10.77.0.2 drop; }; }' >"$BATS_TEST_TMPDIR/2"
    run -1 --separate-stderr mesh 3 '"$1" --hosts lab --wait 1s --json' \
        --firewall "1=$BATS_TEST_TMPDIR/1" --firewall "2=$BATS_TEST_TMPDIR/2"
    [[ $(finding mesh.out) == *"this host's own firewall does not let it out: inet o c, handle 2: "* ]]
    [[ $output != *"neighbour table"* && $(jq -r '[.findings[].fix[]?] | join("\n")' <<<"$output") == *"nft insert rule inet o c "* ]]
}

@test "ways: a host whose own rules keep its answers in" {
    CHECK=mesh.in run -0 --separate-stderr mesh 4 "export CHECK; $mends" --firewall "2=$BATS_FILE_TMPDIR/answers"
    [[ $(finding mesh.in) == "node2 is not reached from any other node"*"that host's own firewall does not let the answer out: inet t c, handle 2: "* ]]
    [ "$(jq -c '[.findings[] | select(.status == "fail") | .subject] | unique' <<<"$output")" = '["node2"]' ]
    [[ $stderr == *"PASS"* ]]
}

@test "ways: a rule between hosts that lets one way only; the one end that all of it has in common" {
    run -1 --separate-stderr mesh 4 "froms='node0, node1, node3' drops='ip daddr 10.77.0.3 tcp flags & (syn|ack) == (syn|ack)'
        $switch"'"$1" --hosts lab --wait 1s --json'
    [ "$(jq '[.findings[] | select(.status == "fail")] | length' <<<"$output")" = 1 ]
    [[ $(finding mesh.out) == "node2 does not reach any other node"*"it arrives there, and the answer, which leaves the way it came, is lost: a stateless rule"*"less likely a route; the rules of both ends let it through"* ]]
    [[ $(jq -r '.findings[] | select(.check == "mesh.out").fix[0]' <<<"$output") == \
        "allow TCP from the ports of 10.77.0.0/16 to ports 1024-65535 of node2 "* ]]
}

@test "ways: nobody answers and no rule is to be seen at either end" {
    run -1 --separate-stderr mesh 3 "froms='node0, node2' drops='ip daddr 10.77.0.2 tcp dport 29500'
        $switch"'"$1" --hosts lab --wait 1s --json'
    [[ $(finding mesh.in) == "node1 is not reached from any other node (2 of 8 ports, such as 29500): no answer at all"*"the rules of both ends let it through: a security group"* ]]
}

# node1 reaches node0's first network through its second card: asymmetric, and harmless
# unless a filter asks where the answer would go.
other_way='
    $WINDSOCK_RSH node1 "ip route add 10.77.0.1/32 via 10.78.0.1 dev eth1 src 10.77.0.2"
    for node in node0 node1; do $WINDSOCK_RSH $node "for i in all eth0 eth1; do
        echo 0 >/proc/sys/net/ipv4/conf/\$i/rp_filter; done"; done
'
drops='awk "/^TcpExt: [A-Z]/ { for (i = 1; i <= NF; i++) if (\$i == \"IPReversePathFilter\") at = i; next }
    /^TcpExt: / { print \$at }" /proc/net/netstat'

@test "ways: two networks and a route that goes back another way, which works" {
    run -0 --separate-stderr mesh 3 "$other_way"'"$1" --hosts lab --wait 1s --json' --rails 2
    [ "$(jq -c '[.findings[] | select(.status == "fail")]' <<<"$output")" = "[]" ]
}

@test "ways: the same with a strict reverse-path filter: counted by the kernel, named, and mended" {
    CHECK=mesh.in run -0 --separate-stderr mesh 3 "export CHECK; $other_way"'
        $WINDSOCK_RSH node1 "echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter"
        # or its question for the hardware address would be dropped, which nobody counts
        ip neigh replace 10.77.0.2 dev eth0 lladdr "$($WINDSOCK_RSH node1 cat /sys/class/net/eth0/address)"
        before=$($WINDSOCK_RSH node1 '"'$drops'"')
        '"$mends"'
        echo "dropped $(($($WINDSOCK_RSH node1 '"'$drops'"') - before))" >&2' --rails 2
    [[ $(finding mesh.in) == "node1 is not reached from node0: that host's reverse-path filter drops it"* ]]
    [ "$(jq -r '.findings[] | select(.check == "mesh.in").fix[0]' <<<"$output")" = \
        "sudo sysctl -w net.ipv4.conf.all.rp_filter=2   # on node1" ]
    [[ $stderr =~ dropped\ ([0-9]+) ]]
    ((BASH_REMATCH[1] > 0)) # it was the filter, not the layout
    [[ $stderr == *PASS* ]]
}

@test "ways: all filters are strict and one route leads elsewhere: it is the route, once, whoever drops" {
    strict='for n in 0 1 2; do $WINDSOCK_RSH node$n "for i in all eth0 eth1; do echo 1 >/proc/sys/net/ipv4/conf/\$i/rp_filter; done"; done'
    CHECK=mesh.in run -0 --separate-stderr mesh 3 "export CHECK; $other_way$strict$mends" --rails 2
    [ "$(jq -r '[.findings[] | select(.status == "fail")] | map("\(.check) \(.subject) \(.fix[0])") | join(",")' <<<"$output")" = \
        "mesh.in node1 sudo ip route del 10.77.0.1/32 dev eth1   # on node1" ]
    [[ $stderr == *PASS* ]]
}

@test "ways: the asker's own reverse-path filter drops the answer" {
    run -1 --separate-stderr mesh 3 "$other_way"'
        echo 1 >/proc/sys/net/ipv4/conf/eth1/rp_filter # the answer comes in there
        "$1" --hosts lab --wait 1s --json' --rails 2
    [[ $(finding mesh.in) == "node0 is not reached from node1: that host's reverse-path filter drops it"* ]]
    [[ $(finding mesh.out) == "node0 follows from the same, and the same mends it: does not reach node1: it arrives, and the answer is dropped by this host's own reverse-path filter"* ]]
    [ "$(jq -r '.findings[] | select(.status == "fail").fix[0]' <<<"$output")" = \
        "sudo sysctl -w net.ipv4.conf.all.rp_filter=2   # on node0" ]
}

@test "ways: an MTU that most do not have: the command names the card and the host" {
    CHECK=mesh.mtu run -0 --separate-stderr mesh 4 "export CHECK; $mends" --mtu node3=9000
    [[ $(finding mesh.mtu) == "node3 has MTU 9000 and node[0-2] has 1500"* ]]
    [ "$(jq -r '.findings[] | select(.check == "mesh.mtu").fix[0]' <<<"$output")" = \
        "sudo ip link set dev eth0 mtu 1500   # on node3" ]
    [[ $stderr != *mesh.mtu* && $stderr == *PASS* ]]
}

@test "ways: two odd MTUs, and cards of other names: a command for each" {
    run -0 --separate-stderr mesh 6 '
        for n in 1 2; do $WINDSOCK_RSH node$n "ip link set eth0 down; ip link set eth0 name ens$n; ip link set ens$n up"; done
        "$1" --hosts lab --json' --mtu node1=1400 --mtu node2=1400 --mtu node3=9000
    [ "$(jq -r '.findings[] | select(.check == "mesh.mtu").fix[]' <<<"$output")" = \
"sudo ip link set dev ens1 mtu 1500   # on node1, if the network takes it
sudo ip link set dev ens2 mtu 1500   # on node2, if the network takes it
ping -c 1 -M do -s 1472 10.77.0.1   # on node1, then: no answer: it does not take it
where it does not: MTU 1400 on node[0,4-5], too
sudo ip link set dev eth0 mtu 1500   # on node3" ]
    run -0 --separate-stderr mesh 6 '"$1" --hosts lab' --mtu node1=1400 --mtu node2=1400
    [[ $output == *"windsock on "*" 'node[1-2]' 'sudo ip link set dev eth0 mtu 1500'   # if the network takes it"* ]]
}

@test "ways: an MTU that was made smaller since its port takes no more is not just made larger again: what shows it" {
    cd "$BATS_TEST_TMPDIR"
    run -0 --separate-stderr mesh 3 '
        takes() { # SIZE: what passes to node1, with every packet whole
            $WINDSOCK_RSH node1 "nft \"flush table ip x; add chain ip x in { type filter hook prerouting priority -300; }
                add rule ip x in iifname eth0 meta length > $1 drop\""
        }
        $WINDSOCK_RSH node1 "nft add table ip x; ip link set dev eth0 mtu 1500"
        "$1" --hosts lab --json >first
        jq -r ".findings[] | select(.check == \"mesh.mtu\").fix[1]" first >ping
        $WINDSOCK_RSH node1 ip link set dev eth0 mtu 9000
        for size in 9000 1500; do
            takes $size
            $WINDSOCK_RSH node1 sh -c "\"$(cat ping | cut -d\# -f1) -W 1\"" >&2 && echo passes || echo no answer
        done; cat ping' --mtu node0=9000 --mtu node1=9000 --mtu node2=9000
    echo "$output"
    [ "$output" = "passes
no answer
ping -c 1 -M do -s 8972 10.77.0.1   # on node1, then: no answer: it does not take it" ]
}
