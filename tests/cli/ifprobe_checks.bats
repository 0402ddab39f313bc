#!/usr/bin/env bats
# Every check of ifprobe (probes/check), where it speaks and where it is silent.
bats_require_minimum_version 1.5.0
load ifprobe.sh

@test "checks: a usable address" {
    run -0 on container --json
    [ "$(found addr.usable)" = pass ]
    machine none "link 2 eth0 pci=0000:01:00.0 state=down" "link 3 eth1 pci=0000:02:00.0 state=nocarrier" \
        "link 4 eth2 pci=0000:03:00.0"
    run -1 on none --json
    [ "$(found addr.usable)" = fail ]
    [ "$(jq -r '.findings[] | select(.check == "addr.usable").fix[]' <<<"$output" | sed 's/ *#.*//')" = \
        $'sudo ip link set eth0 up\nethtool eth1\nsudo ip addr add ADDRESS/PREFIX dev eth2' ]
    run -1 on none
    [[ $output == *because* ]]
}

@test "checks: link-local only, and NCCL's choice" {
    run -0 on azure --json
    [ "$(found addr.linklocal eth1)" = warn ]
    [ "$(found nccl.choice)" = warn ]
    run -0 on container --json
    [ -z "$(found addr.linklocal)" ]
    [ "$(found nccl.choice)" = pass ]
    run -0 on bond-vlan --json # what it starts on is wrong
    [ "$(found nccl.choice bond0.100)" = warn ]
    run -0 on aws-p4d --json # several cards on purpose
    [ "$(found nccl.choice)" = info ]
}

@test "checks: link-local, and what mends it" {
    fix() { jq -r '.findings[] | select(.check == "addr.linklocal").fix[]' <<<"$output"; }
    run -0 on azure --json # another one is there to be used
    [ "$(fix | sort -u)" = 'eval "$(ifprobe --suggest)"' ]
    machine cable "link 2 eth0 pci=0000:01:00.0" "addr eth0 169.254.7.1/16" "link 3 eth1 pci=0000:02:00.0" \
        "addr eth1 fe80::1/64"
    run -1 on cable --json # nothing can be suggested
    [ "$(found addr.usable)" = fail ]
    [[ $(fix) == "sudo ip addr add 192.168.77.1/24 dev eth0 "*"# here; on the next host 192.168.77.2/24; or start its DHCP client"* ]]
    [[ $(NCCL_SOCKET_FAMILY=AF_INET6 on cable --json | jq -r '.findings[] | select(.check == "addr.linklocal").fix[]') == \
        "sudo ip addr add fd00:a::1/64 dev eth1 "* ]]
    run -1 on cable --suggest # as the advice was: this says nothing to evaluate
    [ -z "${output%%ifprobe:*}" ]
    machine cable2 "link 2 eth0 pci=0000:01:00.0" "addr eth0 169.254.7.1/16" "addr eth0 192.168.77.1/24"
    run -0 on cable2 --json # first in the list is what NCCL takes
    [ "$(fix)" = "sudo ip addr del 169.254.7.1/16 dev eth0" ]
    for stack in nccl gloo; do # nor do the settings of --suggest change it
        GLOO_SOCKET_IFNAME=eth0 run -0 on cable2 --predict --json
        [ "$(jq -r --arg c predict.$stack '.findings[] | select(.check == $c).fix[]' <<<"$output")" = \
            "sudo ip addr del 169.254.7.1/16 dev eth0" ]
    done
    GLOO_SOCKET_IFNAME=eth0 run -0 on cable2 --check --json
    [ "$(jq -r '.findings[] | select(.check == "lint.gloo.ifname").fix[]' <<<"$output")" = \
        "sudo ip addr del 169.254.7.1/16 dev eth0" ]
    # the family is what is wrong: without the address IPv6 would not even find its neighbours
    machine cable4 "link 2 eth0 pci=0000:01:00.0" "addr eth0 192.168.77.1/24" "addr eth0 fe80::1/64"
    export NCCL_SOCKET_FAMILY=AF_INET6
    run -0 on cable4 --json
    [ "$(fix)" = 'eval "$(ifprobe --suggest)"' ]
    eval "$(on cable4 --suggest --quiet)"
    [ "$NCCL_SOCKET_FAMILY" = AF_INET ]
    run -0 on cable4 --json
    [ "$(found addr.linklocal)$(found nccl.choice)" = pass ]
    # and where there is no such address at all, that is said
    machine cable5 "link 2 eth0 pci=0000:01:00.0" "addr eth0 192.168.77.1/24"
    unset NCCL_SOCKET_IFNAME
    NCCL_SOCKET_FAMILY=AF_INET6 run -0 on cable5 --json
    [[ $(jq -r '.findings[] | select(.check == "nccl.choice").message' <<<"$output") == *"no running interface has an IPv6 address, and NCCL_SOCKET_FAMILY asks for one" ]]
    unset NCCL_SOCKET_FAMILY
    machine cable3 "link 2 eth0 pci=0000:01:00.0" "addr eth0 192.168.77.1/24"
    run -0 on cable3 --json
    [ -z "$(found addr.linklocal)" ]
}

