#!/usr/bin/env bats
# What ncclbench writes and reads: nccl-tests' JSON, baselines, plots, saved runs.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

bench() { run --separate-stderr "$BIN/ncclbench" "$@"; }

# A table as nccl-tests prints it: RANKS HOSTS GPU BUSBW [BYTES WRONG]
table() {
    local i
    echo '# nccl-tests version 2.19.6 nccl-headers=22903 nccl-library=22903'
    echo '# Collective test starting: all_reduce_perf'
    echo '# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0'
    echo '#'
    echo '# Using devices'
    for ((i = 0; i < $1; i++)); do
        printf '#  Rank %2d Group  0 Pid %6d on %10s device %2d [0000:%02x:00] %s\n' \
            "$i" "$((1000 + i))" "node$((i * $2 / $1))" "$((i % 8))" "$i" "$3"
    done
    echo '#'
    echo '#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong'
    echo '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)'
    echo '           8             2     float     sum      -1    25.12    0.00    0.00       0    24.90    0.00    0.00       0'
    printf '%12s    2147483648     float     sum      -1  32145.0  267.00  %6s  %6s  32111.0  267.00  %6s       0\n' \
        "${5:-8589934592}" "$4" "${6:-0}" "$4"
    echo '# Out of bounds values : 0 OK'
    echo '# Avg bus bandwidth    : 231.5'
    echo '#'
    echo '# Collective test concluded: all_reduce_perf'
}

@test "-J writes what nccl-tests writes, iteration times included, and overwrites nothing" {
    bench -b 1K -e 4K -n 7 -K 2 -J out.json --coll reduce -r 1
    [ "$status" -eq 0 ]
    [ -z "$(tail -c 1 out.json)" ] # a whole line
    jq -e '.version == 3 and (.args | index("-J")) and .config.iterations == 7 and
        (.config.devices | length == 2 and (.[0] | .rank == 0 and .hostname and .device_info)) and
        .out_of_bounds == {"count": 0, "okay": "true"} and .average_bus_bandwidth.bandwidth > 0 and
        .start_time and .end_time and .errors == []' out.json
    jq -e '.results | length == 3 and (.[0] | .size == 1024 and .count == 256 and .type == "float" and
        .redop == "sum" and .root == "     1" and .out_of_place.nwrong == 0 and .in_place.bus_bw > 0 and
        .experiment_name == "reduce" and .actual_iterations == 7)' out.json
    jq -e '.results[0].out_of_place_per_iter | (.times_us | length == 7) and .skipped_iterations == 2 and
        .min_us <= .p50_us and .p50_us <= .p95_us and .p95_us <= .p99_us and .p99_us <= .max_us' out.json
    # each rank's, of which the slowest one's counts
    jq -e 'all(.results[] | .out_of_place_per_iter, .in_place_per_iter;
        (.per_process_max_times_us | length == 2 and all(length == 7)) and
        ([.per_process_max_times_us | transpose[] | max] == .times_us))' out.json
    bench -b 8 -e 8 -n 1 -J out.json
    [ "$status" -eq 0 ]
    [[ $stderr == *"-J: out.json is there already, so it is in out.json.0"* ]]
    jq -e '.results[0].size == 8' out.json.0
    jq -e '.results | length == 3' out.json
    local file
    for file in '-J nowhere/out.json' '--save-baseline nowhere/out' '--plot nowhere/out.svg'; do # said before the work
        # shellcheck disable=SC2086 # two words
        bench -b 1M -e 1M -n 1 $file
        [ "$status" -eq 3 ]
        [[ -z $output && $stderr == *nowhere* ]]
    done
}

