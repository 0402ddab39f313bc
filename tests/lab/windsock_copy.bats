#!/usr/bin/env bats
# windsock --copy-self and ifprobe --copy-self: hosts that have not our programs get
# them once for the whole run, and nothing is left of them. On node1 they are hidden,
# and so is a library that they need. Needs root, jq.
# shellcheck disable=SC2154 # run's
bats_require_minimum_version 1.5.0

load ../wait.sh
load windsock.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" MASTER_ADDR
    mkdir tmp home
    on 1 mount -t tmpfs none "$BIN"
    LIBRARY=$(ldd "$BIN/windsock" | awk '$1 ~ /^libcjson/ { print $3 }')
    [ -z "$LIBRARY" ] || on 1 mount --bind /dev/null "$(realpath "$LIBRARY")"
    remote
}

teardown() { # a test that failed may have left more
    on 0 pkill -9 -x windsock || true
    on 1 sh -c "for at in '$PWD/tmp' '$BIN' '${LIBRARY:-/nowhere}'; do umount -q \"\$(realpath \"\$at\")\" || :; done"
}

# A way to the hosts whose other side has folders of this test only, and which writes down what
# was typed. $1: to be typed on node1 before it.
remote() {
    cat >rsh <<C
#!/bin/sh
printf '%s %s\n' "\$1" "\$2" >>'$PWD/typed'
[ ! -e '$PWD/slow' ] || case \$2 in *ncclbench*) sleep 60 ;; esac
[ "\$1" != node1 ] || set -- node1 '${1-}'"\$2"
exec '$ROOT/scripts/lab' rsh '$LAB_NAME' "\$1" "export TMPDIR='$PWD/tmp' HOME='$PWD/home'; \$2"
C
    chmod +x rsh
}

windsock() { # from node0, which has everything, as node2 has
    on 0 env -C "$PWD" "$BIN/windsock" --hosts "${HOSTS:-node0,node1,node2}" --rsh "$PWD/rsh" "$@"
}

folders() {
    find tmp home -mindepth 1 | sed 's/windsock\.[0-9a-f.]*node/windsock.ID.node/'
}

only() { # TOOLS...: node1 has these, and what every machine has
    mkdir few
    for tool in sh cat head mktemp mkdir mv printf chmod rm uname "$@"; do
        ln -s "$(command -v "$tool")" few/
    done
    remote "export PATH=$PWD/few; "
}

copies() { # what could ask for a copy, sent to node1
    grep -c '^node1 .*windsock-copy' typed
}

