#!/usr/bin/env bats
# The training part of scripts/gpu-check, as far as it goes without a GPU.
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ddpsmoke
    built cudnn
}
check() { "$ROOT/scripts/gpu-check" --bin "$BIN" --parts training "$@"; }

@test "gpu-check: without a GPU there is nothing to train on: exit 4, and why" {
    [[ ! -e /dev/nvidiactl ]] || skip "there is a driver"
    WINDSOCK_CUDNN=$O/fake/libcudnn.so.9 run -4 --separate-stderr check --output -
    jq -e '.verdict == "absent" and (.steps[0].message | contains("no NVIDIA driver here"))' <<<"$output"
}

@test "gpu-check: training on the stand-ins passes, and a failing library is not hidden" {
    stand_ins
    run -0 --separate-stderr check --models mlp --samples 64 --output -
    jq -e '.verdict == "pass" and (.steps | length >= 11) and all(.steps[]; .verdict != "fail") and
        any(.steps[]; .name == "mlp: the losses are the CPU'\''s" and .verdict == "pass") and
        any(.steps[]; .name == "a rank that dies is named" and .verdict == "pass")' <<<"$output"
    WINDSOCK_FAKE_CUBLAS=fail run -1 --separate-stderr check --models '' --samples 64 --output -
    jq -e '.verdict == "fail"' <<<"$output"
}
