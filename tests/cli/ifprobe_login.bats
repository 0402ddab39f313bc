#!/usr/bin/env bats
# ifprobe --bashrc: what a login shell reads, and the line that leads it to ~/.bashrc.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

setup_file() { :; }

usable_here() { [ -n "$(ifprobe --name-only 2>/dev/null)" ] || skip "no usable interface here"; }

# What is said of logins, with the shells of ./passwd.
login() {
    unshare --user --map-root-user --mount -- sh -c 'mount --bind passwd /etc/passwd; ifprobe --bashrc --json' >said
    jq -r '.findings[] | select(.check == "write.shell" or .check == "write.conflict") |
        "\(.check) \(.subject | ltrimstr("'"$HOME/"'"))"' said
}

@test "bashrc: a login that does not lead to it is told, and what it sets behind it" {
    usable_here
    can_unshare
    sed 's|^\(root:.*:\)[^:]*$|\1/bin/bash|' /etc/passwd >passwd
    [ -z "$(login)" ]
    grep -q 'new shells have it' said || grep -q 'already as it should' said
    printf 'export NCCL_SOCKET_IFNAME=a\n# bashrc\n' >"$HOME/.bash_profile" # ahead of .profile
    [ "$(login)" = "write.shell .bash_profile" ]
    sh -c "$(jq -r '.findings[] | select(.check == "write.shell").fix[0]' said)"
    [ -z "$(login)" ]
    echo 'export NCCL_SOCKET_IFNAME=b' >>"$HOME/.bash_profile"
    [ "$(login)" = "write.conflict .bash_profile:5" ]
    rm "$HOME/.bash_profile" "$HOME/.profile"
    [ "$(login)" = "write.shell .bash_profile" ]
}

@test "bashrc: what a login is told to read harms no other shell, no line above it, and may go" {
    usable_here
    can_unshare
    sed 's|^\(root:.*:\)[^:]*$|\1/bin/bash|' /etc/passwd >passwd
    printf 'export EDITOR=vi' >"$HOME/.profile"
    login >/dev/null
    ifprobe --bashrc --quiet >/dev/null
    sh -c "$(jq -r '.findings[] | select(.check == "write.shell").fix[0]' said)"
    [ -z "$(login)" ]
    [ "$(bash -l -c 'echo $EDITOR $NCCL_SOCKET_IFNAME')" = "vi =$(ifprobe --name-only --quiet)" ]
    [ "$(sh -l -c 'echo $EDITOR still here')" = "vi still here" ]
    ifprobe --bashrc --undo --quiet >/dev/null
    [ ! -e "$HOME/.bashrc" ]
    for shell in sh bash; do
        run -0 --separate-stderr $shell -l -e -c 'echo $EDITOR still here'
        [[ $output == "vi still here" && -z $stderr ]]
    done
}

@test "bashrc: a line that names it leads to it where it is read there" {
    usable_here
    can_unshare
    local line
    sed 's|^\(root:.*:\)[^:]*$|\1/bin/bash|' /etc/passwd >passwd
    for line in "alias eb='vim ~/.bashrc'" 'echo . ~/.bashrc' '[ -f ~/.bashrc ]' '. /etc/profile # not ~/.bashrc' 'BASHRC=~/.bashrc'; do
        echo "$line" >"$HOME/.profile"
        [ "$(login)" = "write.shell .profile" ] || { echo "$line"; false; }
    done
    for line in 'test -f ~/.bashrc && . ~/.bashrc' 'if [ -r ~/.bashrc ]; then source ~/.bashrc; fi' '\. "$HOME/.bashrc"' \
        '[ -z "$BASH" ] || { . "${HOME}"/.bashrc; }' $'if true; then\n\t.  ~/.bashrc\nfi'; do
        echo "$line" >"$HOME/.profile"
        [ -z "$(login)" ] || { echo "$line"; false; }
    done
}
