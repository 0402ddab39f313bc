#!/usr/bin/env bats
# ncclwhy around a command: how it ended is said, what cannot be started, who does not read on.
# shellcheck disable=SC2016 # the command's shell expands
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    standin=
}

teardown() {
    [[ ! $standin ]] || kill "$standin" 2>/dev/null || true
}

wrapped() { # STATUS COMMAND...
    local status=$1
    shift
    run "-$status" --separate-stderr "$why" -- "$@"
}

@test "a command that a signal ended is said to have been, with the cause that has" {
    wrapped 137 sh -c 'echo step 1; kill -9 $$'
    [[ $output == 'step 1' && $stderr == *SHM-004*"killed from outside"*"ended by SIGKILL (exit code 137)"* ]]
    [[ $stderr != *"no failure"* ]]
    wrapped 139 sh -c 'kill -SEGV $$'
    [[ $stderr == *KRN-006*"ended by SIGSEGV"* ]]
    wrapped 137 sh -c 'exit 137' # of a container, or of a shell's child
    [[ $stderr == *SHM-004* ]]
    # a line that says why stands before
    wrapped 134 sh -c "cat $ROOT/tests/logs/real/020.log; kill -ABRT \$\$"
    [[ $stderr == *"fail: log.cause CON-013"* ]]
    run -137 --separate-stderr "$why" --json --output o.json -- sh -c 'kill -9 $$'
    jq -e '.data.causes[0] | .id == "SHM-004" and .file == "the exit of the command"' o.json
}

@test "a command that failed of nothing known has a line at least; one that was told to end, none" {
    wrapped 5 sh -c 'exit 5'
    [[ $stderr == *"the command ended with exit code 5, and printed nothing"* && $stderr != *NCCL_DEBUG* ]]
    wrapped 1 sh -c 'echo step 1; exit 1'
    [[ $stderr == *"the command ended with exit code 1, and nothing here says why"*NCCL_DEBUG=INFO* ]]
    wrapped 138 sh -c 'echo step 1; kill -USR1 $$'
    [[ $stderr == *"ended by SIGUSR1"* ]]
    wrapped 127 sh -c 'exit 127'
    [[ $stderr == *"exit code 127"* ]]
    wrapped 127 sh -c 'no-such-command-here' # which the shell has said
    [[ $stderr != *"exit code"* ]]
    run -5 --separate-stderr "$why" --json --output o.json -- sh -c 'exit 5'
    jq -e '.verdict == "warn"' o.json
    wrapped 0 sh -c 'echo RuntimeError: No CUDA GPUs are available'
    [[ ! $stderr ]]
    wrapped 143 sh -c 'kill -TERM $$'
    [[ ! $stderr ]]
    wrapped 141 sh -c 'kill -PIPE $$' # nobody reads on
    [[ ! $stderr ]]
}

@test "a command that cannot be started: why, with what to type, and no log is judged" {
    printf '#!/bin/sh\necho ran\n' >train.sh
    printf 'print("ran")\n' >train.py
    wrapped 126 ./train.sh
    [[ ! $output && $stderr == *"cannot start ./train.sh: Permission denied"*"-> chmod +x ./train.sh"* ]]
    [[ $stderr != *log.cause* && $(wc -l <<<"$stderr") = 2 ]]
    wrapped 126 ./train.py
    [[ $stderr == *"-> ncclwhy -- python3 ./train.py"* ]]
    wrapped 127 train.sh # as in a shell, whose PATH has no such folder
    [[ $stderr == *"cannot start train.sh: No such file"*"-> ncclwhy -- bash train.sh"* ]]
    chmod +x train.sh
    wrapped 127 train.sh
    [[ $stderr == *"-> ncclwhy -- ./train.sh"* ]]
    wrapped 127 no-such-command-here
    [[ $stderr == *"cannot start no-such-command-here: No such file"* && $stderr != *log.cause* ]]
    printf '#!/no/such/python\n' >train.sh
    wrapped 127 ./train.sh
    [[ $stderr == *"its first line"* ]]
    mkdir folder
    wrapped 126 ./folder
    [[ $stderr == *"./folder is a folder"* || $stderr == *"Permission denied"* ]]
    [[ $stderr != *chmod* ]]
    run -127 --separate-stderr "$why" --json --output o.json -- no-such-command-here
    jq -e '.verdict == "error" and .findings[0].message == "cannot start no-such-command-here: No such file or directory"' o.json
}

@test "a reader who takes nothing keeps no budget from ending the command, and loses nothing else" {
    mkfifo full
    (exec 9<>full; exec sleep 25) 3>&- &
    standin=$!
    local code=0 began=$SECONDS
    "$why" --budget 1s -- sh -c 'echo $$ >job; yes | head -c 300000; sleep 99' >full 2>err 3>&- || code=$?
    ((code == 143 && SECONDS - began < 9))
    grep -q 'the budget of 1 s passed' err
    run ! kill -0 "$(cat job)"
    code=0
    "$why" --budget 1s -- sh -c 'trap "" TERM; echo $$ >job; yes | head -c 300000; while :; do sleep 0.1; done' >full 2>err 3>&- || code=$?
    ((code == 137))
    run ! kill -0 "$(cat job)"
    kill "$standin"
    standin=
    # slower than the time for which what was left behind is heard
    "$why" --stall 1s -- sh -c 'yes | head -c 300000' 2>err | (sleep 3; wc -c) >n
    (($(cat n) == 300000))
    [[ ! -s err ]]
}

@test "what a command leaves no place for, and what goes with another option, is refused" {
    echo 'RuntimeError: No CUDA GPUs are available' >train.log
    run -2 --separate-stderr "$why" train.log -- sh -c ': >ran'
    [[ ! $output && ! -e ran && $stderr == *"train.log is not read where a command is run"*"ncclwhy train.log"* ]]
    run -2 --separate-stderr "$why" --stall 3s train.log
    [[ ! $output && $stderr == *"--stall goes with -- COMMAND or --follow"* ]]
    run -2 --separate-stderr "$why" --rsh ssh train.log
    [[ ! $output && $stderr == *"--rsh goes with --hosts"* ]]
    WINDSOCK_RSH=ssh run -1 --separate-stderr "$why" train.log
}
