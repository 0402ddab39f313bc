#!/usr/bin/env bats
# ddpsmoke where each rank is started by hand: what they need not have alike.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

rank() { # RANK ARGS...
    exec "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$port" --world-size 2 --rank "$1" --epochs 1 "${@:2}" \
        >"$BATS_TEST_TMPDIR/$1" 2>&1 3>&-
}

@test "the longest deadline is all ranks': nobody gives up who is waited for with more patience elsewhere" {
    local port=$((20000 + RANDOM % 10000)) first other i
    (rank 1 --deadline 1s) 3>&- &
    other=$!
    (rank 0 --deadline 30s --fault 0:stop:5) 3>&- &
    first=$!
    for ((i = 0; i < 300; i++)); do
        ! grep -q '^State:.*T' "/proc/$first/status" || break
        sleep 0.1
    done
    sleep 2.5
    kill -CONT "$first"
    wait "$first" || { cat "$BATS_TEST_TMPDIR"/[01]; false; }
    wait "$other"
}
