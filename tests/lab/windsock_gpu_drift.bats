#!/usr/bin/env bats
# GPU nodes of a lab, one of which has other software or other GPUs: it is named against
# the majority; and a burst on the GPUs of all. They are a stand-in of NVIDIA's management
# library, the same file on every node but for what is mounted over it on one. Needs root,
# nft, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" LD_LIBRARY_PATH CONDA_PREFIX PYTHONPATH MASTER_ADDR
    WINDSOCK_HOSTS=node0,node1,node2,node3 WINDSOCK_RSH=$PWD/rsh
    # what all nodes have
    gpus 580.95.05 13000 'NVIDIA H200' 1 >all.nvml
    nccl 2.28.9 >libnccl.so.2
    mkdir -p "venv/lib/python3.12/site-packages/torch-2.9.0+cu130.dist-info"
    nvml=$(realpath "${O:-build}")/fake/nvml/libnvidia-ml.so.1
    [[ -e $nvml ]] || skip "the stand-in was not built: make unit"
    # as on real nodes, it is the shell there that knows where things are
    printf '#!/bin/sh\nhost=$1\nshift\nexec "%s" rsh "%s" "$host" "export %s; $*"\n' "$ROOT/scripts/lab" "$LAB_NAME" \
        "WINDSOCK_NVML='$nvml' WINDSOCK_FAKE_NVML='$PWD/all.nvml' WINDSOCK_NCCL='$PWD/libnccl.so.2' VIRTUAL_ENV='$PWD/venv'" >rsh
    chmod +x rsh
}

gpus() { # DRIVER CUDA NAME ECC: eight of them
    local i
    printf '%s\n' "driver $1" "cuda $2" 'gpus 8' "* name $3" '* memory 150754820096 600000000' \
        '* persistence 1' '* mode 0' "* ecc $4" '* rows 0 0 0 0' '* reasons 1' '* mig 0 0' \
        '* links 111111111111111111' '* remote 2'
    for i in 0 1 2 3 4 5 6 7; do echo "$i pci 00000000:1$i:00.0"; done
}

nccl() { # VERSION: as much of the library as is read of it
    printf 'NCCL version %s+cuda13.0\0%64s' "$1" ''
}

# What all have, with something else in its place on node2: its findings of this stage.
odd() { # PLACE REPLACEMENT
    on 2 mount --bind "$2" "$1"
    look
    on 2 umount "$1"
    ((code == 0 || code == 1))
}

drift() { # CHECK: host and message of what is wrong
    jq -r --arg c "drift.$1" '.findings[] | select(.check == $c and (.status == "warn" or .status == "fail")) |
        "\(.host): \(.message)"' <<<"$output"
}

@test "nodes that are alike: nothing is said about them" {
    odd "$PWD/all.nvml" "$PWD/all.nvml"
    [ "$(jq '[.findings[] | select(.check == "gpu.nvml" and .status == "pass")] | length' <<<"$output")" = 4 ]
    for key in driver cuda gpu_name ecc nvlinks nccl torch; do
        [ -z "$(drift $key)" ] || { drift $key; false; }
    done
}

@test "another driver on one node, and so another CUDA" {
    gpus 570.124.06 12080 'NVIDIA H200' 1 >odd.nvml
    odd "$PWD/all.nvml" "$PWD/odd.nvml"
    [[ $(drift driver) == "node2: 570.124.06 here, 580.95.05 on 3 of 4 hosts"* ]]
    [[ $(drift cuda) == "node2: 12.8 here, 13.0 on 3 of 4 hosts"* ]]
    [ -z "$(drift gpu_name)" ]
    jq -e '.findings[] | select(.check == "drift.driver" and .host == "node2") |
        .fix | length > 0 and (.[0] | contains("580.95.05"))' <<<"$output"
}

@test "another GPU and no ECC on one node" {
    gpus 580.95.05 13000 'NVIDIA H100 80GB HBM3' 0 >odd.nvml
    odd "$PWD/all.nvml" "$PWD/odd.nvml"
    [[ $(drift gpu_name) == "node2: NVIDIA H100 80GB HBM3 here, NVIDIA H200 on 3 of 4 hosts"* ]]
    [[ $(drift ecc) == "node2: off here, on on 3 of 4 hosts"* ]]
    [ -z "$(drift driver)" ]
}

@test "another NCCL, another PyTorch on one node" {
    nccl 2.26.2 >odd.so
    odd "$PWD/libnccl.so.2" "$PWD/odd.so"
    [[ $(drift nccl) == "node2: 2.26.2 here, 2.28.9 on 3 of 4 hosts"* ]]
    mkdir -p odd/lib/python3.12/site-packages/torch-2.7.1+cu126.dist-info
    odd "$PWD/venv" "$PWD/odd"
    [[ $(drift torch) == "node2: 2.7.1+cu126 here, 2.9.0+cu130 on 3 of 4 hosts"* ]]
    [[ $(drift torch_cuda) == "node2: 12.6 here, 13.0 on 3 of 4 hosts"* ]]
}

@test "a burst on eight GPUs of each node: there is time for all of them, but in a short budget" {
    left_out() { jq -r '.findings[] | select(.check == "gpu.burst") | .message | select(startswith("left out"))' <<<"$output"; }
    look --burst
    ((code == 0 || code == 1))
    [ "$(jq '[.findings[] | select(.check == "gpu.burst")] | length' <<<"$output")" -ge 4 ]
    [ -z "$(left_out)" ] || { left_out; false; }
    look --burst --budget 25s
    [[ $(left_out | sort -u) == 'left out: a burst on each takes about 32 s, more than there is time for' ]]
}
