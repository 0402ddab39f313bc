#!/usr/bin/env bats
# --pairs and --find-slow over every backend (each pair is a communicator split off), and
# nccl-tests' flags for a GPU: -R on stand-ins for NCCL, -D and -V answered.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load plugins.sh
load ../wait.sh

setup() { plugin_test ncclbench; }

# Which pair is slow says nothing on a machine that others use: all were measured.
complete() { # RANKS ARGS...
    local n=$1
    shift
    run --separate-stderr "$B" --np "$n" --pairs --json "$@"
    ((status < 2)) || { echo "$output$stderr"; return 1; }
    jq -e --argjson n "$n" '(.data.pairs | length == $n * ($n - 1)) and
        all(.data.pairs[]; .gbps > 0 and .latency_us > 0 and .from != .to) and
        all(.findings[]; .check | IN("pair.bandwidth", "pair.loss"))' <<<"$output" >/dev/null ||
        { echo "$output"; return 1; }
}

@test "--pairs: 1 to 5 ranks here, every pair in both directions" {
    local n
    for n in 2 3 5; do
        complete "$n"
        jq -e 'all(.data.pairs[]; has("lost")) and (.data | has("rails") | not)' <<<"$output"
    done
}

@test "--pairs: long names are whole, and hosts that differ at the end of theirs are told apart" {
    unshare -ru true 2>/dev/null || skip "no user namespaces"
    printf '#!/bin/sh\nhost=$1; shift\nexec unshare -ru sh -c "hostname $host; $*"\n' >rsh
    chmod +x rsh
    run --separate-stderr "$B" --rsh ./rsh --hosts 'ip-10-0-0-[12-13].eu-west-1.internal' --pairs
    ((status < 2))
    [[ $output == *$'\n'"                                           0          1"$'\n'"0 ip-10-0-0-12.eu-west-1.internal          . "*$'\n'"1 ip-10-0-0-13.eu-west-1.internal "* ]]
}

@test "--pairs: series of Prometheus, for each direction" {
    run --separate-stderr "$B" --np 3 --pairs --format prometheus
    ((status < 2))
    "$ROOT/scripts/validate" prometheus - <<<"$output"
    [ "$(grep -c '^windsock_pair_bandwidth_bytes_per_second{' <<<"$output")" = 6 ]
    [ "$(grep -c '^windsock_pair_latency_seconds{' <<<"$output")" = 6 ]
}

@test "one rank alone is no pair, and no pass" {
    local how
    for how in --pairs --find-slow; do
        run -3 --separate-stderr "$B" --np 1 "$how"
        [[ $output == *"ERROR pair.bandwidth: one rank alone is no pair: nothing was measured"* ]]
    done
}

@test "--find-slow: more ranks than processors wait for one another, and that is no sick link" {
    run -0 --separate-stderr "$B" --np 9 --find-slow
    [[ $output == *"pair.bandwidth: "*median* && $output != *FAIL* ]]
}

@test "--pairs over gloo and both MPIs" {
    local b
    for b in gloo mpi-openmpi mpi-mpich; do
        [[ -e $O/lib/windsock/$b.so ]] || continue
        [[ $b != mpi* ]] || export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 # MPI's libraries leak
        complete 3 --backend "$b"
        jq -e --arg b "${b%%-*}" '.data.backend == $b and all(.data.pairs[]; has("lost") | not)' <<<"$output"
    done
    built gloo
    run --separate-stderr "$B" --backend gloo --np 2 --pairs
    [[ $output == *"# Latency, us (row to column)"* && $output != *"# Packets sent again"* ]]
}

@test "--pairs on stand-ins for NCCL: split, with registered buffers, and too old to split" {
    fake
    complete 3 --backend nccl
    complete 2 --backend nccl -R 2
    WINDSOCK_FAKE_NCCL=split-hang run -1 --separate-stderr "$B" --backend nccl --np 2 --pairs --deadline 1
    [[ $output == *"FAIL nccl.init: ncclCommSplit did not finish within 1.0 s on rank "* ]]
    WINDSOCK_FAKE_NCCL=async-error run -1 --separate-stderr "$B" --backend nccl --np 2 --pairs --deadline 2
    [[ $output == *"FAIL nccl.async: "*"remote process exited"* ]]
}

