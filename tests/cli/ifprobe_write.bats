#!/usr/bin/env bats
# ifprobe --bashrc and --write: the right value in the right place, undone to the
# byte, and never a damaged file.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

# What Debian puts in place for new users, as far as it matters here.
skeleton() {
    cat >"$HOME/.bashrc" <<'S'
# ~/.bashrc: executed by bash(1) for non-login shells.

# If not running interactively, don't do anything
case $- in
    *i*) ;;
      *) return;;
esac

HISTCONTROL=ignoreboth
S
    cp "$HOME/.bashrc" "$HOME/before"
}

# As sshd starts a rank: bash sources the file though it is not interactive.
as_over_ssh() { bash --norc -c '. ~/.bashrc; echo "$NCCL_SOCKET_IFNAME"'; }

usable_here() { [ -n "$(ifprobe --name-only 2>/dev/null)" ] || skip "no usable interface here"; }

@test "bashrc: read by ranks started over ssh, above Debian's guard; undone to the byte" {
    usable_here
    skeleton
    chmod 640 "$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc
    [ "$(as_over_ssh)" = "=$(ifprobe --name-only --quiet)" ]
    [ "$(stat -c %a "$HOME/.bashrc")" = 640 ]
    cp "$HOME/.bashrc" once
    run -0 --separate-stderr ifprobe --bashrc
    [[ $output == *"is already as it should be"* ]]
    cmp once "$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc --fixed
    [ "$(grep -c '>>> windsock >>>' "$HOME/.bashrc")" = 1 ]
    [ "$(PATH=/usr/bin:/bin as_over_ssh)" = "=$(ifprobe --name-only --quiet)" ]
    run -0 --separate-stderr ifprobe --bashrc --undo
    cmp "$HOME/before" "$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc --undo
    [[ $output == *"nothing of ours"* ]]
}

@test "bashrc: dry run shows the diff, applies with patch, and changes nothing" {
    skeleton
    ifprobe --bashrc --dry-run >changes 2>said
    cmp "$HOME/before" "$HOME/.bashrc"
    grep -q 'nothing was changed' said
    [ "$(sed -n '1s/ .*//p; 2s/ .*//p' changes)" = $'---\n+++' ]
    cp "$HOME/.bashrc" patched
    patch --quiet patched changes
    ifprobe --bashrc >/dev/null
    cmp patched "$HOME/.bashrc"
    ifprobe --bashrc --undo --dry-run >changes 2>said
    patch --quiet patched changes
    cmp "$HOME/before" patched
    run -0 --separate-stderr ifprobe --bashrc --dry-run --json
    valid
}

@test "bashrc: no file before leaves no file after; a folder in its place is refused" {
    run -0 --separate-stderr ifprobe --bashrc
    [ -s "$HOME/.bashrc" ]
    run -0 --separate-stderr ifprobe --bashrc --undo
    [ ! -e "$HOME/.bashrc" ]
    mkdir "$HOME/.bashrc"
    run -3 --separate-stderr ifprobe --bashrc
    [[ $stderr == *.bashrc*"not a regular file"* ]]
    run -3 --separate-stderr env -u HOME ifprobe --bashrc
    [[ $stderr == *"--to PATH"* ]]
}

@test "bashrc: a symbolic link stays one, also a dangling one" {
    skeleton
    mkdir dotfiles
    mv "$HOME/.bashrc" dotfiles/bashrc
    ln -s ../dotfiles/bashrc "$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc
    [ "$(readlink "$HOME/.bashrc")" = ../dotfiles/bashrc ]
    grep -q '>>> windsock >>>' dotfiles/bashrc
    run -0 --separate-stderr ifprobe --bashrc --undo
    cmp "$HOME/before" dotfiles/bashrc
    [ -L "$HOME/.bashrc" ]
    rm dotfiles/bashrc
    run -0 --separate-stderr ifprobe --bashrc
    grep -q '>>> windsock >>>' dotfiles/bashrc
    run -0 --separate-stderr ifprobe --bashrc --undo
    [[ -L $HOME/.bashrc && ! -e dotfiles/bashrc ]]
}

@test "bashrc: 10 MB, odd bytes, no newline at the end" {
    { yes '# a long life of aliases' | head -c 10000000; printf '\0\xff no newline'; } >"$HOME/.bashrc"
    cp "$HOME/.bashrc" "$HOME/before"
    run -0 --separate-stderr ifprobe --bashrc
    grep -aq '>>> windsock >>>' "$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc --undo
    cmp "$HOME/before" "$HOME/.bashrc"
}