@test "suggest: a fast link with a link-local address alone, which a peer would have to be named on" {
    machine cable6 "link 2 p1 pci=0000:01:00.0 speed=200000" "addr p1 169.254.7.1/16 scope=link" \
        "link 3 w0 pci=0000:02:00.0 wireless" "addr w0 192.168.1.42/24" "link 4 d0 kind=dummy" "addr d0 169.254.20.10/32"
    run -0 on cable6 --suggest --json
    [ "$(found suggest.linklocal)" = info ]
    [ "$(found suggest.linklocal p1)" = info ]
    [ "$(jq -r '.data.suggest.interface' <<<"$output")" = w0 ]
    machine cable7 "link 2 p1 pci=0000:01:00.0 speed=1000" "addr p1 169.254.7.1/16 scope=link" \
        "link 3 e0 pci=0000:02:00.0 speed=1000" "addr e0 192.168.1.42/24"
    run -0 on cable7 --suggest --json
    [ -z "$(found suggest.linklocal)" ]
}

@test "checks: NAT of a virtual machine's own among the cards that NCCL spreads its data over" {
    machine vm "link 2 enp0s3 pci=0000:00:03.0" "addr enp0s3 10.0.2.15/24" "link 3 enp0s8 pci=0000:00:08.0" \
        "addr enp0s8 192.168.56.4/24" "route default via=10.0.2.2 dev=enp0s3"
    run -0 on vm --json
    [ "$(found addr.usable enp0s8)" = pass ]
    [ "$(found nccl.choice enp0s3)" = warn ]
    eval "$(on vm --suggest --quiet)"
    [ "$NCCL_SOCKET_IFNAME" = "=enp0s8" ]
    run -0 on vm --json
    [ "$(found nccl.choice enp0s8)" = pass ]
    unset NCCL_SOCKET_IFNAME
    machine vm2 "link 2 enp0s3 pci=0000:00:03.0" "addr enp0s3 192.168.56.4/24" "link 3 enp0s8 pci=0000:00:08.0" \
        "addr enp0s8 10.0.2.15/24" "route default via=10.0.2.2 dev=enp0s8"
    run -0 on vm2 --json
    [ "$(found nccl.choice enp0s3)" = warn ]
}

@test "checks: nothing but a NAT that no other host reaches: what leads out of it, and nobody is sent there" {
    fixes() { jq -r --arg c "$1" '.findings[] | select(.check == $c).fix[]' <<<"$output"; }
    machine vm3 "link 2 enp0s3 pci=0000:00:03.0" "addr enp0s3 10.0.2.15/24" "route default via=10.0.2.2 dev=enp0s3"
    for name in wsl2 vm3; do
        way='VBoxManage modifyvm VM --nic2 intnet'
        [ "$name" != wsl2 ] || way='networkingMode=mirrored under [wsl2] in %UserProfile%\.wslconfig'
        run -0 on "$name" --json
        [ "$(found addr.usable)" = warn ]
        [[ $(jq -r '.findings[] | select(.check == "addr.usable").message' <<<"$output") == *"translated network (NAT)"* ]]
        [[ $(fixes addr.usable) == *"$way"* ]]
        run -0 on "$name" --predict --json
        [ "$(jq .data.predict.nccl.reachable <<<"$output")" = false ]
        [ "$(fixes predict.nccl)" = "ifprobe   # what leads out of its NAT" ] # no setting does
        run -0 portcheck --sysroot "$BATS_FILE_TMPDIR/$name" --json
        [ "$(found local.address)" = warn ]
        [[ $(fixes local.address) == *"$way"* ]]
        [ "$(jq '.data.local | has("peer_line")' <<<"$output")" = false ]
        run -0 portcheck --sysroot "$BATS_FILE_TMPDIR/$name"
        [[ $output != *"On every other node"* ]]
    done
    run -0 on wsl2-mirrored --json
    [ "$(found addr.usable eth0)" = pass ]
    run -0 on wsl2-mirrored --predict --json
    [ "$(jq .data.predict.nccl.reachable <<<"$output")" = true ]
    run -0 portcheck --sysroot "$BATS_FILE_TMPDIR/wsl2-mirrored"
    [[ $output == *"On every other node type:  portcheck 172.16.3.42:29500,"* ]]
}

