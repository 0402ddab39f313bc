#!/usr/bin/env bats
# ddpsmoke --device cuda without a GPU: on the stand-ins of the driver, cuDNN and
# cuBLAS, which compute on the processor (on a busy one a rank may be slow: a warning). What it says where something is missing,
# too old or failing; and that training there is training here.
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ddpsmoke
    built cudnn
}
# One rank, as little work as there can be.
one() { "$B" --device cuda --np 1 --samples 32 --validation 8 --expect 0 --steps 1 "$@"; }
# Exit code, and what stderr has to say.
says() { # CODE TEXT... -- COMMAND...
    local code=$1 texts=() text
    shift
    while [[ $1 != -- ]]; do
        texts+=("$1")
        shift
    done
    shift
    run -"$code" --separate-stderr "$@"
    for text in "${texts[@]}"; do
        [[ $stderr == *"$text"* ]] || { echo "not said: $text"; echo "$stderr"; return 1; }
    done
}

@test "options that are for a GPU alone, or not for each other" {
    says 2 "--amp is for GPUs" "--device cuda" -- "$B" --device cpu --amp bf16
    says 2 "--tf32 is for GPUs" -- "$B" --device cpu --tf32
    says 2 "one of the two" -- "$B" --device cuda --amp bf16 --tf32
    says 2 "--pattern ddp alone" -- "$B" --device cuda --backend nccl --pattern fsdp
    says 2 "fp16 scales the loss" "--amp bf16" -- "$B" --device cuda --amp fp16 --pattern fsdp
    run -0 "$B" --help
    [[ $output == *--device* && $output == *--amp* && $output == *--tf32* ]]
}

@test "what is missing is named, with what brings it: exit 4" {
    says 4 "cannot load cuDNN" "pip install nvidia-cudnn" -- env WINDSOCK_CUDNN=/nonexistent.so "$B" --device cuda --np 1
    if [[ ! -e /dev/nvidiactl ]]; then
        says 4 "no NVIDIA driver here" "--device cpu" -- \
            env WINDSOCK_CUDNN="$O/fake/libcudnn.so.9" "$B" --device cuda --np 1
    fi
    stand_ins
    says 4 "; --device cpu without --backend nccl trains without a GPU" -- \
        env WINDSOCK_CUBLAS=/nonexistent.so "$B" --device cuda --backend nccl --np 1
    says 4 "has no cudnnConvolutionBackwardFilter" "too old or damaged" -- \
        env WINDSOCK_CUDNN="$O/fake/libcudnn-damaged.so.9" "$B" --device cuda --np 1
    says 4 "cannot load cuBLAS for CUDA 13" "libcublas" -- env WINDSOCK_CUBLAS=/nonexistent.so "$B" --device cuda --np 1
    says 4 "shows no GPU" -- env WINDSOCK_FAKE_CUDA=no-gpu "$B" --device cuda --np 1
    says 4 "opening the GPU failed" "nvidia-smi -c DEFAULT" -- env WINDSOCK_FAKE_CUDA=taken "$B" --device cuda --np 1
    says 3 "does not start: CUBLAS_STATUS" -- env WINDSOCK_FAKE_CUBLAS=start "$B" --device cuda --np 1
}

