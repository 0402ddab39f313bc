#!/usr/bin/env bats
# windsock where the way to a host, or what it is given, is not the usual: other ways than ssh,
# runs that are no whole JSON, slips on the command line.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!WINDSOCK_@}"
    # HOST COMMAND: as kubectl exec, and a company's own; others are here
    printf '#!/bin/sh\ncase $1 in
        *pod*) echo "Error from server (NotFound): pods \\"$1\\" not found" >&2; exit 1 ;;
        odd*) echo "policy denies it" >&2; exit 77 ;;
    esac\nexec sh -c "$2"\n' >kx
    chmod +x kx
}

@test "another way than ssh: which host, which program, its code and its words, once; exit 1" {
    run -1 --separate-stderr "$BIN/windsock" --quick --rsh ./kx --hosts pod1,here1
    [[ ${lines[0]} == "fail  host.answer "*'cannot reach pod1: ./kx ended with exit code 1 and said "Error from server (NotFound): pods "pod1" not found": there is no pod of that name'* ]]
    [[ ${lines[1]} == *"-> kubectl get pods -o wide "* ]]
    [ "$(grep -c '^skip .* not reached because hosts failed: pod1 gave no answer$' <<<"$output")" = 2 ]
    [ "$(grep -c 'Error from server' <<<"$output")" = 2 ] # where it was met, and what to do
    [[ $output != *"pod1: cannot reach pod1"*"pod1: cannot reach pod1"* ]]
    run -1 --separate-stderr "$BIN/windsock" on --rsh ./kx 'pod1,odd[1-2],here1' 'exit 7'
    [[ $output == *" pod1: cannot reach pod1: ./kx ended with exit code 1 "* ]]
    [[ $output == *" odd[1-2]: ./kx ended with exit code 77 before sh there had answered, and said "'"policy denies it"'* && $output == *" here1: exit code 7"* ]]
    run -1 "$BIN/windsock" --quick --rsh false --hosts a,b # a word, too
    [[ $output == *" (expected windsock's report)"* ]]
}

@test "a host of several is told that it is one: what is between them is the run's to judge" {
    sed -i '2i echo "$2" >>asked' kx
    run "$BIN/windsock" --quick --rsh ./kx --hosts here1 --json
    grep -q -- 'windsock.* --here.* --asked' asked
    run "$BIN/windsock" --rsh ./kx --hosts here1
    [[ $output == *"stage.collectives "*": it takes two hosts"*"-> ./kx here1 windsock   # that host alone"* ]]
    run -0 "$BIN/windsock" --help # and nobody else says so
    [[ $output != *--asked* ]]
}

@test "another way than ssh whose words nobody knows: it, or the program there" {
    run -1 --separate-stderr "$BIN/windsock" --quick --rsh ./kx --hosts odd1 --json
    [[ $(jq -r '.findings[0].message' <<<"$output") == 'odd1: ./kx ended with exit code 77 before windsock there had answered, and said "policy denies it"' ]]
    [[ $(jq -r '.findings[0].fix[0]' <<<"$output") == "./kx odd1 echo works   # fails alike? then it is ./kx: "* ]]
    run -1 --separate-stderr "$BIN/ncclbench" --rsh ./kx --hosts odd1,pod1 -b 8 -e 8
    [[ $stderr == *"odd1: ./kx ended with exit code 77 before ncclbench there had answered"*"cannot reach pod1: ./kx ended"* ]]
}

@test "who is to be left out: to srun where there is one and the names can be its nodes', quoted; the page says the same" {
    mkdir only
    ln -s /bin/sh only/sh
    printf '#!/bin/sh\n' >only/srun
    chmod +x only/srun
    without() { # HOSTS LINE
        run -1 --separate-stderr env PATH="$PWD/only" "$BIN/windsock" --quick --rsh ./kx --hosts "$1" --report page.html
        grep -qxF "Without them:  $2" <<<"$output"
        quote='&#39;' # in HTML
        grep -qF "<pre>${2//\'/"$quote"}</pre>" page.html
    }
    without pod1,here1 'srun --exclude=pod1 ...'
    without 'pod[1-3],here1' "srun --exclude='pod[1-3]' ..." # or zsh takes it for the names of files
    without pod1.example.org,here1 'windsock --quick --rsh ./kx --hosts here1'
    without me@pod1,here1 'windsock --quick --rsh ./kx --hosts here1'
    run ! grep -qF '<pre>srun' page.html
    rm only/srun
    without pod1,here1 'windsock --quick --rsh ./kx --hosts here1'
    run ! grep -qF '<pre>srun' page.html
}

