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
