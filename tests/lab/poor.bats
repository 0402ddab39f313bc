#!/usr/bin/env bats
# Hosts of a run whose environment is poor or odd: what ssh finds there is dash, no home, no
# /proc, an old container's filter. The agents and ranks there do their work all the same, or
# the host is named with what it lacks; nothing hangs, nothing stays.
bats_require_minimum_version 1.5.0

setup_file() {
    export LAB=$ROOT/scripts/lab POOR=$O/lab/poor
    "$LAB" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    cd "$BATS_FILE_TMPDIR" || return
    echo 'NCCL WARN Bootstrap : no socket interface found' >train.log
    # As ssh: the words are one line for the other host's shell. There $POORLY comes before it.
    cat >rsh <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
[[ $host == node1 ]] || exec $REAL_RSH "$host" "$@"
exec $REAL_RSH "$host" "$POORLY dash -c $(printf %q "$*")"
END
    cat >asks <<'END'
#!/bin/bash
# Each command, with what it said of the hosts: NAME CODE
failed=0 log=$PWD/train.log
export REAL_RSH=$WINDSOCK_RSH WINDSOCK_RSH=$PWD/rsh
while read -r name line; do
    code=0
    timeout 30 "$BIN/$name" --hosts lab --json $line </dev/null >out 2>err || code=$?
    expected=$(sed -n "s/.*\<$name=\([0-9]*\).*/\1/p" <<<"$1")
    if ((code != ${expected:-0})) || ! jq -e .verdict out >/dev/null; then
        echo "$name: $code under: $POORLY"
        cat err out
        failed=1
    fi
    jq -r '.findings[] | select(.status == "fail" or .status == "error").message' out
done <<LINES
ifprobe --suggest
portcheck
ncclbench -b 8 -e 1K -n 2
ddpsmoke --steps 2 --model mlp
LINES
exit "$failed"
END
    chmod +x rsh asks
}

setup() {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build: it wants what is not there"
    cd "$BATS_FILE_TMPDIR" || return
}

on_poor() { # PREFIX [NAME=CODE...]: on node1 all is started under PREFIX
    local POORLY=$1
    export POORLY
    shift
    run "$LAB" run 2 -- ./asks "$*"
    ((status == 0)) || { echo "$output"; return 1; }
}

inside() { echo "unshare -m sh -c '$1; exec \"\$@\"' sh"; }

@test "no environment, no home, no user, no folder to stand in, odd signals" {
    on_poor 'env -i'
    on_poor 'env -u HOME TMPDIR=/nowhere HOME=/nowhere'
    on_poor "$POOR dir=gone --"
    on_poor "$POOR close=2 --"
    on_poor "$POOR ignore=CHLD ignore=PIPE block=TERM block=ALRM block=CHLD --"
    local nobody='setpriv --reuid 54321 --regid 54321 --clear-groups --no-new-privs'
    # Not where this was built below a folder that others may not enter, such as /root.
    # shellcheck disable=SC2086
    ((EUID)) || ! $nobody test -x "$BIN/portcheck" || on_poor "$nobody"
}

@test "an old container's filter, a limit of size, a small stack" {
    on_poor "$POOR deny=pidfd_open deny=close_range deny=clone3:ENOSYS deny=memfd_create --"
    on_poor "$POOR limit=fsize:0 --"
    on_poor "$POOR limit=stack:131072 limit=as:200000000 --"
}

@test "no /proc, no /dev, nothing that can be written" {
    on_poor "$(inside 'mount -t tmpfs none /proc')"
    on_poor "$(inside 'mount -t tmpfs none /dev')"
    on_poor "$(inside 'mount -o bind,ro / /; mount -o remount,bind,ro /; mount -t tmpfs -o ro none /dev/shm')"
}

