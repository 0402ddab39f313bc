#!/usr/bin/env bats
# ncclwhy around a command: whose signals are whose, and what is left when a
# budget ends it; and a log that is not there yet.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    standin=
    cat >job.py <<'END'
import os, signal, sys, time
if "own-group" in sys.argv:
    os.setpgid(0, 0)
def note(name):
    return lambda *_: print(name, flush=True)
for name in "USR1", "TERM", "INT":
    signal.signal(getattr(signal, "SIG" + name), note(name.lower()))
signal.signal(signal.SIGUSR2, lambda *_: os._exit(4))
print("ready", flush=True)
end = time.time() + 60
while time.time() < end:
    time.sleep(0.02)
END
}

teardown() {
    if [[ -n $standin ]]; then
        kill -KILL -- "-$standin" 2>/dev/null || kill -KILL "$standin" 2>/dev/null || true
        wait "$standin" 2>/dev/null || true
    fi
}

wrap() { # ARG...: the job under us, in a process group and session of their own
    setsid "$why" -- python3 job.py "$@" >out 2>err 3>&- &
    standin=$!
    wait_for 20 grep -q ready out
}

gives_up_at() { # SIGNAL: $standin, which follows a log that never comes
    local code=0
    wait_for 10 grep -q 'waiting for never' err
    kill "-$1" "$standin"
    wait "$standin" || code=$?
    standin=
    ((code == 3))
}

count() { # WORD: how often the job said it
    grep -c "^$1\$" out || true
}

ends() { # CODE: told to, it does
    local code=0
    kill -USR2 "$standin"
    wait "$standin" || code=$?
    standin=
    ((code == $1))
}

@test "a signal to the whole group reaches a wrapped command once, one to us is passed on" {
    wrap
    kill -USR1 -- "-$standin"
    wait_for 10 grep -q usr1 out
    kill -INT "$standin" # what was passed on before it has arrived when this has
    wait_for 10 grep -q int out
    (($(count usr1) == 1))
    kill -USR1 "$standin"
    wait_for 10 eval '(($(count usr1) == 2))'
    kill -TERM -- "-$standin"
    wait_for 10 grep -q term out
    kill -INT "$standin"
    wait_for 10 eval '(($(count int) == 2))'
    (($(count term) == 1))
    ends 4
}

@test "a signal to every process, one by one, reaches a wrapped command once" {
    wrap
    kill -TERM $(pgrep -s "$standin") # as a scheduler ends all that is in a job's cgroup
    wait_for 10 grep -q term out
    kill -INT "$standin"
    wait_for 10 grep -q int out
    (($(count term) == 1))
    ends 4
}

@test "a wrapped command that left our group is passed on what that is sent" {
    wrap own-group
    kill -USR1 -- "-$standin"
    wait_for 10 grep -q usr1 out
    ends 4
}

@test "signals that whoever started us had blocked: heard by us, and blocked for the command" {
    blocked=(env --block-signal=TERM --block-signal=INT)
    "${blocked[@]}" true 2>/dev/null || skip "env cannot block signals here"
    run -0 --separate-stderr "${blocked[@]}" sed -n 's/^SigBlk:\t//p' /proc/self/status
    run -0 --separate-stderr "${blocked[@]}" "$why" --quiet -- sh -c "[ \$(sed -n 's/^SigBlk:\t//p' /proc/self/status) = $output ]"
    "${blocked[@]}" "$why" --budget 20s --follow never >out 2>err 3>&- &
    standin=$!
    gives_up_at TERM
    grep -q 'interrupted by SIGTERM' err
}

@test "a budget ends a wrapped command that will not end, and all that it started" {
    cat >stubborn.sh <<'END'
trap '' TERM
(trap '' TERM; sh -c 'echo $$ >left; exec sleep 99') &
while :; do sleep 0.05; done
END
    run -137 --separate-stderr "$why" --budget 1s -- sh stubborn.sh 3>&-
    [[ $stderr == *budget* ]]
    [[ -s left ]]
    run ! kill -0 "$(cat left)"
    [[ -z $(pgrep -f "$why --budget 1s" || true) ]]
}

@test "a command that ends when its budget has passed leaves nothing behind either" {
    run -143 --separate-stderr "$why" --budget 1s -- \
        sh -c 'sh -c "echo \$\$ >left; exec sleep 99" & sleep 98' 3>&-
    [[ -s left ]]
    run ! kill -0 "$(cat left)"
}

@test "a log that is not there yet is waited for, and that is said" {
    "$why" --follow --stall 0 later >out 2>err 3>&- &
    standin=$!
    wait_for 10 grep -q 'waiting for later: it is not there yet' err
    echo 'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.' >later
    wait_for 10 grep -q GPU-011 err
    kill -INT "$standin"
    wait "$standin" || true
    standin=
    grep -q GPU-011 out
    (($(grep -c waiting err) == 1))
}

@test "a log that never comes: Ctrl-C ends the waiting" {
    "$why" --follow never >out 2>err 3>&- &
    standin=$!
    gives_up_at INT
}
