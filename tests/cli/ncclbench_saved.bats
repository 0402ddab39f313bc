#!/usr/bin/env bats
# ncclbench --analyze on what people keep: tables of nccl-tests old and new, of other
# collectives, cut off, mixed with NCCL's log and launchers' labels, several in one file.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load analyze.sh
load ../wait.sh

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

devices() { # RANKS PER_HOST GPU
    local i
    for ((i = 0; i < $1; i++)); do
        printf '#  Rank %2d Group  0 Pid %6d on %10s device %2d [0000:%02x:00] %s\n' \
            "$i" "$((1000 + i))" "node$((i / $2))" "$((i % $2))" "$i" "$3"
    done
}
# Of 2.12 and later: NAME RANKS PER_HOST GPU BUSBW ALGBW REDOP
table() {
    cat <<T
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: $1_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
$(devices "$2" "$3" "$4")
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float  $(printf %6s "$7")      -1    25.12    0.00    0.00       0    24.90    0.00    0.00       0
  8589934592    2147483648     float  $(printf %6s "$7")      -1  32145.0  $(printf %6s "$6")  $(printf %6s "$5")       0  32111.0  $(printf %6s "$6")  $(printf %6s "$5")       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 231.5
#
# Collective test concluded: $1_perf
T
}
# Until 2.11: no name, no root, errors instead of wrong elements, an older list of devices.
old() { # BUSBW ALGBW
    cat <<T
# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
$(devices 8 8 'A100-SXM4-40GB' | sed 's/ Group  0//; s/^#  Rank/#   Rank/; s/0000:\(..\):00/0x\1/')
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float     sum    35.93    0.00    0.00  1e-07    35.72    0.00    0.00  1e-07
  8589934592    2147483648   float     sum    64150  $2  $1  4e-07    64210  $2  $1  4e-07
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 98.2
#
T
}

@test "a table of 2020: no root, errors of 4e-07, a GPU without its maker's name" {
    old 234.02 133.72 >was
    judged 0 was
    finds world.size pass '8 ranks on 1 host'
    finds coll.data pass 'no element was wrong'
    finds coll.bandwidth pass '234.02 GB/s at 8 GiB'
    old 100.10 57.20 >slow
    judged 1 slow
    finds coll.bandwidth fail '100.10 GB/s'
    sed 's/^# Out of bounds.*/# Out of bounds values : 3 FAILED/' was >wrong
    judged 1 wrong
    finds coll.data fail '3 elements came out wrong'
}

@test "another collective of then: neither reduction nor root, and not judged as all_reduce" {
    old 234.02 267.45 | sed 's/   redop  /  /; s/float     sum/float/' >gather
    judged 0 gather
    finds coll.bandwidth info 'it does not say of which collective it is'
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .value == 234.02' <<<"$output"
    table all_gather 16 8 'NVIDIA H100 80GB HBM3' 360.00 384.00 none >named
    judged 0 named
    finds coll.bandwidth info 'only all_reduce is judged'
}

@test "the line that started an old table says of which collective it is" {
    { echo 'user@node0:~/nccl-tests$ mpirun -np 8 ./build/all_gather_perf -b 8 -e 8G -f 2'
      old 234.02 267.45 | sed 's/   redop  /  /; s/float     sum/float/'; } >asked
    judged 0 asked
    finds coll.bandwidth info 'only all_reduce is judged'
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .subject == "all_gather"' <<<"$output"
    { echo '+ ./all_reduce_perf -b 8'; old 234.02 133.72; echo '+ ./some_other_perf -b 8'; old 234.02 267.45; } >two
    judged 0 two
    jq -e '[.findings[] | select(.check == "coll.bandwidth") | .subject] == ["1. all_reduce", "2. table"]' <<<"$output"
}

