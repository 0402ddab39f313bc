# shellcheck shell=bash
# ifprobe on the nodes of a lab of its own for each run. Load it: load ifprobe.sh
# shellcheck disable=SC2016,SC2034 # scripts for the nodes are in single quotes; tests use DEAD

setup() {
    "$ROOT/scripts/lab" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    cd "$BATS_TEST_TMPDIR" || return
}

lab() { # NODES [LAB OPTIONS] SCRIPT: on node0; `on N SCRIPT` there runs one on another node
    "$ROOT/scripts/lab" run "${@:1:$#-1}" -- env PATH="$BIN:$PATH" bash -euo pipefail -c '
        on() { $WINDSOCK_RSH "node$1" bash -eus <<<"$2"; }
        '"${*: -1}"
}

# A second interface that looks fine and leads nowhere, with the default route.
DEAD='ip link add base0 type veth peer name base1; ip link set base0 up; ip link set base1 up
    ip link add dead0 link base0 type macvlan; ip link set dead0 up
    ip addr add 10.88.0.1/24 dev dead0; ip route replace default via 10.88.0.254 dev dead0'

found() { # CHECK: subjects and states
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | "\(.subject) \(.status)"' <<<"$output"
}
