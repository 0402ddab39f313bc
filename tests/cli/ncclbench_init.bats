#!/usr/bin/env bats
# ncclbench with --init: a rank that does not come, and what goes with what.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../wait.sh

@test "--init: a rank that does not come is a failure of the cluster, and --deadline counts" {
    start=$SECONDS
    run -1 --separate-stderr "$BIN/ncclbench" --init "tcp://127.0.0.1:$(free_port)" --rank 0 --world-size 2 \
        --deadline 1s
    [[ $output == *"rank.alive"*"rank 1 of 2 missing"* && $stderr == *"- start it there, with the same command line"* ]]
    run -1 --separate-stderr "$BIN/ncclbench" --init "tcp://127.0.0.1:$(free_port)" --rank 1 --world-size 2 \
        --deadline 1s
    [[ $output == *"rank.alive: rank 0 was not reached: no rendezvous at 127.0.0.1:"* && $stderr == *"-> ss -ltn  # at 127.0.0.1:"*"no rank twice"* ]]
    ((SECONDS - start < 28)) # each waited 30 s without it
}

@test "--init: a port that is taken by somebody who says nothing: who it is, and the ranks meet all the same" {
    hold_port
    "$BIN/ncclbench" --init "tcp://127.0.0.1:$PORT" --rank 1 --world-size 2 --deadline 4s -b 8 -e 8 >/dev/null 2>&1 3>&- &
    run --separate-stderr "$BIN/ncclbench" --init "tcp://127.0.0.1:$PORT" --rank 0 --world-size 2 --deadline 4s -b 8 -e 8 --quiet
    kill "$HOLDER"
    wait
    [ "$status" = 0 ] || { echo "$output $stderr"; false; }
    [[ $stderr == *"warning: port $PORT is taken here by python3 (pid $HOLDER): these ranks meet at port "*", and a job would not begin"*"-> export MASTER_PORT=\$(portcheck --free)   # the same for all ranks"* ]]
}

@test "--rank and --world-size go with --init" {
    for args in "--rank 1" "--world-size 2"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/ncclbench" $args
        [[ -z $output && $stderr == *"goes with --init"* ]]
    done
}

@test "the longest deadline is all ranks': nobody gives up who is waited for with more patience elsewhere" {
    local out=$BATS_TEST_TMPDIR/out init first i
    init=tcp://127.0.0.1:$(free_port)
    timeout 60 "$BIN/ncclbench" --init "$init" --rank 1 --world-size 2 -b 1M -e 1M -n 200 -N 0 --deadline 1s \
        >"$out.1" 2>&1 3>&- &
    "$BIN/ncclbench" --init "$init" --rank 0 --world-size 2 -b 1M -e 1M -n 200 -N 0 --deadline 30s >"$out" 2>&1 3>&- &
    first=$!
    for ((i = 0; i < 300; i++)); do
        ! grep -Eq '^ +1048576' "$out" || break
        sleep 0.1
    done
    kill -STOP "$first"
    sleep 2.5
    kill -CONT "$first"
    sleep 1
    kill -INT "$first"
    wait "$first" || true
    wait
    cat "$out" "$out.1"
    run ! grep -E 'FAIL|fail' "$out" "$out.1"
}

by_hand() { # COMMANDS-FOR-RANK-1 ARGS...
    local init
    init=tcp://127.0.0.1:$(free_port)
    bash -c "$1; exec \"\$@\"" rank "$BIN/ncclbench" --init "$init" --rank 1 --world-size 2 "${@:2}" \
        >"$BATS_TEST_TMPDIR/1" 2>&1 3>&- &
    run --separate-stderr "$BIN/ncclbench" --init "$init" --rank 0 --world-size 2 "${@:2}"
    wait $! || true
}

@test "a rank that has not got the plug-in: nobody waits for it, and all know why" {
    [[ -e ${BIN%/bin}/lib/windsock/gloo.so ]] || skip "the plug-in is not built"
    local start=$SECONDS
    by_hand "export WINDSOCK_PLUGINS=$BATS_TEST_TMPDIR" --backend gloo -b 8 -e 8
    ((status && SECONDS - start < 15))
    [[ $stderr == *"rank 1 ("*": the plug-in gloo.so is not there"* ]]
    grep -q 'the plug-in gloo.so is not there (looked in ' "$BATS_TEST_TMPDIR/1"
}

@test "a rank that gets no memory for its buffers is no network through which nothing passes" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    local kb said=
    for ((kb = 16000; kb <= 40000 && !said; kb += 2000)); do # enough to meet, and not for more
        by_hand "ulimit -v $kb" -b 8 -e 8 --deadline 2
        [[ $stderr != *"nothing passes"* && $stderr != *"left too early"* ]]
        [[ $stderr != *"rank 1 ("*") has no memory for its buffers"*"-> ulimit -v; free -m   # on "* ]] || said=$status
    done
    [ "$said" = 3 ]
    grep -q 'rank 1 (.*) has no memory for its buffers' "$BATS_TEST_TMPDIR/1"
}

@test "buffers that fit on one rank alone: all say where there is too little, and how much" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    by_hand 'ulimit -v 150000' -b 64M -e 64M
    [ "$status" -eq 3 ]
    [[ $stderr == *"2 ranks with buffers of 64 MiB do not fit into memory"*" MiB is available to each host's ranks where it is least: rank 1 ("* ]]
    grep -q 'where it is least: rank 1 (' "$BATS_TEST_TMPDIR/1"
}