@test "an old table that was cut off: errors of 2, and those that are no number, are wrong results" {
    old 234.02 133.72 | grep -v '^# [OA]' >part
    judged 0 part
    finds coll.data warn 'no element was wrong so far'
    jq -e '.findings[] | select(.check == "coll.data") | .fix[0] | startswith("ncclwhy part  #")' <<<"$output"
    run -0 --separate-stderr "$BIN/ncclwhy" part # and no way back
    [[ $output == *"a table without its last lines"* && $output != *--analyze* ]]
    sed '$!s/4e-07$/2e+00/; s/4e-07$/2e+00/' part >off
    judged 1 off
    finds coll.data fail 'results are off by up to 2'
    sed 's/4e-07$/    nan/' part >nan
    judged 1 nan
    finds coll.data fail 'results are no numbers'
    old 234.02 133.72 | sed 's/^# \(Out of\|Avg\)/ \1/; s/: 0 OK/: 2 FAILED/' >bare # its end has no mark
    judged 1 bare
    finds coll.data fail '2 elements came out wrong'
}

@test "a number that another process cut in two is not taken for wrong elements" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum |
        awk '/^  8589934592/ { at = index($0, "32145"); print substr($0, 1, at) "[node1:77] 3 more processes have sent help message"
            print substr($0, at + 1); next } { print }' >torn
    grep -q '3\[node1:77' torn
    judged 0 torn
    finds coll.data pass 'no element was wrong'
    jq -e 'all(.findings[]; .message | contains("262.93") | not)' <<<"$output"
}

@test "rows between NCCL's own lines, cut in pieces by them" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum >whole
    awk '/^  8589934592/ { # size to root | out of place | in place, with what NCCL says between
            printf "%snode0:41:60 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n", substr($0, 1, 52)
            print "node0:41:60 [0] NCCL INFO Connected all trees # of them"
            print ""
            printf "%snode0:41:60 [3] graph/search.cc:890 NCCL WARN Could not find a path\n", substr($0, 53, 33)
            print "3node:41:60 [0] NCCL INFO 24 coll channels"
            print substr($0, 86)
            next
        }
        /^#  Rank/ { print "node0:41:41 [0] NCCL INFO cudaDriverVersion 12020" }
        { print }' whole >mixed
    grep -q 'sum      -1node0' mixed
    judged 0 mixed
    finds world.size pass '8 ranks'
    finds coll.data pass 'no element was wrong'
    finds coll.bandwidth pass '460.12 GB/s at 8 GiB'
    sed 's/ 0node0:41/ 01-gpu:41/; s/-1node0/-1[2026-01-02 03:04:05] node0/' mixed >names # of hosts, and newer lines
    grep -q ' 01-gpu:41' names
    judged 0 names
    finds coll.data pass 'no element was wrong'
}

advised() { jq -e --arg fix "$1" '.findings[] | select(.check == "coll.bandwidth").fix[0] == $fix' <<<"$output"; }

@test "what the hosts are is asked for where that is what is missing" {
    table all_reduce 16 8 'NVIDIA H100 80GB HBM3' 390.00 208.00 sum >hosts
    judged 0 hosts
    advised "say what the hosts are: --nic GBITS (one host's network cards together), --instance TYPE (p5.48xlarge), or what is expected: --expect GBPS"
    judged 0 hosts --instance unheard.of
    jq -e '.findings[] | select(.check == "coll.bandwidth").fix[0] | contains("--nic GBITS")' <<<"$output"
    table all_gather 16 8 'NVIDIA H100 80GB HBM3' 390.00 416.00 none >gather
    table all_reduce 8 8 'NVIDIA L40S' 21.00 12.00 sum >pcie
    for file in gather pcie; do
        judged 0 $file
        advised 'say what is expected: --expect GBPS'
    done
}

