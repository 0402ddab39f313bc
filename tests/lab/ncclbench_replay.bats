#!/usr/bin/env bats
# ncclbench --replay between hosts: the recording is where the command is typed, the ranks are
# elsewhere; a tensor group on two hosts, and the group whose host is slow.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

dumps() { "$ROOT/tests/cli/replay_dumps.py" "$1" "$BATS_TEST_TMPDIR/$1"; }
is() { jq -e "$1" <<<"$output" >/dev/null || { echo "$output$stderr"; return 1; }; }

@test "tensor groups on two hosts each are named, and the one that is slow" {
    dumps tensor
    run -0 --separate-stderr "$LAB" run 4 --rate 1gbit --rate node3=20mbit -- "$BIN/ncclbench" \
        --hosts lab --replay "$BATS_TEST_TMPDIR/tensor" --within 30s --json
    is '.data.replay | .collectives == 4 and .steps == 6 and all(.kinds[]; .wrong == 0)'
    is 'any(.findings[]; .check == "replay.group" and .status == "info" and .subject == "tp" and
        (.message | contains("lie on 2 hosts (tp (ranks 0 and 1, and 1 group more))") and
            contains("no host has room for so many ranks")))'
    is 'any(.findings[]; .check == "replay.slow_group" and .status == "warn" and
        (.message | contains("the group of ranks 2 to 3 (node2)")))'
}

@test "within their hosts, and all alike: nothing is said of them" {
    dumps tensor
    run -0 --separate-stderr "$LAB" run 2 -- "$BIN/ncclbench" --hosts node0:2,node1:2 \
        --replay "$BATS_TEST_TMPDIR/tensor" --within 20s --json
    is 'all(.findings[]; .check != "replay.group") and all(.data.replay.kinds[]; .wrong == 0)'
    is '.data.replay.passes >= 1'
}
