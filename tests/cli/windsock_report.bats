#!/usr/bin/env bats
# The page that --report writes, and runs compared. Structure and self-containment by
# a parser; in real headless Chromium: no error on the console, no request, quick to
# open for 512 hosts, and its buttons and keys do what they say.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$BIN/windsock" --json >here.json
    "$BIN/windsock" --quick --report here.html >/dev/null
    python3 "$ROOT/tests/cli/windsock_runs.py" 4 >four.json
    "$BIN/windsock" diff four.json four.json --report four.html >/dev/null
    "$BIN/ncclbench" --np 3 --pairs --report pairs.html --json >pairs.json
}

setup() {
    unset "${!WINDSOCK_@}"
    cd "$BATS_FILE_TMPDIR" || return
}

page_is_sound() { # FILE: tags balanced, ids unique, labels there, nothing from elsewhere
    python3 - "$1" <<'P'
import html.parser, json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
void = {"meta", "link", "br", "input", "hr", "img"}
class Page(html.parser.HTMLParser):
    stack, ids, text_of, svgs, last = [], [], {}, [], None
    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag not in void: self.stack.append(tag)
        if "id" in a: self.ids.append(a["id"])
        if tag == "svg": self.svgs.append(a)
        self.last = a.get("id")
        for name in ("src", "href", "action"):
            v = a.get(name, "#")
            assert v.startswith(("#", "data:")), (tag, name, v)
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in void: self.stack.pop()
    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack[-3:])
        self.stack.pop()
    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script" and self.last == "envelope":
            self.text_of["envelope"] = self.text_of.get("envelope", "") + data
p = Page(); p.feed(text); p.close()
assert not p.stack, p.stack
assert len(p.ids) == len(set(p.ids)), "an id twice"
assert {"causes", "topology", "nodes", "reach", "curves", "findings", "environment"} <= set(p.ids)
assert all(s.get("role") == "img" and s.get("aria-label") for s in p.svgs)
json.loads(p.text_of["envelope"])
assert not re.search(r"url\((?!data:)|@import|https?://(?!www\.w3\.org)", text.split('id="envelope"')[0])
P
}

@test "the page of this host is sound, and the run is inside" {
    page_is_sound here.html
    grep -q '<b>PASS</b>' here.html
    grep -q 'this host only; nothing between hosts was tested' here.html
    run -0 --separate-stderr "$BIN/windsock" diff here.json here.json --report epochs.html
    python3 - <<'P'
import re
chart = open("epochs.html").read().split("<h3>Training: loss of each epoch</h3>")[1].split("</svg>")[0]
ticks = re.findall(r'text-anchor="middle">([\d.]+)</text>', chart)
assert ticks == ["1", "2"], ticks # there is nothing between two epochs
P
    run -0 --separate-stderr "$BIN/windsock" diff here.json here.html --json
    valid
}

@test "the page of a sick cluster: causes with commands, pairs, the line for srun; hostile text is harmless" {
    page_is_sound four.html
    grep -q '<b>FAIL</b>' four.html
    grep -q 'sudo nft insert rule' four.html
    grep -q 'srun --exclude=node2' four.html
    grep -q '<li>node2 reaches no other host</li>' four.html
    grep -q '<li>No other host reaches node2</li>' four.html
    run ! grep -q '<li>node[0-9] to ' four.html # nothing else is wrong
    [ "$(grep -c '<tr data-status="fail"><th' four.html)" = 1 ] # node0 is a witness
    grep -q 'M3 2h' four.html # a run of squares in the matrix
    run ! grep -q '<img' four.html
    run ! grep -q '<b>bold' four.html
}

@test "ncclbench's page: pairs as heat maps and as numbers, the slowest first; its ranks' hosts" {
    page_is_sound pairs.html
    [ "$(grep -c '<svg class="heat".*data-n="3" data-map="pairs"' pairs.html)" -ge 2 ] # and what was lost, if any was
    grep -q 'in this order: rank' pairs.html
    python3 - <<'P'
import json, re
rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td><td class="n">([\d.]+)</td><td class="n">([\d.]+)</td>',
                  open("pairs.html").read())
pairs = json.load(open("pairs.json"))["data"]["pairs"]
assert len(pairs) == len(rows) == 6, rows
assert [float(r[2]) for r in rows] == sorted(float(r[2]) for r in rows)
known = {(p["from"], p["to"]): p for p in pairs}
for a, b, gbps, us in rows:
    assert abs(known[a, b]["gbps"] - float(gbps)) < 0.001 and abs(known[a, b]["latency_us"] - float(us)) < 0.1
