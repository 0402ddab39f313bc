#!/usr/bin/env bats
# Runs compared, by `windsock diff` and by --baseline: what is worse, better, gone or not tested again.
bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$BIN/windsock" --json >here.json
    python3 "$ROOT/tests/cli/windsock_runs.py" 4 >four.json
}

setup() {
    unset "${!WINDSOCK_@}"
    cd "$BATS_FILE_TMPDIR" || return
}

@test "diff and --baseline read pipes" {
    run -0 "$BIN/windsock" diff <(cat here.json) here.json
    cat here.json >twin.json
    run -0 "$BIN/windsock" diff twin.json - <here.json
    run "$BIN/windsock" --quick --baseline <(cat here.json)
    [[ $output == *diff.* ]]
    run -2 --separate-stderr "$BIN/windsock" diff <(:) here.json
}

@test "diff: what it would not look at is refused" {
    for option in "--hosts n1" --here "--nodes out" "--baseline here.json"; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr "$BIN/windsock" diff here.json here.json $option
        [ "$stderr" = "windsock: diff goes without --hosts, --here, --nodes and --baseline" ]
    done
}

@test "diff: what is worse, what is better, what was measured, what changed" {
    jq '(.findings[] | select(.check == "limits.shm")) |= (.status = "fail" | .message = "has 1 MiB" | .fix = ["mount it"]) |
        .data.facts.kernel = "0.0.1" | .data.parts.collectives.results[].busbw *= 0.5 |
        .data.parts.collectives.backend = "nccl"' here.json >worse.json
    run -1 --separate-stderr "$BIN/windsock" diff here.json worse.json --json
    valid
    [[ $(jq -r '.findings[] | select(.check == "diff.worse") | "\(.status) \(.message) \(.fix[0])"' <<<"$output") == \
        "fail fail now, was pass: has 1 MiB mount it" ]]
    [[ $(jq -r '.findings[] | select(.check == "diff.bandwidth") | "\(.status) \(.message)"' <<<"$output") == \
        "warn 50 % of the bandwidth of then"* ]]
    [[ $(jq -r '.findings[] | select(.check == "diff.fact").message' <<<"$output") == "0.0.1, was "* ]]
    run -0 --separate-stderr "$BIN/windsock" diff worse.json here.json --json
    [[ $(jq -r '.findings[] | select(.check == "diff.better").message' <<<"$output") == "pass now, was fail: has 1 MiB" ]]
    run -0 --separate-stderr "$BIN/windsock" diff here.json here.json
    [[ $output == *"came to the same, 0 differ"* ]]
}

@test "diff: what the GPUs of a host are, and what it has no more; a speed that is about the same is none" {
    facts() { jq -r '[.findings[] | select(.check == "diff.fact") | "\(.subject): \(.message)"] | sort | join(",")' <<<"$output"; }
    jq '.data.facts.nccl = "2.20.5" | del(.data.facts.torch) | .data.host.facts = {driver: "550.1", cuda: "12.4", gpu_name: "H100", matmul_tflops: 600,
        memory_gbps: 3000}' here.json >gpus.json
    jq 'del(.data.facts.nccl) | .data.facts.torch = "2.3.0" | .data.host.facts = {gpu_name: "H200", cuda: "12.4", ecc: "on", matmul_tflops: 601}' gpus.json >other.json
    run -0 --separate-stderr "$BIN/windsock" diff gpus.json other.json --json
    valid
    [ "$(facts)" = "driver: gone now, was 550.1,ecc: on, was not there,gpu_name: H200, was H100,nccl: gone now, was 2.20.5,torch: 2.3.0, was not there" ]
    jq '.data.facts.windsock = "9.9"' other.json >newer.json # it may look at more
    run -0 --separate-stderr "$BIN/windsock" diff gpus.json newer.json --json
    [[ $(facts) != *"was not there"* && $(facts) == *"gone now, was 550.1"* ]]
    jq 'del(.data.host) | .data.facts.nccl = "2.20.5" | del(.data.facts.torch)' other.json >short.json # it did not come so far
    run -0 --separate-stderr "$BIN/windsock" diff gpus.json short.json --json
    [ "$(facts)" = "" ]
    # another kernel keeps some pages for itself; another limit about as high
    jq '.data.facts |= (.memory = 25325268992 | .memory_usable = .memory | .shm = .memory / 2 | .nofile = "1048576" | .gpus = 8)' here.json >then.json
    jq '.data.facts |= (.memory -= 4096 | .memory_usable -= 4096 | .shm -= 4096 | .nofile = "1048000")' then.json >now.json
    run -0 --separate-stderr "$BIN/windsock" diff then.json now.json --json
    [ "$(facts)" = "" ]
    jq '.data.facts |= (.memory /= 2 | .nofile = "unlimited" | .gpus = 7 | .shm = "much")' then.json >now.json
    run -0 --separate-stderr "$BIN/windsock" diff then.json now.json --json
    [ "$(facts)" = "gpus: 7, was 8,memory: 11.8 GiB, was 23.6 GiB,nofile: unlimited, was 1048576,shm: much, was 11.8 GiB" ]
    jq '.data.facts = [1, 2]' here.json >odd.json # nobody's answer, and nobody's end
    for pair in "odd.json here.json" "here.json odd.json" "odd.json odd.json"; do
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr "$BIN/windsock" diff $pair --json
        [ "$(facts)" = "" ]
    done
}

