#!/usr/bin/env bats
# scripts/gpu-check as far as it goes without a GPU: it says so, and its steps
# work on the stand-ins of the driver and NCCL.
bats_require_minimum_version 1.5.0

setup() {
    O=${O:-build}
    B=${BIN:-$O/bin}/ncclbench
    export TMPDIR=$BATS_TEST_TMPDIR
    unset WINDSOCK_NCCL WINDSOCK_PLUGINS
    ROOT=$(realpath "$BATS_TEST_DIRNAME/../..")
    O=$(realpath "$O") B=$(realpath "$B")
    cd "$BATS_TEST_TMPDIR" || return
}

built() {
    local why=
    [[ $1 != nccl ]] || why=': no CUDA toolkit, as on machines without a GPU'
    [[ -e $O/lib/windsock/$1.so ]] || skip "$1.so was not built$why"
}
fake() {
    built nccl
    export LD_LIBRARY_PATH=$O/fake
}

@test "gpu-check: no GPU is exit 4 and one JSON document that says why" {
    built nccl
    [[ ! -e /dev/nvidiactl ]] || skip "there is a driver"
    run -4 --separate-stderr "$ROOT/scripts/gpu-check" --bin "$(dirname "$B")" --output result.json
    jq -e '.verdict == "absent" and (.steps[0].message | contains("no NVIDIA driver here"))' result.json
    run -2 "$ROOT/scripts/gpu-check" --nonsense
}

@test "gpu-check: on the stand-ins every step passes, and a failing one is not hidden" {
    fake
    run -0 --separate-stderr "$ROOT/scripts/gpu-check" --bin "$(dirname "$B")" --parts nccl --max 64K --ranks 1,2 --output -
    jq -e '.verdict == "pass" and (.steps | length >= 24) and all(.steps[]; .verdict != "fail") and
        any(.steps[]; .name == "a stopped rank is named" and .verdict == "pass")' <<<"$output"
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr "$ROOT/scripts/gpu-check" \
        --bin "$(dirname "$B")" --parts nccl --max 64K --ranks 2 --output -
    jq -e '.verdict == "fail" and any(.steps[]; .verdict == "fail" and ([.detail.findings[]?.check] | index("coll.data")))' <<<"$output"
}
