#!/usr/bin/env bats
# --copy-self: hosts that have not our program get it for the run, and nothing is
# left of it. On node1 it is hidden, and so is a library that it needs.
bats_require_minimum_version 1.5.0
load launch.sh

hide() {
    on 1 mount -t tmpfs none "$O/lab"
    LIBRARY=$(ldd "$P" | awk '$1 ~ /^libcjson/ { print $3 }')
    [ -z "$LIBRARY" ] || on 1 mount --bind /dev/null "$(realpath "$LIBRARY")"
}

# A remote shell whose other side has folders of this test only.
remote() { # [RSH [PIPE]]: PIPE is what its stdin goes through
    mkdir -p tmp home
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n%s %s "$1" "export TMPDIR=%s/tmp HOME=%s/home; $2"\n' \
        "${2-exec}" "${1-\$WINDSOCK_RSH}" "$PWD" "$PWD" >rsh
    chmod +x rsh
}

folders() {
    find tmp home -mindepth 1 | sed 's/\.[A-Za-z0-9]*$//'
}

unhide() { # a test that failed may have done a part of it
    on 1 umount "$O/lab" || true
    [ -z "$LIBRARY" ] || on 1 umount -q "$(realpath "$LIBRARY")" || true
}

copied() { # OPTIONS...: a run on the host that has nothing and one that has it
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$PWD/rsh" --copy-self "$@" -- gather
    [ "$(grep -c '40 right' <<<"$output")" = 2 ]
}

setup() {
    export OUT=$BATS_TEST_TMPDIR/out ERR=$BATS_TEST_TMPDIR/err
    cd "$BATS_TEST_TMPDIR" || exit
    hide
    remote
}

teardown() {
    on 0 pkill -9 -x rank_probe || true
    unhide
}

@test "a host without our program: said so; with --copy-self it takes part, and nothing is left" {
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" -- who
    [[ $stderr == *"rank_probe is not installed on node1, or not on the PATH of shells without a terminal; "*"--copy-self"* ]]
    copied
    [ -z "$(folders)" ]
}

@test "a login script that redirects stdin: said so, with the line that finds it" {
    local copy
    sed -i 's,"export TMPDIR,"exec </dev/null; export TMPDIR,' rsh
    unhide
    for copy in "" --copy-self; do
        run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" $copy -- who
        [[ $stderr == *"node1: nothing can come on stdin of rank_probe there: "*"/rsh passes none on, or a login script has redirected it"* ]]
        [[ $stderr != *descriptor* && $stderr != *disk* ]]
        [ -n "$copy" ] || hide
    done
    [ -z "$(folders)" ]
}

@test "a program there that may not be run is no program that is not there" {
    on 1 touch "$P"
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" -- who
    on 1 rm "$P"
    [[ $stderr == *"rank_probe may not be run on node1 "*"$P"*"noexec"* && $stderr != *"not installed"* ]]
}

@test "portcheck, ncclbench and ddpsmoke carry themselves" {
    on 1 mount -t tmpfs none "$BIN"
    for command in portcheck 'ncclbench -b 8 -e 8 -n 2' 'ddpsmoke --epochs 1'; do
        # shellcheck disable=SC2086
        run --separate-stderr on 0 "$BIN/"$command --hosts node1,node2 --rsh "$PWD/rsh" --json
        [ "$status" -ne 0 ] && [[ $output == *"is not installed on node1"*--copy-self* ]] || break
        # and what is to be typed is what was typed
        [[ $output == *"\"$command --hosts node1,node2 --rsh $PWD/rsh --copy-self   # brings it along\""* ]] || break
        # shellcheck disable=SC2086
        run -0 --separate-stderr on 0 "$BIN/"$command --hosts node1,node2 --rsh "$PWD/rsh" --copy-self
        [ -z "$(folders)" ] || break
        command=
    done
    on 1 umount "$BIN"
    [ -z "$command" ]
}

@test "another version there: said so, to who joins too; --copy-self carries this one" {
    version=$("$P" --version | awk '{ print $NF }')
    mkdir other
    sed "s/${version//./\\.}/9.9.9/g" "$P" >other/rank_probe
    chmod +x other/rank_probe
    sed -i "s|export |export PATH=$PWD/other:\$PATH |" rsh
    [ -z "$LIBRARY" ] || on 1 umount "$(realpath "$LIBRARY")"
    run -1 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$PWD/rsh" -- who
    echo "$stderr"
    [[ $stderr == *"node1 has version 9.9.9 and this is $version: install the same on both, or let --copy-self"* ]]
    copied
    on 0 "$P" --serve --wait 1 --no-local -- who >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    wait_for 15 says 1 ' --join ' "$ERR"
    read -r _ WHERE CODE <<<"$(grep -o -- '--join .*' "$ERR")"
    run -3 on 2 "$PWD/other/rank_probe" --join "$WHERE" "$CODE"
    [[ $output == *"cannot join $WHERE: this is version 9.9.9 and that run is of $version"* ]]
    wait_for 5 says 1 '10\.77\.0\.3 was sent away, and told: "this is version 9\.9\.9' "$ERR" # who waits knows, too
    run -0 on 2 "$P" --join "$WHERE" "$CODE"
    ended 0 8
    [ -z "$LIBRARY" ] || on 1 mount --bind /dev/null "$(realpath "$LIBRARY")"
}