@test "cuDNN and cuBLAS are those that PyTorch would load, in NCCL's order" {
    local at from cudnn=libcudnn.so.9 blas=libcublas.so.13
    mkdir -p driver loader {other,torch}/nvidia/{cudnn,cu13}/lib torch/torch/lib cuda/lib64
    cp "$O/fake/libcuda.so.1" driver
    for at in torch/torch/lib loader cuda/lib64; do cp "$O/fake/$cudnn" "$O/fake/$blas" $at; done
    for at in other torch; do cp "$O/fake/$cudnn" $at/nvidia/cudnn/lib && cp "$O/fake/$blas" $at/nvidia/cu13/lib; done
    export LD_LIBRARY_PATH=$PWD/loader:$PWD/driver CUDA_HOME=$PWD/cuda PYTHONPATH=$PWD/other:$PWD/torch
    for at in torch/nvidia/{cudnn,cu13}/lib torch/torch/lib/{,} loader/{,} other/nvidia/{cudnn,cu13}/lib cuda/lib64/{,}; do
        if [[ -z ${from-} ]]; then from=$at && continue; fi
        run -0 --separate-stderr one --model mlp --json
        jq -e --arg cudnn "cuDNN 9.19.0 ($(realpath "$from")/$cudnn)" --arg blas "($(realpath "$at")/$blas)" \
            '.data.device | contains($cudnn) and contains($blas)' <<<"$output" || { echo "$from, $at: $stderr"; return 1; }
        : >"$from/$cudnn" && : >"$at/$blas"
        from=
    done
    [[ ! -e /usr/local/cuda/lib64/$cudnn ]] || return 0
    says 4 "cannot load cuDNN: " "$PWD/torch/nvidia/cudnn/lib/$cudnn: file too short" \
        "looked at WINDSOCK_CUDNN, the packages of the active Python's PyTorch, its lib, its conda's, the loader's path" -- one
}

@test "a cuBLAS that was named brings the other half that lies beside it" {
    local at
    mkdir -p loader named
    cp "$O/fake/"lib{cuda.so.1,cudnn.so.9} loader
    for at in loader named; do
        echo 'char cublasLt_of;' | ${CC:-cc} -shared -fPIC -Wl,-soname,libcublasLt.so.13 -x c -o $at/libcublasLt.so.13 -
    done
    cp "$O/fake/libcublas.so.13" named/libcublas.so.13
    export LD_LIBRARY_PATH=$PWD/loader
    WINDSOCK_FAKE_CUBLAS=halves WINDSOCK_CUBLAS=$PWD/named/libcublas.so.13 run -0 --separate-stderr one --model mlp
    WINDSOCK_FAKE_CUBLAS=halves WINDSOCK_CUBLAS=$O/fake/libcublas.so.13 run -3 --separate-stderr one --model mlp
    [[ $stderr == *"does not start: CUBLAS_STATUS"* ]]
}

@test "what cuDNN compiles its kernels with is loaded from CUDA's folder before it looks for it" {
    stand_ins
    mkdir -p cuda/lib64
    echo 'int nvrtcVersion(void) { return 0; }' | ${CC:-cc} -shared -fPIC -Wl,-soname,libnvrtc.so.13 \
        -x c -o cuda/lib64/libnvrtc.so.13 -
    ${CC:-cc} -shared -fPIC -Wl,-soname,libnvrtc-builtins.so.13.0 -x c -o cuda/lib64/libnvrtc-builtins.so.13.0 /dev/null
    CUDA_HOME=$PWD/cuda WINDSOCK_FAKE_CUDNN=compiles run -0 --separate-stderr one --model cnn
}

@test "what is too old, or does not fit the driver: exit 4" {
    stand_ins
    says 4 "is cuDNN 8.9: too old" "cuDNN 9" -- env WINDSOCK_FAKE_CUDNN=old "$B" --device cuda --np 1
    says 4 "is made for CUDA 14, this driver knows CUDA 13.0 at most" "WINDSOCK_CUDNN=FILE" -- \
        env WINDSOCK_FAKE_CUDNN=cuda-14 "$B" --device cuda --np 1
    says 4 "is made for CUDA 13, this driver knows CUDA 12.4 at most" "nvidia-cudnn-cu12" -- \
        env WINDSOCK_FAKE_CUDA=old-driver "$B" --device cuda --np 1
    WINDSOCK_FAKE_CUDA=lazy-launch run -0 one # of the kernels alone there is text, which any driver reads
    says 3 "SUBLIBRARY_VERSION_MISMATCH: libcudnn_cnn.so.9 is of another version" "be of one version" "LD_LIBRARY_PATH has others" -- env WINDSOCK_FAKE_CUDNN=mixed "$B" --device cuda --np 1
    says 4 "does not compute in bf16" "--amp fp16" -- \
        env WINDSOCK_FAKE_CUDA=old-gpu "$B" --device cuda --np 1 --amp bf16
}

