#!/usr/bin/env bats
# windsock's contract on one machine: the order of stages, what a failed one does
# to those above it, siblings that are missing, crash, hang or print junk, budgets,
# and that nothing is left behind. The siblings are stand-ins in a folder of the
# test's own, beside a copy of windsock; one test runs the real ones.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
    mkdir own
    cp "$BIN/windsock" own/
    for name in ifprobe portcheck ncclbench ddpsmoke; do
        says "$name" pass
    done
}

stand_in() { # COMMAND SCRIPT: what the sibling does; it notes that it was called
    printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$PWD" "$2" >"own/$1"
    chmod +x "own/$1"
}

envelope() { # COMMAND FINDINGS
    printf '{"windsock":"0.1.0","schema":1,"command":"%s","host":"%s","time":"2026-11-20T11:00:00Z","seconds":0,"verdict":"pass","findings":[%s],"series":[],"data":{"from":"%s"},"nodes":[]}' \
        "$1" "$(uname -n)" "$2" "$1"
}

finding() { # CHECK STATUS MESSAGE [FIX]
    printf '{"check":"%s","status":"%s","subject":"x","host":"%s","message":"%s"%s}' \
        "$1" "$2" "$(uname -n)" "$3" "${4:+,\"fix\":[\"$4\"]}"
}

says() { # COMMAND STATUS [EXIT CODE]
    stand_in "$1" "printf '%s' '$(envelope "$1" "$(finding "$1.test" "$2" "$1 says $2" "fix-$1")")'; exit ${3:-0}"
}

windsock() { PATH=$PATH_WITHOUT own/windsock "$@"; }
PATH_WITHOUT=/usr/bin:/bin

state() { # CHECK: its states in $output
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | .status' <<<"$output"
}

said() { # CHECK: its messages in $output
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | .message' <<<"$output"
}

called() { cut -d' ' -f1 calls | paste -sd,; }


nothing_left() { # of the sleeps that stand-ins began, but for what is just being buried
    for _ in $(seq 60); do
        pgrep -f "sleep 98765$BASHPID_OF_TEST\$" >/dev/null || return 0
        sleep 0.05
    done
    return 1
}
BASHPID_OF_TEST=$$

@test "all stages in the order of their dependency, each command's findings merged" {
    run -0 --separate-stderr windsock --json
    [ -z "$stderr" ]
    valid
    [ "$(called)" = ifprobe,ifprobe,portcheck,ncclbench,ddpsmoke ]
    [ "$(sed -n 2p calls | grep -c -- --check)" = 1 ]
    [ "$(sed -n 4p calls | grep -c -- '--np=2')" = 1 ]
    [ "$(jq -r '.data.stages[] | "\(.name) \(.status)"' <<<"$output" | paste -sd,)" = \
        "interface pass,settings pass,limits pass,gpus pass,ports pass,collectives pass,training pass" ] ||
        [[ $(jq -r '.data.stages[] | select(.name != "limits" and .name != "gpus").status' <<<"$output" | sort -u) == pass ]]
    [ "$(jq -r '.data.parts | keys_unsorted | join(",")' <<<"$output")" = interface,settings,ports,collectives,training ]
    [ "$(jq '[.findings[]] | length' <<<"$output")" = "$(jq '[.data.stages[].findings] | add' <<<"$output")" ]
    [ "$(state ddpsmoke.test)" = pass ]
    run -0 --separate-stderr windsock
    [[ ${lines[-1]} == PASS*": this host only; nothing between hosts was tested" ]]
}

@test "quick leaves out collectives and training; full asks for longer sweeps" {
    run -0 --separate-stderr windsock --quick --json
    [ "$(called)" = ifprobe,ifprobe,portcheck ]
    [ "$(jq -r .data.tier <<<"$output")" = quick ]
    rm calls
    run -0 windsock --full --json
    grep -q 'ncclbench.*--maxbytes=1G --within=' calls
    run -2 --separate-stderr windsock --full --quick
    [ -z "$output" ]
    run -2 --separate-stderr windsock --nodes there
}

@test "--checkpoint: training saves there; what trains nothing refuses it" {
    windsock --checkpoint /some/place >/dev/null
    grep -q '^ddpsmoke .*--checkpoint=/some/place' calls
    [ "$(grep -c checkpoint calls)" -eq 1 ]
    rm calls
    run -2 windsock --quick --checkpoint /some/place
    [[ $output == *"without --quick"* ]]
    run -2 windsock --checkpoint ''
    [[ $output == *"is no folder"* ]]
    [ ! -e calls ]
}

