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

# What make knows of a stand-in for nvcc, as its variables.
asked() { # VARIABLE MAKE-ARGUMENTS...
    make -sC "$ROOT" --no-print-directory O="$PWD/o" NVCC="$PWD/cuda/bin/nvcc" --eval="asked: ; @echo '\$($1)'" asked "${@:2}"
}
nvcc() { # SCRIPT: what it does but for its version
    printf '#!/bin/sh\necho "$*" >>%q/calls\ncase "$*" in *--version*) echo 11.2; exit ;; esac\n%s\n' "$PWD" "$1" >cuda/bin/nvcc
    chmod +x cuda/bin/nvcc
    rm -rf o/nvcc.asked
}

@test "nvcc is asked once how it compiles here; where it does not, plug-ins for GPUs are left out, and it is said" {
    mkdir -p cuda/bin cuda/include
    touch cuda/include/{cuda,nccl}.h
    nvcc 'exit 0'
    [ "$(asked 'NVCC_WORKS) $(NVCCFLAGS) $(CUDA_CFLAGS')" = "$PWD/cuda/bin/nvcc  -arch=all-major -isystem $PWD/cuda/include" ]
    [ "$(asked CUDA_CFLAGS NVCC="env $PWD/cuda/bin/nvcc")" = "-isystem $PWD/cuda/include" ]
    nvcc 'exit 0'
    asked NVCC_WORKS
    rm calls
    [[ " $(asked PLUGINS) " == *" nccl "* ]]
    [ "$(cat calls)" = --version ]
    nvcc 'case "$*" in *all-major*|*80*) echo "nvcc fatal   : Value is not defined" >&2; exit 1 ;; esac' # CUDA 10
    [ "$(asked NVCCFLAGS | tr ' ' '\n' | grep -c '^-gencode=arch=compute_[567]0,code=sm_[567]0$')" = 3 ]
    nvcc 'case "$*" in *dryrun*|*-allow-unsupported-compiler*) ;; *) echo "error: -- unsupported GNU version!" >&2; exit 1 ;; esac'
    [ "$(asked NVCC_WORKS)" = "$PWD/cuda/bin/nvcc -allow-unsupported-compiler" ]
    nvcc 'echo "#error -- unsupported GNU version! gcc \$(later) \"13\"" >&2; exit 1'
    [[ $(asked COMM_LEFT_OUT) == *nccl* && " $(asked PLUGINS) " != *" nccl "* ]]
    run -0 make -nC "$ROOT" O="$PWD/o" NVCC="$PWD/cuda/bin/nvcc" plugins
    [[ $output == *"no code for GPUs: $PWD/cuda/bin/nvcc compiles nothing here: error -- unsupported GNU version gcc later 13"* ]]
    [ -z "$(asked CUDA_CFLAGS NVCC=/usr/bin/nvcc NVCC_WORKS=x)" ] # g++ finds its own headers
}
