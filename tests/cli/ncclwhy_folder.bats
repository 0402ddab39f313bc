#!/usr/bin/env bats
# ncclwhy on a folder: which of its files are read, and who is known to have written each.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
}

# FOLDER MESSAGE SECONDS: what torch.distributed.elastic's @record leaves of a rank.
reply() {
    mkdir -p "$1"
    printf '{"message": {"message": "%s", "extraInfo": {"py_callstack": "%s", "timestamp": "%s"}}}' "$2" \
        "Traceback (most recent call last):\\n  File \\\"/job/train.py\\\", line 9, in step\\n    run()\\n$2\\n" "$3" >"$1/error.json"
}

# A run of four ranks that printed little: RUN ATTEMPT
ranks() {
    for r in 0 1 2 10; do
        mkdir -p "$1/attempt_$2/$r"
        echo "step 1 of rank $r" >"$1/attempt_$2/$r/stdout.log"
        : >"$1/attempt_$2/$r/stderr.log"
    done
}

@test "torchrun's log folder: the newest attempt, with the local rank of the line" {
    ranks logs/none_x 0
    echo 'RuntimeError: CUDA error: no kernel image is available for execution on the device' >logs/none_x/attempt_0/10/stderr.log
    run -1 --separate-stderr "$why" logs
    [[ $output == *"GPU-016"*"(line 1 of logs/none_x/attempt_0/10/stderr.log): local rank 10, attempt 0: RuntimeError: CUDA error: no kernel"* ]]
    [[ $stderr != *"earlier"* && $output == *"First to fail: local rank 10, attempt 0 "* ]]
    cp logs/none_x/attempt_0/10/stderr.log logs/none_x/attempt_0/2/stderr.log # neither says when
    run -1 --separate-stderr "$why" logs
    [[ $output == *"local rank 2, attempt 0: RuntimeError"* && $output != *"First to fail"* ]]
    : >logs/none_x/attempt_0/2/stderr.log
    run -1 --separate-stderr "$why" --json logs/
    jq -e '.data.causes[0] | .local_rank == 10 and .attempt == 0 and (has("rank") | not)' <<<"$output"
    # ranks in the order of their numbers; each rank has two files
    jq -e '[.data.log.files[] | split("/")[3]] == ["0", "0", "1", "1", "2", "2", "10", "10"]' <<<"$output"
    # started again, and it failed of something else
    ranks logs/none_x 1
    echo 'RuntimeError: No CUDA GPUs are available' >logs/none_x/attempt_1/2/stderr.log
    run -1 --separate-stderr "$why" logs
    [[ $output == *"local rank 2, attempt 1: RuntimeError: No CUDA GPUs"* && $output != *"no kernel image"* ]]
    [[ $stderr == *"left out 1 earlier attempt of torchrun; to read it: ncclwhy logs/none_x/attempt_0"* ]]
    run -1 --separate-stderr "$why" logs/none_x/attempt_0
    [[ $output == *"local rank 10, attempt 0: "*"no kernel image"* ]]
    # the newest attempt has nothing: the one before it
    mkdir -p logs/none_x/attempt_2/0
    : >logs/none_x/attempt_2/0/stderr.log
    run -1 --separate-stderr "$why" logs
    [[ $output == *"local rank 2, attempt 1: "* && $stderr == *"attempt_0"* ]]
}

@test "a link beside the runs does not hide whose a file is" {
    ranks logs/none_x 0
    echo 'RuntimeError: No CUDA GPUs are available' >logs/none_x/attempt_0/2/stderr.log
    ln -s none_x/attempt_0/2/stderr.log logs/last.log # read before them
    run -1 --separate-stderr "$why" --json logs
    jq -e '.data.causes[0] | .local_rank == 2 and .count == 1' <<<"$output"
}

@test "a label in the line is surer than the path" {
    ranks logs/none_x 0
    echo '[rank7]: RuntimeError: No CUDA GPUs are available' >logs/none_x/attempt_0/2/stderr.log
    run -1 --separate-stderr "$why" --json logs
    jq -e '.data.causes[0] | .rank == 7 and .local_rank == 2' <<<"$output"
    run -1 --separate-stderr "$why" logs
    [[ $output == *"stderr.log): [rank7]: RuntimeError"* ]]
}

