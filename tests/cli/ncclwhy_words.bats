#!/usr/bin/env bats
# ncclwhy: how its answer is worded.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
}

@test "one line is a line, two are lines" {
    echo 'cuInit err: 802' >one.log
    run -1 --separate-stderr "$why" one.log
    [[ $output == *": 1 line of 1 log"* && $output != *"1 lines"* ]]
    echo 'and more' | cat one.log - >two.log
    run -1 --separate-stderr "$why" one.log two.log
    [[ $output == *": 3 lines of 2 logs"* ]]
}

@test "a collective that timed out: the first thing to do is a command" {
    echo '[rank1]:[E1015 13:30:53.1 ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600083 milliseconds before timing out.' >timeout.log
    run -1 --separate-stderr "$why" --json timeout.log
    jq -e '.data.causes[0] | .id == "PT-006" and (.fix[0] | startswith("py-spy dump --pid "))' <<<"$output"
}

@test "a cause with more than one reason names what mends each: who is rank 0, and what TensorFlow reads" {
    echo 'RuntimeError: The client socket has failed to connect to any network address of (node0, 29500). The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection refused).' >store.log
    run -1 --separate-stderr "$why" --json store.log
    jq -e '.data.causes[0] | .id == "PT-004" and any(.fix[]; startswith("start rank 0: torchrun --node-rank 0 "))' <<<"$output"
    echo 'tensorflow.python.framework.errors_impl.InternalError: Device /job:worker/replica:0/task:0/device:GPU:0 is joining a group with incompatible device typeCPU (group_key=3)' >tf.log
    run -1 --separate-stderr "$why" --json tf.log
    jq -e '.data.causes[0] | .entry == "PT-014" and any(.fix[]; contains("TF_CONFIG"))' <<<"$output"
}

@test "what two lines show together is said with both: an interface, two networks, two CUDAs, late tasks" {
    printf '%s\n' 'h1:7:7 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond4' \
        'h1:7:7 [0] misc/socket.cc:561 NCCL WARN ncclSocketInit: connecting to address  with family 21845 is neither AF_INET(2) nor AF_INET6(10)' >ifname.log
    run -1 --separate-stderr "$why" ifname.log
    [[ $output == *"names an interface (bond4) that h1 does not have"*"is bond4 there"* ]]
    printf '%s\n' 'INFO scripts.py:1128 -- Local node IP: 192.168.31.5' 'ray start --address=10.60.0.2:6379' \
        'Exception: The current node timed out during startup.' >ray.log
    run -1 --separate-stderr "$why" ray.log
    [[ $output == *"this node goes by 192.168.31.5, and the head is at 10.60.0.2"* ]]
    printf '%s\n' 'h1:7:7 [0] NCCL INFO cudaDriverVersion 12020' 'h1:7:7 [0] NCCL INFO NCCL version 2.26.2+cuda12.6' \
        "h1:7:9 [0] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'" >nvls.log
    run -1 --separate-stderr "$why" nvls.log
    [[ $output == *"built with CUDA 12.6, and the driver is of CUDA 12.2"* ]]
    printf '%s\n' 'XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Timed out task names:' \
        '/job:jax_worker/replica:0/task:7' '/job:jax_worker/replica:0/task:2' >late.log
    run -1 --separate-stderr "$why" late.log
    [[ $output == *"tasks 2 and 7 of the job did not come"* ]]
}

@test "a timeout during a save quotes the line that says so, and one with a short limit names it" {
    printf '%s\n' 'INFO Saving optimizer state to /lustre/run7/step_800' \
        '[rank5]: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=BARRIER, NumelIn=1, NumelOut=1, Timeout(ms)=60000) ran for 60040 milliseconds before timing out.' >save.log
    run -1 --separate-stderr "$why" save.log
    [[ $output == *"Saving optimizer state to /lustre/run7/step_800' was said before the wait, in line 1"* ]]
    sed 1d save.log >short.log
    run -1 --separate-stderr "$why" --json short.log
    jq -e '.data.causes[0] | .id == "PT-006" and .entry == "PT-101" and (.because // .meaning | contains("60 s only"))' <<<"$output"
}
