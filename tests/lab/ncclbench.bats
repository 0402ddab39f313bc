#!/usr/bin/env bats
# ncclbench across the lab's nodes: ranks through --hosts. What happens when something
# breaks is in ncclbench_faults.bats, who is slow in ncclbench_slow.bats.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../nodes.sh

setup_file() { nodes_up 4; }

@test "--copy-self: a host without ncclbench gets it, and nothing is left; --keep leaves it" {
    cd "$BATS_TEST_TMPDIR"
    mkdir tmp home
    # a remote shell whose other side has folders of this test only
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec $WINDSOCK_RSH "$1" "export TMPDIR=%s/tmp HOME=%s/home; $2"\n' "$PWD" "$PWD" >rsh
    chmod +x rsh
    on 1 mount -t tmpfs none "$BIN"
    local keep bench=("$BIN/ncclbench" --hosts "node0,node1" --rsh "$PWD/rsh" -b 8 -e 8)
    run -1 --separate-stderr on 0 "${bench[@]}"
    [[ $output$stderr == *"ncclbench is not installed on node1, "*"--copy-self"* ]]
    for keep in --copy-self --keep; do
        run -0 --separate-stderr on 0 "${bench[@]}" "$keep"
        [[ $output == *"PASS coll.data"* && $output == *" on      node1 "* ]]
        [ -z "$(ls -A tmp)" ]
        if [ "$keep" = --keep ]; then
            [ -d home/.cache/windsock ]
        else
            [ ! -e home/.cache/windsock ]
        fi
    done
    on 1 umount "$BIN"
}

@test "ranks on four nodes: one each, two each, and their addresses" {
    run -0 --separate-stderr "$LAB" run 4 -- "$BIN/ncclbench" --hosts lab -b 8 -e 1M -n 2
    [ "$(grep -vc '^#' <<<"$output")" -eq 18 ]
    [[ $output == *"Rank  3 "*" on      node3 device  0 [10.77.0.4] host memory"* ]]
    run -0 --separate-stderr "$LAB" run 2 -- "$BIN/ncclbench" --hosts lab --np-per-host 2 -b 8 -e 8 --json
    jq -e '[.data.world.ranks[] | .host + " " + .address] == ["node0 10.77.0.1", "node0 10.77.0.1",
        "node1 10.77.0.2", "node1 10.77.0.2"]' <<<"$output"
    jq -e '.data.covers | test("4 ranks on 2 hosts")' <<<"$output"
}

@test "every collective between nodes" {
    local c
    for c in all_reduce all_gather reduce_scatter broadcast reduce alltoall gather scatter sendrecv; do
        run -0 --separate-stderr on 0 "$BIN/ncclbench" --hosts 'node[0-2]' \
            --rsh "$LAB rsh $LAB_NAME" --coll "$c" -b 100K -e 200K -n 2
        [[ $output == *"PASS coll.data: 4 results verified, none wrong"* ]]
    done
}

@test "a node that cannot be reached is named, nothing is started" {
    run -1 --separate-stderr on 0 timeout 40 "$BIN/ncclbench" --hosts node0,nowhere \
        --rsh "$LAB rsh $LAB_NAME" -b 8 -e 8
    [[ $output == *"FAIL host.reach: "*nowhere* ]]
}
