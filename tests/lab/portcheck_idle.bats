#!/usr/bin/env bats
# portcheck --idle: connections that are silent, and what forgets them: a host's own table, whatever
# is between the hosts, by silence and by resets. Timeouts are of seconds, so that the waiting is.
# Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

ask() { # TIME [OPTIONS...]
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts node0,node1,node2 --silence 1s --idle "$1" --json "${@:2}"
}

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

through_switch() { # NODE ADDRESS: what goes there passes a router
    on "$1" sh -c "echo 0 >/proc/sys/net/ipv4/conf/all/accept_redirects
        echo 0 >/proc/sys/net/ipv4/conf/eth0/accept_redirects
        ip route replace $2/32 via 10.77.255.254 dev eth0 onlink"
}

idle() { # JQ: of the findings of it
    jq -r "[.findings[] | select(.check == \"mesh.idle\")] | $1" <<<"$output"
}

# What is silent for 2 s is forgotten there, and what comes then is nothing that it knows.
forgetful() { # NODE VERDICT
    on "$1" sh -c 'cd /proc/sys/net/netfilter && echo 0 >nf_conntrack_tcp_loose &&
        echo 2 >nf_conntrack_tcp_timeout_established' &&
        on "$1" nft "table inet t { chain c { type filter hook input priority 0; iif lo accept
            ct state established,related accept; ct state invalid $2; }; }"
}

teardown() {
    switch sh -c 'nft delete table inet t; cd /proc/sys/net/netfilter
        echo 1 >nf_conntrack_tcp_loose; echo 432000 >nf_conntrack_tcp_timeout_established' 2>/dev/null || true
    on all sh -c 'nft delete table inet t; ip route del 10.77.0.1/32 via 10.77.255.254
        ip route del 10.77.0.2/32 via 10.77.255.254; cd /proc/sys/net/netfilter
        echo 1 >nf_conntrack_tcp_loose; echo 432000 >nf_conntrack_tcp_timeout_established' 2>/dev/null || true
}

@test "idle: nothing forgets them, and the time is waited for, and no longer" {
    local began=$EPOCHREALTIME took
    ask 2s
    took=$((${EPOCHREALTIME/./} - ${began/./}))
    [ "$status" = 0 ]
    valid
    [ "$(idle 'map("\(.status) \(.subject): \(.message)")[]')" = \
        "pass 6 pairs: connections are alive after 2 s of silence" ]
    [ "$(jq -c '.data.idle | [.times_s, (.pairs | length), (.pairs | map(.alive_s) | unique)]' <<<"$output")" = '[[1,2],6,[2]]' ]
    ((took >= 2000000))
    [[ $stderr == *"connections will be silent for 2 s"* ]]
}

@test "idle: what could not be opened, or was given up, has not died" {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" sh -c 'ulimit -n 36; exec "$0" "$@"' "$BIN/portcheck" \
        --hosts node0,node1,node2 --silence 1s --idle 8s --json
    valid
    [ "$(idle 'map(select(.status == "fail")) | length')" = 0 ]
}

@test "idle: a host's own table that forgets is named, by silence, and its own advice mends it" {
    forgetful 1 drop
    ask 4s
    [ "$status" = 1 ]
    valid
    [ "$(idle 'map(.status) | join(" ")')" = "fail pass" ]
    [ "$(idle '.[0].subject')" = "node1 and node[0,2]" ]
    [[ $(idle '.[0].message') == "a connection silent for "[23]" s is dead (no answer; "[12]" s was well): the firewall's table of connections on node1 forgets it (nf_conntrack_tcp_timeout_established is 2 s)"* ]]
    [ "$(idle '.[1].subject')" = "2 of 6 pairs" ]
    jq -e '.data.idle.pairs | map(select(.dead_s)) | length == 4 and
        all(.[]; .how == "no answer" and .new_alive and (.from == "node1" or .to == "node1"))' <<<"$output"
    on 1 sh -c "sudo() { \"\$@\"; }; $(idle '.[0].fix[0]')" >&2
    ask 3s
    [ "$status" = 0 ]
}

@test "idle: what resets them is told from what is silent" {
    forgetful 1 'reject with tcp reset'
    ask 4s
    [ "$status" = 1 ]
    [[ $(idle '.[0].message') == "a connection silent for "[23]" s is dead (reset; "* ]]
    jq -e '.data.idle.pairs | map(select(.dead_s)) | length == 4 and all(.[]; .how == "reset")' <<<"$output"
}

# A box on the way that is nobody's: the rules of no host stop anything.
@test "idle: something between that forgets them is no host's" {
    switch sh -c 'cd /proc/sys/net/netfilter && echo 0 >nf_conntrack_tcp_loose &&
        echo 2 >nf_conntrack_tcp_timeout_established'
    switch nft 'table inet t { chain c { type filter hook forward priority 0
        ip saddr { 10.77.0.1, 10.77.0.2 } ip daddr { 10.77.0.1, 10.77.0.2 } ct state invalid drop; }; }'
    through_switch 0 10.77.0.2
    through_switch 1 10.77.0.1
    ask 4s
    [ "$status" = 1 ]
    [ "$(idle '.[0].subject')" = "node0 and node1" ]
    [[ $(idle '.[0].message') == *"is dead (no answer; "*"): something between forgets it; NCCL's have no keepalive" ]]
    [[ $(idle '.[0].fix[0]') == "give what is between them"* ]]
    [ "$(idle '.[1] | "\(.status) \(.subject)"')" = "pass 4 of 6 pairs" ]
}

