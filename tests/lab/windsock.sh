# shellcheck shell=bash
# windsock over the nodes of a lab: four of them, for the life of a file. Loaded by
# the files that test it there. Needs root, nft, jq.
# shellcheck disable=SC2154,SC2119,SC2120 # run's; look takes options

LAB_OPTIONS=() # a file that loads this may have others

setup_file() {
    [ "$(id -u)" = 0 ] || skip "not root: the lab's users, firewalls and mounts need it"
    LAB_NAME=$("$ROOT/scripts/lab" up 4 "${LAB_OPTIONS[@]}")
    export LAB_NAME
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" MASTER_ADDR
    export WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME" WINDSOCK_HOSTS=node0,node1,node2,node3
}

on() { # NODE CMD...
    "$ROOT/scripts/lab" on "$LAB_NAME" "${1/#[0-9]/node$1}" -- "${@:2}"
}

windsock() { # from node0
    on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" WINDSOCK_HOSTS="$WINDSOCK_HOSTS" "$BIN/windsock" "$@"
}

# What broke and what came of it, into $output and $code.
look() { # OPTIONS...
    run --separate-stderr windsock --hosts node0,node1,node2,node3 --quick --json "$@"
    # shellcheck disable=SC2034 # the files that load this look at it
    code=$status
    valid
}

# A way to the nodes that types SETUP on one of them (or on all) before the command.
odd() { # NODE SETUP
    printf '#!/bin/sh\nhost=$1\nshift\ncase $host in node%s) set -- "%s; $*" ;; esac\nexec "%s" rsh "%s" "$host" "$@"\n' \
        "${1/all/*}" "$2" "$ROOT/scripts/lab" "$LAB_NAME" >rsh
    chmod +x rsh
    WINDSOCK_RSH=$PWD/rsh
}

# Its own advice, typed on NODE.
follow() { # NODE [NUMBER]
    local fix
    fix=$(first ".fix[${2:-0}]")
    [ "$fix" != null ]
    on "$1" sh -c "PATH='$BIN':\$PATH; sudo() { \"\$@\"; }; $fix" >&2
}

healthy() { # the next run passes, and knows of nothing that is wrong
    look
    [ "$code" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 4 ]
}

first() { jq -r ".data.causes[0] | $1" <<<"$output"; }