@test "very many hosts without an answer: what is skipped names them in a range" {
    run -1 --separate-stderr "$BIN/windsock" --quick --rsh ./kx --hosts 'pod[1-300]'
    [ "$(grep -c '^skip .*: pod\[1-300\] gave no answer$' <<<"$output")" = 2 ]
    [ "${#lines[@]}" -lt 30 ]
}

@test "diff: what is wrong with a file that is no run is said" {
    "$BIN/windsock" --here --quick --json >run.json || :
    : >empty
    head -c 1000 run.json >torn
    { echo "Welcome to node1"; cat run.json; } >words
    { cat run.json; echo "Connection to node1 closed."; } >after
    echo hello >other
    said() { # FILE TEXT
        run -2 --separate-stderr "$BIN/windsock" diff run.json "$1"
        [[ -z $output && $stderr == "windsock: $1 $2"* ]] || { echo "$stderr"; false; }
    }
    said empty "is empty: "
    said torn "is cut short: "
    said words 'has "Welcome to node1" before the JSON of a run; take it away: tail -c +18 words > NEW.json'
    said after 'has "Connection to node1 closed." behind the JSON of a run; take it away'
    said other "is no run of ours; "
    # what is typed then is right
    for file in words after; do
        run "$BIN/windsock" diff run.json "$file"
        fix=${output#*take it away: }
        sh -c "${fix%%   #*}"
        run -0 "$BIN/windsock" diff run.json NEW.json
    done
}

@test "diff: files where the word belongs, and one run twice" {
    "$BIN/windsock" --here --quick --json >run.json || :
    cp run.json now.json
    for words in 'run.json now.json' 'run.json diff now.json' 'run.json now.json diff'; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr "$BIN/windsock" $words
        [[ $stderr == *"'run.json' is a file"*"windsock diff run.json now.json"* ]] || { echo "$stderr"; false; }
    done
    ln now.json same.json
    run -0 --separate-stderr "$BIN/windsock" diff now.json same.json
    [[ $stderr == *"now.json and same.json are one file: nothing can differ"* ]]
    run -0 --separate-stderr "$BIN/windsock" diff run.json now.json
    [ -z "$stderr" ]
    run -0 --separate-stderr "$BIN/windsock" diff run.json run.json --report page.html # for its page
    [ "$stderr" = "windsock: report: page.html" ]
}

@test "a mistyped address where a word belongs is told as that" {
    run -2 --separate-stderr "$BIN/windsock" 10.0.0.300
    [[ $stderr == *"'10.0.0.300' is no IPv4 address: its four numbers go from 0 to 255"* && $stderr != *"--hosts 10.0.0.300"* ]]
    run -2 --separate-stderr "$BIN/windsock" node1 10.0.0.300
    [[ $stderr == *"'10.0.0.300' is no IPv4 address"* ]]
    run -2 --separate-stderr "$BIN/windsock" on 10.0.0.300 true # what was not typed is not named
    [[ -z $output && $stderr == "windsock: '10.0.0.300' is no IPv4 address"* && $stderr != *--hosts* ]]
    run -2 --separate-stderr "$BIN/windsock" 10.0.0.3 node2
    [[ $stderr == *"hosts are named so: windsock --hosts 10.0.0.3,node2"* ]]
}

@test "a login that prints without end: what it prints is to be looked at, wherever it is met" {
    # a report is found behind much of it, a rank is not
    printf '#!/bin/sh\nhead -c "${1#n}" /dev/zero | tr "\\0" x\nexec sh -c "$2"\n' >noisy
    chmod +x noisy
    for size in 400000 17000000; do
        run -1 --separate-stderr "$BIN/windsock" --rsh ./noisy --hosts "n$size,n1" --json
        jq -e --arg n "n$size" '.data.causes[0] | .message == "\($n): its login prints without end, or another program answers"
            or .message == "gives no answer, nothing on it was tested: its login prints without end, or another program answers"' <<<"$output"
        [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == "./noisy n$size true | head -c 300   # what its login prints"* ]]
    done
}