@test "what is compared between hosts goes with them" {
    local args
    for args in '--same /etc/hosts' '--master nosuch.invalid' '--nodes x' --keep; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/windsock" --quick $args
        [[ -z $output && $stderr == *"${args%% *} goes with --hosts"* ]]
    done
}

@test "what --same has no time for is said, and costs nothing of what was found out" {
    mkdir large
    truncate -s 60M large/{1..900} # holes: all of it takes a minute or more
    run -0 --separate-stderr windsock --here --quick --same "$PWD/large" --same "$PWD/calls" --budget 4s --json
    valid
    [ "$(jq -r --arg d "$PWD/large" '.data.facts.same[$d]' <<<"$output")" = "not read to its end in time" ]
    [ "$(called)" = ifprobe,ifprobe,portcheck ]
    [ "$(jq -r '.data.facts.cpus | type' <<<"$output")" = number ] # which is behind it
}

@test "what --same cannot read, since a file system does not answer, is said, and the run goes on" {
    mkdir -p hung ok
    echo x >hung/file
    echo y >ok/file
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o hung.so "$ROOT/tests/fake/libhung.c"
    ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" LD_PRELOAD=$PWD/hung.so run -0 --separate-stderr timeout -k 1 60 \
        "$BIN/windsock" --here --quick --same "$PWD/hung" --same "$PWD/ok" --json
    valid
    [ "$(jq -r --arg d "$PWD/hung" '.data.facts.same[$d]' <<<"$output")" = "unreadable ($PWD/hung/file: no answer for 10 s)" ]
    [[ $(jq -r --arg d "$PWD/ok" '.data.facts.same[$d]' <<<"$output") == *", 1 file" ]]
    [ "$(jq -r --arg d "$PWD/ok" '.data.facts.same_files[$d] | length' <<<"$output")" = 1 ]
}

@test "a home whose file server is gone hangs none of the commands; windsock names it" {
    mkdir -p hung/me
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o hung.so "$ROOT/tests/fake/libhung.c"
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0"
    HOME=$PWD/hung/me LD_PRELOAD=$PWD/hung.so run -1 --separate-stderr timeout -k 1 60 "$BIN/windsock" --here --quick --json
    valid
    [ "$(jq -r '.data.causes[0] | "\(.check) \(.subject) \(.status)"' <<<"$output")" = "limits.dead $PWD/hung/me fail" ]
    fix=$(jq -r '.data.causes[0].fix[0]' <<<"$output")
    [[ $fix == "findmnt "* && $fix != *hung* ]] # whoever looks there, as findmnt -T does, hangs
    for tool in "ifprobe --check" portcheck "ncclbench -b 8 -e 8" "ddpsmoke --steps 1"; do
        # shellcheck disable=SC2086 # words
        HOME=$PWD/hung/me LD_PRELOAD=$PWD/hung.so run timeout -k 1 30 "$BIN"/$tool
        [ "$status" -lt 5 ] # an answer of its own, not that of being stopped
    done
}

@test "a home whose file system is slow: said of it, and what to look at; of others nothing" {
    mkdir slow ok
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o slow.so "$ROOT/tests/fake/libslow.c"
    for at in slow ok; do
        TMPDIR=/nowhere HOME=$PWD/$at ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" LD_PRELOAD=$PWD/slow.so \
            run -0 --separate-stderr "$BIN/windsock" --here --quick --json
        valid
        said=$(jq -r '.findings[] | select(.check == "limits.slow") | "\(.status) \(.subject) \(.message) \(.fix[0])"' <<<"$output")
        if [ $at = slow ]; then
            [[ $said == "warn $PWD/slow takes "[3-9]*" ms to say that a file is not there: "*"findmnt -T $PWD/slow;"* ]]
        else
            [ -z "$said" ]
        fi
    done
}

@test "the NCCL that is installed has its version in facts, an old one too" {
    for version in 2.8.4 2.28.9; do
        { head -c 64 /dev/zero; printf 'NCCL version %s\n' "$version"; } >libnccl.so.2
        run -0 --separate-stderr env WINDSOCK_NCCL="$PWD/libnccl.so.2" "$BIN/windsock" --here --quick --json
        [ "$(jq -r .data.facts.nccl <<<"$output")" = "$version" ]
    done
}

