#!/usr/bin/env bats
# ncclbench never hangs: a rank killed or stopped, a network that is cut, ports that
# are filtered. NCCLBENCH_FAULTS is how often each happens (5; more in a soak).
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../nodes.sh
load ../wait.sh

setup_file() {
    export TIMES=${NCCLBENCH_FAULTS:-5}
    nodes_up 4
}

setup() { # whatever the test before left broken
    OUT=$BATS_TEST_TMPDIR/out
    on 3 ip link set eth0 up
    on 2 nft flush ruleset
}

# In the background, on node 0, until stopped; returns when the table has rows.
begin() {
    local i tries
    for ((tries = 0; tries < 5; tries++)); do # a busy machine may not even start a host's ranks within the deadline
        : >"$OUT"
        on 0 timeout 90 "$BIN/ncclbench" --hosts 'node[0-3]' --rsh "$LAB rsh $LAB_NAME" \
            --backend "${BACKEND:-tcp}" -b 64K -e 64K -n 5 -N 0 --deadline 1 --heartbeat 6 >"$OUT" 2>"$OUT.err" 3>&- &
        RUN=$!
        for ((i = 0; i < 800; i++)); do
            (($(grep -cv '^#' "$OUT") < 2)) || return 0
            ! grep -q '^# FAIL host.reach' "$OUT" || break
            sleep 0.05
        done
        wait "$RUN" || true
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

@test "a killed rank is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 0 kill -9 "$(pid_of 2)"
        ended 1 30 '^# FAIL rank.alive: rank 2 \(node2, 10.77.0.3\) died: killed by signal 9'
        grep -q -- '-> dmesg .*   # on node2$' "$OUT.err"
    done
}

@test "a stopped rank is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 0 kill -STOP "$(pid_of 1)"
        ended 1 30 '^# FAIL rank.alive: rank 1 \(node1, 10.77.0.2\) did nothing for 1 s'
    done
}

# Gloo names nobody, and gives up before the rendezvous can.
@test "a stopped rank is named where a library carries the data and the deadline is below the heartbeat" {
    [[ -e ${BIN%/bin}/lib/windsock/gloo.so ]] || skip "the plug-in is not built"
    BACKEND=gloo begin
    on 0 kill -STOP "$(pid_of 1)"
    ended 1 30 '^# FAIL rank.alive: rank 1 \(node1, 10.77.0.2\) has been silent for 6 s'
}

@test "rank 0 killed or stopped is named, too" {
    begin
    on 0 kill -9 "$(pid_of 0)"
    ended 1 30 '^# FAIL rank.alive: rank 0 \(node0, 10.77.0.1\) died: killed by signal 9'
    begin
    on 0 kill -STOP "$(pid_of 0)"
    ended 1 30 '^# FAIL rank.alive: rank 0 \(node0, 10.77.0.1\) did nothing for 1 s'
}

# A machine that is not scheduled: agents believe a launcher for 30 s, ranks each other for 10 s.
@test "all stand still together, longer than any may be silent: the run goes on and passes" {
    local pids start=$SECONDS
    on 0 timeout 90 "$BIN/ncclbench" --hosts node1,node2 --rsh "$LAB rsh $LAB_NAME" \
        -b 64K -e 64K --for 42s >"$OUT" 2>"$OUT.err" 3>&- &
    RUN=$!
    wait_for 20 grep -q ' s of 42 s' "$OUT.err"
    mapfile -t pids < <(on 0 pgrep -x ncclbench)
    on 0 kill -STOP "${pids[@]}"
    sleep 33
    on 0 kill -CONT "${pids[@]}"
    ended 0 30 '^# PASS coll.data: '
    ((SECONDS - start >= 40))
}

@test "a cable that is pulled: the node behind it is named" {
    local i
    for ((i = 0; i < TIMES; i++)); do
        begin
        on 3 ip link set eth0 down
        ended 1 40 '^# FAIL rank.alive: .*rank 3 \(node3, 10.77.0.4\)'
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
        ended 1 40 '^# FAIL rank.alive: nothing passes between rank 1 \(node1, 10.77.0.2\) and rank 2 \(node2, 10.77.0.3\)$'
        on 2 nft delete table inet cut
    done
}

@test "ports between nodes that are filtered from the start: no connection, and who" {
    local again start # run uses i
    on 2 nft add table inet cut
    on 2 nft add chain inet cut in '{ type filter hook input priority 0; }'
    on 2 nft add rule inet cut in ip saddr '10.77.0.2-10.77.0.4' tcp flags syn drop
    for ((again = 0; again < TIMES; again++)); do
        start=$SECONDS
        run -1 on 0 timeout 60 "$BIN/ncclbench" --hosts 'node[0-3]' \
            --rsh "$LAB rsh $LAB_NAME" -b 8 -e 8 --deadline 1
        echo "$output"
        ((SECONDS - start <= 40))
        [[ $output == *"rank 2 (node2"* ]]
        [[ $output == *"-> portcheck --rsh '$LAB rsh $LAB_NAME' --hosts 'node[0-3]'"* ]]
    done
    on 2 nft delete table inet cut
}
