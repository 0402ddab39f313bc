#!/usr/bin/env bats
# A node whose control group leaves it little, with real groups of the kernel (v1 or v2):
# it is named, with what is short, and what to type. Needs root, jq, control groups that
# can be made.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load ../wait.sh
load windsock.sh

# What is typed on node1 from now on has so much.
group() { # CONTROLLER V1-FILE V1-VALUE V2-FILE V2-VALUE
    local top=/sys/fs/cgroup
    if [ -e $top/cgroup.controllers ]; then
        set -- "$1" "$4" "$5"
        grep -qw "$1" $top/cgroup.subtree_control || skip "no control group of $1 can be made here"
    else
        top=$top/$1
    fi
    AT=$top/windsock-test.$$
    mkdir "$AT" 2>/dev/null || skip "no control group can be made here"
    echo "$3" >"$AT/$2"
    printf '#!/bin/sh\n[ "$1" != node1 ] || echo $$ >"%s/cgroup.procs"\nexec "%s" rsh "%s" "$@"\n' \
        "$AT" "$ROOT/scripts/lab" "$LAB_NAME" >rsh
    chmod +x rsh
    WINDSOCK_RSH=$PWD/rsh
}

teardown() {
    [ -z "${AT:-}" ] || [ ! -d "$AT" ] || wait_for 10 rmdir "$AT"
}

of_node1() { # CHECK JQ
    jq -r ".findings[] | select(.check == \"$1\" and .host == \"node1\") | $2" <<<"$output"
}

@test "a fifth of one processor: a warning there, whatever this machine has" {
    group cpu cpu.cfs_quota_us 20000 cpu.max '20000 100000'
    look
    [ "$code" = 0 ]
    [[ $(of_node1 limits.cpus .message) == "a control group allows the time of 0.2 of "*": ranks and data workers are stopped most of the time" ]]
    [ "$(of_node1 limits.cpus .status)" = warn ]
    [ "$(first '.hosts | join(",")')" = node1 ]
}

@test "a few processes: it is the group that must allow more, not ulimit" {
    group pids pids.max 200 pids.max 200
    look
    [ "$code" = 0 ]
    [ "$(of_node1 limits.tasks .message)" = "may be 200 at once: ranks and data workers start more" ]
    [[ $(of_node1 limits.tasks '.fix[0]') == *"--pids-limit=-1"*"TasksMax"* ]]
    odd 1 'prlimit --pid \$\$ --nproc=200'
    look
    [ "$(of_node1 limits.tasks '.fix[0]')" = "ulimit -u unlimited" ]
}

@test "a rank that the kernel killed for want of memory: that, and what its group allows, is the cause" {
    group memory memory.limit_in_bytes 60M memory.max 60M
    run --separate-stderr on 0 "$BIN/ddpsmoke" --hosts node0,node1 --rsh "$WINDSOCK_RSH" --model resnet18 --steps 2 --json
    [ "$status" = 1 ]
    valid
    [[ $(jq -r '[.findings[] | select(.status == "fail")][0].message' <<<"$output") == *"rank 1 (node1, "*") died: killed by signal 9 (SIGKILL), out of memory: its control group allows 60 MiB"* ]]
}
