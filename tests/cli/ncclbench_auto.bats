#!/usr/bin/env bats
# ncclbench without --backend: NCCL where every rank has a GPU, a rank on each; host memory over
# TCP where there is none, or where NCCL cannot use it, and then why. On stand-ins of the driver
# and NCCL, which compute on the processor.
# shellcheck disable=SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    unset CUDA_VISIBLE_DEVICES
    fake
    export WINDSOCK_FAKE_CUDA=lazy
}
few() { run --separate-stderr timeout 60 "$B" -b 1K -e 1K -n 2 "$@"; }

@test "GPUs: NCCL is measured, a rank on each, and not a word about host memory" {
    WINDSOCK_FAKE_CUDA=three few --json
    [ "$status" -eq 0 ]
    jq -e '.data.backend == "nccl" and (.data.world.ranks | length) == 3 and all(.data.results[]; .wrong == 0)' <<<"$output"
    few
    [[ $output != *"Host memory"* ]]
    few --np 2 --json
    jq -e '.data.backend == "nccl" and (.data.world.ranks | length) == 2' <<<"$output"
}

@test "--backend tcp, and options that tcp alone has, mean tcp" {
    local args
    for args in '--backend tcp' '--sockets 2' '--bind 127.0.0.1' '--wire-rate'; do
        # shellcheck disable=SC2086
        few --json $args
        [ "$status" -eq 0 ]
        jq -e '.data.backend == "tcp" and (.data.world.ranks | length) == 2' <<<"$output"
    done
}

@test "no GPU, or hidden ones: tcp, and it says that this is not NCCL" {
    WINDSOCK_FAKE_CUDA=no-gpu few
    [ "$status" -eq 0 ]
    [[ $output == *"# Host memory over TCP was measured, not NCCL: there is no NVIDIA GPU."* ]]
    [[ $output != *coll.backend* ]]
}

@test "a GPU that NCCL cannot use: tcp, and a warning with what is missing" {
    mkdir only-cuda
    cp "$O/fake/libcuda.so.1" only-cuda
    LD_LIBRARY_PATH=$PWD/only-cuda WINDSOCK_NCCL=/nonexistent.so few --json
    [ "$status" -eq 0 ]
    jq -e '.verdict == "warn" and .data.backend == "tcp" and ([.findings[] | select(.check == "coll.backend")]
        | length == 1 and .[0].status == "warn" and (.[0].message | contains("NCCL cannot use it")) and (.[0].fix | length) > 0)' <<<"$output"
    LD_LIBRARY_PATH=$PWD/only-cuda WINDSOCK_NCCL=/nonexistent.so few
    [[ $output == *"Host memory over TCP was measured, not NCCL and not the GPU: rank 0 ("*"cannot use it"* ]]
}

@test "a GPU on some ranks only: tcp for all, and who keeps the others from theirs" {
    local port other
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    WINDSOCK_FAKE_CUDA=no-gpu timeout 60 "$B" --init "tcp://127.0.0.1:$port" --rank 1 --world-size 2 -b 1K -e 1K -n 2 >other 2>&1 3>&- &
    other=$!
    few --init "tcp://127.0.0.1:$port" --rank 0 --world-size 2 --json
    wait "$other" || cat other
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    jq -e '.data.backend == "tcp" and ([.findings[] | select(.check == "coll.backend")][0].message
        | contains("rank 1 (") and contains("there is no GPU; so the GPUs of 1 other rank were not used either"))' <<<"$output"
}

@test "a driver that does not start is never a reason to measure something else" {
    WINDSOCK_FAKE_CUDA=sick few
    [ "$status" -eq 4 ]
    [[ $stderr == *"the NVIDIA driver does not start: "*"systemctl enable --now nvidia-fabricmanager"*"ncclbench --backend tcp"* ]]
    # nor is nvidia-smi of help, which asks no libcuda
    WINDSOCK_FAKE_CUDA=compat few --backend nccl
    [ "$status" -eq 4 ]
    [[ $stderr == *"the NVIDIA driver does not start: "*"$O/fake/libcuda.so.1 is CUDA's compatibility library"*LD_LIBRARY_PATH* ]]
}
