#!/usr/bin/env bats
# The rules and tables that VPNs make, as wg-quick, Tailscale, Mullvad and OpenVPN make them: those
# that leave the cluster alone are not accused, and of those that do not one line lets it pass and
# leaves the VPN as it is. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

tun() { # NAME ADDRESS
    echo "ip tuntap add $1 mode tun; ip address add $2 dev $1; ip link set $1 up"
}

alone() { # OPTIONS...
    run --separate-stderr on 0 "$BIN/portcheck" node1 --silence 1s "$@"
}

between() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

type_it() { # on node0
    local fix
    fix=$(jq -r '[.findings[] | select(.status == "fail")][0].fix[0]' <<<"$output")
    on 0 sh -c "sudo() { \"\$@\"; }; $fix" >&2
}

teardown() {
    on 0 sh -c 'for dev in wg0 tun0 tailscale0; do ip link del $dev; done
        ip rule list | sed "s/:.*//" | while read -r p; do case $p in 0 | 32766 | 32767) ;; *) ip rule del priority $p ;; esac; done
        for table in 52 51820 1836018789; do ip route flush table $table; done' 2>/dev/null || true
}

# VPN WORDS PATTERN: node0 alone, and the mesh, say WORDS and something like PATTERN that mends it.
mends() {
    local who
    for who in alone between; do
        on 0 sh -c "$1"
        if [ $who = alone ]; then alone --json; else between; fi
        [ "$status" = 1 ]
        [[ $output == *"$2"* ]]
        # shellcheck disable=SC2053 # a pattern
        [[ $(jq -r '[.findings[] | select(.status == "fail")][0].fix[0]' <<<"$output") == $3 ]]
        type_it
        if [ $who = alone ]; then alone --json; else between; fi
        [ "$status" = 0 ]
        teardown
    done
}

harmless() { # VPN
    on 0 sh -c "$1"
    alone --json
    [ "$status" = 0 ]
    between
    [ "$status" = 0 ]
    teardown
}

@test "vpn: wg-quick with a default route, and Mullvad's rules, look into the main table first" {
    harmless "$(tun wg0 10.8.0.2/32); ip route add default dev wg0 table 51820
        ip rule add not fwmark 51820 table 51820; ip rule add table main suppress_prefixlength 0"
    harmless "$(tun wg0 10.8.0.2/32); ip route add default dev wg0 table 1836018789
        ip rule add not fwmark 0x6d6f6c65 lookup 1836018789; ip rule add lookup main suppress_prefixlength 0"
}

@test "vpn: a kill switch in a table of its own, with the tunnel up or down, stays for all else" {
    local kill='ip route add unreachable default metric 4096 table 51820; ip rule add not fwmark 51820 table 51820 priority 100'
    mends "$kill" 'a route of this host forbids it' '*ip rule add to 10.77.0.0/16 lookup main priority 99*'
    mends "$(tun wg0 10.8.0.2/32); $kill; ip route add default dev wg0 table 51820; ip link set wg0 down" \
        'a route of this host forbids it' '*ip rule add to 10.77.0.0/16 lookup main priority 99*'
    on 0 sh -c "$kill"
    alone --json
    type_it
    [[ $(on 0 ip route show table 51820) == "unreachable default metric 4096"* ]]
    [[ $(on 0 ip rule list priority 100) == *"not from all fwmark 0xca6c lookup 51820"* ]]
}

@test "vpn: a kill switch that is a rule, and one in the main table" {
    mends 'ip rule add not fwmark 51820 prohibit priority 100' 'a route of this host forbids it' \
        '*ip rule add to 10.77.0.0/16 lookup main priority 99*'
    mends 'ip rule add to 10.77.0.0/17 blackhole priority 90; ip rule add to 10.77.0.0/16 prohibit priority 100' \
        'a route of this host forbids it' '*ip rule add to 10.77.0.0/16 lookup main priority 89*'
    mends 'ip route add blackhole 10.77.0.0/24' 'a route of this host forbids it' '*ip route del *'
}

@test "vpn: Tailscale with an exit node takes the cluster's network, too" {
    mends "$(tun tailscale0 100.64.0.1/32); ip route add default dev tailscale0 table 52; ip route add throw 127.0.0.0/8 table 52
        ip rule add priority 5210 fwmark 0x80000/0xff0000 lookup main
        ip rule add priority 5230 fwmark 0x80000/0xff0000 lookup default
        ip rule add priority 5250 fwmark 0x80000/0xff0000 unreachable; ip rule add priority 5270 lookup 52" \
        'through another interface' '*ip rule add to 10.77.0.0/16 lookup main priority 5269*'
}

@test "vpn: OpenVPN's halves of the default route are harmless, a part of the cluster's network is not" {
    local halves
    halves="$(tun tun0 10.8.0.2/24); ip route add 0.0.0.0/1 via 10.8.0.1 dev tun0; ip route add 128.0.0.0/1 via 10.8.0.1 dev tun0"
    harmless "$halves"
    mends "$halves; ip route add 10.77.0.0/17 via 10.8.0.1 dev tun0" 'through another interface' '*ip route del 10.77.0.0/17 dev tun0*'
}
