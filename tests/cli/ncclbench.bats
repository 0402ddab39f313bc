#!/usr/bin/env bats
# ncclbench: nccl-tests' table and flags, verified results, verdicts, and what
# happens when a rank dies, hangs or somebody presses Ctrl-C.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

bench() { # runs with few iterations: this is about what is said, not how fast
    run --separate-stderr "$BIN/ncclbench" "$@"
}

rows() { grep -v '^#' <<<"$output"; }

# Waits until the table has N rows.
wait_for_rows() { # FILE N
    local i
    for ((i = 0; i < 200; i++)); do
        (($(grep -cv '^#' "$1" 2>/dev/null || true)0 < $2 * 10)) || return 0
        sleep 0.05
    done
    cat "$1"
    return 1
}

ends_with() { # CODE PID: of a child of ours
    local code=0
    wait "$2" || code=$?
    [ "$code" -eq "$1" ]
}

# The pid that the table shows for a rank.
pid_of() { # FILE RANK
    sed -n "s/^#  Rank *$2 .*Pid *\([0-9]*\) on.*/\1/p" "$1"
}

@test "sizes double from the first to the last" {
    bench -b 8 -e 128K -n 2
    [ "$status" -eq 0 ]
    [ "$(rows | wc -l)" -eq 15 ]
    [[ $(rows | head -1) == '           8             2     float     sum      -1  '* ]]
    [[ $(rows | tail -1) == '      131072 '* ]]
}

@test "the table is nccl-tests': header, columns, marks" {
    bench -b 1M -e 1M -n 2
    [ "$status" -eq 0 ]
    [[ $output == *"#                                                              out-of-place                       in-place          "* ]]
    [[ $output == *"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong "* ]]
    [[ $output == *"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         "* ]]
    [ "$(rows | awk '{ print NF }')" -eq 13 ]
    [[ $(rows) == '     1048576        262144     float     sum      -1  '* ]]
    [[ $output == *"# Out of bounds values : 0 OK"* ]]
    [[ $output =~ "# Avg bus bandwidth    : "[0-9.]+ ]]
}

@test "every output says that it measured host memory over TCP, not NCCL" {
    bench -b 8 -e 8 -n 1
    [[ $output == *"Host memory over TCP was measured, not NCCL"* ]]
    bench -b 8 -e 8 -n 1 --json
    jq -e '.data.covers | test("host memory over TCP") and test("NCCL")' <<<"$output"
    jq -e '.data.backend == "tcp" and (.data.transport | test("socket"))' <<<"$output"
}

@test "every collective is verified on three ranks, and called by its name" {
    local c
    for c in all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv; do
        ln -sf "$BIN/ncclbench" "$BATS_TEST_TMPDIR/${c}_perf"
        run -0 --separate-stderr "$BATS_TEST_TMPDIR/${c}_perf" --np 3 -b 200K -e 400K -n 2
        [[ $output == *"# Collective test starting: ${c}_perf"* ]]
        [[ $output == *"PASS coll.data: 4 results verified, none wrong"* ]]
    done
}

@test "empty messages prove nothing: exit 3, and what was not compared is not counted" {
    local size
    for size in 0 4; do # 4 bytes of all_gather are no float for each of two ranks
        run -3 --separate-stderr "$BIN/ncclbench" --coll all_gather -b "$size" -e "$size" -n 2
        [[ $output == *"# ERROR coll.data: all messages were empty: nothing was carried or compared"* ]]
        [[ $output != *verified* && $output != *coll.bandwidth* ]]
        printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/saved"
        run -3 "$BIN/ncclbench" --analyze "$BATS_TEST_TMPDIR/saved"
        [[ $output == *"all messages were empty"* ]]
    done
    run -0 --separate-stderr "$BIN/ncclbench" -b 0 -e 8 -n 2
    [[ $output == *"PASS coll.data: 4 results verified, none wrong"* ]] # of 4 and of 8 bytes
}