@test "--nodes: a folder that cannot be made is told before anything is tested" {
    [ "$(id -u)" = 0 ] || skip "root alone may become somebody else"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
    install "$BIN/windsock" .
    for folder in /no-such-folder /no-such-folder/below; do
        run -3 --separate-stderr env WINDSOCK_RSH='touch asked;' setpriv --reuid 65534 --regid 65534 \
            --clear-groups ./windsock --hosts n1,n2 --quick --nodes "$folder" --deadline 1s
        [[ $stderr == *"cannot write /no-such-folder: folder /"* && $output != *host.answer* ]]
    done
}

@test "a failed layer explains the ones above it" {
    says ifprobe fail 1
    run -1 --separate-stderr windsock --json
    valid
    [ "$(called)" = ifprobe ]
    for stage in settings ports collectives training; do
        [ "$(state "stage.$stage")" = skip ]
        [[ $(said "stage.$stage") == "not reached because interface failed: x ifprobe says fail" ]]
    done
    [ "$(state limits.shm)" != "" ] # nothing stands on it, so it is looked at
    [ "$(jq -r '.data.causes[0] | .stage, .fix[0]' <<<"$output")" = $'interface\nfix-ifprobe' ]
    run -1 --separate-stderr windsock
    [[ $output == *"What to do, the first cause first"*"1. interface: x ifprobe says fail"*"-> fix-ifprobe"* ]]
    says ifprobe pass
    says ncclbench fail 1
    run -1 --separate-stderr windsock --json
    [ "$(state portcheck.test)" = pass ]
    [[ $(said stage.training) == "not reached because collectives failed: x ncclbench says fail" ]]
}

@test "a sibling that is not there is skipped and said, never an error" {
    rm own/ncclbench own/ddpsmoke
    run -0 --separate-stderr windsock --json
    valid
    [ "$(state stage.collectives)" = skip ]
    [[ $(said stage.training) == "ddpsmoke is not there: not beside windsock"* ]]
    mkdir elsewhere
    mv own/portcheck elsewhere/
    PATH_WITHOUT=$PWD/elsewhere:/usr/bin:/bin
    run -0 windsock --quick --json
    [ "$(state portcheck.test)" = pass ]
}

@test "commands that are there and fail, here or on one host: why they do, and nothing of our installation" {
    for tool in ifprobe portcheck; do
        stand_in $tool "if [ \"\${ON-b}\" = b ]; then printf '%s' '$(envelope $tool "$(finding run error 'cannot ask the kernel')")'; exit 3; fi
            printf '%s' '$(envelope $tool "$(finding $tool.test pass fine)")'"
    done
    run -3 --separate-stderr windsock --here --quick
    [[ $stderr == *"nothing conclusive: no command of the suite came to a result; why is said above"* ]]
    run ! grep 'make install' <<<"$output$stderr"
    printf '#!/bin/sh\nexport ON=$1\nexec sh -c "$2"\n' >rsh
    chmod +x rsh
    run -3 --separate-stderr windsock --hosts a,b --rsh "$PWD/rsh" --quick --json
    valid
    [[ $stderr != *"no host was asked"* ]]
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.hosts[0]) \(.message)"' <<<"$output")" = "interface b cannot ask the kernel" ]
    run ! grep 'make install' <<<"$output$stderr"
}

@test "--hosts without an ssh client: one cause, and nothing about our own installation" {
    mkdir few
    ln -s "$(command -v sh)" few/sh
    run -3 --separate-stderr env -u WINDSOCK_RSH PATH="$PWD/few" "$BIN/windsock" --hosts a,b --quick
    [ "$(grep -c '^[1-9]\. ' <<<"$output")" = 1 ]
    [[ $output == *"-> "*openssh-client* ]]
    [[ $stderr == *"nothing conclusive: no host was asked"* ]]
    run ! grep 'make install' <<<"$output$stderr"
}

@test "none of them is there: nothing conclusive, exit 3" {
    rm own/ifprobe own/portcheck own/ncclbench own/ddpsmoke
    run -3 --separate-stderr windsock --json
    valid
    [[ $stderr == *"nothing conclusive"* ]]
}