# A finding about the GPU, with what shows more of it.
sick() { # SENTENCE COMMAND...
    local sentence=$1
    shift
    run -1 --separate-stderr "$@" --json
    jq -e --arg s "$sentence" '[.findings[] | select(.status == "fail")] | length == 1 and .[0].check == "gpu.work" and
        .[0].subject == "rank 0" and (.[0].message | contains($s)) and (.[0].fix[0] | contains("xid"))' <<<"$output"
}
never_ready() { # SECONDS: all else, too, has to come within them, which on a busy machine it may not
    sick "did not finish within $1 s" one --deadline "${1}s"
}

@test "a GPU that fails at its work, or never ends it, is sick: exit 1, also where it fails at the first" {
    stand_ins
    WINDSOCK_FAKE_CUDA=lost sick "CUDA says: an illegal memory access was encountered" one
    WINDSOCK_FAKE_CUDA=lost sick "illegal memory access" one --np 2 --samples 64
    WINDSOCK_FAKE_CUDA=lost sick "illegal memory access" one --device auto
    # one that drives a screen is well, and has its own
    WINDSOCK_FAKE_CUDA=watched run -1 --separate-stderr one --json
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and .[0].check == "gpu.watchdog" and
        (.[0].message | contains("a screen is at this GPU")) and (.[0].fix[0] | contains("use another GPU"))' <<<"$output"
    export WINDSOCK_FAKE_CUDA=busy
    never_ready 1 || never_ready 8 || never_ready 60 || { echo "$output $stderr"; return 1; }
}

@test "the GPU of one rank alone is sick: it is that rank that is named" {
    local port=$((20000 + RANDOM % 10000)) ask
    stand_ins
    ask=(--device cuda --samples 64 --validation 8 --expect 0 --steps 1 --init "tcp://127.0.0.1:$port" --world-size 2)
    WINDSOCK_FAKE_CUDA=lost "$B" "${ask[@]}" --rank 1 >other 2>&1 3>&- &
    run -1 --separate-stderr "$B" "${ask[@]}" --rank 0 --json
    wait $! && false
    jq -e 'any(.findings[]; .status == "fail" and .subject == "rank 1" and (.message | contains("illegal memory access")))' <<<"$output"
}

@test "a GPU that is full, and calls that fail: exit 3" {
    stand_ins
    export WINDSOCK_FAKE_CUDA=small
    says 3 "MiB of memory left" "a smaller --batch" -- one --batch 512 --samples 512
    export WINDSOCK_FAKE_CUDA='' WINDSOCK_FAKE_CUDNN=fail
    says 3 "a convolution failed" "cuDNN says: CUDNN_STATUS_EXECUTION_FAILED" "node 0" -- one
    export WINDSOCK_FAKE_CUDNN=none
    says 3 "choosing a convolution failed" "CUDNN_STATUS_NOT_SUPPORTED" -- one
    export WINDSOCK_FAKE_CUDNN='' WINDSOCK_FAKE_CUBLAS=fail
    says 3 "a product failed" "cuBLAS says: CUBLAS_STATUS_EXECUTION_FAILED" -- one --model mlp
}

small=(--batch 8 --samples 32 --validation 8 --expect 0 --epochs 1) # two steps of two ranks
losses() { jq -c '[.data.steps[].loss]'; }

@test "what cuDNN recommends and then refuses is done in another way, by all ranks alike" {
    local how plain why
    stand_ins
    for how in "" "--amp bf16"; do
        # shellcheck disable=SC2086 # options
        run -0 --separate-stderr "$B" --device cuda --np 2 "${small[@]}" $how --json
        plain=$(losses <<<"$output")
        for why in refuses uncompiled; do
            # shellcheck disable=SC2086
            WINDSOCK_FAKE_CUDNN=$why run -0 --separate-stderr "$B" --device cuda --np 2 "${small[@]}" $how --json
            jq -e '.data.checks.equals_single_process' <<<"$output"
            [[ $(losses <<<"$output") == "$plain" ]]
        done
    done
}

