#!/usr/bin/env bats
# The lab itself: what it promises to everyone who tests in it.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup_file() {
    export LAB=$ROOT/scripts/lab
}

setup() {
    "$LAB" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    NAME=
}

teardown() {
    [[ -z $NAME ]] || "$LAB" down "$NAME"
}

# A zombie is gone too: its parent only has not looked yet.
gone() { # PID
    ! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status" 2>/dev/null
}

as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

@test "a node has its own name, hosts file, interfaces, and the machine's cgroups" {
    run -0 --separate-stderr "$LAB" run 3 --node 1 -- sh -c \
        'uname -n; getent hosts node2; ls /sys/class/net; test -d /sys/fs/cgroup; ls /sys/fs/cgroup | wc -l'
    [ "${lines[0]}" = node1 ]
    [[ ${lines[1]} =~ ^10\.77\.0\.3\ +node2$ ]]
    [ "${lines[2]}" = eth0 ]
    [ "${lines[3]}" = lo ]
    [ "${lines[4]}" = "$(find /sys/fs/cgroup -mindepth 1 -maxdepth 1 | wc -l)" ]
    [ -z "$stderr" ]
}

@test "a node's changes to /etc/hosts are its own" {
    run -0 "$LAB" run 2 -- sh -c \
        'echo 10.9.9.9 mine >>/etc/hosts; $WINDSOCK_RSH node1 "! getent hosts mine"'
    run -1 grep -q mine /etc/hosts
}

@test "the command's exit code, stdin, stdout and stderr are passed on" {
    run -42 --separate-stderr "$LAB" run 2 -- sh -c 'cat; echo oops >&2; exit 42' <<<hello
    [ "$output" = hello ]
    [ "$stderr" = oops ]
    run -127 "$LAB" run 2 -- no-such-program
    run -143 "$LAB" run 2 -- sh -c 'kill -TERM $$'
}

@test "nodes reach each other, nothing else, and that is answered at once" {
    run -1 "$LAB" run 2 -- bash -c 'echo >/dev/tcp/node1/9'
    [[ $output == *refused* ]]
    run -1 timeout 5 "$LAB" run 2 -- bash -c 'echo >/dev/tcp/192.0.2.1/9'
    [[ $output == *unreachable* ]]
}

@test "this machine's own network, names and mounts stay as they are" {
    before=$(ip -o link; ip -o addr; uname -n; cat /etc/hosts; grep -c . /proc/self/mountinfo)
    "$LAB" run 4 --rate 1gbit -- true
    after=$(ip -o link; ip -o addr; uname -n; cat /etc/hosts; grep -c . /proc/self/mountinfo)
    [ "$before" = "$after" ]
}

@test "--subnet: other addresses, IPv6, both" {
    run -0 "$LAB" run 2 --subnet 192.168.5.64/28 -- ip -o -4 addr show dev eth0
    [[ $output == *192.168.5.65/28* ]]
    run -1 "$LAB" run 2 --subnet fd00:77::/64 -- bash -c 'echo >/dev/tcp/node1/9'
    [[ $output == *refused* ]]
    run -0 "$LAB" run 2 --subnet fd00:77::/64 --subnet 10.1.0.0/24 -- getent ahosts node1
    [[ $output == *fd00:77::2* && $output == *10.1.0.2* ]]
}

@test "--mtu for all and for one" {
    run -0 "$LAB" run 3 --mtu 9001 --mtu node1=1400 --all -- cat /sys/class/net/eth0/mtu
    [ "$(sort <<<"$output")" = $'node0: 9001\nnode1: 1400\nnode2: 9001' ]
}

