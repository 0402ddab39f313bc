#!/usr/bin/env bats
# What every command of the house owes to whoever types or scripts it; each test
# goes through all that were built.
bats_require_minimum_version 1.5.0

# Runs a function with the name of every command; a failure says whose it is. $brief is its
# shortest run, where nothing is asked of the others: bare, some of them measure for seconds.
every() { # FUNCTION
    local program brief
    for program in "$BIN"/*; do
        echo "--- ${program##*/}"
        case ${program##*/} in
        ncclbench) brief='-b 8 -e 64 -n 1' ;;
        windsock) brief=--quick ;;
        *) brief='' ;;
        esac
        "$1" "${program##*/}"
    done
}

options() { # COMMAND: the long options that its help shows
    "$BIN/$1" --help | grep -oE '^ +(-[[:alnum:]], )?--[a-z][a-z0-9_-]*' | grep -oE -- '--[a-z0-9_-]+' | sort -u
}

on_terminal() { # COMMAND LINE: as a terminal shows it
    script -qec "$1" /dev/null </dev/null
}

setup() {
    compgen -G "$BIN/*" >/dev/null || { echo "nothing is built in '$BIN'"; false; }
}

help_is_an_answer() {
    run -0 --separate-stderr "$BIN/$1" --help
    [ -z "$stderr" ]
    [[ ${lines[0]} == "$1 - "* ]]
    [[ $output == *Usage:*"$1"* && $output == *Examples:* && $output == *"Exit codes:"* ]]
    [ "$(wc -L <<<"$output")" -le 80 ]
    long=$output
    run -0 "$BIN/$1" -h
    [ "$output" = "$long" ]
}
@test "--help goes to stdout, teaches, and fits 80 columns" {
    every help_is_an_answer
}

version_is_one_line() {
    run -0 --separate-stderr "$BIN/$1" --version
    [[ $output =~ ^"$1 "(.*\ )?[0-9]+\.[0-9]+\.[0-9]+$ ]]
    [ -z "$stderr" ]
}
@test "--version is one line on stdout" {
    every version_is_one_line
}

