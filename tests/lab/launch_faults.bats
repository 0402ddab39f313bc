#!/usr/bin/env bats
# Whatever is killed, stopped or interrupted in a run: everybody ends in time with
# the right sentence, and nothing is left. REPEAT (10) is how often each.
bats_require_minimum_version 1.5.0
load launch.sh

TIMES=${REPEAT:-10}

@test "kill -9 of any rank, of rank 0 too: everybody gets the same exact sentence" {
    local rank
    for ((i = 0; i < 2 * TIMES; i++)); do # every other time it is rank 0
        rank=$((i % 2 * (1 + i / 2 % 2)))
        begin 3 --hosts 'node[0-2]'
        on 0 kill -9 "$(pid_of "$rank")"
        ended 1 8 "failed: rank $rank (node$rank, 10.77.0.$((rank + 1))) died: killed by signal 9 (SIGKILL)"
        [ "$(grep -c "^\[[0-2] node[0-2]\] .* rank $rank (node$rank, .*killed by signal 9" "$ERR")" = 2 ]
    done
}

@test "SIGSTOP of a rank: the heartbeat tells, and the stopped one is ended too" {
    for ((i = 0; i < TIMES; i++)); do
        begin 3 --hosts 'node[0-2]' --heartbeat 1s
        on 0 kill -STOP "$(pid_of $((i % 3)))"
        ended 1 8 "failed: rank $((i % 3)) (node$((i % 3)), 10.77.0.$((i % 3 + 1))) has been silent for 1 s"
    done
}

@test "kill -9 of an agent, either half: its host is lost, its ranks end; here it is no network's fault" {
    local half
    for ((i = 0; i < TIMES; i++)); do
        for half in worker keeper; do
            begin 3 --hosts node1,node2 --np 3
            on 0 kill -9 "$(agents $half | tail -n 1)"
            ended 1 8 "its host is lost (lost node"
            [ $half = keeper ] || grep -qF "the agent there was killed by signal 9 (SIGKILL)" "$ERR"
        done
        for half in worker keeper; do
            begin 2 --np 2
            on 0 kill -9 "$(agents $half)"
            ended 1 8 "died: the agent on this machine was killed by signal 9 (SIGKILL)"
            [[ ! $(<"$ERR") =~ lost|connection ]]
        done
        begin 2 --np 2
        on 0 kill -TERM "$(agents worker)"
        ended 1 8 "died: the agent on this machine was killed by signal 15 (SIGTERM)"
    done
}

# Where a session's manager takes over what is left, no kernel wakes what is stopped there.
@test "an agent that somebody has stopped ends when its other half, or its launcher, is killed, with all that is its" {
    local stopped killed manager
    mkfifo manager
    exec {manager}<>manager # which lives as long as this is open
    while read -r stopped killed; do
        : >"$OUT"
        # shellcheck disable=SC2016 # the other shell expands
        on 0 "$O/lab/poor" reaps=all -- bash -c '"$@" <&-; read -r' - "$P" --np 2 -- children \
            <manager >"$OUT" 2>"$ERR" 3>&- &
        RUN=$!
        wait_for 15 says 2 ' pid ' "$OUT"
        on 0 kill -STOP "$(agents "$stopped")"
        on 0 kill -9 "$(case $killed in launcher) launcher ;; *) agents "$killed" ;; esac)"
        wait_for 10 nothing_left || { echo "$stopped $killed"; ours; ours | awk '{ print $1 }' | xargs -r kill -9 || true; false; }
        echo >&"$manager"
        wait "$RUN" || true
    done <<<$'worker keeper\nworker launcher\nkeeper launcher'
    exec {manager}>&-
}

@test "SIGCONT alone ends nobody: no agent, nor its run through a rank that is about to begin" {
    local i
    "${CC:-cc}" -shared -fPIC -o exec.so "$ROOT/tests/fake/libexec.c"
    : >"$OUT"
    on 0 env LD_PRELOAD="$PWD/exec.so" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" \
        WINDSOCK_FAKE_EXEC=700 "$P" --np 2 --heartbeat 1500ms -- hang >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    # shellcheck disable=SC2016 # eval expands
    wait_for 15 eval '[[ $(ours | grep -c -- --agent) -ge 3 ]]' # the third one is to become a rank
    for ((i = 0; i < 5; i++)); do
        # shellcheck disable=SC2046 # a word each; some are gone by now
        on 0 kill -CONT $(ours | awk '{ print $1 }') || true
        sleep 0.1
    done
    wait_for 15 says 2 ' pid ' "$OUT" || { cat "$OUT" "$ERR"; false; }
    on 0 kill -9 "$(agents keeper)"
    ended 1 8 "died: the agent on this machine was killed by signal 9 (SIGKILL)"
}

@test "kill -9 of the launcher, and TERM: no process is left on any host" {
    local signal
    for ((i = 0; i < TIMES; i++)); do
        for signal in KILL TERM; do
            begin 3 --hosts 'node[0-2]'
            [ "$(launcher | wc -l)" = 1 ]
            on 0 kill -$signal "$(launcher)"
            wait "$RUN" || true
            wait_for 15 nothing_left || { ours; false; }
        done
    done
}

@test "Ctrl-C: ranks say what they have, then all ends" {
    for ((i = 0; i < TIMES; i++)); do
        begin 3 --hosts 'node[0-2]'
        on 0 kill -INT "$(launcher)"
        ended 3 8
        grep -q 'finished early' "$OUT" # who hears first that another one was interrupted, says that
        [ "$(grep -c 'interrupted by SIGINT' "$ERR")" -ge 3 ]
    done
}

@test "Ctrl-C while hosts are still being asked" {
    on 0 "$P" --hosts node1,node2 --rsh 'sh -c "sleep 61"' -- who >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    wait_for 15 on 0 pgrep -f 'sleep 61'
    on 0 kill -INT "$(launcher)"
    ended 3 8
    [ -z "$(on 0 pgrep -f 'sleep 61')" ]
}

@test "daemons that ranks leave behind are ended too" {
    for ((i = 0; i < TIMES; i++)); do
        MODE=children begin 4 --hosts node1,node2
        on 0 kill -INT "$(launcher)"
        ended 3 8
        MODE=children begin 4 --hosts node1,node2
        on 0 kill -9 "$(launcher)"
        wait "$RUN" || true
        wait_for 15 nothing_left || { ours; false; }
    done
}