@test "a sibling that crashes, prints junk, or says nothing is named, and the rest goes on" {
    stand_in portcheck 'echo "about to" >&2; kill -SEGV $$'
    run -3 --separate-stderr windsock --json
    valid
    [[ $(said stage.ports) == "portcheck crashed: killed by SIGSEGV: about to" ]]
    [ "$(state stage.ports)" = error ]
    [ "$(state ddpsmoke.test)" = pass ]
    stand_in portcheck 'echo "{ junk"; exit 0'
    run -3 --separate-stderr windsock --json
    [[ $(said stage.ports) == *'answered "{ junk", not a report of portcheck'* ]]
    stand_in portcheck 'printf "no such thing\n  -> look for another\n" >&2; exit 2'
    run -3 --separate-stderr windsock --json
    [[ $(said stage.ports) == "portcheck ended with exit code 2 and no report: no such thing" ]]
    [ "$(state ncclbench.test)" = pass ]
    stand_in portcheck "head -c 40000000 /dev/zero | tr '\\0' x"
    run -3 --separate-stderr windsock --json
    [ "$(state stage.ports)" = error ]
}

@test "a sibling that hangs is stopped with all it began; deaf ones too" {
    stand_in portcheck "sleep 98765$BASHPID_OF_TEST & wait"
    run -3 --separate-stderr timeout 20 env PATH="$PATH_WITHOUT" own/windsock --json --deadline 500ms
    valid
    [[ $(said stage.ports) == "portcheck did not end within 1.5 s and was stopped"* ]]
    [ "$(state ddpsmoke.test)" = pass ]
    nothing_left
    stand_in portcheck "trap '' TERM; sleep 98765$BASHPID_OF_TEST & while :; do sleep 0.05; done"
    run -3 --separate-stderr timeout 20 env PATH="$PATH_WITHOUT" own/windsock --json --deadline 500ms
    [ "$(state stage.ports)" = error ]
    nothing_left
}

@test "exit codes: 1 beats 4 beats 3 beats 0" {
    absent=$(envelope ncclbench "$(finding run error 'no NCCL here')")
    stand_in ncclbench "printf '%s' '$absent'; exit 4"
    run -4 --separate-stderr windsock --json
    valid
    [[ $stderr == *"collectives: no NCCL here"* ]]
    [ "$(jq -r .data.absent <<<"$output")" = true ]
    stand_in portcheck 'kill -9 $$'
    run -4 windsock --json
    says ddpsmoke fail 1
    run -1 windsock --json
    says ddpsmoke pass
    says ncclbench pass
    run -3 windsock --json
    says portcheck warn
    run -0 windsock --json
    run -1 windsock --json --strict
}

# The run that is inside of a page, but for the fields that are of its own moment.
of_page() { sed -n 's:.* id="envelope">\(.*\)</script>.*:\1:p' "$1" | sed 's:<\\/:</:g' | jq 'del(.time, .seconds)'; }

@test "a page has the verdict, the findings and the error of the run that wrote it" {
    says portcheck warn
    for options in "" --strict; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr windsock --json $options --report page.html
        valid
        [ "$(of_page page.html)" = "$(jq 'del(.time, .seconds)' <<<"$output")" ]
    done
    [ "$(of_page page.html | jq -r .verdict)" = fail ]
    # what hangs is an error that the end of a run alone says
    stand_in ncclbench "exec sleep 60"
    run -3 --separate-stderr windsock --json --budget 9s --report page.html
    valid
    [ "$(of_page page.html)" = "$(jq 'del(.time, .seconds)' <<<"$output")" ]
    grep -q '<b>ERROR</b>' page.html
}

@test "causes: what failed before what broke before warnings, in the order of stages" {
    says ifprobe warn
    stand_in portcheck 'kill -9 $$'
    says ncclbench warn
    says ddpsmoke fail 1
    run -1 --separate-stderr windsock --json
    [ "$(jq -r '.data.causes[] | select(.stage != "limits") | "\(.stage) \(.status)"' <<<"$output" | paste -sd,)" = \
        "training fail,ports error,interface warn,collectives warn" ] # said once, though ifprobe ran twice
}

@test "a budget that leaves out every command is no missing installation" {
    run -3 --separate-stderr windsock --budget 100ms --json
    valid
    [[ $stderr == *"the budget was too short for any command"*"-> windsock --budget "[0-9]*s* ]]
    run -3 --separate-stderr windsock --quick --rsh ./rsh --hosts a,b --copy-self --budget 100ms --json
    [[ $stderr == *"the budget was too short for any command"*"-> windsock --quick --rsh ./rsh --hosts a,b --copy-self --budget "[0-9]*s* ]]
    [ ! -e calls ]
}

