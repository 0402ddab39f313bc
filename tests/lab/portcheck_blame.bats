#!/usr/bin/env bats
# Several things at once that may be why nobody answers: what is not to blame is not blamed, and what
# is typed takes away no more than it has to. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

alone() { # WHOM...
    run --separate-stderr on 0 "$BIN/portcheck" --silence 1s --json "$@"
}

between() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

fix() { # NUMBER
    jq -r --argjson n "$1" '[.findings[] | select(.status == "fail")][0].fix[$n] | sub("^sudo "; "")' <<<"$output"
}

failed() { # "CHECK SUBJECT" of what failed
    jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output"
}

type_it() { # on node0
    on 0 sh -c "sudo() { \"\$@\"; }; $(fix 0)" >&2
}

teardown() {
    switch nft flush ruleset
    on all nft flush ruleset
    on 3 ip address del 10.77.0.2/32 dev eth0 2>/dev/null || true
    on 0 sh -c 'ip address del 10.99.1.1/32 dev eth0; ip address add 10.77.0.1/16 dev eth0' 2>/dev/null || true
    on 1 ip address del 10.99.0.2/32 dev eth0 2>/dev/null || true
    on 1 sh -c 'ip xfrm policy flush; ip xfrm policy setdefault in accept out accept; echo 0 >/proc/sys/net/ipv4/conf/eth0/disable_policy
        ip address add 10.77.0.2/16 dev eth0; ip address del 10.77.0.2/30 dev eth0
        sysctl -qw net.core.somaxconn=4096' 2>/dev/null || true
    on all sh -c 'ip link del eth1; ip address del 10.99.0.1/32 dev eth0; ip neigh flush all nud permanent; ip neigh flush all nud noarp
        for i in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; done
        for p in 0 99 100; do while ip rule del priority $p lookup main; do :; done; done
        ip rule del priority 100; ip rule del priority 1; ip route flush table 51820
        ip route replace 10.77.0.0/16 dev eth0; ip route del default dev eth0; ip neigh flush all' 2>/dev/null || true
}

# A second card for node2 on the same switch, strict filters, and strangers' packets that these drop.
filtered() {
    on 2 sh -c 'ip link add eth1 type veth peer name second2 netns 1; ip address add 10.77.1.3/16 dev eth1; ip link set eth1 up
        ip route flush 10.77.0.0/16; ip route add 10.77.0.0/16 dev eth0; ip route add 10.77.0.0/16 dev eth1 metric 100
        for i in all eth0 eth1; do echo 1 >/proc/sys/net/ipv4/conf/$i/rp_filter; done'
    switch ip link set second2 master br0 up
    on 3 sh -c "ip address add 10.99.0.1/32 dev eth0
        ip neigh replace 10.77.1.3 lladdr $(on 2 cat /sys/class/net/eth1/address) dev eth0 nud permanent"
    on 3 ping -q -i 0.02 -w 60 -I 10.99.0.1 10.77.1.3 >/dev/null 3>&- &
    STRANGER=$!
}

@test "a limit on new connections: late answers tell it from a security group" {
    on 1 nft 'table ip l { chain c { type filter hook input priority 0; tcp dport 1000-1100 tcp flags & (fin|syn|rst|ack) == syn limit rate over 5/second burst 5 packets drop; }; }'
    run -1 --separate-stderr on 0 "$BIN/portcheck" 10.77.0.2:1000-1100
    [[ $output == *"limits how many new connections it lets in"*"-> portcheck 10.77.0.2:10"[0-9][0-9]" "* ]]
    [[ $output != *aws* && $output != *ufw* && $output != *"security group"* ]]
    on 1 nft flush ruleset
    on 1 nft 'table ip l { chain c { type filter hook input priority 0; tcp dport 1050-1100 drop; }; }'
    run -1 --separate-stderr on 0 "$BIN/portcheck" 10.77.0.2:1000-1100
    [[ $output == *"a security group, or a firewall that drops"*aws* ]]
}