@test "-I: its columns are of the slowest rank's iterations alone, whosever time is shown" {
    bench -b 1K -e 1K -n 8 -I 1 -K 2 -a 0 -z 3 -J out.json
    [ "$status" -eq 0 ]
    grep -v '^#' <<<"$output" >row
    python3 - <<'P'
import json, statistics
j = json.load(open("out.json"))["results"][0]["out_of_place_per_iter"]
row, t = open("row").read().split(), j["times_us"][2:]
cv = statistics.pstdev(t) / statistics.mean(t) * 100
assert abs(float(row[12]) - cv) < 0.01 + cv / 1000, (row, cv)
assert abs(j["cv_pct"] - cv) < 0.01 and abs(j["avg_us"] - statistics.mean(t)) < 0.001, j
assert j["p50_us"] == sorted(t)[3], j
P
}

@test "--report: what the table says and is no trouble is not repeated on stderr" {
    bench -b 8 -e 64K -n 2 --report page.html
    [[ $status == 0 && $stderr == "ncclbench: report: page.html" && $output == *"# INFO coll.bandwidth: "* ]]
    grep -q 'coll\.bandwidth' page.html
}

@test "-J: what does not fit is not left as a part of it" {
    for file in out.json out.csv; do
        run -3 bash -c 'ulimit -f 1; "$0" -b 8 -e 1K -n 2 -J "$1"' "$BIN/ncclbench" "$file"
        [[ $output == *"-J: cannot write $file: "*"see \`ulimit -f\`"* && ! -e $file ]]
    done
}

@test "what the disk has no room for: which one is to be freed" {
    unshare -m true 2>/dev/null || skip "no private mounts"
    local file
    mkdir full
    for file in '-J out.json' '-J out.csv' '--plot out.svg' '--save-baseline out.json' '--output out' '--report out.html'; do
        # shellcheck disable=SC2016,SC2086
        run -3 --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs "$1" && cd "$1" &&
            head -c 4096 /dev/zero >all && shift && "$@"; code=$?; ls -A >&2; exit $code' - "$PWD/full" \
            "$BIN/ncclbench" -b 1M -e 1M -n 1 $file
        [[ $stderr == *"cannot "*" ${file#* }: "*"No space left on device"*"free some space (\`df -h "* && ${stderr_lines[-1]} == all ]] ||
            { echo "$file: $output $stderr"; return 1; }
    done
    # shellcheck disable=SC2016
    run -3 --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs "$1" && cd "$1" &&
        head -c 4096 /dev/zero >all && "$2" -b 1M -e 1M -n 1 >answer' - "$PWD/full" "$BIN/ncclbench"
    [[ $stderr == *"cannot write to stdout: No space left on device"*"free some space (\`df -h $PWD/full\`)"* ]]
}

@test "-J says when it began, and when it ended" {
    bench --for 2s -b 64K -e 64K -n 5 -J out.json
    [ "$status" -eq 0 ]
    jq -e '.start_time < .end_time' out.json
}

