#!/usr/bin/env bats
# ifprobe --hosts: one choice for many nodes, proven between all of them, in the
# lab and over a real ssh.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

# An rsh that does something else on node1. Used as WINDSOCK_RSH="./rsh" after writing ./rsh.
own_rsh() { # WHAT TO DO ON node1, with "$@" the command
    printf '#!/bin/bash\nhost=$1; shift\nif [ "$host" = node1 ]; then\n%s\nfi\nexec $REAL_RSH "$host" "$@"\n' "$1" >rsh
    chmod +x rsh
}

@test "one name everywhere: one value, proven each to each" {
    run -0 --separate-stderr lab 3 'ifprobe --suggest --hosts lab'
    [ "$output" = "export NCCL_SOCKET_IFNAME='=eth0'" ]
    [[ $stderr == *"3 hosts reach each other"* ]]
    run -0 --separate-stderr lab 3 'ifprobe --suggest --hosts lab --json'
    valid
    [ "$(jq -r '.data.suggest | .same, .proven, .env.NCCL_SOCKET_IFNAME, (.hosts | length)' <<<"$output")" = \
        $'true\ntrue\n=eth0\n3' ]
    [ "$(jq -r '.nodes[].host' <<<"$output" | paste -sd,)" = node0,node1,node2 ]
    run -0 --separate-stderr lab 3 'ifprobe --name-only --hosts "node[0-2]"'
    [ "$output" = eth0 ]
}

@test "different names: one list that is right on all of them" {
    run -0 --separate-stderr lab 3 '
        on 1 "ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up"
        ifprobe --suggest --hosts lab --quiet >lines
        cat lines; for n in 0 1 2; do on $n "cd $PWD; . ./lines
            $(command -v ifprobe) --predict --json" | jq -r .data.predict.nccl.interface; done'
    [ "$output" = $'export NCCL_SOCKET_IFNAME=\'=eth0,ens5\'\neth0\nens5\neth0' ]
}

@test "different names, and one file for all of them: who finds another one's values in it, and what is right there" {
    local rename='on 1 "ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up"'
    run -0 --separate-stderr lab 2 "$rename
        ifprobe --write nccl.conf --hosts lab --to \$PWD/nc.conf >said || echo status \$?
        cat said; . <(sed -n 's/^ *-> \(.*\)   #.*/\1/p' said)
        grep -v '^#' nc.conf"
    [[ $output == *"status 1"*"fail  write.shared"*"/nc.conf"*"is one file for several hosts"*"what node"[01]" wrote is gone"* ]]
    [ "${lines[-1]}" = NCCL_SOCKET_IFNAME==eth0,ens5 ]
    run -0 --separate-stderr lab 2 "$rename
        ifprobe --bashrc --fixed --hosts lab --to \$PWD/rc >said || echo status \$?
        cat said; . <(sed -n 's/^ *-> \(.*\)   #.*/\1/p' said)
        for n in 0 1; do on \$n \"PATH=\$PATH; . $PWD/rc; echo got \\\$NCCL_SOCKET_IFNAME\"; done"
    [[ $output == *"status 1"*"fail  write.shared"*"-> ifprobe --bashrc --to $PWD/rc --hosts lab "*"got =eth0"*"got =ens5"* ]]
    # what all compute is one line, and a home of its own is no other's
    run -0 --separate-stderr lab 2 "$rename
        ifprobe --bashrc --hosts lab --to \$PWD/computed"
    own_rsh 'exec $REAL_RSH node1 "HOME=$PWD/home1 $*"'
    mkdir home1
    run -0 --separate-stderr lab 2 "$rename
        export HOME=\$PWD REAL_RSH=\$WINDSOCK_RSH
        ifprobe --rsh ./rsh --bashrc --fixed --hosts lab; cat .bashrc home1/.bashrc"
    [[ $output != *write.shared* && $output == *"export NCCL_SOCKET_IFNAME='=eth0'"*"export NCCL_SOCKET_IFNAME='=ens5'"* ]]
}

