#!/usr/bin/env bats
# Something on the way that drops what has an option of TCP: named by asking with and without it,
# which is no security group's silence. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

teardown() {
    switch nft delete table bridge t 2>/dev/null || true
    on all sysctl -qw net.ipv4.tcp_timestamps=1 net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_sack=1
}

drop() { # RULE
    switch nft "table bridge t { chain c { type filter hook forward priority 0; $1 drop; }; }"
}

ask() {
    run --separate-stderr on 0 env PATH="$BIN:$PATH" WINDSOCK_RSH="$WINDSOCK_RSH" portcheck \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

type_it() { # on node0, from where it may go to others
    local fix
    fix=$(jq -r '[.findings[] | select(.status == "fail")][0].fix[0]' <<<"$output")
    on 0 env PATH="$BIN:$PATH" bash -c "sudo() { \"\$@\"; }; ${fix//\'sudo /\'}" >&2
}

@test "options: what has one is dropped, each way: it is named, and what leaves it out" {
    local word option
    for word in 'timestamps timestamp' 'window window' 'SACK sack-perm'; do
        read -r word option <<<"$word"
        drop "tcp option $option exists"
        ask
        [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output")" = "mesh.out node[0-3]" ]
        [[ $output == *"something on the way drops what has that option"*"no security group"* && $output == *"$word"* ]]
        type_it
        ask
        [ "$status" = 0 ]
        teardown
    done
}

@test "options: one host alone; only the answers are dropped" {
    drop 'ip daddr 10.77.0.2 tcp option timestamp exists'
    run --separate-stderr on 0 "$BIN/portcheck" node1 --silence 1s --json
    [ "$status" = 1 ]
    [[ $output == *"without TCP timestamps"* && $output != *"ufw"* && $output != *"aws ec2"* ]]
    type_it
    run --separate-stderr on 0 "$BIN/portcheck" node1 --silence 1s --json
    [ "$status" = 0 ]
    teardown
    drop 'ip saddr 10.77.0.2 tcp flags & (syn|ack) == (syn|ack) tcp option timestamp exists'
    ask
    [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output")" = "mesh.out node[0,2-3]" ]
    [[ $output == *"without TCP timestamps"* && $output != *"aws ec2"* ]]
}

@test "options: what drops all of it has nothing to do with them, nor what merely strips them" {
    drop 'ip daddr 10.77.0.2 tcp flags & (syn|ack) == syn'
    ask
    [ "$status" = 1 ]
    [[ $output != *"TCP timestamps"* && $output == *"security group"* ]]
    teardown
    switch nft 'table bridge t { chain c { type filter hook forward priority 0; reset tcp option timestamp; reset tcp option window; }; }'
    ask
    [ "$status" = 0 ]
}

@test "options: a rule that lets a few questions a second pass has nothing to do with them" {
    local rate
    for rate in 1/second 2/second 4/second; do
        drop "ip daddr 10.77.0.2 tcp flags & (syn|ack) == syn limit rate over $rate burst 1 packets"
        run --separate-stderr on 0 "$BIN/portcheck" node1 --silence 1s --json
        [ "$status" = 1 ]
        [[ $output != *"that option"* ]] || { echo "$rate: $output"; false; }
        teardown
    done
}

@test "options: IPv6" {
    run -1 --separate-stderr "$ROOT/scripts/lab" run 3 --subnet fd00:77::/64 -- bash -c '
        nsenter -t 1 -n nft "table bridge t { chain c { type filter hook forward priority 0; tcp option timestamp exists drop; }; }"
        exec "$BIN/portcheck" --hosts lab --wait 1s --json'
    [[ $output == *"without TCP timestamps"* && $output != *"security group, or"* ]]
}
