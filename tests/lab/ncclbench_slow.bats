#!/usr/bin/env bats
# ncclbench --find-slow and --pairs: a node with a tenth of the bandwidth, one that
# loses packets, and a healthy cluster, NCCLBENCH_HEALTHY times (10; more in a soak).
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0
load busy.sh

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

teardown() { busy_teardown; }

# Nobody is named, or it says that processors were too busy to know.
no_alarm() { # PAIRS
    [[ $output != *"FAIL "* ]]
    [[ $output == *"PASS pair.bandwidth: $1 pair"* || $output == *"processors were busy meanwhile"* ||
        $output == *"which says little: even the best pairs waited for processors"* ]]
}

@test "--find-slow: a healthy cluster gives no alarm" {
    local again passes=0 times=${NCCLBENCH_HEALTHY:-10} # run uses i
    # Once at least there is time to know it: beside other work one waits longer for that.
    for ((again = 0; again < times || (!passes && again < 4 * times); again++)); do
        run -0 --separate-stderr "$LAB" run 8 --rate 1gbit -- "$BIN/ncclbench" --hosts lab --find-slow
        no_alarm 28
        [[ $output != *"PASS pair.bandwidth: 28 pairs"* ]] || passes=$((passes + 1))
    done
    ((passes > 0))
}

@test "--find-slow: healthy nodes whose processors are busy give no alarm either" {
    local again
    busy 3 # as many as spoiled it once: who waits for a processor looks slow
    for ((again = 0; again < ${NCCLBENCH_HEALTHY:-10} / 10; again++)); do
        run -0 --separate-stderr "$LAB" run 4 -- "$BIN/ncclbench" --hosts lab --find-slow
        no_alarm 6
    done
}

@test "--find-slow: one of eight nodes is limited to a tenth" {
    run -1 --separate-stderr "$LAB" run 8 --rate 1gbit --rate node3=100mbit -- \
        "$BIN/ncclbench" --hosts lab --find-slow --json
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0] |
        .check == "pair.bandwidth" and .subject == "node3" and .value < 0.02)' <<<"$output"
    jq -e '.data.pairs | length == 56' <<<"$output"
}

@test "--pairs: half of the nodes are limited to a tenth: these are named, and no other" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node1=100mbit --rate node2=100mbit -- \
        "$BIN/ncclbench" --hosts lab --pairs --json
    jq -e '[.findings[] | select(.check == "pair.bandwidth")] | all(.[]; .status == "fail") and
        [.[].subject] == ["node1", "node2"]' <<<"$output"
}

@test "--find-slow: two of five do well with each other: nobody is named, and it is no pass" {
    run -0 --separate-stderr "$LAB" run 5 --rate 1gbit --rate node0=100mbit --rate node1=100mbit \
        --rate node2=100mbit -- "$BIN/ncclbench" --hosts lab --find-slow
    [[ $output == *"# WARN pair.bandwidth: half of all directions reach at most 0.01"*", and node"[34]" to node"[34]" 0.1"*": too different to say who is slow"* ]]
    [[ $output != *"PASS pair.bandwidth"* ]]
}

@test "--pairs --expect: the directions that are below it, and no other" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node3=100mbit -- \
        "$BIN/ncclbench" --hosts lab --find-slow --expect 0.03 --json
    jq -e '[.findings[] | select(.check == "pair.expected")] | length == 1 and (.[0] |
        .status == "fail" and .value < 0.02 and (.message | startswith("6 of 12 directions ")) and
        (.message | [match("node3"; "g")] | length == 6) and (.fix | length == 2 and any(test("tc -s qdisc")) and any(contains("node3"))))' <<<"$output"
}

@test "a sweep names the rank that the others wait for; of a healthy cluster none" {
    # a warning about time: a machine that starves all nodes may hide it once
    local again
    for again in 1 2 3; do
        run -0 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node2=100mbit -- \
            "$BIN/ncclbench" --hosts lab -b 4M -e 4M -n 10
        [[ $output != *"WARN rank.straggler: the others wait for rank 2 (node2, 10.77.0.3) "* ]] || break
    done
    [[ $output == *"WARN rank.straggler: the others wait for rank 2 (node2, 10.77.0.3) "* ]]
    for again in 1 2 3; do
        run -0 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node2=100mbit -- \
            "$BIN/ncclbench" --hosts lab -b 4M -e 4M -n 10 --json
        ! jq -e '.findings[] | select(.check == "rank.straggler").status == "warn"' <<<"$output" || break
    done
    jq -e '.findings[] | select(.check == "rank.straggler") | .rank == 2 and .host == "node2"' <<<"$output"
    for ((again = 0; again < ${NCCLBENCH_HEALTHY:-10} / 3; again++)); do
        run -0 --separate-stderr "$LAB" run 8 --rate 1gbit -- "$BIN/ncclbench" --hosts lab -b 4M -e 4M -n 5
        [[ $output == *"PASS rank.straggler: "* && $output != *coll.loss* ]]
    done
}