@test "different names that no list can say: lines that choose by host name" {
    run -0 --separate-stderr lab 2 '
        on 1 "ip link add mv0 link eth0 type macvlan; ip link set mv0 name ens5
            ip addr flush dev eth0; ip addr add 10.77.0.2/16 dev ens5; ip link set ens5 up
            ip addr add 10.99.0.2/32 dev eth0
            echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore" # else either card answers for it, by chance
        on 0 "ip neigh flush all"
        ifprobe --suggest --hosts lab >lines
        for n in 0 1; do on $n "cd $PWD; . ./lines; echo \$NCCL_SOCKET_IFNAME"; done'
    [ "$output" = $'=eth0\n=ens5' ]
    [[ $stderr == *"differ between hosts (node0: eth0, node1: ens5)"* ]]
}

@test "different names: no list, where one of them is an interface here that has an address of no use" {
    run -0 --separate-stderr lab 2 '
        on 0 "ip link add ens5 type veth peer name x5; ip link set x5 up; ip link set ens5 up; ip addr add 169.254.3.4/16 dev ens5"
        on 1 "ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up"
        ifprobe --suggest --hosts lab >lines
        for n in 0 1; do on $n "cd $PWD; . ./lines; echo \$NCCL_SOCKET_IFNAME"; done'
    [ "$output" = $'=eth0\n=ens5' ]
}

@test "one interface name and other values: what differs, and hosts that no line can tell apart" {
    own_rsh 'exec $REAL_RSH node1 "GLOO_SOCKET_IFNAME=eth0 $*"'
    run -0 --separate-stderr lab 2 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --suggest --hosts lab'
    [[ $stderr == *"suggest.names values: differ between hosts (GLOO_SOCKET_IFNAME); the lines choose by host name"* ]]
    run -0 --separate-stderr lab 2 'on 1 "hostname node0"; ifprobe --suggest --hosts lab'
    [[ $stderr == *"warning: suggest.names values: "*"more than one calls itself node0"*"--bashrc --hosts lab"* ]]
}

@test "a node that does not answer, and one without ifprobe: said once, the rest is answered" {
    run -1 --separate-stderr lab 2 'ifprobe --suggest --hosts node0,node1,node7 --deadline 1s'
    [ "$output" = "export NCCL_SOCKET_IFNAME='=eth0'" ]
    [ "$(grep -c 'host.answer node7' <<<"$stderr")" = 1 ]
    own_rsh 'echo "sh: 1: exec: ifprobe: not found" >&2; exit 127'
    run -1 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --suggest --hosts lab'
    [[ $stderr == *"host.answer node1: ifprobe is not installed on node1, or not on the PATH of shells without a terminal"*" --copy-self   # brings it along"* ]]
    [[ $stderr != *"cat >"* ]] # one file alone would not run there
    run -1 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --bashrc --dry-run --hosts lab'
    [[ $stderr == *"- install windsock there "*": the lines that are written there run it"* ]]
    own_rsh 'echo "Welcome to node1"; exit 0'
    run -1 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --hosts lab --json'
    valid
    [ "$(found host.answer)" = "node1 fail" ]
    own_rsh 'exec sleep 1000'
    run -1 --separate-stderr lab 2 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --suggest --hosts lab --deadline 10ms --budget 1m'
    [[ $stderr == *"host.answer node"@(1|"[0-1]"):* ]] # the other one may be too slow for that, too
}

