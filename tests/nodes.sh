# shellcheck shell=bash
# A lab of some nodes for the life of a file. Load it (load ../nodes.sh), and make them in
# setup_file.

nodes_up() { # WHAT scripts/lab up TAKES
    export LAB=$ROOT/scripts/lab
    LAB_NAME=$("$LAB" up "$@") || skip "no network namespaces can be made here"
    export LAB_NAME
}

nodes_down() {
    [ -z "${LAB_NAME:-}" ] || "$LAB" down "$LAB_NAME"
}
teardown_file() { nodes_down; }

on() { # NODE CMD...
    "$LAB" on "$LAB_NAME" "node$1" -- "${@:2}"
}
