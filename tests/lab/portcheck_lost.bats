#!/usr/bin/env bats
# portcheck as the ranks of a launcher that is not ours: a host that is lost while all ask, or
# before, is a failure of the cluster on every other one.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

# One rank on each of three nodes, as torchrun starts them; node 2's is killed when so many bytes
# have come to it, which ends what waits for it. Each one's exit code is its last line.
lose() { # BYTES
    "$ROOT/scripts/lab" run 3 -- bash -c '
        for r in 0 1 2; do
            $WINDSOCK_RSH node$r "env RANK=$r WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 GROUP_RANK=$r \
                TORCHELASTIC_RUN_ID=x MASTER_ADDR=node0 MASTER_PORT=29500 sh -c '\''
                    echo \$\$ >pid$r; exec $1 --deadline 5s --bandwidth 3'\''" >out$r 2>&1 &
            at[r]=$!
        done
        until [ -s pid2 ] && (($($WINDSOCK_RSH node2 cat /sys/class/net/eth0/statistics/rx_bytes) > $2)); do
            kill -0 ${at[0]} || break
        done
        kill -9 "$(cat pid2)"
        for r in 0 1; do
            wait ${at[r]}
            echo "rank $r: $?" >>out$r
        done' - "$BIN/portcheck" "$1"
}

@test "a rank of torchrun's is killed: those that are left end with 1, and rank 0 says so" {
    cd "$BATS_TEST_TMPDIR"
    for bytes in 4000 20000000; do # once it has joined; while what goes through is measured
        rm -f pid2
        lose $bytes
        grep -q '^rank 0: 1$' out0 && grep -q '^rank 1: 1$' out1 || { cat out0 out1; false; }
        grep -q 'fail  mesh.run .*rank 2' out0 || { cat out0; false; }
        run ! grep -q 'stopped before the end' out0
    done
}
