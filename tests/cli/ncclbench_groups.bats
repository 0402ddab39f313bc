#!/usr/bin/env bats
# ncclbench --groups: several groups of ranks at once, as nccl-tests' NCCL_TESTS_SPLIT has them.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load plugins.sh
load ../wait.sh

setup() {
    plugin_test ncclbench
    unset NCCL_TESTS_SPLIT NCCL_TESTS_SPLIT_MASK NCCL_TESTS_MIN_BW
}

bench() { run --separate-stderr "$B" "$@"; }

refused() { # WHAT-IS-SAID ARGS...
    local said=$1
    shift
    bench "$@"
    [[ $status == 2 && -z $output && ${#stderr_lines[@]} == 1 && $stderr == *"$said"* ]] ||
        { echo "$*: $status $output $stderr"; return 1; }
}

# The Group column: "0 1 0 1".
groups() { awk '$2 == "Rank" { print $5 }' <<<"$output" | xargs; }

@test "who is in which group: the words, nccl-tests' variables, and a list" {
    local how
    for how in 'mod 2' 'MOD2' '% 2' 'and 1' 'mask 0x1' '&0b1' '0,2;1,3'; do
        bench --np 4 -b 64 -e 64 -n 1 --groups "$how"
        [[ $status == 0 && $(groups) == '0 1 0 1' ]] || { echo "$how: $output$stderr"; false; }
    done
    for how in 'div 2' '/2' '0-1;2-3'; do
        bench --np 4 -b 64 -e 64 -n 1 --groups "$how"
        [[ $(groups) == '0 0 1 1' ]]
    done
    bench --np 4 -b 64 -e 64 -n 1 --groups 'or 1'
    [[ $(groups) == '1 1 3 3' ]]
    NCCL_TESTS_SPLIT='MOD 2' bench --np 4 -b 64 -e 64 -n 1
    [[ $(groups) == '0 1 0 1' && $status == 0 ]]
    NCCL_TESTS_SPLIT='OR 0x1' bench --np 4 -b 64 -e 64 -n 1
    [[ $(groups) == '1 1 3 3' ]]
    NCCL_TESTS_SPLIT_MASK=2 NCCL_TESTS_SPLIT='DIV 4' bench --np 4 -b 64 -e 64 -n 1 # the mask goes first
    [[ $(groups) == '0 0 2 2' ]]
    NCCL_TESTS_SPLIT_MASK=10 bench --np 17 -b 64 -e 64 -n 1 # hexadecimal
    [[ $(groups) == '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 16' ]]
    NCCL_TESTS_SPLIT='MOD 2' bench --np 4 -b 64 -e 64 -n 1 --groups 'div 2' # what is typed goes first
    [[ $(groups) == '0 0 1 1' ]]
    for how in 'NCCL_TESTS_SPLIT_MASK=0x0' 'NCCL_TESTS_SPLIT=MOD 1' NCCL_TESTS_SPLIT=; do # one group of all
        run -0 --separate-stderr env "$how" "$B" -b 64 -e 64 -n 1
        [[ $(groups) == '0 0' && $output != *"Groups, all at once"* ]]
    done
    bench -b 64 -e 64 -n 1 --groups 'div 2' # and has no fastest and slowest
    [[ $output =~ "INFO group.bandwidth: 1 group, "[0-9.]+" GB/s; not judged: there is one group" ]]
}

@test "there ranks are processes: -g of them are one" {
    NCCL_TESTS_SPLIT='MOD 2' bench --np-per-host 2 -g 2 -b 64 -e 64 -n 1
    [[ $(groups) == '0 0 1 1' && $output == *"# NCCL_TESTS_SPLIT is of processes, here 2 ranks each (-t, -g); --groups is of ranks"* ]]
    bench --np-per-host 2 -g 2 -b 64 -e 64 -n 1 --groups 'mod 2'
    [[ $(groups) == '0 1 0 1' ]]
}

@test "the table is nccl-tests': its bandwidth is one group's, of the mean of all" {
    bench --np 4 -b 1M -e 1M -n 5 --groups 'div 2' --json
    [ "$status" -eq 0 ]
    valid
    [[ $(jq -r .data.covers <<<"$output") == *"4 local ranks in 2 groups, host memory over TCP; "* ]]
    jq -e '.data.results | length == 2 and all(.[]; .size == 1048576 and .wrong == 0 and (.rank_us | length) == 4 and
        (.busbw / .algbw - 1 | fabs) < 1e-6 and ((.rank_us | add / 4) / .time_us - 1 | fabs) < 1e-6)' <<<"$output"
    jq -e '.data.groups == [.data.groups[] | select(.busbw_gbps > 0 and .wrong == 0 and (.hosts | length == 1))] and
        [.data.groups[] | [.id, .ranks]] == [[0, [0, 1]], [1, [2, 3]]] and
        [.data.world.ranks[].group] == [0, 0, 1, 1]' <<<"$output"
    bench --np 4 -b 1M -e 1M -n 5 --groups 'mod 1' --json # all are one: 2 * 3 / 4
    jq -e 'all(.data.results[]; (.busbw / .algbw - 1.5 | fabs) < 1e-6)' <<<"$output"
    bench --np 4 -b 64 -e 256 -n 2 --groups 'mod 2'
    [ "$(grep -cvE '^#' <<<"$output")" -eq 3 ]
    awk '!/^#/ && NF != 13 { exit 1 }' <<<"$output"
    [[ $output == *"# Groups, all at once: bus bandwidth of each, at sizes up to 256 B"*$'\n'"#  Group  0 "*"ranks 0, 2"*$'\n'"#  Group  1 "*"ranks 1, 3"* ]]
}

@test "ours is read back: --analyze and -J know the groups" {
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 2' -J x.json
    [ "$status" -eq 0 ]
    [[ $(jq -c '[.config.devices[].group]' x.json) == '[0,1,0,1]' ]]
    echo "$output" >table
    bench --analyze table
    [[ $output == *"4 ranks on 1 host, in 2 groups"* ]]
    bench --analyze x.json
    [[ $output == *"in 2 groups"* ]]
    bench --np 5 -b 1M -e 1M -n 2 --groups '0-1;3-4' # rank 2 looks on
    echo "$output" >table
    bench --analyze table
    [[ $output == *"5 ranks on 1 host, in 2 groups"*"2 groups at once, which are not alike"* ]]
    bench --np 4 -b 8 -e 8 -n 1 --groups 'div 2' -J x.csv
    [[ $(cut -d, -f 3 x.csv | xargs) == 'ranks 2 2' ]]
}

@test "every collective is right within each group, roots and in place too" {
    local coll
    for coll in all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv; do
        bench --np 5 --coll "$coll" -b 4K -e 64K -f 16 -n 2 -r all --groups '0,2,4;1,3' --json
        jq -e 'any(.data.results[]; .wrong == 0) and all(.data.results[]; .wrong // 0 == 0) and
            [.data.groups[].wrong] == [0, 0]' <<<"$output" >/dev/null || { echo "$coll: $output$stderr"; false; }
    done
    bench --np 4 --coll broadcast -r 1 -b 64 -e 64 -n 1 --groups 'mod 2'
    [ "$status" -eq 0 ]
    bench --np 6 --coll broadcast -r all -b 64 -e 64 -n 1 --groups '0-3;4-5' # those that every group has
    [[ $(awk '!/^#/ { print $5 }' <<<"$output" | xargs) == '0 1' ]]
    refused "-r: 2 is not one of the 2 ranks of each group" --np 4 --coll broadcast -r 2 --groups 'mod 2'
    refused "-r: 1 is not one of the 1 rank of the smallest group" --np 4 --coll broadcast -r 1 --groups '0-2;3'
}

@test "a rank in no group looks on; a group of one carries nothing; sizes differ" {
    local args
    bench --np 5 -b 1K -e 1M -f 32 -n 3 --groups '1-2;4' --json
    [ "$status" -eq 0 ]
    jq -e '[.data.world.ranks[].group] == [-1, 0, 0, -1, 1] and [.data.groups[].ranks] == [[1, 2], [4]] and
        (.data.groups[0].busbw_gbps > 0) and (.data.groups[1] | has("busbw_gbps") | not) and
        all(.data.results[]; .wrong == 0 and .rank_us[0] == 0 and .rank_us[3] == 0 and .busbw == .algbw)' <<<"$output"
    for args in '-z 1' '-z 2' '-z 3' '-m 3' '-a 0' '-a 2' '-a 3' '-C 1' '-N 2' '-c 0' '-I 1' '-u 1' '--within 2s'; do
        # shellcheck disable=SC2086
        bench --np 5 -b 1K -e 64K -f 8 -n 4 --groups '1-2;4' $args
        [[ $status == 0 ]] || { echo "$args: $output$stderr"; false; }
        awk '!/^#/ && !($6 > 0) { exit 1 }' <<<"$output" || { echo "$args: $output"; false; }
    done
    bench --np 4 -b 8 -e 8 -n 1 --groups 'mod 4'
    [[ $status == 0 && $output == *"INFO group.bandwidth: 4 groups: not judged: a group of one rank carries nothing"* ]]
    bench --np 3 -n 1 --within 2s --groups '0-1;2' # without sizes
    [ "$status" -eq 0 ]
    bench --np 5 --coll all_gather -b 1000 -e 100000 -f 7 -n 2 --within 2s --groups '0-2;3-4'
    [ "$status" -eq 0 ]
}

@test "ranks of one machine are not judged beside each other, and --expect is asked of each group" {
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 2'
    [[ $output == *"INFO group.bandwidth: 2 groups, "*" GB/s; not judged: groups share hosts"* ]]
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 2' --expect 100000
    [ "$status" -eq 1 ]
    [[ $output == *"FAIL coll.bandwidth: "* && $output == *"FAIL group.expected: 2 of 2 groups are below 100000 GB/s: group 0 (ranks 0, 2: "*"group 1 (ranks 1, 3: "* ]]
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 2' --expect 0.000001
    [[ $status == 0 && $output == *"PASS group.expected: all 2 groups reach 1e-06 GB/s"* ]]
    bench --np 4 -b 1M -e 1M -n 2 --groups '0;1-3' --expect 0.000001 # of several sizes the table's is of none
    [[ $status == 0 && $output == *"INFO coll.bandwidth: "*"groups of several sizes, of which each one's is expected"* ]]
    bench --np 4 -b 1M -e 1M -n 2 --groups '0;1-3' --expect 100000
    [[ $status == 1 && $output == *"INFO coll.bandwidth: "*"FAIL group.expected: 1 of 1 groups are below 100000 GB/s: group 1 (ranks 1-3: "* ]]
}

@test "groups of several sizes have no bandwidth in common, and groups of one rank none to expect" {
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 3' --json
    [ "$status" -eq 0 ]
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .status == "info" and (has("value") | not) and
        .message == "not judged: groups of several sizes, of which each one\u0027s is in the list"' <<<"$output"
    jq -e '[.data.groups[] | select(.busbw_gbps > 0)] | length == 1' <<<"$output"
    bench --np 4 -b 1M -e 1M -n 2 --groups 'mod 9' --expect 4
    [[ $status == 3 && $output == *"ERROR coll.bandwidth: there is nothing to hold against --expect: one rank"* ]]
}

@test "what makes no groups, or does not go with them, is refused in a line" {
    refused "--groups: 'mod 0' divides by nothing" --groups 'mod 0'
    refused "--groups: 'nodes' is no way to make groups" --groups nodes
    refused "--groups: 4 is not one of 2 ranks" --groups '0;4'
    refused "--groups: rank 1 is there twice" --np 4 --groups '0-1;1-2'
    refused "--groups: 2-1 ends before it begins" --np 4 --groups '2-1'
    refused "--groups: more than 65536 characters" --groups "$(printf '0,%.0s' {1..40000})0"
    local with
    for with in --pairs --find-slow '--for 10s'; do
        # shellcheck disable=SC2086
        refused "--groups does not go with ${with%% *}" --groups 'mod 2' $with
        # shellcheck disable=SC2086
        NCCL_TESTS_SPLIT='MOD 2' refused "NCCL_TESTS_SPLIT does not go with ${with%% *}" $with
    done
    : >saved
    refused "--groups does not go with --analyze" --analyze saved --groups 'mod 2'
    NCCL_TESTS_SPLIT=8 refused "NCCL_TESTS_SPLIT=8 says nothing of groups"
    NCCL_TESTS_SPLIT='0-3;4-7' refused "says nothing of groups"
    NCCL_TESTS_SPLIT='MOD 0' refused "says nothing of groups"
    NCCL_TESTS_SPLIT_MASK=0xzz refused "NCCL_TESTS_SPLIT_MASK=0xzz says nothing of groups"
    NCCL_TESTS_SPLIT_MASK=0xffffffffff refused "says nothing of groups"
}

@test "a baseline of groups is compared with the same groups alone" {
    bench --np 4 -b 1M -e 1M -n 3 --groups 'mod 2' --save-baseline base
    [[ $(jq -r .groups base) == 'mod 2' ]]
    bench --np 4 -b 1M -e 1M -n 3 --baseline base
    [[ $status == 3 && $output == *"it is of --groups 'mod 2'"* ]]
    bench --np 4 -b 1M -e 1M -n 3 --groups 'mod 2' --baseline base --warn-below 2 --fail-below 1
    [[ $output == *"PASS coll.baseline"* ]]
    bench --np 4 -b 1M -e 1M -n 3 --groups '0,2;1,3' --baseline base --warn-below 2 --fail-below 1 # in other words
    [[ $output == *"PASS coll.baseline"* ]]
    bench --np 4 -b 1M -e 1M -n 3 --groups 'div 2' --baseline base
    [[ $status == 3 && $output == *"it is of --groups 'mod 2'"* ]]
    bench --np 4 -b 1M -e 1M -n 3 --save-baseline all
    bench --np 4 -b 1M -e 1M -n 3 --groups 'mod 2' --baseline all
    [[ $output == *"it is of all ranks together"* ]]
}

@test "ranks that somebody else starts have to be asked for the same groups" {
    local port r
    port=$(free_port)
    RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 60 "$B" -b 8 -e 8 -n 1 >out1 2>&1 3>&- &
    r=0
    RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port NCCL_TESTS_SPLIT='MOD 2' \
        timeout 60 "$B" -b 8 -e 8 -n 1 >out0 2>&1 || r=$?
    wait
    [[ $r == 1 && $(cat out0) == *"rank.alike"*"--groups is MOD 2 on rank 0 ("*" and not given on rank 1 ("* ]]
}

# Two hosts, as env:// names them, on one machine: their GPUs are the same ones.
@test "GPUs of one number on all hosts are a group; those that are one GPU are not judged" {
    fake
    unshare -ru true || skip "no user namespaces here"
    local r port
    port=$(free_port)
    for r in 3 2 1 0; do
        # shellcheck disable=SC2016 # expanded there
        RANK=$r WORLD_SIZE=4 LOCAL_RANK=$((r % 2)) LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port NCCL_TESTS_SPLIT='MOD 2' \
            timeout 60 unshare -ru sh -c 'hostname "$0" && exec "$@"' "host$((r / 2))" "$B" --backend nccl -b 1M -e 1M -n 2 --json >"out$r" 2>"err$r" 3>&- &
    done
    wait
    jq -e '[.data.groups[] | [.id, .ranks, .hosts]] == [[0, [0, 2], ["host0", "host1"]], [1, [1, 3], ["host0", "host1"]]] and
        any(.findings[]; .check == "group.bandwidth" and (.message | endswith("not judged: ranks share a GPU")))' out0
}

# The process of a rank, as the table has it.
pid_of() { awk -v r="$2" '$2 == "Rank" && $3 == r { print $7 }' "$1"; }
has_rows() { [ "$(grep -cvE '^#' "$1")" -ge 2 ]; }

@test "a rank that dies or stops in one group ends all, and is named" {
    local signal code
    for signal in KILL STOP; do
        "$B" --np 4 -b 64K -e 64K -n 5 -N 0 --groups 'div 2' --deadline 700ms >out 2>err 3>&- &
        wait_for 30 has_rows out
        kill -$signal "$(pid_of out 3)"
        code=0
        wait $! || code=$?
        cat out
        [ "$code" -eq 1 ]
        grep -qE '^# FAIL rank.alive: rank 3 \(.*(died: killed by signal 9|did nothing for 700 ms)' out
        grep -q '^#  Group  1 ' out # what was finished
    done
}

@test "Ctrl-C: what was finished, and nothing is tried again" {
    local code=0
    "$B" --np 4 -b 64K -e 64K -n 5 -N 0 --groups 'div 2' >out 2>err 3>&- &
    wait_for 30 has_rows out
    kill -INT $!
    wait $! || code=$?
    [ "$code" -eq 3 ]
    grep -q '^#  Group  1 ' out
    [ "$(grep -c interrupted err)" -eq 1 ]
}

@test "over every backend that is built: split, and right" {
    local b
    for b in gloo mpi-openmpi mpi-mpich; do
        [[ -e $O/lib/windsock/$b.so ]] || continue
        [[ $b != mpi* ]] || export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 # MPI's libraries leak
        bench --np 4 --backend "$b" -b 64K -e 64K -n 2 --groups 'mod 2'
        [[ $status == 0 && $(groups) == '0 1 0 1' && $output == *"PASS coll.data: 2 results verified, none wrong"* ]] ||
            { echo "$b: $output$stderr"; false; }
    done
}

@test "on stand-ins for NCCL: split, as a graph, with registered buffers, and too old to split" {
    fake
    local args
    for args in '' '-R 2' '-G 2' '-m 2'; do
        # shellcheck disable=SC2086
        bench --backend nccl --np 5 -b 64K -e 128K -n 2 --groups '0,2;1,3' $args
        [[ $status == 0 && $output == *"PASS coll.data: 4 results verified, none wrong"* && $stderr != *"still registered"* ]] ||
            { echo "$args: $output$stderr"; false; }
    done
    WINDSOCK_FAKE_NCCL=wrong-sum bench --backend nccl --np 4 -b 64K -e 64K -n 2 --groups 'div 2' --json
    [ "$status" -eq 1 ]
    jq -e 'all(.data.groups[]; .wrong > 0) and any(.findings[]; .check == "coll.data" and .status == "fail")' <<<"$output"
    bench --backend nccl --groups 'mod 2' --nccl "$O/fake/libnccl-old.so.2"
    [[ $status == 4 && $stderr == *"has no ncclCommSplit"* ]]
}
