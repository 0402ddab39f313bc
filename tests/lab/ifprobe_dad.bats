#!/usr/bin/env bats
# An IPv6 address that the kernel gave up because another machine has it, or is still asking about:
# ifprobe names it and what to do, which is typed. Needs root for the nodes' settings.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

# node1 takes node0's address, after an own one was found free.
TAKE='on 1 "ip address flush dev eth0 scope global; sysctl -qw net.ipv6.conf.all.accept_dad=1 net.ipv6.conf.eth0.accept_dad=1
    ip address add fd00:77::1/64 dev eth0
    for ((i = 0; i < 200; i++)); do [[ \$(ip -6 address show dev eth0) != *dadfailed* ]] || exit 0; sleep 0.1; done; exit 1"
'

@test "dad: a duplicate is named, its other owner is found by what is to be typed, and another address mends it" {
    run -0 --separate-stderr lab 2 --subnet fd00:77::/64 "$TAKE"'
        cat /sys/class/net/eth0/address >owner
        on 1 "PATH=$PATH; ifprobe --json" >doc || [ $? = 1 ]
        ADDRESS=fd00:77::5
        jq -r ".findings[] | select(.check == \"addr.usable\").fix[]" doc >fixes
        on 1 "sudo() { \"\$@\"; }; $(sed -n 1p fixes | sed "s|ADDRESS|$ADDRESS|")"
        on 1 "PATH=$PATH; until ifprobe --name-only 2>/dev/null; do sleep 0.1; done" >&2
        on 1 "$(sed -n 2p fixes)" >found
        cat doc'
    [ "$(found addr.usable)" = "this host fail" ]
    [[ $(jq -r '.findings[] | select(.check == "addr.usable").message' <<<"$output") == \
        "another machine on the network of eth0 has its address fd00:77::1, too, and so the kernel does not use it"* ]]
    grep -qi "$(<owner)" found # the very card
}

@test "dad: an address that is still being checked is waited for, and none is added" {
    run -0 --separate-stderr lab 2 --subnet fd00:77::/64 '
        ip address flush dev eth0 scope global
        sysctl -qw net.ipv6.conf.all.accept_dad=1 net.ipv6.conf.eth0.accept_dad=1 net.ipv6.conf.eth0.dad_transmits=600
        ip address add fd00:77::9/64 dev eth0
        ifprobe --json >doc || [ $? = 1 ]; cat doc'
    [[ $(jq -r '.findings[] | select(.check == "addr.usable").message' <<<"$output") == \
        "the address fd00:77::9 of eth0 is still being checked for duplicates"* ]]
    [[ $(jq -r '.findings[] | select(.check == "addr.usable").fix[]' <<<"$output") != *"ip addr"* ]]
}

@test "dad: beside an address that works a duplicate fails nothing" {
    run -0 --separate-stderr lab 2 --subnet fd00:77::/64 "$TAKE"'
        on 1 "PATH=$PATH; ip address add 10.77.0.2/16 dev eth0; ifprobe --json"'
    [ "$(found addr.usable)" = "eth0 pass" ]
}
