#!/usr/bin/env bats
# Hosts that go silent without a word, which takes an agent half a minute to believe:
# a cut cable, a stopped launcher, a stopped agent. Needs root for sshd.
bats_require_minimum_version 1.5.0
load ../lab/launch.sh

# What still runs on one node: they share the process table, not the host name.
left_on() { # NODE
    local pid
    for pid in $(ours | awk '{ print $1 }'); do
        [ "$(on 0 nsenter -t "$pid" -u uname -n)" != "node$1" ] || echo "$pid"
    done
}

empty() { [ -z "$(left_on "$1")" ]; }

cut_off() { # NODE
    on "$1" nft 'add table inet cut; add chain inet cut in { type filter hook input priority 0; policy drop; iif lo accept; }; add chain inet cut out { type filter hook output priority 0; policy drop; oif lo accept; }'
}

@test "a cut cable: the run ends in time and names the host's rank; its agent ends by itself" {
    sshd_up
    begin 3 --hosts 'node[0-2]' --rsh "$KEYS/ssh" --heartbeat 2
    cut_off 1
    local rc=0 start=$SECONDS
    wait "$RUN" || rc=$?
    cat "$OUT" "$ERR"
    [ "$rc" = 1 ]
    ((SECONDS - start <= 12))
    grep -q 'failed: rank 1 (node1, 10.77.0.2) has been silent for 2 s' "$ERR"
    empty 0
    empty 2
    wait_for 45 empty 1
    on 1 nft 'delete table inet cut'
}

@test "a stopped launcher: the ranks end at their heartbeat, the agents half a minute later" {
    begin 3 --hosts 'node[0-2]'
    stopped=$(launcher)
    on 0 kill -STOP "$stopped"
    wait_for 45 empty 1
    wait_for 5 empty 2
    on 0 kill -CONT "$stopped"
    wait "$RUN" || true
    wait_for 5 nothing_left
}

@test "a stopped agent: its ranks are named, and it ends when it goes on" {
    begin 3 --hosts node1,node2 --np 3
    stopped=$(agents worker | tail -n 1)
    on 0 kill -STOP "$stopped"
    local rc=0 start=$SECONDS
    wait "$RUN" || rc=$?
    cat "$OUT" "$ERR"
    [ "$rc" = 1 ]
    ((SECONDS - start <= 12))
    grep -q 'failed: rank [0-2] (node[12], 10.77.0.[23]) has been silent for 1.5 s' "$ERR"
    on 0 kill -CONT "$stopped" || true
    wait_for 5 nothing_left || { ours; false; }
}

@test "a machine that joined and is cut off while others are awaited is missed within the minute" {
    on 0 "$P" --serve --wait 2 -- who >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    wait_for 5 says 1 ' --join ' "$ERR"
    read -r _ where code <<<"$(grep -o -- '--join .*' "$ERR")"
    on 1 "$P" --join "$where" "$code" >join1 2>&1 3>&- &
    wait_for 5 says 1 'joined' join1
    cut_off 1
    wait_for 50 says 1 'lost node1: .*; its place is free again' "$ERR"
    on 1 nft 'delete table inet cut'
    on 0 kill -TERM "$(launcher)"
    ended 3 4
}
