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
