#!/usr/bin/env bats
# scripts/soak itself, with stand-ins for the tests that take hours.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    SOAK=$ROOT/scripts/soak
    export O=$BATS_TEST_TMPDIR
    unset SUITE_LIMIT REPEAT WINDSOCK_SOAK
    mkdir -p "$O/unit"
}

part() { # NAME LINE...: a stand-in for a unit test
    printf '%s\n' '#!/usr/bin/env bash' "${@:2}" >"$O/unit/t_$1"
    chmod +x "$O/unit/t_$1"
}

@test "soak: help, the list with its times, and what makes no sense" {
    run -0 "$SOAK" --help
    [[ $output == *"make soak"* && $output == *"WINDSOCK_SOAK=2/8"* ]]
    run -0 "$SOAK" --list
    [[ $output =~ lab/launch_faults\ +([0-9]+)\ min ]]
    all=${BASH_REMATCH[1]}
    run -0 env REPEAT=1 "$SOAK" --list
    [[ $output =~ lab/launch_faults\ +([0-9]+)\ min ]]
    ((all > BASH_REMATCH[1]))
    run -2 "$SOAK" lab/nothing
    [[ $output == "soak: no part 'lab/nothing'; "* ]]
    run -2 "$SOAK" --nothing
    run -2 env REPEAT=often "$SOAK" --list
}

@test "soak: whatever is repeated or crossed is a part of it" {
    cd "$ROOT"
    "$SOAK" --list >"$O/list"
    for file in $(grep -lE '\b(REPEAT|WINDSOCK_SOAK|NCCLBENCH_(FAULTS|HEALTHY))\b' \
        tests/unit/t_*.c tests/{cli,lab}/*.bats) tests/soak/*.bats; do
        name=${file#tests/} name=${name%.*}
        [ "$name" = cli/soak ] || grep "^${name/unit\/t_/unit/} " "$O/list" || { echo "$file is none"; false; }
    done
}

@test "soak: parts are run by name, with how often and which share; their sum is the last line" {
    part coll "echo \"ok 1 - share \$WINDSOCK_SOAK\"" 'echo "7 of 9 cases" >&2'
    part rdzv_faults "echo \"ok 1 - times \$REPEAT\""
    run -0 --separate-stderr env REPEAT=3 WINDSOCK_SOAK=2/8 "$SOAK" --built unit/rdzv_faults unit/coll
    [[ ${lines[0]} == *unit/rdzv_faults*"1 passed"* && ${lines[1]} == *unit/coll*"1 passed"* ]]
    [ "${lines[-1]}" = "2 passed, 0 failed" ]
    grep -q 'share 2/8' "$O/soak/unit-coll.tap"
    grep -q 'times 3' "$O/soak/unit-rdzv_faults.tap"
}

@test "soak: what failed is not run again, and what lasts too long has failed" {
    part coll "[ ! -e $O/once ] || echo 'ok 1'" "[ -e $O/once ] || echo 'not ok 1'" "touch $O/once"
    run -1 "$SOAK" --built unit/coll
    [ "${lines[-1]}" = "0 passed, 1 failed" ]
    part coll 'exec sleep 600'
    run -1 env SUITE_LIMIT=1 "$SOAK" --built unit/coll
    [[ $output == *"ran longer than 1 s"* ]]
}

@test "soak: interrupted, it ends what runs and says what is left" {
    part rdzv_faults 'echo "ok 1"'
    part coll "echo \$\$ >$O/pid" 'exec sleep 600'
    "$SOAK" --built unit/rdzv_faults unit/coll >"$O/out" 2>&1 3>&- &
    soak=$!
    wait_for 60 test -s "$O/pid"
    kill -TERM "$soak"
    code=0
    wait "$soak" || code=$?
    [ "$code" -eq 130 ]
    grep -x 'soak: interrupted; the rest: scripts/soak unit/coll' "$O/out"
    wait_for 20 eval '! kill -0 "$(cat "$O/pid")" 2>/dev/null'
}
