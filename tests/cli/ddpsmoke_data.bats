#!/usr/bin/env bats
# ddpsmoke on files in the formats of MNIST, CIFAR-10 and STL-10: it learns from
# them, reads them alike with any number of loaders, and says what is wrong with them.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2088,SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh
load ../wait.sh

setup_file() {
    export SETS=$BATS_FILE_TMPDIR
    local kind
    for kind in mnist cifar10 stl10; do
        "$ROOT/tests/cli/ddpsmoke_data.py" $kind "$SETS/$kind"
    done
}

smoke() { run --separate-stderr "$BIN/ddpsmoke" "$@"; }

@test "each of them is learned" {
    local kind
    for kind in mnist cifar10 stl10; do
        smoke --data "$kind:$SETS/$kind" --epochs 12 --batch 8 --expect 90 --json
        [ "$status" -eq 0 ] || { echo "$kind: $output $stderr"; false; }
        jq -e --arg kind $kind '.data.model.data == $kind and .data.checks.accuracy >= 0.9 and
            .data.checks.equals_single_process and .data.checks.repeats_to_the_bit' <<<"$output"
    done
}

@test "how many samples there are is read from the files" {
    smoke --data "mnist:$SETS/mnist" --epochs 1 --json
    jq -e '.data.model | .samples == 640 and .validation == 100' <<<"$output"
    smoke --data "cifar10:$SETS/cifar10" --epochs 1 --json
    jq -e '.data.model | .samples == 640 and .validation == 128' <<<"$output"
    smoke --data "stl10:$SETS/stl10" --epochs 1 --samples 100 --validation 10 --json
    jq -e '.data.model | .samples == 100 and .validation == 10' <<<"$output"
    smoke --data "stl10:$SETS/stl10" --samples 161
    [ "$status" -eq 2 ]
    [[ $stderr == *"--samples: stl10:"*" has 160 samples, not 161"*"--samples 160, or all of them without it"* ]]
}

@test "loaders: none, one or three read the same" {
    local n hash first=
    for n in 0 1 3; do
        hash=$("$BIN/ddpsmoke" --data "cifar10:$SETS/cifar10" --workers $n --json | jq -r '.data.epochs[-1].params_hash')
        [ "${first:=$hash}" = "$hash" ]
    done
}

@test "more than there is, and a ~ that no shell expands" {
    smoke --data "mnist:$SETS/mnist" --samples 641 --np 1
    [ "$status" -eq 2 ]
    [[ -z $output && $stderr == *"has 640 samples, not 641; --samples 640, or all of them without it" ]]
    smoke --data "mnist:$SETS/mnist" --samples 641 --json # of ranks that our launcher starts
    [[ $status == 2 && -z $output && $stderr == *"has 640 samples, not 641; --samples 640"* ]]
    smoke --data "mnist:$SETS/mnist" --validation 101
    [ "$status" -eq 2 ]
    [[ $output$stderr == *"--validation: mnist:"*" has 100 samples for that, not 101"*"--validation 100 is all of them"* ]]
    smoke --data 'mnist:~/no-such-set'
    [ "$status" -ne 0 ]
    [[ $output$stderr == *'$HOME/no-such-set'* ]]
}

@test "a folder that is missing, or not unpacked: which file" {
    smoke --data "mnist:$SETS/nowhere"
    [ "$status" -eq 3 ]
    [[ $stderr == *"cannot open $SETS/nowhere/"*"train-labels-idx1-ubyte"* ]]
    [[ $stderr == *"   - unpack the data set"* ]]
    cp -r "$SETS/mnist" "$BATS_TEST_TMPDIR/as it came"
    gzip "$BATS_TEST_TMPDIR/as it came/"*
    smoke --data "mnist:$BATS_TEST_TMPDIR/as it came"
    [ "$status" -eq 3 ]
    [[ $stderr == *"-> gunzip '$BATS_TEST_TMPDIR/as it came/train-labels-idx1-ubyte.gz'"* ]]
}