@test "a way that waits for a person is found out at once, and told by what it asks" {
    printf '#!/bin/sh\ncase $1 in
        tty*) read -r answer </dev/tty || exit 1 ;;
        ask*) printf "Password: " >&2; sleep 61 ;;
    esac\nexec sh -c "$2"\n' >asker
    chmod +x asker
    local start=$SECONDS
    terminal() { python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null; }
    run -1 terminal "$BIN/windsock" on --deadline 20 --rsh ./asker ask1,tty1,here1 true
    output=$(tr -s ' \r\n' '   ' <<<"$output")
    [[ $output == *'ask1: ./asker asks a person, and there is nobody to answer it: "Password:"'* ]]
    [[ $output == *"tty1: ./asker asks a person"*"/dev/tty"* && $output == *"done on 1 of 3 hosts"* ]]
    run -1 "$BIN/windsock" --quick --deadline 20 --rsh ./asker --hosts ask1,here1 --output doc --json
    [[ $(jq -r '.data.causes[0].message' doc) == *'./asker asks a person'*'"Password:"' ]]
    [[ $(jq -r '.data.causes[0].fix[0]' doc) == "./asker ask1 true   # answer it"* ]]
    run -1 "$BIN/ncclbench" --deadline 20 --rsh ./asker --hosts ask1,here1 -b 8 -e 8
    [[ $output == *"./asker asks a person"* ]]
    [ $((SECONDS - start)) -lt 18 ]
}

@test "nobody has passed a run that was interrupted: no list says so, nor an older one" {
    printf '#!/bin/sh\n[ "$1" = here1 ] || exec sleep 60\nsh -c "$2"\necho >ended\n' >deaf
    chmod +x deaf
    mkdir out
    echo here1 >out/passing_nodes.txt
    "$BIN/windsock" --quick --deadline 20 --rsh ./deaf --hosts here1,deaf1 --nodes out --json >doc 2>said 3>&- &
    local run=$! code=0
    wait_for 20 test -e ended
    kill -TERM $run
    wait $run || code=$?
    cat doc
    [ "$code" = 3 ]
    [ ! -e out/passing_nodes.txt ]
    [ -e out/failing_nodes.txt ]
    jq -e '.data.passing_nodes == [] and (.findings[] | select(.check == "host.answer") | .message == "was not finished: interrupted" and .fix == null)' doc
}

@test "a launcher that is killed leaves no way behind, and no helper of one" {
    printf '#!/bin/sh\nsleep 62.%s\necho "$1"\n' $$ >helped # its sleep is no child of ours
    chmod +x helped
    "$BIN/windsock" on --rsh ./helped n[1-2] true 3>&- & # what bats waits at
    local launcher=$!
    wait_for 20 eval '[ "$(pgrep -fc "^sleep 62.$$")" = 2 ]'
    kill -KILL $launcher
    wait $launcher || :
    timeout 5 sh -c "while pgrep -f '^sleep 62.$$' >/dev/null; do :; done"
}

@test "ways: a job of Slurm's takes a program and its words, as rsync has them, as well as a line" {
    mkdir tools
    printf '#!/bin/sh\nwhile [ "$1" != -w ]; do shift; done\nshift 2\nexec "$@"\n' >tools/srun
    chmod +x tools/srun
    export PATH=$PWD/tools:$PATH
    run -0 "$BIN/windsock" --srun node1 'echo "$0  $((1 + 1))"'
    [ "$output" = "sh  2" ]
    run -0 "$BIN/windsock" --srun node1 printf '%s,' a 'b\ c' # quoted for the shell there, as for ssh
    [ "$output" = "a,b c," ]
    run -2 "$BIN/windsock" --srun node1
    echo new >there
    run -0 rsync -aLc -e "$BIN/windsock --srun" node1:"$PWD/there" here/
    cmp there here/there
}

@test "ways: a password of sshpass is in no report" {
    printf '#!/bin/sh\necho "Permission denied (publickey,password)." >&2\nexit 255\n' >sshpass
    chmod +x sshpass
    for how in --json '--format github' '--report page.html'; do
        # shellcheck disable=SC2086 # an option and its value
        WINDSOCK_RSH='./sshpass -p hunter2 ssh' run -1 "$BIN/windsock" --quick --hosts 'h[1-2]' $how
        [[ $output == *'sshpass -p ... ssh'* && $output != *hunter2* ]]
    done
    run -1 grep hunter2 page.html
}
