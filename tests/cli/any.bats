#!/usr/bin/env bats
# Any command line: what must hold of all of them (tests/fuzz/commands), for a short while and from
# one seed, so that it is the same every time; and what longer campaigns found.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PATH=$BIN:$PATH
}

@test "random command lines of every command keep the contract" {
    # only what a machine does in that time: a slow one does fewer
    run "$ROOT/tests/fuzz/commands" --seed 1 --seconds "${ANY_SECONDS:-12}"
    [[ $output != *"1..0 # SKIP"* ]] || skip "no namespaces can be made here"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "it sees what it is to see: a crash, a hang, a lie, noise and leftovers" {
    local kind
    mkdir bin
    ln -s "$BIN"/* bin/
    rm bin/windsock
    for kind in 'kill -11 $$' 'sleep 1000' 'echo "{}"; echo x; exit 0' 'echo out; echo "windsock: no such thing" >&2; exit 2' \
        'exit 9' 'printf "\033[2J"; exit 3' 'sleep 1000 >/dev/null 2>&1 & exit 0' ': >left; exit 0' \
        'echo "x.c:1:2: runtime error: y" >&2; exit 1' 'exit 3'; do
        printf '#!/bin/sh\ncase $1 in --generate) exec %q "$@" ;; esac\n%s\n' "$BIN/windsock" "$kind" >bin/windsock
        chmod +x bin/windsock
        run env BIN="$PWD/bin" COMMANDS_LIMIT=2 "$ROOT/tests/fuzz/commands" --seed 1 --runs 60 --command windsock --most 1
        [[ $output != *"1..0 # SKIP"* ]] || skip "no namespaces can be made here"
        [[ $status -ne 0 && $output == *"not ok 1 - "* ]] || { echo "not seen: $kind"; echo "$output"; false; }
    done
}

@test "windsock --serve: its budget is over when nobody came, and it says so" {
    run -3 --separate-stderr timeout 20 windsock --serve --port 39417 --budget 500ms
    [ -z "$output" ]
    [[ $stderr == *"the budget of 500 ms passed"* ]]
}

@test "a wrong word that is seen late leaves stdout empty in every format" {
    local format
    for format in table tap json junit github prometheus; do
        run -2 --separate-stderr windsock diff no/such/file other --format $format
        [ -z "$output" ]
        [[ $stderr == "windsock: cannot read no/such/file:"* ]]
    done
}

@test "portcheck, interrupted while it waits for nft, ends as after any signal" {
    local nft
    nft=$(command -v /usr/sbin/nft /sbin/nft | head -1)
    [[ $nft ]] || skip "no nft here"
    unshare --map-root-user --mount -- true 2>/dev/null || skip "no namespaces can be made here"
    printf '#!/bin/sh\n: >%q\nexec sleep 100\n' "$PWD/begun" >slow
    chmod +x slow
    # shellcheck disable=SC2016 # for the shell inside
    run -3 --separate-stderr timeout 60 unshare --map-root-user --mount -- bash -c '
        mount --bind slow "$1"
        portcheck --json 3>&- &
        until [[ -e begun ]] || ! kill -0 $!; do sleep 0.05; done
        kill -INT $!
        wait $!' bash "$nft"
    [ "$(jq -r .verdict <<<"$output")" = error ]
    [[ $stderr == *interrupted* ]]
}