@test "what would fail at the end of a long run fails before it" {
    run -3 --separate-stderr windsock --report there/is/none.html
    [[ $stderr == *"folder there/is"* ]]
    run -2 --separate-stderr windsock --baseline missing.json
    echo '{"schema":1}' >other
    run -2 --separate-stderr windsock --baseline other
    [ ! -e calls ]
}

@test "temporary files without a place are a warning, a home that is not there is told" {
    HOME=$PWD/nowhere TMPDIR=$PWD/none run -0 --separate-stderr windsock --quick --json
    [ "$(state limits.writable)" = $'warn\ninfo' ]
    [[ $(said limits.writable) == "is not there: temporary files"*"is not there: the home"* ]]
    HOME=/ TMPDIR=/ run -0 --separate-stderr windsock --quick --json
    [ -z "$(state limits.writable)" ]
    HOME=/ TMPDIR='' run -0 --separate-stderr windsock --quick --json # as if it were not set
    [ -z "$(state limits.writable)" ]
}

@test "a budget picks what fits, says what it left out, and with how much all would fit" {
    run -0 --separate-stderr windsock --json --budget 2500ms
    valid
    [ "$(called)" = ifprobe,ifprobe,portcheck ]
    [[ $(said stage.training) == "left out: it takes about 4 s, more than the budget has left" ]]
    # once: the next line that says so has it not again
    [ "$(jq -r '[.findings[] | select(.check | startswith("stage.")) | .fix[]?] | join(",")' <<<"$output")" = \
        "windsock --budget 11s   # or without a budget" ]
    [ "$(jq -c .data.left_out <<<"$output")" = '["collectives","training"]' ]
    [[ $(jq -r .data.covers <<<"$output") == *"; the budget was too short for collectives, training" ]]
}

@test "a stage that is slow here makes those behind it take as much longer: measured, and said" {
    for name in portcheck ncclbench; do
        envelope $name "$(finding $name.a pass fine)" >$name.doc
        stand_in $name "sleep 4; cat '$PWD/$name.doc'"
    done
    run -0 --separate-stderr windsock --json --budget 14s # 5 s are left for what is estimated at 4 s
    [ "$(state portcheck.a),$(state ncclbench.a)" = pass,pass ]
    [[ $(said stage.training) =~ ^"left out: it takes about "[6-9][.0-9]*" s here (what ran before took 2"[.0-9]*" times as long as estimated), more than the budget has left"$ ]]
    stand_in portcheck "cat '$PWD/portcheck.doc'"
    run -0 --separate-stderr windsock --json --budget 10s
    [ -z "$(state stage.training)" ]
}

@test "what the budget cuts short did not fit: no error of ours, and what is conclusive decides" {
    stand_in portcheck "sleep 98765$BASHPID_OF_TEST"
    begin=$SECONDS
    run -0 --separate-stderr windsock --json --budget 2500ms
    ((SECONDS - begin <= 8))
    valid
    [ "$(state stage.ports)" = skip ]
    [[ $(said stage.ports) == "did not fit into the budget: stopped after "*", before it came to anything" ]]
    [ "$(jq -c '[.data.left_out[0], (.data.stages[] | select(.cut) | .name)]' <<<"$output")" = '["ports","ports"]' ]
    nothing_left
    # what it found holds, but for what it had not come to an end with
    envelope portcheck "$(finding port.a fail 'is shut'),$(finding port.b error 'nobody decided'),$(finding run error 'interrupted by us')" >doc
    stand_in portcheck "sleep 98765$BASHPID_OF_TEST & trap 'kill %1; cat \"$PWD/doc\"; exit 3' TERM; wait"
    run -1 --separate-stderr windsock --json --budget 2500ms
    valid
    [ "$(state port.a),$(state port.b),$(state run),$(state stage.ports)" = fail,skip,,skip ]
    [[ $(said stage.ports) == *"; above is what it finished" ]]
    # nothing at all was conclusive
    for name in ifprobe portcheck ncclbench ddpsmoke; do stand_in $name "sleep 98765$BASHPID_OF_TEST"; done
    run -3 --separate-stderr windsock --json --budget 2500ms
    valid
    [[ $stderr == *"nothing conclusive: the budget was too short for any command"* ]]
    [ "$(jq '[.findings[] | select(.status == "fail" or .status == "error") | .check] == ["run"]' <<<"$output")" = true ]
    nothing_left
}

