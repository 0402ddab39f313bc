#!/usr/bin/env bats
# The address by which ranks are told to each other: of the family in NCCL_SOCKET_FAMILY, as
# NCCL's is, else of the one that most hosts have. Needs jq.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0

BOTH=(--subnet 10.77.0.0/16 --subnet fd00:77::/64)

setup() {
    "$ROOT/scripts/lab" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" SSH_CONNECTION
}

# The addresses of three ranks, rank 0 on the host that launches. SETUP is typed on the other
# two before their agents.
ranks() { # SETUP [LAB OPTIONS] SCRIPT
    printf '#!/bin/bash\nhost=$1; shift\nexec $REAL_RSH "$host" "%s $*"\n' "$1" >rsh
    chmod +x rsh
    run -0 --separate-stderr "$ROOT/scripts/lab" run 3 "${@:2:$#-2}" -- env PATH="$BIN:$PATH" bash -euo pipefail -c '
        on() { $WINDSOCK_RSH "node$1" bash -eus <<<"$2"; }
        run() { REAL_RSH=$WINDSOCK_RSH ncclbench --rsh ./rsh --hosts "${HOSTS:-localhost,node1,node2}" -b 8 -e 8 --json |
            jq -r ".data.world.ranks | map(.address) | join(\" \")"; }
        '"${*: -1}"
}

@test "hosts with both families: IPv4, and IPv6 where that is asked for" {
    ranks '' "${BOTH[@]}" run
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
    ranks 'export NCCL_SOCKET_FAMILY=AF_INET6;' "${BOTH[@]}" 'export NCCL_SOCKET_FAMILY=AF_INET6; run'
    [ "$output" = "fd00:77::1 fd00:77::2 fd00:77::3" ]
    ranks 'export NCCL_SOCKET_FAMILY=ipv6;' "${BOTH[@]}" run # what NCCL passes over
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
    # there are none of them
    ranks 'export NCCL_SOCKET_FAMILY=AF_INET6;' 'export NCCL_SOCKET_FAMILY=AF_INET6; run'
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
}

@test "the way that ssh came is of the other family: the same card's address" {
    own='SSH_CONNECTION=\"10.77.0.1 9 \$(ip -4 -o addr show eth0 | sed \"s/.*inet //; s,/.*,,\") 22\"; export SSH_CONNECTION;'
    ranks "$own" "${BOTH[@]}" run
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
    ranks "$own export NCCL_SOCKET_FAMILY=AF_INET6;" "${BOTH[@]}" 'export NCCL_SOCKET_FAMILY=AF_INET6
        for n in 1 2; do on $n "ip link add link eth0 name best type macvlan; ip link set best up
            ip addr add fd00:99::$n/64 dev best nodad"; done
        run'
    [ "$output" = "fd00:77::1 fd00:77::2 fd00:77::3" ]
}

@test "the way that somebody came to another host is not this one's" {
    ranks 'export SSH_CONNECTION=\"10.77.0.9 9 10.77.0.99 22\";' run
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
}

@test "two hosts with both, the way that ssh came is IPv6: one family, whichever is first" {
    own='SSH_CONNECTION=\"fd00:77::1 9 \$(ip -6 -o addr show eth0 scope global | sed \"s/.*inet6 //; s,/.*,,\") 22\"; export SSH_CONNECTION;'
    for HOSTS in localhost,node1 node1,localhost; do
        export HOSTS
        ranks "$own" "${BOTH[@]}" run
        [ "$(xargs -n1 <<<"$output" | sort | xargs)" = "fd00:77::1 fd00:77::2" ]
    done
}

@test "what most hosts have: by whom of them has both, and by whom has it on another card" {
    ranks '' --subnet fd00:77::/64 'on 2 "ip addr add 10.77.0.3/16 dev eth0"; run'
    [ "$output" = "fd00:77::1 fd00:77::2 fd00:77::3" ]
    ranks '' 'on 2 "ip link add link eth0 name best type macvlan; ip link set best up
        ip addr add fd00:77::3/64 dev best nodad"; run'
    [ "$output" = "10.77.0.1 10.77.0.2 10.77.0.3" ]
}