@test "blame: a filter that drops strangers' packets has nothing to do with a security group's silence" {
    local rule
    filtered
    for rule in 'ip saddr 10.77.0.1 ip daddr 10.77.0.3 tcp flags & (syn|ack) == syn' \
        'ip saddr 10.77.0.1 ip daddr 10.77.0.3 tcp dport 32768-65535'; do
        switch nft flush ruleset
        switch nft "table bridge t { chain c { type filter hook forward priority 0; $rule drop; }; }"
        between
        [ "$status" = 1 ]
        [[ $(failed) == "mesh.in node2"* ]]
        [[ $output != *"reverse-path filter"* && $output == *"a security group"* ]]
    done
    kill "$STRANGER"
}

@test "blame: a kill switch stays where the default route is the only one to the others" {
    local kill
    on 0 sh -c 'ip route del 10.77.0.0/16 dev eth0; ip route add default dev eth0'
    for kill in 'ip route add unreachable default metric 4096 table 51820; ip rule add not fwmark 51820 table 51820 priority 100' \
        'ip rule add not fwmark 51820 prohibit priority 100' \
        'ip route add unreachable default metric 4096 table 51820; ip rule add not fwmark 51820 table 51820 priority 1'; do
        on 0 sh -c "$kill"
        alone node1
        [ "$status" = 1 ]
        [[ $output == *"a route of this host forbids it"* && $(fix 0) == "ip rule add to 10.77.0.2/32 lookup main priority "* ]]
        type_it
        alone node1
        [ "$status" = 0 ]
        alone node2 # all else is kept from as before
        [ "$status" = 1 ]
        [[ $output == *"a route of this host forbids it"* ]]
        on 0 sh -c 'for p in 0 1 99 100; do case $p in 0) ip rule del priority 0 lookup main ;; *) ip rule del priority $p ;; esac; done; ip route flush table 51820' || true
    done
}

@test "blame: between hosts, too, each of them gets a rule of its own past the kill switch" {
    on 0 sh -c 'ip route del 10.77.0.0/16 dev eth0; ip route add default dev eth0
        ip route add unreachable default metric 4096 table 51820; ip rule add not fwmark 51820 table 51820 priority 100
        ip rule add to 10.77.255.254 lookup main priority 90'
    between
    [ "$status" = 1 ]
    [[ $output != *"route del"* ]]
    for n in 0 1 2; do
        [[ $(fix $n) == "ip rule add to 10.77.0.$((n + 2))/32 lookup main priority 99 "* ]]
        on 0 sh -c "sudo() { \"\$@\"; }; $(fix $n)"
    done
    between
    [ "$status" = 0 ]
    on 0 ip rule del priority 90
}

@test "blame: no way but the VPN's: the kill switch is not what to take away" {
    on 0 sh -c 'ip route del 10.77.0.0/16 dev eth0
        ip route add unreachable default metric 4096 table 51820; ip rule add not fwmark 51820 table 51820 priority 100'
    alone node1
    [ "$status" = 1 ]
    [[ $output != *"route del"* && $output != *"rule del"* ]]
}

@test "blame: dropped options are of the ports that something drops them of, not of the host" {
    switch nft 'table bridge t { chain c { type filter hook forward priority 0
        ip daddr 10.77.0.2 tcp dport 29500 drop
        ip daddr 10.77.0.2 tcp dport 40000-40001 tcp option timestamp exists drop; }; }'
    alone node1:29500,40000-40002
    [ "$status" = 1 ]
    [ "$(jq -r '[.data.targets[] | "\(.port) \(.cause // "-" | test("timestamps"))"] | join(",")' <<<"$output")" = \
        "29500 false,40000 true,40001 true,40002 false" ]
}

