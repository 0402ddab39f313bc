#!/usr/bin/env bats
# ncclwhy on compressed files: what it says to type is typed, and gives the answer.
# shellcheck disable=SC2016,SC2088 # the other side expands
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent 'd of it'
    gzip 'd of it'/*
}

advice() { # what is behind the one arrow of stderr
    (($(grep -c -- '-> ' <<<"$stderr") == 1))
    sed -n 's/^ *-> //p' <<<"$stderr"
}

types() { # it, with ours found as ncclwhy
    PATH=${why%/*}:$PATH run -1 --separate-stderr bash -c "$1"
}

@test "several of one kind: one sentence, and one line for all of them" {
    run -3 --separate-stderr "$why" 'd of it'/*
    [[ $stderr == *"the files in d of it are compressed"* && $(wc -l <<<"$stderr") = 2 ]]
    types "$(advice)"
    [[ $output == *"FR-001"*"rank 3 never entered"*"the dumps of 4 ranks"* && ! $stderr ]]
    # of a folder, too, in which nothing but them is
    rm 'd of it'/*_[0-9]
    run -3 --separate-stderr "$why" 'd of it'
    types "$(advice)"
    [[ $output == *"FR-001"* ]]
}

@test "one dump keeps its name, which says whose it is; a log goes through a pipe" {
    run -3 --separate-stderr "$why" 'd of it/nccl_trace_rank_0.gz'
    [[ $stderr == *"-> gunzip -k 'd of it/nccl_trace_rank_0.gz' && ncclwhy 'd of it/nccl_trace_rank_0'"* ]]
    echo 'RuntimeError: No CUDA GPUs are available' | gzip >train.log.gz
    run -3 --separate-stderr "$why" train.log.gz
    types "$(advice)"
    [[ $output == *"line 1 of stdin"* ]]
}

@test "of two kinds, or beside what else cannot be read, each is said" {
    cp 'd of it/nccl_trace_rank_0.gz' x.xz
    run -3 --separate-stderr "$why" 'd of it'/*_[01].gz x.xz
    [[ $stderr == *"d of it are compressed"* && $stderr == *"x.xz is compressed"*"-> xzcat x.xz | ncclwhy"* ]]
    [[ $stderr == *"-> gunzip -k 'd of it'/*.gz && ncclwhy 'd of it'"* ]]
    [[ $output == *"nothing was read"* ]]
    run -2 --separate-stderr "$why" 'd of it'/*_[01].gz missing.log
    [[ $stderr == *"d of it are compressed"*"-> gunzip -k 'd of it'/*.gz"* && $stderr == *missing.log*"No such"* ]]
}

@test "on hosts: brought here first" {
    printf '#!/bin/sh\ncd "${0%%/*}/$1" && shift && HOME=$PWD exec sh -c "$*"\n' >rsh
    chmod +x rsh
    mkdir a b
    mv 'd of it'/*_[01].gz a
    mv 'd of it'/*.gz b
    run -3 --separate-stderr "$why" --rsh ./rsh --hosts a,b '~/*.gz'
    [[ $stderr == *"a:"*"nccl_trace_rank_0.gz is compressed"* && $stderr == *"--save"*"find FOLDER -name '*.gz' -exec gunzip -k {} + && ncclwhy FOLDER"* ]]
    run -3 --separate-stderr "$why" --rsh ./rsh --hosts a,b --save 'kept here' '~/*.gz'
    types "$(advice)"
    [[ $output == *"FR-001"*"rank 3 never entered"* ]]
}
