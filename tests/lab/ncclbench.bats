#!/usr/bin/env bats
# ncclbench across the lab's nodes: ranks through --hosts, who is slow, and that
# it never hangs: a rank killed, stopped or never started, a network that is cut.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
    export LAB=$ROOT/scripts/lab TIMES=${NCCLBENCH_FAULTS:-5}
    LAB_NAME=$("$LAB" up 4) || skip "no network namespaces can be made here"
    export LAB_NAME
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$LAB" down "$LAB_NAME"
}

setup() { OUT=$BATS_TEST_TMPDIR/out; }

on() { # NODE CMD...
    local node=$1
    shift
    "$LAB" on "$LAB_NAME" "node$node" -- "$@"
}

# In the background, on node 0, until stopped; returns when the table has rows.
begin() { # OPTIONS...
    local i
    : >"$OUT"
    on 0 timeout 40 "$BIN/ncclbench" --hosts 'node[0-3]' --rsh "$LAB rsh $LAB_NAME" \
        -b 64K -e 64K -n 5 -N 0 --deadline 1 --heartbeat 3 "$@" >"$OUT" 2>"$OUT.err" 3>&- &
    RUN=$!
    for ((i = 0; i < 200; i++)); do
        (($(grep -cv '^#' "$OUT") < 2)) || return 0
        sleep 0.05
    done
    cat "$OUT" "$OUT.err"
    return 1
}

ended() { # CODE SECONDS PATTERN
    local code=0 start=$SECONDS
    wait "$RUN" || code=$?
    cat "$OUT" "$OUT.err"
    [ "$code" -eq "$1" ]
    ((SECONDS - start <= $2))
    grep -qE "$3" "$OUT"
    grep -q '^# Avg bus bandwidth' "$OUT"
    ! on 0 pgrep -x ncclbench
}

pid_of() { # RANK
    sed -n "s/^#  Rank *$1 .*Pid *\([0-9]*\) on.*/\1/p" "$OUT"
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

@test "a killed rank is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 0 kill -9 "$(pid_of 2)"
        ended 1 6 '^# FAIL rank.alive: rank 2 \(node2, 10.77.0.3\) died: killed by signal 9'
    done
}

@test "a stopped rank is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 0 kill -STOP "$(pid_of 1)"
        ended 1 10 '^# FAIL rank.alive: rank 1 \(node1, 10.77.0.2\) did nothing for 1 s'
    done
}

@test "rank 0 killed or stopped is named, too" {
    begin
    on 0 kill -9 "$(pid_of 0)"
    ended 1 6 '^# FAIL rank.alive: rank 0 \(node0, 10.77.0.1\) died: killed by signal 9'
    begin
    on 0 kill -STOP "$(pid_of 0)"
    ended 1 10 '^# FAIL rank.alive: rank 0 \(node0, 10.77.0.1\) did nothing for 1 s'
}

@test "a cable that is pulled: the node behind it is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 3 ip link set eth0 down
        ended 1 20 '^# FAIL rank.alive: .*rank 3 \(node3, 10.77.0.4\)'
        on 3 ip link set eth0 up
    done
}

@test "a firewall that drops in the middle of it: both ends of it are named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 2 nft add table inet cut
        on 2 nft add chain inet cut in '{ type filter hook input priority 0; }'
        on 2 nft add rule inet cut in ip saddr 10.77.0.2 drop
        ended 1 12 '^# FAIL rank.alive: .*rank [12] \(node[12], '
        on 2 nft delete table inet cut
    done
}

@test "ports between nodes that are filtered from the start: no connection, and who" {
    local i start
    on 2 nft add table inet cut
    on 2 nft add chain inet cut in '{ type filter hook input priority 0; }'
    on 2 nft add rule inet cut in ip saddr '10.77.0.2-10.77.0.4' tcp flags syn drop
    for ((i = 0; i < TIMES; i++)); do
        start=$SECONDS
        run -1 --separate-stderr on 0 timeout 40 "$BIN/ncclbench" --hosts 'node[0-3]' \
            --rsh "$LAB rsh $LAB_NAME" -b 8 -e 8 --deadline 1
        ((SECONDS - start <= 10))
        [[ $output =~ "rank 2 (node2"|"rank 3 (node3" ]]
    done
    on 2 nft delete table inet cut
}

@test "a node that cannot be reached is named, nothing is started" {
    run -1 --separate-stderr on 0 timeout 40 "$BIN/ncclbench" --hosts node0,nowhere \
        --rsh "$LAB rsh $LAB_NAME" -b 8 -e 8
    [[ $output == *"FAIL host.reach: "*nowhere* ]]
}

@test "--find-slow: a healthy cluster gives no alarm" {
    local i
    for ((i = 0; i < ${NCCLBENCH_HEALTHY:-3}; i++)); do
        run -0 --separate-stderr "$LAB" run 8 --rate 1gbit -- "$BIN/ncclbench" --hosts lab --find-slow
        [[ $output == *"PASS pair.bandwidth: 28 pairs"* ]]
    done
}

@test "--find-slow: one of eight nodes is limited to a tenth" {
    run -1 --separate-stderr "$LAB" run 8 --rate 1gbit --rate node3=100mbit -- \
        "$BIN/ncclbench" --hosts lab --find-slow --json
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0] |
        .check == "pair.bandwidth" and .subject == "node3" and .value < 0.02)' <<<"$output"
    jq -e '.data.pairs | length == 56' <<<"$output"
}

@test "--pairs: a node that loses packets is named, the matrix shows it" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --loss node2=2 -- "$BIN/ncclbench" --hosts lab --pairs
    [[ $output == *"FAIL pair.loss: "*" of what node2 receives is lost"* ]]
    [[ $output == *"# Packets sent again, %"* ]]
    [ "$(grep -c '^node2 ' <<<"$output")" -eq 3 ]
}