# Ranks of several hosts, as env:// names them: $PER of each. What rank 0 says is there, and in out0;
# its exit code is 0 or 1, for on a busy machine one of the pairs may be slow.
on_hosts() { # RANKS ARGS...
    local r n=$1 port
    shift
    port=$(free_port)
    for ((r = n - 1; r >= 0; r--)); do
        # shellcheck disable=SC2016 # expanded there
        RANK=$r WORLD_SIZE=$n LOCAL_RANK=$((r % PER)) LOCAL_WORLD_SIZE=$PER MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            timeout 60 unshare -ru sh -c 'hostname "$0" && exec "$@"' "host$((r / PER))" "$B" --backend nccl "$@" >"out$r" 2>"err$r" 3>&- &
    done
    wait $! || r=$? # rank 0
    wait
    cat out0 err0
    ((r <= 1))
}

@test "several GPUs per host: those of each local rank are a rail, and who was measured is said" {
    fake
    unshare -ru true || skip "no user namespaces here"
    PER=2 run -0 on_hosts 5 --pairs --json # host2 has one rank alone
    jq -e '[.data.rails[] | .name, .ranks] == ["local rank 0", [0, 2, 4], "local rank 1", [1, 3]] and
        ([.data.rails[].pairs[] | select(.gbps > 0)] | length) == 8 and (.data.covers | startswith("5 ranks on 3 hosts"))' out0
    PER=2 run -0 on_hosts 4 --find-slow --rails none
    [[ $output == *"one GPU was measured, the others were not"* || $output == *"WARN pair."* || $output == *"FAIL pair."* ]]
    PER=2 run -0 on_hosts 4 --find-slow --rails none --json
    jq -e '(.data | has("rails") | not) and (.data.covers | startswith("2 of 4 ranks on 2 hosts"))' out0
}

@test "--together: over NCCL, too, between four hosts; and beside --pairs alone" {
    fake
    unshare -ru true || skip "no user namespaces here"
    PER=1 run -0 on_hosts 4 --find-slow --together --json
    jq -e '.data.together | .pairs == 2 and .tried_alone == 2 and .alone_gbps > 0 and .at_once_gbps > 0 and .ratio > 0' out0
    PER=2 run -0 on_hosts 8 --find-slow --together --json # first ranks, though each local number is a rail
    jq -e '.data.together.pairs == 2 and (.data.rails | length) == 2' out0
    run -2 --separate-stderr "$B" --together
    [[ -z $output && $stderr == *"--together is for --pairs and --find-slow"* ]]
}

@test "-R on stand-ins: buffers are NCCL's, registered, right, and given back" {
    fake
    local how
    for how in 1 2; do
        run -0 --separate-stderr "$B" --backend nccl -R "$how" -b 64K -e 128K -n 2
        [[ ${lines[0]} == *"buffers registered"* || ${lines[0]} == *"buffers in symmetric memory"* ]]
        [[ $output == *"PASS coll.data: 4 results verified, none wrong"* ]]
        [[ $stderr != *"still registered"* ]]
    done
    run -4 "$B" --backend nccl -R 2 --nccl "$O/fake/libnccl-old.so.2"
    [[ $output == *"is NCCL 2.16.2 and has no ncclMemAlloc"*"2.19 is the first that does"* ]]
    run -4 "$B" --backend nccl --pairs --nccl "$O/fake/libnccl-old.so.2"
    [[ $output == *"has no ncclCommSplit"*"2.18 is the first that does"* ]]
}

@test "-D and -V: who has such kernels; --rails: who can choose cards" {
    fake
    run -2 --separate-stderr "$B" --backend nccl -D 1
    [[ -z $output && $stderr == *"-D 1 needs symmetric memory: -R 2"* ]]
    run -2 "$B" --backend nccl -R 2 -D 1
    [[ $output == *"nccl-tests has: all_reduce_perf -R 2 -D 1"* ]]
    run -2 "$B" -V 129
    run -0 "$B" --backend nccl -b 8 -e 8 -n 1 -V 16 -y 1
    [[ $output == *"# -V does nothing with nccl"* && $output == *"# -y does nothing with nccl"* ]]
    run -2 "$B" --backend nccl --pairs --rails eth0
    [[ $output == *"nccl chooses its cards by itself"* ]]
    run -2 "$B" --rails eth0
    [[ $output == *"--rails is for --pairs and --find-slow"* ]]
    run -2 --separate-stderr "$B" --pairs --rails eth0
    [[ -z $output && $stderr == *"--rails is for several hosts"* ]]
}
