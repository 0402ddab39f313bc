#!/usr/bin/env bats
# `windsock on HOSTS COMMAND`: what its answers are, and its exit codes.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!WINDSOCK_@}"
    # HOST COMMAND: here instead; odd3 has no sshd
    printf '#!/bin/sh\nexport HOST=$1\n[ $1 != odd3 ] || { echo "ssh: connect to host odd3 port 22: Connection refused" >&2; exit 255; }\nexec sh -c "$2"\n' >rsh
    chmod +x rsh
}

windsock() { "$BIN/windsock" "$@"; }

@test "on: what many print alike is one line" {
    run -0 --separate-stderr windsock on --rsh ./rsh 'n[1-500]' 'echo "it is done"'
    [ "${#lines[@]}" = 2 ]
    [[ ${lines[0]} == "pass  host.command "*" n[1-500]: it is done" && ${lines[1]} == "PASS  "*"done on 500 of 500 hosts" ]]
    [ -z "$stderr" ]
}

@test "on: several lines are all there, once for those who say the same" {
    run -0 --separate-stderr windsock on --rsh ./rsh 'n[1-3]' 'echo a; [ $HOST = n2 ] && echo; printf "  b\nc\n"'
    [[ $output == *"pass  host.command "*" n[1-3]: c"*$'n[1,3]\n  a\n    b\n  c\n'*$'n2\n  a\n  \n    b\n  c\n'* ]]
}

@test "on: a shell there reads the command, quotes and all" {
    run -0 --separate-stderr windsock on --rsh ./rsh n1 'x="it'\''s"; test "$HOST" = n1 && printf "%s\n" "$x $HOST"'
    [[ ${lines[0]} == *" n1: it's n1" ]]
    run -0 --separate-stderr windsock on --rsh ./rsh n1 true
    [[ ${lines[0]} == *" n1: done" ]]
}

@test "on: what is run inherits nothing of ours" {
    run -0 --separate-stderr windsock on --rsh ./rsh n1 'env | grep -c ^WINDSOCK_ || :'
    [[ ${lines[0]} == *" n1: 0" ]]
}

@test "on: the machine that we are at needs no ssh to itself, as ranks on it; a way that was named is gone" {
    local here
    here=$(uname -n)
    printf '#!/bin/sh\necho "$1: Permission denied (publickey)." >&2\nexit 255\n' >ssh
    chmod +x ssh
    PATH=$PWD:$PATH HOME=$PWD run -0 --separate-stderr windsock on "$here,127.0.0.1" 'pwd; echo "$HOME"'
    [[ ${lines[0]} == *"$PWD" && $output == *"done on 2 of 2 hosts" ]]
    PATH=$PWD:$PATH run -1 --separate-stderr windsock on "$here" 'echo no >&2; exit 255'
    [[ ${lines[0]} == *"exit code 255: no" ]]
    PATH=$PWD:$PATH run -1 --separate-stderr windsock on --rsh ssh "$here" true
    [[ ${lines[0]} == *"cannot reach $here"* ]]
    PATH=$PWD:$PATH run --separate-stderr "$BIN/ifprobe" --hosts "$here" --json
    jq -e --arg here "$here" '.nodes[0].host == $here and ([.findings[] | select(.check == "host.answer" and .status == "fail")] == [])' <<<"$output"
}

@test "on: who failed is named, with why and the line for those alone" {
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-4],odd3' 'case $HOST in n[24]) echo "no such key" >&2; exit 7 ;; esac'
    [[ $output == *"pass  host.command "*" n[1,3]: done"* ]]
    [[ $output == *"fail  host.command "*" n[2,4]: exit code 7: no such key"* ]]
    [[ $output == *"fail  host.command "*" odd3: cannot reach odd3: connection refused"* ]]
    [[ $output == *"-> windsock on --rsh ./rsh 'n[2,4],odd3' 'case "*"   # again, only where it failed"* ]]
    [[ $output == *"done on 2 of 5 hosts" ]]
    # and what it had printed
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-2]' 'echo "step 1 of 2"; [ $HOST = n1 ]'
    [[ $output == *"n2: exit code 1"*$'\n  step 1 of 2\n'* ]]
}