@test "a baseline: saved, kept, missed, of something else, cut off" {
    bench -b 1M -e 4M -n 5 --save-baseline base.json
    [ "$status" -eq 0 ]
    bench -b 1M -e 4M -n 5 --baseline base.json --warn-below 2 --fail-below 1
    [ "$status" -eq 0 ]
    [[ $output == *"PASS coll.baseline: "*" of the baseline's bus bandwidth over 3 sizes"* ]]
    jq '.rows[].busbw *= 1e6' base.json >fast.json
    bench -b 1M -e 4M -n 5 --baseline fast.json
    [ "$status" -eq 1 ]
    [[ $output == *"FAIL coll.baseline: 0 % of the baseline"* ]]
    bench -b 1M -e 4M -n 5 --baseline fast.json --fail-below 95 # alone, and above what would warn
    [[ $status -eq 1 && $stderr == *"expected >= 95 % of the baseline)"* ]]
    bench -b 1M -e 4M -n 5 --np 3 --baseline base.json
    [ "$status" -eq 3 ]
    [[ $output == *"ERROR coll.baseline: the baseline cannot be compared with this run: it is of 2 ranks"* ]]
    jq '.device = "NVIDIA H200" | .backend = "nccl"' base.json >other.json
    bench -b 1M -e 4M -n 5 --baseline other.json
    [[ $output == *"it is of NVIDIA H200 over nccl"* ]]
    bench -b 8 -e 8 -n 1 --baseline base.json
    [ "$status" -eq 3 ]
    [[ $output == *"no size of 1 MiB or more in common"* ]]
    jq '.transport = "9 sockets per pair of ranks, bbr"' base.json >sockets.json
    bench -b 1M -e 4M -n 5 --baseline sockets.json --warn-below 2 --fail-below 1
    [[ $output == *"PASS coll.baseline: "*"; it had 9 sockets per pair of ranks, this run has "[1-8]* ]]
    bench --coll broadcast -r 1 -b 1M -e 1M -n 5 --save-baseline rooted.json
    [ "$status" -eq 0 ]
    jq -e '.rows[0].root == 1' rooted.json
    bench --coll broadcast -r 1 -b 1M -e 1M -n 5 --baseline rooted.json --warn-below 2 --fail-below 1
    [ "$status" -eq 0 ]
    bench --coll broadcast -r 1 -b 1M -e 1M -n 1 -d half --baseline rooted.json
    [[ $status -eq 3 && $output == *"cannot be compared with this run: it is of float" ]]
    bench --coll broadcast -r 0 -b 1M -e 1M -n 5 --baseline rooted.json
    [[ $status -eq 3 && $output == *"cannot be compared with this run: it is of root 1"* ]]
    bench -b 1M -e 1M -n 1 -d double --baseline base.json
    [[ $status -eq 3 && $output == *"cannot be compared with this run: it is of float, sum"* ]]
    bench -b 1M -e 1M -n 1 -o max --baseline base.json
    [[ $status -eq 3 && $output == *"cannot be compared with this run: it is of float, sum"* ]]
    head -c 100 base.json >cut.json
    bench --baseline cut.json
    [ "$status" -eq 2 ]
    [[ -z $output && $stderr == *"cut.json"* ]]
}

@test "what is no baseline: where one can be written is named, and no device or pipe" {
    echo '{}' >'no base'
    local none="is no baseline, or not all of one; ncclbench --save-baseline"
    bench --baseline 'no base'
    [[ $status -eq 2 && $stderr == *"no base $none 'no base' writes one" ]]
    echo '{"ncclbench_baseline": 1, "rows": []}' >'no base'
    bench --baseline 'no base'
    [[ $status -eq 2 && -z $output && $stderr == *"no base $none 'no base' writes one" ]]
    bench --baseline /dev/null
    [[ $status -eq 2 && $stderr == *"/dev/null $none FILE writes one" ]]
    run -2 --separate-stderr "$BIN/ncclbench" --np 2 --baseline - <'no base'
    [[ $stderr == *"stdin $none FILE writes one" ]]
    bench -b 1M -e 1M -n 1 --save-baseline /dev/null
    [[ $status -eq 3 && $stderr == *"/dev/null is not a regular file"*"name a regular file, not a folder or a device"* ]]
}

@test "a baseline of nothing is not written" {
    bench -b 0 -e 0 -n 1 --save-baseline none.json
    [[ $status -eq 2 && -z $output && $stderr == *"--save-baseline: empty messages leave nothing to compare with"* ]]
    bench -b 8 -e 512K -n 1 --save-baseline none.json
    [[ $status -eq 2 && -z $output && $stderr == *"--save-baseline: baselines are compared by sizes from 1 MiB on, and none is so large"* ]]
    bench -b 8 -e 1M -f 500000 -n 1 --save-baseline none.json # only 8 bytes: the next is larger than -e
    [[ $status -eq 3 && $stderr == *"nothing was written to none.json: no message of 1 MiB or more carried anything"* ]]
    [ ! -e none.json ]
    bench -b 0 -e 1M -i 1M -n 1 --save-baseline base.json
    [ "$status" -eq 0 ]
    jq -e '.rows | length == 1 and .[0].size == 1048576' base.json
    bench --np 3 --coll all_gather -b 1M -e 1M -n 1 --save-baseline thirds.json # 1 MiB in whole elements
    [ "$status" -eq 0 ]
    bench --np 3 --coll all_gather -b 1M -e 1M -n 1 --baseline thirds.json --warn-below 2 --fail-below 1
    [[ $status -eq 0 && $output == *"PASS coll.baseline: "*" over 1 size, "* ]]
}