@test "a part that will not stop when its time is over does not make the run an error either" {
    stand_in portcheck "trap '' TERM; for ((;;)); do sleep 98765$BASHPID_OF_TEST; done"
    run -0 --separate-stderr windsock --json --budget 2500ms
    valid
    [ -z "$stderr" ]
    [[ $(said stage.ports) == "did not fit into the budget: "* ]]
    [[ $(said stage.training) == "left out: "* ]]
    [ "$(jq -r .verdict <<<"$output")" != error ]
    nothing_left
}

@test "collectives that are stopped: by a patience it is a warning, by a budget they did not fit" {
    envelope ncclbench "$(finding ncclbench.test pass fine)" >doc
    stand_in ncclbench "sleep 98765$BASHPID_OF_TEST & trap 'kill %1; cat \"$PWD/doc\"; exit 3' TERM; wait"
    run -0 --separate-stderr windsock --json --deadline 500ms
    valid
    [ "$(state stage.collectives)" = warn ]
    [[ $(said stage.collectives) == "was not done after 3 s and was stopped; above is what it finished" ]]
    run -0 --separate-stderr windsock --json --budget 6s
    [ "$(state stage.collectives)" = skip ]
    [[ $(said stage.collectives) == "did not fit into the budget: stopped after "*"; above is what it finished" ]]
    [ "$(state ncclbench.test)" = pass ]
    nothing_left
}

@test "Ctrl-C: what was finished is reported, nothing is left behind" {
    stand_in portcheck "sleep 98765$BASHPID_OF_TEST"
    PATH=$PATH_WITHOUT own/windsock --json >doc 2>said &
    pid=$!
    for ((i = 0; i < 100; i++)); do
        ! grep -q portcheck calls 2>/dev/null || break
        sleep 0.05
    done
    kill -TERM "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 3 ]
    output=$(<doc)
    valid
    [ "$(state ifprobe.test)" = $'pass\npass' ]
    [[ $(said stage.training) == "not reached: interrupted" ]]
    [ "$(jq '[.findings[] | select(.check | startswith("stage.")) | select(.status != "skip" or .fix != null)] | length' doc)" = 0 ]
    grep -q 'interrupted by SIGTERM' said
    nothing_left
}

@test "findings that are hostile stay harmless" {
    long=$(head -c 3000 /dev/zero | tr '\0' y)
    stand_in portcheck "cat <<'EOF'
$(envelope portcheck "$(finding 'BAD id' fail 'not taken'),$(finding a.b nonsense 'what is this'),$(finding a.c info "\\u001b[31mred\\n$long"),{},[],7")
EOF"
    run -3 --separate-stderr windsock --quick --json
    valid
    [ "$(state a.b)" = error ]
    [ "$(jq '[.findings[] | select(.message == "not taken")] | length' <<<"$output")" = 0 ]
    run -3 windsock --quick
    [[ $output != *$'\e'* ]]
}

@test "the real commands on this machine: no failure, and a line for the peer" {
    # what a shell has for nccl-tests is no concern of the parts
    NCCL_TESTS_SPLIT_MASK=0x7 NCCL_TESTS_SPLIT='MOD 2' NCCL_TESTS_MIN_BW=x run -0 --separate-stderr "$BIN/windsock" --json
    valid
    [ "$(jq '[.findings[] | select(.status == "fail" or .status == "error")] | length' <<<"$output")" = 0 ]
    run -0 --separate-stderr "$BIN/windsock" --quick
    [[ $output == *"All nodes from here:  windsock --hosts"* ]]
}

@test "started as a rank of somebody's job: the parts are none, and it is said once on each host" {
    export RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
    run -0 --separate-stderr "$BIN/windsock" --here --deadline 2s --json
    [ "$(jq '[.findings[] | select(.status == "fail" or .status == "error")] | length' <<<"$output")" = 0 ]
    [[ $stderr != *"started as"* ]]
    # portcheck is no rank of an MPI's either
    export OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0
    unset RANK WORLD_SIZE LOCAL_RANK
    run -0 --separate-stderr "$BIN/windsock" --quick --deadline 2s
    [[ $stderr == *"started as rank 1 of 2 by Open MPI"*"tests its own host alone: start windsock once"* ]]
    OMPI_COMM_WORLD_LOCAL_RANK=1 run -0 --separate-stderr "$BIN/windsock" --quick --deadline 2s
    [[ $stderr != *"started as"* ]]
}
