#!/usr/bin/env bats
# ncclbench with --init: a rank that does not come, and what goes with what.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

@test "--init: a rank that does not come is a failure of the cluster, and --deadline counts" {
    start=$SECONDS
    run -1 --separate-stderr "$BIN/ncclbench" --init "tcp://127.0.0.1:$(free_port)" --rank 0 --world-size 2 \
        --deadline 1s
    [[ $output == *"rank.alive"*"rank 1 of 2 missing"* ]]
    run -1 --separate-stderr "$BIN/ncclbench" --init "tcp://127.0.0.1:$(free_port)" --rank 1 --world-size 2 \
        --deadline 1s
    [[ $output == *"rank.alive"*"no rendezvous at 127.0.0.1:"* && $stderr == *"-> portcheck 127.0.0.1:"* ]]
    ((SECONDS - start < 28)) # each waited 30 s without it
}

@test "--rank and --world-size go with --init" {
    for args in "--rank 1" "--world-size 2"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/ncclbench" $args
        [[ -z $output && $stderr == *"goes with --init"* ]]
    done
}
