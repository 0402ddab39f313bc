#!/usr/bin/env bats
# ddpsmoke without --device: the GPU where there is one, a rank on each; the CPU where the
# engine's libraries are missing, and why; never where the GPU itself is sick. On the
# stand-ins of the driver, cuDNN and cuBLAS, which compute on the processor.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154
bats_require_minimum_version 1.5.0
load plugins.sh
load ddpsmoke.sh

setup() {
    plugin_test ddpsmoke
    unset CUDA_VISIBLE_DEVICES
    built cudnn
    stand_ins
    export WINDSOCK_FAKE_CUDA=lazy
}
SHORT=(--samples 96 --validation 32 --expect 0 --epochs 1)
few() { run --separate-stderr "$BIN/ddpsmoke" "${SHORT[@]}" "$@"; }
without_cudnn() { WINDSOCK_CUDNN=/nonexistent.so few "$@"; }

@test "a GPU: it is taken, by one rank, and the report says so" {
    few
    [ "$status" -eq 0 ]
    [[ $output == *"1 local rank on the GPU; no exchange and no network was tested"* ]]
    run ! grep -q train.device <<<"$output"
    few --json
    jq -e '.data.model.engine == "cudnn" and (.data.world.ranks | length == 1 and .[0].device == "cuda") and
        (.data.device | contains("cuDNN"))' <<<"$output"
}

@test "three GPUs: a rank on each; --np says otherwise; the batch has to fit them" {
    local samples
    export WINDSOCK_FAKE_CUDA=three
    few --json
    [ "$status" -eq 0 ]
    jq -e '.data.model.engine == "cudnn" and (.data.world.ranks | length == 3) and
        .data.checks.equals_single_process' <<<"$output"
    few --np 2 --device cuda --json
    jq -e '.data.world.ranks | length == 2' <<<"$output"
    few --fault 2:flip:0 # which GPU, and how to see it alone
    grep -Eq '^fail  train.reference .*rank 2 \(.*, GPU 2\) computed another gradient in step 0' <<<"$output"
    [[ $output == *"-> CUDA_VISIBLE_DEVICES=2 ddpsmoke --np 1 --samples 96 --validation 32 --epochs 20"* ]]
    for samples in 32 256 1024; do # others take more of one rank's processor only for a while
        few --np 2 --device cuda --samples $samples --batch 8 --validation 8 --fault 1:slow
        ! grep -Eq '^warn  train.pace .*rank 1 \(.*, GPU 1\) is .*x slower than the others: compute' <<<"$output" || break
        [ $samples -lt 1024 ] || { echo "$output"; return 1; }
    done
    [[ $output == *"-> nvidia-smi -i 1 -q -d PERFORMANCE"* ]]
    few --global-batch 16
    [ "$status" -eq 2 ]
    [[ $stderr == *"3 ranks cannot share 16 samples evenly; 15 and 18 work"* ]]
}

@test "no GPU, or --device cpu: two ranks on the CPU, and not a word about GPUs" {
    local args
    export WINDSOCK_FAKE_CUDA=no-gpu CUDA_VISIBLE_DEVICES=
    for args in '' '--device cpu' '--device auto'; do
        # shellcheck disable=SC2086
        few $args
        [ "$status" -eq 0 ]
        [[ $output == *"2 local ranks on the CPU, gradients over TCP; neither a GPU nor a network was tested"* ]]
        run ! grep -q train.device <<<"$output"
    done
    WINDSOCK_FAKE_CUDA='' few --device cpu
    [[ $output == *"2 local ranks on the CPU"* ]]
}

