#!/usr/bin/env bats
# ddpsmoke, of a run that did not come to its end: what is said of how well it learned.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() { slowly=(--lr 0.0001 --seed 1 --expect 90); }

@test "a run that was done is judged by its accuracy" {
    run -1 --separate-stderr "$BIN/ddpsmoke" "${slowly[@]}" # 64 steps
    grep -Eq '^fail  train.accuracy .*validation samples right.*expected >= 90 %' <<<"$output"
}

@test "one that was cut short had still to learn: its accuracy is said, and not judged" {
    run -1 --separate-stderr "$BIN/ddpsmoke" "${slowly[@]}" --epochs 5 --fault 1:die:80
    grep -Eq '^fail  rank.alive .*rank 1 ' <<<"$output"
    grep -Eq '^info  train.accuracy .*validation samples right.*\(not judged\)' <<<"$output"
    [ "$(grep -c '^fail' <<<"$output")" -eq 1 ]
}
