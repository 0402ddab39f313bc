#!/usr/bin/env bats
# ddpsmoke with --init: a rank that does not come is a failure of the cluster, as ncclbench has it.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../wait.sh

# The one that was left alone, by itself.
alone() { # RANK ARGS...
    run --separate-stderr "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$(free_port)" --rank "$1" --world-size 2 \
        --deadline 1s "${@:2}"
    [ "$status" = 1 ] || { echo "$status: $output $stderr"; return 1; }
}

@test "--init: a rank that does not come is a failure of the cluster, and so is a rendezvous that is not there" {
    alone 0
    [[ $output == *"rank.joined"*"rank 1 of 2 missing"*" - "* ]]
    alone 0 --json --plot "$BATS_TEST_TMPDIR/loss.svg"
    jq -e '.verdict == "fail" and (.findings | length == 1)
        and (.findings[0] | .check == "rank.joined" and .status == "fail" and (.fix | length == 1))' <<<"$output"
    alone 1 # another rank than the first says it where it may speak
    [[ -z $output && $stderr == *"rank 0 was not reached: no rendezvous at 127.0.0.1:"*"-> ss -ltn   # at 127.0.0.1:"*"no rank twice"* ]]
    # the port that was typed, not the last one behind it
    [[ $stderr =~ "no rendezvous at "([0-9.:]+)" for 1 s; the last try: cannot connect to "([0-9.:]+)": Connection refused" ]]
    [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

@test "--init: a port that is taken by somebody who says nothing: who it is, and the ranks meet all the same" {
    hold_port
    "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$PORT" --rank 1 --world-size 2 --deadline 4s >/dev/null 2>&1 3>&- &
    run --separate-stderr "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$PORT" --rank 0 --world-size 2 --deadline 4s --quiet
    kill "$HOLDER"
    wait
    [ "$status" = 0 ] || { echo "$output $stderr"; false; }
    [[ $stderr == *"warning: port $PORT is taken here by python3 (pid $HOLDER): these ranks meet at port "*", and a job would not begin"*"-> export MASTER_PORT=\$(portcheck --free)   # the same for all ranks"* ]]
}

both() { # FILE-OF-0 ARGS...: CODES, and what rank 1 says in $stderr
    local door own=0 other=0
    door=$(free_port)
    "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$door" --rank 1 --world-size 2 --steps 40 --samples 512 "${@:2}" \
        >"$BATS_TEST_TMPDIR/1" 2>&1 3>&- &
    "$BIN/ddpsmoke" --init "tcp://127.0.0.1:$door" --rank 0 --world-size 2 --steps 40 --samples 512 "${@:2}" \
        >"$1" 2>"$BATS_TEST_TMPDIR/0.err" 3>&- || own=$?
    wait $! || other=$?
    CODES="$own $other"
    stderr=$(<"$BATS_TEST_TMPDIR/1")
}

@test "--init: all end with rank 0's exit code, whatever made it" {
    local out=$BATS_TEST_TMPDIR/0
    both "$out"
    [[ $CODES == "0 0" && -z $stderr ]] || { echo "$CODES: $stderr"; false; }
    both "$out" --fault 1:flip
    [[ $CODES == "1 1" && $stderr == *"has the report: "*" failed" ]] || { echo "$CODES: $stderr"; false; }
    both "$out" --strict --fault 0:pause
    [[ $CODES == "1 1" && $stderr == *"has the report: --strict, and 1 warning" ]] || { echo "$CODES: $stderr"; false; }
    both /dev/full
    [[ $CODES == "3 3" && $stderr == *"rank 0 ("*"): cannot write to stdout: No space left on device"* ]] || { echo "$CODES: $stderr"; false; }
    both "$out" --plot /dev/full # before it has met anybody
    [[ $CODES == "3 1" && $stderr == *"does not take part: /dev/full is not a regular file"*" - mend that there"* ]] || { echo "$CODES: $stderr"; false; }
}

kept_by() { KEEPER=$(pgrep -o -P "$1"); } # the rendezvous, a process of rank 0's own
gone() { ! ps -o stat= -p "$1" | grep -q '^[^Z]'; }

@test "--init: rank 0 is stopped with what it has started, and killed: nothing of it stays, and the others end" {
    local init rank pids=() code=0
    init=tcp://127.0.0.1:$(free_port)
    for rank in 0 1; do
        "$BIN/ddpsmoke" --init "$init" --rank $rank --world-size 2 --epochs 100000 \
            >"$BATS_TEST_TMPDIR/$rank" 2>&1 3>&- &
        pids+=($!)
    done
    wait_for 30 kept_by "${pids[0]}"
    kill -STOP "${pids[0]}" "$KEEPER"
    kill -9 "${pids[0]}"
    wait_for 30 gone "$KEEPER" || { kill -9 "$KEEPER" "${pids[1]}"; false; }
    wait "${pids[1]}" || code=$?
    [ "$code" -eq 1 ] || { cat "$BATS_TEST_TMPDIR/1"; false; }
}