@test "bashrc: a block that somebody damaged is refused, not guessed at" {
    skeleton
    ifprobe --bashrc >/dev/null
    sed -i '/<<< windsock <<</d' "$HOME/.bashrc"
    cp "$HOME/.bashrc" broken
    run -3 --separate-stderr ifprobe --bashrc
    [ -n "$stderr" ]
    run -3 --separate-stderr ifprobe --bashrc --undo
    cmp broken "$HOME/.bashrc"
}

@test "bashrc: a read-only home and a full disk leave the file as it was" {
    can_unshare
    skeleton
    run -0 --separate-stderr unshare --user --map-root-user --mount -- bash -ec '
        mkdir small; mount -t tmpfs -o size=64k none small
        cp ~/.bashrc small/; head -c 60000 /dev/zero >small/ballast || :
        cp small/.bashrc before
        HOME=$PWD/small ifprobe --bashrc >/dev/null 2>said && exit 9
        [ $? = 3 ]; cmp before small/.bashrc; [ "$(ls -A small)" = ".bashrc
ballast" ]
        ifprobe --json --output small/new.json 2>>said && exit 9
        [ $? = 3 ]; [ ! -e small/new.json ]
        rm small/ballast; mount -o remount,ro small
        HOME=$PWD/small ifprobe --bashrc >/dev/null 2>>said && exit 9
        [ $? = 3 ]; cmp before small/.bashrc
        cat said'
    [[ $output == *"No space left"*"the file is as it was"*"No space left"*"no file was made"*"Read-only"* ]]
}

@test "bashrc: a HOME that is not there is not made" {
    for home in "$PWD/none" /nonexistent; do
        HOME=$home run -3 --separate-stderr ifprobe --bashrc
        [[ $stderr == *"HOME is '$home', which is not there, so there is no ~/.bashrc"* && ! -e $home ]]
    done
}

@test "bashrc: kill -9 at any moment leaves the old file or the new one" {
    skeleton
    yes '# ballast' | head -c 300000 >>"$HOME/.bashrc"
    cp "$HOME/.bashrc" "$HOME/before"
    ifprobe --bashrc >/dev/null
    cp "$HOME/.bashrc" after
    local round pid old=0 new=0
    for round in $(seq 150); do
        cat "$HOME/before" >"$HOME/.bashrc"
        ifprobe --bashrc >/dev/null 2>&1 &
        pid=$!
        # ever later: from before main() to after the rename
        read -rt "$(printf '0.%05d' $((round * 6)))" <> <(:) || :
        kill -9 "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
        if cmp -s "$HOME/.bashrc" "$HOME/before"; then
            old=$((old + 1))
        elif cmp -s "$HOME/.bashrc" after; then
            new=$((new + 1))
        else
            echo "round $round: neither old nor new"
            return 1
        fi
    done
    echo "old $old, new $new"
    [ $((old + new)) = 150 ]
    cat "$HOME/before" >"$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc # and what was left lying about does not matter
    cmp "$HOME/.bashrc" after
}

@test "write: every kind, with a dry run before and an undo after" {
    usable_here
    for kind in nccl.conf profile.d systemd slurm-taskprolog docker k8s; do
        for how in "" --fixed; do
            rm -f file
            run -0 --separate-stderr ifprobe --write $kind $how --to file --dry-run
            [[ $output == *+*ifprobe* ]]
            [ ! -e file ]
            run -0 --separate-stderr ifprobe --write $kind $how --to file --json
            valid
            [ "$(jq -r '.data.write | .kind, .changed' <<<"$output")" = "$kind"$'\ntrue' ]
            grep -Eq 'NCCL_SOCKET_IFNAME|ifprobe --suggest' file
            run -0 --separate-stderr ifprobe --write $kind $how --to file
            [[ $output == *"already as it should be"* ]]
            run -0 --separate-stderr ifprobe --write $kind --undo --to file
            [ ! -e file ]
        done
    done
}

@test "write: what reads the files gets the right value" {
    usable_here
    want="=$(ifprobe --name-only --quiet)"
    ifprobe --write profile.d --to profile.sh >/dev/null
    [ "$(sh -c '. ./profile.sh; echo "$NCCL_SOCKET_IFNAME"')" = "$want" ]
    ifprobe --write slurm-taskprolog --to prolog >/dev/null
    [ -x prolog ]
    [ "$(./prolog | sed -n 's/^export NCCL_SOCKET_IFNAME=//p')" = "$want" ]
    [ "$(PATH=/usr/bin:/bin ./prolog; echo $?)" = 0 ]
    ifprobe --write slurm-taskprolog --fixed --to prolog >/dev/null
    [ "$(./prolog | sed -n 's/^export NCCL_SOCKET_IFNAME=//p')" = "$want" ]
    ifprobe --write nccl.conf --to nccl.conf >/dev/null
    [ "$(NCCL_CONF_FILE=$PWD/nccl.conf ifprobe --check --json |
        jq -r '.data.lint[] | select(.name == "NCCL_SOCKET_IFNAME").value')" = "$want" ]
    ifprobe --write docker --to vars >/dev/null
    grep -Fx "NCCL_SOCKET_IFNAME=$want" vars
}

@test "write: other people's files are kept, and an earlier line in nccl.conf is told" {
    usable_here
    local kind
    for kind in k8s slurm-taskprolog; do
        echo "mine" >vars
        run -3 --separate-stderr ifprobe --write $kind --to vars
        [ "$(cat vars)" = mine ]
        run -0 --separate-stderr ifprobe --write $kind --undo --to vars
        [ "$(cat vars)" = mine ]
    done
    printf 'NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=docker' >nccl.conf
    cp nccl.conf before
    run -0 --separate-stderr ifprobe --write nccl.conf --to nccl.conf
    [[ $output == *"write.conflict"*"nccl.conf:2"*"sed -i '2s/^/#/' nccl.conf"* ]]
    run -0 --separate-stderr ifprobe --write nccl.conf --undo --to nccl.conf
    cmp before nccl.conf
    mkdir -p sub
    run -0 --separate-stderr ifprobe --write systemd --unit train --to sub/a/b.conf
    [ -s sub/a/b.conf ]
}

@test "bashrc: a line below that sets it again is told, with what takes it away" {
    usable_here
    skeleton
    printf '  export NCCL_SOCKET_IFNAME=ens3 # old\nexport NCCL_DEBUG=INFO\n#NCCL_IB_HCA=x\n' >>"$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc --dry-run --json
    [ "$(found write.conflict "$HOME/.bashrc:10")" = warn ]
    run -0 --separate-stderr ifprobe --bashrc --json
    [[ $output == *"sets NCCL_SOCKET_IFNAME=ens3"* && $output != *"new shells have it"* ]]
    bash -c "$(jq -r '.findings[] | select(.check == "write.conflict").fix[0]' <<<"$output")"
    run -0 --separate-stderr ifprobe --bashrc
    [[ $output != *write.conflict* ]]
    run ! grep '^ *export NCCL_SOCKET' "$HOME/.bashrc"
}

@test "bashrc: a line below that sets it behind other words is told, too" {
    usable_here
    skeleton
    printf 'if true; then export NCCL_SOCKET_IFNAME=ens3; fi\n[ -e /x ] && GLOO_SOCKET_IFNAME=ens4\n%s\n' \
        'echo "; NCCL_IB_HCA=x" # ; TP_SOCKET_IFNAME=y' >>"$HOME/.bashrc"
    run -0 --separate-stderr ifprobe --bashrc --json
    [[ $output == *"sets NCCL_SOCKET_IFNAME=ens3 below"*"sets GLOO_SOCKET_IFNAME=ens4 below"* ]]
    [ "$(jq '[.findings[] | select(.check == "write.conflict")] | length' <<<"$output")" = 2 ]
}

@test "write: nccl.conf that NCCL does not come to, or too late, is told" {
    usable_here
    can_unshare
    local name
    name=$(ifprobe --name-only --quiet)
    as_root() { # COMMAND: with an /etc of its own
        unshare --user --map-root-user --mount -- sh -c 'cat /etc/passwd >passwd; sed -i "s|^\(root:[^/]*\)/[^:]*|\1$HOME|" passwd
            mount -t tmpfs none /etc; cp passwd /etc/passwd; '"$1"
    }
    write='ifprobe --write nccl.conf --json'
    run -0 --separate-stderr as_root "$write"
    [ -z "$(found write.conflict)" ]
    echo 'NCCL_SOCKET_IFNAME=other' >"$HOME/.nccl.conf"
    run -0 --separate-stderr as_root "$write"
    # shellcheck disable=SC2088 # it is called so
    [ "$(found write.conflict '~/.nccl.conf:1')" = warn ]
    [ "$(jq -r '.findings[] | select(.check == "write.conflict").fix[0]' <<<"$output")" = "sed -i '1s/^/#/' ~/.nccl.conf" ]
    echo "NCCL_SOCKET_IFNAME==$name" >"$HOME/.nccl.conf"
    run -0 --separate-stderr as_root "$write"
    [ -z "$(found write.conflict)" ]
    NCCL_SOCKET_IFNAME=other run -0 --separate-stderr as_root "$write"
    [ "$(found write.conflict environment)" = warn ]
    echo 'NCCL_DEBUG=INFO' >named
    NCCL_CONF_FILE=$PWD/named run -0 --separate-stderr as_root "$write --to $HOME/.nccl.conf"
    [ "$(found write.conflict NCCL_CONF_FILE)" = warn ]
    NCCL_CONF_FILE=$PWD/named run -0 --separate-stderr as_root "$write --to $PWD/named"
    [ -z "$(found write.conflict)" ]
}

@test "write: a unit's name is no path" {
    local unit
    for unit in ../../../tmp/x 'a b' '' .; do
        run -2 --separate-stderr ifprobe --write systemd --unit "$unit" --dry-run
        [[ $stderr == *"no name of a service"* ]]
    done
    run -0 --separate-stderr ifprobe --write systemd --unit train@1.service --dry-run
}

@test "bashrc: the file of another shell than bash is named" {
    usable_here
    can_unshare
    local shell
    for shell in zsh fish tcsh dash nu bash; do
        sed "s|^\(root:.*:\)[^:]*$|\1/usr/bin/$shell|" /etc/passwd >passwd
        unshare --user --map-root-user --mount -- sh -c 'mount --bind passwd /etc/passwd; ifprobe --bashrc --json --dry-run' >said
        [ "$(jq -r '.findings[] | select(.check == "write.shell") | "\(.subject) \(.status)"' said)" = \
            "$([ $shell = bash ] || echo "$shell warn")" ]
    done
    skeleton
    run -0 ifprobe --bashrc --to "$HOME/.zshenv" --json
    [ -z "$(found write.shell)" ]
}

@test "check: the commands for several lines of one file do not take each other's line" {
    printf 'export\nNCCL_DEBUG=WARN\nset it\nNCCL_IB_TIMEOUT=22\nNCCL_SOCKET_IFNAME=x\n' >nccl.conf
    export NCCL_CONF_FILE=$PWD/nccl.conf
    run ifprobe --check --json
    jq -r '.findings[] | select(.fix) | .fix[]' <<<"$output" >fixes
    [ "$(wc -l <fixes)" = 3 ]
    bash -e fixes
    run -0 ifprobe --check --json
    [ "$(jq -r '[.data.lint[] | select(.origin | test("nccl.conf")) | .name] | join(" ")' <<<"$output")" = "NCCL_DEBUG NCCL_IB_TIMEOUT" ]
}

@test "write: a computed line where nobody finds ifprobe is said to do nothing" {
    local whole
    whole=$(command -v ifprobe)
    PATH=/usr/bin:/bin run -0 --separate-stderr "$whole" --write profile.d --to profile --json
    [ "$(found write.path)" = warn ]
    [[ $output == *"is not on the PATH"* ]]
}

@test "write: a folder that is on the PATH of this shell alone helps no login and no Slurm task" {
    local form
    PATH=/usr/local/bin:/usr/bin:/bin command -v ifprobe && skip "it is installed here"
    for form in profile.d slurm-taskprolog; do
        run -0 --separate-stderr ifprobe --write "$form" --to computed --json
        [ "$(found write.path)" = warn ]
        jq -e --arg at "$(command -v ifprobe)" '.findings[] | select(.check == "write.path")
            | (.message | startswith("is \($at), ")) and (.fix[0] | test("^(sudo )?ln -s /"))' <<<"$output"
        run -0 --separate-stderr ifprobe --write "$form" --to fixed --fixed --json
        [ -z "$(found write.path)" ]
    done
}

@test "bashrc: shells whose PATH has not the folder of a build that nobody installed find it" {
    usable_here
    mkdir "a build's"
    cp "$(command -v ifprobe)" "a build's/"
    PATH="$PWD/a build's:/usr/bin:/bin" run -0 --separate-stderr ifprobe --bashrc --json
    [ -z "$(found write.path)" ]
    [ "$(PATH=/usr/bin:/bin as_over_ssh)" = "=$(ifprobe --name-only --quiet)" ]
    rm "a build's/ifprobe"
    [ -z "$(PATH=/usr/bin:/bin as_over_ssh 2>&1)" ]
    # where anybody could put another one there it is not named
    cp "$(command -v ifprobe)" "a build's/"
    chmod 777 "a build's"
    PATH="$PWD/a build's:/usr/bin:/bin" run -0 --separate-stderr ifprobe --bashrc --json
    [ "$(grep -c "a build" "$HOME/.bashrc")" = 0 ]
}