@test "on: the hosts with --hosts, as other commands have them" {
    run -0 --separate-stderr windsock on --rsh ./rsh --hosts 'n[1-2]' 'echo it'
    [[ $output == *"n[1-2]: it"* ]]
    run -2 --separate-stderr windsock on --rsh ./rsh --hosts n1 n2 'echo it'
    [[ $stderr == *"on goes without --hosts"* ]]
}

@test "on: a command that ends with ssh's own code was reached" {
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-2],odd3' 'echo no >&2; exit 255'
    [[ $output == *" n[1-2]: exit code 255: no"* && $output == *" odd3: cannot reach odd3: "* ]]
}

@test "on: a command of several lines is typed again as it was" {
    run -1 --separate-stderr windsock on --rsh ./rsh n1 $'echo "it\'s $HOST"\nexit 3'
    line=$(grep '^ *-> windsock on ' <<<"$output")
    line=${line#*-> windsock }
    run -1 --separate-stderr bash -c '"$BIN/windsock" '"${line%%   #*} --json"
    [ "$(jq -c '.nodes[0].data | [.exit_code, .stdout]' <<<"$output")" = '[3,"it'\''s n1\n"]' ]
}

@test "on: sudo that would ask for a password is typed where there is a terminal" {
    printf '#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nprintf "\\nwindsock: what was asked for begins here\\n"; [ $1 = n2 ] || { echo "sudo: a terminal is required to read the password; either use the -S option" >&2
echo "sudo: a password is required" >&2; exit 1; }\n' >ssh
    chmod +x ssh
    run -1 --separate-stderr windsock on --rsh ./ssh 'n[1-3]' 'sudo -- reboot'
    [[ $output == *"n[1,3]: exit code 1: sudo: a password is required"* ]]
    [[ $output == *"-> for h in n1 n3; do ./ssh -t \"\$h\" 'sudo -- reboot'; done   # sudo there asks for a password: "* ]]
    run -1 --separate-stderr windsock on --rsh ./rsh n1 'echo "sudo: a password is required" >&2; exit 1'
    [[ $output != *" -t "* ]] # no such option is known of it
}

@test "on: programs have each host's output" {
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-3],odd3' 'echo "$HOST"; echo "to $HOST" >&2; [ "$HOST" != n2 ]' --json
    valid
    [ "$(jq -r '.findings[] | "\(.host) \(.status)"' <<<"$output")" = $'n1 pass\nn2 fail\nn3 pass\nodd3 fail' ]
    [ "$(jq -c '.nodes[1] | [.host, .data.exit_code, .data.stdout, .data.stderr]' <<<"$output")" = '["n2",1,"n2\n","to n2\n"]' ]
}

@test "on: of a host that prints a lot the beginning is kept; it is not ended for it" {
    run -0 --separate-stderr windsock on --rsh ./rsh n1 --deadline 500ms --json \
        'for i in 1 2 3 4 5 6; do head -c 300000 /dev/zero | tr "\0" x; sleep 0.4; done; echo the end'
    [ "$(jq -c '.nodes[0].data | [.exit_code, .truncated, (.stdout | length)]' <<<"$output")" = '[0,true,262144]' ]
    [ "$(jq -r '.findings[0].message' <<<"$output")" = 'done; it printed more than 256 KiB' ]
}

@test "on: a way that cannot be gone is no fault of the hosts" {
    run -3 --separate-stderr windsock on --rsh /nonexistent 'n[1-3]' true
    [[ $output == *"error host.command "*" n[1-3]: "* ]]
    run -2 --separate-stderr windsock on --rsh ./rsh 'n[1-' true
    [ -z "$output" ]
}

