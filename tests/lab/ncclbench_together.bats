#!/usr/bin/env bats
# ncclbench --together: is the network between the hosts oversubscribed? Two switches with a cable
# between them that has room for a part; one switch; hosts that are too few; processors that are what
# slows them. Each figure is of a machine that others may use: what it could not judge is tried again.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0
load ../wait.sh

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

setup() { lab=; }

teardown() { [[ -z $lab ]] || "$LAB" down "$lab"; }

of() { jq -r ".data.together$1" <<<"$output"; }

finding() { jq -r ".findings[] | select(.check == \"pair.together\") | $1" <<<"$output"; }

# Until it judges ($1 status, and groups of $2 unless empty), five times at most; LAB's arguments behind.
judged() { # STATUS GROUPS ARGS...
    local want=$1 groups=$2
    shift 2
    for _ in 1 2 3 4 5; do
        run -0 --separate-stderr "$LAB" run "$@" -- "$BIN/ncclbench" --hosts lab --find-slow --together --json
        finding '.status + ": " + .message'
        [[ $(finding .status) != "$want" || ($groups && $(of '.groups | length') == 0) ]] || return 0
        # what is not known may be known later; what is wrong stays so
        [[ $(finding .status) == skip || $groups ]] || return 1
    done
    return 1
}

@test "a cable between two switches that is too small: found, and who hangs on which is said" {
    judged warn 2 4 --rate 100mbit --leaves 2 --uplink 100mbit
    [ "$(of '.groups | tojson')" = '[["node0","node1"],["node2","node3"]]' ]
    [ "$(of .oversubscribed)" = shared ]
    jq -e '.data.together | .pairs == 2 and .ratio < 0.75 and .ratio > 0.25 and .within_ratio > 0.8' <<<"$output"
    [[ $(finding .message) == "2 pairs at once reach "*"what is between node[0-1] and node[2-3] is shared"*" and pairs within these keep "* ]]
    [[ $(finding '.fix | join(" ")') == *" --hosts 'node[0-1],node[2-3]' "*"srun --switches=1 "* ]]
}

@test "three switches, and an order that tells nothing of them" {
    judged warn 3 9 --rate 100mbit --leaves 3 --uplink 100mbit
    [ "$(of '.groups | tojson')" = '[["node0","node1","node2"],["node3","node4","node5"],["node6","node7","node8"]]' ]
    for _ in 1 2 3 4 5; do
        run -0 --separate-stderr "$LAB" run 4 --rate 100mbit --leaves 2 --uplink 100mbit -- sh -c \
            "'$BIN/ncclbench' --hosts node0,node2,node1,node3 --rsh \"\$WINDSOCK_RSH\" --find-slow --together --json"
        [[ $(of '.groups | length') == 0 ]] || break
    done
    [ "$(of '.groups | map(sort) | tojson')" = '[["node0","node1"],["node2","node3"]]' ]
}

@test "one switch, and a cable with room for all: nothing is blamed" {
    judged pass '' 4 --rate 100mbit
    [ "$(of .oversubscribed)" = none ]
    [ "$(of .groups)" = '[]' ]
    judged pass '' 6 --rate 50mbit --leaves 2 --uplink 150mbit
}

@test "fewer than four hosts are skipped, one host alone, too; without --together nothing is said" {
    run -0 --separate-stderr "$LAB" run 3 --rate 100mbit -- "$BIN/ncclbench" --hosts lab --pairs --together --json
    [ "$(finding .status)" = skip ]
    [[ $(finding .message) == "not measured: two pairs at once take four hosts, and here are 3" ]]
    [ "$(of '')" = null ]
    run --separate-stderr "$BIN/ncclbench" --np 4 --pairs --together --json
    ((status < 2))
    [[ $(finding .message) == "not measured: ranks share a machine"* ]]
    run --separate-stderr "$BIN/ncclbench" --np 4 --pairs --json
    [ -z "$(finding .status)" ]
}

@test "processors that are what slows them are not taken for a network" {
    # as fast as they can: eight on few processors. With many it may pass.
    (($(nproc) <= 4)) || skip "processors for all"
    run -0 --separate-stderr "$LAB" run 8 -- "$BIN/ncclbench" --hosts lab --find-slow --together --json
    finding '.status + ": " + .message'
    [[ $(finding .status) =~ ^(skip|pass)$ ]]
}

@test "--expect: what is asked of each pair fails where all at once have less" {
    for _ in 1 2 3 4 5; do
        run --separate-stderr "$LAB" run 4 --rate 100mbit --leaves 2 --uplink 100mbit -- \
            "$BIN/ncclbench" --hosts lab --find-slow --together --expect 0.008 --json
        [[ $(finding .status) == skip ]] || break
    done
    [ "$(finding .status)" = fail ]
    [ "$status" -eq 1 ]
}

# A rank on this node: an ncclbench there that has no children.
leaf() {
    local x
    for x in /proc/[0-9]*; do
        [[ $(<"$x/comm") == ncclbench && $x/ns/net -ef /proc/self/ns/net ]] || continue
        [[ $(cat "$x"/task/*/children) ]] || echo "${x#/proc/}"
    done 2>/dev/null
}

@test "a rank that dies while all are at once is named" {
    local out=$BATS_TEST_TMPDIR/out shown=$BATS_TEST_TMPDIR/shown rank run code=0
    : >"$shown"
    lab=$("$LAB" up 4 --rate 6mbit) # slow: there is time to hit it
    # a terminal is told where it is
    TERM=xterm "$LAB" on "$lab" node0 -- script -qfec "timeout 100 '$BIN/ncclbench' --hosts 'node[0-3]' \
        --rsh '$LAB rsh $lab' --find-slow --deadline 3 --together >'$out'" "$shown" >/dev/null 3>&- &
    run=$!
    wait_for 60 grep -q 'pairs of hosts' "$shown"
    rank=$("$LAB" on "$lab" node2 -- bash -c "$(declare -f leaf); leaf")
    wait_for 60 grep -q 'all pairs at once' "$shown"
    "$LAB" on "$lab" node2 -- kill -KILL "$rank"
    wait "$run" || code=$?
    cat "$out"
    [ "$code" -eq 1 ]
    grep -qE '^# FAIL rank.alive: rank 2 \(node2, 10.77.0.3\) died: killed by signal 9' "$out"
}