@test "another form of the data set in the folder: which, and what to do" {
    local dir="$BATS_TEST_TMPDIR/as it came"
    mkdir -p "$dir/cifar-10-batches-py"
    smoke --data "cifar10:$dir"
    [ "$status" -eq 3 ]
    [[ $stderr == *"   - $dir/cifar-10-batches-py is CIFAR-10 as Python reads it"*"cifar-10-binary.tar.gz"* ]]
    tar -C "$SETS/cifar10" --transform 's,^\.,cifar-10-batches-bin,' -czf "$dir/cifar-10-binary.tar.gz" .
    smoke --data "cifar10:$dir"
    [ "$status" -eq 3 ]
    [[ $stderr =~ "-> "(tar -xzf [^$'\n']*) ]]
    eval "${BASH_REMATCH[1]}" # what it says is what helps
    smoke --data "cifar10:$dir" --steps 2
    [ "$status" -eq 0 ]
    : >"$dir/stl10_binary.tar.gz"
    smoke --data "stl10:$dir"
    [[ $stderr == *"-> tar -xzf '$dir/stl10_binary.tar.gz' -C '$dir'"* ]]
}

@test "a pipe in the place of a file does not hang" {
    cp -r "$SETS/mnist" "$BATS_TEST_TMPDIR/set"
    rm "$BATS_TEST_TMPDIR/set/t10k-labels-idx1-ubyte"
    mkfifo "$BATS_TEST_TMPDIR/set/t10k-labels-idx1-ubyte"
    run -3 --separate-stderr timeout 60 "$BIN/ddpsmoke" --data "mnist:$BATS_TEST_TMPDIR/set"
    [[ $stderr == *"t10k-labels-idx1-ubyte is empty, or no file"* ]]
}

# Each way to break a file: what it is called, and what is said.
broken() { # KIND FILE SAYS
    smoke --data "$1:$BATS_TEST_TMPDIR/$1" --epochs 1
    [ "$status" -eq 3 ] || { echo "$2: exit $status"; false; }
    [[ $stderr == *"$2"*"$3"* ]] || { echo "$stderr"; false; }
    cp "$SETS/$1/"* "$BATS_TEST_TMPDIR/$1/"
}

@test "truncated, empty and foreign files, and wrong labels" {
    cp -r "$SETS/"* "$BATS_TEST_TMPDIR/"
    cd "$BATS_TEST_TMPDIR" || exit
    truncate -s -1 mnist/train-images-idx3-ubyte
    broken mnist train-images-idx3-ubyte "truncated?"
    truncate -s 0 mnist/train-labels-idx1-ubyte
    broken mnist train-labels-idx1-ubyte "is empty"
    gzip -c "$SETS/mnist/t10k-images-idx3-ubyte" >mnist/t10k-images-idx3-ubyte
    mkdir 'a b'
    cp -r mnist 'a b/'
    smoke --data 'mnist:a b/mnist'
    [[ $stderr == *"-> mv 'a b/mnist/t10k-images-idx3-ubyte' 'a b/mnist/t10k-images-idx3-ubyte.gz' && gunzip '"* ]]
    broken mnist t10k-images-idx3-ubyte "still packed by gzip"
    printf '\x01' | dd of=mnist/train-images-idx3-ubyte bs=1 seek=3 conv=notrunc status=none
    broken mnist train-images-idx3-ubyte "not an IDX file of images"
    head -c 4 "$SETS/mnist/t10k-images-idx3-ubyte" >mnist/t10k-images-idx3-ubyte
    printf '\0\0\0\0\0\0\0\x1c\0\0\0\x1c' >>mnist/t10k-images-idx3-ubyte
    broken mnist t10k-images-idx3-ubyte "there is no image in it"
    printf '\x0a' | dd of=mnist/train-labels-idx1-ubyte bs=1 seek=20 conv=notrunc status=none
    broken mnist train-labels-idx1-ubyte "sample 12 has label 10"
    truncate -s -100 cifar10/data_batch_3.bin
    broken cifar10 data_batch_3.bin "no multiple of 3073 bytes"
    printf '\xff' | dd of=cifar10/test_batch.bin bs=1 seek=3073 conv=notrunc status=none
    broken cifar10 test_batch.bin "sample 1 has label 255"
    truncate -s -27648 stl10/train_X.bin
    broken stl10 train_y.bin "one label for each image"
    printf '\x00' | dd of=stl10/test_y.bin bs=1 seek=3 conv=notrunc status=none
    broken stl10 test_y.bin "sample 3 has label 0"
    gzip -c "$SETS/stl10/train_X.bin" >stl10/train_X.bin
    broken stl10 train_X.bin "still packed by gzip"
}