refuses() { # COMMAND ARGUMENTS...
    run -2 --separate-stderr "$BIN/$1" "${@:2}"
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "$1: "* ]]
}
unknown_options() {
    local option
    refuses "$1" --no-such-option-anywhere
    [[ $stderr == *--no-such-option-anywhere* && $stderr == *--help* ]]
    refuses "$1" -%
    refuses "$1" $'--evil\e[31m\noption'
    refuses "$1" --format nonsense
    refuses "$1" --format
    refuses "$1" --deadline -1
    refuses "$1" --deadline 5parsecs
    refuses "$1" --strict=maybe
    for option in $(options "$1"); do
        ((${#option} > 6)) || continue
        refuses "$1" "${option}x"
        [[ $stderr == *"$option"* ]]
    done
}
@test "a wrong command line: exit 2, one line with the nearest option, nothing on stdout" {
    every unknown_options
}

full_disk() {
    for args in --help --version '' --json; do
        # shellcheck disable=SC2086
        run -3 --separate-stderr bash -c '"$@" >/dev/full' - "$BIN/$1" $brief $args
        [[ $stderr == *"No space left"* ]]
    done
    run -3 bash -c '"$@" >&-' - "$BIN/$1" --help
    run -3 --separate-stderr "$BIN/$1" --output "$BATS_TEST_TMPDIR/no/such/folder"
    [ -z "$output" ]
}
@test "a full disk, a closed stdout, a folder that is not there: exit 3" {
    every full_disk
}

full_folder() {
    mkdir "$BATS_TEST_TMPDIR/$1"
    run --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs "$1" && cd "$1" &&
        head -c 4096 /dev/zero >all && "$2" $3 --json --output report; code=$?; ls -A; exit $code' - "$BATS_TEST_TMPDIR/$1" "$BIN/$1" "$brief"
    [ "$status" = 3 ]
    [ "${lines[-1]}" = all ] # and nothing else
    jq -e --arg c "$1" '.command == $c and (.verdict | length) > 0' <<<"${output%all}"
    [[ $stderr == *"cannot replace report: "*"No space left on device; the answer is on stdout instead"* ]]
}
@test "a file that the disk has no room for: the answer is on stdout" {
    unshare -m true 2>/dev/null || skip "no private mounts"
    every full_folder
}

output_file() {
    local dir=$BATS_TEST_TMPDIR/$1
    mkdir "$dir"
    echo old >"$dir/report"
    # shellcheck disable=SC2086
    run --separate-stderr "$BIN/$1" $brief --json --output "$dir/report"
    [ -z "$output" ]
    jq -e .schema "$dir/report" >/dev/null
    [ "$(ls -A "$dir")" = report ]
    run -3 --separate-stderr bash -c '"$1" --output /dev/stdout | cat; exit "${PIPESTATUS[0]}"' - "$BIN/$1"
    [[ -z $output && ${stderr_lines[0]} == "$1: /dev/stdout is not a regular file" ]]
    run -2 --separate-stderr "$BIN/$1" --output ''
    [ -z "$output" ]
}
@test "--output replaces the file and leaves nothing beside it" {
    every output_file
}

# Each is found in the word list that the completion offers for "--", as bash would ask.
completion_knows() {
    run -0 bash -c '
        source <("$0" --generate bash)
        COMP_WORDS=("${0##*/}" --) COMP_CWORD=1 COMP_LINE="${0##*/} --" COMP_POINT=${#COMP_LINE}
        "_${0##*/}" 2>&1
        printf "%s\n" "${COMPREPLY[@]}"' "$BIN/$1"
    for option in $(options "$1"); do
        grep -qxF -- "$option" <<<"$output" || { echo "bash does not offer $option"; return 1; }
    done
    "$BIN/$1" --generate zsh >"$BATS_TEST_TMPDIR/_$1"
    ! command -v zsh >/dev/null || zsh -n "$BATS_TEST_TMPDIR/_$1"
    for option in $(options "$1"); do
        grep -qF -- "$option" "$BATS_TEST_TMPDIR/_$1" || { echo "zsh does not offer $option"; return 1; }
    done
}
@test "completion for bash and zsh knows every option" {
    every completion_knows
}

# What bash offers for the last of the words.
offered() {
    bash --norc -c '
        source <("$1" --generate bash)
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "_$1" 2>&1
        printf "%s\n" "${COMPREPLY[@]}"' - "$BIN/$1" "$@"
}

@test "completion: behind -- stands another command; ports have names" {
    cd "$BATS_TEST_TMPDIR"
    touch train.py
    printf '#!/bin/sh\n' >launch-it
    chmod +x launch-it
    [ "$(PATH=$PWD:$PATH offered ncclwhy -- launch-)" = launch-it ]
    [ "$(offered ncclwhy -- python tra)" = train.py ]
    [ "$(offered ncclwhy -- python -- --look=tra)" = --look=train.py ] # a file, not an option of ours
    [ "$(offered ncclwhy tra)" = train.py ]
    [ "$(offered portcheck --ports s | tr '\n' ' ')" = "slurm ssh " ]
    [ "$(offered portcheck --ports nccl,sl)" = nccl,slurm ]
    for name in nccl slurm ssh; do # no word is offered that would be refused
        "$BIN/portcheck" 127.0.0.1 --ports "$name" --sample 0 --json >out || [ $? = 1 ]
    done
}

man_page() {
    "$BIN/$1" --generate man >"$BATS_TEST_TMPDIR/$1.1"
    run -0 mandoc -T lint -W warning "$BATS_TEST_TMPDIR/$1.1"
    mandoc -T ascii "$BATS_TEST_TMPDIR/$1.1" | col -bx >"$BATS_TEST_TMPDIR/page"
    for option in $(options "$1"); do
        grep -qwF -- "$option" "$BATS_TEST_TMPDIR/page" || { echo "no $option in the man page"; return 1; }
    done
}
@test "the man page is clean and knows every option" {
    command -v mandoc >/dev/null || skip "mandoc is not installed"
    every man_page
}

libraries() {
    run -0 readelf -d "$BIN/$1"
    others=$(grep -o 'Shared library: \[.*' <<<"$output" |
        grep -vE '\[(libc|libm|libcjson|libnl(-route)?-3|ld-linux-[^.]*)\.so' || true)
    [ -z "$others" ] || { echo "$others"; return 1; }
}
@test "no command needs a shared library beyond libc, libm, cJSON and libnl" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    every libraries
}

pipes_and_colours() {
    run -0 --separate-stderr bash -c '"$@" | head -n 1' - "$BIN/$1" --help
    [ -z "$stderr" ]
    # shellcheck disable=SC2086
    run --separate-stderr bash -c '"$@" 2>&1 | head -n 0' - "$BIN/$1" $brief
    [ -z "$stderr" ]
    # shellcheck disable=SC2086
    run "$BIN/$1" $brief
    [[ $output != *$'\e'* ]]
    NO_COLOR=1 TERM=xterm run on_terminal "$BIN/$1" # bare: what takes its time shows how far it is
    [[ -n $output && $output != *$'\e[3'* && $output != *$'\e[1'* ]]
    TERM=dumb run on_terminal "$BIN/$1 $brief"
    [[ -n $output && $output != *$'\e'* ]]
}
@test "pipes are quiet; NO_COLOR, pipes and dumb terminals get no colour" {
    every pipes_and_colours
}

envelope() {
    run --separate-stderr "$BIN/$1" --json
    [[ $status != 2 ]]
    json=$output code=$status
    jq -e --arg name "$1" '.command == $name and .schema == 1' <<<"$json"
    valid "$json"
    verdict=$(jq -r .verdict <<<"$json")
    case $code in
    0) [[ $verdict == pass || $verdict == warn ]] ;;
    1) [[ $verdict == fail || $verdict == warn ]] ;;
    *) [[ $verdict == error ]] ;;
    esac
    # shellcheck disable=SC2086
    run --separate-stderr "$BIN/$1" $brief --json --strict # by its own document: another run may meet other things
    [[ $(jq -r .verdict <<<"$output") != warn || $status == 1 ]]
}
@test "--json is one valid envelope whose verdict agrees with the exit code" {
    every envelope
}

bare_host() {
    run --separate-stderr env -i "$BIN/$1"
    ((status <= 4 && status != 2))
    # shellcheck disable=SC2086
    run --separate-stderr timeout 20 unshare -rn "$BIN/$1" $brief --json
    ((status <= 4 && status != 2))
    jq -e .verdict <<<"$output"
}
@test "works with an empty environment, no root and no network" {
    unshare -rn true 2>/dev/null || skip "no user namespaces"
    every bare_host
}
