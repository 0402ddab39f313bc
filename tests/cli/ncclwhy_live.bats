#!/usr/bin/env bats
# ncclwhy --live: a job's RAS service, of which a stand-in speaks the protocol.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    why=$BIN/ncclwhy
    logs=$ROOT/tests/logs
    cd "$BATS_TEST_TMPDIR" || return
    standin=
}

teardown() {
    if [[ -n $standin ]]; then
        kill "$standin" 2>/dev/null || true
        wait "$standin" 2>/dev/null || true
    fi
}

ras() { # SCENARIO: starts the stand-in; $port is where
    rm -f port
    "$logs/ras-standin" "$1" port 3>&- &
    standin=$!
    wait_for 10 test -s port
    port=$(cat port)
}

@test "live: a job that is well, and one that moves" {
    ras healthy
    run -0 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"all 4 ranks are there"* ]]
    kill "$standin"
    ras moving
    run -0 --separate-stderr "$why" --live="127.0.0.1:$port"
    [[ $output == *"the job moves"* ]]
}

@test "live: who is dead, who is behind, who failed" {
    ras missing
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"rank 3 (10.0.0.2, pid 4703) is dead"*"3 ranks of 4 wait"* ]]
    kill "$standin"
    ras behind
    run -1 --separate-stderr "$why" --json --live "127.0.0.1:$port"
    jq -e '.data.causes[0] | .id == "LIVE-002" and .entry == .id and (.meaning | startswith("rank 2 (10.0.0.2, pid 4702) called AllGather 639 times"))' <<<"$output"
    kill "$standin"
    ras error
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"rank 1"*"asynchronous error"* ]]
    kill "$standin"
    ras beside # all ranks of a host have the port: the next connection meets another one
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"rank 2 (10.0.0.2, pid 4702) called AllGather 639 times"* ]]
}

@test "live: who is told to wait less than the service itself is told so at once; seven seconds do" {
    ras far
    run -3 --separate-stderr "$why" --deadline 1s --live "127.0.0.1:$port"
    [[ $stderr == *"may take 6 s to say so, longer than --deadline 1 s"*"did not answer"*"waits for it: --deadline 15s"* ]]
    kill "$standin"
    wait "$standin" || true
    ras far
    run -1 --separate-stderr "$why" --deadline 7s --live "127.0.0.1:$port"
    [[ $output == *"rank 3 (10.0.0.2, pid 4703) is dead"* ]]
    [ -z "$stderr" ]
}

@test "live: versions without JSON, something else, silence, nobody" {
    ras old
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"different AllGather operation counts"*"Rank 12"* ]]
    kill "$standin"
    ras junk
    run -3 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $stderr == *"not NCCL's RAS service"* ]]
    kill "$standin"
    ras silent
    run -3 --separate-stderr "$why" --deadline 300ms --live "127.0.0.1:$port"
    [[ $stderr == *"did not answer"* ]]
    kill "$standin"
    wait "$standin" || true
    run -4 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $stderr == *"no NCCL job answers"* ]]
}

@test "live: garbage, floods and answers that are cut off are no health" {
    local scenario
    for scenario in binary flood drip; do
        ras "$scenario"
        run -3 --separate-stderr "$why" --deadline 500ms --live "127.0.0.1:$port"
        [[ $output != *pass* && -n $stderr ]]
        kill "$standin"
        wait "$standin" || true
    done
    for scenario in cut odd; do
        ras "$scenario"
        run -3 --separate-stderr "$why" --live "127.0.0.1:$port"
        [[ $output == *"nothing is known about the job"* ]]
        kill "$standin"
        wait "$standin" || true
    done
    ras fine # text of a version without JSON
    run -0 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"no missing rank and no mismatch"* ]]
    kill "$standin"
    ras oldmoving # ranks are a collective apart whenever they are asked
    run -0 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"no missing rank and no standing mismatch: the job moves"* ]]
}

@test "live: who could not set its communicator up, who still connects, and nobody yet" {
    ras uninit
    run -1 --separate-stderr "$why" --json --live "127.0.0.1:$port"
    jq -e '.data.causes[0] | .id == "LIVE-003" and (.meaning | contains("rank 3 (10.0.0.2, pid 4703) reports that it could not set its communicator up (code 2: unhandled system error)"))' <<<"$output"
    kill "$standin"
    ras connecting
    run -0 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"rank 2 (10.0.0.2, pid 4702), rank 3 (10.0.0.2, pid 4703) are still connecting; 2 other ranks are through"* ]]
    kill "$standin"
    local scenario
    for scenario in none oldnone; do
        ras "$scenario"
        run -0 --separate-stderr "$why" --live "127.0.0.1:$port"
        [[ $output == "warn  live.job"*"there is no communicator: the job still starts, has ended, or uses no NCCL"*"ncclwhy --live=127.0.0.1:$port   # again in a minute"* ]]
        kill "$standin"
    done
}

@test "live: what fails between the answers is told, and one that hangs under another number" {
    ras errorlate
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"rank 1 (10.0.0.1, pid 4701) reports an asynchronous error (code 6: remote error)"* ]]
    kill "$standin"
    ras renumbered
    run -1 --separate-stderr "$why" --live "127.0.0.1:$port"
    [[ $output == *"#1-0 (fa93daea854b060b) MISMATCH"*"operation 640"* && $output != *"#0-0"* ]]
}

@test "live: two hosts, and what reads a log, are refused" {
    run -2 --separate-stderr "$why" --live=127.0.0.1:1 127.0.0.1:2
    [[ -z $output && $stderr == *"--live asks one host, and two are named: 127.0.0.1:1 and 127.0.0.1:2"* ]]
    run -2 --separate-stderr "$why" --live=localhost 127.0.0.1:2
    [[ $stderr == *"two are named"* ]]
    run -2 --separate-stderr "$why" --live --confirm 127.0.0.1:2
    [[ -z $output && $stderr == *"--live reads no log: --confirm"* ]]
    run -2 --separate-stderr "$why" --live --follow x
    [[ -z $output ]]
}
