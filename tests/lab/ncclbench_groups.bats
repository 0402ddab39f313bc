#!/usr/bin/env bats
# ncclbench --groups between hosts: the group that has a slow one is named, and of a healthy
# cluster none.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load busy.sh

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

teardown() { busy_teardown; }

# 4 MiB, in groups of the hosts of a lab.
setup() { groups=("$BIN/ncclbench" --hosts lab -b 4M -e 4M -n 3 --groups); }

@test "the group of a host with a tenth of the bandwidth is named, with its hosts and what to type" {
    run -1 --separate-stderr "$LAB" run 6 --rate 1gbit --rate node2=100mbit -- "${groups[@]}" 'div 2' --json
    jq -c '.findings[], .data.groups[]' <<<"$output"
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0] | .check == "group.bandwidth" and
        .subject == "group 1" and .value < 0.03 and (.fix | length == 1 and
            (.[0] | test("^ncclbench --rsh .* --hosts node2,node3 --find-slow$"))) and
        (.message | startswith("group 1 (ranks 2-3: node2, node3) reaches 0.01") and contains(", the others 0.1")))' <<<"$output"
    jq -e '.data.groups | length == 3 and .[1].busbw_gbps < 0.03 and .[1].alone_gbps < 0.03 and
        all(.[0, 2]; .busbw_gbps > 0.06 and (has("alone_gbps") | not)) and all(.[]; .wrong == 0)' <<<"$output"
}

@test "of two groups, too; and a group of another size is compared with none" {
    run -1 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node3=100mbit -- "${groups[@]}" '0,2;1,3'
    [[ $output == *"# FAIL group.bandwidth: group 1 (ranks 1, 3: node1, node3) reaches 0.01"*" GB/s, the other 0.1"* ]]
    run -0 --separate-stderr "$LAB" run 5 --rate 1gbit --rate node4=100mbit -- "${groups[@]}" '0-2;3-4'
    [[ $output == *"# INFO group.bandwidth: 2 groups, "*"not judged: no two groups are alike"* ]]
}

@test "a healthy cluster gives no alarm, busy or not" {
    local again # run uses i
    for ((again = 0; again < ${NCCLBENCH_HEALTHY:-10} / 2; again++)); do
        run -0 --separate-stderr "$LAB" run 8 --rate 1gbit -- "${groups[@]}" 'div 2'
        [[ $output != *"FAIL "* && $output != *"WARN "* ]] || { echo "$output"; false; }
        [[ $output == *"# PASS group.bandwidth: 4 groups, "* || $output == *"they share a machine's processors"* ]]
    done
    busy 3
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit -- "${groups[@]}" 'mod 2'
    [[ $output != *"FAIL "* ]]
}

@test "a group that takes much longer than the others is waited for, and nobody is taken for dead" {
    run --separate-stderr "$LAB" run 4 --rate 1gbit --rate node3=10mbit -- \
        "$BIN/ncclbench" --hosts lab -b 1M -e 1M -n 6 --groups 'div 2' --deadline 3
    [[ $output != *rank.alive* ]]
    [[ $output == *"# FAIL group.bandwidth: group 1 (ranks 2-3: node2, node3) reaches 0.001"* ]]
    # without sizes, too: how long one takes is asked by several in a row
    run --separate-stderr "$LAB" run 4 --rate 1gbit --rate node3=10mbit -- \
        "$BIN/ncclbench" --hosts lab --groups 'div 2' --within 60s --deadline 2500ms
    [[ $output != *rank.alive* && $output == *$'\n'"     1048576 "* ]] || { echo "$output"; false; }
}