@test "several files, each table by its file's name; one behind the other as a shell's *.log names them" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum >a.log
    { table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 100.00 57.14 sum
      table all_gather 8 8 'NVIDIA H100 80GB HBM3' 360.00 411.43 none; } >b.log
    run -1 --separate-stderr "$BIN/ncclbench" --analyze ./*.log --json
    jq -e '[.findings[] | select(.check == "coll.bandwidth") | .subject + " " + .status] ==
        ["./a.log: all_reduce pass", "./b.log: 1. all_reduce fail", "./b.log: 2. all_gather info"]' <<<"$output"
    run -1 --separate-stderr "$BIN/ncclbench" --analyze a.log --analyze b.log
    [[ $output == *"fail  coll.bandwidth     b.log: 1. all_reduce  up to 100.00 GB/s"* ]]
}

@test "launchers' labels, Windows' line ends, a byte order mark, a hole of zeros" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum >plain
    sed 's/^/[1,0]<stdout>:/' plain >mpirun
    sed 's/^/0: /' plain >srun
    sed 's/^/node0: /' plain >pdsh
    sed 's/^/2026-01-02T03:04:05.678Z stdout F /' plain >pod
    sed 's/$/\r/' plain >crlf
    { printf '\xef\xbb\xbf'; cat plain; } >bom
    { cat plain; head -c 5000 /dev/zero; echo; } >hole
    { printf '\xff\xfe'; iconv -f UTF-8 -t UTF-16LE plain; } >'power shell'
    run -2 --separate-stderr "$BIN/ncclbench" --analyze 'power shell'
    [[ $stderr == *"power shell is UTF-16, as PowerShell's > writes it"*"iconv -f UTF-16 -t UTF-8 'power shell' | ncclbench --analyze -"* ]]
    grep -v '^#' plain >rows
    local f
    for f in mpirun srun pdsh pod crlf bom hole; do
        judged 0 "$f"
        finds world.size pass '8 ranks on 1 host'
        finds coll.bandwidth pass '460.12 GB/s at 8 GiB, 102 %'
    done
    judged 0 rows
    finds coll.bandwidth info '460.12 GB/s at 8 GiB; not judged'
    advised 'say what is expected: --expect GBPS' # who says of no rank has no cards either
}

@test "several tables in one file are judged one by one" {
    { table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum
      table all_gather 8 8 'NVIDIA H100 80GB HBM3' 360.00 411.43 none
      table all_reduce 16 8 'NVIDIA H100 80GB HBM3' 45.00 24.00 sum; } >three
    judged 1 three --nic 3200
    jq -e '[.findings[] | select(.check == "coll.bandwidth") | .subject + " " + .status] ==
        ["1. all_reduce pass", "2. all_gather info", "3. all_reduce fail"]' <<<"$output"
    jq -e '[.findings[] | select(.check == "world.size") | .message] ==
        ["8 ranks on 1 host", "8 ranks on 1 host", "16 ranks on 2 hosts"]' <<<"$output"
    run -0 "$BIN/ncclbench" -b 1M -e 2M -n 1 --plot out.svg --plot-with three
    grep -q 'three: 2. all_gather' out.svg
}

@test "worlds that did not meet: one after the other, and all at once" {
    { table all_reduce 1 8 'NVIDIA A100' 0.00 0.00 sum; table all_reduce 1 8 'NVIDIA A100' 0.00 0.00 sum; } >turns
    judged 1 turns
    finds world.size fail '2 worlds of 1 were started, not one of 2'
    awk '{ print; print }' <(table all_reduce 1 8 'NVIDIA A100' 0.00 0.00 sum) >at_once
    judged 1 at_once
    finds world.size fail '2 worlds of 1 were started, not one of 2'
    awk '{ print; print }' <(table all_reduce 8 8 'NVIDIA A100' 234.00 133.71 sum) >eights
    judged 1 eights
    finds world.size fail '2 worlds of 8 were started, not one of 16'
}

@test "out of place only, in place only, -c 0, -I, timestamps, more columns" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum >plain
    awk '/^ /{ print substr($0, 1, 85); next } { sub(/     time   algbw   busbw  #wrong$/, ""); print }' plain >out_only
    awk '/^ /{ print substr($0, 1, 52) sprintf("%33s", "") substr($0, 86); next } { print }' plain >in_only
    sed '/^ /s/       0/     N\/A/g' plain >unchecked
    sed '/^ /s/$/   RING    SIMPLE          32/' plain >rccl
    sed '/^ /s/$/  2026-01-02 03:04:05/' plain >stamps
    sed '/^ /s/       0/       0    25.00    99.00    98.00     1.20/g
        s/#wrong/#wrong    i_min    i_max    i_p99    i_cv%/g' plain >per_iter
    local f
    for f in out_only in_only rccl stamps per_iter; do
        judged 0 "$f"
        finds coll.data pass 'no element was wrong'
        finds coll.bandwidth pass '460.12 GB/s at 8 GiB'
    done
    judged 0 unchecked
    finds coll.data skip 'no result was verified'
}

@test "a run that failed says of what, and where to ask on" {
    table all_reduce 8 8 'NVIDIA H100 80GB HBM3' 460.12 262.93 sum | grep -v '^# [OAC]' >failed
    echo "node1: Test NCCL failure common.cu:958 'remote process exited or there was a network error / '" >>failed
    echo ' .. node1 pid 4711: Test failure common.cu:842' >>failed
    judged 1 failed
    finds coll.data fail "Test NCCL failure common.cu:958 'remote process exited"
    { devices 8 8 'NVIDIA H100'; tail -2 failed; } >none
    run -2 --separate-stderr "$BIN/ncclbench" --analyze none
    [[ $stderr == *"ncclwhy none"*"remote process exited"* ]]
    cp none 'no result'
    run -2 --separate-stderr "$BIN/ncclbench" --analyze 'no result'
    [[ $stderr == *"ncclwhy 'no result'  # it ended with"* ]]
    run -2 --separate-stderr "$BIN/ncclbench" --analyze - <none
    [[ $stderr == *"stdin has no result of"*"ncclwhy LOG  # it ended with"* ]]
    grep -v Test failed | head -n -1 >piece
    judged 0 piece
    finds coll.data warn 'the run has no end'
}

@test "groups (NCCL_TESTS_SPLIT) are judged as one of them, and hosts of different numbers of ranks not at all" {
    table all_reduce 16 8 'NVIDIA H100 80GB HBM3' 47.50 47.50 sum |
        awk '/ Rank / { sub(/Group +0/, "Group  " $3 % 8) } { print }' >rails
    judged 0 rails --nic 8x400
    finds world.size pass '16 ranks on 2 hosts, in 8 groups'
    finds coll.bandwidth pass '95 % of what is possible'
    finds coll.bandwidth pass 'of one of 8 groups at once: 50 GB/s'
    table all_reduce 16 8 'NVIDIA H100 80GB HBM3' 460.00 460.00 sum |
        awk '/ Rank / { sub(/Group +0/, "Group  " int($3 / 8)) } { print }' >hosts
    judged 0 hosts
    finds coll.bandwidth pass 'H100 in one host'
    sed 's/Group  1/Group  2/; s/Rank  3 Group  0/Rank  3 Group  1/' hosts >unlike
    judged 0 unlike
    finds coll.bandwidth info '3 groups at once, which are not alike'
    table all_reduce 16 13 'NVIDIA H100 80GB HBM3' 366.00 195.20 sum >uneven
    judged 0 uneven --nic 8x400
    finds world.size pass '16 ranks on 2 hosts, more on some than on others'
    finds coll.bandwidth info 'hosts with different numbers of ranks'
}

@test "-J of nccl-tests: the collective is the program's name; null is not verified" {
    local doc='{"version": 2, "args": ["/opt/nccl-tests/build/all_reduce_perf", "-J", "x"], "env": [], "nccl_version": 22807,
        "config": {"devices": [range(8) | {rank: ., group: 0, hostname: "a", device_info: "NVIDIA H100 80GB HBM3"}]},
        "results": [{size: 8589934592, count: 2147483648, type: "float", redop: "sum", root: "    -1",
            out_of_place: {time: 32145.0, alg_bw: 267.2, bus_bw: 467.6, nwrong: 0}, in_place: null,
            actual_iterations: 20, experiment_name: ""}],
        "out_of_bounds": {"count": 0, "okay": "true"}, "average_bus_bandwidth": {"bandwidth": 467.6, "okay": "unchecked"}}'
    jq -n "$doc" >theirs
    judged 0 theirs
    finds coll.bandwidth pass '467.60 GB/s at 8 GiB, 104 %'
    jq '.results[0].out_of_place.nwrong = null' theirs >unchecked
    judged 0 unchecked
    finds coll.data skip 'no result was verified'
    # -g 8: of each process its first device alone is listed
    jq '.config += {nthreads: 1, ngpus: 8} | .config.devices |= .[:1]' theirs >one
    judged 0 one
    finds world.size pass '8 ranks on 1 host'
    finds coll.bandwidth pass '467.60 GB/s at 8 GiB, 104 %'
    jq '.config += {nthreads: 2, ngpus: 4}' theirs >listed
    judged 0 listed
    finds world.size pass '8 ranks on 1 host'
    head -c 700 theirs >piece
    run -2 --separate-stderr "$BIN/ncclbench" --analyze piece
    [[ $stderr == *"not all of a JSON document"* ]]
}

@test "our own run that lost a rank, in each of its files; one that was interrupted has no end" {
    "$BIN/ncclbench" --np 2 -b 8 -e 64K -n 1 >text
    "$BIN/ncclbench" --np 2 -b 8 -e 64K -n 1 --json >json
    local died='rank 1 (node1, 10.0.0.2) died: killed by signal 9 (SIGKILL)' part
    { grep -v '^# Collective test concluded' text; echo "# FAIL rank.alive: $died"; } >text.died
    jq --arg m "$died" '.verdict = "fail" | .findings += [{check: "rank.alive", status: "fail", message: $m}]' json >json.died
    for part in text.died json.died; do
        judged 1 $part
        finds coll.data fail "the run failed: $died"
    done
    grep -v '^# Collective test concluded' text >text.cut
    jq '.verdict = "error" | .findings += [{check: "run", status: "error", message: "interrupted by SIGINT; what was finished is reported"}]' json >json.cut
    for part in text.cut json.cut; do
        judged 0 $part
        finds coll.data warn 'the run has no end'
    done
    # what failed is not the run, but its speed: that is judged anew
    jq '.verdict = "fail" | .findings += [{check: "coll.bandwidth", status: "fail", message: "slow"}]' json >json.slow
    judged 0 json.slow
    finds coll.data pass 'no element was wrong'
    jq '.errors = ["something"] | .args[0] = "all_reduce_perf"' <("$BIN/ncclbench" --np 2 -b 8 -e 8 -n 1 -J ours >&2; cat ours) >theirs
    judged 0 theirs
}

has_rows() { (($(grep -c '^ ' out) >= 2)); }

@test "a rank dies: the table does not conclude, -J has it among errors, and no baseline is made of it" {
    echo kept >base
    "$BIN/ncclbench" --np 2 -b 1M -e 1M -n 1 -N 0 -J json --save-baseline base >out 2>err 3>&- &
    local code=0 pid=$!
    wait_for 20 has_rows
    kill -9 "$(sed -n 's/^#  Rank  1 .* Pid *\([0-9]*\) .*/\1/p' out)"
    wait $pid || code=$?
    [ $code -eq 1 ]
    run -1 grep concluded out
    jq -e '.errors | length == 1 and (.[0] | startswith("rank 1 ") and contains("SIGKILL"))' json
    grep -q -- '--save-baseline: base was not written: the run did not come to its end' err
    [ "$(cat base)" = kept ]
    local file
    for file in out json; do
        judged 1 $file
        finds coll.data fail 'the run failed: rank 1 '
    done
    run -1 --separate-stderr "$BIN/ncclbench" --np 2 -b 1M -e 1M -n 1 --expect 1e6 --save-baseline base
    [[ $stderr == *"base was not written: the run failed"* && $(cat base) == kept ]]
}

@test "--expect of a saved run is of what lasts, as of a live one: not of a burst at a small size" {
    table all_reduce 8 8 'Some GPU' 1.10 0.63 sum |
        awk '/^ +8589934592/ { print "     4194304       1048576     float     sum      -1   4000.0    2.86    5.00       0   4000.0    2.86    5.00       0" } { print }' >burst
    judged 1 burst --expect 2
    finds coll.bandwidth fail 'up to 1.10 GB/s at 8 GiB, expected 2; 5.00 GB/s at 4 MiB does not last'
    judged 0 burst --expect 1
    judged 0 burst
    finds coll.bandwidth info 'up to 1.10 GB/s at 8 GiB; not judged'
}
