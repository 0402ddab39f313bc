#!/usr/bin/env bats
# What fails on one rank alone, as the ranks that waited for it tell it: that finding, exit 1, and
# what to do. On stand-ins.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    fake
}
bench() { timeout 60 "$B" --backend nccl -b 1K -e 1K -n 2 --deadline 5 "$@"; }
smoke() { timeout 60 "$BIN/ddpsmoke" --device cuda --backend nccl --samples 96 --deadline 10 "$@"; }
# Two ranks by hand: what rank 0 found is $output, what rank 1 said is in the file "other". Both
# end with 1. $ALONE=VALUE: of rank 1 alone.
by_hand() { # ALONE COMMAND...
    local port=$((20000 + RANDOM % 10000)) alone=$1 code=0
    shift
    (
        export "${alone?}"
        "$@" --init "tcp://127.0.0.1:$port" --world-size 2 --rank 1 >other 2>&1 3>&-
    ) &
    run -1 --separate-stderr "$@" --init "tcp://127.0.0.1:$port" --world-size 2 --rank 0 --json
    wait $! || code=$?
    ((code == 1))
    [[ $(<other) != *"[nccl."* && $(<other) != *"[gpu."* && $output$stderr != *"] nccl"* ]] || { cat other; return 1; }
}
# One failure: its check, what it says, what to do.
told() { # CHECK SENTENCE FIX
    jq -e --arg c "$1" --arg s "$2" --arg f "$3" '[.findings[] | select(.status == "fail")] | length == 1 and
        .[0].check == $c and (.[0].message | contains($s)) and any(.[0].fix[]; contains($f))' <<<"$output" ||
        { echo "$output $stderr"; cat other; return 1; }
}

@test "where NCCL fails on one rank alone, that rank is named; started by hand all ranks end with the same finding" {
    local port=$((20000 + RANDOM % 10000)) ask says="Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes, error: No space left on device (28)"
    export WINDSOCK_FAKE_NCCL=rank1-says WINDSOCK_FAKE_SAYS=$says
    local named='[.findings[] | select(.status == "fail")] | length == 1 and .[0].check == "nccl.init" and
        (.[0].message | startswith("rank 1 (") and endswith("(SHM-002)")) and any(.[0].fix[]; contains("--shm-size"))'
    run -1 --separate-stderr bench --np 3 --json
    jq -e "$named" <<<"$output"
    jq -e 'any(.findings[]; .status == "fail" and .rank == 1)' <<<"$output"
    run -1 --separate-stderr "$BIN/ddpsmoke" --device cuda --backend nccl --np 3 --samples 96 --json
    jq -e "$named" <<<"$output"
    jq -e 'any(.findings[]; .subject == "rank 1")' <<<"$output"
    ask=(--backend nccl -b 1K -e 1K -n 2 --deadline 10 --init "tcp://127.0.0.1:$port" --world-size 2)
    "$B" "${ask[@]}" --rank 1 >other 2>&1 3>&- &
    run -1 --separate-stderr "$B" "${ask[@]}" --rank 0 --json
    wait $! && false
    jq -e "$named" <<<"$output"
    grep -q 'FAIL nccl.init: ncclCommInitRank failed: .*(SHM-002)' other
}

@test "whatever ranks are in the words of the one that failed, it is its finding" {
    local command
    for command in bench smoke; do
        export WINDSOCK_FAKE_NCCL=rank1-says
        WINDSOCK_FAKE_SAYS="Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000" by_hand A=1 "$command"
        told nccl.gpu "rank 1 (" "give each rank its own GPU"
        WINDSOCK_FAKE_SAYS="rank 0 has left" by_hand A=1 "$command"
        told nccl.init "): ncclCommInitRank failed: NCCL says: " "| ncclwhy"
    done
}

@test "what the rank that failed would do itself is said by those that waited for it" {
    by_hand WINDSOCK_FAKE_NCCL=init-hang smoke
    # of the two, whose time is up together, either may be the first
    told nccl.init "ncclCommInitRank did not finish within " "NCCL waits for a peer that cannot be reached: ifprobe --check"
    jq -e 'all(.findings[]; .message | contains("[fix") | not)' <<<"$output"
    [[ $(<other)$stderr != *"[fix"* ]]
}

@test "what all ranks fail of alike is no rank's" {
    export WINDSOCK_FAKE_NCCL=says WINDSOCK_FAKE_SAYS="Bootstrap : no socket interface found"
    for _ in 1 2 3; do
        by_hand A=1 bench
        told nccl.init "that is, NCCL found no network interface to use" "ifprobe --suggest"
        jq -e 'all(.findings[]; .message | startswith("rank ") | not)' <<<"$output"
        ! grep 'FAIL nccl.init: rank ' other
    done
    run -1 --separate-stderr bench --np 3 --json
    jq -e 'all(.findings[]; .rank == null and (.message | startswith("rank ") | not))' <<<"$output"
}

@test "NCCL that passes on what a sick GPU answered: it is the GPU's finding, and no program is to be cured" {
    export WINDSOCK_FAKE_NCCL=rank1-says WINDSOCK_FAKE_SAYS="Cuda failure 700 'an illegal memory access was encountered'"
    local command
    for command in bench smoke; do
        run -1 --separate-stderr "$command" --np 2 --json
        told gpu.work "NCCL says: " "| grep -i xid"
        by_hand A=1 "$command"
        told gpu.work "rank 1 (" "| grep -i xid"
        [[ $output != *compute-sanitizer* ]]
    done
}

@test "a GPU of another rank that is sick, and a network in which all wait: what to do is said by all" {
    by_hand WINDSOCK_FAKE_CUDA=lost bench
    told gpu.work "rank 1 (" "| grep -i xid   # on "
    grep -q 'dmesg | grep -i xid' other
    by_hand WINDSOCK_FAKE_CUDA=lost smoke
    told gpu.work "rank 1 (" "| grep -i xid"
    WINDSOCK_FAKE_NCCL=late-hang by_hand A=1 bench
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and .[0].check == "comm.progress" and
        (.[0].message | contains("did not finish within")) and (.[0].fix | length > 0)' <<<"$output"
}