@test "diff: hosts that are left out, that are new, and that have other names; machines against each other" {
    # node2 is sick then; whoever is not asked now has not become well
    jq 'del(.nodes[2]) | .findings |= map(select(.host != "node2" and .subject != "node2")) |
        .data.failing_nodes = [] | .verdict = "pass"' four.json >three.json
    jq '.findings += [{check: "limits.shm", status: "fail", host: "node2", subject: "/dev/shm", message: "full"}]' four.json >sick.json
    run -0 --separate-stderr "$BIN/windsock" diff sick.json three.json --json
    [[ $(jq -r '.findings[] | select(.check == "diff.host") | "\(.status) \(.subject) \(.message)"' <<<"$output") == \
        "info node2 was in the run of then, and is not in this one" ]]
    [ "$(jq -r '[.findings[] | select(.check == "diff.better" and (.subject | test("limits.shm")))] | length' <<<"$output")" = 0 ]
    sed 's/"node\([0-9]\)/"gpu\1/g' three.json >renamed.json
    run -0 --separate-stderr "$BIN/windsock" diff three.json renamed.json
    [[ $output == *"info  diff.host "*"node[0-1,3]"*"was in the run of then"* ]]
    [[ $output == *"info  diff.host "*"gpu[0-1,3]"*"was not in the run of then"* ]]
    # of two runs on one machine each the machines are compared
    sed "s/\"$(uname -n)\"/\"another\"/g" here.json >another.json
    run -0 --separate-stderr "$BIN/windsock" diff here.json another.json
    [[ $output == *" came to the same, 2 differ"* ]] # the two names
    jq '(.findings[] | select(.check == "limits.shm")).status = "fail"' another.json >worse.json
    run -1 --separate-stderr "$BIN/windsock" diff here.json worse.json --json
    [ "$(jq -r '[.findings[] | select(.check == "diff.worse")] | length' <<<"$output")" = 1 ]
}

@test "diff: whoever began the run is not named before what is wrong with another host" {
    jq 'del(.findings[] | select(.check == "mesh.in"))' four.json >well.json
    run -1 --separate-stderr "$BIN/windsock" diff well.json four.json
    [[ $output == *"fail  diff.worse "*" mesh.in node2 "* && $output != *"mesh.in node2 "*"node0: "* ]]
    run -0 --separate-stderr "$BIN/windsock" diff four.json well.json
    [[ $output == *" mesh.in node2 "* && $output != *"mesh.in node2 "*"node0: "* ]]
}

