#!/usr/bin/env bats
# ddpsmoke over NCCL, where NCCL itself is what fails: a finding, and the reason in NCCL's words,
# never "stopped before the end". On stand-ins.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ddpsmoke
    built cudnn
    fake
}
smoke() {
    timeout 60 "$B" --device cuda --backend nccl --np 2 --batch 8 --samples 192 --validation 32 --expect 0 --epochs 1 "$@"
}
# Exit 1, one finding, what it says, what to do; and nobody has been left behind.
ends() { # CHECK SENTENCE FIX-REGEX
    run -1 --separate-stderr smoke --deadline 3 --heartbeat 3 --json
    valid
    jq -e --arg c "$1" --arg s "$2" --arg f "$3" '.verdict == "fail" and ([.findings[] | select(.status == "fail")] |
        length == 1 and .[0].check == $c and (.[0].message | contains($s)) and (.[0].fix[0] | test($f)))' <<<"$output" ||
        { echo "$output"; return 1; }
    [[ $stderr != *"stand-in"* ]] || { echo "$stderr"; return 1; }
}

@test "NCCL does not come up: nccl.init with its deadline, nccl.gpu where it refuses a shared GPU" {
    # of two ranks whose time is up together the other one may be heard first, and has no more than words
    WINDSOCK_FAKE_NCCL=init-hang ends nccl.init "ncclCommInitRank did not finish within" "ifprobe --check|ncclbench .*[|] ncclwhy"
    WINDSOCK_FAKE_NCCL=duplicate ends nccl.gpu "Duplicate GPU detected" "give each rank its own GPU"
}

@test "NCCL fails while training: nccl.async in its words, and what explains its log" {
    WINDSOCK_FAKE_NCCL=async-error ends nccl.async "remote process exited or there was a network error" "ncclwhy"
}

@test "a fabric that stands still while all ranks live: comm.progress, and what shows it" {
    WINDSOCK_FAKE_NCCL=late-hang ends comm.progress "all ranks still answer, but no data arrives" "ncclbench --np 2 --backend nccl"
}

@test "a rank that dies, or is stopped, is the one that is named" {
    WINDSOCK_FAKE_NCCL=init-death ends rank.alive "rank 1 (" dmesg
    WINDSOCK_FAKE_NCCL=late-death ends rank.alive "killed by signal 9" dmesg
}
