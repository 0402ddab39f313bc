#!/usr/bin/env bats
# Ranks started by us, here and over the lab's rsh: who they are, what they say,
# what becomes of their output.
bats_require_minimum_version 1.5.0
load launch.sh

@test "1 to 8 ranks here: each knows who it is, and they exchange" {
    for n in 1 2 3 4 5 6 7 8; do
        run -0 --separate-stderr "$P" --np "$n" -- gather
        [ "$(grep -c "$((20 * n)) right" <<<"$output")" = "$n" ]
    done
    run -0 --separate-stderr "$P" --np 3
    [ "$(sort <<<"$output" | sed 's/^.*\] //; s/, hosts.*//')" = "rank 0 of 3, local 0 of 3, node 0 of 1, by windsock, at 127.0.0.1
rank 1 of 3, local 1 of 3, node 0 of 1, by windsock, at 127.0.0.1
rank 2 of 3, local 2 of 3, node 0 of 1, by windsock, at 127.0.0.1" ]
}

@test "exit codes: 1 beats 4 beats 3 beats 0" {
    run -0 "$P" --np 3 -- exit 0
    run -3 "$P" --np 3 -- exit 0 3 0
    run -4 "$P" --np 3 -- exit 3 4 0
    run -1 "$P" --np 4 -- exit 3 4 1 0
}

@test "output: nothing lost, nothing mixed, a last line without end gets one, one rank has no prefix" {
    "$P" --np 4 -- spew 20000 >"$OUT" 2>"$ERR"
    [ "$(wc -l <"$OUT")" = 80004 ]
    for r in 0 1 2 3; do
        run -0 grep -c "^\[$r [^]]*\] $r: line [0-9]* with some text behind it to make it longer$" "$OUT"
        [ "$output" = 20000 ]
        grep -q "^\[$r [^]]*\] $r: the last one has no end$" "$OUT"
    done
    run -0 --separate-stderr "$P" --np 1 -- spew 1
    [ "${lines[0]}" = "0: line 0 with some text behind it to make it longer" ]
    [ "${lines[1]}" = "0: the last one has no end" ]
    "$P" --np 2 --raw -- spew 1 >"$OUT" 2>"$ERR"
    grep -q '^0: line 0' "$OUT"
    grep -q '\[1 .*\] 1: line 0' "$OUT"
}

@test "output into a slow reader is held back, and no heartbeat is missed for it" {
    "$P" --np 2 --heartbeat 500ms -- spew 30000 2>"$ERR" | { sleep 3; cat; } >"$OUT"
    [ "$(wc -l <"$OUT")" = 60002 ]
    grep -q 'code 0' "$ERR"
}

@test "a reader that has seen enough ends nobody" {
    "$P" --np 2 -- spew 30000 2>"$ERR" | head -n 1
    grep -q 'code 0' "$ERR"
}

@test "hosts over the lab's rsh: places, addresses that peers can reach, gathering" {
    run -0 --separate-stderr on 0 "$P" --hosts 'node[0-2]' --np-per-host 2 -- who
    [ "$(sort <<<"$output" | sed 's/, hosts.*//')" = "[0 node0] rank 0 of 6, local 0 of 2, node 0 of 3, by windsock, at 10.77.0.1
[1 node0] rank 1 of 6, local 1 of 2, node 0 of 3, by windsock, at 10.77.0.1
[2 node1] rank 2 of 6, local 0 of 2, node 1 of 3, by windsock, at 10.77.0.2
[3 node1] rank 3 of 6, local 1 of 2, node 1 of 3, by windsock, at 10.77.0.2
[4 node2] rank 4 of 6, local 0 of 2, node 2 of 3, by windsock, at 10.77.0.3
[5 node2] rank 5 of 6, local 1 of 2, node 2 of 3, by windsock, at 10.77.0.3" ]
    run -0 --separate-stderr on 0 "$P" --hosts node1:1,node2:3 --np 3 -- who
    [ "$(grep -c '^\[[12] node2\]' <<<"$output")" = 2 ]
    run -0 --separate-stderr on 0 "$P" --hosts 'node[0-2]' --np-per-host 3 -- gather
    [ "$(grep -c '180 right' <<<"$output")" = 9 ]
    run -2 --separate-stderr on 0 "$P" --hosts node1:1,node2:1 --np 3
    [[ $stderr == *"3 ranks do not fit: 2 hosts have room for 2"* ]]
}

@test "where no port is open between the nodes, a run still meets" {
    on 1 nft 'add table inet sg; add chain inet sg in { type filter hook input priority 0; policy drop; iif lo accept; }'
    run --separate-stderr on 0 "$P" --hosts 'node[0-2]' --np-per-host 1 -- gather
    on 1 nft 'delete table inet sg'
    [ "$status" = 0 ]
    [ "$(grep -c '60 right' <<<"$output")" = 3 ]
}

@test "a host that cannot be reached is named at once; --partial goes on without it" {
    run -1 --separate-stderr on 0 "$P" --hosts node1,node7 -- who
    [ -z "$output" ]
    [[ $stderr == *"cannot reach node7: "* ]]
    run -0 --separate-stderr on 0 "$P" --hosts node1,node7 --partial -- who
    [[ $output == "rank 0 of 1, "* ]]
    run -3 --separate-stderr on 0 "$P" --hosts node1 --rsh /no/such/ssh -- who
    [[ $stderr == *"no such program here"*"--rsh"* ]]
    run -1 --separate-stderr on 0 "$P" --hosts node1 --deadline 1 --rsh 'sh -c "sleep 30"' -- who
    [[ $stderr == *"said nothing for 1"* ]]
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh 'sh -c "echo hello; exit 0"' -- who
    [[ $stderr == *'node1: sh ended with exit code 0 before rank_probe there had answered, and said "hello"'* ]]
    wait_for 15 nothing_left
}

@test "a login script that prints does not disturb" {
    printf '#!/bin/sh\necho Welcome to $1; echo mind the gap >&2; exec $WINDSOCK_RSH "$@"\n' >rsh
    chmod +x rsh
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$PWD/rsh" -- gather
    [ "$output" = "$(sort <<<"$output")" ] || true
    [ "$(grep -c '40 right' <<<"$output")" = 2 ]
}

@test "20 hosts are started 2 at a time" {
    printf '#!/bin/sh\necho + >>%s/log; $WINDSOCK_RSH node1 "sleep 0.1; $2"\n' "$PWD" >rsh
    chmod +x rsh
    run -0 --separate-stderr on 0 "$P" --hosts 'h[1-20]' --parallel 2 --rsh "$PWD/rsh" -- gather
    [ "$(grep -c '400 right' <<<"$output")" = 20 ]
    [ "$(wc -l <log)" = 20 ]
}