@test "diff: what was not tested has not become well" {
    better='[.findings[] | select(.check == "diff.better") | .subject] | join(",")'
    untested='[.findings[] | select(.check == "diff.untested") | "\(.status) \(.subject) \(.message)"] | join(",")'
    jq '(.findings[] | select(.check == "coll.data")) |= (.status = "fail" | .message = "is wrong") |
        .data.causes = [{stage: "collectives", check: "coll.data", status: "fail", subject: "all_reduce", message: "is wrong", hosts: []}]' here.json >then.json
    gone='.findings |= map(select(.check != "coll.data"))'
    for why in '(.data.stages[] | select(.name == "collectives")).status = "skip"' '(.data.stages[] | select(.name == "collectives")).cut = true' \
        '.data.left_out = ["collectives"]' 'del(.data.stages[] | select(.name == "collectives"))'; do
        jq "$gone | $why" here.json >now.json
        run -0 --separate-stderr "$BIN/windsock" diff then.json now.json --json
        [ "$(jq -r "$better" <<<"$output")" = "" ]
        [ "$(jq -r "$untested" <<<"$output")" = "warn coll.data all_reduce not tested now, was fail: is wrong" ]
    done
    jq "$gone" here.json >now.json # it was, and nothing is wrong
    run -0 --separate-stderr "$BIN/windsock" diff then.json now.json --json
    [ "$(jq -r "$better" <<<"$output")" = "coll.data all_reduce" ]
    # a host that gives no answer, and one of whose commands one broke
    jq '.findings += [{check: "limits.shm", status: "fail", host: ("node1", "node3"), subject: "/dev/shm", message: "full"},
                      {check: "limits.any", status: "fail", host: "node0", message: "odd"}] |
        .data.causes += [{stage: "limits", check: "limits.shm", status: "fail", subject: "/dev/shm", message: "full", hosts: ["node1", "node3"]}]' four.json >then.json
    jq '.findings |= map(select(.host != "node1")) | .data.failing_nodes += ["node1"] |
        .findings += [{check: "host.answer", status: "fail", host: "node1", message: "gives no answer"},
                      {check: "stage.limits", status: "error", subject: "limits", host: "node3", message: "crashed"}]' four.json >now.json
    run -1 --separate-stderr "$BIN/windsock" diff then.json now.json --json
    [ "$(jq -r "$better" <<<"$output")" = "limits.any" ]
    [ "$(jq -r '[.findings[] | select(.check == "diff.untested") | "\(.host) \(.subject)"] | join(",")' <<<"$output")" = \
        "node1 limits.shm /dev/shm,node3 limits.shm /dev/shm" ]
}

@test "diff: bandwidth is that of large sizes, the time of small ones is told apart; tcp is no excuse for what nccl did" {
    of='.findings[] | select(.check == $c) | "\(.status) \(.message)"'
    jq '.data.parts.collectives.results |= map(.time_us = 10 | .busbw = 1)' here.json >then.json
    nccl='.data.parts.collectives.backend = "nccl"'
    half='(.data.parts.collectives.results[] | select(.size >= 2097152)).busbw *= 0.5'
    jq "$nccl" then.json >nccl.json
    jq "$nccl | $half" then.json >slow.json
    run -0 --separate-stderr "$BIN/windsock" diff nccl.json slow.json --json
    [ "$(jq -r --arg c diff.bandwidth "$of" <<<"$output")" = "warn 76 % of the bandwidth of then, over 10 sizes of 256 KiB and more" ]
    [ "$(jq -r --arg c diff.latency "$of" <<<"$output")" = "pass takes 1.00 times as long as then, over 30 sizes below 256 KiB" ]
    jq "$nccl | "'(.data.parts.collectives.results[] | select(.size < 262144)).time_us *= 2' then.json >late.json
    run -0 --separate-stderr "$BIN/windsock" diff nccl.json late.json --json
    [[ $(jq -r --arg c diff.bandwidth "$of" <<<"$output") == "pass 100 %"* ]]
    [ "$(jq -r --arg c diff.latency "$of" <<<"$output")" = "warn takes 2.00 times as long as then, over 30 sizes below 256 KiB" ]
    # host memory in both runs is told; in this one alone it is what became worse
    jq "$half" then.json >tcp.json
    run -0 --separate-stderr "$BIN/windsock" diff then.json tcp.json --json
    [[ $(jq -r --arg c diff.bandwidth "$of" <<<"$output") == "info 76 %"* ]]
    run -0 --separate-stderr "$BIN/windsock" diff nccl.json tcp.json --json
    [ "$(jq -r --arg c diff.bandwidth "$of" <<<"$output")" = "warn 76 % of the bandwidth of then, over 10 sizes of 256 KiB and more: carried by tcp now, by nccl then" ]
    run -0 --separate-stderr "$BIN/windsock" diff tcp.json nccl.json --json
    [[ $(jq -r --arg c diff.bandwidth "$of" <<<"$output") == "pass 132 %"*": carried by nccl now, by tcp then" ]]
}