@test "blame: Mullvad's kill switch is named, and opened by Mullvad's own command" {
    on 0 nft 'table inet mullvad { chain output { type filter hook output priority 0; policy drop
            oif lo accept; meta mark 0x6d6f6c65 accept; reject; }
        chain input { type filter hook input priority 0; policy drop; iif lo accept; ct state established accept; }; }'
    alone node1
    [ "$status" = 1 ]

    [[ $output == *"Mullvad"* && $(fix 0) == "mullvad lan set allow"* ]]
    between
    [[ $(failed) == "mesh.in node0"* ]]
    [[ $(fix 0) == "mullvad lan set allow   # on node0" && $output != *"nft insert"* ]]
    # as its daemon does, for private networks
    on 0 sh -c 'mullvad() { [ "$*" = "lan set allow" ] && nft insert rule inet mullvad output ip daddr 10.0.0.0/8 accept &&
        nft insert rule inet mullvad input ip saddr 10.0.0.0/8 accept; }; '"$(fix 0)"
    between
    [ "$status" = 0 ]
}

@test "blame: IPsec that has no keys, or blocks, is no security group: the policy is named, each way" {
    local policy
    for policy in 'dir out src 10.77.0.2 dst 10.77.0.0/16 tmpl proto esp mode transport' \
        'dir in src 10.77.0.0/16 dst 10.77.0.2 proto tcp tmpl proto esp mode transport' \
        'dir in src 10.77.0.0/16 dst 10.77.0.2 proto tcp action block'; do
        on 1 sh -c "ip xfrm policy add $policy"
        between
        [ "$(failed)" = "mesh.in node1" ] || [ "$(failed)" = "mesh.out node1" ]
        [[ $output == *"an IPsec policy "* && $output != *"aws ec2"* ]]
        [[ $(fix 0) == "ip xfrm policy delete src 10.77.0."*"   # on node1" ]]
        on 1 sh -c "$(fix 0)"
        between
        [ "$status" = 0 ]
    done
    on 0 ip xfrm policy add dir out src 10.77.0.1 dst 10.77.0.2 action block
    alone node1
    [[ $output == *"an IPsec policy blocks it"* && $(fix 0) == "ip xfrm policy delete src 10.77.0.1/32 dst 10.77.0.2/32 dir out"* ]]
    type_it
    alone node1
    [ "$status" = 0 ]
}

@test "blame: IPsec that blocks whatever has no policy; and where a card is spared from policies it is not to blame" {
    local way drop
    on 1 ip xfrm policy getdefault >/dev/null || skip "this kernel, or ip, is older than Linux 5.14"
    for way in in out; do
        on 1 ip xfrm policy setdefault $way block
        between
        [ "$(failed)" = "mesh.in node1" ] || [ "$(failed)" = "mesh.out node1" ]
        [[ $output == *"IPsec lets nothing $way that none of its policies is for"* && $output != *"aws ec2"* ]]
        [ "$(fix 0)" = "ip xfrm policy setdefault $way accept   # on node1" ]
        on 1 sh -c "$(fix 0)"
        between
        [ "$status" = 0 ]
    done
    on 1 ip xfrm policy setdefault in block
    run --separate-stderr on 1 "$BIN/portcheck" --silence 1s --json node0
    [[ $output == *"IPsec lets nothing in that"* && $(fix 0) == "ip xfrm policy setdefault in accept"* ]]
    on 1 sh -c 'ip xfrm policy add dir in action block; echo 1 >/proc/sys/net/ipv4/conf/eth0/disable_policy'
    between
    [ "$status" = 0 ]
    drop='table ip f { chain c { type filter hook input priority 0; ip saddr 10.77.0.1 tcp flags & (syn|ack) == syn drop; }; }'
    on 1 nft "$drop"
    between
    [ "$(failed)" = "mesh.in node1" ]
    [[ $output == *"ip f c"* && $output != *IPsec* ]]
}

@test "blame: a queue for one connection is why our own port did not answer, and no security group" {
    on 1 sysctl -qw net.core.somaxconn=1
    for _ in 1 2 3 4 5 6; do
        between
        [[ $output == *'"local.backlog"'* && $output != *"security group, or a firewall"*"let it through"* ]]
        [ "$status" = 0 ] || [[ $(fix 0) == "sysctl -w net.core.somaxconn=4096   # on node1" ]]
    done
}

