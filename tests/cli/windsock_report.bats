#!/usr/bin/env bats
# The page that --report writes. Structure and self-containment by a parser; in real
# headless Chromium: no error on the console, no request, quick to open for 512 hosts,
# and its buttons and keys do what they say.
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
    [ "$stderr" = "windsock: report: epochs.html" ] || { echo "$stderr"; false; }
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
    [[ $output == "ANSWER 1 rows|1 rows|node0 to node2: none answers (filtered)|"@(Copied|Select it)"|Copy" ]]
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

@test "Chromium: how long an answer takes is said by the keys; who reaches whom in the words of its key" {
    needs_chromium
    jq '.data.parts.reach.matrix.cells[0][1] = "partial" | .data.parts.reach.targets += [{from: "node0", to: "node1", ms: 0.0123456}]' four.json >part.json
    "$BIN/windsock" diff part.json part.json --report part.html >/dev/null
    page_is_sound part.html
    run -0 browse part.html "
        var a=[],maps=document.querySelectorAll('svg.heat');
        function key(svg,k){svg.dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true}));
            return svg.nextElementSibling.querySelector('output').textContent}
        a.push(key(maps[0],'ArrowRight'),key(maps[0],'ArrowLeft'));
        a.push(maps[1].tabIndex,key(maps[1],'ArrowLeft'),key(maps[1],'ArrowRight'),key(maps[1],'ArrowRight'));
        document.title='ANSWER '+a.join('|')"
    echo "$output"
    [ "$output" = "ANSWER node0 to node1: some ports do not|node0 to node0: itself|0|node0 to node0: itself|node0 to node1: 0.0123 ms|node0 to node2: no answer" ]
    quiet_browser
}

@test "Chromium: on paper what was closed is open, and closed again after it" {
    needs_chromium
    run -0 browse pairs.html "
        var all=document.querySelectorAll('details'),a=[all.length>0];
        function open(){return document.querySelectorAll('details[open]').length}
        all.forEach(function(x,i){x.open=i>0});
        a.push(all.length-open());dispatchEvent(new Event('beforeprint'));a.push(all.length-open());
        dispatchEvent(new Event('afterprint'));a.push(all.length-open());document.title='ANSWER '+a.join()"
    [ "$output" = "ANSWER true,1,0,1" ]
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
