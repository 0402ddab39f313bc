#!/usr/bin/env bats
# windsock --hosts with many hosts, which one program plays: who is odd among them, ways
# that are tested in groups, and that nothing of it grows with the square of their number.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
    export WINDSOCK_CAST=$PWD/cast
    mkdir own cast
    cp "$BIN/windsock" own/
    node '' >cast/windsock.json
    node '{"check":"limits.shm","status":"fail","subject":"/dev/shm","host":"@H@","message":"@N@ is odd","fix":["mount"]}' >cast/odd.json
    sibling ifprobe
    sibling portcheck
}

node() { # FINDING: what a host says of itself
    jq -n --argjson bad "${1:-null}" '{windsock: "0.1.0", schema: 1, command: "windsock", host: "@H@",
        time: "2026-11-20T11:00:00Z", seconds: 0, verdict: "pass", series: [], nodes: [],
        findings: ([range(40) | {check: "some.check", status: "pass", subject: "x\(.)", host: "@H@", message: "fine"}]
            + [$bad | select(.)]),
        data: {tier: "quick", facts: {kernel: "6.1", cpus: 8, memory: 1e9, congestion: "cubic"},
            stages: [{name: "interface", status: "pass", findings: 40},
                {name: "limits", status: "pass", findings: (if $bad then 1 else 0 end)}]}}'
}

sibling() { # COMMAND: all is well with whom it is asked about
    printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\ncat "%s/%s.json"\n' "$1" "$PWD" "$PWD" "$1" >"own/$1"
    chmod +x "own/$1"
    jq -n --arg c "$1" '{windsock: "0.1.0", schema: 1, command: $c, host: "here", time: "2026-11-20T11:00:00Z", seconds: 0,
        verdict: "pass", series: [], nodes: [], data: {matrix: {hosts: [], cells: []}},
        findings: [{check: "mesh.reach", status: "pass", host: "here", message: "all of them"}]}' >"$1.json"
}

windsock() { PATH=/usr/bin:/bin own/windsock --rsh "$O/lab/windsock_player" --quick "$@"; }

@test "six hundred hosts: the odd ones are named, the ways are tested in groups that mix racks" {
    run -1 --separate-stderr windsock --hosts 'n[0-599]' --json
    valid
    # every 97th from 50 on
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = n50,n147,n244,n341,n438,n535 ]
    [ "$(jq '.data.passing_nodes | length' <<<"$output")" = 594 ]
    # they differ in numbers alone: one cause, and each has its own finding
    [ "$(jq -r '.data.causes[] | "\(.message) \(.hosts | length) \(.fix[0])"' <<<"$output")" = "50 to 535 is odd 6 mount   # on n[50,147,244,341,438,535]" ]
    [ "$(jq -r '.findings[] | select(.status == "fail") | "\(.host) \(.message)"' <<<"$output" | sed -n 2p)" = "n147 147 is odd" ]
    [ "$(grep -c '^portcheck .*--hosts=' calls)" = 3 ]
    [ "$(grep -c '^ifprobe .*--hosts=' calls)" = 3 ]
    # neighbours in the list are in different groups, and everybody is in one
    grep -q '^portcheck .*--hosts=n\[0,3,6,9,' calls
    [ "$(sed -n 's/^portcheck .*--hosts=n\[\(.*\)\]/\1/p' calls | tr , '\n' | sort -n | uniq | wc -l)" = 600 ]
    [[ $(jq -r '.findings[] | select(.check == "stage.reach").message' <<<"$output") == "tested in 3 of 3 groups of at most 256 hosts"* ]]
    [[ $(jq -r .data.covers <<<"$output") == "600 of 600 hosts and the ways between them, in groups; no data was moved" ]]
}

@test "hosts whose numbers are none, or too large for any: of those nothing is known, and the run goes on" {
    jq '.data.facts |= (.memory = "lots" | .cpus = 1e300) | .data.stages[].findings = -1e30' cast/windsock.json >cast/odd.json
    run -0 --separate-stderr windsock --hosts 'n[0-199]' --json
    jq -e '[.findings[] | select(.check | startswith("drift.")) | .status] == ["pass"]' <<<"$output"
    jq '.data.stages[].findings = 1e30' cast/windsock.json >cast/odd.json
    run -0 --separate-stderr windsock --hosts 'n[0-199]' --json
    jq -e '.data.passing_nodes | length == 200' <<<"$output"
}

@test "nobody answers: no empty table, and the line to try again goes the way that was given" {
    printf '#!/bin/sh\necho "Host key verification failed." >&2; exit 255\n' >ssh
    chmod +x ssh
    PATH=/usr/bin:/bin run -1 --separate-stderr own/windsock --quick --hosts n1,n2 --copy-self --rsh "$PWD/ssh -l me"
    [[ $output != *$'\nhost\n'* && $output != *$'\nhost '* ]]
    [[ $output == *"  -> $PWD/ssh -l me n1 true   # from here: shows its fingerprint"*"--rsh '$PWD/ssh -l me -o StrictHostKeyChecking=accept-new'"* ]]
    [[ $output == *"   -> windsock --quick --rsh '$PWD/ssh -l me' --hosts 'n[1-2]' --copy-self   # until it answers"* ]]
}