@test "two networks: the best of each need not meet, a common one is found" {
    # both networks share one wire here: keep them apart
    printf 'table inet apart { chain o { type filter hook output priority 0
        oifname "a0" ip daddr 10.92.0.0/24 drop; oifname "b0" ip daddr 10.91.0.0/24 drop; }; }\n' >apart.nft
    run -0 --separate-stderr lab 2 --firewall apart.nft '
        both="ip addr flush dev eth0
            echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
            ip link add a0 link eth0 type macvlan; ip link add b0 link eth0 type macvlan
            ip link set a0 up; ip link set b0 up"
        on 0 "$both; ip addr add 10.91.0.1/24 dev a0; ip addr add 10.92.0.1/24 dev b0; ip link set b0 mtu 1400"
        on 1 "$both; ip addr add 10.91.0.2/24 dev a0; ip addr add 10.92.0.2/24 dev b0; ip link set a0 mtu 1400"
        for n in 0 1; do on $n "$(command -v ifprobe) --name-only --quiet"; done >alone
        ifprobe --suggest --hosts lab --deadline 1500ms --json'
    [ "$(cat alone)" = $'a0\nb0' ]
    [ "$(jq -r '.data.suggest | .same, .proven, .interface' <<<"$output")" = $'true\ntrue\na0' ]
    [ "$(found suggest.pair)" = "all hosts pass" ]
    [ "$(found link.mtu)" = "between hosts warn" ]
}

@test "two networks that never meet: which pair, and exit 1" {
    run -1 --separate-stderr lab 2 '
        on 1 "ip addr flush dev eth0; ip addr add 10.91.0.2/24 dev eth0"
        ip route del default
        ifprobe --suggest --hosts lab --deadline 1500ms'
    [ -z "$output" ]
    [[ $stderr == *"peer.reach node1"* ]]
}

@test "bare: a node that the others do not reach is a failure, in one finding" {
    echo 'table inet f { chain i { type filter hook input priority 0; policy drop
        iif lo accept; ct state established accept; }; }' >closed.nft
    run -1 --separate-stderr lab 4 --firewall 3=closed.nft 'ifprobe --hosts lab --deadline 1500ms --json'
    valid
    [ "$(found suggest.pair)" = "node[0-2] -> node3 fail" ]
    [ -z "$(found host.answer)" ]
    jq -e '.findings[] | select(.check == "suggest.pair") | .message == "eth0 (10.77.0.4) is not reached by 3 hosts, such as node0, eth0 (10.77.0.1)"
        and .fix[0] == "ifprobe --peer 10.77.0.4   # on node0: what answers, and through what"' <<<"$output"
}

@test "one machine under several names: said so, and not a way that is closed" {
    run -1 --separate-stderr lab 3 'ifprobe --hosts node0,node1,10.77.0.2 --json'
    [ "$(found suggest.pair)" = "10.77.0.2 fail" ]
    jq -e '.findings[] | select(.check == "suggest.pair").message
        | startswith("has the address of node1 (10.77.0.2): one machine under several names")' <<<"$output"
}

@test "bare: a netmask too small: the end without a route is named, and what mends it" {
    run -1 --separate-stderr lab 2 '
        on 0 "ip addr replace 10.77.0.1/24 dev eth0"
        on 1 "ip addr flush dev eth0; ip addr add 10.77.0.200/25 dev eth0"
        ifprobe --hosts lab --deadline 1s --json >doc || rc=$?; cat doc
        on 1 "sudo() { \"\$@\"; }; $(jq -r ".findings[] | select(.check == \"suggest.pair\").fix[0]" doc)"
        ifprobe --hosts lab --json | jq -r ".findings[] | \"\(.check) \(.status)\"" >after; exit $rc'
    [ "$(jq -r '.findings[] | select(.check == "suggest.pair") | .host, .subject, .fix[0]' <<<"$output")" = \
        $'node1\nnode0 -> node1\nsudo ip route add 10.77.0.1 dev eth0   # on node1' ]
    grep -qx "suggest.pair pass" after
}

