#!/usr/bin/env bats
# ddpsmoke over a cluster with its gradients over Gloo and MPI: hosts over a remote
# shell, machines that join with a pasted line, a rank that dies on another node.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../cli/ddpsmoke.sh
load ddpsmoke.sh

smoke() { run --separate-stderr on 0 "$BIN/ddpsmoke" --samples 512 "$@"; }

needs() { [ -e "${BIN%/bin}/lib/windsock/$1.so" ] || skip "$1.so was not built"; }

proven_on() { # BACKEND HOSTS: as a JSON list
    [ "$status" -eq 0 ] || { echo "$output" "$stderr"; false; }
    jq -e --arg b "$1" --argjson hosts "$2" "$FINE"'fine and .data.backend == $b and
        ([.data.world.ranks[].host] == $hosts) and (.data.checks | .params_equal_across_ranks and
        .equals_single_process and .repeats_to_the_bit)' <<<"$output"
}

@test "gloo: a rank on each node; one that dies there, and one that stops" {
    needs gloo
    smoke --hosts lab --backend gloo --json
    proven_on gloo '["node0", "node1", "node2"]'
    jq -e '[.data.world.ranks[].address] | unique | length == 3 and all(startswith("10.77."))' <<<"$output"
    smoke --hosts lab --backend gloo --fault 2:die
    [ "$status" -eq 1 ]
    grep -Eq '^fail  rank.alive .*rank 2 \(node2, 10.77.0.3\) died: killed by signal 9' <<<"$output"
    smoke --hosts lab --backend gloo --fault 1:stop --deadline 1s
    [ "$status" -eq 1 ]
    grep -Eq '^fail  rank.alive .*rank 1 \(node1, 10.77.0.2\) did nothing for 1 s' <<<"$output"
    [[ $output == *"-> "*"rsh"*" node1 "* ]]
}

@test "gloo: --serve, and the line typed on another node" {
    needs gloo
    local line code=0 i
    on 0 "$BIN/ddpsmoke" --serve --backend gloo --samples 512 --json >"$OUT" 2>"$ERR" 3>&- &
    for ((i = 0; i < 200; i++)); do
        ! grep -q ' join ' "$ERR" || break
        sleep 0.05
    done
    line=$(sed -n 's/^ *-> windsock join //p' "$ERR")
    # shellcheck disable=SC2086 # an address and a code
    on 1 "$BIN/ddpsmoke" --join $line </dev/null
    wait $! || code=$?
    [ "$code" -eq 0 ] || { cat "$OUT" "$ERR"; false; }
    jq -e '.data.backend == "gloo" and [.data.world.ranks[].host] == ["node0", "node1"]' "$OUT"
}

@test "mpi: two ranks on each of two nodes by MPICH, strangers kept out" {
    needs mpi-mpich
    smoke --hosts node0,node1 --np-per-host 2 --backend mpi-mpich --json
    proven_on mpi '["node0", "node0", "node1", "node1"]'
    [[ $stderr != *"can take part in this run"* ]]
}

@test "mpi: a rank on each node by Open MPI; one that dies there" {
    needs mpi-openmpi
    smoke --hosts lab --backend mpi-openmpi --json
    proven_on mpi '["node0", "node1", "node2"]'
    [[ $stderr != *"can take part in this run"* ]]
    smoke --hosts lab --backend mpi-openmpi --fault 2:die
    [ "$status" -eq 1 ]
    grep -Eq '^fail  rank.alive .*rank 2 \(node2, 10.77.0.3\) died: killed by signal 9 \(SIGKILL\)' <<<"$output"
    [[ $output == *"-> "*"rsh"*' node2 "dmesg '* ]]
}