@test "a GPU that CUDA_VISIBLE_DEVICES names wrongly: a warning; one that it hides: not a word" {
    local visible card=$PWD/sys/bus/pci/devices/0000:17:00.0
    mkdir -p "$card"
    echo 0x10de >"$card/vendor"
    echo 0x030200 >"$card/class"
    export WINDSOCK_FAKE_CUDA=no-gpu
    for visible in 7 GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 MIG-8932f937; do
        CUDA_VISIBLE_DEVICES=$visible few --sysroot "$PWD"
        grep -Eq "^warn  train.device .*\(0000:17:00.0\) was not used: CUDA_VISIBLE_DEVICES=$visible names none" <<<"$output"
        [[ $output == *"-> unset CUDA_VISIBLE_DEVICES "* ]]
    done
    CUDA_VISIBLE_DEVICES=0 few --sysroot "$PWD" # names one wherever one works
    [[ $output == *"-> nvidia-smi; dmesg"* ]]
    for visible in '' -1 NoDevFiles; do
        CUDA_VISIBLE_DEVICES=$visible few --sysroot "$PWD"
        run ! grep -q train.device <<<"$output"
        CUDA_VISIBLE_DEVICES=$visible few --device cuda
        [ "$status" -eq 4 ]
        [[ $stderr == *"the NVIDIA driver shows no GPU"*"CUDA_VISIBLE_DEVICES='$visible' hides them"* ]]
    done
}

@test "a GPU without cuDNN, cuBLAS or the plug-in: the CPU, a warning, and what brings it" {
    without_cudnn
    [ "$status" -eq 0 ]
    grep -Eq '^warn  train.device .*a GPU is here and was not used: cannot load cuDNN' <<<"$output"
    [[ $output == *"-> "*"pip install nvidia-cudnn"* ]]
    [[ $output == *"on the CPU"* ]]
    without_cudnn --strict
    [ "$status" -eq 1 ]
    WINDSOCK_CUBLAS=/nonexistent.so few
    grep -q '^warn  train.device .*cannot load cuBLAS' <<<"$output"
    WINDSOCK_PLUGINS=$BATS_TEST_TMPDIR few --json
    [ "$status" -eq 0 ]
    jq -e '.verdict == "warn" and .data.model.engine != "cudnn" and any(.findings[];
        .check == "train.device" and .status == "warn" and (.message | contains("cudnn.so is not there")))' <<<"$output"
    without_cudnn --device cuda
    [ "$status" -eq 4 ]
}

@test "a sick driver or a sick library is no reason for the CPU" {
    WINDSOCK_FAKE_CUDA=sick few
    [ "$status" -eq 4 ]
    [[ $stderr == *"the NVIDIA driver does not start: "*"ddpsmoke --device cpu"* ]]
    WINDSOCK_FAKE_CUDA=sick few --np 2
    [ "$status" -eq 4 ]
    [[ $stderr == *"the NVIDIA driver does not start: "* ]]
    WINDSOCK_FAKE_CUBLAS=start few # it is here: 4 would say that it is not
    [ "$status" -eq 3 ]
    [[ $stderr == *"does not start: CUBLAS_STATUS"* ]]
    WINDSOCK_FAKE_CUDA=lost few # and says something about this GPU
    [ "$status" -eq 1 ]
}

@test "what only a GPU can do means the GPU" {
    WINDSOCK_FAKE_CUDA=no-gpu few --amp bf16
    [ "$status" -eq 4 ]
    without_cudnn --tf32
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot load cuDNN"* ]]
    few --amp bf16 --json
    [ "$status" -eq 0 ]
    jq -e '.data.device | contains("bf16")' <<<"$output"
}

