#!/usr/bin/env bats
# What was asked of ncclbench is done, or refused before anything is measured: no option is
# taken and forgotten. Also what scripts written for nccl-tests ask for.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
    unset NCCL_TESTS_SPLIT NCCL_TESTS_SPLIT_MASK NCCL_TESTS_MIN_BW NCCL_TESTS_DEVICE
    cd "$BATS_TEST_TMPDIR" || return
}

bench() {
    run --separate-stderr "$BIN/ncclbench" "$@"
}

refused() { # WHAT-IS-SAID ARGS...
    local said=$1
    shift
    bench "$@"
    [[ $status == 2 && -z $output && ${#stderr_lines[@]} == 1 && $stderr == *"$said"* ]] ||
        { echo "$*: $status $output $stderr"; return 1; }
}

@test "what pairs do not have is refused, and not passed" {
    local args
    for args in '-J x.json' '--plot x.svg' '--plot -' '--save-baseline x' '--expect 50%'; do
        # shellcheck disable=SC2086
        refused "is of a table of sizes" --pairs $args
        # shellcheck disable=SC2086
        refused "is of a table of sizes" --find-slow $args
    done
    bench -b 1M -e 1M -n 1 --save-baseline base
    refused "--baseline is of a table of sizes" --pairs --baseline base
    [[ ! -e x && ! -e x.json && ! -e x.svg ]]
}

@test "what measures nothing heeds no option of a measurement, and what measures none of a saved one" {
    local args
    : >saved
    for args in '-b 8' '--np 4' '--hosts a,b' --pairs '--coll alltoall' '--plot x.svg' --copy-self; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/ncclbench" --analyze saved $args
        [[ $stderr == *"${args%% *} does not go with --analyze, which measures nothing"* ]]
    done
    ln -s "$BIN/ncclbench" all_gather_perf # its name asks for nothing
    run --separate-stderr ./all_gather_perf --analyze saved --expect 2
    [[ $stderr != *"does not go with"* ]]
    refused "--nic goes with --analyze" --nic foo
    refused "--instance goes with --analyze" --instance p5.48xlarge
    for args in '--coll broadcast' '-d half' '-o max' '-r 1'; do
        # shellcheck disable=SC2086
        refused "${args%% *} is of collectives, which --pairs and --find-slow do not measure" --pairs $args
    done
    for args in '-b 8' '-e 1G' '-i 1M' '-f 4' '-n 5' '-w 9' '-m 2' '-N 2' '-u 1' '-a 0' '-c 0' '-z 1' '-C 1' '-I 1' \
        '-K 1' '-S 1' '-M 1' --wire-rate; do
        # shellcheck disable=SC2086
        refused "${args%% *} is of a table of sizes, which --pairs and --find-slow do not make: leave it out" --find-slow $args
    done
    # what a link's name says nobody has typed
    run -0 --separate-stderr ./all_gather_perf --np 2 --pairs
}

@test "-f alone: the large sizes grow by it, and the head says so" {
    bench -f 16 -n 1 --within 5s
    [[ $output == *" step: 16(factor) "* && $(sizes) == "8 1024 32768 "* ]]
    read -ra large <<<"$(sizes)"
    ((${#large[@]} < 5 || large[4] == 16 * large[3]))
    bench -n 1 --within 1s
    [[ $output == *" step: 4(factor) "* ]]
}

@test "--pairs --expect: each direction by itself, the slowest first" {
    bench --np 3 --pairs --expect 100000
    [ "$status" -eq 1 ]
    [[ $output == *"FAIL pair.expected: 6 of 6 directions are below 100000 GB/s: rank "* ]]
    grep -o 'pair.expected: .*' <<<"$output" | grep -oE 'rank [0-9] to rank [0-9] [0-9.]+' >named
    [ "$(cut -d ' ' -f 1-5 named | sort -u | wc -l)" -eq 6 ]
    sort -C -g -k 6 named
    bench --np 3 --find-slow --expect 0.000001 --json
    jq -e '[.findings[] | select(.check == "pair.expected")] | length == 1 and .[0].status == "pass" and
        (.[0].message | startswith("all 6 directions reach 1e-06 GB/s; the slowest is rank "))' <<<"$output"
    bench --np 5 --find-slow --expect 100000 # more than are worth a line
    [[ $output == *"20 of 20 directions"*" ..."* ]]
    [ "$(grep -o 'pair.expected: .*' <<<"$output" | grep -o 'rank . to rank .' | wc -l)" -eq 8 ]
}

@test "options that go with another one, and names that are none" {
    local option
    for option in '--wait 2' '--wait-time 2s' '--port 3333' --no-local; do
        # shellcheck disable=SC2086
        refused "goes with --serve" $option
    done
    for option in --partial --keep --copy-self; do
        refused "$option goes with --hosts" "$option"
    done
    refused "not with --np" --init tcp://127.0.0.1:3333 --np 2
    refused "cannot be combined" --hosts a --serve
    refused "add --plot FILE.svg" --plot-with x
    refused "name it FILE.svg" --plot x.png
    refused "nothing would warn" --warn-below 30 --fail-below 40
    refused "-T and --deadline are the same" -T 1 --deadline 5s
    for option in -J --plot --report --save-baseline --output; do
        refused "'' is no name of a file" "$option" ''
    done
    for option in -J --report --save-baseline; do # stdout has the table; nothing is to be called so
        refused "name a file" "$option" -
    done
    [ ! -e - ]
}

@test "--np-per-host alone: so many here" {
    bench -b 8 -e 8 -n 1 --np-per-host 3
    [ "$(grep -c '^#  Rank ' <<<"$output")" -eq 3 ]
    bench -b 8 -e 8 -n 1 --np-per-host 2 -t 2
    [ "$(grep -c '^#  Rank ' <<<"$output")" -eq 4 ]
}

@test "--quiet: only what is wrong, and the verdict" {
    bench -b 8 -e 64 -n 2 --quiet
    [ "$status" -eq 0 ]
    [[ ${#lines[@]} == 1 && $output == PASS*"2 local ranks"* && -z $stderr ]]
    bench -b 8 -e 64 -n 2 --quiet --expect 9000
    [ "$status" -eq 1 ]
    [[ ${lines[0]} == "fail  coll.bandwidth "*"expected 9000"* && ${lines[-1]} == FAIL* ]]
    bench --pairs --np 2 --quiet --expect 100000
    [[ ${lines[0]} == "fail  pair.expected "* && $output != *"row to column"* ]]
    bench -b 8 -e 64 -n 2 --quiet -c 0
    [ "$status" -eq 0 ]
}

@test "Ctrl-C is said once, and not by every rank" {
    local i code=0
    "$BIN/ncclbench" --np 3 -b 64K -e 64K -n 5 -N 0 >out 2>err 3>&- &
    for ((i = 0; i < 400; i++)); do
        ! grep -q '^ *65536 ' out || break
        sleep 0.05
    done
    kill -INT $!
    wait $! || code=$?
    [ "$code" -eq 3 ]
    [ "$(grep -c interrupted err)" -eq 1 ] || { cat err; false; }
}

sizes() { awk '!/^#/ {print $1}' <<<"$output" | xargs; }

@test "of scripts for nccl-tests: -f 1 adds 1 MiB, -f goes before -i, -x and -y" {
    local args
    for args in '-f 1' '-f 0' '-i 0'; do
        # shellcheck disable=SC2086
        bench -b 64 -e 64 -n 1 $args
        [ "$status" -eq 0 ] || { echo "$args: $status $stderr"; false; }
        [ "$(grep -cv '^#' <<<"$output")" -eq 1 ]
    done
    bench -b 1M -e 3M -n 1 -f 1
    [[ $(sizes) == "1048576 2097152 3145728" ]]
    bench -b 64 -e 256 -n 1 -i 32 -f 2
    [[ $(sizes) == "64 128 256" ]]
    bench -b 64 -e 64 -n 1 -x 1 -y 1
    [ "$status" -eq 0 ]
    [[ $output == *"# -x does nothing with tcp"*"# -y does nothing with tcp"* ]]
}

@test "NCCL_TESTS_MIN_BW judges the average as nccl-tests does, and NCCL_TESTS_DEVICE chooses nothing" {
    NCCL_TESTS_MIN_BW=9000 bench -b 1M -e 1M -n 1 -J min.json
    [ "$status" -eq 1 ]
    [[ $output == *"# Avg bus bandwidth    : "*" FAILED"*"# FAIL coll.average: "*"NCCL_TESTS_MIN_BW=9000"* ]]
    [ "$(jq -r .average_bus_bandwidth.okay min.json)" = false ]
    NCCL_TESTS_MIN_BW=.000001 NCCL_TESTS_DEVICE=0 bench -b 1M -e 1M -n 1
    [ "$status" -eq 0 ]
    [[ $output == *"# NCCL_TESTS_DEVICE does nothing with tcp"*" OK"*"# PASS coll.average: "* ]]
    NCCL_TESTS_MIN_BW=fast refused "NCCL_TESTS_MIN_BW=fast is no bandwidth"
    bench -b 1M -e 1M -n 1
    [[ $output != *coll.average* && $output != *NCCL_TESTS* ]]
}

@test "-J FILE.csv: a line for each result, and nothing is overwritten" {
    bench -b 8 -e 64 -n 3 -J x.csv --coll broadcast -r 1
    [ "$status" -eq 0 ]
    python3 - x.csv <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [int(r["size"]) for r in rows] == [8, 8, 16, 16, 32, 32, 64, 64], rows
assert [r["in_place"] for r in rows] == ["0", "1"] * 4
for r in rows:
    assert (r["coll"], r["backend"], r["ranks"], r["type"], r["redop"], r["root"]) == \
        ("broadcast", "tcp", "2", "float", "none", "1"), r
    assert r["wrong"] == "0" and float(r["time_us"]) > 0
    assert float(r["min_us"]) <= float(r["p50_us"]) <= float(r["p99_us"]) <= float(r["max_us"])
EOF
    bench -b 8 -e 8 -n 1 -c 0 -J x.csv
    [ -e x.csv.0 ]
    [ "$(wc -l <x.csv)" -eq 9 ]
    [ -z "$(cut -d, -f 13 x.csv.0 | sed -n 2p)" ] # what was not looked at is not 0
}