@test "diff: runs of hundreds of hosts in another order, in seconds; ncclbench's bandwidth" {
    python3 "$ROOT/tests/cli/windsock_runs.py" 256 >big.json
    jq -c '.findings |= reverse | .nodes |= reverse' big.json >reversed.json
    begin=$SECONDS
    run -0 --separate-stderr "$BIN/windsock" diff big.json reversed.json
    ((SECONDS - begin < 30)) # it was minutes
    [[ $output == *" came to the same, 0 differ"* ]]
    rm big.json reversed.json
    "$BIN/ncclbench" -b 8 -e 64K -n 2 --json >bench.json
    jq '.data.results[].busbw *= 0.5' bench.json >slower.json
    run -0 --separate-stderr "$BIN/windsock" diff bench.json slower.json --json
    [[ $(jq -r '.findings[] | select(.check == "diff.bandwidth").message' <<<"$output") == "50 % of the bandwidth of then"* ]]
    run -2 --separate-stderr "$BIN/windsock" diff here.json bench.json
    [[ $stderr == *"is a run of windsock and bench.json one of ncclbench"* ]]
    head -c 1000 here.json >cut.json
    run -2 --separate-stderr "$BIN/windsock" diff here.json cut.json
    [[ $stderr == *"cut.json is cut short"* ]]
    # broken in its middle: nothing stands behind it that could be taken away
    sed '0,/"status": "[a-z]*"/s//"status": NaN/' here.json >bad.json
    run -2 --separate-stderr "$BIN/windsock" diff bad.json here.json
    [[ $stderr == *"bad.json: not JSON: wrong at byte "*"make it again"* && $stderr != *behind* ]]
}

@test "diff: what is no run of ours is refused on the command line" {
    echo '{"schema":1}' >other
    for file in other missing /dev/null "$BIN/windsock"; do
        run -2 --separate-stderr "$BIN/windsock" diff here.json "$file"
        [ -z "$output" ]
    done
    # another release's, older or newer, is told as that
    for schema in 0 2; do
        jq ".windsock = \"9.8.7\" | .schema = $schema" here.json >release.json
        run -2 --separate-stderr "$BIN/windsock" --quick --here --baseline release.json
        [ -z "$output" ]
        [[ $stderr == *"release.json is of windsock 9.8.7"*"windsock --json --output"* ]]
    done
    jq '.windsock = "0.0.9"' here.json >release.json # a schema says what can be read, no version
    run -0 --separate-stderr "$BIN/windsock" diff here.json release.json
    run -2 --separate-stderr "$BIN/windsock" diff here.json
    run -2 --separate-stderr "$BIN/windsock" dif here.json here.json
    # shellcheck disable=SC2154 # run sets it
    [[ $stderr == *"none of join, diff and on"* ]]
}

@test "a baseline: the run and what became worse since" {
    jq '(.findings[] | select(.check == "limits.shm")).status = "fail"' here.json >then.json
    run -0 --separate-stderr "$BIN/windsock" --quick --baseline then.json --json
    valid
    [ "$(jq -r '.data.stages[-1].name' <<<"$output")" = baseline ]
    [ "$(jq -r '.findings[] | select(.check == "diff.better") | "\(.host) \(.subject)"' <<<"$output")" = "$(uname -n) limits.shm /dev/shm" ]
    # and what is not wrong any more, in a run of the same tests; of what this budget leaves out nothing is
    lost='{check: "limits.lost", status: "fail", host: $host, subject: "x", message: "is gone"}, {check: "train.lost", status: "fail", host: $host, subject: "y", message: "is wrong"}'
    jq --arg host "$(uname -n)" ".findings += [$lost] | .data.tier = \"default\" |
        .data.causes += [{stage: \"limits\", check: \"limits.lost\"}, {stage: \"training\", check: \"train.lost\"}]" here.json >then.json
    run -0 --separate-stderr "$BIN/windsock" --budget 2s --baseline then.json --json
    [ "$(jq -r '.findings[] | select(.check == "diff.better") | .subject' <<<"$output")" = "limits.lost x" ]
    [ "$(jq -r '.findings[] | select(.check == "diff.untested") | .subject' <<<"$output")" = "train.lost y" ]
    # what it said of then is about another run: neither better nor worse now
    jq '.findings += [{check: "diff.worse", status: "fail", subject: "limits.shm /dev/shm n1", message: "x"}]' here.json >than.json
    run -0 --separate-stderr "$BIN/windsock" diff here.json than.json
    [[ $output == *", 0 differ"* ]]
    run -2 --separate-stderr "$BIN/windsock" --quick --baseline missing.json
}