@test "--rails: several cards per node, each on a network of its own, with settings of its own" {
    run -0 "$LAB" run 3 --rails 3 --mtu 1:eth2=1400 --loss node1:eth1=100 -- sh -c '
        ip -br -4 addr | grep -o "eth[0-9]@.*" | sed "s/@[^ ]*//"
        ping -q -c 1 -W 1 10.78.0.2 >/dev/null || echo lost; ping -q -c 1 -W 1 10.79.0.2 >/dev/null && echo back
        ping -q -c 1 -W 1 node1 >/dev/null && echo eth0
        $WINDSOCK_RSH node1 "cat /sys/class/net/eth*/mtu"'
    echo "$output"
    [[ ${lines[0]} =~ ^eth0\ .*10.77.0.1/16 && ${lines[1]} =~ ^eth1\ .*10.78.0.1/16 && ${lines[2]} =~ ^eth2\ .*10.79.0.1/16 ]]
    [[ ${lines[*]:3} == "lost back eth0 1500 1500 1400" ]]
    run -2 "$LAB" run 2 --rate 1:eth1=1gbit -- true
    [[ $output == *"there is no eth1: --rails 2 would make one"* ]]
    run -2 "$LAB" run 2 --rails 9 -- true
    run -2 "$LAB" run 2 --rails 2 --subnet fd00:77::/64 -- true
}

@test "--rate limits what goes through, each way" {
    for from in 0 1; do
        run -0 "$LAB" run 2 --rate 80mbit --node "$from" -- python3 "$ROOT/tests/lab/throughput.py" \
            "node$((1 - from))" 3000000
        echo "measured $output Mbit/s"
        ((${output%.*} >= 30 && ${output%.*} <= 100))
    done
}

@test "--leaves, --uplink: what crosses from one switch to another shares a limit, what stays does not" {
    run -0 "$LAB" run 5 --leaves 2 --uplink 80mbit -- sh -c "
        python3 $ROOT/tests/lab/throughput.py node2 3000000; python3 $ROOT/tests/lab/throughput.py node3 3000000
        \$WINDSOCK_RSH node4 'ping -q -c 1 node0'"
    echo "measured $output"
    ((${lines[0]%.*} > 200)) # node0 to node2 are on the first one
    ((${lines[1]%.*} >= 30 && ${lines[1]%.*} <= 100))
    run -0 "$LAB" run 4 --leaves 4 --rails 2 --mtu 9000 --uplink 80mbit -- sh -c "
        ping -q -M do -s 8000 -c 1 node3 && ping -q -c 1 10.78.0.2 && python3 $ROOT/tests/lab/throughput.py node1 3000000"
    ((${lines[-1]%.*} >= 30 && ${lines[-1]%.*} <= 100))
    run -2 "$LAB" run 2 --leaves 3 -- true
    [[ $output == *"2 nodes are too few for 3 leaves"* ]]
    run -2 "$LAB" run 2 --uplink 1gbit -- true
    [[ $output == *"--uplink is of leaves: --leaves 2 makes them"* ]]
}

@test "--loss loses about that part, and only where it was asked for" {
    run "$LAB" run 2 --loss node1=20 -- ping -q -i 0.002 -c 1000 -W 1 node1
    [[ $output =~ ([0-9.]+)%\ packet\ loss ]]
    echo "lost ${BASH_REMATCH[1]}%"
    ((${BASH_REMATCH[1]%.*} >= 13 && ${BASH_REMATCH[1]%.*} <= 27))
    run -0 "$LAB" run 3 --loss node1=20 -- ping -q -i 0.002 -c 200 -W 1 node2
    [[ $output == *" 0% packet loss"* ]]
}

@test "--loss loses single packets, whatever the kernel hands over together" {
    echo 'table inet t { chain c { type filter hook prerouting priority -400; iif != lo meta length > 1500 counter; }; }' >"$BATS_TEST_TMPDIR/count"
    local seen
    for seen in "" "--loss node1=1"; do
        # shellcheck disable=SC2086,SC2016
        run -0 --separate-stderr "$LAB" run 2 --firewall "1=$BATS_TEST_TMPDIR/count" $seen -- sh -c '
            "$0" --hosts lab >&2; $WINDSOCK_RSH node1 nft list table inet t' "$BIN/portcheck"
        [[ $seen && $output == *"counter packets 0 "* || ! $seen && $output != *"counter packets 0 "* ]]
    done
}

