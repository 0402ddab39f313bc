#!/usr/bin/env bats
# One command on many hosts, over the lab's own rsh and over real sshd's between
# namespaces: answers, exit codes, and the reason where there is no answer.
# Needs root, openssh-server, openssh-client. The unit test's program runs it.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for sshd"
    LAB_NAME=$("$ROOT/scripts/lab" up 5)
    SSHD_DIR=$(mktemp -d /tmp/fanout.XXXXXX) # on a path that StrictModes accepts
    export LAB_NAME SSHD_DIR
    chmod 711 "$SSHD_DIR"
    ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/id"
    ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/stranger"
    ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/host"
    local n
    for n in 1 2 3; do
        sshd_on "$n" 22
    done
    sshd_on 4 2222
    printf 'node1,node2,[node4]:2222 %s\n' "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$SSHD_DIR/known"
    printf 'node3 %s\n' "$(cut -d' ' -f1,2 "$SSHD_DIR/stranger.pub")" >"$SSHD_DIR/changed"
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
    [ -z "${SSHD_DIR:-}" ] || rm -rf "$SSHD_DIR"
}

sshd_on() { # NODE PORT: it becomes a daemon, and ends with the lab
    cat >"$SSHD_DIR/sshd$1.conf" <<C
Port $2
HostKey $SSHD_DIR/host
AuthorizedKeysFile $SSHD_DIR/id.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
PidFile none
C
    on "$1" sh -c "mkdir -p /run/sshd; exec /usr/sbin/sshd -f '$SSHD_DIR/sshd$1.conf' -E '$SSHD_DIR/log$1'"
}

on() { # NODE CMD...
    local node=$1
    shift
    "$ROOT/scripts/lab" on "$LAB_NAME" "node$node" -- "$@"
}

over_ssh() { # KNOWN_HOSTS DEADLINE_MS HOSTS CMD...; KEY, MORE: for ssh; UNDER: Ctrl-C after so many seconds
    local known=$1
    shift
    local rsh="ssh -F none -i $SSHD_DIR/${KEY:-id} -o IdentitiesOnly=yes ${MORE:-}"
    rsh+=" -o UserKnownHostsFile=$SSHD_DIR/$known -o GlobalKnownHostsFile=none"
    on 0 env WINDSOCK_RSH="$rsh -o BatchMode=yes -o ConnectTimeout=2" \
        ${UNDER:+timeout --foreground -s INT "$UNDER"} "$O/unit/t_fanout" run "$@"
}

ours_running() { # SECONDS: how many local ssh's run that sleep
    on 0 sh -c "ps -eo args | grep -c '^ssh -F .*[ ]sleep $1' || :"
}

@test "the lab's rsh: every node answers with its own name" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 4 -- "$O/unit/t_fanout" run 10000 lab uname -n
    [ "$output" = "node0: 0 'node0' fine
node1: 0 'node1' fine
node2: 0 'node2' fine
node3: 0 'node3' fine" ]
}

@test "the lab's rsh: quoting survives, exit codes come back, a missing program is named" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 2 -- "$O/unit/t_fanout" run 10000 'node[0-1]' \
        sh -c 'echo "$1"; exit 7' sh "it's \$HOME; *"
    [ "${lines[1]}" = "node1: 7 'it's \$HOME; *' fine" ]
    run -0 --separate-stderr "$ROOT/scripts/lab" run 2 -- "$O/unit/t_fanout" run 10000 node1 no-such-tool --json
    [[ $output == "node1: 127 '' no-such-tool is not installed on node1, "* ]]
}

@test "real ssh: two hosts answer, in the order asked" {
    run -0 --separate-stderr over_ssh known 10000 'node[2,1]' sh -c 'echo "$(uname -n) $1"; exit 42' sh "a 'b' \$c"
    [ "$output" = "node2: 42 'node2 a 'b' \$c' fine
node1: 42 'node1 a 'b' \$c' fine" ]
}

@test "real ssh: 127 is said to be a missing program" {
    run -0 --separate-stderr over_ssh known 10000 node1 no-such-tool
    [[ $output == "node1: 127 '' no-such-tool is not installed on node1, "* ]]
}

@test "real ssh: an unknown host key is never accepted" {
    run -0 --separate-stderr over_ssh nothing 10000 node1 true
    [[ $output == "node1: 255 '' cannot reach node1: its host key is not known here; "* ]]
    run ! test -e "$SSHD_DIR/nothing"
}

@test "real ssh: a changed host key is told from an unknown one" {
    run -0 --separate-stderr over_ssh changed 10000 node3 true
    [[ $output == *"not the one in known_hosts"*"ssh-keygen -R"* ]]
}

@test "real ssh: a key that is not welcome" {
    KEY=stranger run -0 --separate-stderr over_ssh known 10000 node1 true
    [[ $output == *"it does not accept our key for the user root; ssh-add "*"ssh-copy-id"* ]]
    KEY=no-such-key run -0 --separate-stderr over_ssh known 10000 node1 true
    [[ $output == *"the key file that -i names is not here; name it by its whole path"* ]]
}

@test "real ssh: refused, another port, an unknown name, nobody there" {
    run -0 --separate-stderr over_ssh known 10000 'node[0,4]' true
    [[ ${lines[0]} == "node0: 255 '' cannot reach node0: connection refused; "*"ssh -p PORT"* ]]
    MORE="-p 2222" run -0 --separate-stderr over_ssh known 10000 node4 uname -n
    [ "$output" = "node4: 0 'node4' fine" ]
    run -0 --separate-stderr over_ssh known 10000 no-such-host true
    [[ $output == *"neither a host nor a file of that name is known here; "*"add it to /etc/hosts"* ]]
    run -0 --separate-stderr over_ssh known 10000 10.77.0.99 true
    [[ $output == "10.77.0.99: 255 '' cannot reach 10.77.0.99: no "* ]]
}

@test "real ssh: a command that hangs meets the deadline, and its ssh is gone" {
    local start=$SECONDS
    over_ssh known 4000 'node[1-2]' sleep 61 >"$BATS_TEST_TMPDIR/out" &
    until [ "$(ours_running 61)" = 2 ]; do
        [ $((SECONDS - start)) -lt 15 ] # nobody is there to be seen any more
    done
    wait $!
    run -0 cat "$BATS_TEST_TMPDIR/out"
    [[ ${lines[0]} == *"sleep said nothing for 4 s and was ended"* ]]
    [[ ${lines[1]} == *"sleep said nothing for 4 s and was ended"* ]]
    [ $((SECONDS - start)) -lt 20 ]
    [ "$(ours_running 61)" = 0 ]
}

@test "real ssh: Ctrl-C ends every ssh and says what was not finished" {
    UNDER=2 run -124 --separate-stderr over_ssh known 30000 'node[1-2]' sleep 62
    [[ ${lines[0]} == "node1: "*" node1 was not finished: interrupted" ]]
    [[ ${lines[1]} == "node2: "*" node2 was not finished: interrupted" ]]
    [ "$(ours_running 62)" = 0 ]
}