@test "a sweep says between which ranks packets are lost, and what shows it" {
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit --loss node2=8 -- \
        "$BIN/ncclbench" --hosts lab -b 8 -e 4M --within 10s --json
    jq -e '[.findings[] | select(.check == "coll.loss")] | length == 1 and (.[0] | .status == "warn" and
        (.subject | endswith(" -> node2")) and .value > 2 and .value < 20 and
        (.message | contains("to rank 2 (node2, 10.77.0.3) were lost")) and
        (.fix[0] | test("^ncclbench --rsh .* --hosts lab --find-slow ")) and (.fix[1] | contains("TcpRetransSegs")))' <<<"$output"
    # who is waited for waits for packets, and not for its processor
    jq -e 'all(.findings[]; .check != "rank.straggler" or .status != "warn" or
        (.fix | length == 1 and (.[0] | contains("TcpRetransSegs"))))' <<<"$output"
}

# The rank on this node: an ncclbench there that has no children.
leaf() {
    local x
    for x in /proc/[0-9]*; do
        [[ $(<"$x/comm") == ncclbench && $x/ns/net -ef /proc/self/ns/net ]] || continue
        [[ $(cat "$x"/task/*/children) ]] || echo "${x#/proc/}"
    done 2>/dev/null
}

@test "--pairs: a rank that dies or stops meanwhile is named, by the name that all know" {
    local signal out=$BATS_TEST_TMPDIR/out rank run code
    lab=$("$LAB" up 5 --rate 6mbit) # slow: there is time to hit it
    for signal in KILL STOP; do
        : >"$out"
        "$LAB" on "$lab" node0 -- timeout 60 "$BIN/ncclbench" --hosts 'node[0-4]' \
            --rsh "$LAB rsh $lab" --pairs --deadline 3 --heartbeat 6 >>"$out" 2>&1 3>&- &
        run=$!
        for _ in {1..400}; do
            ! grep -q '^# Host memory' "$out" || break
            sleep 0.05
        done
        rank=$("$LAB" on "$lab" node3 -- bash -c "$(declare -f leaf); leaf")
        [ "$rank" ]
        "$LAB" on "$lab" node3 -- kill -$signal "$rank"
        code=0
        wait "$run" || code=$?
        cat "$out"
        [ "$code" -eq 1 ]
        grep -qE '^# FAIL rank.alive: rank 3 \(node3, 10.77.0.4\) (died: killed by signal 9|did nothing for 3 s)' "$out"
    done
}

@test "--pairs: a node that loses packets is named, the matrix shows it" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --loss node2=5 -- "$BIN/ncclbench" --hosts lab --pairs
    # answers that are lost look like lost data of its own
    [[ $output =~ FAIL\ pair.loss:\ [0-9.]+\ %\ of\ what\ node2\ (sends\ and\ )?receives\ is\ lost ]] ||
        { echo "$output"; false; }
    [[ $output == *"# Packets sent again, %"* ]]
    [ "$(grep -c '^node2 ' <<<"$output")" -eq 3 ]
}

@test "--find-slow: of two nodes nobody knows which loses: both are looked at, and none is left out" {
    run -1 --separate-stderr "$LAB" run 2 --rate 1gbit --loss node1=5 -- "$BIN/ncclbench" --hosts lab --find-slow --json
    jq -e '[.findings[] | select(.check == "pair.loss")] | length > 0 and
        all(.[]; .fix | length == 2 and (.[0] + .[1] | contains(" node0 ") and contains(" node1 ")))' <<<"$output"
}

@test "--pairs: where a shaper makes all lose, nobody is to be left out: a warning" {
    run -0 --separate-stderr "$LAB" run 4 --rate 10mbit -- "$BIN/ncclbench" --hosts lab --pairs
    [[ $output == *"# WARN pair.loss: no node stands out: "*" % of what goes between two is sent again: a rate limit"* ]]
    [[ $output != *"FAIL "* && $stderr != *--exclude* ]]
}
