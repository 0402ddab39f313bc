#!/usr/bin/env bats
# ncclwhy: its contract on the command line, the labelled and the clean logs,
# a wrapped command, and a growing log.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    why=$BIN/ncclwhy
    logs=$ROOT/tests/logs
    cd "$BATS_TEST_TMPDIR" || return
    standin=
}

teardown() {
    if [[ -n $standin ]]; then
        kill "$standin" 2>/dev/null || true
        wait "$standin" 2>/dev/null || true
    fi
}

on_the_new_one() { # the follower has opened what took the log's place
    [[ $(readlink "/proc/$standin/fd/"* 2>/dev/null) == *"$PWD/grow"$'\n'* ||
        $(readlink "/proc/$standin/fd/"* 2>/dev/null) == *"$PWD/grow" ]]
}

@test "a cause is exit 1, with what to type; all of it in the JSON" {
    run -1 --separate-stderr "$why" "$logs/made/virtual-offer.log"
    [[ ${lines[0]} == fail*log.cause*CON-001*172.19.0.1* ]]
    [[ $output == *"export NCCL_SOCKET_IFNAME='=ens3'"* ]]
    run -1 --separate-stderr "$why" --json "$logs/made/virtual-offer.log"
    jq -e '.verdict == "fail" and (.data.causes[0] | .id == "CON-001" and .line == 4
        and .host == "node0" and (.matched | contains("172.19.0.1")) and (.meaning | length > 0)
        and .confidence > 0.5 and .confident and (.confirm | length > 0) and (.fix | length > 0))' <<<"$output"
    valid
}

