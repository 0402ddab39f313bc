#!/usr/bin/env bats
# ncclwhy --hosts in the lab: what each node has below a folder of its own is read there over the
# lab's way, and judged together; one whose way hangs holds up nobody.
# shellcheck disable=SC2016,SC2088 # the other side expands
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "dumps and logs of four nodes, of which one hangs and one has none" {
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent all
    mkdir node0 node1 node2 node3
    n=0
    for f in all/*; do
        cp "$f" "node$((n++ % 3))/"
    done
    echo 'RuntimeError: No CUDA GPUs are available' >"node2/it's a log"
    cat >rsh <<'END'
#!/bin/sh
[ "$1" = node1 ] && [ -e hangs ] && exec sleep 1000
host=$1; shift
exec $REAL_RSH "$host" "export HOME='$PWD/$host'; $*"
END
    chmod +x rsh
    run -0 --separate-stderr "$ROOT/scripts/lab" run 4 -- bash -c '
        export REAL_RSH=$WINDSOCK_RSH
        unset WINDSOCK_RSH
        "$1" --json --rsh ./rsh --hosts "node[0-3]" "~/*rank*" "~/$2" >whole
        touch hangs
        "$1" --json --rsh ./rsh --hosts "node[0-3]" --deadline 1s "~/*rank*" >part
        rm hangs' - "$BIN/ncclwhy" "it's a log"
    valid "$(<whole)"
    jq -e --argjson n "$n" '(.data.flight.dumps | length) == $n and ([.data.causes[] | select(.host == "node2")] | length == 1)' whole
    jq -e '[.findings[] | select(.check == "log.file").message] | any(contains("node3"))' whole
    jq -e '[.findings[] | select(.check == "host.answer" and .status == "fail").subject] == ["node1"]
        and (.data.flight.dumps | length > 0)' part
}