@test "checks: a bridge that NCCL would pick because it came before the NIC" {
    machine bridged "link 2 br-0a1b2c3d4e5f kind=bridge" "addr br-0a1b2c3d4e5f 172.19.0.1/16" \
        "link 3 eth0 pci=0000:01:00.0" "addr eth0 10.0.0.1/24"
    run -0 --separate-stderr on bridged
    [[ $output == *"NCCL would use br-0a1b2c3d4e5f (172.19.0.1), not eth0"* ]]
    eval "$(on bridged --suggest --quiet)"
    run -0 on bridged --json
    [ "$(found nccl.choice)" = pass ]
}

@test "checks: the host's own name" {
    machine named "${NIC[@]}"
    run -0 on named --json
    [ "$(found host.name)" = pass ]
    run -0 on laptop --json
    [ "$(found host.name)" = warn ]
    machine other "link 2 eth0" "addr eth0 10.0.0.1/24" "file /etc/hosts '10.0.0.77 n0'"
    run -0 on other --json
    [[ $(jq -r '.findings[] | select(.check == "host.name").message' <<<"$output") == *"not an address of this host"* ]]
    run -0 on container --json # in nobody's hosts
    [ "$(found host.name)" = warn ]
    run -0 on digits --json
    [ "$(found host.digits)" = warn ]
    [ -z "$(found host.name)" ]
    run -0 on named --json
    [ -z "$(found host.digits)" ]
}

@test "checks: the command for /etc/hosts really mends it" {
    machine mend "link 2 eth0" "addr eth0 10.0.0.1/24" \
        "file /etc/hosts '127.0.0.1 localhost n0' '127.0.1.1 n0.example n0' '# n0 stays' '10.0.0.9 n01'"
    hosts=$BATS_FILE_TMPDIR/mend/etc/hosts
    run -0 on mend --json
    [ "$(found host.name)" = warn ]
    fix=$(jq -r '.findings[] | select(.check == "host.name").fix[0]' <<<"$output")
    [[ $fix == *" | sudo tee /etc/hosts >/dev/null" ]] # whoever may not write it is asked for a password
    for _ in 1 2; do bash -c "sudo() { \"\$@\"; }; ${fix//\/etc\/hosts/$hosts}"; done
    diff "$hosts" - <<<$'127.0.0.1 localhost\n127.0.1.1 n0.example\n# n0 stays\n10.0.0.9 n01\n10.0.0.1 n0'
    run -0 on mend --json
    [ "$(found host.name)" = pass ]
}

@test "checks: a slip of a variable whose right name is set: it goes, and the right one stays" {
    run --separate-stderr env NCCL_SOCKET_IFNAME=lo NCCL_SOCKT_IFNAME=eht1 "$BIN/ifprobe" --check --json
    jq -e '.findings[] | select(.check == "lint.name") | .fix == ["unset NCCL_SOCKT_IFNAME"]' <<<"$output"
    run --separate-stderr env -u NCCL_SOCKET_IFNAME NCCL_SOCKT_IFNAME=eth1 "$BIN/ifprobe" --check --json
    jq -e '.findings[] | select(.check == "lint.name") | .fix == ["export NCCL_SOCKET_IFNAME=eth1"]' <<<"$output"
}

@test "checks: RDMA" {
    run -0 on dgx-roce --json
    [ "$(found rdma.gid)" = warn ]
    [ "$(found rdma.gid mlx5_1:1)" = warn ]
    [ "$(found rdma.bootstrap)" = info ]
    [ -z "$(found rdma.ipoib)" ]
    run -0 on hgx-h100 --json
    [ "$(found rdma.ipoib)" = warn ]
    [ "$(found rdma.ipoib ibp172s0)" = warn ]
    [ -z "$(found rdma.gid)" ]
    run -0 on laptop --json
    [ -z "$(found rdma.bootstrap)" ]
}

