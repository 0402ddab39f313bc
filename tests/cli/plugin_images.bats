#!/usr/bin/env bats
# Plug-ins for GPUs where nvcc is not, of what `make images` made elsewhere: so are those
# of `make dist` (scripts/check-packages looks into the archive).
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    unset MAKEFLAGS MFLAGS IMAGES CUDA_CFLAGS NVCC
    fake
}

elsewhere() { make -sC "$ROOT" --no-print-directory O="$PWD/o" NVCC= "$@"; }
# shellcheck disable=SC2016 # make's own variable
gpu_plugins() { elsewhere --eval='built:; @echo $(filter nccl cudnn burst,$(PLUGINS))' built "$@"; }

@test "images of kernels and NVIDIA's headers are all that the plug-ins for GPUs are built of" {
    [[ -z $(gpu_plugins) && -z $(gpu_plugins IMAGES="$PWD/images") ]]
    (cd "$O/pic" && find . -name 'kernels.*' \( -name '*.fatbin' -o -name '*.ptx' \) -exec cp --parents -t "$BATS_TEST_TMPDIR" {} +)
    mkdir images && mv bench plugins images # it takes nvcc long
    make -sC "$ROOT" images O="$O" IMAGES="$PWD/images"
    [[ -e images/include/cuda.h && -e images/include/nccl.h && ! -e images/include/stdio.h ]]
    find images -exec touch -d @0 {} + # a clone's sources are younger
    [[ $(gpu_plugins IMAGES="$PWD/images") == *nccl* ]]
    elsewhere -j2 CFLAGS=-O0 IMAGES="$PWD/images" "$PWD/o/lib/windsock/nccl.so"
    WINDSOCK_PLUGINS=$PWD/o/lib/windsock run -0 --separate-stderr "$B" --backend nccl --np 2 -b 1K -e 64K -f 64 -n 3 --json
    jq -e '.verdict == "pass" and all(.data.results[]; .wrong == 0)' <<<"$output"
}
