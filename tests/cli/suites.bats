#!/usr/bin/env bats
# The runner of all suites itself (scripts/check.d/suites): what it counts, what it runs again.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    # fails when it is run for the first time, and never again
    printf '%s\n' 'if [ -e once ]; then echo "ok 1 - a"; else touch once; echo "not ok 1 - a"; fi' >flaky
    printf 'echo "not ok 1 - b"\n' >broken
}

# shellcheck disable=SC2016
run_all() { # NAME COMMAND...: each a suite, as scripts/check runs them
    run --separate-stderr bash -euo pipefail -c '
        . "$ROOT/scripts/check.d/suites"
        suites_begin "$PWD/logs"
        while (($#)); do
            suite "$1" sh -c "$2"
            shift 2
        done
        suites_end' run "$@"
}

@test "suites: passed, failed and skipped are summed, a failure is the exit code" {
    run_all unit/a 'echo "ok 1 - a"; echo "ok 2 - b # skip no GPU"' unit/b 'echo "ok 1 - c"'
    [ "$status" -eq 0 ] && [ "${lines[-1]}" = "2 passed, 0 failed, 1 skipped" ]
    run_all unit/a 'echo "ok 1 - a"' unit/b 'sh broken'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "1 passed, 1 failed" ]
    [[ $output != *"run again"* ]]
    [ "$(cat logs/count)" = "1 passed, 1 failed" ]
    [ "$(grep ^failed <<<"$output")" = "failed: unit-b: not ok 1 - b" ]
}

@test "suites: silence, a broken plan and a bad end are failures" {
    for command in true 'echo 1..2; echo "ok 1 - a"' 'echo "ok 1 - a"; exit 5'; do
        run_all unit/a "$command"
        [ "$status" -eq 1 ] && [[ ${lines[-1]} == *" 1 failed" ]]
        [[ $output == *"failed: unit-a: no test of it"* ]]
    done
}

@test "suites: each says how long it took and worked, and what signal ended it" {
    run_all unit/a 'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; echo "ok 1 - a"' unit/b 'sleep 1; echo "ok 1 - b"' \
        unit/c 'echo "ok 1 - c"; kill -9 $$'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "3 passed, 1 failed" ]
    [[ $output =~ "unit/a "[^$'\n']*" 1 passed "[^$'\n']*" s "+([0-9.]+)" s of work"$'\n' ]]
    [ "${BASH_REMATCH[1]}" != 0.0 ]
    [[ $output =~ "unit/b "[^$'\n']*" "([0-9]+)\.[0-9]" s "+0\.[0-3]" s of work"$'\n' ]]
    [ "${BASH_REMATCH[1]}" -ge 1 ]
    [[ $output == *"unit/c "*" of work"$'\n'*"| ended by signal 9"* ]]
}

@test "suites: what failed once and then passed is named, and its first log kept" {
    run_all unit/a 'echo "ok 1 - a"' unit/f 'sh flaky'
    [ "$status" -eq 0 ] && [ "${lines[-1]}" = "2 passed, 0 failed" ]
    [[ $output == *"passed only when run again, alone: unit-f"* ]]
    grep -q '^not ok' logs/unit-f.first
}

@test "suites: many failures, fuzzers and random layouts are not run again" {
    local name
    set --
    for name in a b c d e; do set -- "$@" "unit/$name" 'sh broken'; done
    run_all "$@" unit/f 'sh flaky'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "0 passed, 6 failed" ]
    for name in fuzz diff/nccl; do
        rm -f once
        run_all "$name" 'sh flaky'
        [ "$status" -eq 1 ] && [ "${lines[-1]}" = "0 passed, 1 failed" ]
    done
}

# shellcheck disable=SC2016
@test "suites: what a check of the house left out is skipped, never silent" {
    house() {
        run bash -euo pipefail -c '. "$ROOT/scripts/check.d/suites"
            suites_begin "$PWD/logs"; house house/a sh -c "$1"; suites_end' run "$1"
    }
    house 'echo "SKIP: the layout: another program"'
    [ "$status" -eq 0 ] && [ "${lines[-1]}" = "1 passed, 0 failed, 1 skipped" ]
    [[ $output == *"# skip the layout: another program"* ]]
    WINDSOCK_CI=1 house 'echo "SKIP: the layout: another program"'
    [ "$status" -eq 1 ]
    house 'echo "SKIP: the layout: another program"; echo "a.c: too long"; exit 1'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "0 passed, 1 failed" ]
}