@test "two ranks share a GPU, all proofs hold, and the losses are the CPU's" {
    stand_ins
    export WINDSOCK_FAKE_CUDA=lazy
    run -0 --separate-stderr "$B" --device cuda --np 2 "${small[@]}" --json
    jq -e '(.verdict | . == "pass" or . == "warn") and .data.model.engine == "cudnn" and .data.checks.equals_single_process and
        .data.checks.params_equal_across_ranks and (.data.device | contains("cuDNN 9.19.0"))' <<<"$output"
    gpu=$(losses <<<"$output")
    run -0 --separate-stderr "$B" --np 2 "${small[@]}" --json
    cpu=$(losses <<<"$output")
    jq -en --argjson a "$gpu" --argjson b "$cpu" \
        '($a | length) == 2 and ([range($a | length) | ($a[.] - $b[.]) | fabs < 1e-4] | all)'
    run -0 "$B" --device cuda --np 2 "${small[@]}"
    [[ $output == *"2 local ranks on the GPU, gradients over NCCL; no network was tested"* ]]
}

@test "gradients are the processor's, or the GPU is named, though the loss falls all the same" {
    local how args=("${small[@]}" --np 1 --json)
    stand_ins
    for how in "" --tf32 "--amp bf16" "--amp fp16" "--model mlp" "--pattern fsdp"; do
        # shellcheck disable=SC2086 # options
        run -0 --separate-stderr "$B" --device cuda "${args[@]}" $how
        jq -e '.data.checks.gpu_equals_cpu and any(.findings[]; .check == "train.compute" and .status == "pass")' <<<"$output"
    done
    for how in "" --tf32 "--amp bf16" "--amp fp16" "--np 2"; do
        # shellcheck disable=SC2086
        WINDSOCK_FAKE_CUDNN=short run -1 --separate-stderr "$B" --device cuda "${args[@]}" $how
        jq -e '(.data.checks.gpu_equals_cpu | not) and ([.findings[] | select(.status == "fail")] |
            map(.check) == ["train.compute"] and .[0].subject == "rank 0" and (.[0].message | contains("GPU 0") and
            test("a convolution[)] it is 0[.](79|8)")))' <<<"$output" || { echo "$how: $output"; return 1; }
    done
    # where the processor cannot train the model itself: the same library's layers of another one
    mkdir plugins
    ln -s "$O"/lib/windsock/{cudnn,nccl}.so plugins
    export WINDSOCK_PLUGINS=$PWD/plugins
    args=(--model resnet18 --side 32 --batch 2 --samples 16 --validation 2 --expect 0 --steps 1 --np 1)
    run -0 --separate-stderr "$B" --device cuda "${args[@]}"
    [[ $output == *"is the processor's in each of cnn's 4 layers"* ]]
    WINDSOCK_FAKE_CUDNN=short run -1 --separate-stderr "$B" --device cuda "${args[@]}"
    [[ $output == *"of cnn (a convolution) it is 0.8"* ]]
}

@test "one rank whose gradients stay on the GPU trains as the CPU does" {
    stand_ins
    export WINDSOCK_FAKE_CUDA=lazy
    # 8 steps are proven, the rest is done there alone
    args=(--np 1 --batch 8 --samples 128 --validation 32 --expect 0 --epochs 2)
    run -0 --separate-stderr "$B" --device cuda "${args[@]}" --json
    gpu=$(losses <<<"$output")
    run -0 --separate-stderr "$B" "${args[@]}" --json
    jq -en --argjson a "$gpu" --argjson b "$(losses <<<"$output")" \
        '($a | length) == 32 and ([range($a | length) | ($a[.] - $b[.]) | fabs < 1e-3] | all)'
}

