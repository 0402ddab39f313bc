# shellcheck shell=bash
# ddpsmoke on the nodes of a lab: three of them, for the life of a file. Loaded by
# the files that test it there.

setup_file() {
    export LAB=$ROOT/scripts/lab
    LAB_NAME=$("$LAB" up 3) || skip "no network namespaces can be made here"
    export LAB_NAME
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$LAB" down "$LAB_NAME"
}

# shellcheck disable=SC2034
setup() {
    OUT=$BATS_TEST_TMPDIR/out ERR=$BATS_TEST_TMPDIR/err
    cd "$BATS_TEST_TMPDIR" || exit
}

on() { # NODE CMD...
    local node=$1
    shift
    "$LAB" on "$LAB_NAME" "node$node" -- "$@"
}
