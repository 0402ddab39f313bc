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

@test "--confirm --hosts where ncclwhy is not installed: said so, and --copy-self brings it" {
    cp "$ROOT/tests/logs/real/001.log" log
    mkdir there
    printf '#!/bin/sh\nexec $REAL_RSH "$1" "export TMPDIR=%s/there; $2"\n' "$PWD" >rsh
    chmod +x rsh
    run -0 --separate-stderr "$ROOT/scripts/lab" run 2 -- bash -c '
        export REAL_RSH=$WINDSOCK_RSH WINDSOCK_RSH=./rsh
        $REAL_RSH node1 "mount -t tmpfs none ${1%/*}"
        "$1" --confirm --hosts node1 --json log >without
        "$1" --confirm --copy-self --hosts node1 --json log >with
        ls -A there' - "$BIN/ncclwhy"
    [ -z "$output" ]
    valid "$(<with)"
    jq -e '.findings[0] | .check == "host.answer" and (.message | startswith("ncclwhy is not installed on node1, "))
        and (.fix | length == 1) and (.fix[0] | startswith("ncclwhy --confirm log --rsh ") and endswith(" --hosts node1 --copy-self   # brings it along"))' without
    jq -e '[.findings[].check] | (index("host.answer") | not) and index("log.confirm")' with
    [[ $(<with) != *"could not be asked"* ]] # nor are those that it asks
    for option in --copy-self --keep; do
        run -2 --separate-stderr "$BIN/ncclwhy" $option --hosts a log
        [[ $stderr == *"$option goes with --hosts and --confirm or --stacks"* ]]
    done
}