passed() {
    valid
    [ "$(jq -r '.data.failing_nodes | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node2 ]
}

@test "a host without our programs: the first advice is the line that brings them, and it works" {
    run -1 --separate-stderr windsock --quick --json
    valid
    [ "$(first .hosts[0])" = node1 ]
    [ "$(first '.fix[0]')" = "windsock --quick --rsh $PWD/rsh --hosts node0,node1,node2 --copy-self   # brings it along" ]
    fix=$(first '.fix[0]')
    run -0 --separate-stderr on 0 env PATH="$BIN:$PATH" sh -c "$fix"
    [[ ${lines[-1]} == PASS*"3 of 3 hosts and the ways between them"* ]]
    [ -z "$(folders)" ]
}

@test "collectives and training, too: one copy for the whole run, and nothing is left" {
    run -0 --separate-stderr windsock --copy-self --json
    passed
    [ "$(jq -r '.data.stages[].name' <<<"$output" | tail -n 2 | paste -sd,)" = collectives,training ]
    [ "$(copies)" = 1 ]
    [ -z "$(folders)" ]
    wait_for 5 eval '[ -z "$(on 0 pgrep -x windsock)" ]'
}

@test "another version at the same place is not taken for ours" {
    version=$("$BIN/windsock" --version | awk '{ print $NF }')
    [ -z "$LIBRARY" ] || on 1 umount "$(realpath "$LIBRARY")"
    mkdir other
    for command in windsock ifprobe portcheck ncclbench ddpsmoke; do
        sed "s/${version//./\\.}/9.9.9/g" "$BIN/$command" >other/$command
        chmod +x other/$command
    done
    on 1 cp -r other/. "$BIN/"
    run -0 --separate-stderr windsock --copy-self --json
    passed
    [ "$(jq -r '[.nodes[].data.version // empty] | unique | length' <<<"$output")" -le 1 ]
    [ -z "$(folders)" ]

    remote "export PATH=$ROOT/tests/sudo:\$PATH; "
    run --separate-stderr windsock --quick --json
    valid
    differs='[.findings[] | select(.check == "drift.windsock")][0]'
    [ "$(jq -r "$differs | \"\(.host) \(.message)\"" <<<"$output")" = "node1 9.9.9 here, $version on 2 of 3 hosts" ]
    lasting=$(jq -r "$differs.fix[1]" <<<"$output")
    run -0 --separate-stderr on 0 env PATH="$BIN:$PATH" sh -c "$(jq -r "$differs.fix[0]" <<<"$output")"
    [[ ${lines[-1]} == PASS*"3 of 3 hosts and the ways between them"* ]]
    run -0 --separate-stderr windsock --quick --json --copy-self
    passed
    on 0 sh -c "${lasting/ lib\/windsock/}" # that folder is all nodes' here
    run -0 on 1 "$BIN/ncclbench" --version
    [[ $output == *" $version" ]]
    run -0 --separate-stderr windsock --json
    passed
    [ "$(jq "$differs" <<<"$output")" = null ]
}

@test "--keep: it stays, and the next run takes it; a damaged one is not taken" {
    run -0 --separate-stderr windsock --keep --json
    passed
    kept=$(echo home/.cache/windsock/*)
    cmp "$kept/bin/ncclbench" "$BIN/ncclbench"
    [ -z "$(ls tmp)" ]
    first=$(stat -c %i "$kept/bin/windsock")
    run -0 --separate-stderr windsock --quick --copy-self --json
    passed
    [ "$(stat -c %i "$kept/bin/windsock")" = "$first" ]
    [ -z "$(ls tmp)" ]
    printf x >>"$kept/bin/portcheck"
    run -0 --separate-stderr windsock --quick --copy-self --json
    passed
    [ -z "$(ls tmp)" ]
    run ! cmp "$kept/bin/portcheck" "$BIN/portcheck"
    run -0 --separate-stderr windsock --quick --keep --json
    passed
    cmp "$(echo home/.cache/windsock/*)/bin/portcheck" "$BIN/portcheck"
}

@test "--keep where there is no sha256sum: it is found all the same" {
    only tar
    run -0 --separate-stderr windsock --quick --keep --json
    passed
    [ -z "$(ls tmp)" ]
    [ -x "$(echo home/.cache/windsock/*/bin/windsock)" ]
}

@test "no tar there, a full disk: said of that host; the others are tested" {
    only sha256sum
    run -1 --separate-stderr windsock --quick --copy-self --json
    valid
    [[ $(first .message) == *"there is no tar there, which --copy-self takes"* ]]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node2 ]
    [ -z "$(folders)" ]
    remote
    on 1 mount -t tmpfs -o size=100k none "$PWD/tmp"
    run -1 --separate-stderr windsock --quick --copy-self --json
    on 1 ls tmp >left
    on 1 umount "$PWD/tmp"
    valid
    [[ $(first .message) == *"is that disk full?"* ]]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node2 ]
    [ ! -s left ]
}

@test "Ctrl-C, SIGTERM, the budget, kill -9 of us, of who holds the copy, of it there: it is removed" {
    local how
    touch slow
    for how in INT TERM budget KILL holder there; do
        : >typed
        budget=0
        [ "$how" != budget ] || budget=16s # a busy machine is slow to begin
        windsock --copy-self --budget "$budget" >out 2>err 3>&- &
        wait_for 30 grep -q ncclbench typed
        [ "$(folders | head -n 1)" = tmp/windsock.ID.node1 ]
        launcher=$(on 0 pgrep -o -x windsock)
        holder=$(on 0 ps -eo pid=,ppid=,comm= | awk -v up="$launcher" '$2 == up && $3 == "windsock" { print $1 }')
        case $how in
        holder) on 0 kill -9 "$holder" ;;
        there) on 0 kill -9 "$(on 0 ps -eo pid=,args= | awk '$2 ~ /tmp.windsock\..*windsock$/ && $3 == "--agent" { print $1; exit }')" ;;
        budget) ;;
        *) on 0 kill -"$how" "$launcher" ;;
        esac
        wait_for 30 eval '[ -z "$(folders)" ]' || { folders; echo "after $how"; false; }
        on 0 pkill -x windsock || true
        wait $! || true
        wait_for 15 eval '[ -z "$(on 0 pgrep -x windsock)" ]'
    done
}