@test "--plot draws an SVG with other runs beside it, - draws here" {
    "$BIN/ncclbench" -b 8 -e 1M -n 2 >saved.txt
    bench -b 8 -e 1M -n 2 --plot out.svg --plot-with saved.txt
    [ "$status" -eq 0 ]
    python3 - <<'P'
import xml.etree.ElementTree as e
s = "{http://www.w3.org/2000/svg}"
t = e.parse("out.svg").getroot()
lines = t.findall(s + "polyline")
assert len(lines) == 4, len(lines)
n = [len(l.get("points").split()) for l in lines]
assert n[0] == n[2] == n[3] == 18 and 0 < n[1] <= 18, n # a table's 0.00 has no logarithm
assert {"this run", "saved.txt"} <= {x.text for x in t.findall(s + "text")}
P
    bench -b 8 -e 1M -n 2 --plot -
    [ "$status" -eq 0 ]
    [[ $output == *"# bus bandwidth, GB/s, over size"*"|"*"*"* ]]
    bench -b 8 -e 1M -n 2 --plot - --plot-with saved.txt
    [[ $output == *"# bus bandwidth, GB/s, over size"*"#       a  this run"$'\n'"#       b  saved.txt"* ]]
    [[ ${output#*over size} == *"|"*b* ]]
    bench -b 8 -e 8 -n 1 --plot - --json
    [[ $status == 2 && -z $output && $stderr == *"--plot - draws below the table, which --format json has not: name a file"* ]]
    bench -b 8 -e 8 -n 1 --plot out.svg --plot-with nothing.txt
    [ "$status" -eq 2 ]
    [ -z "$output" ]
}

@test "--analyze: eight H100 with NVLink are normal at 460 GB/s, slow at 200" {
    table 8 1 'NVIDIA H100 80GB HBM3' 460.12 >good
    bench --analyze good
    [ "$status" -eq 0 ]
    [[ $output == *"pass"*"coll.bandwidth"*"460.12 GB/s at 8 GiB, 102 % of what is possible"*"NVLink 4 does 450 GB/s"* ]]
    table 8 1 'NVIDIA H100 80GB HBM3' 520.00 >better # no card between hosts has a part in it
    bench --analyze better --strict
    [ "$status" -eq 0 ]
    [[ $output == *"info  coll.bandwidth"*"520.00 GB/s at 8 GiB, 1.2 times what was thought possible"* && $output != *ethtool* ]]
    table 8 1 'NVIDIA H100 80GB HBM3' 200.00 >bad
    bench --analyze bad
    [ "$status" -eq 1 ]
    run -1 --separate-stderr "$BIN/ncclbench" --analyze - --json <bad
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .status == "fail" and .value == 200 and (.fix | length) > 0' <<<"$output"
}

@test "--analyze: between hosts the network cards decide" {
    table 16 2 'NVIDIA H100 80GB HBM3' 479.00 >p5
    bench --analyze p5
    [ "$status" -eq 0 ]
    [[ $output == *"the speed of the network cards is not known"* ]]
    bench --analyze p5 --instance p5.48xlarge
    [ "$status" -eq 0 ]
    [[ $output == *"120 % of what rings do"*"32 network cards of 100 Gb/s"* ]]
    bench --analyze p5 --nic 3200
    [ "$status" -eq 0 ]
    # what was told is not overruled by what is known of the type
    bench --analyze p5 --nic 400 --instance p5.48xlarge
    [[ $status -eq 0 && $output == *"warn  coll.bandwidth"*"each host's network cards do 400 Gb/s"* ]]
    # --nic of one card, not of all of them: nothing to boast of
    bench --analyze p5 --nic 1600
    [ "$status" -eq 0 ]
    [[ $output == *"warn  coll.bandwidth"*"479.00 GB/s at 8 GiB, 128 % of all that the network cards could do: "*"cannot be right"*"-> ethtool IFACE "* ]]
    table 16 2 'NVIDIA H100 80GB HBM3' 45.00 >slow
    bench --analyze slow --nic 3200
    [ "$status" -eq 1 ]
    # GPUs that nothing but PCIe joins hold the cards back, who knows how far
    table 16 2 'NVIDIA L40S' 21.00 >pcie
    bench --analyze pcie --nic 400 --strict
    [ "$status" -eq 0 ]
    [[ $output == *"info  coll.bandwidth"*"not judged: several ranks on each host, and no NVLink is known between them"* ]]
}

@test "--analyze: cards of 1 to 100 Gb/s are asked for what they do at the usual sizes" {
    local mib=$((1 << 20))
    table 2 2 'NVIDIA L4' 0.37 $((128 * mib)) >slow
    bench --analyze slow --nic 10
    [[ $status == 1 && $output == *"0.37 GB/s at 128 MiB, 30 % of what is possible ("* ]]
    table 2 2 'NVIDIA L4' 0.10 $((32 * mib)) >slow
    bench --analyze slow --nic 10
    [[ $status == 1 && $output == *"0.1 GB/s at 32 MiB, 8 % of what is possible ("*"expected >= 0.688 GB/s"* ]]
    bench --analyze slow --nic 1
    [[ $status == 0 && $output == *"pass"*", 80 % of what is possible ("* ]]
    table 2 2 'NVIDIA L4' 1.00 $((128 * mib)) >slow
    bench --analyze slow --nic 25
    [[ $status == 1 && $output == *", 32 % of what is possible ("* ]]
    bench --analyze slow --nic 1
    [[ $output == *"expected <= 0.125 GB/s"* ]]
    table 2 2 'NVIDIA L4' 1.10 $((64 * mib)) >well
    bench --analyze well --nic 10
    [[ $status == 0 && $output == *"1.10 GB/s at 64 MiB, 88 % of what is possible ("* ]]
}

@test "--analyze: N worlds of 1, wrong data, a run without an end, a size too small" {
    { table 1 1 'NVIDIA A100-SXM4-80GB' 0.00; table 1 1 'NVIDIA A100-SXM4-80GB' 0.00; } >worlds
    bench --analyze worlds
    [ "$status" -eq 1 ]
    [[ $output == *"2 worlds of 1 were started, not one of 2"* ]]
    table 8 1 'NVIDIA A100-SXM4-80GB' 234.00 8589934592 77 >wrong
    bench --analyze wrong
    [ "$status" -eq 1 ]
    [[ $output == *"77 elements came out wrong"* ]]
    table 8 1 'NVIDIA A100-SXM4-80GB' 234.00 | grep -v '^# [OAC]' >cutoff
    bench --analyze cutoff
    [ "$status" -eq 0 ]
    [[ $output == *"warn"*"the run has no end"* ]]
    table 8 1 'NVIDIA A100-SXM4-80GB' 20.00 1048576 >small
    bench --analyze small
    [ "$status" -eq 0 ]
    [[ $output == *"too small to judge by"* ]]
}

@test "--analyze and --baseline read pipes, which come only once" {
    "$BIN/ncclbench" -b 1M -e 1M -n 2 --save-baseline base >ours
    gzip -k ours
    bench --analyze <(zcat ours.gz)
    [[ $status == 0 && $output == *"1 MiB"* ]]
    bench --analyze /dev/stdin <ours
    [[ $status == 0 && $output == *"1 MiB"* ]]
    bench --analyze <(cat ours.gz)
    [[ $status == 3 && $stderr == *"what comes in is compressed"* ]]
    bench -b 1M -e 1M -n 2 --warn-below 2 --fail-below 1 --baseline <(cat base)
    [[ $status == 0 && $output == *"PASS coll.baseline"* ]]
}

@test "--analyze: our own outputs, and what is none" {
    "$BIN/ncclbench" --np 3 -b 8 -e 64K -n 2 >ours.txt
    "$BIN/ncclbench" --np 3 -b 8 -e 64K -n 2 --json >ours.json
    "$BIN/ncclbench" --np 3 -b 8 -e 64K -n 2 -J theirs.json
    local f
    for f in ours.txt ours.json theirs.json; do
        bench --analyze "$f"
        [ "$status" -eq 0 ]
        [[ $output == *"3 ranks on 1 host"*"no element was wrong"* ]]
    done
    echo 'Segmentation fault' >none
    bench --analyze none
    [ "$status" -eq 2 ]
    head -c 300 ours.json >cut.json
    bench --analyze cut.json
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    head -c 100000 /dev/urandom >noise
    bench --analyze noise
    [ "$status" -eq 2 ]
}

@test "--expect PERCENT has nothing to be taken of on one host without a GPU" {
    bench -b 1M -e 1M -n 2 --expect 60%
    [ "$status" -eq 3 ]
    [[ $output == *"ERROR coll.bandwidth: there is nothing to take --expect PERCENT of"* ]]
}

@test "--pairs between ranks of this machine; --find-slow finds nobody" {
    bench --np 3 --pairs
    [[ $output == *"# Bandwidth, GB/s (row to column)"*"rank 2"* ]]
    bench --np 3 --find-slow --json
    jq -e '.data.pairs | length == 6 and all(.gbps > 0 and .latency_us > 0)' <<<"$output"
}

@test "where no file can be made: what was tried, what to do, and the answer on stdout" {
    run -3 --separate-stderr "$BIN/ifprobe" --output /proc/x
    [[ $output == *"PASS"* && $stderr == *"cannot replace /proc/x: "*"; the answer is on stdout instead"*" - /proc takes no new file from anybody; choose another place" ]]
    run -3 --separate-stderr "$BIN/ncclbench" -b 8 -e 8 -n 1 -J /proc/x
    [[ $output == *"# PASS coll.data"* && $stderr == *"-J: cannot write /proc/x: "*" - /proc takes no new file from anybody; choose another place" ]]
    run -3 --separate-stderr "$BIN/ddpsmoke" --steps 3 --plot /proc/x
    [[ $output == *"ERROR  a file was not written, "* && $stderr == *"- /proc takes no new file from anybody; choose another place" ]]
    # before the work, with the line that makes the folder
    run -3 --separate-stderr "$BIN/windsock" --quick --output "no such/folder/x"
    [[ -z $output && $stderr == *"cannot write no such/folder/x: folder no such/folder: No such file or directory"*"  -> mkdir -p 'no such/folder'" ]]
    install -m 755 /dev/null a
    run -3 --separate-stderr "$BIN/windsock" --quick --output a/x
    [[ -z $output && $stderr == *"cannot write a/x: folder a: Not a directory"*" - a is a file, not a folder; choose another place" ]]
}

@test "one file is not named for two things to be written" {
    local line
    ln -s x link
    for line in "windsock --quick --output x --report x" "ncclbench -J x --plot x" \
        "ncclbench --report x --output x" "ddpsmoke --plot x --output x" \
        "ncclbench --report ./x --output x" "ncclbench --report $PWD/x --output x" "ncclbench --report link --output x"; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr "$BIN/"$line
        [[ -z $output && $stderr == *": "*" was named for two things to be written; give each a file of its own" && ! -e x ]] || { echo "$line: $stderr"; false; }
    done
    echo old >x # one that is there
    run -2 --separate-stderr "$BIN/ncclbench" --report link --output x
    [[ $stderr == *"named for two things"* && $(cat x) == old ]]
    # two of one name in two folders; and two in one that is not there
    mkdir d
    run -0 --separate-stderr "$BIN/ncclbench" --np 2 -b 8 -e 8 -n 1 --report d/r --output r
    [ -s d/r ] && [ -s r ]
    run -3 --separate-stderr "$BIN/ncclbench" --report none/r --output none/s
    [[ $stderr == *"folder none: No such file or directory"* ]]
}