P
    run ! grep -q 'Nothing between hosts was tested' pairs.html
}

@test "ncclbench's page beside its table, with curves; none where it cannot be written" {
    run -0 --separate-stderr "$BIN/ncclbench" -b 8 -e 1M -n 2 --report sweep.html
    [[ $output == *"# PASS coll.data"* ]]
    page_is_sound sweep.html
    grep -q '<h3>Bus bandwidth</h3>' sweep.html
    grep -q 'Data was carried by: tcp' sweep.html
    grep -q '>2 ranks<' sweep.html
    run -0 --separate-stderr "$BIN/windsock" diff sweep.html sweep.html # it is a run of ours
    run -3 --separate-stderr "$BIN/ncclbench" -b 8 -e 8 -n 1 --report /dev/full
    run -3 --separate-stderr "$BIN/ncclbench" -b 8 -e 8 -n 1 --report there/is/none.html
    [ -z "$output" ] # said before the work
    run -2 --separate-stderr "$BIN/ncclbench" -b 8 -e 4 --report never.html
    [ ! -e never.html ]
}

@test "a node that is slow with everybody is the one that the page marks" {
    jq '.data.world.ranks = [range(4) | {rank: ., host: "node\(.)", address: "10.0.0.\(.)", device: "host"}] |
        .findings = [{check: "pair.bandwidth", status: "fail", subject: "node2", host: "node0", message: "node2 is <b>slow", fix: ["x"]},
                     {check: "pair.loss", status: "fail", subject: "node1 -> node3", host: "node0", message: "lossy", fix: ["y"]}] |
        .data.pairs = [range(4) as $a | range(4) as $b | select($a != $b) |
            {from: "node\($a)", to: (if $b == 3 then "<i>3" else "node\($b)" end), gbps: (if $a == 2 then 0.1 else 2 end), lost: (if $a == 1 then 0.02 else 0 end)}]' \
        pairs.json >slow.json
    # shellcheck disable=SC2030
    "$BIN/windsock" diff slow.json slow.json --report slow.html >/dev/null
    page_is_sound slow.html
    for host in 1 2 3; do grep -q '<tr data-status="fail"><th scope="row">node'$host slow.html; done
    grep -q '<tr data-status="pass"><th scope="row">node0' slow.html
    grep -q 'Packets that had to be sent again' slow.html
    run ! grep -q '<i>3\|<b>slow' <(sed '/id="envelope"/,$d' slow.html)
}

@test "a rank that the others wait for is its host's, not the one's that says so; numbers have four digits" {
    jq '.data.world.ranks = [range(4) | {rank: ., host: "node\(.)", address: "10.0.0.\(.)", device: "host"}] | .host = "node0" |
        .findings = [{check: "rank.straggler", status: "warn", subject: "all_reduce", host: "node0", fix: ["x"], value: 78.221734, unit: "%",
                      message: "the others wait for rank 2 (node2, 10.0.0.2) 78 % of the time"}]' pairs.json >waits.json
    "$BIN/windsock" diff waits.json waits.json --report waits.html >/dev/null
    grep -q '<tr data-status="warn"><th scope="row">node2' waits.html
    [ "$(grep -c '<tr data-status="pass"><th scope="row">node[013]' waits.html)" = 3 ]
    grep -q '>78.22 %<' waits.html
}

@test "a page that cannot be written is an error of ours, and never half a page" {
    run -3 --separate-stderr "$BIN/windsock" --quick --report /dev/full
    run -3 --separate-stderr "$BIN/windsock" --quick --report there/is/none.html
    [ ! -e there ]
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
}