@test "MNIST by the names of other mirrors" {
    local file
    cp -r "$SETS/mnist" "$BATS_TEST_TMPDIR/set"
    for file in "$BATS_TEST_TMPDIR"/set/*; do mv "$file" "${file/-idx/.idx}"; done
    smoke --data "mnist:$BATS_TEST_TMPDIR/set" --epochs 1 --json
    jq -e '.data.model | .samples == 640 and .validation == 100' <<<"$output"
    mkdir "$BATS_TEST_TMPDIR/set/train-images-idx3-ubyte" # Kaggle's has such a folder as well
    smoke --data "mnist:$BATS_TEST_TMPDIR/set" --epochs 1
    [ "$status" -eq 0 ]
    rm "$BATS_TEST_TMPDIR/set/t10k-labels.idx1-ubyte"
    smoke --data "mnist:$BATS_TEST_TMPDIR/set" --epochs 1
    [[ $stderr == *"cannot open "*"t10k-labels-idx1-ubyte: No such file"* ]]
}

@test "a file that is cut while it is trained on: no word of the OOM killer" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "a sanitizer ends it by itself"
    MARK=$((BASHPID * 100 + BATS_TEST_NUMBER))
    cp -r "$SETS/mnist" "$BATS_TEST_TMPDIR/set"
    "$BIN/ddpsmoke" --data "mnist:$BATS_TEST_TMPDIR/set" --epochs 1000000 --seed $MARK >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    wait_for 20 training $MARK
    truncate -s 4096 "$BATS_TEST_TMPDIR/set/train-images-idx3-ubyte"
    ends_with 1 $!
    nobody_left
    grep -A2 '^fail  rank.alive .* killed by signal 7 (SIGBUS)' "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/said"
    grep -F ' - a file became shorter' "$BATS_TEST_TMPDIR/said"
    grep -F -e "-> dmesg -T | grep -iE 'i/o error|nfs|memory failure'" "$BATS_TEST_TMPDIR/said"
}

@test "more than there is, by ranks that were started one by one: each says so" {
    SHORT=(--data "mnist:$SETS/mnist" --samples 641)
    ranks '' ''
    [[ ${ENDED[*]} == '2 2' ]]
    for r in 0 1; do
        [ ! -s "$BATS_TEST_TMPDIR/$r" ]
        grep 'ddpsmoke: --samples: mnist:.* has 640 samples, not 641; --samples 640' "$BATS_TEST_TMPDIR/$r.err"
    done
}

@test "a rank whose files are others, or broken: who, and which file" {
    local port=$((20000 + RANDOM % 10000)) r
    "$ROOT/tests/cli/ddpsmoke_data.py" cifar10 "$BATS_TEST_TMPDIR/1/set" 2
    mkdir "$BATS_TEST_TMPDIR/0"
    cp -r "$SETS/cifar10" "$BATS_TEST_TMPDIR/0/set"
    both() {
        for r in 0 1; do
            (cd "$BATS_TEST_TMPDIR/$r" && RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
                exec "$BIN/ddpsmoke" --data cifar10:set >"$BATS_TEST_TMPDIR/out$r" 2>&1 3>&-) &
        done
        wait -n && return 0
        wait
    }
    run both
    cat "$BATS_TEST_TMPDIR/out0"
    grep -Eq '^fail  rank.alike .*rank 1 \(.*\) has another data set \(data_batch_1.bin differs\) than rank 0' "$BATS_TEST_TMPDIR/out0"
    truncate -s -1 "$BATS_TEST_TMPDIR/1/set/data_batch_5.bin"
    port=$((port + 20))
    run both
    cat "$BATS_TEST_TMPDIR/out0"
    grep -Eq '^fail  rank.alike .*rank 1 \(.*\) cannot read its data: .*data_batch_5.bin: its length' "$BATS_TEST_TMPDIR/out0"
    grep -F ' - get the file again, and compare its checksum' "$BATS_TEST_TMPDIR/out0"
    rm -r "$BATS_TEST_TMPDIR/1/set"
    port=$((port + 20))
    run both
    grep -A1 '^fail  rank.alike .*rank 1 (.*) cannot read its data: cannot open ' "$BATS_TEST_TMPDIR/out0" |
        grep -F ' - unpack the data set below set, on every host'
    cp -r "$SETS/cifar10" "$BATS_TEST_TMPDIR/1/set"
    rm -r "$BATS_TEST_TMPDIR/0/set" # rank 0's own is a finding as well
    port=$((port + 20))
    run both
    cat "$BATS_TEST_TMPDIR/out0"
    grep -A1 '^fail  rank.alike .*rank 0 (.*) cannot read its data: cannot open ' "$BATS_TEST_TMPDIR/out0" |
        grep -F ' - unpack the data set below set, on every host'
}
