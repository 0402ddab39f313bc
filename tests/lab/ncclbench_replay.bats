#!/usr/bin/env bats
# ncclbench --replay between hosts: the recording is where the command is typed, the ranks are
# elsewhere; a tensor group on two hosts, and the group whose host is slow.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load ../cli/plugins.sh

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

# Over NCCL, whose stand-in sends its bytes over a real connection, by the host's clock: as slow as
# the network is. Not over WINDSOCK_RSH, which brings no stand-ins along.
carried() { # RATE FOLDER
    rm -f out
    # shellcheck disable=SC2016
    run -0 --separate-stderr "$LAB" run 3 --rate "$1" --all -- sh -c 'rank=$(uname -n)
        exec "$0" --init tcp://10.77.0.1:29511 --rank "${rank#node}" --world-size 3 --backend nccl \
            --replay "$1" --within 30s --json --output out' "$BIN/ncclbench" "$2"
    output=$(cat out)
    is '.data.backend == "nccl" and all(.data.replay.kinds[]; .wrong == 0)'
}

@test "recorded on the fast network, done again on it and on a slow one: only that is called slow" {
    cd "$BATS_TEST_TMPDIR"
    fake
    export WINDSOCK_FAKE_NCCL=carried WINDSOCK_FAKE_CUDA=wall RANKS=3
    dumps measured
    carried 1gbit measured
    THEN_MS=$(jq -r '[.data.replay.kinds | sort_by(-.size)[] | .time_us / 1000] | join(" ")' <<<"$output")
    export THEN_MS
    dumps measured # what was measured just now
    carried 1gbit measured
    is 'any(.findings[]; .check == "replay.time" and .status != "warn")'
    carried 50mbit measured
    is 'any(.findings[]; .check == "replay.time" and .status == "warn" and (.message |
        contains("times as long as then. This network, or its settings, is slower than the recorded one")))'
}