@test "--firewall is loaded on the node it is for" {
    cat >"$BATS_TEST_TMPDIR/sg" <<'NFT'
table inet sg {
    chain in {
        type filter hook input priority 0; policy drop;
        tcp dport 29500 reject with icmpx admin-prohibited
    }
}
NFT
    run -1 "$LAB" run 3 --firewall node1="$BATS_TEST_TMPDIR/sg" -- bash -c 'echo >/dev/tcp/node1/29500'
    [[ $output == *"No route to host"* ]]
    run -1 "$LAB" run 3 --firewall node1="$BATS_TEST_TMPDIR/sg" -- bash -c 'echo >/dev/tcp/node2/29500'
    [[ $output == *refused* ]]
    echo nonsense >"$BATS_TEST_TMPDIR/bad"
    run -3 --separate-stderr "$LAB" run 2 --firewall "$BATS_TEST_TMPDIR/bad" -- echo started
    [ -z "$output" ]
    [[ $stderr == *"did not come up"* ]]
}

@test "--all: a line says where it is from; the first failure is the exit code" {
    run -5 --separate-stderr "$LAB" run 3 --all -- \
        sh -c 'uname -n; echo to-stderr >&2; test $(uname -n) != node1 || exit 5'
    [ "$(sort <<<"$output")" = $'node0: node0\nnode1: node1\nnode2: node2' ]
    [ "$(sort <<<"$stderr")" = $'node0: to-stderr\nnode1: to-stderr\nnode2: to-stderr' ]
}

@test "WINDSOCK_HOSTS and WINDSOCK_RSH: as ssh would do it, from inside and outside" {
    run -0 "$LAB" run 3 -- sh -c 'echo $WINDSOCK_HOSTS'
    [ "$output" = node0,node1,node2 ]
    run -7 --separate-stderr "$LAB" run 3 -- sh -c \
        'echo text | FOO=bar $WINDSOCK_RSH -o BatchMode=yes -p 22 me@node2 -- "uname -n;" cat "; echo \"[\$FOO]\"; exit 7"'
    [ "$output" = $'node2\ntext\n[]' ]
    run -255 "$LAB" run 2 -- sh -c '$WINDSOCK_RSH node7 true'
    [[ $output == *"could not resolve hostname node7"* ]]
    NAME=$("$LAB" up 2)
    run -9 "$LAB" rsh "$NAME" -l root -oConnectTimeout=3 10.77.0.2 'uname -n; exit' 9
    [ "$output" = node1 ]
    run -0 "$LAB" on "$NAME" node1 -- sh -c '$WINDSOCK_RSH node0 uname -n'
    [ "$output" = node0 ]
}

@test "WINDSOCK_RSH works from a folder with a blank in its name" {
    mkdir "$BATS_TEST_TMPDIR/a b"
    cp -r "$ROOT/scripts/lab" "$ROOT/scripts/lab.d" "$BATS_TEST_TMPDIR/a b/"
    LAB="$BATS_TEST_TMPDIR/a b/lab"
    run -0 --separate-stderr "$LAB" run 2 -- sh -c '$WINDSOCK_RSH node1 "uname -n"; '"'$BIN/ifprobe' --suggest --hosts lab --quiet"
    [ "$output" = $'node1\nexport NCCL_SOCKET_IFNAME='"'=eth0'" ]
    NAME=$("$LAB" up 2)
    run -0 --separate-stderr "$LAB" on "$NAME" 1 -- sh -c '$WINDSOCK_RSH node0 uname -n'
    [ "$output" = node0 ]
    run -0 --separate-stderr "$ROOT/scripts/lab" on "$NAME" 1 -- sh -c '$WINDSOCK_RSH node0 uname -n' # another one's
    [ "$output" = node0 ]
}

