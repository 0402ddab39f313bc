#!/usr/bin/env bats
# Any command line: what must hold of all of them (tests/fuzz/commands), for a short while and from
# one seed, so that it is the same every time; and what longer campaigns found.
bats_require_minimum_version 1.5.0
load ../wait.sh

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
    run -3 --separate-stderr timeout 20 windsock --serve --port "$(free_port)" --budget 500ms
    [ -z "$output" ]
    [[ $stderr == *"the budget of 500 ms passed"* ]]
}

@test "windsock --serve: what is wrong with the line is said before anybody is asked to join" {
    local port
    port=(--port "$(free_port)" --budget 2s)
    run -2 --separate-stderr windsock diff a b --serve "${port[@]}"
    [ "$stderr" = "windsock: --serve goes without diff" ]
    run -2 --separate-stderr windsock --serve --nodes here "${port[@]}"
    [ "$stderr" = "windsock: --nodes goes with --hosts" ]
    for option in --copy-self --keep; do
        run -2 --separate-stderr windsock --serve $option "${port[@]}"
        [ "$stderr" = "windsock: $option goes with --hosts" ]
        run -2 --separate-stderr windsock --here $option
        [ "$stderr" = "windsock: $option goes with --hosts" ]
        run -2 --separate-stderr windsock $option
        [ "$stderr" = "windsock: $option goes with --hosts" ]
        run -2 --separate-stderr ifprobe --predict $option
        [ "$stderr" = "ifprobe: $option goes with --hosts" ]
    done
    run -2 --separate-stderr windsock --serve --baseline nothing.here "${port[@]}"
    [[ $stderr == "windsock: cannot read nothing.here: "* && $stderr != *join* ]]
    run -3 --separate-stderr windsock --serve --report no/such/page.html "${port[@]}"
    [[ $stderr == "windsock: cannot write no/such/page.html: "* && $stderr != *join* ]]
    run -3 --separate-stderr windsock --serve --json --output no/such/out.json "${port[@]}"
    [ -z "$output" ]
    [[ $stderr == "windsock: cannot write no/such/out.json: "* && $stderr != *join* ]]
}

@test "windsock --serve --json: one document, also where nobody ran" {
    local code line serving joined port
    port=$(free_port)
    run -3 --separate-stderr windsock --serve --json --port "$port" --budget 300ms
    [ "$(jq -r '.verdict + " " + .findings[0].check' <<<"$output")" = "error run" ]
    [[ $stderr == *"windsock join "* ]]
    # one of two that join does not stay: its place is free until the time is up
    windsock --serve --wait 2 --json --port "$port" --budget 8s >answer 2>said 3>&- &
    serving=$!
    until line=$(grep -o 'join .*' said) || ! kill -0 $serving; do sleep 0.05; done
    # shellcheck disable=SC2086 # words
    windsock $line >joined 2>&1 3>&- &
    joined=$!
    until grep -q waiting joined || ! kill -0 $joined; do sleep 0.05; done
    kill -9 $joined # its other half ends a moment later, and the connection with it
    until grep -q "its place is free again" said || ! kill -0 $serving; do sleep 0.05; done
    # shellcheck disable=SC2086 # words
    run windsock $line 3>&-
    code=0
    wait $serving || code=$?
    cat said answer
    [ "$code" = 3 ]
    grep -q "its place is free again" said
    [ "$(jq -r '.verdict + " " + .findings[0].check' answer)" = "error run" ]
}

@test "an error before the run is one document in every format but the table, and has its exit code" {
    local format unreadable=/proc/self/mem # nobody's memory begins at 0
    for format in json junit prometheus tap github markdown nagios; do
        run -3 --separate-stderr ncclbench --format $format --baseline "$unreadable"
        [[ $output == *"cannot read $unreadable: Input/output error"* || $format == prometheus ]]
        [[ $stderr == *"ncclbench: cannot read $unreadable: Input/output error"* ]]
        case $format in
        json) [ "$(jq -r '[.verdict, .findings[].status] | join(" ")' <<<"$output")" = "error error" ] ;;
        junit) [[ $output == '<?xml'*' errors="1"'*'</testsuites>' ]] ;;
        prometheus) [[ $output == *'windsock_verdict{'*'verdict="error"} 1'* ]] ;;
        tap) [[ $output == "TAP version 14"*"not ok 1 - run ncclbench"*"1..1" ]] ;;
        github) [[ $output == "::error "* ]] ;;
        markdown) [[ $output == "## ncclbench: ERROR"* ]] ;;
        nagios) [[ $output == "NCCLBENCH UNKNOWN - cannot read "*" | time="*"s failed=0;;0;0 warnings=0;0;;0" ]] ;;
        esac
    done
    run -3 --separate-stderr ncclbench --baseline "$unreadable"
    [ -z "$output" ]
    # a plug-in's readers see stdout alone, and 2 would be a sick cluster
    run -3 --separate-stderr windsock --serve --format nagios
    [[ $output == "WINDSOCK UNKNOWN - --serve waits for people; "* ]]
    for line in '--format nagios --bogus' '--bogus --format=nagios' '--format nagios --plot -'; do
        # shellcheck disable=SC2086 # words
        run -3 --separate-stderr ncclbench $line
        [[ $output == "NCCLBENCH UNKNOWN - "*" | "* && $stderr == "ncclbench: "* ]]
    done
    run -3 --separate-stderr env WINDSOCK_FORMAT=nagios windsock diff no/such/file other
    [[ $output == "WINDSOCK UNKNOWN - cannot read no/such/file: "* ]]
    run -2 --separate-stderr ncclbench --format nagios --json --bogus
    [ -z "$output" ]
    run -3 --separate-stderr ncclbench --json --report no/such/page.html
    [ "$(jq -r .verdict <<<"$output")" = error ]
    run -3 --separate-stderr ddpsmoke --json --data mnist:no/such
    [ "$(jq -r .verdict <<<"$output")" = error ]
    # into its file, and where that cannot be, nowhere
    run -3 --separate-stderr ncclbench --json --baseline "$unreadable" --output out.json
    [ -z "$output" ]
    [ "$(jq -r .verdict out.json)" = error ]
    run -3 --separate-stderr ncclbench --json --output no/such/out.json
    [ -z "$output" ]
}

@test "of several ranks that cannot begin one answers" {
    local rank
    rank=(env RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$(free_port)")
    run -2 --separate-stderr "${rank[@]}" ncclbench --json -b nonsense
    [ -z "$output" ]
}

@test "ifprobe --hosts: very many that do not answer, and a budget that is kept" {
    local before began=$SECONDS
    worked
    before=$WORKED_MS
    run -3 --separate-stderr ifprobe --suggest --hosts 'a[1-200000]' --rsh false --budget 1s
    # the second: by force, where for ten seconds others had the processors
    [[ $stderr == *"the budget of 1 s passed"* || $stderr == *"it did not stop when its budget passed"* ]] ||
        { echo "$stderr"; false; }
    worked
    echo "$((WORKED_MS - before)) ms of processor time in $((SECONDS - began)) s"
    ((WORKED_MS - before < 4000 * ${WINDSOCK_SLOW:-1} && SECONDS - began < 40 * ${WINDSOCK_SLOW:-1}))
}

@test "a wrong word that is seen late leaves stdout empty in every format" {
    local format
    for format in table tap json junit github prometheus markdown; do
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
