# shellcheck shell=bash
# ddpsmoke on the nodes of a lab: three of them, for the life of a file. Loaded by
# the files that test it there.
load ../nodes.sh

setup_file() { nodes_up 3; }

# shellcheck disable=SC2034
setup() {
    OUT=$BATS_TEST_TMPDIR/out ERR=$BATS_TEST_TMPDIR/err
    cd "$BATS_TEST_TMPDIR" || exit
}