# Of two ranks' buffers 5/8 leave, so bus bandwidth and wire rate are one thing; but
# they are of different ranks' clocks: who waited for a processor at an end of the loop has
# another rate, which many rounds make small.
one_thing() {
    bench --coll alltoallv --np 2 -b 4M -e 4M -n 40 --wire-rate
    [ "$status" -eq 0 ] && [[ $output == *"#wrong    wire   iwire"* ]] &&
        rows | awk 'function far(a, b) { return a > b * 1.1 + 0.02 || b > a * 1.1 + 0.02 }
            NF != 15 || far($14, $8) || far($15, $12) { print; exit 1 }'
}
@test "alltoallv: what leaves a rank is what --wire-rate counts" {
    one_thing || one_thing || one_thing || one_thing
}

@test "--json: what each rank sent, took and was waited for" {
    bench --np 4 -b 8M -e 8M -n 4 --json
    jq -e '.data.results | length == 2 and all(.[]; .wire > 0 and (.rank_us | length == 4 and all(. > 0)) and
        (.rank_waited_for | length == 4 and all(. >= 0 and . <= 1)))' <<<"$output"
    jq -e '[.findings[] | select(.check == "rank.straggler")] | length == 1 and
        (.[0] | .value >= 0 and .unit == "%")' <<<"$output"
}

@test "-M: the memory that was used, of the size that was really reached" {
    bench -b 1M -e 1M -n 1 -M 1
    [[ $output == *"# Memory per rank      : 2 MiB"* ]]
    bench -M 1 -b 8 -e 8 -n 1
    [[ $output == *"# Memory per rank      : 8.0"*" KiB"* || $output == *"# Memory per rank      : 8 KiB"* ]]
}

@test "hypercube_perf is an all_gather" {
    ln -sf "$BIN/ncclbench" "$BATS_TEST_TMPDIR/hypercube_perf"
    run -0 --separate-stderr "$BATS_TEST_TMPDIR/hypercube_perf" --np 2 -b 4K -e 4K -n 1
    [[ $output == *"# Collective test starting: all_gather_perf"* ]]
}

@test "a link named as containers name it, alltoall_perf_mpi, is that test" {
    ln -sf "$BIN/ncclbench" "$BATS_TEST_TMPDIR/alltoall_perf_mpi"
    run -0 --separate-stderr "$BATS_TEST_TMPDIR/alltoall_perf_mpi" --np 2 -b 4K -e 4K -n 1
    [[ $output == *"# Collective test starting: alltoall_perf"* ]]
}

@test "all types, reductions and roots" {
    bench --coll reduce --np 2 -b 4K -e 4K -n 1 -w 0 -d all -o all -r all
    [ "$status" -eq 0 ]
    [ "$(rows | wc -l)" -eq 144 ]
    [[ $output == *"PASS coll.data: 288 results verified"* ]]
}

@test "-o mulsum: each rank's values times a number of its own, as in nccl-tests; a baseline knows it" {
    for coll in all_reduce reduce reduce_scatter; do
        bench --np 3 --coll $coll -b 1K -e 4M -f 64 -n 2 -c 2 -d all -o mulsum --json
        [ "$status" -eq 0 ]
        jq -e '.verdict == "pass" and all(.data.results[]; .redop == "mulsum" and .wrong == 0)' <<<"$output"
    done
    bench -b 1M -e 1M -n 5 -o mulsum --save-baseline "$BATS_TEST_TMPDIR/base.json"
    bench -b 1M -e 1M -n 5 -o mulsum --baseline "$BATS_TEST_TMPDIR/base.json" --warn-below 2 --fail-below 1
    [[ $status -eq 0 && $output == *"PASS coll.baseline: "* ]]
    bench -b 1M -e 1M -n 5 --baseline "$BATS_TEST_TMPDIR/base.json"
    [[ $output == *"ERROR coll.baseline: "* ]]
}

@test "-t times -g are ranks" {
    bench -t 2 -g 2 -b 8 -e 8 -n 1 --json
    [ "$status" -eq 0 ]
    jq -e '.data.world.ranks | length == 4 and all(.host and .address and .device)' <<<"$output"
}