@test "blame: a rule that counts each one's connections drops perhaps, and says what it counts" {
    on 1 nft 'table inet f { set s { type ipv4_addr; flags dynamic; }; chain i { type filter hook input priority 0
        tcp flags syn / syn,ack add @s { ip saddr limit rate over 1/second burst 1 packets } drop; }; }'
    run --separate-stderr on 1 "$BIN/portcheck" --json
    [[ $output == *"firewall perhaps drops"*"add @s { ip saddr limit ... } drop"* && $output != *'"lo"'* ]]
}

@test "blame: a rule for a mark that few packets have is no warning, and silence is a security group's first" {
    on 1 nft 'table inet f { chain i { type filter hook input priority 0; meta mark & 0x8000 == 0x8000 drop; }; }'
    run --separate-stderr on 1 "$BIN/portcheck" --json
    jq -e '.findings[] | select(.check == "local.firewall") | .status == "info" and (.message | contains("perhaps drops"))' <<<"$output"
    switch nft 'table bridge t { chain c { type filter hook forward priority 0
        ip daddr 10.77.0.2 tcp flags & (syn|ack) == syn drop; }; }'
    between
    [ "$status" = 1 ]
    [[ $(failed) == "mesh.in node1" && $output == *"or a firewall that drops; or perhaps inet f i, handle "*": mark & (32768) 32768 drop"* ]]
    jq -e '[.findings[] | select(.status == "fail")][0].fix | (.[0] | startswith("allow all TCP from"))
        and (.[1] | startswith("aws ec2 ")) and (.[2] | test("nft insert rule .*, if it is that rule"))' <<<"$output"
}

@test "blame: what would stop all ports alike did not stop the one that failed; what stops some by turns may have" {
    switch nft 'table bridge t { chain c { type filter hook forward priority 0
        ip daddr 10.77.0.2 tcp dport 29500 tcp flags & (syn|ack) == syn drop; }; }'
    on 1 nft 'table inet f { chain i { type filter hook input priority 0; ct count over 5000 drop; }; }'
    between
    [[ $(failed) == "mesh.in node1" && $output == *"the rules of both ends let it through: a security group"* ]]
    [[ $output != *"nft insert"* ]]
    on 1 nft 'flush ruleset; table inet f { chain i { type filter hook input priority 0; tcp flags syn limit rate over 1/minute drop; }; }'
    between
    [[ $output == *"perhaps inet f i, handle "* ]]
}

@test "blame: a firewall that lets in just some of its subnet is none that drops it, nor one that lets it in" {
    local who
    for who in 10.77.0.3 10.77.0.77 '{ 10.77.0.1, 10.77.0.3 }'; do
        on 1 nft "flush ruleset; table inet f { chain i { type filter hook input priority 0; policy drop
            iif lo accept; ct state established,related accept; ip saddr $who accept; }; }"
        run -0 --separate-stderr on 1 "$BIN/portcheck" --json
        jq -e '.findings[] | select(.check == "local.firewall") | .status == "info"
            and (.message | test("lets some of this subnet in, such as 10.77.0.[0-9]+, and drops what comes from others"))' <<<"$output"
    done
    on 1 nft 'flush ruleset; table inet f { chain i { type filter hook input priority 0; policy drop
        iif lo accept; ip saddr 10.77.0.0/16 accept; ip saddr 10.99.0.2/31 accept; }; }'
    run -0 --separate-stderr on 1 "$BIN/portcheck"
    [[ $output == *"pass  local.firewall "* ]]
    on 1 sh -c 'ip address del 10.77.0.2/16 dev eth0; ip address add 10.99.0.2/31 dev eth0'
    run --separate-stderr on 1 "$BIN/portcheck"
    on 1 sh -c 'ip address del 10.99.0.2/31 dev eth0; ip address add 10.77.0.2/16 dev eth0'
    [[ $output == *"pass  local.firewall "* ]]
}

