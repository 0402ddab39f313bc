#!/usr/bin/env bats
# A network that is well, and a node whose settings keep a job from starting on it: a
# name that leads elsewhere, an address that two have, variables that hosts disagree
# about, a host that gives no answer. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

mend() { # NODE
    follow "$1"
    healthy
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
    # as what user it is come there says nothing of its name
    run -1 --separate-stderr windsock --hosts root@node0,root@node1,root@node2 --quick --json
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.master root@node1 node0" ]
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

@test "--master: a name of none of these hosts; another name of one of them is as good as its own" {
    look --master node7
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.subject) \(.fix[0])"')" = "drift.master node7 getent hosts node7   # is it spelt right?" ]
    on all sh -c 'cp /etc/hosts '"$PWD"'/hosts.$(uname -n); echo "10.77.9.1 node7" >>/etc/hosts; echo "10.77.0.3 rank0" >>/etc/hosts'
    look --master node7
    [ "$code" = 0 ]
    [ "$(first '"\(.check) \(.message)"')" = "drift.master is none of these hosts: it leads to 10.77.9.1, and a job of theirs that meets there waits for ever, unless that is translated" ]
    look --master rank0
    on all sh -c 'cat '"$PWD"'/hosts.$(uname -n) >/etc/hosts'
    [ "$code" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    run -1 --separate-stderr windsock --hosts node0,node1,node9 --quick --json --master node9
    [ "$(jq -r '[.findings[] | select(.status == "fail").check] | unique | join(",")' <<<"$output")" = host.answer ]
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

@test "MASTER_ADDR=localhost in every shell: one address for all hosts, the first one's" {
    odd all 'export MASTER_ADDR=localhost'
    look
    [ "$code" = 0 ]
    [ "$(jq -r '[.findings[] | select(.check == "lint.torch.master_addr") | .expected] | unique | join(",")' <<<"$output")" = "10.77.0.1, or nothing" ]
    # the same on those that know of themselves that rank 0 is elsewhere
    odd all 'export MASTER_ADDR=localhost NODE_RANK=1'
    look --master localhost
    [ "$(jq -r '[.findings[] | select(.check == "lint.torch.master_addr") | .expected] | unique | join(",")' <<<"$output")" = "10.77.0.1, or nothing" ]
    [ "$(jq -r '.findings[] | select(.check == "drift.master").fix[0]' <<<"$output")" = "export MASTER_ADDR=10.77.0.1   # in the job, the same on every host" ]
    for given in 10.77.0.2 127.0.0.1; do # an address needs no name, and is one for all
        look --master $given
        [ "$(jq -r '[.findings[] | select(.check == "lint.torch.master_addr") | .expected] | unique | join(",")' <<<"$output")" = "${given/127.0.0.1/10.77.0.1}, or nothing" ]
    done
    odd 2 'export MASTER_ADDR=10.77.0.1:29500'
    look
    [ "$(jq -r '.findings[] | select(.check == "lint.torch.master_addr").expected' <<<"$output")" = "10.77.0.1, or nothing" ]
    # what is typed in one shell changes nothing of the next one: where it is set is what to look for
    on 2 sh -c "cd '$PWD'; printf 'export A=1\nexport MASTER_ADDR=10.77.0.1:29500\n' >.bashrc"
    [[ $(on 2 env HOME="$PWD" sh -c "$(jq -r '.findings[] | select(.check == "lint.torch.master_addr").fix[0]' <<<"$output")") == \
        "$PWD/.bashrc:2:export MASTER_ADDR=10.77.0.1:29500" ]]
}

@test "a rank of an old job in some shells, or one for all hosts: named; one for each is meant so" {
    odd 1 'export RANK=0 WORLD_SIZE=8'
    look
    [ "$code" = 0 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.message)"')" = "drift.rank node1 RANK=0 WORLD_SIZE=8 is set in every shell there: what is started without torchrun takes itself for that rank" ]
    on 1 sh -c "cd '$PWD'; printf 'export A=1\nexport RANK=0 WORLD_SIZE=8\n' >.bashrc"
    [[ $(on 1 env HOME="$PWD" sh -c "$(first '.fix[0]')") == "$PWD/.bashrc:2:export RANK=0 WORLD_SIZE=8" ]]
    odd all 'export RANK=0'
    look
    [ "$(jq '[.findings[] | select(.check == "drift.rank")] | length' <<<"$output")" = 4 ]
    odd 0 'export RANK=0 WORLD_SIZE=4 KUBERNETES_SERVICE_HOST=10.0.0.1' # the pod that all begins in
    look
    [ "$(jq '[.findings[] | select(.check == "drift.rank")] | length' <<<"$output")" = 0 ]
    odd all 'export WORLD_SIZE=4 RANK=${host#node}'
    look
    [ "$(jq -r '[.nodes[].data.facts.rank] | join(",")' <<<"$output")" = 0,1,2,3 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
}

@test "one address on two hosts: which of them to take it from, whatever else it breaks" {
    on 3 ip address add 10.77.0.3/16 dev eth0
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.address node3 10.77.0.3" ]
    [ "$(first '.fix[0]')" = "sudo ip address del 10.77.0.3/16 dev eth0   # on node3" ]
    [[ $(first '.fix[1]') == "windsock on "*" 'node[0-3]' 'sudo ip neigh flush to 10.77.0.3'   # from here, then"* ]]
    for node in 0 1 3; do on $node ip neigh flush to 10.77.0.3; done
    on 3 ip address del 10.77.0.3/16 dev eth0
    for node in 0 1 3; do on $node ip neigh flush to 10.77.0.3; done
    look
    [ "$code" = 0 ]
}

@test "a copy of a machine has its address: another one first, then away with that" {
    on 3 sh -c 'ip address del 10.77.0.4/16 dev eth0; ip address add 10.77.0.3/16 dev eth0; ip route replace default via 10.77.255.254'
    on all ip neigh flush to 10.77.0.3
    look
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.address node3 10.77.0.3" ]
    [[ $(first '.fix[0]') == *"sudo ip address add 10.77.0.4/16 dev eth0 && sudo ip address del 10.77.0.3/16 dev eth0   # on node3" ]]
    follow 3
    [[ $(on 3 ip route) == "default via 10.77.255.254 "* ]]
    follow 0 1 # on all of them, from there
    healthy
}

@test "virtual machines that are one address to all: nobody is told to take it away" {
    on all sh -c 'ip address flush dev eth0; ip address add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2'
    look
    own=$(on all ip -4 -br address show dev eth0)
    for node in 0 1 2 3; do
        on $node sh -c "ip address flush dev eth0; ip address add 10.77.0.$((node + 1))/16 dev eth0; ip route add default via 10.77.255.254"
    done
    [ "$(grep -c 10.0.2.15 <<<"$own")" = 4 ]
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.subject)"')" = "drift.address 10.0.2.15" ]
    [[ $(first .message) == *"translated network (NAT)"* ]]
    run ! jq -e '.findings[] | select(.check == "drift.address").fix[] | select(test("address del|dhclient"))' <<<"$output"
    healthy
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