@test "the page of a long sweep has its curves; a host that gave no answer has its row" {
    jq '.data.parts.sweep = (.data.parts.collectives | .results += [.results[-1] | .size *= 64 | .busbw = 9]) |
        .data.parts.expectations = {epochs: [{epoch: 1, loss: 2, validation_loss: 2}, {epoch: 2, loss: 1, validation_loss: 1}]} |
        .data.failing_nodes += ["node9"]' four.json >long.json
    "$BIN/windsock" diff long.json long.json --report long.html >/dev/null
    page_is_sound long.html
    grep -q '<h3>Bus bandwidth, the long sweep</h3>' long.html
    [ "$(grep -c '<h3>Bus bandwidth' long.html)" = 1 ]
    grep -q 'The numbers of the short sweep' long.html
    grep -q '<h3>Training: loss of each epoch</h3>' long.html
    grep -q '<tr data-status="fail"><th scope="row">node9</th>' long.html
    grep -q 'no answer' long.html
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

# Opens FILE with SCRIPT behind its own; what that sets as the title is the answer.
browse() { # FILE SCRIPT [WIDTH]
    local name=${1%.html}.browsed.html
    python3 - "$1" "$2" >"$name" <<'P'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
print(page.replace("</body>", "<script>addEventListener('load',function(){setTimeout(function(){"
    + sys.argv[2] + "},0)})</script></body>"))
P
    "${AROUND[@]}" chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$BATS_TEST_TMPDIR/profile" --enable-logging=stderr --v=0 --log-net-log="$PWD/net.json" \
        --window-size="${3:-1000},900" --virtual-time-budget=3000 --dump-dom "file://$PWD/$name" 2>browser.log |
        sed -n 's:.*<title>\(ANSWER[^<]*\)</title>.*:\1:p' | head -n 1
}

quiet_browser() { # nothing on the console, nothing asked of a network
    run ! grep CONSOLE browser.log
    run ! grep -oE '"url":"(https?|wss?)://[^"]*(report|windsock)[^"]*"' net.json
}

needs_chromium() { command -v chromium >/dev/null || skip "no Chromium here"; }

@test "Chromium: opens without a word on the console, in light and in the dark" {
    needs_chromium
    run -0 browse four.html "document.title='ANSWER '+document.querySelectorAll('svg.heat').length+' '+getComputedStyle(document.body).backgroundColor+document.getElementById('theme').click()+' '+getComputedStyle(document.body).backgroundColor"
    [[ $output == "ANSWER 2 rgb(255, 255, 255)undefined rgb(13, 17, 23)" ]]
    quiet_browser
}

@test "on paper every colour is the paper's, also of a page that is dark on the screen" {
    run -0 python3 - here.html <<'P'
import re, sys
style = re.search(r"<style>(.*?)</style>", open(sys.argv[1], encoding="utf-8").read(), re.S)[1]
def names(rule): return set(re.findall(r"(--[a-z]+):#", rule))
screen = names(re.search(r":root\{([^}]*)\}", style)[1])
paper = names(re.search(r"@media print\{:root[^{]*\{([^}]*)\}", style)[1])
assert len(screen) > 8 and paper == screen, screen ^ paper
P
}

@test "Chromium: on paper nothing of the checks is beyond its edge, and a key is not torn" {
    needs_chromium
    sed 's/@media print/@media all/g' four.html >paper.html
    run -0 browse paper.html "
        var wide=0;document.querySelectorAll('#findings td,.key').forEach(function(c){
            var r=c.getBoundingClientRect();if(r.right>innerWidth)wide++});
        document.title='ANSWER '+wide+' '+(getComputedStyle(document.querySelector('.key').parentNode).whiteSpace)" 718 # A4 with its margins
    [ "$output" = "ANSWER 0 nowrap" ]
}

@test "Chromium: filter, status buttons, the keys of the matrix, the copy button" {
    needs_chromium
    run -0 browse four.html "
        var s=document.getElementById('findings'),i=s.querySelector('input'),o=s.querySelector('output'),a=[];
        i.value='memory';i.dispatchEvent(new Event('input',{bubbles:true}));a.push(o.textContent);i.value='';
        s.querySelector('button[data-status=fail]').click();a.push(o.textContent);
        var h=document.querySelector('svg.heat');
        h.dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowRight',bubbles:true}));
        h.dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowRight',bubbles:true}));
        a.push(h.parentNode.querySelector('output').textContent);
        var b=document.querySelector('button[data-copy]'),n=0;b.click();
        // the clipboard is another process, which the page's clock does not wait for: work is real time
        function wait(then){var was=b.textContent;b.click();(function look(){for(var k=0;k<1e7;k++);
        if(b.textContent===was&&n++<200)setTimeout(look,1);else then()})()}
        wait(function(){a.push(b.textContent);b.textContent='again';
        wait(function(){setTimeout(function(){a.push(b.textContent);document.title='ANSWER '+a.join('|')},1800)})})"
    echo "$output"
    [[ $output == "ANSWER 1 rows|1 rows|node0 to node2: filtered|"@(Copied|Select it)"|Copy" ]]
    quiet_browser
}

@test "Chromium: few hosts are named beside their squares; numbers stand below their heads" {
    needs_chromium
    run -0 browse pairs.html "
        var svg=document.querySelector('svg.heat[data-named]'),t=[].map.call(svg.querySelectorAll('text'),function(x){return x.textContent}),
            th=document.querySelector('table.narrow th.n'),td=document.querySelector('table.narrow td.n'),row=svg.querySelector('text');
        document.title='ANSWER '+t.join()+' '+getComputedStyle(th).textAlign+
            ' '+(Math.round(th.getBoundingClientRect().right)===Math.round(td.getBoundingClientRect().right))+
            ' '+(row.getBoundingClientRect().left>=0&&row.getBoundingClientRect().height>8)"
    echo "$output"
    [[ $output == "ANSWER rank 0,rank 0,rank 1,rank 1,rank 2,rank 2 right true true" ]]
    quiet_browser
}

@test "Chromium: on a narrow screen every check can be read without moving sideways" {
    needs_chromium
    for width in 500 1200; do
        shape=table-row
        ((width > 600)) || shape=flex
        run -0 browse four.html "
            var s=document.getElementById('findings'),r=s.querySelector('tbody tr');
            document.title='ANSWER '+(s.scrollWidth<=s.clientWidth&&s.querySelector('.scroll').scrollWidth<=s.clientWidth)+
                ' '+getComputedStyle(r).display+' '+(r.getBoundingClientRect().height<300);" "$width"
        echo "$width: $output"
        [[ $output == "ANSWER true $shape true" ]]
    done
    # what the filter hides is hidden there, too
    run -0 browse four.html "
        var s=document.getElementById('findings'),r=s.querySelectorAll('tbody tr');
        s.querySelector('button[data-status=fail]').click();
        document.title='ANSWER '+[].filter.call(r,function(x){return x.offsetParent}).length" 500
    [[ $output == "ANSWER 1" ]]
    quiet_browser
}

@test "Chromium: the keys say a pair's numbers, each map in its own line" {
    needs_chromium
    run -0 browse pairs.html "
        var a=[],maps=document.querySelectorAll('svg.heat');
        function key(svg,k){svg.dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true}));
            return svg.nextElementSibling.querySelector('output').textContent}
        a.push(key(maps[0],'ArrowRight'));a.push(key(maps[0],'ArrowDown'));a.push(key(maps[1],'ArrowDown'));
        a.push(key(maps[0],'ArrowLeft'));document.title='ANSWER '+a.join('|')"
    echo "$output"
    local pair=': [0-9.]+ GB/s, [0-9.]+ us(, [0-9.]+ % sent again)?'
    [[ $output =~ ^"ANSWER rank 0 to rank 1"$pair\|"rank 1 to rank 1: itself|rank 1 to rank 0"$pair\|"rank 1 to rank 0"$pair$ ]]
    quiet_browser
}

