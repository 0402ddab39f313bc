#!/usr/bin/env bats
# scripts/slurm under a real Slurm: the prolog drains the bad node and no other, the
# job runs elsewhere, failures of ours never drain, everything stays inside its budget.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load prolog.sh

setup_file() { cluster_up; }
teardown_file() { cluster_down; }

setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() { heal; }

logged() { # NODE TEXT
    grep -qF -- "$2" "$D/log/node$1/slurm.log" || { cat "$D"/log/*/slurm.log; return 1; }
}

drained() { [[ $(state "$1") == drain* ]]; }

runs_everywhere() { # SRUN OPTIONS...: a job on all three nodes; nothing is drained by it
    run -0 on 0 timeout 30 srun -N3 "$@" uname -n
    [ "$(grep -c '^node' <<<"$output")" = 3 ]
    for n in 1 2 3; do
        [[ $(state $n) != drain* ]] || { reason $n; return 1; }
    done
}

job() { # the script of a batch job, as ./job
    printf '#!/bin/sh\nsrun uname -n\n' >job
    chmod +x job
}

# The slowest prolog so far, in ms, as the logs say.
slowest() { sed -n 's/.*(code [0-9]*, \([0-9]*\) ms).*/\1/p' "$D"/log/*/slurm.log | sort -n | tail -n 1; }

@test "healthy nodes: the job runs, nothing is drained, each prolog says how long it took" {
    runs_everywhere
    for n in 1 2 3; do
        logged $n "on node$n: sound (code 0, "
        [ -z "$(reason $n)" ]
    done
    [ -z "$(find "$D/log" -name '*.tap')" ]
    echo "# slowest prolog: $(slowest) ms" >&3
    (($(slowest) < 20000)) # DEADLINE
    # what it runs must not take this node's test for one of the job's nodes
    stand_in windsock 'env >"'"$D"'/log/env.$(uname -n)"'
    runs_everywhere
    run ! grep -E '^SLURM_(JOB|STEP)_' "$D/log/env.node1"
    grep -q '^SLURM_CONF=' "$D/log/env.node1"
}

@test "the epilog drains a node that a job left sick, with our reason, and no other" {
    echo "Epilog=$HOOKS/epilog" >>"$SLURM_CONF"
    on 0 timeout 5 scontrol reconfigure
    on 2 mount -t tmpfs -o size=96m tmpfs /dev/shm # which heal takes away
    run -0 on 0 timeout 30 srun -N2 -w node1,node2 sh -c '[ "$(uname -n)" != node2 ] || head -c 96m /dev/zero >/dev/shm/left || :'
    wait_for 15 drained 2
    [[ $(reason 2) == "windsock: limits.shm /dev/shm: has 96 MiB"* ]]
    run ! drained 1
    logged 2 'epilog job '
    logged 2 'sick (code 1, '
    sed -i '/^Epilog=/d' "$SLURM_CONF"
    on 0 timeout 5 scontrol reconfigure
}

@test "the prolog drains exactly the bad node, with our reason, and others take the job" {
    break_shm 2
    job
    on 0 timeout 5 sbatch -N2 -w node2 --requeue -o "$PWD/first.out" ./job # one that must have it
    wait_for 15 drained 2
    [[ $(reason 2) == "windsock: limits.shm /dev/shm: has 512 KiB"* ]]
    logged 2 'sick (code 1, '
    [ -n "$(cat "$D"/log/node2/prolog.*.tap)" ]
    run -0 on 0 timeout 30 srun -N2 uname -n
    [ "$(sort <<<"$output" | paste -sd,)" = node1,node3 ]
    [[ $(state 1) != drain* && $(state 3) != drain* ]]
}

@test "a batch job whose prolog failed runs on the other nodes, without a person" {
    break_shm 1
    job
    run -0 on 0 timeout 60 sbatch -W -N2 --requeue -o "$PWD/out" ./job
    [ "$(sort out | paste -sd,)" = node2,node3 ]
    drained 1
    [[ $(reason 1) == "windsock: limits.shm"* ]]
}

@test "a failure of ours never drains: exit 3, usage, a crash, junk, nothing there" {
    for script in 'echo "# cannot read"; exit 3' 'exit 2' 'exit 1' 'kill -SEGV $$' 'head -c 100000 /dev/urandom; exit 77'; do
        stand_in windsock "$script"
        runs_everywhere
        logged 2 'on node2: ours (code '
        rm -r "$D"/log/*
    done
    rm "$D/tools/windsock"
    runs_everywhere
    logged 2 'ours (code 127, '
    logged 2 'No such file' # a tool that is missing is said
    # 4 is a verdict only in a whole report: a loader or a wrapper ends so, too
    stand_in windsock 'echo "windsock: libnl-3.so.200 is not there"; exit 4'
    runs_everywhere --gpus-per-node=1
    logged 2 'ours (code 3, '
    logged 2 'libnl-3.so.200 is not there'
    printf 'a "setting that no shell reads\n' >>"$HOOKS/windsock.conf"
    runs_everywhere
}

@test "the log of the hooks is bounded: its last part is kept, in whole lines" {
    mkdir -p "$D/log/node2"
    seq -f 'an old line with its number %.0f' 60000 >"$D/log/node2/slurm.log" # 2 MB
    runs_everywhere
    (($(stat -c %s "$D/log/node2/slurm.log") < 600000))
    [[ $(tail -n 1 "$D/log/node2/slurm.log") == *"on node2: sound (code 0, "* ]]
    [ "$(tail -n 2 "$D/log/node2/slurm.log" | head -n 1)" = 'an old line with its number 60000' ]
    [[ $(head -n 1 "$D/log/node2/slurm.log") == 'an old line with its number '* ]]
    [ "$(find "$D/log/node2" -type f | wc -l)" = 1 ]
}

@test "a deaf windsock with a child that holds its output: the prolog ends in time, no drain" {
    configure DEADLINE=8
    stand_in windsock 'trap "" TERM; (trap "" TERM; exec sleep 86521) & while :; do sleep 0.1; done'
    begin=${EPOCHREALTIME/./}
    runs_everywhere
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    logged 3 "did not end within 2 s"
    echo "# slowest prolog: $(slowest) ms of 8000, srun: $took ms" >&3
    (($(slowest) < 8000 && took < 10000))
    run ! on 0 pgrep -f 'sleep 86521'
}

BAD='printf "not ok 1 - a.b x\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n"'

alone() { # NODE NAME: a prolog, without slurmd, on a node that Slurm calls so
    on "$1" env -i SLURM_CONF="$SLURM_CONF" SLURM_JOB_ID=7 SLURMD_NODENAME="$2" "$HOOKS/prolog"
}

@test "a name of Slurm's that is not the host's, with dots, is the one that is drained" {
    stand_in windsock "$BAD; exit 1"
    stand_in scontrol 'echo "$*" >>"'"$D"'/log/calls"'
    run -1 alone 1 gpu-1.rack-2
    grep -q '^update NodeName=gpu-1.rack-2 State=DRAIN Reason=windsock: a.b x: is bad$' "$D/log/calls"
}

@test "reports in a folder that all nodes share: each drains by its own" {
    configure "LOGS=$D/log/all"
    # node2 ends when the others have, and have cleared away what was theirs
    stand_in windsock 'others() { [ "$(grep -c "sound (code 0" "'"$D"'/log/all/slurm.log")" = 2 ]; }
        [ $(uname -n) = node2 ] || { echo "ok 1 - a.b"; echo 1..1; exit 0; }
        '"$BAD"'; for _ in {1..80}; do ! others || exit 1; sleep 0.1; done'
    run on 0 timeout 30 srun -N3 uname -n
    wait_for 5 drained 2
    [[ $(reason 2) == 'windsock: a.b x: is bad'* ]]
    [[ $(state 1) != drain* && $(state 3) != drain* ]]
    [ "$(cd "$D/log/all" && ls)" = "$(cd "$D/log/all" && echo prolog.*.node2.tap)"$'\nslurm.log' ]
}

@test "twenty prologs at once on one node: each has a verdict of its own, however few reports are kept" {
    configure KEEP=2
    stand_in windsock "$BAD; sleep 1; exit 1"
    stand_in scontrol 'exit 1'
    run -0 on 1 bash -c 'for i in {1..20}; do
            env -i SLURM_CONF="$SLURM_CONF" SLURM_JOB_ID=$i SLURMD_NODENAME=node1 "$HOOKS/prolog" &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || echo $?; done'
    [ "$(uniq -c <<<"$output" | tr -s ' ')" = ' 20 1' ] || { echo "$output"; cat "$D/log/node1/slurm.log"; false; }
}

@test "settings that cannot be: a deadline is never longer than what was asked for, or what is least" {
    for word in 'DEADLINE=3 1s' 'DEADLINE=08 2s' 'DEADLINE=soon 14s' $'PEERS=08\nDEADLINE=12 4s' 'KEEP=all 14s' 'PEERS=2 12s'; do
        configure "${word% *}"
        stand_in windsock 'echo "$*" >"'"$D"'/log/words"; echo 1..0'
        run -0 alone 1 node1
        [[ $(cat "$D/log/words") == *"--budget ${word##* } "* ]] || { cat "$D/log/words"; echo "$word"; return 1; }
    done
    configure ON_FAIL=Drain
    stand_in windsock "$BAD; exit 1"
    stand_in scontrol :
    run -1 alone 1 node1
    logged 1 "windsock.conf: ON_FAIL is 'Drain', none of: drain log; taken as drain"
}

@test "slurmctld does not answer: the prolog of a sick node still ends inside its budget" {
    configure DEADLINE=10
    stand_in scontrol 'trap "" TERM; while :; do sleep 0.1; done' # as one that waits for ever
    stand_in windsock "$BAD; sleep 3; exit 1"
    begin=${EPOCHREALTIME/./}
    run -1 alone 1 node1
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    echo "# it took $took ms of 10000" >&3
    ((took < 10000))
    logged 1 'node1 could not be drained (no answer from slurmctld): a.b x: is bad'
}

gpu_job() { # NODE: is not begun there, and drains it
    run on 0 timeout 30 srun -N1 -w "node$1" --gpus-per-node=1 uname -n
    [ "$status" != 0 ]
    wait_for 5 drained "$1"
}

@test "what is absent (exit 4) drains where the job was given GPUs; settings decide" {
    "$ROOT/tests/sysroot/compose" hgx-h100 "$D/tree"
    rm "$D"/tree/sys/bus/pci/devices/*/driver # as an update of the kernel leaves them
    configure "TEST='--quick --sysroot $D/tree'"
    runs_everywhere
    logged 2 'absent (code 4, '
    configure "TEST='--quick --sysroot $D/tree'" ON_ABSENT=log
    runs_everywhere --gpus-per-node=1
    configure "TEST='--quick --sysroot $D/tree'"
    gpu_job 2
    [ "$(reason 2 | sed 's/ \[.*//')" = 'windsock: run windsock: gpus: 8 NVIDIA GPUs have no driver' ]
    rm -r "$D/tree" # and no GPU at all, whatever gres.conf says
    "$ROOT/tests/sysroot/compose" laptop "$D/tree"
    gpu_job 1
    [[ $(reason 1) == 'windsock: run windsock: gpus: none on this host, but Slurm gave the job GPUs 0 of it'* ]]
    configure ON_FAIL=log
    break_shm 3
    run -0 on 0 timeout 30 srun -N1 -w node3 uname -n
    logged 3 'sick (code 1, '
    [[ $(state 3) != drain* ]]
}

@test "a GPU driver that hangs has its ten seconds by default, and drains" {
    "$ROOT/tests/sysroot/compose" hgx-h100 "$D/tree"
    echo 'hang init' >"$D/nvml"
    configure "TEST='--quick --sysroot $D/tree'" PEERS=2 "export WINDSOCK_NVML=$O/fake/nvml/libnvidia-ml.so.1 WINDSOCK_FAKE_NVML=$D/nvml"
    stand_in scontrol 'echo "$*" >>"'"$D"'/log/calls"'
    run -1 alone 1 node1
    rm -r "$D/tree"
    grep -q "Reason=windsock: gpu.nvml .*: the driver hangs" "$D/log/calls"
}

@test "asking peers: a node that none answers is sick, one that some answer is not" {
    configure PEERS=2
    runs_everywhere
    for n in 1 2 3; do # and no fault is said of any
        grep -q "on node$n: sound (code 0, [0-9]* ms)\$" "$D/log/node$n/slurm.log" || { cat "$D/log/node$n/slurm.log"; false; }
    done
    on 2 nft add table inet t
    on 2 nft add chain inet t c '{ type filter hook output priority 0; policy accept; }'
    on 2 nft add rule inet t c ip daddr 10.77.0.2 tcp dport 29500 drop
    runs_everywhere
    on 2 nft add rule inet t c ip daddr 10.77.0.4 tcp dport 29500 drop
    run on 0 timeout 30 srun -N3 uname -n
    on 2 nft delete table inet t
    wait_for 10 drained 2
    [[ $(reason 2) == 'windsock: none of 2 other nodes of the job answers'* ]]
    [[ $(state 1) != drain* && $(state 3) != drain* ]]
}

@test "task prolog: every task has the interface of its node; what the job set stays" {
    on 3 sh -c 'ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up; ip route replace default via 10.77.255.254 || true'
    run -0 on 0 timeout 30 srun -N3 sh -c 'echo "$(uname -n) $NCCL_SOCKET_IFNAME"'
    [ "$(sort <<<"$output" | paste -sd,)" = 'node1 =eth0,node2 =eth0,node3 =ens5' ]
    run -0 on 0 env NCCL_SOCKET_IFNAME=mine timeout 30 srun -N1 -w node3 sh -c 'echo "$NCCL_SOCKET_IFNAME"'
    [ "$output" = mine ]
    run -0 on 0 env WINDSOCK_SAY=1 timeout 30 srun -N1 -n2 -w node3 sh -c 'echo "$NCCL_SOCKET_IFNAME"'
    [ "$(sort <<<"$output")" = $'=ens5\n=ens5\nwindsock: NCCL_SOCKET_IFNAME==ens5 on node3' ]
    stand_in ifprobe 'echo "rm -rf x"; echo "export PATH; x=1"; exit 3' # a task never falls over us
    run -0 on 0 timeout 30 srun -N1 -w node3 echo runs
    [ "$output" = runs ]
    on 3 sh -c 'ip link set ens5 down; ip link set ens5 name eth0; ip link set eth0 up'
}