@test "every labelled log: the confirmed cause is first" {
    local good=0 all=0
    while IFS=$'\t' read -r file id _; do
        [[ $file != \#* ]] || continue
        all=$((all + 1))
        run -1 --separate-stderr "$why" --json "$logs/$file"
        [[ $(jq -r '.data.causes[0].id' <<<"$output") != "$id" ]] || good=$((good + 1))
        jq -e --arg id "$id" '[.data.causes[:3][].id] | index($id) != null' <<<"$output"
    done <"$logs/labels.tsv"
    ((good * 10 >= all * 9))
}

@test "the same cause however the log was collected" {
    local file id want how
    while IFS=$'\t' read -r file id _; do
        [[ $file == real/* ]] || continue
        want=$("$why" --json "$logs/$file" | jq -r '.data.causes[0].id')
        jq -R -c '{log: (. + "\n"), stream: "stderr"}' "$logs/$file" >json
        jq -R . "$logs/$file" | sed 's/^/      /; s/"$/\\n",/' >notebook
        sed $'s/^/\033[31m/; s/$/\033[0m\r/' "$logs/$file" >colours
        iconv -f UTF-8 -t UTF-16 "$logs/$file" >wide
        sed 's/^/| /' "$logs/$file" >framed
        for how in json notebook colours wide framed; do
            [[ $("$why" --json "$how" | jq -r '.data.causes[0].id') == "$want" ]] || {
                echo "$file ($id) as $how: not $want"
                false
            }
        done
    done <"$logs/labels.tsv"
}

@test "50 clean logs: nothing confident" {
    "$logs/make-clean" clean 50 7
    for f in clean/*; do
        run -0 --separate-stderr "$why" --json "$f"
        jq -e '[.data.causes[] | select(.confident)] | length == 0' <<<"$output"
    done
}

@test "nothing known: exit 0, said honestly, with what to collect" {
    printf 'all quiet\n' >log
    run -0 --separate-stderr "$why" log
    [[ $output == *"no failure that we know"* ]]
    [[ $output == *NCCL_DEBUG=INFO*NCCL_DEBUG_FILE=* ]]
    [[ $output == *TORCH_DISTRIBUTED_DEBUG=INFO* ]] # DETAIL crashes some builds of torch
    [[ $output == *Xid* ]]
}

@test "stdin, several files, an empty one, a missing one, a folder, a compressed one" {
    run -1 --separate-stderr "$why" - <"$logs/real/020.log"
    [[ $output == *CON-013* ]]
    run -1 --separate-stderr "$why" --json "$logs/real/020.log" "$logs/made/nworlds.log"
    [[ $(jq -c '.data.log.files | length' <<<"$output") == 2 ]]
    run -3 --separate-stderr "$why" /dev/null
    [[ $output == *"nothing to read"* ]]
    run -2 --separate-stderr "$why" --json missing.log # the command line is wrong
    [[ ! $output && $stderr == *missing.log* && $stderr != *TORCH_NCCL* ]]
    run -2 --separate-stderr "$why" "$PWD/nccl_trace_rank_*" # as the shell leaves it where there is none
    [[ $stderr == *"no file here is called so"*"host of each rank"*TORCH_NCCL_DUMP_ON_TIMEOUT=1* ]]
    mkdir 'logs of it' && run -2 --separate-stderr "$why" --follow 'logs of it'
    [[ $stderr == *"Is a directory"*"ncclwhy 'logs of it'"* ]]
    touch x.log.gz
    run -3 --separate-stderr "$why" x.log.gz
    [[ $stderr == *"zcat x.log.gz | ncclwhy"* ]]
    gzip -c "$logs/real/020.log" >packed.log # whatever it is called
    run -3 --separate-stderr "$why" packed.log
    [[ $stderr == *"zcat packed.log | ncclwhy"* ]]
    run -3 --separate-stderr "$why" <packed.log
    [[ $stderr == *"zcat | ncclwhy"* ]]
    printf 'PK\003\004and the rest' >logs_123
    run -3 --separate-stderr "$why" logs_123
    [[ $stderr == *"unzip -p logs_123 | ncclwhy"* ]]
}

@test "what cannot be read is said, and the rest is read" {
    mkdir none
    run -1 --separate-stderr "$why" --json missing.log "$logs/real/020.log" none "$logs/real/033.log"
    jq -e '[.data.causes[].id] == ["CON-013", "GPU-010"]' <<<"$output"
    [[ $stderr == *missing.log*"No such file"* && $stderr == *"no file in none"* ]]
    run -1 --separate-stderr "$why" missing.log "$logs/real/020.log"
    [[ $stderr == *missing.log*"No such file"* ]]
    [[ ${lines[-1]} == "FAIL  a file was not read, the only check failed: "*" of 1 log" ]]
    run -1 --separate-stderr "$why" missing.log "$logs/real/020.log" absent.log
    [[ ${lines[-1]} == "FAIL  2 files were not read, the only check failed: "*" of 1 log" ]]
    touch packed.log.gz
    run -3 --separate-stderr "$why" packed.log.gz
    [[ ${lines[-1]} == "ERROR  nothing was read, 1 skipped" ]]
}

@test "a file of another user names who may read it, and data is not taken for a log" {
    local as=(env)
    ((EUID)) || as=(setpriv '--bounding-set=-dac_override,-dac_read_search')
    cp "$logs/real/020.log" own.log
    mkdir theirs
    chmod 000 own.log theirs
    run -3 --separate-stderr "${as[@]}" "$why" own.log
    [[ $stderr == *"own.log: Permission denied"*"ncclwhy own.log"* ]]
    run -3 --separate-stderr "${as[@]}" "$why" theirs
    [[ $stderr == *"theirs: Permission denied"*"ncclwhy theirs"* ]]
    chmod 755 own.log theirs
    head -c 9999 "$why" >theirs/core.41
    run -3 --separate-stderr "$why" theirs/core.41
    [[ $stderr == *"is no text"*"what the ranks printed"* ]]
    run -3 --separate-stderr "$why" - <theirs/core.41
    [[ $stderr == *"stdin is no text"* ]]
    cp own.log theirs
    run -1 --separate-stderr "$why" theirs
    [[ $stderr == *"left out 1 file of weights or data, such as theirs/core.41"* && $output == *CON-013* ]]
}

@test "usage errors leave stdout empty" {
    run -2 --separate-stderr "$why" --folow x
    [[ -z $output && $stderr == *--follow* ]]
    run -2 --separate-stderr "$why" --follow
    [[ -z $output ]]
    run -2 --separate-stderr "$why" -- </dev/null # as an empty variable behind it leaves it
    [[ -z $output && $stderr == *"-- wants a command"*"ncclwhy -- torchrun train.py"* ]]
    run -2 --separate-stderr "$why" --json -- true
    [[ -z $output && $stderr == *--output* ]]
    run -2 --separate-stderr "$why" --live --follow x
    [[ -z $output ]]
}

@test "a wrapped command: its words, its code, our explanation on stderr" {
    run -0 --separate-stderr "$why" -- sh -c 'printf "out\n"; printf "err\n" >&2'
    [[ $output == out && $stderr == err ]]
    run -7 --separate-stderr "$why" -- sh -c "cat $logs/real/008.log; exit 7"
    [[ $output == "$(cat "$logs/real/008.log")" ]]
    [[ $stderr == *SHM-002* && $stderr == *shm-size* ]]
    run -143 --separate-stderr "$why" -- sh -c 'echo begun; kill -TERM $$'
    [[ $output == begun && -z $stderr ]] # told to end, and nothing to explain
    run -127 --separate-stderr "$why" -- no-such-command-here
    [[ $stderr == *no-such-command-here* ]]
    run -5 --separate-stderr "$why" --json --output o.json -- sh -c "cat $logs/real/020.log; exit 5"
    jq -e '.data.causes[0].id == "CON-013"' o.json
}

@test "a wrapped command: stdin passes, bytes are not touched" {
    head -c 300000 /dev/urandom >in
    "$why" -- cat <in >out
    cmp in out
}

@test "a wrapped command: its streams stay in order; on a terminal it has one" {
    cat >talk.sh <<'END'
for i in 1 2 3 4 5 6 7 8 9; do echo "o$i"; echo "e$i" >&2; done
END
    sh talk.sh >want 2>&1
    "$why" -- sh talk.sh >into-file 2>&1
    cmp want into-file
    "$why" -- sh talk.sh 2>&1 | cat >into-pipe
    cmp want into-pipe
    cat >tty.sh <<'END'
for fd in 0 1 2; do [ -t $fd ] && echo "fd $fd is a terminal"; done
stty size <&1
exit 3
END
    run -3 script -qec "stty rows 33 cols 71; '$why' --stall 0 -- sh tty.sh" /dev/null </dev/null
    for fd in 0 1 2; do [[ $output == *"fd $fd is a terminal"* ]]; done
    [[ $output == *"33 71"* ]]
}

@test "a wrapped command gets every signal that we get, as often as we get it" {
    cat >job.sh <<'END'
trap 'echo usr1' USR1
trap 'echo int' INT
trap 'echo hup; exit 5' HUP
echo ready
for _ in $(seq 1200); do sleep 0.05; done
END
    "$why" -- sh ./job.sh >out 2>err 3>&- &
    standin=$!
    wait_for 10 grep -q ready out
    kill -USR1 "$standin"
    wait_for 10 grep -q usr1 out
    kill -INT "$standin"
    wait_for 10 grep -q int out
    kill -INT "$standin" # a second one ends neither of us
    wait_for 10 eval '(($(grep -c int out) == 2))'
    kill -HUP "$standin"
    local code=0
    wait "$standin" || code=$?
    standin=
    ((code == 5))
    grep -q hup out
}

@test "a wrapped command: what it left behind does not keep us from ending" {
    "$why" -- sh -c '(while sleep 0.1; do echo still || exit; done) & exit 6' >out 3>&- &
    standin=$!
    wait_for 10 eval '(($(grep -c still out) > 2))'
    local code=0
    for _ in $(seq 20); do # the first may still find the command
        kill -TERM "$standin" 2>/dev/null || break
        sleep 0.5
    done
    kill -KILL "$standin" 2>/dev/null || true
    wait "$standin" || code=$?
    standin=
    ((code == 6))
}

@test "a wrapped command: a full disk is the command's own to bear, and is said" {
    run -3 --separate-stderr sh -c "'$why' -- sh -c 'echo a; sleep 0.1; echo b; : >lived; exit 0' >/dev/full"
    [[ -e lived && $stderr == *"No space left"* ]]
    run -9 --separate-stderr sh -c "'$why' -- sh -c 'echo a; exit 9' >/dev/full"
    [[ $stderr == *"No space left"* ]]
}

@test "a wrapped command is told that its terminal hung up, silent as it may be" {
    cat >hang-up.py <<'END'
import os, pty, sys, time
job = "trap ': >told; exit' HUP; echo $$ >new; mv new ready; while :; do sleep 0.05; done"
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "--", "sh", "-c", job])
end = time.time() + 20
while not os.path.exists("ready") and time.time() < end:
    time.sleep(0.02)
os.close(terminal)
while os.waitpid(pid, os.WNOHANG)[0] == 0:
    if time.time() > end:
        for left in pid, int(open("ready").read()):
            os.kill(left, 9)
        break
    time.sleep(0.02)
sys.exit(not os.path.exists("told"))
END
    python3 hang-up.py "$why" 3>&-
}

@test "a pipe by name: read to its end, and nobody need write to it" {
    mkfifo named
    for how in "" --follow; do
        # shellcheck disable=SC2086
        run -124 timeout -k 10 0.5 "$why" $how named
    done
    { cat "$logs/real/020.log"; sleep 0.1; cat "$logs/real/033.log"; } >named 3>&- &
    standin=$!
    run -1 --separate-stderr "$why" --json named
    jq -e '[.data.causes[].id] | index("CON-013") != null and index("GPU-010") != null' <<<"$output"
}

@test "a wrapped command that stalls is explained while it runs" {
    "$why" --stall 0.3 -- sh -c "cat $logs/real/020.log; exec sleep 30" >out 2>err 3>&- &
    standin=$!
    wait_for 10 grep -q 'no output for a while: CON-013' err
}

@test "a growing log: said once it is known, through truncation and rotation" {
    : >grow
    "$why" --follow --stall 0 grow >out 2>err 3>&- &
    standin=$!
    cat "$logs"/real/020.log{,} >>grow
    wait_for 10 grep -q CON-013 err
    : >grow
    echo 'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.' >>grow
    wait_for 10 grep -q GPU-011 err
    mv grow grow.1
    echo 'misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-XyZ to 9637892 bytes' >>grow.1
    cat "$logs/real/027.log" "$logs/real/033.log" >grow
    wait_for 10 on_the_new_one
    local code=0
    kill -INT "$standin" # the end of it, and no interruption
    wait "$standin" || code=$?
    standin=
    ((code == 1))
    ! grep -q -E 'interrupted|stopped before' out err || false
    ! grep -v '^ncclwhy: ' err || false # its line and what to type: each says who speaks
    grep -q GPU-011 out
    grep -q SHM-002 out
    grep -q PT-010 out
}

@test "a growing log that is well: Ctrl-C is its end, and the exit is 0; its budget's is none" {
    echo 'step 1 loss 2.5' >grow
    "$why" --follow --stall 0 grow >out 2>err 3>&- &
    standin=$!
    wait_for 10 on_the_new_one
    local code=0
    kill -TERM "$standin"
    wait "$standin" || code=$?
    standin=
    ((code == 0))
    run -3 --separate-stderr "$why" --follow --budget 300ms grow
}

@test "--confirm looks on this host" {
    run -1 --separate-stderr "$why" --json --confirm "$logs/real/020.log"
    jq -e '[.findings[] | select(.check == "log.confirm" and .subject == "CON-013")] | length == 1' <<<"$output"
    # under a low limit the cause is confirmed and weighs more
    run -1 --separate-stderr bash -c "ulimit -n 256; '$why' --json --confirm '$logs/real/020.log'"
    jq -e '[.findings[] | select(.check == "log.confirm") | .message | startswith("confirmed:")] | any' <<<"$output"
}

@test "--look answers for entries of the catalogue, and refuses others" {
    run -0 --separate-stderr "$why" --json --look SHM-001,PT-001:29519
    jq -e '.data.looked | map(.id) == ["SHM-001", "PT-001"] and .[1].port == 29519 and
        (map(.state) - ["yes", "no", "unknown"] == []) and (.[1].said | contains("29519"))' <<<"$output"
    run -0 --separate-stderr "$why" --json --look SHM-007,GPU-038
    jq -e '.data.looked[0] | (.said | test("mode [0-7]+")) and (.state == "yes" or .state == "no")' <<<"$output"
    for wrong in NOPE-9 SHM-001,NOPE-9 PT-001:0 ','; do # before anything is said of the first
        run -2 --separate-stderr "$why" --look "$wrong"
        [[ -z $output && $stderr == *"${wrong#*,}"* ]]
    done
    run -2 --separate-stderr "$why" --look SHM-001 train.log
    run -2 --separate-stderr "$why" --hosts a
    [[ $stderr == *"files to read there, or with --confirm"* ]]
}

@test "--confirm --hosts: each host is asked, and one that shows it is named" {
    # stands for ssh: low has few files, gone does not answer, ok1 and ok2 have plenty
    # (which no limit of ours could give them everywhere)
    cat >rsh <<'END'
#!/bin/sh
host=$1
shift
[ "$host" != gone ] || { echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255; }
case $host in
low) ulimit -n 256; exec sh -c "$*" ;;
*) sh -c "$*" | sed 's/"state": *"[a-z]*"/"state":"no"/' ;;
esac
END
    chmod +x rsh
    run -1 --separate-stderr "$why" --json --confirm --rsh ./rsh --hosts ok1,low "$logs/real/020.log"
    jq -e '[.findings[] | select(.check == "log.confirm" and .subject == "CON-013") | .message]
        | length == 1 and (.[0] | startswith("confirmed on low: ") and contains("256"))' <<<"$output"
    more=$(jq '.data.causes[] | select(.id == "CON-013") | .confidence' <<<"$output")
    run -1 --separate-stderr "$why" --json --confirm --rsh ./rsh --hosts ok1,ok2 "$logs/real/020.log"
    jq -e '[.findings[] | select(.check == "log.confirm" and .subject == "CON-013") | .message
        | startswith("not so on any of 2 hosts: ")] == [true]' <<<"$output"
    less=$(jq '.data.causes[] | select(.id == "CON-013") | .confidence' <<<"$output")
    jq -en "$more > $less"
    # a host that is not there is said, and decides nothing
    run -1 --separate-stderr "$why" --json --confirm --rsh ./rsh --hosts gone "$logs/real/020.log"
    jq -e '([.findings[] | select(.check == "host.answer" and .subject == "gone" and .status == "fail")]
        | length == 1) and ([.findings[] | select(.check == "log.confirm" and .subject == "CON-013")
        | .message | startswith("not decided: ")] == [true])' <<<"$output"
}

@test "--confirm knows a host by its whole name and by the first word of it, as NCCL writes it" {
    unshare -u true 2>/dev/null || skip "another hostname is root's"
    echo 'gpu1:4711:4800 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-GXcTGi to 9637892 bytes, error: No space left on device (28)' >nc.log
    named() { # NAME OPTION...: so is this host called
        run -1 --separate-stderr unshare -u sh -c 'hostname "$1"; shift; exec "$@"' sh "$1" "$why" --json --confirm "${@:2}" nc.log
    }
    named gpu1.example.com
    jq -e '[.findings[] | select(.check == "log.confirm") | .message | contains("the log is of")] == [false]' <<<"$output"
    named gpu12.example.com
    jq -e '[.findings[] | select(.check == "log.confirm") | .message | endswith("; the log is of gpu1")] == [true]' <<<"$output"
    # another host that shows it does not speak for the log's
    cat >rsh <<'END'
#!/bin/sh
host=$1
shift
name=gpu2 state=yes
[ "$host" != 10.0.0.1 ] || name=gpu1 state=no
unshare -u sh -c "hostname $name.example.com; $*" | sed "s/\"state\": *\"[a-z]*\"/\"state\":\"$state\"/"
END
    chmod +x rsh
    named head --rsh ./rsh --hosts 10.0.0.1,10.0.0.2
    jq -e '[.findings[] | select(.check == "log.confirm") | .message | startswith("not so on 10.0.0.1: ")] == [true]' <<<"$output"
}

@test "100 MB of log: in a second or so, and little memory" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    for _ in $(seq 40); do cat "$logs"/real/*.log "$logs"/made/*.log; done >one
    for _ in $(seq 250); do cat one; done >big
    worked
    local before=$WORKED_MS
    run -1 --separate-stderr bash -c "ulimit -v 50000; '$why' --json big"
    worked
    ((WORKED_MS - before < 10000))
    jq -e '.data.log.bytes > 90000000' <<<"$output"
}

@test "its page counts the signatures that there are" {
    grep -q "^The $(cat "$ROOT"/probes/log/known/*.def | grep -c '^SIG(') signatures are in" "$ROOT/docs/ncclwhy.md"
}

@test "a log that was broken at 72 or 80 columns gives the same cause, in the same line of the file" {
    printf '%s\n' 'start of the run' \
        'node1:4711:4720 [2] NCCL INFO NET/Socket : Using [0]ens3:10.3.0.4<0> [1]ens4:10.4.0.4<0>' \
        'RuntimeError: this text only makes the line longer; CUDA error: invalid device ordinal here' >whole
    run -1 "$why" --json whole
    jq -e '.data.causes[0] | .id == "GPU-003" and .line == 3' <<<"$output"
    for how in '-w 72' '-w 80' '-s -w 72' '-s -w 80'; do
        # shellcheck disable=SC2086 # several words
        fold $how whole >broken
        run grep -c 'invalid device ordinal' broken
        [[ $how == -s* ]] || [ "$output" = 0 ]
        run -1 "$why" --json broken
        jq -e '.data.causes[0] | .id == "GPU-003" and .line == 4' <<<"$output"
        run -1 "$why" --json - <broken
        jq -e '.data.causes[0] | .id == "GPU-003" and .line == 4' <<<"$output"
    done
}
