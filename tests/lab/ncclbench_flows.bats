#!/usr/bin/env bats
# How many connections each pair of ranks gets from tcp, by congestion control and by
# who shares processors.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
    export LAB=$ROOT/scripts/lab CPU
    CPU=$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/') # one that we may use
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

flows() { # CONTROL HOSTS ARGS...: all on one processor; sets transport
    # shellcheck disable=SC2016
    run -0 --separate-stderr "$LAB" run "$2" -- sh -euc '
        sysctl -qw net.ipv4.tcp_congestion_control="$1"
        cpu=$2 bin=$3
        shift 5
        exec taskset -c "$cpu" "$bin" "$@" -b 1M -e 1M -n 2 -w 1' sh "$1" "$CPU" "$BIN/ncclbench" "$@"
    [[ $output == *"PASS coll.data"* ]]
    transport=$(sed -n '1s/.*host memory over tcp, //p' <<<"$output")
}

allowed() { grep -qw "$1" /proc/sys/net/ipv4/tcp_allowed_congestion_control; }

@test "nothing is paced and all share a machine's processors: one each" {
    flows reno 1 --np 3
    [ "$transport" = "1 socket per pair of ranks, reno" ]
}

@test "two ranks: one where only memory is between them, four between hosts" {
    flows reno 1 --np 2
    [ "$transport" = "1 socket per pair of ranks, reno" ]
    flows reno 2 --hosts node0,node1
    [ "$transport" = "4 sockets per pair of ranks, reno" ]
}

@test "paced flows are several" {
    allowed bbr || skip "bbr is not allowed here"
    flows bbr 1 --np 3
    [ "$transport" = "3 sockets per pair of ranks, bbr" ]
}