@test "error.json is what its rank failed of, with the time that tells who was first" {
    reply logs/none_x/attempt_0/0 'RuntimeError: the others have gone away' 1763630010
    reply logs/none_x/attempt_0/1 'RuntimeError: No CUDA GPUs are available' 1763630003
    run -1 --separate-stderr "$why" logs
    [[ $output == *"(line 4 of the py_callstack in logs/none_x/attempt_0/1/error.json): local rank 1, attempt 0: RuntimeError: No CUDA GPUs"* ]]
    [[ $output == *"First to fail: local rank 1, attempt 0 (the earliest failure in the log)."* ]]
    [[ $output == *"train.py line 9, in step"* ]]
    run -1 --separate-stderr "$why" --json logs
    jq -e '.data.causes[0].count == 1 and (.data.log.files == ["logs/none_x/attempt_0/0/error.json", "logs/none_x/attempt_0/1/error.json"])' <<<"$output"
    # torchrun's times are whole seconds
    reply logs/none_x/attempt_0/0 'RuntimeError: No CUDA GPUs are available' 1763630003
    run -1 --separate-stderr "$why" logs
    [[ $output != *"First to fail"* ]]
    reply logs/none_x/attempt_0/0 'RuntimeError: the others have gone away' 1763630010
    # the rank printed it, too: it counts once, and has the time of the other
    { echo '[rank1]: Traceback (most recent call last):'; echo '[rank1]: RuntimeError: No CUDA GPUs are available'; } >logs/none_x/attempt_0/1/stderr.log
    run -1 --separate-stderr "$why" --json logs
    jq -e '.data.causes[0] | .count == 1 and .rank == 1 and (.file | endswith("1/stderr.log"))' <<<"$output"
    jq -e '.data.first.rank == 1' <<<"$output"
    # as PyTorch wrote it until 1.9, in one line or in many
    printf '{\n "message": {"message": "OwnError: as nobody knows it",\n "extraInfo": {"py_callstack": ["  File \\"/job/old.py\\", line 7, in main\\n    go()\\n"]}}}' >error.json
    run -1 --separate-stderr "$why" error.json
    [[ $output == *"APP-001"*"OwnError: as nobody knows it"* && $output == *"old.py line 7, in main"* ]]
    # an object of somebody else is text like any other
    printf '{"message": "RuntimeError: No CUDA GPUs are available", "level": "error"}\n' >own.json
    run -1 --separate-stderr "$why" own.json
    [[ $output == *"(line 1 of own.json)"* ]]
}

@test "error.json whose message begins with an empty line" {
    mkdir -p logs/attempt_0/0
    echo 'step 1' >logs/attempt_0/0/stderr.log
    printf '%s\n' '{"message": {"message": "\n\nRuntimeError: No CUDA GPUs are available", "extraInfo": {"py_callstack": "", "timestamp": "1763630010"}}}' >logs/attempt_0/0/error.json
    run -1 --separate-stderr "$why" logs
    [[ $output == *"attempt_0/0/error.json"*"No CUDA GPUs"* ]]
}

@test "a run that had ended before the newest began is an earlier one; those of other nodes are not" {
    ranks logs/none_old 0
    ranks logs/none_a 0
    ranks logs/none_b 0
    find logs/none_old -exec touch -d '2025-11-20 10:00:00' {} +
    echo 'RuntimeError: No CUDA GPUs are available' | tee logs/none_a/attempt_0/2/stderr.log >logs/none_b/attempt_0/1/stderr.log
    find logs/none_a logs/none_b -exec touch -d '2025-11-20 11:00:00' {} +
    find logs/none_a logs/none_b -name stderr.log -exec touch -d '2025-11-20 11:30:00' {} +
    touch -d '2025-11-20 11:20:00' logs/none_a/attempt_0/2/stderr.log
    run -1 --separate-stderr "$why" --json logs
    jq -e '.data.causes[0].count == 2 and ([.data.log.files[] | split("/")[1]] | unique == ["none_a", "none_b"])' <<<"$output"
    [[ $stderr == *"left out 1 earlier attempt"*"logs/none_old/attempt_0"* ]]
}

@test "other launchers' folders: mpirun's, submitit's, DeepSpeed's" {
    oops='RuntimeError: No CUDA GPUs are available'
    mkdir -p mpi/1/rank.03 mpi/1/rank.12 sub ds
    echo quiet | tee mpi/1/rank.03/stdout >sub/4711_0_log.out
    echo "$oops" | tee mpi/1/rank.12/stderr sub/4711_5_log.err >ds/20251120101010_rank6.log
    run -1 --separate-stderr "$why" mpi
    [[ $output == *"(line 1 of mpi/1/rank.12/stderr): rank 12: RuntimeError"* ]]
    [[ $output == *"First to fail: rank 12 "* ]] # alone
    echo "2025-11-20 10:00:01 $oops" >mpi/1/rank.03/stderr
    run -1 --separate-stderr "$why" mpi
    [[ $output != *"First to fail"* ]] # nobody knows
    echo "2025-11-20 10:00:00 $oops" >mpi/1/rank.12/stderr
    run -1 --separate-stderr "$why" mpi
    [[ $output == *"First to fail: rank 12 "* ]]
    rm mpi/1/rank.03/stderr
    for of in 'mpi 12' 'sub 5' 'ds 6'; do
        run -1 --separate-stderr "$why" --json "${of% *}"
        jq -e --argjson rank "${of#* }" '.data.causes[0].rank == $rank' <<<"$output"
    done
    # a node's number is no rank's, nor is that within a group or the size of LoRA's matrices, and a
    # launcher's label has a local rank
    mkdir ds/lora_rank16 ds/rank8_alpha16
    for name in node_rank3.txt Tp-rank-3.log lora_rank16/train.log rank8_alpha16/train.log; do
        echo "$oops" >"ds/$name"
        run -1 --separate-stderr "$why" --json "ds/$name"
        jq -e '.data.causes[0] | has("rank") | not' <<<"$output"
    done
    for name in lora_rank16/rank_6.log http_rank6.log; do # a rank's all the same
        echo "$oops" >"ds/$name"
        run -1 --separate-stderr "$why" --json "ds/$name"
        jq -e '.data.causes[0].rank == 6' <<<"$output"
    done
    echo "[default2]:$oops" >sub/4711_5_log.err
    run -1 --separate-stderr "$why" --json sub
    jq -e '.data.causes[0] | has("rank") | not' <<<"$output"
}

