#!/usr/bin/env bats
# Of a GPU that hangs, and of an NCCL that does not come back: each rank ends with a finding, also
# where no launcher of ours would end it. On stand-ins, where memory is not given back before all
# is done that the GPU was given.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh
load ../wait.sh

setup() {
    plugin_test ncclbench
    fake
}

# Rank 0 of two as torchrun starts them: rank 1 dies at work, and it does not come back from what
# it does then.
bereaved() { # PROGRAM ARGS...
    local ranks=() r code=0 nccl=(abort-hang late-death)
    export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT
    MASTER_PORT=$(free_port)
    for r in 0 1; do
        RANK=$r LOCAL_RANK=$r WINDSOCK_FAKE_NCCL=${nccl[r]} timeout -s KILL 60 "$@" --backend nccl \
            --deadline 6 --heartbeat 3 >"$r" 2>"$r.err" 3>&- &
        ranks+=($!)
    done
    wait "${ranks[0]}" || code=$?
    wait "${ranks[1]}" || true
    [[ $code == 1 ]] || { echo "exit $code"; cat 0 0.err; return 1; }
    grep -E "(FAIL|fail) +rank.alive.*rank 1 [(]" 0 || { cat 0 0.err; return 1; }
    [[ $(<0.err) != *"stand-in"* ]]
}

@test "a rank whose peer died ends, also where NCCL does not come back from being aborted" {
    bereaved "$B" -b 1M -e 1M -N 0
    [[ ! -e $O/lib/windsock/cudnn.so ]] || bereaved "$BIN/ddpsmoke" --device cuda --model mlp --epochs 100000
}

# By the driver's word memory is given back once all is done, which would be never.
@test "ranks whose GPUs stop in the middle of it end, launched by us or not" {
    local stall=(env WINDSOCK_FAKE_CUDA=stall timeout -s KILL 60)
    run -1 --separate-stderr "${stall[@]}" "$B" --backend nccl --np 2 -b 1M -e 1M -n 100 --deadline 2 --heartbeat 2
    [[ $output == *"FAIL comm.progress: "*" did not finish within "* && $stderr != *"stand-in"* ]]
    run -1 --separate-stderr "${stall[@]}" env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT="$(free_port)" \
        "$B" --backend nccl -b 1M -e 1M -n 100 --deadline 2 --heartbeat 2
    [[ $output == *"FAIL comm.progress: "*" did not finish within "* && $stderr != *"stand-in"* ]]
}