@test "--keep: it stays, is not sent again, and a damaged one is replaced" {
    copied --keep
    kept=$(echo home/.cache/windsock/*)
    [ -x "$kept/bin/rank_probe" ]
    first=$(stat -c %i "$kept/bin/rank_probe")
    copied --keep
    copied
    [ "$(stat -c %i "$kept/bin/rank_probe")" = "$first" ]
    [ -z "$(ls tmp)" ]
    printf x >>"$kept/bin/rank_probe"
    copied --keep
    cmp "$kept/bin/rank_probe" "$P"
    [ "$(ls home/.cache/windsock)" = "$(basename "$kept")" ]
}

@test "--keep where hosts share a home: another one was quicker; builds of long ago go" {
    copied --keep
    kept=$(echo home/.cache/windsock/*)
    mv "$kept" other
    touch other/quicker
    mkdir -p home/.cache/windsock/{long,ago,recent,others}
    touch home/.cache/windsock/{long,recent}/SHA256SUMS
    mkdir home/.cache/windsock/ago/new
    touch -d '40 days ago' home/.cache/windsock/{long,ago,others}
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nfor last; do :; done\n[ -e "$last" ] || cp -R "%s/other" "$last"\nexec %s "$@"\n' \
        "$PWD" "$(command -v mv)" >./mv
    chmod +x mv
    sed -i "s,export ,export PATH=$PWD:\$PATH ," rsh
    copied --keep
    [ "$(cd "$kept" && echo *)" = "SHA256SUMS bin lib quicker" ]
    local left=(home/.cache/windsock/*)
    [ "${#left[@]}" = 3 ]
    [ -d home/.cache/windsock/recent ] && [ -d home/.cache/windsock/others ]
    [ -z "$(ls tmp)" ]
    printf '#!/bin/sh\nexit 1\n' >./mv # it cannot be kept: it runs all the same
    rm -rf "$kept"
    copied --keep
    [ -z "$(ls tmp)" ] && [ ! -e "$kept" ]
}

@test "a temporary folder that takes no programs is passed by; a full one is said" {
    on 1 mount -t tmpfs -o noexec none "$PWD/tmp"
    copied
    on 1 umount "$PWD/tmp"
    [ -z "$(folders)" ]
    on 1 mount -t tmpfs -o size=100k none "$PWD/tmp"
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" --copy-self -- who
    on 1 ls tmp >left
    on 1 umount "$PWD/tmp"
    [[ $stderr == *"node1: "*"ended with exit code 1 and said "* ]]
    [[ $stderr == *"is that disk full?"* ]]
    [ ! -s left ]
}

@test "what a copy takes and a host lacks is named" {
    local tool
    mkdir -p few
    for tool in sh cat head mktemp mkdir mv printf rm sha256sum; do
        ln -sf "$(command -v $tool)" few/
    done
    sed -i "s,export ,export PATH=$PWD/few ," rsh
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" --copy-self -- who
    [[ $stderr == *"there is no tar there"* ]]
    [ -z "$(folders)" ]
}

@test "whatever shell the account has" {
    tried=0
    for shell in dash bash zsh tcsh fish 'busybox sh'; do
        command -v "${shell%% *}" >/dev/null || continue
        # as sshd does it: the shell gets the whole command as one argument
        # shellcheck disable=SC2016
        printf '#!/bin/sh\nprintf %%s "$2" >%s/cmd.$1\nexec $WINDSOCK_RSH "$1" "export TMPDIR=%s/tmp HOME=%s/home; exec %s -c \\"\\$(cat %s/cmd.$1)\\""\n' \
            "$PWD" "$PWD" "$PWD" "$shell" "$PWD" >rsh
        copied
        [ -z "$(ls tmp)" ] # fish leaves something at home
        run -0 --separate-stderr on 0 "$P" --hosts node2 --rsh "$PWD/rsh" -- who
        tried=$((tried + 1))
    done
    ((tried >= 2))
}

@test "kill -9 of launcher, rank and each half of the agent: the copy goes too" {
    local i half
    for ((i = 0; i < ${REPEAT:-2} * 4; i++)); do
        half=$(cut -d' ' -f$((i % 4 + 1)) <<<'launcher rank worker keeper')
        begin 2 --hosts node1,node2 --rsh "$PWD/rsh" --copy-self
        [ "$(folders | sed 1q)" = tmp/windsock ]
        case $half in
        launcher) on 0 kill -9 "$(launcher)" ;;
        rank) on 0 kill -9 "$(pid_of 0)" ;;
        *) on 0 kill -9 "$(on 0 ps -eo pid=,ppid=,args= | awk -v want="$half" '
            $3 ~ /windsock\..*rank_probe$/ && $4 == "--agent" { pid[$1] = $2 }
            END { for (p in pid) if ((pid[p] in pid) == (want == "worker")) print p }')" ;;
        esac
        wait "$RUN" || true
        wait_for 15 eval '[ -z "$(folders)" ]' || { folders; echo "after $half"; false; }
        wait_for 15 nothing_left
    done
}

@test "over real ssh; a copy that stops on its way ends at the deadline, and what came is removed" {
    sshd_up
    remote "$KEYS/ssh"
    copied
    [ -z "$(folders)" ]
    remote "$KEYS/ssh" '{ head -c 100000; sleep 60; } |'
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/rsh" --copy-self --deadline 1 -- who
    [[ $stderr == *"said nothing for 1"* ]]
    wait_for 15 eval '[ -z "$(folders)" ]'
    run -1 on 0 pgrep -f 'sleep 60'
}

@test "over real ssh: a whole pre-flight is carried once" {
    sshd_up
    remote "$KEYS/ssh"
    on 1 mount -t tmpfs none "$BIN"
    run --separate-stderr on 0 "$BIN/windsock" --hosts node1,node2 --rsh "$PWD/rsh" --copy-self --json
    on 1 umount "$BIN"
    [ "$status" = 0 ]
    jq -e '.data.passing_nodes == ["node1", "node2"] and .data.stages[-1].name == "training"' <<<"$output"
    [ -z "$(folders)" ]
}