@test "what is no log is left out of the folders below, and so is what is hidden; bounded" {
    mkdir -p job/code job/.git job/ckpt away
    echo 'raise RuntimeError("No CUDA GPUs are available")' | tee job/code/a.py >job/.git/x
    echo 'RuntimeError: No CUDA GPUs are available' >away/other.log
    ln -s ../../away/other.log job/code/link.log
    ln -s ../away job/away
    ln -s . job/loop
    printf 'PK\003\004' >job/ckpt/m.safetensors
    head -c 9999 "$why" >job/ckpt/blob
    echo 'all quiet' >job/code/run.log
    ln -s code/run.log job/latest.log
    run -0 --separate-stderr "$why" --json job
    jq -e '.data.causes == [] and .data.log.files == ["job/code/run.log"]' <<<"$output"
    [[ $stderr == *"left out 2 files of weights or data, such as job/ckpt/blob"* ]]
    [[ $stderr == *"left out 1 file of code or settings below, such as job/code/a.py"* ]]
    [[ $stderr == *"left out 1 hidden file or folder, such as job/.git"* ]]
    # a link of the folder itself to a file elsewhere is meant
    ln -s ../away/other.log job/current.log
    run -1 --separate-stderr "$why" job
    [[ $output == *"of job/current.log"* ]]
    mkdir -p deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16
    cp away/other.log deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15
    run -1 --separate-stderr "$why" deep
    [[ $stderr == *"deeper ones than 16"* ]] # and that it was cut is said
    mkdir many
    (cd many && seq 5000 | xargs touch)
    cp away/other.log many/00
    run -1 --separate-stderr "$why" --json many
    jq -e '.data.log.files | length == 4096' <<<"$output"
    [[ $stderr == *"more files than 4096"* ]]
}

@test "a link that leads nowhere is told as one, not as a slip of itself" {
    ln -s rotated-away.log train.log
    run -2 --separate-stderr "$why" train.log
    [[ $stderr == *"cannot read train.log: No such file or directory; it is a link, and what it leads to is not there"* ]]
}

@test "of many files that cannot be read some are named, and how many more there are" {
    mkdir logs
    echo 'step 1' >logs/0.log
    for i in {10..39}; do
        gzip -c <<<'step 1' >"logs/$i.log" # which is told, whoever asks
    done
    run -3 --separate-stderr "$why" logs
    [ "$(grep -c 'is compressed' <<<"$stderr")" = 10 ]
    [[ $stderr == *"nor 20 files more"* && $output == *"30 files were not read"* ]]
}

@test "what never ends is no log: devices, and what the kernel makes as it is read" {
    for device in /dev/zero /dev/urandom; do
        run -3 --separate-stderr timeout 20 "$why" "$device"
        [[ $stderr == *"$device is a device"*"what the ranks printed"* ]]
    done
    run -3 --separate-stderr timeout 20 "$why" - </dev/zero
    [[ $stderr == *"stdin is a device"* ]]
    run -3 --separate-stderr timeout 20 "$why" /proc/self
    [[ $stderr == *"/proc/self is no folder of logs"* ]]
    run -0 --separate-stderr timeout 20 "$why" --json /proc/self/status # one that is meant is read
    jq -e '.data.log.lines > 10' <<<"$output"
    run -3 --separate-stderr timeout 20 "$why" /proc/self/pagemap # many gigabytes
    run -1 --separate-stderr "$why" /dev/stdin <<<'RuntimeError: CUDA error: invalid device ordinal'
    [[ $output == *GPU-003* ]]
}

@test "a file that was named twice is read once" {
    mkdir logs
    echo 'RuntimeError: No CUDA GPUs are available' >logs/x.log
    ln -s logs/x.log y.log
    run -1 --separate-stderr "$why" --json logs/x.log logs ./logs/x.log y.log
    jq -e '.data.causes[0].count == 1 and .data.log.files == ["logs/x.log"]' <<<"$output"
}
