#!/usr/bin/env bats
# make install and make uninstall: what goes where, and that nothing else is touched.
bats_require_minimum_version 1.5.0
load ../stand_in.sh

setup() {
    local command
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p built/{bin,man,bash,zsh,lib/windsock} # as a build leaves it
    for command in "$ROOT"/cmd/*.c; do
        command=$(basename "$command" .c)
        [[ $command == app ]] || touch "built/bin/$command" "built/man/$command.1" "built/bash/$command" "built/zsh/_$command"
    done
    touch built/lib/windsock/{curl,nccl}.so
}

# Nothing is built: what there is counts as new.
makes() { env -u MAKEFLAGS -u MAKELEVEL make -sC "$ROOT" O="$PWD/built" -o all -o plugins "$@" PREFIX="$PWD/at"; }

@test "install: what make has built, also where its compiler is not found any more" {
    makes install NVCC=
    [ "$(cd at/lib/windsock && echo *)" = "curl.so nccl.so" ]
    [[ -x at/bin/ifprobe && -e at/share/man/man1/ifprobe.1 && -e at/share/windsock/envelope.schema.json ]]
    rm built/lib/windsock/*
    makes install PREFIX=
}

@test "install: the lab, and what is for Slurm and others, run from where they are" {
    makes install
    at/share/windsock/lab --help | grep -q 'a cluster on one machine'
    at/share/windsock/lab list
    for file in slurm/common.sh slurm/prolog kubernetes/npd/windsock-npd systemd/windsock.timer gpu-check.d/run; do
        [ -e "at/share/windsock/$file" ]
    done
}

@test "uninstall: takes its own files away and no others, whatever the environment names" {
    local folder
    for folder in DATADIR PLUGINDIR BINDIR MANDIR BASHDIR ZSHDIR; do
        export "$folder=$PWD/imagenet"
    done
    mkdir imagenet
    touch imagenet/train.tar
    makes install
    [ "$(ls imagenet)" = train.tar ]
    touch at/share/windsock/{mine,slurm/mine} at/lib/windsock/mine.so
    mkdir at/share/windsock/empty
    makes uninstall
    [ "$(ls imagenet)" = train.tar ]
    [ "$(find at/share/windsock at/lib/windsock at/bin -not -type d | sort | xargs)" = \
        "at/lib/windsock/mine.so at/share/windsock/mine at/share/windsock/slurm/mine" ]
    [ -d at/share/windsock/empty ]
    rm -r at
    makes install
    makes uninstall
    [[ ! -e at/share/windsock && ! -e at/lib/windsock ]]
    makes uninstall # again: there is nothing
}

@test "make: words of the environment that a build has its own meaning for are not taken" {
    export RUN=exp42 PLUGINS=git COMM_PLUGINS=git GPU_HEADERS=git
    run -0 makes -n -B docs
    [[ $output != *exp42* ]]
    # shellcheck disable=SC2016 # make's own variable
    run -0 makes --eval='said:; @echo $(PLUGINS) $(GPU_HEADERS)' said
    [[ " $output " != *" git "* ]]
}

@test "make: a folder with a blank in its name is refused in one line" {
    run -2 --separate-stderr env -u MAKEFLAGS make -sC "$ROOT" "O=$PWD/o d" clean
    [[ $stderr == *"O='$PWD/o d'"*"blank"* && ${#stderr_lines[@]} == 1 ]]
}