@test "bare: each is reached, but not through one interface" {
    # node0 reaches node1 through a0 only, node2 through eth0 only
    printf 'table inet apart { chain o { type filter hook output priority 0
        oifname "a0" ip daddr 10.77.0.3 drop; oifname "eth0" ip daddr 10.77.0.2 drop; }; }\n' >apart.nft
    run -1 --separate-stderr lab 3 --firewall 0=apart.nft '
        echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore # or either answers for both
        ip link add a0 link eth0 type macvlan; ip link set a0 up; ip addr add 10.77.9.1/16 dev a0
        ifprobe --hosts lab --deadline 1500ms --json'
    jq -c ".findings[] | select(.status == \"fail\")" <<<"$output"
    [ "$(found suggest.interface)" = "node0 fail" ]
}

@test "predict: a bridge's address on another node cannot be reached" {
    run -1 --separate-stderr lab 3 '
        on 1 "ip link add br-lan type bridge; ip link set br-lan up; ip addr add 172.19.0.1/16 dev br-lan
            ip link add port type veth peer name inside; ip link set port master br-lan
            ip link set port up; ip link set inside up
            ip link add mv0 link eth0 type macvlan; ip addr flush dev eth0
            ip addr add 10.77.0.2/16 dev mv0; ip link set mv0 up"
        ip link add docker0 type bridge; ip addr add 172.19.0.1/16 dev docker0 # the same address here
        ifprobe --predict --hosts lab --deadline 1500ms --json'
    valid
    [ "$(found predict.reach)" = $'node0 pass\nnode1 fail\nnode2 pass' ]
    [[ $(jq -r '.findings[] | select(.check == "predict.reach" and .status == "fail").message' <<<"$output") == \
        *"172.19.0.1, which node[0,2] cannot reach" ]]
}

@test "predict: who asks one that is silent has answered all the same" {
    echo 'table inet f { chain i { type filter hook input priority 0; policy drop
        iif lo accept; ct state established accept; }; }' >closed.nft
    run -1 --separate-stderr lab 3 --firewall 2=closed.nft 'ifprobe --predict --hosts lab --deadline 1500ms --json'
    [ -z "$(found host.answer)" ]
    [ "$(found predict.reach)" = $'node0 pass\nnode1 pass\nnode2 fail' ]
}

@test "check: a variable that differs between nodes" {
    own_rsh 'exec $REAL_RSH node1 "NCCL_ALGO=Ring NCCL_DEBUG=INFO $*"'
    run -0 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --check --hosts lab --json'
    valid
    [[ $(found lint.differs) == *"NCCL_ALGO warn"* ]]
    [[ $(found lint.differs) == *"NCCL_DEBUG info"* ]] # that may differ
    [[ $(jq -r '.findings[] | select(.subject == "NCCL_ALGO").message' <<<"$output") == \
        "not set on node[0,2]; Ring on node1" ]]
    run -0 --separate-stderr lab 2 'ifprobe --check --hosts lab --json'
    [ "$(found lint.differs)" = "between hosts pass" ]
}

# Each node has an accelerate's file of its own; `nodeK.sed` changes it.
accelerates() {
    for k in 0 1 2; do
        mkdir -p "node$k/accelerate"
        printf '%s\n' 'distributed_type: MULTI_GPU' "machine_rank: $k" 'main_process_ip: 10.77.0.1' \
            'main_process_port: 29500' 'num_machines: 3' 'num_processes: 24' 'same_network: true' \
            >"node$k/accelerate/default_config.yaml"
    done
    printf '#!/bin/bash\nhost=$1; shift\nexec $REAL_RSH "$host" "HF_HOME=%q/$host $*"\n' "$PWD" >rsh
    chmod +x rsh
}

