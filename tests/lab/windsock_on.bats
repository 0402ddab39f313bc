#!/usr/bin/env bats
# The line that mends many nodes, `windsock on HOSTS COMMAND`, as it is printed and typed: one node
# that hangs holds up nobody and is named, with the line for it alone.
# Needs root, jq.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root for the nodes' settings"
    cd "$BATS_TEST_TMPDIR" || return
}

@test "on: the line typed in bash mends eight nodes of which one hangs, and then that one" {
    cat >rsh <<'EOS'
#!/bin/sh
[ "$1" = node5 ] && [ -e hangs ] && exec sleep 1000
exec $REAL_RSH "$@"
EOS
    chmod +x rsh
    run -0 --separate-stderr "$ROOT/scripts/lab" run 8 -- bash -c '
        export REAL_RSH=$WINDSOCK_RSH PATH=$1:$PATH
        unset WINDSOCK_RSH
        for n in 0 1 2 3 4 5 6 7; do $REAL_RSH node$n "echo 50000 51000 >/proc/sys/net/ipv4/ip_local_port_range" || exit 9; done
        looks() { portcheck --hosts node[0-7] --rsh ./rsh --wait 1s "$@"; }
        typed() { # FILE: its first line to type; here everybody is root, and nobody has all day
            bash -c "$(sed -n "s/^ *-> //p" "$1" | head -n 1 | sed "s/sudo //g; s/windsock on/windsock on --deadline 1s/")"
        }
        looks >before
        touch hangs
        start=$SECONDS
        typed before >first; echo "$?" >first.code
        echo $((SECONDS - start)) >first.took
        rm hangs
        looks --json >between
        typed first >second; echo "$?" >second.code
        looks' - "$BIN"
    [[ ${lines[-1]} == PASS* && $output != *local.port_range*"only 1001"* ]]
    grep -- "-> windsock on --rsh ./rsh 'node\[0-7\]' 'sudo sysctl -w net.ipv4.ip_local_port_range=" before
    # seven are mended, the eighth is named
    [ "$(<first.code)" = 1 ]
    (($(<first.took) < 10))
    grep '^pass  host.command .*node\[0-4,6-7\]: net.ipv4.ip_local_port_range = 32768' first
    grep '^fail  host.command .*node5: said nothing for 3 s and was ended' first
    grep -- "-> windsock on --rsh ./rsh node5 'sysctl -w " first
    [ "$(jq -r '.findings[] | select(.check == "local.port_range" and .status == "warn").host' between)" = node5 ]
    # and again there
    [ "$(<second.code)" = 0 ]
    grep '^pass  host.command .*node5: net.ipv4.ip_local_port_range = 32768' second
}
