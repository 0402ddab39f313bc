#!/usr/bin/env bats
# One rank of several that somebody else started cannot take part: its command line is wrong, or
# something is missing on its host. The others end at once and say so, and nobody waits.
# shellcheck disable=SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load launch.sh

# Rank R of 3 on node R; what it says is in outR, its exit code and seconds in endR.
rank() { # R PROGRAM ARGS...
    local r=$1 began=$EPOCHREALTIME code=0
    shift
    on "$r" env RANK="$r" WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 "$@" >"out$r" 2>&1 3>&- || code=$?
    awk -v c=$code -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%d %d\n", c, b - a }' >"end$r"
}

end_of() { # R: "CODE SECONDS"
    cat "end$1"
}

# All but R have said SENTENCE about it, and long before the deadline of 60 s.
told() { # R CODE SENTENCE
    local r
    [ "$(cut -d' ' -f1 <"end$1")" = "$2" ] || { cat "out$1" "end$1"; return 1; }
    for r in 0 1 2; do
        [ "$(cut -d' ' -f2 <"end$r")" -lt 20 ] || { echo "rank $r took $(end_of "$r")"; cat "out$r"; return 1; }
        [ "$r" = "$1" ] || { grep -qF "rank $1 (node$1, 10.77.0.$(($1 + 1))) does not take part: $3" "out$r" &&
            [ "$(cut -d' ' -f1 <"end$r")" != 0 ]; } || { echo "rank $r:"; cat "out$r" "end$r"; return 1; }
    done
}

bench=(-b 1K -e 1K --deadline 60)

@test "an unknown option on one rank: the others are told which, and end" {
    rank 0 "$BIN/ncclbench" "${bench[@]}" &
    rank 1 "$BIN/ncclbench" "${bench[@]}" &
    rank 2 "$BIN/ncclbench" --iter 3 "${bench[@]}" &
    wait
    told 2 2 "unknown option '--iter'"
    grep -q "FAIL rank.alive: rank 2 (node2, .*does not take part" out0
    [ "$(cut -d' ' -f1 <end0)" = 1 ] # a rank that is missing is the cluster's
}

@test "rank 0, at which the others would have met, waits until they have heard it" {
    rank 0 "$BIN/ncclbench" -b 2K -e 1K &
    rank 1 "$BIN/ncclbench" "${bench[@]}" &
    rank 2 "$BIN/ncclbench" "${bench[@]}" &
    wait
    told 0 2 "-b is larger than -e: 2048 > 1024"
    # and when it is nobody but itself it waits no longer than that
    rank 0 "$BIN/ncclbench" -b 2K -e 1K
    [ "$(cut -d' ' -f2 <end0)" -lt 8 ]
    [ -z "$(on 0 ss -Htln 'sport >= :29500 and sport <= :29508')" ]
}

@test "all are wrong in the same way: each says so, and they let each other go" {
    for r in 0 1 2; do rank $r "$BIN/ncclbench" --iter 3 & done
    wait
    for r in 0 1 2; do
        grep -q "unknown option '--iter'" "out$r"
        run ! grep -q "does not take part" "out$r"
        [ "$(cut -d' ' -f1 <"end$r")" = 2 ]
        [ "$(cut -d' ' -f2 <"end$r")" -lt 8 ]
    done
}

@test "with a token, which whoever declines has to have" {
    export WINDSOCK_TOKEN=W9CM-X99M-ZZYU-5H9E-JTC8-8VKL-28B8
    rank 0 "$BIN/ddpsmoke" --deadline 60 &
    rank 2 "$BIN/ddpsmoke" --deadline 60 &
    WINDSOCK_TOKEN='' rank 1 "$BIN/ddpsmoke" --step 3 # believed by nobody
    [ "$(cut -d' ' -f1 <end1)" = 2 ]
    [ ! -e end0 ]
    rank 1 "$BIN/ddpsmoke" --data "mnist:$PWD/nowhere" --batch 0
    wait
    told 1 2 "--batch"
}

@test "what is not on one host: data, a plug-in" {
    rank 0 "$BIN/ddpsmoke" --deadline 60 &
    rank 2 "$BIN/ddpsmoke" --deadline 60 &
    rank 1 "$BIN/ddpsmoke" --data "mnist:$PWD/nowhere" --deadline 60
    wait
    grep -q "rank 1 (node1.*$PWD/nowhere" out0 || { cat out0; false; }
    rank 0 "$BIN/ncclbench" --backend gloo "${bench[@]}" &
    rank 2 "$BIN/ncclbench" --backend gloo "${bench[@]}" &
    WINDSOCK_PLUGINS=$PWD/none rank 1 "$BIN/ncclbench" --backend gloo "${bench[@]}"
    wait
    for r in 0 1 2; do
        [ "$(cut -d' ' -f1 <"end$r")" != 0 ] && [ "$(cut -d' ' -f2 <"end$r")" -lt 20 ] || { cat "out$r" "end$r"; false; }
    done
    grep -q "rank 1 (node1.*gloo.so" out0 || { cat out0; false; }
}

@test "by --init, wherever the line is wrong, and by a shared file" {
    local r how
    for how in tcp://node0:29511 "file://$PWD/meet"; do
        for r in 0 1; do
            on $r "$BIN/ncclbench" --init "$how" --rank=$r --world-size 3 "${bench[@]}" >"out$r" 2>&1 3>&- &
        done
        run on 2 timeout 20 "$BIN/ncclbench" --iter 3 --init "$how" --rank=2 --world-size 3
        [ "$status" = 2 ]
        wait
        for r in 0 1; do
            grep -q "rank 2 (node2, 10.77.0.3) does not take part: unknown option '--iter'" "out$r" || { cat "out$r"; false; }
        done
    done
    [ ! -e meet ]
}

@test "who starts ranks itself, or is alone, tells nobody" {
    run -2 timeout 2 env RANK=1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29599 "$BIN/ncclbench" --np 2 --iter 3
    run -2 timeout 2 env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29599 "$BIN/ncclbench" --iter 3
    run -2 timeout 2 "$BIN/ncclbench" --iter 3
}
