#!/usr/bin/env bats
# A firewall that answers SYNs itself (SYNPROXY), and only then lets somebody in: it is no drop, and
# what mends one that is in its host's own way leaves it in force. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

between() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

proxy() { # WHAT IS NOT TRACKED: at node1, and nothing else comes in but what it has let through
    on 1 sh -c 'nft flush ruleset; nft -f -' <<<"table ip sp {
        chain pre { type filter hook prerouting priority raw; $1 notrack; }
        chain in { type filter hook input priority filter; policy drop; iif lo accept; ct state established,related accept
            ct state { invalid, untracked } synproxy mss 1460 wscale 7 timestamp sack-perm; ct state invalid drop; }; }"
    on 1 sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0
}

teardown() { on 1 nft flush ruleset; }

@test "synproxy: it answers for its host, and nobody is told to open anything" {
    proxy 'tcp flags & (fin | syn | rst | ack) == syn'
    run -0 --separate-stderr on 0 "$BIN/portcheck" node1:29500 --wait 1s --json
    [[ $output != *"could not send"* ]]
    between
    [ "$status" = 0 ]
    [[ $output != *accept* && $output != *"security group"* ]]
    run -0 --separate-stderr on 1 "$BIN/portcheck" --json
    [ "$(jq -r '.findings[] | select(.check == "local.firewall").status' <<<"$output")" = pass ]
}

@test "synproxy: one that takes answers for questions is mended, and stays" {
    proxy 'tcp flags syn'
    between
    [ "$status" = 1 ]
    [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output")" = "mesh.out node1" ]
    [[ $output == *"handle "*synproxy* ]]
    fix=$(jq -r '.findings[] | select(.status == "fail").fix[]' <<<"$output")
    [[ $fix != *10.77.0.0/16* ]]
    on 1 sh -c "sudo() { \"\$@\"; }; $fix" >&2
    between
    [ "$status" = 0 ]
    [[ $(on 1 nft list chain ip sp in) != *saddr* ]]
    [[ $(on 1 nft list chain ip sp pre) != *saddr* ]]
}
