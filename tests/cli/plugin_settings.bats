#!/usr/bin/env bats
# NCCL's variables on one rank alone: what no job works with is named before NCCL is called, what
# may differ alarms nobody. On stand-ins for NCCL and the driver.
# shellcheck disable=SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    fake
    export HOME=$PWD WINDSOCK_FAKE_CUDA=own-gpu
    unset "${!NCCL_@}"
    PORT=$((20000 + BASHPID % 9000))
}

# Three ranks as a person starts them; what rank R alone has is in ONLY[R], its output in outR.
ONLY=('' '' '')
ranks() { # ARGS...
    local r
    for r in 0 1 2; do
        # shellcheck disable=SC2086 # words
        env RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT ${ONLY[r]} \
            timeout 60 "$B" --backend nccl -b 1K -e 1K -n 1 --deadline 5 "$@" >"out$r" 2>&1 3>&- &
    done
    wait
}

refused() { # ODD WORDS...
    local words odd=$1
    shift
    grep -q "FAIL nccl.settings: rank $odd (" out0 || { cat out?; return 1; }
    for words; do
        grep -qF -- "$words" out0 || { echo "no '$words' in:"; cat out0; return 1; }
    done
    [[ $(cat out?) != *"stand-in"* ]]
}

fine() {
    if ! grep -q ' 256 .* float ' out0 || grep -q 'FAIL' out?; then
        cat out?
        return 1
    fi
}

@test "what is to be alike everywhere: the rank that differs is named, with what to type" {
    ONLY=('' '' 'NCCL_ALGO=Tree')
    ranks
    refused 2 "has NCCL_ALGO=Tree, but rank 0 (" "has no NCCL_ALGO: ranks that differ in it" "unset NCCL_ALGO   # for rank 2"
    ONLY=('NCCL_BUFFSIZE=1048576' '' 'NCCL_BUFFSIZE=0x100000') # the same
    ranks
    refused 1 "has no NCCL_BUFFSIZE, but rank 0 (" "export NCCL_BUFFSIZE=1048576   # for rank 1 too"
    ONLY=('NCCL_PROTO=LL' 'NCCL_PROTO=Simple' 'NCCL_PROTO=simple')
    ranks
    refused 0 "has NCCL_PROTO=LL, but rank 1 (" "export NCCL_PROTO=Simple   # for rank 0 too"
}

@test "what is to be typed is fit for a shell, and as it was written" {
    ONLY=('NCCL_ALGO=AllReduce:Tree;Broadcast:Ring' 'NCCL_ALGO=allreduce:tree;broadcast:ring' '')
    ranks
    refused 2 "has no NCCL_ALGO, but rank 0 (" "export NCCL_ALGO='AllReduce:Tree;Broadcast:Ring'   # for rank 2"
    long=NCCL_TUNER_PLUGIN=/$(printf 'X%.0s' {1..300}) # more than is told
    ONLY=("$long" "$long" '')
    ranks
    refused 2 "unset NCCL_TUNER_PLUGIN   # for rank 2: the environment, nccl.conf; or set it for all"
}

@test "in a file of NCCL's, too; and an empty one is none" {
    mkdir other
    echo NCCL_MIN_NCHANNELS=8 >other/.nccl.conf
    ONLY=('' "HOME=$PWD/other" '')
    ranks
    refused 1 "has NCCL_MIN_NCHANNELS=8, but rank 0 ("
    ONLY=('' "HOME=$PWD/other NCCL_MIN_NCHANNELS=" '')
    ranks
    fine
}

@test "how ranks of one host reach each other; between hosts, which these look like, each its own" {
    ONLY=('' 'NCCL_P2P_DISABLE=1' '')
    ranks
    refused 1 "has NCCL_P2P_DISABLE=1, but rank 0 (" "ranks of one host that differ in it"
    export WINDSOCK_FAKE_CUDA=
    ranks
    fine
    grep -q "not alike on all ranks: NCCL_P2P_DISABLE;" out0
}

@test "what may be right where hosts differ is said, and only blamed when nothing works" {
    ONLY=('NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_DEBUG_SUBSYS=NET' '' 'NCCL_IB_HCA=mlx5')
    ranks
    fine
    grep -q "not alike on all ranks: NCCL_IB_DISABLE;" out0
    ONLY=('NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_IB_TC=1 NCCL_IB_SL=1 NCCL_DMABUF_ENABLE=0 NCCL_PXN_DISABLE=1' '' '')
    ranks # what is behind them is not cut off
    grep -q "not alike on all ranks: NCCL_NET, NCCL_IB_DISABLE, NCCL_IB_TC, NCCL_IB_SL and 2 more; ." out0 || { cat out0; false; }
    ONLY=('NCCL_IB_DISABLE=1' '' '')
    WINDSOCK_FAKE_NCCL=init-hang ranks --deadline 2
    grep -q "NCCL_IB_DISABLE: set alike for every rank, which they are not now; " out0 out1 out2 || { cat out?; false; }
}

@test "what differs rightly alarms nobody" {
    ONLY=('NCCL_SOCKET_IFNAME=lo' 'NCCL_SOCKET_IFNAME=eth0 NCCL_IB_HCA=mlx5_1' 'NCCL_IB_TIMEOUT=22')
    ranks
    fine
    run ! grep -q "not alike" out0
}