@test "check: accelerate's files are those of one job, or the places that two of them take, and what mends it" {
    accelerates
    check='REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --check --hosts lab --json'
    run -0 --separate-stderr lab 3 "$check"
    valid
    [ "$(found lint.accelerate)" = "$(for k in 0 1 2; do echo "$PWD/node$k/accelerate/default_config.yaml pass"; done)" ]
    [ "$(found lint.accelerate.machines) $(found lint.differs)" = "between hosts pass between hosts pass" ]
    # one file copied to all of them: the most usual mistake
    sed -i 's/^machine_rank.*/machine_rank: 1/' node2/accelerate/default_config.yaml
    sed -i 's/^num_processes.*/num_processes: 8/' node1/accelerate/default_config.yaml
    run -0 --separate-stderr lab 3 "$check"
    [ "$(found lint.accelerate.machines)" = "node2 warn" ]
    [[ $(found lint.differs) == *"accelerate num_processes warn"* ]]
    [ "$(jq -r '.findings[] | select(.subject == "accelerate num_processes").message' <<<"$output")" = "24 on node[0,2]; 8 on node1" ]
    bash -euc "$(jq -r '.findings[] | select(.check == "lint.accelerate.machines").fix[0]' <<<"$output")"
    grep -qx 'machine_rank: 2' node2/accelerate/default_config.yaml
    sed -i 's/^num_processes.*/num_processes: 24/' node1/accelerate/default_config.yaml
    run -0 --separate-stderr lab 3 "$check"
    [ "$(found lint.accelerate.machines)" = "between hosts pass" ]
}

@test "check: a host without accelerate's file trains alone; more machines than hosts; windsock says it, too" {
    accelerates
    rm -r node1/accelerate
    check='REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --check --hosts lab --json'
    run -0 --separate-stderr lab 3 "$check"
    [[ $(jq -r '.findings[] | select(.check == "lint.accelerate.machines") | "\(.status) \(.message)"' <<<"$output") == \
        "warn node1: no such file for several machines"*"the others wait for 3 in all" ]]
    run -0 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH windsock --rsh ./rsh --quick --hosts lab --json'
    [[ $(found lint.accelerate.machines) == "between hosts warn" ]]
    accelerates
    run -0 --separate-stderr lab 2 "$check"
    [ "$(found lint.accelerate.machines)" = "between hosts info" ]
}

@test "a pass covers the hosts that answered, not all that were named" {
    printf '#!/bin/sh\n[ "$1" != node2 ] || exit 255\nexec $REAL_RSH "$@"\n' >rsh
    chmod +x rsh
    run -1 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --check --rsh ./rsh --hosts lab --json'
    [ "$(found host.answer)" = "node2 fail" ]
    [ "$(jq -r '.findings[] | select(.check == "lint.differs").message' <<<"$output")" = "the settings are the same on 2 hosts" ]
    run -1 --separate-stderr lab 3 'REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --hosts lab'
    [[ ${lines[-1]} == *"the way between 2 hosts, each to each" ]]
    run -1 --separate-stderr lab 2 'ifprobe --check --rsh false --hosts lab --json'
    [ "$(found lint.differs)" = "" ]
}

@test "an MTU that differs between nodes: who, and the command" {
    run -0 --separate-stderr lab 3 --mtu node2=1400 'ifprobe --hosts lab --json'
    [ "$(found link.mtu)" = "between hosts warn" ]
    [ "$(jq -r '.findings[] | select(.check == "link.mtu").fix[]' <<<"$output")" = \
        "sudo ip link set dev eth0 mtu 1500   # on node2, which has 1400" ]
    run -0 --separate-stderr lab 2 'ifprobe --hosts lab'
    run ! grep link.mtu <<<"$output"
    run -0 --separate-stderr lab 2 'ifprobe --hosts lab'
    [[ $output == *"node1  eth0       10.77.0.2  1500"* ]]
    [[ ${lines[-1]} == PASS*"the way between 2 hosts, each to each" ]]
}