@test "idle: a firewall that minds only who speaks first" {
    on 1 sh -c 'cd /proc/sys/net/netfilter && echo 2 >nf_conntrack_tcp_timeout_established'
    # what node1 sends makes a new entry (tcp_loose); what comes in without one is dropped
    on 1 nft 'table inet t { chain c { type filter hook input priority 0; iif lo accept
        ct state established,related accept; tcp flags & (syn|ack) == syn accept; meta l4proto tcp drop; }; }'
    ask 4s
    [ "$status" = 1 ]
    jq -e '.data.idle.pairs | map(select(.dead_s)) | length == 4 and
        all(.[]; if .to == "node1" then .first == "from" else .first == "to" end)' <<<"$output"
    [ "$(idle 'map(select(.status == "fail")) | length')" = 2 ]
}

# Does that once the first time has passed (or once they have said $once): what the ranks have said
# is kept in memory.
broken_off() { # SCRIPT OPTIONS...
    cd "$BATS_TEST_TMPDIR" || return
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" once="${once:-\"passed\":1,}" bash -c '
        "$2" --hosts node0,node1 --json "${@:3}" >doc & run=$!
        told() {
            local fd
            for fd in /proc/$run/fd/*; do
                [[ $(readlink "$fd") == /memfd:mesh* ]] || continue
                ! grep -qs "$once" "$fd" || return 0
            done
            return 1
        }
        for ((i = 0; i < 400; i++)); do ! told || break; sleep 0.05; done
        told && eval "$1"
        wait $run; code=$?
        cat doc; exit $code' - "$1" "$BIN/portcheck" "${@:2}"
}

@test "idle: Ctrl-C gives what is known by then, and so does a rank that dies" {
    local known='connections are alive after [235] s of silence; what is longer is not known'
    broken_off 'kill -INT $run' --idle 60s
    [ "$status" = 3 ]
    valid
    [[ $(idle 'map("\(.status) \(.subject): \(.message)")[]') == "info 2 pairs: "$known ]]
    broken_off 'kill -9 "$(pgrep -f -- "--mesh-[r]ank" | tail -n 1)"' --idle 60s
    [ "$status" = 1 ]
    [[ $(idle 'map("\(.status) \(.subject): \(.message)")[]') == "info 2 pairs: "$known ]]
    jq -e '.findings[] | select(.check == "mesh.run").message | contains("killed by signal 9")' <<<"$output"
}

@test "idle: broken off before any time has passed, it was not reached, which is no error of it" {
    local once='"connections":' way unreached='skip null: broken off before connections had been silent for 10 min, the shortest time: what silence does to them is not known'
    for way in 'kill -INT $run' 'kill -9 "$(pgrep -f -- "--mesh-[r]ank" | tail -n 1)"'; do
        broken_off "$way" --idle 4h
        valid
        [[ $(idle 'map("\(.status) \(.subject): \(.message)")[]') == "$unreached" ]]
        jq -e 'all(.findings[]; .status != "error" or .check == "run") and any(.findings[]; .status == "pass")' <<<"$output"
        [ "$status" = "$([[ $way == *INT* ]] && echo 3 || echo 1)" ]
    done
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" --hosts node0,node1 \
        --idle 4h --budget 5s --json
    [ "$status" = 3 ]
    [[ $(idle 'map("\(.status) \(.subject): \(.message)")[]') == "$unreached" ]]
}

@test "idle: where the way itself is gone meanwhile, that is said" {
    broken_off 'nft "table inet t { chain c { type filter hook input priority 0; ip saddr 10.77.0.2 drop; }; }"' \
        --silence 1s --idle 4s
    [ "$status" = 1 ]
    [ "$(idle 'map(.status + " " + .subject)[]')" = "fail node0 and node1" ]
    [[ $(idle '.[0].message') == *", and a new one does not come through either: "* ]]
    jq -e '.data.idle.pairs | length == 2 and all(.[]; .new_alive == false)' <<<"$output"
}

@test "idle: a terminal shows the time that is left" {
    run on 0 env TERM=xterm COLUMNS=100 WINDSOCK_RSH="$WINDSOCK_RSH" \
        script -qec "'$BIN/portcheck' --hosts node0,node1 --idle 4s" /dev/null </dev/null
    [ "$status" = 0 ]
    [[ $output == *"connections are silent, "[1-3]" s left; second "[1-3]" of 4 ("*"%)"* ]]
    [[ $output == *"pass"*"mesh.idle"* ]]
}

@test "idle: started by a foreign launcher, with more than one rank on a host" {
    cd "$BATS_TEST_TMPDIR"
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" bash -c '
        rank() { # NODE LOCAL
            $WINDSOCK_RSH node$1 "env RANK=$((2 * $1 + $2)) WORLD_SIZE=4 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=2 \
                GROUP_RANK=$1 TORCHELASTIC_RUN_ID=x MASTER_ADDR=node0 MASTER_PORT=29500 $P --idle 2s --json"
        }
        P=$1
        rank 0 1 & rank 1 1 & rank 1 0 &
        rank 0 0 && wait' - "$BIN/portcheck"
    [ "$status" = 0 ]
    [ "$(idle 'map("\(.status) \(.subject)")[]')" = "pass 2 pairs" ]
}

@test "idle: many hosts: each with some of the others, which is said" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 12 -- "$BIN/portcheck" --hosts lab --idle 1s
    [[ $output == *"pass  mesh.idle          96 of 132 pairs  connections are alive after 1 s of silence; each host has opened some to 8 others"* ]]
}
