#!/usr/bin/env bats
# Nodes of a lab with RDMA cards, one of which has a port that is down, a slow one or other
# firmware: it is named against the majority. The cards are files that are mounted over each node's
# /sys/class. Needs root, overlay mounts, jq.
# shellcheck disable=SC2034,SC2154 # windsock.sh reads and sets them
bats_require_minimum_version 1.5.0

load windsock.sh

setup() {
    local node card at
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" MASTER_ADDR
    WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME" WINDSOCK_HOSTS=node0,node1,node2,node3
    for node in 0 1 2 3; do
        for card in 0 1 2 3; do
            at=class$node/infiniband/mlx5_$card
            mkdir -p "$at/ports/1"
            echo '1: CA' >"$at/node_type"
            echo 28.39.1002 >"$at/fw_ver"
            echo InfiniBand >"$at/ports/1/link_layer"
            echo '4: ACTIVE' >"$at/ports/1/state"
            echo '400 Gb/sec (4X NDR)' >"$at/ports/1/rate"
        done
        on "$node" mount -t overlay overlay -o "lowerdir=$PWD/class$node:/sys/class" /sys/class ||
            skip "no overlay can be mounted here"
    done
}

teardown() {
    for node in 0 1 2 3; do on "$node" sh -c 'umount /sys/class 2>/dev/null || :'; done
}

rdma() { # what is said of them
    jq -r '.findings[] | select(.check | startswith("drift.rdma")) | "\(.check) \(.status) \(.host): \(.message)"' <<<"$output"
}

@test "cards that are alike: nothing is said about them" {
    look
    [ "$code" = 0 ]
    [ -z "$(rdma)" ]
    [ "$(jq -c '[.nodes[].data.facts | {rdma_ports, rdma_layer, rdma_rate, rdma_fw}] | unique' <<<"$output")" = \
        '[{"rdma_ports":4,"rdma_layer":"InfiniBand","rdma_rate":400,"rdma_fw":"28.39.1002"}]' ]
}

@test "a port that is down on one node" {
    echo '1: DOWN' >class2/infiniband/mlx5_1/ports/1/state
    look
    [ "$code" = 1 ]
    [ "$(rdma)" = "drift.rdma_ports fail node2: 3 here, 4 on 3 of 4 hosts (mlx5_1: DOWN)" ]
}

@test "a slow port on one node, other firmware on another one" {
    echo '200 Gb/sec (4X HDR)' >class1/infiniband/mlx5_3/ports/1/rate
    echo 28.36.1010 >class3/infiniband/mlx5_0/fw_ver
    look
    [ "$code" = 1 ]
    [ "$(rdma | sort)" = "drift.rdma_fw warn node3: 28.36.1010, 28.39.1002 here, 28.39.1002 on 3 of 4 hosts
drift.rdma_rate fail node1: 200 here, 400 on 3 of 4 hosts (mlx5_3)" ]
}