@test "a clock that is wrong on one host: who, by how much, and what sets it" {
    "${CC:-cc}" -shared -fPIC -o clock.so "$ROOT/tests/fake/libclock.c"
    mkdir bin
    # as chrony's: the clock steps to where its servers have it
    printf '#!/bin/sh\n[ "$1" = makestep ] && echo 0 >"%s/off"\n' "$PWD" >bin/chronyc
    chmod +x bin/chronyc
    odd 2 "export LD_PRELOAD=$PWD/clock.so WINDSOCK_FAKE_CLOCK=$PWD/off PATH=$PWD/bin:$PATH"
    for shift in -250 86400; do
        echo $shift >off
        look
        [ "$code" = 0 ] # what it trains is no less right
        [ "$(jq '.data.causes | length' <<<"$output")" = 1 ]
        [ "$(first '"\(.check) \(.hosts[0])"')" = "drift.clock node2" ]
        case $shift in
        -250) [[ $(first .message) == "is "[12][0-9][0-9]" s behind this host's: logs of several hosts do not line up" ]] ;;
        *) [[ $(first .message) == "is 86"[0-9]*" s ahead of this host's: "*"munge"* ]] ;;
        esac
        on 2 env "PATH=$PWD/bin:$PATH" sh -c "sudo() { \"\$@\"; }; $(first '.fix[0]')"
        healthy
    done
}

@test "a clock that is wrong here: this host is named, not all the others" {
    "${CC:-cc}" -shared -fPIC -o clock.so "$ROOT/tests/fake/libclock.c"
    echo 7000 >off
    odd 0 "export LD_PRELOAD=$PWD/clock.so WINDSOCK_FAKE_CLOCK=$PWD/off"
    run -0 --separate-stderr on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" LD_PRELOAD="$PWD/clock.so" \
        WINDSOCK_FAKE_CLOCK="$PWD/off" "$BIN/windsock" --hosts node0,node1,node2,node3 --json
    valid
    [ "$(jq -c '[.data.causes[] | .check]' <<<"$output")" = '["drift.clock"]' ]
    [[ $(first .message) == "is "[67][0-9][0-9][0-9]" s ahead of most other hosts'"* ]]
}