@test "ranks that do not all have a GPU: all take the CPU, and whose fault that is" {
    ranks "" "" WINDSOCK_CUDNN=/nonexistent.so
    [ "${ENDED[*]}" = "0 0" ] || { cat ./*; false; }
    grep -Eq '^warn  train.device .*rank 1 \(.*\): a GPU is here and was not used: cannot load cuDNN.*; so the GPUs of 1 other rank were not used either' 0
    grep -q '2 local ranks on the CPU' 0
    ranks "" "" WINDSOCK_FAKE_CUDA=no-gpu
    [ "${ENDED[*]}" = "0 0" ]
    grep -Eq '^warn  train.device .*rank 1 \(.*\): there is no GPU; so the GPUs of 1 other rank were not used either' 0
    ranks "--device cuda" "--device cpu"
    [ "${ENDED[*]}" = "1 1" ]
    grep -Eq '^fail  rank.alike .*rank 1 \(.*\) was started with --device cpu, rank 0 with cuda' 0
    local odd start=$SECONDS
    ranks "--device cuda" "--device cuda" WINDSOCK_CUDNN=/nonexistent.so
    [ "${ENDED[1]}" = 4 ] && ((ENDED[0] && SECONDS - start < 15))
    grep -Eq 'rank 1 \(.*\): cannot load cuDNN' 0 0.err
    for odd in '--amp bf16' '--amp fp16' --tf32; do
        ranks "--device cuda" "--device cuda $odd"
        grep -Eq "^fail  rank.alike .*rank 1 \(.*\) has $odd, rank 0 has (--amp off|no --tf32)" 0 || { cat 0; false; }
    done
}

@test "a rank whose GPU takes long for its first pass is waited for, beyond the deadline" {
    local backend
    for backend in auto tcp; do
        # less than the 6 s of it, and enough for a busy machine
        ranks "--deadline 5s --backend $backend" "--deadline 5s --backend $backend" WINDSOCK_FAKE_CUDNN=slow
        [ "${ENDED[*]}" = "0 0" ] || { cat ./*; false; }
    done
}

@test "--emit says what starts one's script on the GPUs" {
    export WINDSOCK_FAKE_CUDA=three
    few --emit accelerate
    [ "$output" = "accelerate launch --multi_gpu --num_machines 1 --num_processes 3 train.py" ]
    few --device cpu --emit accelerate
    [ "$output" = "ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_machines 1 --num_processes 2 train.py" ]
}

@test "gradients of GPUs go by NCCL; where it is missing over TCP, with a warning; fsdp by TCP" {
    built nccl
    export WINDSOCK_FAKE_CUDA=three # on a busy processor a rank may be slow: a warning
    few --json
    [ "$status" -eq 0 ]
    jq -e '(.verdict | . == "pass" or . == "warn") and .data.checks.equals_single_process and .data.checks.params_equal_across_ranks
        and ([.findings[] | select(.check == "train.backend")] | length == 1 and .[0].subject == "nccl")' <<<"$output"
    few --backend tcp --json
    jq -e '(.verdict | . == "pass" or . == "warn") and ([.findings[] | select(.check == "train.backend")] == [])' <<<"$output"
    few --pattern fsdp --json
    jq -e '(.verdict | . == "pass" or . == "warn") and ([.findings[] | select(.check == "train.backend")] == [])' <<<"$output"
    WINDSOCK_NCCL=/nonexistent.so few
    [ "$status" -eq 0 ]
    grep -Eq '^warn  train.backend .*TCP carried the gradients of GPUs, not NCCL: rank 0 .*cannot load NCCL' <<<"$output"
}

@test "the next batch is filled while the GPU computes gradients: by one rank, and by two that reduce there" {
    local np
    built nccl
    for np in 1 2; do
        WINDSOCK_FAKE_CUDA=ahead run -0 --separate-stderr "$BIN/ddpsmoke" --device cuda --np $np --backend nccl \
            --model mlp --samples 512 --validation 32 --batch 16 --expect 0 --epochs 1 --json
        # 16 steps a rank at least, of which the first 8 are looked at in the host's memory
        (($(grep -c "filled beside a backward pass" <<<"$stderr") >= np * 5)) || { echo "$stderr"; return 1; }
        # the time for it is in one phase, and not in two
        jq -e '.data | ([.steps[].seconds] | add) as $all | .throughput.ranks[0].seconds |
            all(.[]; . >= 0) and (add / $all | . > 0.999 and . < 1.001)' <<<"$output"
    done
}