@test "JSON has what the design says" {
    bench --coll broadcast -b 64K -e 64K -n 3 -r 1 --json
    [ "$status" -eq 0 ]
    jq -e '.data.results | length == 2 and (.[0] | .coll == "broadcast" and .size == 65536 and
        .count == 16384 and .dtype == "float" and .root == 1 and .wrong == 0 and
        .in_place == false and .time_us > 0 and .algbw > 0 and .busbw > 0 and
        .p50_us > 0 and .p99_us >= .p50_us) and .[1].in_place' <<<"$output"
    jq -e '[.findings[] | select(.check == "coll.data" and .status == "pass")] | length == 1' <<<"$output"
}

@test "a bare run ends by itself with a verdict" {
    run -0 --separate-stderr timeout 60 "$BIN/ncclbench"
    [[ $output == *"PASS coll.data"* && $output == *"INFO coll.bandwidth"* ]]
    [ "$(rows | wc -l)" -ge 4 ] # three for the latency; the time may be up after the next one
}

@test "a latency is told of small messages alone" {
    bench -b 1M -e 1M -n 2
    [[ $output == *"INFO coll.bandwidth"* && $output != *latency* ]]
    bench -b 4K -e 4K -n 2
    [[ $output == *"INFO coll.bandwidth"*", latency "*" us; "* ]]
}

@test "--expect: a shortfall is exit 1" {
    bench -b 1M -e 1M -n 2 --expect 10000
    [ "$status" -eq 1 ]
    [[ $output == *"FAIL coll.bandwidth"*"expected 10000"* ]]
    bench -b 1M -e 1M -n 2 --expect 0.0001
    [ "$status" -eq 0 ]
}

@test "--expect of one rank says nothing of the cluster: exit 3" {
    local coll
    for coll in all_reduce sendrecv; do
        bench --np 1 --coll $coll -b 1M -e 1M -n 2 --expect 2 --json
        [ "$status" -eq 3 ]
        jq -e '.findings[] | select(.check == "coll.bandwidth") | .status == "error" and (has("value") | not) and
            (.message | contains("one rank")) and (.fix[0] | test("--hosts HOSTS .*--np 2"))' <<<"$output"
    done
    bench --np 1 -b 1M -e 1M -n 2
    [[ $status == 0 && $output == *"INFO coll.bandwidth: "*"not judged: one rank"* ]]
}

@test "two ranks that are slow are advised what was not done yet" {
    bench --np 2 -b 1M -e 1M -n 1 --coll broadcast -d half -r 1 --expect 10000
    [[ $stderr == *"-> ncclbench --np 2 -b 64M -e 1G --coll broadcast -d half -r 1 --expect 10000  # larger sizes reach more"* ]]
    bench --np 2 -b 64M -e 64M -n 1 -w 0 -c 0 --expect 10000
    [[ $status == 1 && $stderr == *"-> uptime; top -b -n 1 "* && $stderr != *"-e 1G"* ]]
}

@test "-c 0 verifies nothing and says so" {
    bench -b 8 -e 8 -n 1 -c 0
    [ "$status" -eq 0 ]
    [[ $(rows) == *N/A*N/A* && $output == *"SKIP coll.data"* ]]
}

@test "flags for a GPU are taken and answered" {
    bench -b 8 -e 8 -n 1 -G 1 -R 1 -p 1 -I 1 -S 1 -M 1 -z 1 -a 3 -C 1
    [ "$status" -eq 0 ]
    [[ $output == *"# -G does nothing with tcp"* && $output == *"# -R does nothing with tcp"* ]]
    [[ $output == *cputime*i_min*i_max*i_p99*timestamp* ]]
    [ "$(rows | awk '{ print NF }')" -eq 23 ]
}

@test "another backend is exit 4 with the reason, also in JSON" {
    local b
    export WINDSOCK_PLUGINS=$BATS_TEST_TMPDIR # none there
    for b in nccl gloo mpi; do
        bench --backend "$b"
        [ "$status" -eq 4 ]
        [ -z "$output" ]
        [[ $stderr == *"plug-in $b"*".so is not there"* ]]
    done
    bench --backend nccl --json
    [ "$status" -eq 4 ]
    jq -e '.verdict == "error"' <<<"$output"
}

