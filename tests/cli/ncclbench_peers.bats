#!/usr/bin/env bats
# ncclbench --analyze on what compares many: nvbandwidth's matrices (text and JSON), SuperBench's
# summary. The figures are made up, the forms are theirs.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load analyze.sh

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

head_of() { # VERSION GPU COUNT
    local i
    printf 'nvbandwidth Version: %s\nBuilt from Git version: %s\n\nCUDA Runtime Version: 12080\nCUDA Driver Version: 12080\nDriver Version: 570.10.01\n\nnode0\n' "$1" "$1"
    for ((i = 0; i < $3; i++)); do printf 'Device %d: %s (00000000:%02x:00)\n' $i "$2" $((i + 16)); done
    echo
}
matrix() { # TEST WORDS ROW...: a row is its values
    local i row first
    printf 'Running %s.\nmemcpy CE %s bandwidth (GB/s)\n  ' "$1" "$2"
    read -ra first <<<"$3"
    for i in "${!first[@]}"; do printf '%10d' "$i"; done
    i=0
    for row in "${@:3}"; do
        printf '\n%2d' $((i++))
        # shellcheck disable=SC2086 # values
        printf '%10s' $row
    done
    printf '\n\nSUM %s 1234.50\n\n' "$1"
}
links() { # GBPS [ROW COLUMN OTHER]...: what passes between eight GPUs, and between some less
    local i k row
    local -A odd=()
    local usual=$1 rows=()
    shift
    while (($#)); do odd[$1,$2]=$3 && shift 3; done
    for i in {0..7}; do
        row=''
        for k in {0..7}; do
            if ((i == k)); then row+=' N/A'; else row+=" ${odd[$i,$k]:-${odd[$i,*]:-${odd[*,$k]:-$usual}}}"; fi
        done
        rows+=("$row")
    done
    matrix device_to_device_memcpy_read_ce 'GPU(row) <- GPU(column)' "${rows[@]}"
}
h100='NVIDIA H100 80GB HBM3'

@test "nvbandwidth: what PCIe gives this GPU, and who gets less of it" {
    { head_of v0.8 "$h100" 4; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' '55.20 55.31 55.10 55.27'; } >good
    judged 0 good
    finds link.bandwidth pass '55.2 GB/s, the median of 4 GPUs: 100 % of the 55 GB/s that PCIe 5.0 x16 gives, which H100 has'
    jq -e '[.findings[].check] == ["link.bandwidth"]' <<<"$output"
    { head_of v0.5 "$h100" 4; matrix device_to_host_memcpy_ce 'CPU(row) <- GPU(column)' '55.20 55.31 24.90 55.27'; } >odd
    judged 1 odd
    finds link.bandwidth pass '55.2 GB/s'
    finds slow.gpu fail 'device_to_host_memcpy_ce: 24.9 GB/s, 45 % of the 55.2 GB/s of the others'
    jq -e '[.findings[] | select(.check == "slow.gpu") | .subject] == ["GPU 2"] and any(.findings[].fix[]?; startswith("nvidia-smi -q"))' <<<"$output"
    { head_of v0.4 "$h100" 2; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' '26.01 25.98'; } >half
    judged 1 half
    finds link.bandwidth fail '47 % of the 55 GB/s that PCIe 5.0 x16 gives, which H100 has; it is what PCIe 4.0 x16 or 5.0 x8 gives'
    { head_of v0.8 'NVIDIA A100-PCIE-40GB' 1; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' 24.7; } >one
    judged 0 one
    finds link.bandwidth pass '24.7 GB/s of one GPU: 99 % of the 25 GB/s that PCIe 4.0 x16'
    # eight lanes by design; in a laptop nobody knows
    { head_of v0.8 'NVIDIA GeForce RTX 4060 Ti' 1; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' 12.9; } >eight
    judged 0 eight
    finds link.bandwidth pass 'of the 12.5 GB/s that PCIe 4.0 x8 gives, which GeForce RTX 4060 has'
    sed 's/4060 Ti/4090 Laptop GPU/' eight >laptop
    judged 0 laptop
    finds link.bandwidth info "what leads to GeForce RTX 4090's host is not in the table"
    { head_of v0.8 'NVIDIA Unheard 1' 1; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' 12.4; } >unknown
    judged 0 unknown
    finds link.bandwidth info 'which is what PCIe 3.0 x16 or 4.0 x8 gives; not judged: this GPU is not in the table'
    { head_of v0.8 'NVIDIA GH200 480GB' 1; matrix host_to_device_memcpy_ce 'CPU(row) -> GPU(column)' 380.1; } >grace
    judged 0 grace
    finds link.bandwidth info "what leads to GH200's host is not in the table"
    { head_of v0.8 "$h100" 2; matrix host_to_device_bidirectional_memcpy_ce 'CPU(row) <-> GPU(column)' '38 39'; } >both
    judged 0 both
    finds link.bandwidth info 'while others use the same links: not judged'
}

@test "nvbandwidth: NVLink of each pair, a GPU or a pair with less, PCIe instead, no way at all" {
    { head_of v0.8 "$h100" 8; links 391.2; } >good
    judged 0 good
    finds link.bandwidth pass '391.2 GB/s, the median of 8 GPUs: 87 % of the 450 GB/s of NVLink 4 each way'
    { head_of v0.8 "$h100" 8; links 391 5 '*' 260 '*' 5 262; } >gpu
    judged 1 gpu
    finds slow.gpu fail 'device_to_device_memcpy_read_ce: 262 GB/s, 67 % of the 391 GB/s of the others'
    jq -e '[.findings[] | select(.check | startswith("slow.")) | .subject] == ["GPU 5"]' <<<"$output"
    { head_of v0.8 "$h100" 8; links 391 1 6 320; } >pair
    judged 0 pair
    finds slow.pair warn '320 GB/s, 82 % of the 391 GB/s of the others'
    jq -e '[.findings[] | select(.check | startswith("slow.")) | .subject] == ["GPU 1, GPU 6"]' <<<"$output"
    { head_of v0.8 "$h100" 8; links 50.1; } >pcie
    judged 1 pcie
    finds link.bandwidth fail '11 % of the 450 GB/s of NVLink 4 each way; it is what PCIe 5.0 x16 gives'
    jq -e 'any(.findings[].fix[]; contains("fabricmanager"))' <<<"$output"
    { head_of v0.8 "$h100" 8; links 391 2 3 N/A 3 2 N/A; } >apart
    judged 0 apart
    finds link.peer warn '2 of 56 pairs of GPUs do not reach each other (N/A)'
    # four GPUs without a switch: each two have a third; a V100's links differ, and so do two sockets'
    { head_of v0.8 'NVIDIA A100-SXM4-40GB' 4; matrix device_to_device_memcpy_read_ce 'GPU(row) <- GPU(column)' 'N/A 90 91 90' '90 N/A 90 91' '90 91 N/A 90' '90 90 90 N/A'; } >four
    judged 0 four
    finds link.bandwidth pass 'of a third of the 300 GB/s of NVLink 3'
    { head_of v0.8 'Tesla V100-SXM2-16GB' 4; matrix device_to_device_memcpy_read_ce 'GPU(row) <- GPU(column)' 'N/A 24 48 9' '24 N/A 9 48' '48 9 N/A 24' '9 48 24 N/A'; } >mesh
    judged 0 mesh
    finds link.bandwidth info 'not judged: it has other links to each of the others'
    jq -e 'all(.findings[]; .check | startswith("slow.") | not)' <<<"$output"
    judged 1 good --expect 400
    finds link.bandwidth fail 'the least is 391.2, expected 400'
    judged 1 good --expect 90%
}

@test "nvbandwidth's JSON, several tests, both ways: the sum of the two counts" {
    jq -n --arg gpu "0: $h100 (00000000:18:00): (node0)" '{nvbandwidth: {"version": "v0.7", "GPU Device list": [$gpu, $gpu], "testcases": [
        {name: "host_to_device_memcpy_ce", status: "Passed", bandwidth_description: "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", bandwidth_matrix: [["55.1", "55.3"]], sum: 110.4},
        {name: "device_to_device_bidirectional_memcpy_read_ce", status: "Passed", bandwidth_description: "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
         bandwidth_matrix: [["N/A", "370"], ["371", "N/A"], ["N/A", "372"], ["373", "N/A"], ["N/A", "742"], ["744", "N/A"]], sum: 1486},
        {name: "host_device_latency_sm", status: "Passed", bandwidth_matrix: [["800", "810"]]},
        {name: "device_local_copy", status: "Waived"}]}}' >nvb.json
    judged 0 nvb.json
    jq -e '[.findings[] | .subject] == ["1. host_to_device_memcpy_ce", "2. device_to_device_bidirectional_memcpy_read_ce"]' <<<"$output"
    finds link.bandwidth pass 'PCIe 5.0 x16 gives'
    finds link.bandwidth info '744 GB/s, the median of 2 GPUs, from 742 on'
    jq 'del(.nvbandwidth["GPU Device list"])' nvb.json >old.json # 0.5 and 0.6
    judged 0 old.json
    finds link.bandwidth info 'which is what PCIe 5.0 x16 gives; not judged: it does not say of which GPU'
    jq '.nvbandwidth = {error: "no CUDA-capable device is detected"}' nvb.json >failed.json
    judged 2 failed.json
    [[ $stderr == *"no CUDA-capable device"* ]]
    { head_of v0.6 "$h100" 2
      printf 'Running device_to_device_bidirectional_memcpy_read_ce.\n'
      matrix x 'GPU(row) <-> GPU(column) Read1' 'N/A 370' '371 N/A' | tail -n +2
      matrix x 'GPU(row) <-> GPU(column) Total' 'N/A 740' '741 N/A' | tail -n +2
      printf 'Running device_to_device_latency_sm.\nDevice to Device Latency SM GPU(row) <-> GPU(column) (ns)\n           0         1\n 0       N/A    900.00\n 1    901.00       N/A\n\n'; } >text
    judged 0 text
    jq -e '(.findings | length) == 1' <<<"$output"
    finds link.bandwidth info '741 GB/s'
    { head_of v0.8 "$h100" 8; links 391; } | head -n 22 >torn # in the middle of its table
    judged 2 torn
    [[ $stderr == *"has no result of nccl-tests"*"nvbandwidth or SuperBench"* ]]
}

superbench() { # NODES FACTOR-OF-NODE-3 CODE-OF-NODE-4
    jq -nc --argjson n "$1" --argjson slow "$2" --argjson code "$3" 'range($n) as $i | ({node: "node\($i)", "nccl-bw:default/return_code": (if $i == 4 then $code else 0 end),
        "nccl-bw:default/allreduce_8_busbw:0": 0.0002, "nccl-bw:default/allreduce_8_time:0": 31.5, "gpt/steptime": 200.5}
        + {"nccl-bw:default/allreduce_8589934592_busbw:0": (if $i == 3 then 480 * $slow else 480 + $i / 10 end)}
        + ([range(8) | {("mem-bw/h2d_bw:\(.)"): (if $i == 2 and . == 5 then 12.1 else 25.1 end)}] | add))'
}

@test "SuperBench's summary: nodes against each other, GPUs against each other, who did not end well" {
    superbench 5 1 0 >good.jsonl
    judged 1 good.jsonl
    finds coll.bandwidth info '480.1 GB/s at 8 GiB, the median of 5 nodes; not judged: it does not say of which GPUs'
    finds link.bandwidth info '25.1 GB/s, the median of 40 GPUs, which is what PCIe 4.0 x16 or 5.0 x8 gives'
    jq -e '.findings[] | select(.check == "slow.gpu") | .subject == "node2 GPU 5" and .status == "fail"' <<<"$output" || return 1
    superbench 5 0.6 7 >bad.jsonl
    judged 1 bad.jsonl
    finds slow.node fail 'nccl-bw:default/allreduce: 288 GB/s, 60 % of the 480.1 GB/s of the others'
    jq -e '[.findings[] | select(.check == "slow.node") | .subject] == ["node3"]' <<<"$output"
    finds coll.data fail 'nccl-bw:default ended with return_code 7 on node4'
    judged 1 bad.jsonl --expect 400
    finds coll.bandwidth fail 'the least is 288, expected 400'
    run -1 "$BIN/ncclbench" --analyze - <bad.jsonl
    [[ $output == *"slow.node"*node3* ]]
    superbench 5 0.6 0 | jq -c 'del(.["mem-bw/h2d_bw:5"])' >nodes.jsonl
    judged 1 nodes.jsonl --expect 250
    finds coll.bandwidth pass 'the least is 288, expected 250'
    # one node's own summary, in lines; pairs of nodes; a line that was cut off
    superbench 1 1 0 | jq 'del(.node)' >results-summary.json
    judged 0 results-summary.json
    finds coll.bandwidth info '480 GB/s at 8 GiB of one node'
    jq -nc '{node: "node0"} + ([range(4) | {("nccl-bw:pairs/allreduce_0_\(.):8589934592_busbw"): (if . == 2 then 20 else 46 end)}] | add)' >pairs.jsonl
    judged 1 pairs.jsonl
    jq -e '.findings[] | select(.check == "slow.node") | .subject == "group 0_2"' <<<"$output"
    { superbench 2 1 0; superbench 1 1 0 | head -c 100; } >cut.jsonl
    judged 0 cut.jsonl
    finds coll.bandwidth info 'the median of 2 nodes'
    jq -nc 'range(30) | {node: "node\(.)", "rccl-bw:x/allgather_1048576_busbw": (if . < 20 then 90 else 30 end)}' >many.jsonl
    run -1 "$BIN/ncclbench" --analyze many.jsonl
    [[ $(grep -c '^fail  slow.node' <<<"$output") == 8 && $output == *"rccl-bw:x/allgather: 2 more nodes are slow."* ]]
    echo '{"node": "node0", "gpt/steptime": 1.5}' >none.jsonl
    judged 2 none.jsonl
}

@test "SuperBench: a benchmark that failed without figures, lines that cannot be read, NaN, a copy of 0 GB/s" {
    superbench 5 1 0 | jq -c '. + {"kernel-launch/return_code": (if .node == "node1" then 3 else 0 end)}' >failed.jsonl
    judged 1 failed.jsonl
    finds coll.data fail 'kernel-launch ended with return_code 3 on node1'
    jq -e '[.findings[] | select(.check == "coll.data")] | length == 1 and .[0].subject == "kernel-launch"' <<<"$output"
    { superbench 5 0.6 0 | head -1 | head -c 120; echo; superbench 5 0.6 0 | tail -n +2; } >first.jsonl
    judged 1 first.jsonl
    finds coll.bandwidth info 'the median of 4 nodes'
    finds slow.node fail '288 GB/s'
    finds coll.data warn '1 line cannot be read'
    superbench 5 1 0 | sed '2s/"gpt\/steptime":200.5/"gpt\/steptime":NaN,"x\/NaN":-Infinity/' >nan.jsonl
    grep -q NaN nan.jsonl
    judged 1 nan.jsonl
    finds coll.bandwidth info 'the median of 5 nodes'
    jq -e 'all(.findings[]; .check != "coll.data")' <<<"$output"
    superbench 5 1 0 | jq -c 'if .node == "node2" then .["mem-bw/h2d_bw:5"] = 0 else . end' >zero.jsonl
    judged 1 zero.jsonl
    jq -e '.findings[] | select(.check == "slow.gpu") | .subject == "node2 GPU 5" and .status == "fail"' <<<"$output"
}
