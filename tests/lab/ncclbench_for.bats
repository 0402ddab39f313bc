#!/usr/bin/env bats
# ncclbench --for between hosts: a link that becomes slow half way is called, with when and who; a
# healthy cluster is not, NCCLBENCH_HEALTHY / 3 times, nor one whose processors become busy.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load busy.sh

setup_file() {
    export LAB=$ROOT/scripts/lab
    "$LAB" run 1 -- true || skip "no network namespaces can be made here"
}

teardown() { busy_teardown; }

# The other half of a burn-in has begun: its bar would be there, and these lines are.
half_way() { # FILE SECONDS
    local i
    for ((i = 0; i < 600; i++)); do
        ! awk -v from="$2" '/^ncclbench: [0-9.]+ s of / { late = $2 >= from } END { exit !late }' "$1" || return 0
        sleep 0.05
    done
    cat "$1"
    return 1
}

# A link that becomes slow after 20 of 40 s; what is said is in the file.
slow_half_way() { # FILE
    local out=$1 run code=0
    lab=$("$LAB" up 4 --rate 1gbit)
    "$LAB" on "$lab" node0 -- "$BIN/ncclbench" --hosts 'node[0-3]' --rsh "$LAB rsh $lab" --for 40s --coll alltoall -b 8K -e 2M -f 256 -n 1 -w 0 \
        --json >"$out" 2>"$out.err" 3>&- &
    run=$!
    half_way "$out.err" 20
    # a smaller bucket than before would never let a packet through that waits already
    "$LAB" on "$lab" node2 -- tc qdisc change dev eth0 root tbf rate 300mbit burst 500000 latency 50ms
    wait "$run" || code=$?
    "$LAB" down "$lab"
    lab=
    cat "$out.err"
    jq -c '.findings[] | select(.check == "coll.drift" or .check == "rank.straggler")' "$out"
    [ "$code" -eq 0 ] # a warning
}

@test "--for: a node that becomes slow half way is called: the size, how much, since when, and who" {
    local out=$BATS_TEST_TMPDIR/out again
    for again in 1 2 3 4; do # while others have the processors it cannot know, and says so
        ((again < 4)) || return 0
        slow_half_way "$out"
        jq -e 'any(.findings[]; .check == "coll.drift" and .status == "info" and .value > 30 and
            (.message | contains("while ranks wanted processors and others had them"))) or
            (.data.course.sizes[1].points | .[0][1] < 1.5 * .[-1][1])' "$out" || break # nor was it ever quick
    done
    jq -e '.verdict == "warn" and ([.findings[] | select(.check == "coll.drift")] | length == 1 and (.[0] |
        .status == "warn" and .value > 30 and (.message | startswith("bus bandwidth at 2 MiB sank by ") and
        test("; since then the others wait for rank 2 [(]node2, 10[.]77[.]0[.]3[)]")) and
        (.fix | any(test("--find-slow")) and any(test("cable"))) and
        (.message | capture("since (?<s>[0-9.]+) s after").s | tonumber | . > 17 and . < 27)))' "$out"
    jq -e '.data.course.sizes[1].points | .[0][1] > 2 * .[-1][1]' "$out"
}

@test "--for: a healthy cluster gives no alarm" {
    local again passes=0 times=$((${NCCLBENCH_HEALTHY:-10} / 3))
    for ((again = 0; again < times || (!passes && again < 3 * times); again++)); do
        run -0 --separate-stderr "$LAB" run 3 --rate 1gbit -- "$BIN/ncclbench" --hosts lab --for 10s -b 1M -e 1M -n 3 ||
            { echo "$output$stderr"; false; }
        [[ $output != *"WARN coll.drift"* && $output != *FAIL* ]] || { echo "$output"; false; }
        [[ $output != *"PASS coll.drift: bandwidth "*" at 1 MiB "* ]] || passes=$((passes + 1))
    done
    ((passes > 0))
}

@test "--for: processors that others take half way are no drift" {
    local out=$BATS_TEST_TMPDIR/out code=0
    "$LAB" run 2 -- "$BIN/ncclbench" --hosts lab --for 10s -b 4M -e 4M -n 3 >"$out" 2>"$out.err" 3>&- &
    run=$!
    half_way "$out.err" 5
    busy 3
    wait "$run" || code=$?
    cat "$out" "$out.err"
    [ "$code" -eq 0 ]
    run ! grep -E 'WARN coll.drift|FAIL' "$out"
    grep -E '(INFO|PASS) coll.drift' "$out"
}

flapping() { # FILE: a burn-in whose link is cut three times
    local code=0 again
    lab=$("$LAB" up 2 --rate 1gbit) # veths alone would keep the processors busy
    "$LAB" on "$lab" node0 -- "$BIN/ncclbench" --hosts 'node[0-1]' --rsh "$LAB rsh $lab" --for 30s -b 64K -e 256K -f 4 --json \
        >"$1" 2>"$1.err" 3>&- &
    run=$!
    for again in 4 13 22; do
        half_way "$1.err" $again
        "$LAB" on "$lab" node1 -- sh -c 'ip link set eth0 down; sleep 3; ip link set eth0 up'
    done
    wait "$run" || code=$?
    "$LAB" down "$lab"
    lab=
    cat "$1.err"
    [ "$code" -eq 0 ] # a warning: it went on
}

@test "--for: a link that goes down and comes up again is told by its stalls: how many, how long, when, between whom" {
    local out=$BATS_TEST_TMPDIR/out
    for _ in 1 2 3; do # of one while others have the processors nothing is said
        flapping "$out"
        ! jq -e '.data.course.stalls | length == 3' "$out" || break
    done
    jq -e '.findings[] | select(.check == "coll.stalls") | .status == "warn" and .value > 8 and
        (.message | test("^3 times nothing moved.* after the start .*; between node0 [(]10.77.0.1[)] and node1 [(]10.77.0.2[)]$")) and
        (.fix[0] | startswith("dmesg"))' "$out"
    jq -e '.data.course.stalls | length == 3 and all(.seconds > 2.5 and .until_s > 6) and .[0].until_s < .[1].until_s and .[1].until_s < .[2].until_s' "$out"
}
