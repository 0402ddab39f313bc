#!/usr/bin/env bats
# windsock --full over the nodes of a lab with the real commands: no false alarm on a
# healthy cluster, a node that computes slowly is named, a budget picks what fits. These
# measure within budgets and run alone (scripts/check). Needs root, nft, jq.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load windsock_full.sh

fitted() { # STAGE: it came to its end; if not, the budget was used up, and that is what is said
    local why
    why=$(said "stage.$1")
    case $why in
    "did not fit into the budget: "* | "left out: it takes about "*)
        jq -e --arg s "$1" '(.data.left_out | index($s)) and .seconds > 20' <<<"$output" >/dev/null || exit 1
        return 1
        ;;
    esac
}

@test "a healthy cluster: pairs, who is slow, a long sweep, training; no alarm" {
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit -- "$BIN/windsock" --hosts lab --full --budget 30s --json
    valid
    [ "$(jq -c '[.findings[] | select(.status | IN("fail", "error"))]' <<<"$output")" = "[]" ]
    # a machine that starves a node for a while makes a suspicion of one measurement, or one that says so
    jq -c '.findings[] | select(.status == "warn")' <<<"$output"
    [ "$(jq -c '[.findings[] | select(.status == "warn" and (.check | test("^pair|^train"))) | .message |
        select(test("[(]in the (first measurement|second measurement alone)[)]$|: processors were busy meanwhile") | not)]' <<<"$output")" = "[]" ]
    # what each of them measured is there; a machine that starves all nodes is given more time
    if fitted pairs; then jq -e '.data.parts.pairs.pairs | length == 12' <<<"$output"; fi
    if fitted find-slow; then jq -e '.data.parts."find-slow".pairs | length == 12' <<<"$output"; fi
    if fitted sweep; then jq -e '(.data.parts.sweep.results | map(.size) | max) >= 8388608' <<<"$output"; fi
    if fitted expectations; then
        jq -e '.data.parts.expectations.throughput.samples_per_s > 0' <<<"$output"
        jq -e '.data.expectations.nodes | length == 4' <<<"$output"
        [[ $(said train.accuracy) == *"validation samples right"* ]]
        [[ $(said train.scaling) == *"that its parts promise"*"these hosts share a machine"* ]]
    fi
    if [ "$(jq -c .data.left_out <<<"$output")" = "[]" ]; then
        [ "$(full_stages)" = "pairs pass,find-slow pass,sweep pass,expectations pass" ]
        [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts and the ways between them, with pairs, long sweeps and training" ]]
    else
        [[ $(jq -r .data.covers <<<"$output") == *"; the budget was too short for "* ]]
    fi
}

@test "a node that computes slowly is named by its pace, in two runs" {
    mkdir own
    cp "$BIN"/{windsock,ifprobe,portcheck} own/ # no ncclbench: that it is slow is not its network
    # every step of rank 2 takes longer; only on the invoking host, the ranks are the real ones
    printf '#!/bin/sh\nexec "%s" --fault 2:slow "$@"\n' "$BIN/ddpsmoke" >own/ddpsmoke
    chmod +x own/ddpsmoke
    run --separate-stderr "$LAB" run 4 --rate 1gbit -- "$PWD/own/windsock" --hosts lab --full --budget 3m --json
    valid
    [[ $(said train.node) == "computes "*"x slower, in both of two runs; not the network" ]]
    [ "$(jq -r '.findings[] | select(.check == "train.node") | "\(.status) \(.subject)"' <<<"$output")" = "warn node2" ]
    [ "$(jq -r '.data.expectations.nodes[0].host' <<<"$output")" = node2 ]
}

@test "a rank that stops within a budget is named, not excused as what did not fit" {
    mkdir own
    cp "$BIN"/{windsock,ifprobe,portcheck} own/ # no ncclbench: all that time is the training's
    printf '#!/bin/sh\nexec "%s" --fault 2:stop "$@"\n' "$BIN/ddpsmoke" >own/ddpsmoke
    chmod +x own/ddpsmoke
    run -1 --separate-stderr "$LAB" run 4 -- "$PWD/own/windsock" --hosts lab --budget 18s --json
    valid
    jq -e '.seconds < 20' <<<"$output"
    [[ $(said rank.alive) == "rank 2 (node2, "*") has been silent for "* ]]
    [ "$(jq -c '[.data.causes[0].stage, .data.passing_nodes, .data.exclude, .data.left_out]' <<<"$output")" = \
        '["training",["node0","node1","node3"],"node2",[]]' ]
}

@test "ten seconds: what fits is run, what does not is said" {
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit -- "$BIN/windsock" --hosts lab --full --budget 10s --json
    valid
    [ "$(jq -c '[.findings[] | select(.status | IN("fail", "error"))]' <<<"$output")" = "[]" ]
    # its own end is as late as the machine lets it: children are given a second to say what they have
    jq -e '.seconds < 15' <<<"$output"
    [[ $(said stage.expectations) == "left out: it takes about "*", more than the budget has left" ]]
    [ "$(jq -r '.data.stages[] | select(.name == "hosts").status' <<<"$output")" = pass ]
    # each of them was run, or is said to have had no time
    [ "$(jq '[.data.stages[] | select(.status == "skip" and .name != "baseline") | .name] - .data.left_out' <<<"$output")" = "[]" ]
}