@test "who holds the copies is stopped, and its launcher killed: it ends all the same, and they are removed" {
    touch slow
    # a session's manager takes it over, else the kernel would wake what nobody can
    on 0 env -C "$PWD" "$O/lab/poor" reaps=all -- sh -c '"$@" & echo $! $$ >pids; exec sleep 300' - "$BIN/windsock" \
        --hosts node0,node1,node2 --rsh "$PWD/rsh" --copy-self --budget 200s >out 2>err 3>&- &
    wait_for 60 grep -q ncclbench typed
    read -r launcher manager <pids
    holder=$(on 0 pgrep -x -P "$launcher" windsock)
    [ "$(folders | head -n 1)" = tmp/windsock.ID.node1 ]
    on 0 kill -STOP "$holder"
    on 0 kill -9 "$launcher"
    wait_for 30 eval '[ -z "$(folders)" ]' || { on 0 kill -9 "$holder" "$manager"; false; }
    on 0 kill "$manager"
    wait $! || true
    wait_for 15 eval '[ -z "$(on 0 pgrep -x windsock)" ]'
}

# On the way to node1, before what lose.at says is typed there: who holds the copies is killed, or what
# holds the one on node1. $2: how many times that happens in a run.
lose() { # WHO TIMES
    cat >lose <<C
#!/bin/sh
case \$2 in *"\$(cat '$PWD/lose.at')"*) ;; *) exit ;; esac
left=\$(cat '$PWD/lose.left')
[ "\$1\$left" != node10 ] && [ "\$1" = node1 ] || exit 0
echo \$((left - 1)) >'$PWD/lose.left'
up=\$(pgrep -o -x windsock)
case $1 in
holder) kill -9 "\$(ps -eo pid=,ppid=,comm= | awk -v up="\$up" '\$2 == up && \$3 == "windsock" { print \$1; exit }')" ;;
there) kill -9 "\$(ps -eo pid=,args= | awk '\$2 ~ /tmp.windsock\\..*windsock\$/ && \$3 == "--agent" { print \$1; exit }')" ;;
esac
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    ls '$PWD/tmp' | grep -q windsock || break
    sleep 0.1
done
C
    chmod +x lose
    sed -i "2i '$PWD/lose' \"\$@\"" rsh
    echo "$2" >lose.left
}

@test "who holds the copies is killed in the middle of a stage, or the one there: they are brought again" {
    local how
    for how in holder there; do
        remote
        lose "$how" 1
        for at in portcheck ncclbench; do
            echo "$at" >lose.at
            echo 1 >lose.left
            run -0 --separate-stderr windsock --copy-self --json
            [ "$(cat lose.left)" = 0 ]
            passed
            [[ $stderr == *"went away from there: they are brought there again"* ]]
            jq -e '.findings[] | select(.status == "info" and (.message | test("went away from there: tested again")))' <<<"$output"
            [ -z "$(folders)" ]
        done
    done
}

@test "it is killed whenever it was brought: an error of ours, and no word against a host" {
    lose holder 9
    echo portcheck >lose.at
    run -3 --separate-stderr windsock --copy-self --json
    valid
    [ "$(jq '[.findings[] | select(.status == "fail")] | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.data.failing_nodes | length' <<<"$output")" = 0 ]
    [[ $(jq -r '[.findings[] | select(.status == "error")][0].message' <<<"$output") == *"went away from there)" ]]
    echo 9 >lose.left
    echo --here >lose.at # the very first question
    run -3 --separate-stderr windsock --quick --copy-self --json
    valid
    [[ $(first .message) == *"windsock was brought there and is gone"* ]]
    [ "$(first '.fix[0]')" = "windsock --quick --rsh $PWD/rsh --hosts node0,node1,node2 --copy-self   # brings it along" ]
}

@test "a host that is lost in the middle of a stage: it is named, and the others go on without it" {
    lose there 1
    echo portcheck >lose.at
    sed -i "3i [ \"\$1\" != node1 ] || [ \"\$(cat '$PWD/lose.left')\" = 1 ] || exit 255" rsh
    run -1 --separate-stderr windsock --copy-self --json
    valid
    [ "$(jq -c '[.data.failing_nodes, .data.passing_nodes]' <<<"$output")" = '[["node1"],["node0","node2"]]' ]
    [ "$(jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.host)"] | join(",")' <<<"$output")" = "host.answer node1" ]
    [[ $(first .message) == "answered at first, and now not any more: "* ]]
    [ "$(jq -r '.data.stages[] | select(.name == "collectives" or .name == "training").status' <<<"$output" | xargs)" = "pass pass" ]
}

