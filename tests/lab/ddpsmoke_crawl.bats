#!/usr/bin/env bats
# ddpsmoke whose network carries hardly anything: right numbers, and yet no training to be proud
# of. A tiny model waits most of the time on a healthy one as well.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh

pace() { # STATUS TEXT [ARGS...]
    run -0 --separate-stderr on 0 "$BIN/ddpsmoke" --hosts lab "${@:3}"
    grep -Eq "^$1  train.pace .*$2" <<<"$output" || { echo "$output" "$stderr"; false; }
}

@test "a link that carries 10 Mb/s, or loses a fifth: a warning, and who tells which" {
    on 1 tc qdisc replace dev eth0 root tbf rate 10mbit burst 64k latency 100ms
    pace warn 'the network holds the training up: [0-9.]+ ms of each step go into the exchange of 85[.0-9]* KiB of gradients'
    [[ $output == *"-> ncclbench --"*" --hosts node0,node1,node2 --find-slow"* ]]
    run -1 --separate-stderr on 0 "$BIN/ddpsmoke" --hosts lab --strict --quiet # a whole run, all the same
    [[ $output == *"1 warning (--strict): 3 ranks on 3 hosts"* && $output != *stopped* ]]
    run -0 --separate-stderr "$LAB" run 3 --loss node1=20 -- "$BIN/ddpsmoke" --hosts lab
    grep -E '^warn  train.pace .*the network holds the training up' <<<"$output"
}

@test "hosts of 1 Gb/s are healthy, however little each step has to compute" {
    local n
    for n in 0 1 2; do on $n tc qdisc replace dev eth0 root tbf rate 1gbit burst 256k latency 50ms; done
    pace info '3 ranks; forward'
    pace info '3 ranks; forward' --model mlp --batch 1 --steps 100
    pace info '3 ranks; forward' --pattern fsdp --batch 1 --steps 50
}
