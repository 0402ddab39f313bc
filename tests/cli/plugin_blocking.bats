#!/usr/bin/env bats
# NCCL's calls that block, as PyTorch's do: --nccl-blocking, or NCCL_COMM_BLOCKING, which NCCL
# heeds more than what it is asked for. On stand-ins that do not come back where they hang, and
# that say so where a call is made after one was left.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    fake
}
bench() { timeout 60 "$B" --backend nccl --np 2 -b 1K -e 64K -f 64 -n 4 --deadline 5 "$@"; }
silent() { [[ $stderr != *"stand-in"* ]] || { echo "$stderr"; return 1; }; }

@test "every collective, group, part, window and graph is right, and the head says that calls block" {
    local ask
    for ask in "-d all -o all" "-m 3" "-z 1" "-R 1" "-R 2" "-G 5" "--coll alltoall" "--coll alltoallv" \
        "--coll gather -r 1" "--coll sendrecv" "--coll reduce_scatter -o mulsum"; do
        # shellcheck disable=SC2086 # options and their values
        run -0 --separate-stderr bench --nccl-blocking $ask --json
        jq -e '.verdict == "pass" and all(.data.results[]; (.wrong // 0) == 0) and
            (.data.transport | contains("its calls block, as in PyTorch"))' <<<"$output" ||
            { echo "$ask: $output"; return 1; }
        silent
    done
    WINDSOCK_FAKE_CUDA=lazy run -0 --separate-stderr bench --nccl-blocking --coll all_gather
    silent
    run -0 --separate-stderr timeout 60 "$B" --backend nccl --np 2 --deadline 5 --pairs --nccl-blocking
    silent
}

@test "small sizes: what is said of them says how to measure without it, and then it is not said" {
    run -0 --separate-stderr bench
    [[ $output == *"Times of small sizes contain the start of a thread"*": --nccl-blocking measures without"* ]]
    [[ $output != *"calls block"* ]]
    run -0 --separate-stderr bench --nccl-blocking
    [[ $output == *"; its calls block, as in PyTorch"* && $output != *"start of a thread"* ]]
}

@test "NCCL_COMM_BLOCKING: what NCCL heeds is known, in the environment and in its files; the option is above it" {
    NCCL_COMM_BLOCKING=1 run -0 --separate-stderr bench
    [[ $output == *"; its calls block, as in PyTorch"* ]]
    silent
    NCCL_COMM_BLOCKING=0 run -0 --separate-stderr bench
    [[ $output != *"calls block"* ]]
    NCCL_COMM_BLOCKING=0 run -0 --separate-stderr bench --nccl-blocking
    [[ $output == *"; its calls block, as in PyTorch"* ]]
    silent
}

# What hangs, a check, the sentence: within the deadline, with no process left.
ends() { # MODE CHECK SENTENCE OPTION...
    local mode=$1 check=$2 sentence=$3 began=$SECONDS
    shift 3
    WINDSOCK_FAKE_NCCL=$mode NCCL_COMM_BLOCKING=1 run -1 --separate-stderr timeout 60 "$B" --backend nccl \
        --np 2 --deadline 2 "${@:--b1K}" --json
    jq -e --arg c "$check" --arg s "$sentence" 'any(.findings[]; .check == $c and .status == "fail" and
        (.message | contains($s)) and (.fix | length > 0))' <<<"$output" || { echo "$mode: $output"; return 1; }
    ((SECONDS - began < 20)) || { echo "$mode took $((SECONDS - began)) s"; return 1; }
    silent
}

@test "a call that does not come back is left at the deadline, and nothing is asked after it" {
    ends init-hang nccl.init "ncclCommInitRank did not finish within "
    ends late-hang comm.progress "did not finish within "
    ends call-hang comm.progress "did not finish within "
    ends split-hang nccl.init "ncclCommSplit did not finish within " --pairs
}

@test "errors, wrong data and deaths are what they are without blocking" {
    ends async-error nccl.async "remote process exited"
    ends wrong-sum coll.data "results had wrong elements"
    ends duplicate nccl.gpu "Duplicate GPU detected"
    ends init-death rank.alive "killed by signal 9"
    ends late-death rank.alive "killed by signal 9"
}

@test "a beginning that is slow and shows it in NCCL's log has more time; an end that hangs costs the deadline alone" {
    WINDSOCK_FAKE_NCCL=slow-init run -0 --separate-stderr bench --nccl-blocking --deadline 2
    silent
    WINDSOCK_FAKE_NCCL=end-hang run -0 --separate-stderr bench --nccl-blocking --deadline 2
    silent
}

@test "an end that hangs, of memory, of a part: nothing is asked after it, and what was measured stands" {
    local mode ask
    for mode in drop-hang:-R1 drop-hang:-R2 "drop-hang:-R1 -o mulsum" destroy-hang:--pairs; do
        ask=${mode#*:}
        # shellcheck disable=SC2086 # options and their values
        WINDSOCK_FAKE_NCCL=${mode%%:*} run -0 --separate-stderr timeout 60 "$B" --backend nccl --np 2 --deadline 2 \
            --nccl-blocking $ask --json
        jq -e '.verdict == "pass"' <<<"$output"
        silent
    done
}

@test "ddpsmoke trains over calls that block, and one that hangs is left" {
    NCCL_COMM_BLOCKING=1 run -0 --separate-stderr timeout 60 "$BIN/ddpsmoke" --backend nccl --device cuda --np 2 --json
    jq -e '.verdict != "fail" and (.data.transport | contains("its calls block"))' <<<"$output"
    silent
    WINDSOCK_FAKE_NCCL=init-hang NCCL_COMM_BLOCKING=1 run -1 --separate-stderr timeout 60 "$BIN/ddpsmoke" \
        --backend nccl --device cuda --np 2 --deadline 2 --json
    jq -e 'any(.findings[]; .check == "nccl.init" and (.message | contains("did not finish within")))' <<<"$output"
    silent
}

@test "a call that hangs while ddpsmoke trains is left, and its engine gives back no memory of that GPU" {
    WINDSOCK_FAKE_NCCL=call-hang NCCL_COMM_BLOCKING=1 run -1 --separate-stderr timeout 60 "$BIN/ddpsmoke" \
        --backend nccl --device cuda --np 2 --samples 96 --batch 8 --deadline 3 --json
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and .[0].check == "comm.progress" and
        (.[0].message | contains("did not finish within"))' <<<"$output" || { echo "$output"; return 1; }
    silent
}

@test "Ctrl-C ends a call that blocks, long before its deadline" {
    local pid code=0 began=$SECONDS
    WINDSOCK_FAKE_NCCL=init-hang "$B" --backend nccl --np 2 --nccl-blocking --deadline 100 >out 2>err 3>&- &
    pid=$!
    for _ in {1..100}; do ! pgrep -P "$pid" >/dev/null || break; sleep 0.1; done
    sleep 1
    kill -INT "$pid"
    wait "$pid" || code=$?
    ((code == 3 && SECONDS - began < 20))
    [[ $(<err) != *"stand-in"* ]]
}

@test "where there is no NCCL the option is refused, or a line says that it does nothing" {
    run -2 --separate-stderr "$B" --backend tcp --nccl-blocking
    [[ $stderr == *"--nccl-blocking is for --backend nccl: it does nothing with tcp"* ]]
    WINDSOCK_FAKE_CUDA=no-gpu run -0 --separate-stderr "$B" --nccl-blocking -b 1K -e 1K -n 2
    [[ $output == *"# --nccl-blocking does nothing with tcp: there is no NCCL in it"* ]]
}