@test "one rank alone is as fast as a rank goes alone: nothing travels that stays on the GPU while ranks train" {
    stand_ins
    # 320 KB of parameters there and as many gradients back are 40 ms, and all the rest of a step few
    args=(--device cuda --np 1 --model mlp --batch 8 --samples 256 --validation 32 --expect 0 --epochs 1 --json)
    WINDSOCK_FAKE_CUDA=far run -0 --separate-stderr "$B" "${args[@]}"
    jq -e '.data.throughput | .alone_samples_per_s > 8 / 0.040' <<<"$output" ||
        { jq .data.throughput <<<"$output"; return 1; }
}

@test "fp16: steps that its loss scaling leaves out prove nothing" {
    local args=(--device cuda --amp fp16 --np 1 --expect 0 --json)
    stand_ins
    run -0 --separate-stderr "$B" "${args[@]}" --model mlp --batch 1 --lr 0.02 --samples 64 --validation 8 --steps 9
    jq -e '.data.model.skipped_steps as $n | $n > 0 and any(.findings[]; .check == "train.reference" and
        .status == "pass" and (.message | test("^after [1-7] step")))' <<<"$output"
    run -0 --separate-stderr "$B" "${args[@]}" --model resnet18 --side 32 --batch 2 --samples 4 --validation 2 --steps 2 # too few to find a scale
    jq -e '.data.model.skipped_steps == 2 and (.data.checks | has("equals_single_process") | not) and
        any(.findings[]; .check == "train.reference" and .status == "skip")' <<<"$output"
}

@test "gradients by NCCL, where they are: the same proofs, and the wrong rank is named" {
    built nccl
    stand_ins
    unset WINDSOCK_NCCL
    says 2 "--backend nccl is for GPUs" "--device cuda" -- "$B" --device cpu --backend nccl
    nccl=(--device cuda --backend nccl --np 2 --batch 8 --samples 192 --validation 32 --expect 0 --epochs 1)
    run -0 --separate-stderr "$B" "${nccl[@]}" --json
    jq -e '(.verdict | . == "pass" or . == "warn") and .data.backend == "nccl" and .data.checks.equals_single_process and
        .data.checks.params_equal_across_ranks and (.data.steps | length) == 12' <<<"$output"
    run -1 --separate-stderr "$B" "${nccl[@]}" --fault 1:nan:10 --json
    jq -e 'any(.findings[]; .check == "train.finite" and .status == "fail" and .subject == "rank 1" and
        (.message | endswith("in step 10")))' <<<"$output" # while the batch of step 11 was filled
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr "$B" "${nccl[@]}" --json
    jq -e 'any(.findings[]; .check == "train.params" and .status == "fail" and
        ((.message | contains("cannot be told")) or .subject == "rank 1"))' <<<"$output"
    WINDSOCK_FAKE_NCCL=any-order run -0 --separate-stderr "$B" "${nccl[@]}" --np 3 --json # switches add like that
    jq -e '.verdict == "warn" and .data.checks.equals_single_process and any(.findings[]; .check == "train.repeat" and
        .status == "warn" and (.message | contains("another order")) and (.fix[0] | startswith("NCCL_NVLS_ENABLE=0 ")))' <<<"$output"
    local r
    for r in 0 1; do # neither has the bits of the one process that decides it
        run -1 --separate-stderr "$B" "${nccl[@]}" --fault $r:wire:3 --json
        jq -e --arg rank "rank $r" '[.findings[] | select(.status == "fail")] |
            map(.check) == ["train.params", "train.reference"] and all(.subject == $rank)' <<<"$output"
    done
}

@test "16 bit types: all proofs hold, and the loss is near float32's" {
    stand_ins
    for amp in bf16 fp16; do
        run -0 --separate-stderr "$B" --device cuda --amp $amp --np 2 --lr 0.02 "${small[@]}" --json
        jq -e --arg amp $amp '(.verdict | . == "pass" or . == "warn") and (.data.device | contains($amp)) and
            .data.checks.params_equal_across_ranks and (.data.checks.tolerance | . > 1e-5 and . < 1e-2) and
            .data.steps[0].loss > 2.2 and .data.steps[0].loss < 2.5' <<<"$output"
    done
    run -0 "$B" --device cuda --tf32 --pattern fsdp --np 2 "${small[@]}"
}