@test "checks: RDMA ports that /sys shows, and no program here can open" {
    can_unshare
    cat >inside <<'END'
set -e
mount --rbind /dev "$1"
mount --bind "$2/sys" /sys
mount -t tmpfs none /dev
touch /dev/null /dev/urandom
mount --bind "$1/null" /dev/null
mount --bind "$1/urandom" /dev/urandom
ip link set lo up
ip link add far type veth peer name eth0
ip link set eth0 up
ip link set far up
ip addr add 10.1.0.1/24 dev eth0
ip addr add 169.254.0.9/16 dev far
[ "$3" = no ] || { mkdir /dev/infiniband; touch /dev/infiniband/uverbs0; }
shift 3
ifprobe "$@"
END
    mkdir dev
    inside() { namespace bash "$PWD/inside" "$PWD/dev" "$BATS_FILE_TMPDIR/hgx-h100" "$@"; }
    run -0 inside no --json
    [ "$(found rdma.open)$(found rdma.bootstrap)" = warn ]
    [[ $(jq -r '.findings[] | select(.check == "rdma.open") | "\(.message) -> \(.fix[0])"' <<<"$output") == \
        "7 RDMA ports are ACTIVE, but no device"*" -> docker run --device /dev/infiniband ..."* ]]
    export NCCL_SOCKET_IFNAME=eth0,far # its data goes over both
    run -0 inside no --predict --json
    [[ $(jq -r .data.predict.nccl.unreachable_why <<<"$output") == *169.254.0.9* ]]
    [ "$(jq -r .data.predict.ucx.rule <<<"$output")" = automatic:tcp ]
    run -0 inside yes --json
    [ "$(found rdma.open)$(found rdma.bootstrap)" = info ]
    run -0 inside yes --predict --json
    [ "$(jq -r '.data.predict | .nccl.reachable, .ucx.rule' <<<"$output")" = $'true\nautomatic:rdma' ]
    export NCCL_IB_HCA="=mlx5_0,mlx5_1"
    run -0 inside yes --json
    [ "$(jq '.findings[] | select(.check == "rdma.bootstrap").value' <<<"$output")" = 2 ]
}

@test "checks: an RDMA port that is slower than its siblings" {
    run -0 on hgx-h100 --json
    [ "$(found rdma.rate)" = warn ] # one of seven that are up: the eighth is down, and no slow one
    [ "$(found rdma.rate mlx5_7:1)" = warn ]
    [[ $(jq -r '.findings[] | select(.check == "rdma.rate") | "\(.value) \(.expected) \(.fix[])"' <<<"$output") == \
        "200 400 Gb/s sudo mlxlink -d mlx5_7 -m "* ]]
    [ "$(jq -r '.data.rdma[0].firmware' <<<"$output")" = 28.39.1002 ]
    for machine in dgx-roce aws-p4d azure; do
        run -0 on "$machine" --json
        [ -z "$(found rdma.rate)" ]
    done
    local card=() n
    for n in 1 2 3; do
        card+=("pci pci0000:10/0000:1$n:00.0 vendor=0x15b3 device=0x1021" "link 1$n e$n pci=0000:1$n:00.0"
            "rdma mlx5_$n pci=0000:1$n:00.0"
            "port mlx5_$n 1 state='4: ACTIVE' layer=Ethernet rate='$((n == 3 ? 100 : 400)) Gb/sec (4X NDR)'")
    done
    machine roce "${NIC[@]}" "${card[@]}"
    run -0 on roce --json
    [ "$(found rdma.rate mlx5_3:1)" = warn ]
    [[ $(jq -r '.findings[] | select(.check == "rdma.rate").fix[]' <<<"$output") == "ethtool e3 "* ]]
}

@test "checks: an MTU unlike that of the sibling" {
    local two=("link 2 eth0 pci=0000:01:00.0 driver=ixgbe mtu=9000" "addr eth0 10.0.0.1/24"
        "link 3 eth1 pci=0000:01:00.1 driver=ixgbe")
    machine mtus "${two[@]}" "addr eth1 10.1.0.1/24" "link 4 eth2 pci=0000:01:00.2 driver=ixgbe mtu=9000" "addr eth2 10.2.0.1/24"
    run -0 on mtus --json
    [ "$(found link.mtu eth1)" = warn ]
    [ "$(jq -r '.findings[] | select(.check == "link.mtu").fix[]' <<<"$output")" = "sudo ip link set eth1 mtu 9000   # if the network takes it" ]
    machine mtus "${two[@]}" "addr eth1 10.0.0.2/24" # one network has one
    run -0 on mtus --json
    [ "$(found link.mtu eth1)" = warn ]
    machine mtus "${two[@]}" "addr eth1 10.0.0.2/24" "route default via=10.0.0.254 dev=eth1"
    run -0 on mtus --json
    [ "$(jq -r '.findings[] | select(.check == "link.mtu").fix[]' <<<"$output")" = "sudo ip link set eth0 mtu 1500" ]
    machine mtus "${two[@]}" "addr eth1 10.1.0.1/24" # of two networks neither is the odd one
    run -0 on mtus --json
    [ -z "$(found link.mtu)" ]
    machine mtus "${two[@]}" "addr eth1 10.1.0.1/24" "link 4 eth2 pci=0000:01:00.2 driver=ixgbe mtu=9000" \
        "addr eth2 10.2.0.1/24" "route default via=10.1.0.254 dev=eth1" # the internet's
    run -0 on mtus --json
    [ -z "$(found link.mtu)" ]
    run -0 on aws-p4d --json
    [ -z "$(found link.mtu)" ]
}