@test "without a command: on a terminal a shell on that node, elsewhere the question" {
    cd "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\nuname -n; tty\n' >shell
    chmod +x shell
    run -0 script -qec "SHELL=$PWD/shell '$LAB' run 2 --node 1" /dev/null </dev/null
    [[ $output == *node1*/dev/pts/* ]]
    run -2 script -qec "'$LAB' run 2 --all" /dev/null </dev/null
    [[ $output == *"what to run?"* ]]
    run -2 --separate-stderr "$LAB" run 2 </dev/null
    [[ $stderr == *"what to run?"* ]]
}

@test "up, list, on, down" {
    NAME=$("$LAB" up 3)
    [[ $("$LAB" list) == *"$NAME"$'\t'"3 nodes"* ]]
    "$LAB" on "$NAME" node2 -- ip link add extra type bridge
    run -0 "$LAB" on "$NAME" 2 -- ls /sys/class/net
    [[ $output == *extra* ]]
    run -4 "$LAB" on "$NAME" all -- sh -c 'exit 4'
    cd /tmp
    run -0 "$LAB" on "$NAME" node0 pwd
    [ "$output" = /tmp ]
    "$LAB" down "$NAME"
    gone "${NAME#lab}"
    run -2 "$LAB" on "$NAME" node0 -- true
    NAME=
}

@test "down ends what runs in the lab, and only that" {
    NAME=$("$LAB" up 2)
    sleep 100 &
    mine=$!
    "$LAB" on "$NAME" node1 -- sh -c 'setsid sleep 100 >/dev/null 2>&1 & echo up'
    "$LAB" on "$NAME" node0 -- sleep 100 &
    inside=$!
    "$LAB" down "$NAME"
    NAME=
    run wait_for 15 gone "$inside"
    [ "$status" -eq 0 ]
    kill -0 "$mine"
    kill "$mine"
}

@test "TERM, HUP and kill -9 leave nothing" {
    for signal in TERM HUP KILL; do
        file=$BATS_TEST_TMPDIR/$signal
        "$LAB" run 3 -- sh -c 'setsid sleep 100 & echo $WINDSOCK_RSH >"$1"; sleep 100' lab "$file" 3>&- &
        pid=$!
        wait_for 10 test -s "$file"
        keeper=$(sed 's/.*rsh lab//' "$file")
        kill -0 "$keeper"
        kill -"$signal" "$pid"
        wait_for 15 gone "$keeper"
        [[ $("$LAB" list) != *"lab$keeper"* ]]
    done
}

@test "Ctrl-C is the command's: its exit code comes back, then nothing is left" {
    run -0 python3 "$ROOT/tests/lab/ctrl_c.py" 1 "$LAB" run 2 -- \
        sh -c 'trap "echo finished; exit 3" INT; echo $WINDSOCK_RSH; echo ready; while :; do sleep 0.05; done'
    [[ $output == *finished*"exit 3"* ]]
    [[ $output =~ rsh\ lab([0-9]+) ]]
    gone "${BASH_REMATCH[1]}"
    run -0 python3 "$ROOT/tests/lab/ctrl_c.py" 2 "$LAB" run 2 --all -- \
        sh -c 'trap "echo finished; exit 3" INT; echo ready; while :; do sleep 0.05; done'
    [[ $output == *finished*"exit 3"* ]]
    run -0 python3 "$ROOT/tests/lab/ctrl_c.py" 1 "$LAB" run 2 -- sh -c 'echo ready; exec sleep 100'
    [[ $output == *"signal 2"* ]]
}

# A parent that is not run for a while after it forked, as on a busy machine: its child is ready
# before it waits.
slow_forks() { # FILE
    ${CC:-cc} -shared -fPIC -x c -o "$1" - <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork"), pid = real();
    struct timespec left = {.tv_nsec = 150000000};
    while (pid > 0 && nanosleep(&left, &left))
        ;
    return pid;
}
C
}

@test "Ctrl-C is the command's, also before anybody has begun to wait for it" {
    command -v "${CC:-cc}" >/dev/null || skip "no compiler"
    slow_forks "$BATS_TEST_TMPDIR/slow.so"
    typed() { # READY LAB-ARGUMENTS...
        run -0 env LD_PRELOAD="$BATS_TEST_TMPDIR/slow.so" python3 "$ROOT/tests/lab/ctrl_c.py" "$1" "$LAB" "${@:2}" -- \
            sh -c 'trap "echo finished; exit 3" INT; echo ready; while :; do sleep 0.05; done'
        [[ $output == *finished*"exit 3"* ]]
    }
    NAME=$("$LAB" up 2)
    typed 1 on "$NAME" node1
    typed 2 on "$NAME" all
    typed 1 run 1
}

@test "two labs at once do not meet" {
    NAME=$("$LAB" up 2)
    "$LAB" on "$NAME" node0 -- ip link add only-there type bridge
    run -0 "$LAB" run 2 -- ls /sys/class/net
    [[ $output != *only-there* ]]
    run -255 "$LAB" run 2 -- "$LAB" rsh lab99999999 node0 true
}

@test "128 nodes are up in seconds and gone in less" {
    start=$(date +%s%N)
    NAME=$("$LAB" up 128)
    up=$((($(date +%s%N) - start) / 1000000))
    run -1 "$LAB" on "$NAME" node0 -- bash -c 'echo >/dev/tcp/node127/9'
    [[ $output == *refused* ]]
    start=$(date +%s%N)
    "$LAB" down "$NAME"
    NAME=
    down=$((($(date +%s%N) - start) / 1000000))
    echo "up in $up ms, down in $down ms"
    ((up < 40000 && down < 20000)) # a machine that has nothing else to do needs a tenth
}

@test "without root it lives in a user namespace" {
    [[ $EUID == 0 ]] || skip "needs root to become somebody else"
    as_nobody unshare -Urn true || skip "user namespaces are switched off"
    [[ -r $LAB ]] && as_nobody test -r "$LAB" || skip "the project is not readable for others"
    run -6 --separate-stderr as_nobody "$LAB" run 2 --rate 100mbit --loss 1 --node 1 -- sh -c \
        'uname -n; ls /sys/class/net; $WINDSOCK_RSH node0 uname -n; exit 6'
    [ "$output" = $'node1\neth0\nlo\nnode0' ]
    [ -z "$stderr" ]
    name=$(as_nobody "$LAB" up 2)
    run -0 as_nobody "$LAB" on "$name" node1 uname -n
    [ "$output" = node1 ]
    as_nobody "$LAB" down "$name"
    gone "${name#lab}"
}

@test "a wrong command line: exit 2, one line, nothing on stdout" {
    for args in '' foo run 'run 2' 'run x -- a' 'run 0 -- a' 'run 2 --fo -- a' 'run 2 --mtu' 'run 2 --mtu 5 -- a' \
        'run 2 --node 2 -- a' 'run 2 --mtu node9=1500 -- a' 'run 300 --subnet 10.0.0.0/24 -- a' \
        'run 2 --subnet 10.0.0.300/24 -- a' 'run 2 --rate fast -- a' 'run 2 --loss 101 -- a' \
        'run 2 --firewall /nonexistent -- a' on 'on lab1 0 -- a' down 'run 2 echo' 'up 2 -- a' 'list x'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$LAB" $args
        [ -z "$output" ]
        [ "$(wc -l <<<"$stderr")" = 1 ]
    done
    run -0 --separate-stderr "$LAB" --help
    [[ -z $stderr && $output == *Examples* ]]
}

@test "a large lab asks nobody by ARP: the kernel's table is too small for its mesh" {
    run -0 "$LAB" run 30 -- sh -c 'ip neigh show nud permanent | wc -l; ping -c 1 -W 5 node29 >/dev/null && echo reached'
    [ "$output" = $'30\nreached' ]
    run -0 "$LAB" run 3 -- ip neigh show nud permanent
    [ -z "$output" ]
}
