# shellcheck shell=bash
# What the files about windsock --full in a lab of its own share. Load it: load windsock_full.sh
# shellcheck disable=SC2154 # run's

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
}


said() { # CHECK: its messages
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | .message' <<<"$output"
}

full_stages() { # "pairs pass,..." of what --full adds
    jq -r '.data.stages[] | select(.name | IN("pairs", "find-slow", "sweep", "expectations")) |
        "\(.name) \(.status)"' <<<"$output" | paste -sd,
}