@test "Chromium: 512 hosts open in under a second" {
    needs_chromium
    python3 "$ROOT/tests/cli/windsock_runs.py" 512 >many.json
    "$BIN/windsock" diff many.json many.json --report many.html >/dev/null
    rm many.json
    page_is_sound many.html
    # The best of three; and where this machine has other things to do, what its processors did for
    # it, in all processes: whose children's time Chromium leaves uncounted ends as ours.
    local best=99999 took blank before
    local AROUND=(timeout 60 python3 -c '
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
code = subprocess.call(sys.argv[1:])
try:
    while True: os.wait()
except ChildProcessError:
    sys.exit(code)')
    echo '<html><body></body></html>' >blank.html
    worked
    before=$WORKED_MS
    run -0 browse blank.html "document.title='ANSWER'"
    worked
    blank=$((WORKED_MS - before))
    for _ in 1 2 3; do
        before=$WORKED_MS
        run -0 browse many.html "document.title='ANSWER '+Math.round(performance.now())"
        worked
        [[ $output == "ANSWER "* ]] || continue
        for took in "${output#ANSWER }" $((WORKED_MS - before - blank)); do
            best=$((took < best ? took : best))
        done
        ((best >= 1000)) || break
    done
    echo "opened in $best ms; an empty page takes $blank ms of processor time"
    # where an empty page alone costs more than a second that is another machine's, or shared
    ((best < (blank > 1000 ? blank : 1000)))
    quiet_browser
}