@test "on: exit codes are causes, never a range; the line for those who failed stands once" {
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-40]' 'exit $((${HOST#n} % 5))'
    [ "$(grep -c '^fail  host.command ' <<<"$output")" = 4 ]
    [[ $output == *" n[4,9,14,19,24,29,34,39]: exit code 4"* && $output != *" to 4"* ]]
    [ "$(grep -c -- "^-> windsock on --rsh ./rsh 'n\[1-4,6-9,.* 'exit .*# again" <<<"$output")" = 1 ]
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-40]' 'exit $((${HOST#n} % 5))' --json
    [ "$(jq '[.findings[] | select(.status == "fail") | .fix[0]] | length' <<<"$output")" = 32 ]
}

@test "on: a line that is empty, begins with a dash, or goes with what it has no use for" {
    for line in '' '  ' $'\n' -x; do
        run -2 --separate-stderr windsock on --rsh ./rsh n1 -- "$line"
        [[ -z $output && $stderr == *"is no command line"* ]]
    done
    for option in '--hosts n2' --here '--report x.html' '--nodes x' '--baseline x'; do
        # shellcheck disable=SC2086 # an option and its value
        run -2 --separate-stderr windsock on --rsh ./rsh $option n1 true
        [[ -z $output && $stderr == *"on goes without"* ]]
    done
}

@test "on: Ctrl-C ends what was begun, and keeps what was done" {
    local i pid
    "$BIN/windsock" on --rsh ./rsh 'n[1-3]' 'echo $$ >"$HOST.pid"; [ "$HOST" = n1 ] && exec echo early; exec sleep 1000' --json >doc 2>err 3>&- &
    pid=$!
    for ((i = 0; i < 400; i++)); do # n1's end is known when nobody is left of it, not even dead
        [ -s n1.pid ] && [ -s n2.pid ] && [ -s n3.pid ] && [ ! -e "/proc/$(<n1.pid)" ] && break
        sleep 0.05
    done
    kill -INT "$pid"
    wait "$pid" || i=$?
    [ "$i" = 3 ]
    [ "$(jq -r '.findings[] | "\(.host) \(.status)"' doc | head -n 3)" = $'n1 pass\nn2 skip\nn3 skip' ]
    for ((i = 0; i < 100; i++)); do # dead, if nobody has asked for it yet
        ps -o stat= -p "$(<n2.pid),$(<n3.pid)" | grep -q '^[^Z]' || return 0
        sleep 0.05
    done
    false
}

ended() { ! ps -o stat= -p "$(<"$1")" | grep -q '^[^Z]'; }

@test "on: what is given up ends there, too: at the deadline, by Ctrl-C, by kill -9; and with all that it began" {
    local how pid i shell
    # its other side is no child of ours in any sense but this: what it reads ends
    printf '#!/bin/sh\nexec setsid -w $AS -c "$2"\n' >far
    chmod +x far
    for how in DEADLINE INT KILL; do
        for shell in sh bash 'busybox sh' csh; do
            command -v "${shell%% *}" >/dev/null || continue
            rm -f top.pid under.pid
            AS=$shell "$BIN/windsock" on --rsh ./far n1 'sleep 300 & echo $! >under.pid; echo $$ >top.pid; exec sleep 300' \
                --deadline "$([ $how = DEADLINE ] && echo 200ms || echo 30s)" >doc 2>err 3>&- &
            pid=$!
            wait_for 10 test -s top.pid
            [ $how = DEADLINE ] || kill -$how "$pid"
            wait "$pid" || true
            for i in top under; do wait_for 10 ended $i.pid || { cat doc err; false; }; done
        done
    done
    # a way that brings no stdin: it is done all the same
    printf '#!/bin/sh\nexec setsid -w sh -c "$2" </dev/null\n' >far
    run -0 --separate-stderr windsock on --rsh ./far n1 'sleep 0.3; read x; echo "ready$x"'
    [[ ${lines[0]} == *" n1: ready" ]]
}

@test "on: what a login prints, on whichever stream, is no part of what the command says" {
    printf '#!/bin/sh\nprintf "Welcome to $1, no line end"; printf "stty of $1: no terminal" >&2; exec sh -c "$2"\n' >rsh
    run -0 --separate-stderr windsock on --rsh ./rsh 'n[1-3]' true
    [[ ${lines[0]} == *" n[1-3]: done" ]]
    run -1 --separate-stderr windsock on --rsh ./rsh 'n[1-3]' 'printf x; exit 3' --json
    [ "$(jq -c '[.nodes[].data | .stdout, .stderr] | unique' <<<"$output")" = '["","x"]' ]
    [ "$(jq -r '.findings[0].message' <<<"$output")" = 'exit code 3' ]
}

@test "on: what something else was run for is not done, whatever its exit code" {
    printf '#!/bin/sh\necho This account is for backups only; exit $CODE\n' >ssh
    chmod +x ssh
    export CODE
    for CODE in 0 1; do
        run -1 --separate-stderr windsock on --rsh ./ssh 'n[1-2]' 'rm -f x'
        [[ ${lines[0]} == "fail  host.command "*" n[1-2]: sh there ended with exit code $CODE and said \"This account is for backups only\""* ]]
        [[ ($CODE = 1 || ${lines[0]} == *"(authorized_keys, ForceCommand)"*) && $output == *"done on 0 of 2 hosts" ]]
    done
    run -1 --separate-stderr windsock on --rsh true 'n[1-2]' 'rm -f x'
    # through a terminal, or with both streams as one, it is done all the same
    for way in '"$2" 2>&1 | sed "s/\$/\\r/"' '"$2" 2>&1'; do
        printf '#!/bin/sh\nsh -c %s\n' "$way" >both
        chmod +x both
        run -0 --separate-stderr windsock on --rsh ./both 'n[1-2]' 'echo it'
        [[ ${lines[0]} == *" n[1-2]: it" ]]
    done
}

@test "on: what ends with NUL is a line, and all of it is there" {
    run -0 --separate-stderr windsock on --rsh ./rsh n1 'printf "one\0two\0"; printf "three\nfour\n"; printf "a\0b" >&2' --json
    [ "$(jq -c '.nodes[0].data | [.stdout, .stderr]' <<<"$output")" = '["one\ntwo\nthree\nfour\n","a\nb"]' ]
}

@test "on: what is kept is the same in every locale; the terminal's is for what is shown" {
    for locale in C C.UTF-8; do
        LC_ALL=$locale run -0 --separate-stderr windsock on --rsh ./rsh n1 'echo "grün"' --json
        [ "$(jq -r '.findings[0].message' <<<"$output")" = grün ]
    done
    LC_ALL=C run -0 --separate-stderr windsock on --rsh ./rsh n1 'printf "grün\na\n"'
    [[ $output == *"gr?n"* && $output != *grün* ]]
}

@test "on: on a terminal too narrow for its line of progress none is drawn" {
    for columns in 10 40; do
        TERM=xterm run script -qec "stty cols $columns; unset COLUMNS; '$BIN/windsock' on --rsh ./rsh 'n[1-3]' 'sleep 0.2'" /dev/null </dev/null
        if [ $columns = 10 ]; then [[ $output != *"on hosts"* ]]; else [[ $output == *"on hosts"* ]]; fi
    done
}

@test "on: what it leaves in the background goes on there, here as elsewhere, and is not waited for" {
    local pid
    run -0 --separate-stderr windsock on 127.0.0.1 'sleep 300 >/dev/null 2>&1 & echo $!'
    pid=${lines[0]##* }
    kill "$pid" # it is there
    printf '#!/bin/sh\nsh -c "$2" | cat\n' >held # as sshd, which waits for whoever has its pipe
    chmod +x held
    run -0 --separate-stderr windsock on --rsh ./held 'n1' 'sleep 300 & echo $! >pid; echo hi' --deadline 20s
    kill "$(<pid)"
    [[ ${lines[0]} == "pass "*" n1: hi (something that it began goes on there)" ]]
    run -1 --separate-stderr windsock on --rsh ./held 'n1' 'sleep 300 & echo $! >pid; echo no >&2; exit 3' --deadline 20s
    kill "$(<pid)"
    [[ ${lines[0]} == "fail "*" n1: exit code 3: no" ]]
}

@test "on: whom sshd turned away among so many is tried again, a few times" {
    cat >turns <<'C'
#!/bin/sh
echo "$1" >>tries
[ "$1" != n1 ] && [ "$(grep -cx "$1" tries)" -gt 1 ] && exec sh -c "$2"
echo 'kex_exchange_identification: Connection closed by remote host' >&2
echo 'Connection closed by UNKNOWN port 65535' >&2
exit 255
C
    chmod +x turns
    run -1 --separate-stderr windsock on --rsh ./turns 'n[1-9]' 'echo it' --deadline 500ms
    [[ $output == *" n1: cannot reach n1 through its jump host"*"jump host's (MaxStartups, "*" n[2-9]: it"* ]]
    [ "$(grep -cx n2 tries) $(grep -cx n1 tries)" = '2 2' ]
    # that was cut while it worked is not begun twice
    printf '#!/bin/sh\necho "$1" >>./cut\necho "client_loop: send disconnect: Connection reset by peer" >&2\nexit 255\n' >turns
    run -1 --separate-stderr windsock on --rsh ./turns n1 'echo it'
    [ "$(grep -c . ./cut)" = 1 ]
}

@test "on: what prints without end is ended at once, and that is said" {
    run -1 --separate-stderr windsock on --rsh ./rsh n1 yes
    [[ ${lines[0]} == *" n1: printed more than 16 MiB and was ended" ]]
}

@test "on: hosts and one command line, no more and no less" {
    for words in '' 'n1' 'n1 uname -r'; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr windsock on --rsh ./rsh $words
        [ -z "$output" ]
    done
    run -2 --separate-stderr windsock on n1 uname -- -r
    [[ $stderr == *"on takes hosts and one command line"*"windsock on 'node[1-8]'"* ]]
}

@test "on: an option of a command that was not quoted: how it is, and --serve for serve" {
    local dashed
    for dashed in -n -zv --nodename-of-it --timeout --silent --hostfile; do # what is ours in other words, too
        run -2 --separate-stderr windsock on --rsh ./rsh n1 uname "$dashed"
        [[ -z $output && $stderr == *"unknown option '$dashed'"*"the command is one word: windsock on HOSTS 'COMMAND $dashed'"* ]]
    done
    run -2 --separate-stderr windsock on --rsh ./rsh n1 uname --jsno # our own, misspelt
    [[ $stderr == *"did you mean --json?"* && $stderr != *"one word"* ]]
    run -2 --separate-stderr windsock -n on n1 uname
    [[ $stderr == *"unknown option '-n'"* && $stderr != *"one word"* ]]
    run -2 --separate-stderr windsock serve
    [[ $stderr == *"'serve' is none of join, diff and on"*"did you mean --serve?"* ]]
    run -2 --separate-stderr windsock sreve
    [[ $stderr == *"is none of"* && $stderr != *"did you mean"* ]]
}

@test "on: a host that says nothing has its deadline, the others do not wait" {
    run -1 --separate-stderr windsock on --rsh ./rsh --deadline 1s 'n[1-40]' '[ "$HOST" != n7 ] || exec sleep 1000'
    [[ $output == *"pass  host.command "*" n[1-6,8-40]: done"* ]]
    [[ $output == *"fail  host.command "*" n7: said nothing for 3 s and was ended"* ]]
}

@test "on: a budget that passes is said, with who had not answered and who was not even asked: exit 3" {
    run -3 --separate-stderr windsock on --rsh ./rsh --budget 3s 'n[1-300]' 'case $HOST in n?|n1?|n2?|n3?|n4[01]) sleep 20 ;; esac; echo "it is done"'
    [[ $output == *"skip  host.command "*" n[1-32]: had not answered when the budget passed"* ]]
    [[ $output == *"skip  host.command "*" n[33-300]: was not asked before the budget passed"* ]]
    [[ $output$stderr != *interrupted* && $stderr == *"the budget passed before it was done on n[1-300]"*--budget* ]]
    run -3 --separate-stderr windsock on --rsh ./rsh --budget 3s 'n[1-4]' '[ $HOST != n3 ] || sleep 20' --json
    valid
    jq -e '.verdict == "error" and [.findings[] | select(.status == "skip") | .host] == ["n3"]' <<<"$output"
    run -3 --separate-stderr windsock on --rsh ./rsh --budget 3s 'n[1-4]' '[ $HOST != n3 ] || sleep 20; [ $HOST != n1 ]'
    [[ $output == *"fail  host.command "*" n1: exit code 1"* ]]
}