# The release of clang-format that wrote the layout, in the words of @VERSION; it finds lines to change.
formatter() { # NAME VERSION
    printf '#!/bin/sh\ncase $1 in --version) echo "Debian clang-format version %s" ;; *) echo "lib/a.c:1:1: error: x" >&2; exit 1 ;; esac\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}

@test "check-style: the layout is one release's to judge; with another one it is left out, and said" {
    mkdir -p bin scripts lib/cluster/sh probes bench cmd plugins tests .ci
    cp "$ROOT"/scripts/{check-style,help.sh} scripts
    echo 'int a;' >lib/a.c
    echo 'true;' >lib/cluster/sh/a.sh
    for program in bash dirname find sort sed grep wc uniq cat xargs; do
        ln -s "$(command -v "$program")" bin
    done
    printf '#!/bin/sh\n' >bin/shellcheck
    chmod +x bin/shellcheck
    style() { run env PATH="$PWD/bin" "$BASH" scripts/check-style; }
    style
    [ "$status" -eq 1 ] && [[ $output == "no clang-format here: "* ]]
    formatter clang-format 19.1.7
    style
    [ "$status" -eq 0 ] && [[ $output == "SKIP: the layout: no clang-format 14 here, but "*19.1.7 ]]
    formatter clang-format-14 14.0.6
    style
    [ "$status" -eq 1 ] && [[ $output == *"lib/a.c"*"clang-format-14 -i FILE"* ]]
    rm bin/clang-format-14
    formatter clang-format 14.0.6-12
    style
    [ "$status" -eq 1 ] && [[ $output == *"lib/a.c"*"clang-format -i FILE"* ]]
    formatter clang-format 19.1.7 # the rest counts as ever
    echo '#define A' >lib/a.h
    style
    [ "$status" -eq 1 ] && [[ $output == *"SKIP: "*"lib/a.h: its guard should be LIB_A_H" ]]
}

@test "check: every file of tests is run once, and who is nobody's neighbour at last" {
    mkdir -p bin tests/{cli,lab,unit,diff} o/unit
    cp -r "$ROOT/scripts" .
    rm scripts/check-*
    cp "$ROOT/tests/left.bash" tests
    (cd "$ROOT" && ls tests/{cli,lab}/*.bats) | tee all | xargs touch
    stub() { printf '#!/bin/sh\necho "%s" >>"$RAN"\necho "ok 1 - a"\n' "$2" >"$1" && chmod +x "$1"; }
    stub bin/bats '$4'
    stub scripts/fuzz 'fuzz $1'
    for name in banned fixes layers links readme style; do stub "scripts/check-$name" house; done
    stub scripts/check-newcomer tier
    stub scripts/check-what-is-new-next-year tier
    for name in a nccl torchenv train walls; do stub "tests/diff/diff-$name" diff; done
    for name in a rdzv_faults; do stub "o/unit/t_$name" unit; done
    env -u JOBS -u SUITE_LIMIT -u WINDSOCK_CI ENOUGH=9999 O="$PWD/o" MAKE=true RAN="$PWD/ran" PATH="$PWD/bin:$PATH" scripts/check >out ||
        { cat out; false; }
    diff <(sort all) <(grep bats ran | sort)
    [ "$(grep -cx diff ran)" = 5 ]
    [ "$(tail -n 1 ran)" = tests/lab/windsock_full.bats ]
    [ "$(grep -v bats ran | sort -u | paste -sd,)" = "diff,fuzz ,fuzz --build,house,unit" ]
    [ "$(grep fuzz ran | head -n 1)" = "fuzz --build" ]
    [[ $(tail -n 1 out) == "$(($(wc -l <all) + 18)) passed, 0 failed" ]] # two builds, and the tree, are no stubs
}

@test "suites: what one leaves in its TMPDIR, or running, is a failure, and is taken away" {
    export LEFT_PATIENCE=2 TMPDIR=$PWD
    run_all unit/a 'echo "ok 1 - a"; : >"$TMPDIR/f"; mkdir "$TMPDIR/.g"; mkdir "$TMPDIR/torchelastic_x"'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "1 passed, 1 failed" ]
    [[ $output == *"left behind in TMPDIR: f .g"$'\n'* ]]
    run_all unit/a 'echo "ok 1 - a"; mkdir "$TMPDIR/torchelastic_x"' # torchrun's are its own
    [ "$status" -eq 0 ] && [ -z "$(find . -name 'w.*')" ]
    # with another session, parent and TMPDIR
    run_all unit/a 'echo "ok 1 - a"; (TMPDIR=/ setsid sleep 1234 & echo $! >>pids)'
    [ "$status" -eq 1 ] && [ "${lines[-1]}" = "1 passed, 1 failed" ]
    [[ $output == *"left behind: process "*": sleep 1234"* ]]
    # who is on the way is waited for
    LEFT_PATIENCE=20 run_all unit/a 'echo "ok 1 - a"; (setsid sleep 0.5 & echo $! >>pids)'
    [ "$status" -eq 0 ]
    [ "$(wc -l <pids)" -eq 3 ] # the one that failed was run again
    while read -r pid; do wait_for 10 test ! -e "/proc/$pid"; done <pids
}

@test "suites: so it is for a file of bats that is run by hand" {
    mkdir -p tests/cli
    cp -r "$ROOT"/tests/{suite.bash,jq.bash,left.bash,sudo.bash,valid.bash,sudo} tests
    cp "$ROOT/tests/cli/setup_suite.bash" tests/cli
    echo '@test "a" { echo x >"$TMPDIR/f"; sleep 1234 3>&- & }' >tests/cli/leaves.bats
    echo '@test "a" { mktemp "$BATS_TEST_TMPDIR/XXX"; mkdir "$TMPDIR/torchelastic_x"; }' >tests/cli/clean.bats
    export LEFT_PATIENCE=2 TMPDIR=$PWD/tmp
    mkdir tmp
    run -0 bats tests/cli/clean.bats
    run -1 bats tests/cli/leaves.bats
    [[ $output == *"left behind: process "*": sleep 1234"* && $output == *"left behind in TMPDIR: f"* ]]
    [ -z "$(ls -A tmp)" ]
}

@test "suites: so are network namespaces with a test's name whose test is over" {
    [ "$(id -u)" = 0 ] || skip "not root"
    gone=$(bash -c 'echo $$')
    export gone ROOT
    run unshare -m bash -euc 'mkdir -p /run/netns; mount -t tmpfs none /run/netns; mount --make-private /run/netns
        ip netns add "wsold$gone-a"
        unset LEFT_NETS; . "$ROOT/tests/left.bash" # knows that one
        ip netns add "wstest$gone-a"; ip netns add "wstest$$-a"; ip netns add other
        ! left_behind "$PWD/none"; ip netns list | sort'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "left behind: network namespace wstest$gone-a" ]
    [[ $output != *$'\n'"wstest$gone-a"* && $output == *$'\n'"wsold$gone-a"* && $output == *$'\nwstest'* ]]
}

@test "sanitizers: what any process reported fails, what valgrind is too old for does not" {
    mkdir reports
    said() { bash -euo pipefail -c '. "$ROOT/scripts/check.d/sanitizers"; reports_said "$PWD/reports"'; }
    run -0 said
    [ -z "$output" ]
    echo '--1-- WARNING: unhandled amd64-linux syscall: 434' >reports/report.1
    run -0 said
    echo '==2== Invalid read of size 4' >reports/report.2
    run -1 said
    [[ $output == *report.2:*"Invalid read"* && $output != *report.1* ]]
    run -2 "$ROOT/scripts/check-sanitize" adress
    [[ $output == *"no stage is called 'adress'"* ]]
}

@test "suites: which are not through yet is said, with how far they are" {
    mkdir logs
    printf '1..7\nok 1 - a\nnot ok 2 - b\n' >logs/cli-slow.tap
    printf '1..1\nok 1 - a\n' >logs/cli-done.tap
    touch logs/cli-slow.cmd logs/cli-done.cmd logs/cli-done.sum
    run -0 bash -euo pipefail -c '. "$ROOT/scripts/check.d/suites"
        sleep 1.5 | suites_progress 1 "$PWD/logs"'
    [[ $output =~ ^"      ... cli-slow: 2 of 7 in "[0-9]+" s"$ ]]
}

@test "check-sanitize: address is two stages, each says how long it takes" {
    command -v clang >/dev/null || skip "no clang here"
    O=$PWD MAKE=true ONLY='^none$' run -0 "$ROOT/scripts/check-sanitize" address
    grep -Eq '^--- units: about [0-9]+ minutes' <<<"$output"
    grep -Eq '^--- commands: about [0-9]+ minutes' <<<"$output"
    [ "${lines[-1]}" = "4 passed, 0 failed" ] # built, and a defect was seen
}

# shellcheck disable=SC2016
@test "suites: the dear ones: a quarter in the commit's own order, all while there is time, and who was left is named" {
    dear() { # SEED ENOUGH: the names that began
        run --separate-stderr env JOBS=1 SEED="$1" ENOUGH="$2" bash -euo pipefail -c '
            . "$ROOT/scripts/check.d/suites"
            suites_begin "$PWD/logs"
            one() { suite "$1" sh -c "echo ok 1"; }
            suites_dear one a b c d e f g
            suites_end'
        [ "$status" -eq 0 ]
        began=$(sed -nE 's/^ok +([a-g]) .*/\1/p' <<<"$output" | paste -sd ' ')
    }
    dear 5 99
    [ "$began" = "f g a b c d e" ]
    [[ $output != *left* ]]
    dear 5 0
    [ "$began" = "f g" ]
    [[ $output == *"left to other commits, after 0 s (ENOUGH=99999 takes all): a b c d e"$'\n'* ]]
    [ "${lines[-1]}" = "2 passed, 0 failed" ]
    dear 1234562 0
    [ "$began" = "a b" ]
}