@test "bashrc and write on all nodes; a dry run shows every node's diff" {
    run -0 --separate-stderr lab 2 'ifprobe --bashrc --hosts lab --to there --dry-run --quiet; test ! -e there
        ifprobe --bashrc --hosts node1 --to $PWD/there >/dev/null; . ./there; echo "$NCCL_SOCKET_IFNAME"
        ifprobe --bashrc --hosts node1 --to $PWD/there --undo >/dev/null; test ! -e there'
    [[ $output == "# node0"*"+++ "*"# node1"*"+++ "*"=eth0" ]]
}

@test "a real ssh: two nodes answer, the third does not take our key" {
    [ "$(id -u)" = 0 ] || skip "needs root for sshd"
    command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "no sshd here"
    dir=$(mktemp -d /tmp/ifprobe.XXXXXX) # on a path that StrictModes accepts
    chmod 711 "$dir"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/id"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
    printf 'node0,node1,node2 %s\n' "$(cut -d' ' -f1,2 "$dir/host.pub")" >"$dir/known"
    : >"$dir/nobody"
    for key in id.pub nobody; do
        printf '%s\n' "HostKey $dir/host" "AuthorizedKeysFile $dir/$key" "StrictModes no" \
            "PermitRootLogin prohibit-password" "PasswordAuthentication no" "UsePAM no" "PidFile none" >"$dir/$key.conf"
    done
    run -1 --separate-stderr lab 3 '
        mkdir -p /run/sshd
        for n in 0 1; do on $n "/usr/sbin/sshd -f '"$dir"'/id.pub.conf"; done
        on 2 "/usr/sbin/sshd -f '"$dir"'/nobody.conf"
        rsh="ssh -F none -i '"$dir"'/id -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile='"$dir"'/known"
        ifprobe --suggest --hosts node0,node1 --rsh "$rsh -o GlobalKnownHostsFile=none"
        ifprobe --suggest --hosts "node[0-2]" --rsh "$rsh -o GlobalKnownHostsFile=none"'
    rm -r "$dir"
    [ "$output" = $'export NCCL_SOCKET_IFNAME=\'=eth0\'\nexport NCCL_SOCKET_IFNAME=\'=eth0\'' ]
    [[ $stderr == *"2 hosts reach each other"*"host.answer node2"*"does not accept our key"* ]]
}

@test "one node with both families among nodes with IPv6 alone: one family, right on all of them" {
    both='on 2 "ip addr add 10.77.0.3/16 dev eth0"; '
    run -0 --separate-stderr lab 3 --subnet fd00:77::/64 "$both"'ifprobe --suggest --hosts lab'
    [ "$output" = "export NCCL_SOCKET_IFNAME='=eth0'"$'\nexport NCCL_SOCKET_FAMILY=AF_INET6' ]
    [[ $stderr == *"3 hosts reach each other"* ]]
    # told the other one, too; and where nobody is told, nothing is said
    own_rsh 'exec $REAL_RSH node1 "NCCL_SOCKET_FAMILY=AF_INET $*"'
    run -0 --separate-stderr lab 3 --subnet fd00:77::/64 'on 1 "ip addr add 10.77.0.2/16 dev eth0"
        REAL_RSH=$WINDSOCK_RSH ifprobe --rsh ./rsh --suggest --hosts lab'
    [ "$output" = "export NCCL_SOCKET_IFNAME='=eth0'"$'\nexport NCCL_SOCKET_FAMILY=AF_INET6' ]
    run -0 --separate-stderr lab 3 --subnet 10.77.0.0/16 --subnet fd00:77::/64 'ifprobe --suggest --hosts lab'
    run ! grep SOCKET_FAMILY <<<"$output"
    # and one alone follows what it is told, where it has such an address
    run -0 --separate-stderr lab 1 --subnet 10.77.0.0/16 --subnet fd00:77::/64 '
        for f in AF_INET AF_INET6; do NCCL_SOCKET_FAMILY=$f ifprobe --suggest --json | jq -r .data.suggest.address; done'
    [ "$output" = $'10.77.0.1\nfd00:77::1' ]
}
