#!/usr/bin/env bats
# ifprobe --write: lines that somebody added to a file of ours stay, and what a Slurm job has set.
bats_require_minimum_version 1.5.0
load ifprobe.sh

setup_file() { :; }

usable_here() { [ -n "$(ifprobe --name-only 2>/dev/null)" ] || skip "no usable interface here"; }

@test "docker: lines that were added stay where they are, written again and undone" {
    usable_here
    ifprobe --write docker --to vars >/dev/null
    cp vars before
    sed -i '1i A=1' vars
    echo HF_TOKEN=secret >>vars
    sed -i 's/^NCCL_SOCKET_IFNAME=.*/NCCL_SOCKET_IFNAME=another/' vars
    run -0 --separate-stderr ifprobe --write docker --to vars
    cmp vars <(echo A=1; cat before; echo HF_TOKEN=secret)
    run -0 --separate-stderr ifprobe --write docker --undo --to vars
    [ "$(cat vars)" = $'A=1\nHF_TOKEN=secret' ]
    printf 'HF_TOKEN=secret' >vars # and in a file of theirs
    run -0 --separate-stderr ifprobe --write docker --to vars
    grep -qFx HF_TOKEN=secret vars
    run -0 --separate-stderr ifprobe --write docker --undo --to vars
    cmp vars <(printf 'HF_TOKEN=secret')
}

@test "slurm-taskprolog: lines that were added stay, and run; another one's script is refused" {
    usable_here
    local how
    for how in "" --fixed; do
        ifprobe --write slurm-taskprolog $how --to prolog >/dev/null
        sed -i '1a echo export A=1' prolog
        printf 'echo export B=2\nexit 0\n' >>prolog
        cp prolog before
        run -0 --separate-stderr ifprobe --write slurm-taskprolog $how --to prolog
        [[ $output == *"is already as it should be"* ]]
        cmp prolog before
        run -0 --separate-stderr ./prolog
        [[ ${lines[0]} == "export A=1" && $output == *"export NCCL_SOCKET_IFNAME="*"export B=2" ]]
        run -0 --separate-stderr ifprobe --write slurm-taskprolog --undo --to prolog
        [ "$(cat prolog)" = $'#!/bin/sh\necho export A=1\necho export B=2\nexit 0' ]
        run -3 --separate-stderr ifprobe --write slurm-taskprolog $how --to prolog
        [[ $stderr == *"is there already and was not made by ifprobe"* ]]
        rm prolog
    done
}

@test "slurm-taskprolog: what the job has set itself stays, with no end of an ifprobe that hangs" {
    usable_here
    local how
    for how in "" --fixed; do
        ifprobe --write slurm-taskprolog $how --to prolog >/dev/null
        run -0 --separate-stderr env NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME= ./prolog
        [[ $output == "export TP_SOCKET_IFNAME="* && $output != *NCCL_SOCKET* && $output != *GLOO* ]]
        rm prolog
    done
    ifprobe --write slurm-taskprolog --to prolog >/dev/null
    grep -q 'timeout -k 1 [0-9]* ifprobe' prolog
    mkdir none
    run -0 --separate-stderr env PATH="$PWD/none" /bin/sh prolog # without ifprobe
    [[ -z $stderr ]]
}

@test "slurm-taskprolog: Slurm wants a whole path, and is told the real one" {
    usable_here
    mkdir real
    ln -s real link
    run -0 --separate-stderr ifprobe --write slurm-taskprolog --fixed --to link/tp
    [[ $output == *"add TaskProlog=$(realpath real)/tp to slurm.conf"* ]]
}

@test "k8s: a file with lines that are not ours is neither written over nor removed" {
    usable_here
    ifprobe --write k8s --to map.yaml >/dev/null
    cp map.yaml before
    sed -i "s/^  NCCL_SOCKET_IFNAME: .*/  NCCL_SOCKET_IFNAME: '=it''s'/" map.yaml # of another host
    run -0 --separate-stderr ifprobe --write k8s --to map.yaml
    cmp map.yaml before
    for change in "\$a\\  HF_TOKEN: 'secret'" '/^  name/a\  namespace: training' '$a# mine' '$a---' 's/windsock-nccl/mine/'; do
        sed "$change" before >map.yaml
        cp map.yaml changed
        for undo in "" --undo; do
            run -3 --separate-stderr ifprobe --write k8s $undo --to map.yaml
            [[ $stderr == *"map.yaml was made by ifprobe, and has other lines, too"* ]]
            cmp map.yaml changed
        done
    done
    cp before map.yaml
    run -0 --separate-stderr ifprobe --write k8s --undo --to map.yaml
    [ ! -e map.yaml ]
}

@test "write: what an earlier ifprobe made as a whole, unmarked, is not guessed at" {
    usable_here
    printf '#!/bin/sh\n# This file was made by ifprobe.\nifprobe --suggest=slurm\nexit 0\n' >prolog
    cp prolog before
    for undo in "" --undo; do
        run -3 --separate-stderr ifprobe --write slurm-taskprolog $undo --to prolog
        [[ $stderr == *"move it away"* ]]
        cmp prolog before
    done
}