@test "hosts that were started at other times: a monotonic clock is nobody's but its host's" {
    printf '#!/bin/sh\nhost=$1\nshift\n[ "$host" != node1 ] || exec "%s" on "%s" node1 -- unshare -T --monotonic 1000000 --boottime 1000000 -- sh -c "$*"\nexec "%s" rsh "%s" "$host" "$@"\n' \
        "$ROOT/scripts/lab" "$LAB_NAME" "$ROOT/scripts/lab" "$LAB_NAME" >rsh
    chmod +x rsh
    WINDSOCK_RSH=$PWD/rsh
    (($("$PWD/rsh" node1 cat /proc/uptime | cut -d. -f1) > 1000000)) || skip "no time namespaces here"
    run -0 --separate-stderr windsock --hosts lab --json
    [ "$(jq '[.findings[] | select(.status == "fail" or .status == "error")] | length' <<<"$output")" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
}

@test "other code or data on one host: which file, and the line that brings the right one" {
    on all sh -c "mkdir -p '$PWD/own' && mount -t tmpfs tmpfs '$PWD/own' && mkdir -p '$PWD/own/my code/__pycache__' &&
        echo train >'$PWD/own/my code/train.py' && uname -n >'$PWD/own/my code/__pycache__/train.pyc'; echo 1 >'$PWD/own/data.bin'"
    same=(--same "$PWD/own/my code" --same "$PWD/own/data.bin")
    look "${same[@]}"
    [ "$code" = 0 ] # what Python compiled is no difference
    on 2 sh -c "echo 'train ' >'$PWD/own/my code/train.py'; echo more >'$PWD/own/my code/old.py'"
    look "${same[@]}"
    [ "$(first '"\(.check) \(.hosts[0])"')" = "drift.same node2" ]
    [[ $(first .message) == *"on 3 of 4 hosts: old.py is here alone" ]]
    if command -v rsync >/dev/null; then
        follow 2
    else
        on 2 rm "$PWD/own/my code/old.py"
        on 2 sh -c "echo train >'$PWD/own/my code/train.py'"
    fi
    look "${same[@]}"
    [ "$code" = 0 ]
    on 3 sh -c "echo 2 >'$PWD/own/data.bin'"
    look "${same[@]}"
    [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "drift.same node3 $PWD/own/data.bin" ]
    [[ $(first '.fix[0]') == "rsync -aLc -e '$ROOT/scripts/lab rsh $LAB_NAME' node0:"*"/own/data.bin "* ]]
    ! command -v rsync >/dev/null || { follow 3 && look "${same[@]}" && [ "$code" = 0 ]; }
    on all umount "$PWD/own"
}

@test "code that one host alone has is not what is wrong there, and what none has is no match" {
    on all sh -c "mkdir -p '$PWD/own' && mount -t tmpfs tmpfs '$PWD/own'"
    on 1 sh -c "echo 1 >'$PWD/own/data.bin'"
    look --same "$PWD/own/data.bin"
    [ "$code" = 1 ]
    [ "$(jq -c '[.findings[] | select(.check == "drift.same").host]' <<<"$output")" = '["node0","node2","node3"]' ]
    [[ $(first '.fix[0]') == *" node1:"*/own/data.bin* ]]
    on 1 rm "$PWD/own/data.bin"
    look --same "$PWD/own/data.bin"
    on all umount "$PWD/own"
    [ "$code" = 1 ]
    [ "$(first '"\(.check) \(.message)"')" = "drift.same missing on node[0-3]" ]
}

@test "temporary files without a place: the line names a folder that can be written there" {
    on 1 mount -t tmpfs -o ro none /var/tmp
    odd 1 "export TMPDIR=/var/tmp/none"
    look
    fix=$(jq -r '.findings[] | select(.check == "limits.writable" and .status == "warn").fix[0]' <<<"$output")
    on 1 umount /var/tmp
    [ "$fix" = "export TMPDIR=/tmp" ]
}

@test "NCCL_SOCKET_IFNAME of every shell on one host names nothing: its own advice, typed there, mends the next run" {
    mkdir home
    printf 'export NCCL_SOCKET_IFNAME=nosuch0\n' >home/.bashrc
    odd 2 "export HOME=$PWD/home; . $PWD/home/.bashrc"
    look
    [ "$(first '"\(.check) \(.hosts[0])"')" = "lint.ifname.nomatch node2" ]
    [[ $(first '.fix[0]') == "ifprobe --bashrc --peer 10.77.0.1 --peer 10.77.0.2   # on node2" ]]
    on 2 env HOME="$PWD/home" PATH="$BIN:$PATH" sh -c "$(first '.fix[0]')" >&2
    PATH=$BIN:$PATH healthy
}

@test "a setting of the shell that it is typed in ends NCCL there, and no login has it" {
    run --separate-stderr on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" NCCL_SOCKET_IFNAME=nosuch0 "$BIN/windsock" --hosts node0,node1 --json
    [ "$status" = 1 ]
    [[ $(first '"\(.check) \(.message)"') == "lint.ifname.nomatch of this shell: is [nosuch0], which leaves no running interface "* ]]
    [ "$(first '.fix[0]')" = 'eval "$(ifprobe --suggest --peer 10.77.0.1 --peer 10.77.0.2)"' ]
    # the hosts are well, and what a login there runs is tested to its end
    [ "$(jq -c '[.data.exclude, .data.failing_nodes, .data.passing_nodes]' <<<"$output")" = '[null,[],["node0","node1"]]' ]
    [ "$(jq -r '.data.stages[] | select(.name == "training").status' <<<"$output")" = pass ]
    # where nobody else has answered, what is typed is for this shell all the same
    run --separate-stderr on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" NCCL_SOCKET_IFNAME=nosuch0 "$BIN/windsock" --hosts node0 --quick --json
    [ "$(first '"\(.check) \(.fix[0])"')" = 'lint.ifname.nomatch eval "$(ifprobe --suggest)"' ]
}
