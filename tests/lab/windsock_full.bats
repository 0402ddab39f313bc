#!/usr/bin/env bats
# windsock --full over the nodes of a lab with the real commands: no false alarm on a
# healthy cluster, a node with a fifth of the bandwidth and one that computes slowly
# are named, a budget picks what fits. Needs root, nft, jq.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
}

valid() { "$ROOT/scripts/validate" json - <<<"$output"; }

said() { # CHECK: its messages
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | .message' <<<"$output"
}

full_stages() { # "pairs pass,..." of what --full adds
    jq -r '.data.stages[] | select(.name | IN("pairs", "find-slow", "sweep", "expectations")) |
        "\(.name) \(.status)"' <<<"$output" | paste -sd,
}

@test "a healthy cluster: pairs, who is slow, a long sweep, training; no alarm" {
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit -- "$BIN/windsock" --hosts lab --full --budget 30s --json
    valid
    [ "$(jq -c '[.findings[] | select(.status | IN("fail", "error"))]' <<<"$output")" = "[]" ]
    # a machine that starves all nodes may cut the sweep short; nobody is accused
    full_stages
    [[ $(full_stages) =~ ^"pairs pass,find-slow pass,sweep "(pass|warn)",expectations pass"$ ]]
    [ "$(jq -c '[.findings[] | select(.status == "warn" and (.check | test("^pair|^train")))]' <<<"$output")" = "[]" ]
    [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts and the ways between them, with pairs, long sweeps and training" ]]
    # what each of them measured is there
    jq -e '.data.parts | (.pairs.pairs | length == 12) and (."find-slow".pairs | length == 12)' <<<"$output"
    jq -e '(.data.parts.sweep.results | map(.size) | max) >= 8388608' <<<"$output"
    jq -e '.data.parts.expectations.throughput.samples_per_s > 0' <<<"$output"
    jq -e '.data.expectations.nodes | length == 4' <<<"$output"
    [[ $(said train.accuracy) == *"validation samples right"* ]]
    [[ $(said train.scaling) == *"that its parts promise"*"these hosts share a machine"* ]]
}

@test "a node with a fifth of the bandwidth is named first, and what stands on it is not reached" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node2=200mbit -- \
        "$BIN/windsock" --hosts lab --full --budget 30s --json
    valid
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.check) \(.subject)"' <<<"$output")" = "find-slow pair.bandwidth node2" ]
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == *node2* ]]
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = node2 ]
    [ "$(full_stages)" = "pairs warn,find-slow fail,sweep skip,expectations skip" ]
    [[ $(said stage.sweep) == "not reached because find-slow failed: node2 "* ]]
    [[ $(said stage.expectations) == "not reached because find-slow failed: node2 "* ]]
}

@test "a node that computes slowly is named by its pace, in two runs" {
    mkdir own
    cp "$BIN"/{windsock,ifprobe,portcheck} own/ # no ncclbench: that it is slow is not its network
    # every step of rank 2 takes longer; only on the invoking host, the ranks are the real ones
    printf '#!/bin/sh\nexec "%s" --fault 2:slow "$@"\n' "$BIN/ddpsmoke" >own/ddpsmoke
    chmod +x own/ddpsmoke
    run --separate-stderr "$LAB" run 4 --rate 1gbit -- "$PWD/own/windsock" --hosts lab --full --budget 40s --json
    valid
    [[ $(said train.node) == "computes "*"x slower, in both of two runs; not the network" ]]
    [ "$(jq -r '.findings[] | select(.check == "train.node") | "\(.status) \(.subject)"' <<<"$output")" = "warn node2" ]
    [ "$(jq -r '.data.expectations.nodes[0].host' <<<"$output")" = node2 ]
}

@test "ten seconds: what fits is run, what does not is said" {
    begin=${EPOCHREALTIME/./}
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit -- "$BIN/windsock" --hosts lab --full --budget 10s --json
    ((${EPOCHREALTIME/./} - begin < 16000000)) # with the making of the lab
    valid
    [ "$(jq -c '[.findings[] | select(.status | IN("fail", "error"))]' <<<"$output")" = "[]" ]
    jq -e '.seconds < 11' <<<"$output"
    [[ $(said stage.expectations) == "left out: it takes about "*", more than the budget has left" ]]
    [ "$(jq -r '.data.stages[] | select(.name == "reach").status' <<<"$output")" = pass ]
}
