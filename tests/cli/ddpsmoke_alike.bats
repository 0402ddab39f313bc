#!/usr/bin/env bats
# ddpsmoke where each rank is started by hand: what they need not have alike.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../wait.sh

rank() { # RANK ARGS...
    exec "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$port" --world-size "${world:-2}" --rank "$1" --epochs 1 "${@:2}" \
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

@test "another option: which, and what it is at rank 0" {
    local port own said
    while IFS='|' read -r own said; do
        port=$(free_port)
        # shellcheck disable=SC2086
        (rank 1 --steps 40 $own) 3>&- &
        (rank 0 --steps 40 --json) 3>&- || [ $? -eq 1 ]
        wait $! || true
        jq -e --arg said "$said" '(.findings[] | select(.check == "rank.alike") | .status == "fail" and
            .subject == "cnn" and .rank == null and (.message | test("^rank 1 .*\\) has ")) and
            (.message | endswith($said))) and
            .data.checks.unlike_option == $said' "$BATS_TEST_TMPDIR/0" || { cat "$BATS_TEST_TMPDIR/0"; false; }
    done <<'END'
--steps 41|--steps 41, rank 0 has --steps 40
--drop-last|--drop-last, rank 0 has no --drop-last
--model mlp|--model mlp, rank 0 has --model cnn
--pattern fsdp|--pattern fsdp, rank 0 has --pattern ddp
--lr 0.03|--lr 0.03, rank 0 has --lr 0.02
END
}

@test "another option at rank 0 alone: it is the odd one" {
    local port world=3 r
    port=$(free_port)
    for r in 1 2; do
        (rank $r --steps 40) 3>&- &
    done
    (rank 0 --steps 40 --lr 0.03 --json) 3>&- || [ $? -eq 1 ]
    wait
    jq -e '.findings[] | select(.check == "rank.alike") | .status == "fail" and .subject == "rank 0" and
        (.message | endswith(") has --lr 0.03, rank 1 has --lr 0.02"))' "$BATS_TEST_TMPDIR/0" || { cat "$BATS_TEST_TMPDIR/0"; false; }
}