@test "a group that fails names its hosts; what came of the others is there" {
    jq '.findings = [{check: "mesh.in", status: "fail", subject: "n7", host: "here", message: "is not reached", fix: ["x"]}]' \
        portcheck.json >bad.json
    # shellcheck disable=SC2016 # the stand-in expands
    printf '#!/bin/bash\necho "portcheck $*" >>"%s/calls"\n[[ $* == *"[1,"* ]] && exec cat "%s/bad.json"\ncat "%s/portcheck.json"\n' \
        "$PWD" "$PWD" "$PWD" >own/portcheck
    cp cast/windsock.json cast/odd.json
    run -1 --separate-stderr windsock --hosts 'n[0-299]' --json
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = n7 ]
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.subject)"' <<<"$output")" = "reach n7" ]
    [ "$(jq '.data.parts.reach.groups | length' <<<"$output")" = 1 ] # only the one with something to see
    # who failed is asked no more
    [ "$(grep '^ifprobe .*--hosts=' calls | grep -cE '\[(.*,)?7(,|\])')" = 0 ]
}

@test "a thousand hosts cost little more for each than a hundred" {
    cpu() { # HOSTS: processor time in ms, players included
        python3 - "$1" <<'P'
import os, resource, subprocess, sys
env = dict(os.environ, PATH="/usr/bin:/bin")
subprocess.run(["own/windsock", "--rsh", os.environ["O"] + "/lab/windsock_player", "--quick", "--json", "--output", "doc",
                "--hosts", "n[0-%d]" % (int(sys.argv[1]) - 1)], env=env, stderr=subprocess.DEVNULL, check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((used.ru_utime + used.ru_stime) * 1000))
P
    }
    few=$(cpu 100)
    many=$(cpu 1000)
    echo "$few ms, $many ms"
    ((many < 25 * few)) # ten times the hosts; a square would be a hundred times
}

# What every host says: fails alike, with a handle and numbers of its own.
all_alike() {
    local of
    for of in windsock odd; do
        jq -c '.findings += [
            {check: "local.firewall", status: "fail", subject: "29500", host: "@H@", message: "drops: inet t c, handle @N@: drop", fix: ["sudo nft x"]},
            {check: "drift.x", status: "warn", subject: "clock", host: "@H@", message: "is @N@ s behind"}]
            | .data.stages[1].findings += 2 | if $of == "odd" then .data.stages[0].status = "fail" else . end' --arg of "$of" "cast/$of.json" >"$of.more"
        mv "$of.more" "cast/$of.json"
    done
}

@test "twelve hundred hosts: what people read stays short, and one line mends them all" {
    all_alike
    run -1 --separate-stderr windsock --hosts 'n[0-1199]' --nodes out --report page.html
    ((${#lines[@]} < 40))
    [ "$(wc -L <<<"$output")" -lt 1000 ]
    [[ $output == *"n[0-1199]: drops: inet t c: drop"*"-> windsock on --rsh "*" 'n[0-1199]' 'sudo nft x'"* ]]
    [[ $output == *"n[0-1199]: is 0 to 1199 s behind"* ]]
    grep -qE '^n\[0-49,51-146,.*\]  pass ' <<<"$output" # a row for all that came to the same
    grep -qE '^n\[50,147,.*\] +fail ' <<<"$output"
    [ "$(wc -l <out/failing_nodes.txt)" = 1200 ]
    # the page has what is wrong of each, and a comparison finds it there
    [ "$(grep -c '<tr' page.html)" -lt 100 ]
    [ "$(wc -c <page.html)" -lt 6000000 ]
    run -1 --separate-stderr windsock --hosts 'n[0-1199]' --baseline page.html
    [[ $output != *diff.worse* && $output != *diff.better* && $output == *diff.same* ]]
}

@test "twelve hundred hosts: of what passed, other formats than JSON have the sum" {
    all_alike
    for format in junit prometheus github tap; do
        run -1 --separate-stderr windsock --hosts 'n[0-1199]' --format "$format" --output "of.$format"
    done
    grep -q 'host="n77",check="local.firewall",subject="29500",status="fail"' of.prometheus
    run ! grep -q 'check="some.check"' of.prometheus
    grep -q 'check="stage.interface".*status="pass"' of.prometheus
    [ "$(grep -c 'handle 77: drop' of.junit)" -ge 1 ]
    run ! grep -q some.check of.junit
    [ "$(grep -c '^::' of.github)" -lt 20 ] # a step shows ten
    run -1 --separate-stderr windsock --hosts 'n[0-1199]' --json
    [ "$(jq '[.findings[] | select(.check == "some.check")] | length' <<<"$output")" = 48000 ]
}

@test "what portcheck measured between hosts is series of Prometheus, of that stage" {
    jq '.data.pairs = [{from: "n0", to: "n1", state: "open", ms: 2}]' portcheck.json >more.json
    mv more.json portcheck.json
    run -0 --separate-stderr windsock --hosts 'n[0-3]' --format prometheus
    grep -q '^windsock_pair_latency_seconds{.*stage="reach",from="n0",to="n1"} 0.002$' <<<"$output"
}
