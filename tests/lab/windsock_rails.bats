#!/usr/bin/env bats
# Nodes with a second network card, over which NCCL sends, too, and one node whose card is broken. Needs root, jq.
# shellcheck disable=SC2016,SC2034,SC2154 # windsock.sh reads and sets them
bats_require_minimum_version 1.5.0

load windsock.sh

LAB_OPTIONS=(--rails 2)

teardown() {
    on 2 sh -c 'ip link set eth1 up mtu 1500'
}

@test "a second card that is down on one node, or has another MTU: that node is named, and its own advice mends it" {
    look
    [ "$code" = 0 ]
    [ "$(jq '[.findings[] | select(.check == "drift.cards")] | length' <<<"$output")" = 0 ]
    on 2 ip link set eth1 down
    look
    [ "$code" = 1 ]
    [ "$(jq -c .data.failing_nodes <<<"$output")" = '["node2"]' ]
    [[ $(first '"\(.check) \(.hosts[0]) \(.subject) \(.message)"') == "drift.cards node2 eth1 is down here, up on 3 of 4 hosts: "* ]]
    follow 2
    on 2 sh -c 'ip link set dev eth1 mtu 1400'
    look
    [ "$code" = 0 ]
    [ "$(jq -r '[.findings[] | select(.check == "drift.cards") | "\(.status) \(.host) \(.message)"] | join(",")' <<<"$output")" = \
        "warn node2 MTU 1400 here, 1500 on most hosts, in 10.78.0.0/16" ]
    on 2 sh -c "sudo() { \"\$@\"; }; $(jq -r '.findings[] | select(.check == "drift.cards").fix[0]' <<<"$output")" >&2
    look
    [ "$(jq '[.findings[] | select(.check == "drift.cards")] | length' <<<"$output")" = 0 ]
}