@test "a host that is lost in the last stage, and the budget ends before anybody could look again: it is named, exit 1" {
    lose there 1
    echo ddpsmoke >lose.at
    sed -i "2a [ \"\$1\" != node1 ] || [ \"\$(cat '$PWD/lose.left')\" = 1 ] || { case \$2 in *ddpsmoke*) sleep 100 ;; esac; exit 255; }" rsh # as ssh ends where its way breaks
    sed -i 's,^exec \(.*\),\1; rc=$?; [ $rc != 137 ] || rc=255; exit $rc,' rsh
    run -1 --separate-stderr windsock --copy-self --budget 30s --deadline 60s --json
    valid
    [ "$(cat lose.left)" = 0 ]
    [ "$(jq -c '[.data.failing_nodes, .data.passing_nodes]' <<<"$output")" = '[["node1"],["node0","node2"]]' ]
    [[ $(first .message) == "answered at first, and now not any more: lost node1: the connection to it ended"* ]]
    [ "$(jq '[.findings[] | select(.status == "error")] | length' <<<"$output")" = 0 ]
}

@test "a home, or a folder for temporary files, whose file server is gone: named with its host, and the rest is tested" {
    mkdir -p hung/me
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o hung.so "$ROOT/tests/fake/libhung.c"
    for folder in HOME TMPDIR; do
        remote "export ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$PWD/hung.so $folder=$PWD/hung/me; "
        run -1 --separate-stderr windsock --quick --copy-self --budget 120s --json
        valid
        [ "$(first '"\(.check) \(.hosts[0]) \(.subject)"')" = "limits.dead node1 $PWD/hung/me" ]
        [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node2 ]
        [ "$(jq '[.findings[] | select(.check == "host.answer" and .status == "fail")] | length' <<<"$output")" = 0 ]
        [ "$(jq -r '.data.stages[] | select(.name == "reach").status' <<<"$output")" = pass ]
        [ -z "$(folders)" ]
    done
}

@test "a copy that stops on its way: Ctrl-C removes what came, the deadline says so" {
    # what is killed here is not killed there, as with ssh
    sed -i 's,^exec \(.*\),[ "$1" != node1 ] || { { head -c 100000; sleep 30; } | exec setsid -w \1; exit; }\n&,' rsh
    windsock --quick --copy-self >out 2>err 3>&- &
    wait_for 15 compgen -G 'tmp/windsock.*'
    on 0 pkill -INT -x -o windsock
    rc=0
    wait $! || rc=$?
    [ "$rc" = 3 ]
    wait_for 15 eval '[ -z "$(folders)" ]'
    run -1 --separate-stderr windsock --quick --copy-self --deadline 1 --json
    valid
    [[ $(first .message) == *"said nothing for 1"* ]]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node2 ]
    wait_for 15 eval '[ -z "$(folders)" ]'
}

@test "ifprobe carries itself, and does not write lines that would ask it again" {
    ifprobe=(on 0 "$BIN/ifprobe" --hosts "node[0-1]" --rsh "$PWD/rsh")
    run -1 --separate-stderr "${ifprobe[@]}" --suggest
    [[ $stderr == *"-> ifprobe '--suggest=shell' --rsh $PWD/rsh --hosts 'node[0-1]' --copy-self "* ]]
    for how in --suggest --predict --check ''; do
        : >typed
        run -0 --separate-stderr "${ifprobe[@]}" $how --copy-self --json
        valid
        [ "$(jq -r '[.nodes[].host] | unique | join(",")' <<<"$output")" = node0,node1 ]
        [ "$(copies)" = 1 ]
        [ -z "$(folders)" ]
    done
    run -2 --separate-stderr "${ifprobe[@]}" --bashrc --copy-self
    [[ $stderr == *"on no PATH there"*"--fixed"* ]]
    run -0 --separate-stderr "${ifprobe[@]}" --bashrc --fixed --copy-self
    [ "$(folders)" = home/.bashrc ]
    grep -q NCCL_SOCKET_IFNAME home/.bashrc
}