@test "what cannot be is exit 2 with one line" {
    local args
    for args in '-b 2 -e 1' '-n 0' '-m 0' '-d flaot' '-o summ' '-r 2' '-r x' '-i 0 -f 1' \
        '-i 0' '-b 99999999999999999999' '-b 18446744073709551615' '-e 18446744073709551615' '-N 18446744073709551615' '-b -1' '--np 0' '--np 600' '-t 100 -g 100' '-K 20' \
        '--coll all_redcue' '--bind nowhere' '-a 4' '--expect fast' '--expect 100Gb/s' '--expect 0' '--init x://y'; do
        # shellcheck disable=SC2086
        bench $args
        [ "$status" -eq 2 ] || { echo "$args: $status"; false; }
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    done
    bench -d flaot
    [[ $stderr == *float* ]]
}

@test "more than memory holds is reduced with a note, or refused" {
    bench -b 1M -e 16T -i 16T -n 1 -w 0 -c 0
    [ "$status" -eq 0 ]
    [[ $output == *"# Reducing maxBytes to "*"memory"* ]]
    bench -b 16T -e 16T
    [ "$status" -eq 3 ]
    [[ $stderr == *memory* ]]
}

@test "a limit of the process caps sizes as well" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    run -0 --separate-stderr bash -c "ulimit -v 300000; '$BIN/ncclbench' -b 1M -e 4G -f 64 -n 1 -w 0 -c 0"
    [[ $output == *"# Reducing maxBytes to "*"memory"* ]]
    ((${#lines[@]} > 10))
}

@test "a killed rank: what was finished, who it was, exit 1" {
    local out i
    for i in 1 2 3 4 5; do
        out=$BATS_TEST_TMPDIR/out$i
        "$BIN/ncclbench" --np 3 -b 64K -e 64K -n 5 -N 0 >"$out" 2>"$out.err" 3>&- &
        wait_for_rows "$out" 2
        kill -9 "$(pid_of "$out" 2)"
        ends_with 1 $!
        grep -q 'FAIL rank.alive: rank 2 (.*, 127.0.0.1) died: killed by signal 9' "$out"
        grep -q '^# Avg bus bandwidth' "$out"
    done
}

@test "a stopped rank: named when the deadline has passed" {
    local out pid i
    for i in 1 2 3 4 5; do
        out=$BATS_TEST_TMPDIR/out$i
        "$BIN/ncclbench" --np 4 -b 64K -e 64K -n 5 -N 0 --deadline 700ms >"$out" 2>"$out.err" 3>&- &
        wait_for_rows "$out" 2
        pid=$(pid_of "$out" 1)
        kill -STOP "$pid"
        ends_with 1 $!
        grep -q 'FAIL rank.alive: rank 1 (.*) did nothing for 700 ms' "$out"
        run -1 kill -0 "$pid"
    done
}

@test "Ctrl-C prints what was finished, and leaves nobody behind" {
    local out=$BATS_TEST_TMPDIR/out pid
    "$BIN/ncclbench" --np 3 -b 64K -e 64K -n 5 -N 0 >"$out" 2>"$out.err" 3>&- &
    wait_for_rows "$out" 2
    pid=$(pid_of "$out" 2)
    kill -INT $!
    ends_with 3 $!
    grep -q '^# Avg bus bandwidth' "$out"
    run ! grep -q FAIL "$out"
    grep -q 'interrupted by SIGINT' "$out.err"
    run -1 kill -0 "$pid"
}

@test "no rank outlives a killed command" {
    local out=$BATS_TEST_TMPDIR/out pid i
    "$BIN/ncclbench" --np 3 -b 64K -e 64K -n 5 -N 0 >"$out" 2>"$out.err" 3>&- &
    wait_for_rows "$out" 1
    pid=$(pid_of "$out" 2)
    kill -9 $!
    for ((i = 0; i < 300; i++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.05
    done
    false
}

@test "--find-slow of nothing but this host's two ranks is no answer: exit 3; of --np it is" {
    bench --find-slow
    [ "$status" -eq 3 ]
    [[ $output == *"# ERROR pair.hosts: both ranks are on this host"* ]]
    bench --find-slow --np 2
    [[ $status -lt 2 && $output != *pair.hosts* ]]
}