@test "checks: a bond with a dead card, that watches nobody, without a partner, or that uses one card" {
    local sys=/sys/class/net ports=("link 3 eth0 pci=0000:01:00.0 master=bond0 mac=020000000001"
        "link 4 eth1 pci=0000:01:00.1 master=bond0 mac=020000000001")
    bond() { # NAME MODE MIIMON POLICY PARTNER LINES...
        machine "$1" "link 2 bond0 kind=bond" "addr bond0 10.0.0.1/24" "file /etc/hosts '10.0.0.1 n0'" \
            "file $sys/bond0/bonding/mode '$2'" "file $sys/bond0/bonding/miimon $3" "file $sys/bond0/bonding/arp_interval 0" \
            "file $sys/bond0/bonding/xmit_hash_policy '$4'" "file $sys/bond0/bonding/ad_partner_mac $5" "${@:6}"
        run -0 on "$1" --json
    }
    said() { jq -r '.findings[] | select(.check == "link.bond") | "\(.status) \(.message) -> \(.fix[0])"' <<<"$output"; }
    bond well '802.3ad 4' 100 'layer3+4 1' 02:00:00:00:00:99 "${ports[@]}"
    [ -z "$(said)" ]
    bond dead '802.3ad 4' 100 'layer3+4 1' 02:00:00:00:00:99 "${ports[0]}" "${ports[1]} state=nocarrier"
    [[ $(said) == "warn 1 of its 2 cards has no link (eth1): "*" -> ethtool eth1; cat /proc/net/bonding/bond0 "* ]]
    bond blind 'balance-rr 0' 0 'layer2 0' 00:00:00:00:00:00 "${ports[@]}"
    [[ $(said) == "warn watches none of its 2 cards (miimon is 0)"*" -> sudo ip link set dev bond0 type bond miimon 100" ]]
    bond alone '802.3ad 4' 100 'layer3+4 1' 00:00:00:00:00:00 "${ports[@]}"
    [[ $(said) == "warn has no partner (LACP): "*" -> sudo cat /proc/net/bonding/bond0 "* ]]
    bond apart '802.3ad 4' 100 'layer3+4 1' 02:00:00:00:00:99 "${ports[@]}" \
        "file $sys/eth0/bonding_slave/ad_aggregator_id 1" "file $sys/eth1/bonding_slave/ad_aggregator_id 2"
    [[ $(said) == "warn eth1 is in another bundle than its other cards (LACP)"* ]]
    bond one 'balance-xor 2' 100 'layer2 0' 00:00:00:00:00:00 "${ports[@]}"
    [[ $(said) == "info chooses by hardware addresses (xmit_hash_policy layer2)"*" -> sudo ip link set dev bond0 type bond xmit_hash_policy layer3+4" ]]
}

@test "checks: routing is information, where there is something to say" {
    run -0 on aws-p4d --json
    [ "$(found net.same-subnet)" = info ]
    run -0 on laptop --json
    [ -z "$(found net.same-subnet)$(found net.rp-filter)$(found net.congestion)" ]
    machine strict "${NIC[@]}" "link 3 eth1 pci=0000:01:00.1" "addr eth1 10.1.0.1/24" \
        "file /proc/sys/net/ipv4/conf/all/rp_filter 1" \
        "file /proc/sys/net/ipv4/tcp_congestion_control bbr"
    run -0 on strict --json
    [ "$(found net.rp-filter),$(found net.congestion)" = info,info ]
    machine single "${NIC[@]}" "file /proc/sys/net/ipv4/conf/all/rp_filter 1" \
        "file /proc/sys/net/ipv4/tcp_congestion_control cubic"
    run -0 on single --json
    [ -z "$(found net.rp-filter)$(found net.congestion)" ]
}
