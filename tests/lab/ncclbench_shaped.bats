#!/usr/bin/env bats
# What ncclbench says of a link that a shaper holds back: what lasts leads, not the bucket's first
# moment.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../nodes.sh

setup_file() { nodes_up 2; }

@test "a shaper's bucket carries small sizes: the sentence is led by what the large ones reach" {
    for n in 0 1; do on "$n" tc qdisc replace dev eth0 root tbf rate 400mbit burst 2m latency 100ms; done
    run -0 --separate-stderr on 0 "$BIN/ncclbench" --hosts 'node[0-1]' --rsh "$LAB rsh $LAB_NAME" -b 1K -e 4M --json
    jq -c '.findings[] | select(.check == "coll.bandwidth")' <<<"$output"
    # A row of the table has far more than the link can do, and the verdict has not. (A crowded machine stops
    # now and then, and the bucket fills again meanwhile: somewhat more than 0.05 is no lie.)
    jq -e 'any(.data.results[]; .busbw > 0.15) and any(.findings[]; .check == "coll.bandwidth" and .value < 0.12 and
        (.message | test("^bus bandwidth 0[.][01][0-9]* GB/s at ") and test("; [0-9.]+ GB/s at [0-9]+ KiB does not last")))' <<<"$output"
}

@test "a link of 100 Mb/s has figures of three digits, and what is asked has as many" {
    for n in 0 1; do on "$n" tc qdisc replace dev eth0 root tbf rate 100mbit burst 64k latency 50ms; done
    local bench=("$BIN/ncclbench" --hosts 'node[0-1]' --rsh "$LAB rsh $LAB_NAME" -b 1M -e 1M -n 3)
    run -1 --separate-stderr on 0 "${bench[@]}" --expect 0.0125
    [[ $output =~ "# FAIL coll.bandwidth: bus bandwidth 0.0"[01][0-9][0-9]?" GB/s at 1 MiB, expected 0.0125" ]]
    [[ $stderr == *"ncclbench --rsh '$LAB rsh $LAB_NAME' --hosts 'node[0-1]' -b 64M -e 1G --expect 0.0125  # larger sizes reach more"* ]]
    for n in 0 1; do on "$n" tc qdisc del dev eth0 root; done
    run -1 --separate-stderr on 0 "${bench[@]}" -b 64M -e 64M -n 1 -w 0 -c 0 --expect 1000
    [[ $stderr == *"ncclbench --rsh '$LAB rsh $LAB_NAME' --hosts 'node[0-1]' --pairs  # each direction"* ]]
}
