#!/usr/bin/env bats
# windsock over the nodes of a lab with the real commands, one of them slow or dead: it is named.
# What is measured here differs by more than neighbours make it. Needs root, nft, jq.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load windsock_full.sh

@test "a node with a fiftieth of the bandwidth is named first, and what stands on it is not reached" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node2=20mbit -- \
        "$BIN/windsock" --hosts lab --full --budget 90s --json
    valid
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.check) \(.subject)"' <<<"$output")" = "find-slow pair.bandwidth node2" ]
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == *node2* ]]
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = node2 ]
    [ "$(full_stages)" = "pairs warn,find-slow fail,sweep skip,expectations skip" ]
    [[ $(said stage.sweep) == "not reached because find-slow failed: node2 "* ]]
    [[ $(said stage.expectations) == "not reached because find-slow failed: node2 "* ]]
}

@test "a node that loses packets is no pass: collectives ask the pairs whose they are" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --loss node3=4 -- "$BIN/windsock" --hosts lab --json
    valid
    [ "$(jq -r '.data.causes[] | select(.status == "fail") | "\(.stage) \(.check) \(.subject)"' <<<"$output")" = "collectives pair.loss node3" ]
    [ "$(jq -c '.data.failing_nodes' <<<"$output")" = '["node3"]' ]
    [ -z "$(said coll.loss)" ]
    [[ $(said stage.training) == "not reached because collectives failed: node3 "*" is lost"* ]]
}

@test "hosts asked for as user@host or by address: the slow one is named so, and so is the way to it" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node2=100mbit -- \
        "$BIN/windsock" --hosts root@node0,node1,root@node2,10.77.0.4 --full --budget 45s --json
    valid
    [ "$(jq -c '.data | [.failing_nodes, (.passing_nodes | sort)]' <<<"$output")" = '[["root@node2"],["10.77.0.4","node1","root@node0"]]' ]
    jq -r '.findings[] | select(.check == "pair.bandwidth") | .subject, .fix[0]' <<<"$output" >lines
    [ "$(head -n 1 lines)" = root@node2 ]
    [[ $(tail -n 1 lines) == *" root@node2 'ip -s link"* ]]
}

@test "a rank that dies is its host's, as that was asked for" {
    mkdir own
    cp "$BIN"/{windsock,ifprobe,portcheck} own/
    printf '#!/bin/sh\nexec "%s" --fault 1:die "$@"\n' "$BIN/ddpsmoke" >own/ddpsmoke
    chmod +x own/ddpsmoke
    run -1 --separate-stderr "$LAB" run 3 -- "$PWD/own/windsock" --hosts node0,10.77.0.2,node2 --json
    valid
    [[ $(said rank.alive) == "rank 1 (node1, "*") died"* ]]
    [ "$(jq -c '[.data.causes[0].hosts, .data.passing_nodes, .data.exclude]' <<<"$output")" = \
        '[["10.77.0.2"],["node0","node2"],"10.77.0.2"]' ]
}

@test "a network of 100 Mbit/s is measured, in less time than a table of it takes, and is no warning" {
    run -0 --separate-stderr "$LAB" run 3 --rate 100mbit -- "$BIN/windsock" --hosts lab --json
    valid
    [ "$(jq -r '[.findings[] | select(.check == "stage.collectives")] | length' <<<"$output")" = 0 ]
    [ "$(said stage.training)$(said stage.collectives)" = "" ]
    (($(jq '.seconds | floor' <<<"$output") < 60))
}
