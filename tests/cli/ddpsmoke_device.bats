#!/usr/bin/env bats
# ddpsmoke where there is no GPU that could be used: two ranks on the CPU, and a word about
# cards that are there. What needs a GPU says so. (With one: engine_gpu_auto.bats.)
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh

setup() {
    [[ ! -e /dev/nvidiactl ]] || skip "there is a driver here"
    unset CUDA_VISIBLE_DEVICES
}

smoke() { run --separate-stderr "$BIN/ddpsmoke" --samples 512 "$@"; }

card() { # ADDRESS VENDOR CLASS: a machine with that
    local at=$BATS_TEST_TMPDIR/sys/bus/pci/devices/$1
    mkdir -p "$at"
    echo "$2" >"$at/vendor"
    echo "$3" >"$at/class"
    echo 0x1234 >"$at/device"
}

@test "no card: the CPU, and no finding about a device" {
    mkdir -p "$BATS_TEST_TMPDIR/sys/bus/pci/devices"
    smoke --sysroot "$BATS_TEST_TMPDIR" --json
    valid
    [ "$status" -eq 0 ]
    jq -e "$FINE"'fine and (.data.world.ranks | map(.device) == ["cpu", "cpu"]) and
        ([.findings[].check] | index("train.device") | not) and (.data | has("device") | not)' <<<"$output"
}

@test "an AMD card: it was seen, and not used" {
    card 0000:03:00.0 0x1002 0x038000
    smoke --sysroot "$BATS_TEST_TMPDIR"
    [ "$status" -eq 0 ]
    grep -Eq '^info  train.device .*the AMD GPU here \(0000:03:00.0\) was not used: .*RCCL was not tested' <<<"$output"
    [[ $output == *"neither a GPU nor a network was tested"* ]]
}

@test "an NVIDIA card without a driver: what is missing" {
    card 0000:03:00.0 0x1002 0x038000
    card 0000:17:00.0 0x10de 0x030200
    smoke --sysroot "$BATS_TEST_TMPDIR"
    [ "$status" -eq 0 ]
    grep -Eq '^info  train.device .*the NVIDIA GPU here \(0000:17:00.0\) was not used: no driver' <<<"$output"
    [[ $output == *" - "*"docker run --gpus all"* ]]
    CUDA_VISIBLE_DEVICES='' smoke --sysroot "$BATS_TEST_TMPDIR" # hidden on purpose
    run ! grep -q train.device <<<"$output"
    smoke --sysroot "$BATS_TEST_TMPDIR" --device cpu
    run ! grep -q train.device <<<"$output"
}

@test "what needs a GPU: exit 4 without one, exit 2 with --device cpu" {
    local args
    for args in '--amp bf16' '--tf32' '--backend nccl' '--device cuda'; do
        # shellcheck disable=SC2086
        smoke $args
        [ "$status" -eq 4 ] || { echo "$args: $status $stderr"; false; }
        [[ $output != *PASS* && -n $stderr ]]
    done
    for args in '--amp bf16' '--tf32'; do
        # shellcheck disable=SC2086
        smoke --device cpu $args
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ $stderr == *"leave ${args%% *} out, or --device cuda"* ]]
    done
    for args in '--amp bf16' '--tf32'; do # nobody said --device cuda
        # shellcheck disable=SC2086
        smoke $args
        [[ $stderr == *"${args%% *} needs a GPU: "*"leave ${args%% *} out to train on the CPU"* && $stderr != *"--device cpu"* ]]
    done
    smoke --device cuda # somebody did; whatever is missing
    [[ $stderr == *"; --device cpu trains without a GPU"* && $stderr != *" needs a GPU: "* ]]
    [ "$(grep -c 'trains without a GPU' <<<"$stderr")" = 1 ] # all ranks lack it: said once
    smoke --device cuda --amp bf16 # and the processor refuses that
    [[ $stderr == *"; --device cpu without --amp trains without a GPU"* && $stderr != *" needs a GPU: "* ]]
}
