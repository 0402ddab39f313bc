#!/usr/bin/env bats
# scripts/validate accepts what the renderers write (the golden files that
# tests/unit/t_report.c compares with) and refuses what is wrong with them.

bats_require_minimum_version 1.5.0

setup() {
    golden=$ROOT/tests/golden
    validate=$ROOT/scripts/validate
}

# Applies a sed script to a golden file and expects a refusal that says why.
refused() {
    local kind=$1 script=$2 why=$3
    sed "$script" "$golden/report.$kind" >"$BATS_TEST_TMPDIR/doc"
    run ! cmp -s "$golden/report.$kind" "$BATS_TEST_TMPDIR/doc"
    run ! "$validate" "$kind" "$BATS_TEST_TMPDIR/doc"
    [[ $output == *"$why"* ]]
}

@test "golden documents hold" {
    for kind in json junit prometheus; do
        run -0 "$validate" "$kind" "$golden/report.$kind"
    done
    run -0 "$validate" json - <"$golden/report.json"
}

@test "json: a key too many, twice, missing, null, of the wrong kind" {
    refused json 's/"schema": 1,/&"extra": 1,/' extra
    refused json 's/"schema": 1,/&"schema": 1,/' "key twice"
    refused json '/"verdict"/d' verdict
    refused json 's/"verdict": "fail"/"verdict": "bad"/' bad
    refused json 's/"rank": 3/"rank": null/' rank
    refused json 's/"data": {"name"/"data": {"deep": [{"x": null}], "name"/' deep
    refused json 's/11:00:00Z/11:00:00/' time
    refused json 's/"value": 12.5/"value": NaN/' NaN
    refused json 's/^}$/}{}/' "Extra data"
    refused json 's/"data": {"name"/"data": {"predict": {"nccl": {"outcome": "maybe"}}, "name"/' maybe
    refused json 's/"data": {"name"/"data": {"suggest": {"interface": "eth0"}, "name"/' proven
}

@test "junit: an attribute missing, an element unknown, XML broken" {
    refused junit 's/ classname="host.name"//' classname
    refused junit 's/system-out>/warning>/g' warning
    refused junit 's/&lt;//; s/-&gt; eval/<&/' "parser error"
}

@test "prometheus: a series twice, no help, a broken label" {
    refused prometheus 's/.*windsock_verdict{.*/&\n&/' "twice: windsock_verdict"
    refused prometheus '/# HELP windsock_verdict/d' "help"
    refused prometheus 's/verdict="fail"/verdict="fail/' "unescaped"
}

@test "an unknown kind is a wrong command line" {
    run -2 "$validate" yaml "$golden/report.json"
}