# As hosts that speak BGP have it: peers come in by a card that has no address.
@test "blame: the address of a host is on lo or on a dummy, and rules ask for the card that packets use" {
    local at
    for at in lo d0; do
        [ $at = lo ] || on 1 sh -c 'ip link add d0 type dummy 2>/dev/null || ip link add d0 type bridge; ip link set d0 up'
        on 1 sh -c "ip address del 10.77.0.2/16 dev eth0; ip address add 10.77.0.2/32 dev $at
            ip route add 10.77.0.0/16 dev eth0 src 10.77.0.2"
        on 1 nft 'flush ruleset; table inet f { chain i { type filter hook input priority 0; policy drop
            iifname { lo, eth0 } accept; }; }'
        between
        [ "$status" = 0 ]
        [[ $output != *'"mesh.mtu"'* ]]
        on 1 nft 'flush ruleset; table inet f { chain i { type filter hook input priority 0; iifname eth0 tcp dport 29500 drop; }; }'
        between
        [[ $(failed) == "mesh.in node1" && $output == *"iifname eth0 tcp dport 29500 drop"* ]]
        on 1 sh -c "nft flush ruleset; ip address del 10.77.0.2/32 dev $at; ip link del d0 2>/dev/null; ip address add 10.77.0.2/16 dev eth0"
    done
}

# As clouds give them out: a host's address is all of its network.
@test "blame: what lets others in or out names them, and not the host's own single address" {
    on 0 sh -c 'ip address add 10.99.1.1/32 dev eth0; ip route add 10.99.0.0/24 dev eth0 src 10.99.1.1'
    on 1 sh -c 'ip address add 10.99.0.2/32 dev eth0; ip route add 10.99.1.1 dev eth0'
    on 0 nft 'table inet f { chain o { type filter hook output priority 0; tcp dport 29500-65535 drop; }; }'
    alone 10.99.0.2:29500
    [ "$status" = 1 ]
    [[ $output == *"this host's own firewall"* && $(fix 0) == "nft insert rule inet f o ip daddr 10.99.0.2 accept" ]]
    type_it
    alone 10.99.0.2:29500
    [ "$status" = 0 ]
    on 0 nft 'flush ruleset; table inet f { chain i { type filter hook input priority 0; tcp dport 1024-65535 drop; }; }'
    on 0 ip address del 10.77.0.1/16 dev eth0
    run --separate-stderr on 0 "$BIN/portcheck" --json
    jq -e '.findings[] | select(.check == "local.firewall") | (.message | contains("drops what comes from other hosts: "))
        and (.fix[0] | contains("ip saddr SUBNET accept"))' <<<"$output"
}

@test "blame: a netmask's broadcast address is no other machine that has a host's" {
    on 1 sh -c 'ip address add 10.77.0.2/30 dev eth0; ip address del 10.77.0.2/16 dev eth0; ip route flush 10.77.0.0/16'
    between
    [ "$(failed)" = "mesh.netmask node1" ]
    [[ $output == *"and that of node"[[2]* ]] # node2, too, which is its broadcast address
    on 1 sh -c "sudo() { \"\$@\"; }; $(fix 0)"
    between
    [ "$status" = 0 ]
}

@test "blame: the second address of a host's own card is not Docker's" {
    on 3 ip address add 10.77.0.2/32 dev eth0
    between
    [ "$(failed)" = "mesh.twice node3" ]
    [[ $(fix 0) == "ip address del 10.77.0.2/32 dev eth0   # on node3, and in what gave it "* ]]
    [[ $output != *Docker* ]]
}

@test "blame: an old entry of rank 0's name leads to another host, or to nobody" {
    local old
    for old in 10.77.0.4 10.77.0.99; do
        on 1 sh -c "h=\$(sed 's/^10.77.0.1[[:space:]].*/$old node0/' /etc/hosts) && printf '%s\n' \"\$h\" >/etc/hosts"
        between
        [ "$status" = 0 ]
        [[ $output == *"means $old, which "*"look for rank 0 on the wrong host"* || $output == *"means $old, which does not answer: "*"never find rank 0"* ]]
        [[ $output == *"export MASTER_ADDR=10.77.0.1"* ]]
        on 1 sh -c "h=\$(sed 's/^$old .*/10.77.0.1 node0/' /etc/hosts) && printf '%s\n' \"\$h\" >/etc/hosts"
    done
}