@test "what a host lacks is said of that host" {
    on_poor "$POOR limit=nofile:16 --" portcheck=1 ncclbench=1 ddpsmoke=1
    [ "$(grep -c 'Too many open files on node1' <<<"$output")" -ge 3 ]
    on_poor "$POOR deny=netlink:EAFNOSUPPORT --" ifprobe=3 portcheck=3
    [[ $output == *node1* ]]
}

@test "a host that cannot list its interfaces is asked the address that the others are reached from" {
    POORLY="$POOR deny=netlink:EAFNOSUPPORT --" \
        run -0 --separate-stderr "$LAB" run 2 -- sh -c 'REAL_RSH=$WINDSOCK_RSH WINDSOCK_RSH=$PWD/rsh \
            "$BIN/ncclbench" --hosts lab -b 8 -e 8 -n 2 --json'
    [ "$(jq -r '[.data.world.ranks[].address] | join(" ")' <<<"$output")" = "10.77.0.1 10.77.0.2" ]
}

@test "a rank that cannot do its work before it joined says why: exit 3" {
    on_poor "$POOR deny=eventfd2 --" portcheck=3 ncclbench=3 ddpsmoke=3
    [ "$(grep -c 'rank 1 (node1) ended before it joined: exit code 3' <<<"$output")" -ge 3 ]
}

@test "a rank whose host has not what was asked for, said before it joined: exit 4; another host that fails beats it" {
    mkdir -p lacks
    printf '#!/bin/sh\necho no such card here >&2\nexit 4\n' | tee lacks/portcheck lacks/ncclbench >lacks/ddpsmoke
    chmod +x lacks/*
    cp "$BIN/ifprobe" lacks/agent # its ranks are programs of its folder
    printf '#!/bin/bash\n[[ $1 == -n ]] && shift\n[[ $1 == node1 && $2 == *--agent* ]] || exec $REAL_RSH "$@"\nexec $REAL_RSH node1 "%s/lacks/agent --agent"\n' "$PWD" >lacks/rsh
    chmod +x lacks/rsh
    local name said
    for name in portcheck 'ncclbench -b 8 -e 8' 'ddpsmoke --steps 2 --model mlp'; do
        run -4 --separate-stderr "$LAB" run 2 -- sh -c "REAL_RSH=\$WINDSOCK_RSH WINDSOCK_RSH=$PWD/lacks/rsh timeout 60 $BIN/$name --hosts lab --json"
        said='rank 1 (node1) ended before it joined: exit code 4'
        jq -e --arg said "$said" '.verdict == "error" and ([.findings[] | select(.status == "fail")] == [])
            and ([.findings[] | select(.check == "run" and (.message | startswith($said)))] | length == 1)' <<<"$output"
        [[ $stderr == *"no such card here"* ]]
    done
    run -1 --separate-stderr "$LAB" run 2 -- sh -c "REAL_RSH=\$WINDSOCK_RSH WINDSOCK_RSH=$PWD/lacks/rsh timeout 60 $BIN/portcheck --hosts node0,node1,node9 --json"
    jq -e --arg said "$said" '[.findings[] | select(.status == "fail") | .check] == ["host.answer", "mesh.run"]' <<<"$output"
}

@test "hosts of which none can know its address say what they lack: exit 3" {
    # shellcheck disable=SC2089,SC2090 # a line for another shell
    export POORLY="sh -c 'ip -4 route del default; ip -6 route del default; exec \"\$@\"' sh $POOR deny=netlink:EAFNOSUPPORT --"
    local name
    for name in 'ncclbench -b 8 -e 8' 'ddpsmoke --steps 2 --model mlp'; do
        run "$LAB" run 3 -- sh -c "sed 's/== node1 /!= node0 /' rsh >rsh.all; chmod +x rsh.all
            REAL_RSH=\$WINDSOCK_RSH WINDSOCK_RSH=\$PWD/rsh.all timeout 60 $BIN/$name --hosts node1,node2"
        ((status == 3)) || { echo "$name: $status: $output"; false; }
        [[ $output == *"does not know the address that other hosts reach it at"*AF_NETLINK* ]]
    done
}
