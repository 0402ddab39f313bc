#!/usr/bin/env bats
# ddpsmoke --checkpoint: what is saved half-way is read by every rank, and training from it comes
# to the same bits; what is wrong with the folder is named; nothing is left in it.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh
load ../wait.sh
load plugins.sh

setup() {
    MARK=$((BASHPID * 100 + BATS_TEST_NUMBER))
    cd "$BATS_TEST_TMPDIR" || return
    mkdir shared
}

teardown() {
    ! mountpoint -q shared || { fsfreeze --unfreeze shared 2>/dev/null; umount shared; }
}

# Little to train and to write; by default two ranks.
save() { run --separate-stderr "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint-size 1M --checkpoint shared "$@"; }

is_empty() { [ -z "$(ls -A shared)" ]; }
left() { is_empty || { ls -lAR shared; false; }; } # nothing is

begun() { compgen -G "shared/ddpsmoke-checkpoint-*/rank-0000$1" >/dev/null; } # by rank $1

fails() { # CHECK TEXT
    grep -Eq "^fail  $1 .*$2" <<<"$output" || { echo "$output" "$stderr"; false; }
}

# In a mount namespace of our own, where SETUP (a line for sh) was done.
within() { # SETUP COMMAND...
    unshare -rm true 2>/dev/null || skip 'no mount namespace can be made here'
    run --separate-stderr unshare -rm sh -c "$1 && exec \"\$@\"" sh "${@:2}"
}

@test "ddp and fsdp, cnn and mlp: the parameters and the momentum of the run without a break" {
    local pattern how
    for pattern in ddp fsdp; do
        for how in '--model cnn' '--model mlp --np 3 --epochs 3'; do
            # shellcheck disable=SC2086
            save --pattern $pattern $how --json
            valid
            [ "$status" -eq 0 ] || { echo "$output"; false; }
            jq -e "$FINE"'fine and ([.findings[] | select(.check | startswith("checkpoint.")) | [.check[11:], .status]] ==
                [["write", "pass"], ["shared", "info"], ["content", "pass"], ["resume", "pass"], ["speed", "info"]])' <<<"$output"
            jq -e --arg ranks "$pattern" '.data.checkpoint | .resumes_equal and .epochs_done == 1 and
                .write_gbps > 0 and .read_gbps > 0 and .written_bytes >= 1048576 and .written_bytes < 1100000 and
                (.folder | endswith("/shared")) and all(.ranks[]; .written and .sees_others and .read and .resumes_equal and
                .filesystem and .mount and .free_bytes > 0 and .write_seconds > 0)' <<<"$output"
            left
        done
    done
}

@test "the longest check has room in its column from the first line on" {
    save
    [ "$status" -eq 0 ]
    # what stands behind the check begins at one place in all of them
    [ "$(grep -oE '^(pass|info|skip|warn)  [a-z.]+ +' <<<"$output" | awk '{ print length }' | sort -u)" = 26 ]
    run -0 --separate-stderr "$BIN/ddpsmoke" --samples 128 --expect 0 # and without it as much as ever
    [ "$(grep -oE '^(pass|info|skip|warn)  [a-z.]+ +' <<<"$output" | awk '{ print length }' | sort -u)" = 25 ]
}

@test "resnet18: its running statistics too" {
    [[ -e $O/lib/windsock/onednn.so ]] || skip 'onednn.so was not built'
    local pattern
    for pattern in ddp fsdp; do
        run -0 --separate-stderr "$BIN/ddpsmoke" --model resnet18 --side 96 --batch 1 --samples 2 --validation 2 --expect 0 \
            --checkpoint shared --checkpoint-size 1M --pattern $pattern --deadline 60s
        [[ $output == *"pass  checkpoint.resume "*"momentum and running statistics bit-equal"* ]]
        left
    done
}

@test "on GPUs, with loss scaling, and over another library: through the same files" {
    plugin_test ddpsmoke
    mkdir -p shared
    local all=(--samples 32 --batch 8 --validation 8 --expect 0 --checkpoint shared --checkpoint-size 1M)
    if [[ -e $O/lib/windsock/gloo.so ]]; then
        run -0 --separate-stderr "$B" "${all[@]}" --backend gloo --pattern fsdp
        [[ $output == *"pass  checkpoint.resume "* ]]
    fi
    built cudnn
    stand_ins
    for how in '--np 1 --amp fp16' '--np 2'; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr "$B" "${all[@]}" --device cuda --backend tcp $how --json
        valid
        jq -e '.data.checkpoint.resumes_equal and (.data.device | test("cuDNN"))' <<<"$output"
        left
    done
}

@test "alone; over another epoch than the first; one epoch has nothing to resume" {
    save --np 1 --epochs 4 --json
    [ "$status" -eq 0 ]
    jq -e '.data.checkpoint | .resumes_equal and .epochs_done == 2 and .steps_done == 8' <<<"$output"
    save --epochs 1
    [ "$status" -eq 0 ]
    [[ $output == *"skip  checkpoint.resume "*"end within the first epoch"*"--epochs 2, or more"* ]]
    save --epochs 1 --steps 1
    [[ $output == *"skip  checkpoint.resume "*"--epochs 2 --steps 3, or more"* ]]
    save --steps 1
    [ "$status" -eq 0 ]
    [[ $output == *"skip  checkpoint.resume "*"--steps 3, or more"* ]]
    left
}

@test "who resumes without momentum, or with another epoch's samples, is named" {
    save --fault 1:forget
    [ "$status" -eq 1 ]
    fails checkpoint.resume 'rank 1 .* other momentum'
    save --fault 1:forget --pattern fsdp
    fails checkpoint.resume 'rank 1 .* other momentum'
    save --fault 1:order
    fails checkpoint.resume 'rank 1 .* took other samples'
    left
}

@test "a file that is another one than was written is no checkpoint: who wrote it is named" {
    save --fault 0:torn
    [ "$status" -eq 1 ]
    fails checkpoint.content 'the file that (it|rank 0 .*) wrote.*the hash differs'
    save --fault 1:torn --pattern fsdp --json
    valid
    [ "$status" -eq 1 ]
    jq -e '(.data.checkpoint | has("resumes_equal") | not) and any(.findings[]; .check == "checkpoint.content" and
        .status == "fail" and (.message | test("rank 1")))' <<<"$output"
    left
}

@test "a file server that does not answer: said within the deadline, and by whom" {
    local start=$SECONDS
    save --fault 1:stuck --pattern fsdp --deadline 2s --seed "$MARK"
    [ "$status" -eq 1 ]
    ((SECONDS - start < 20))
    fails checkpoint.write 'rank 1 .*nothing moved for 2 s'
    nobody_left
    save --fault 1:stuck --deadline 2s # rank 0 saves alone, and others need not
    [ "$status" -eq 0 ]
    grep -Eq '^warn  checkpoint.write .*rank 1 .*nothing moved' <<<"$output"
    grep -q '^pass  checkpoint.resume ' <<<"$output"
    left
}

@test "a file system that stands still: who asks it cannot be ended, and is not waited for" {
    ((EUID == 0)) || skip 'needs root'
    truncate -s 16M image
    mkfs.ext4 -q image 2>/dev/null || skip 'no mkfs.ext4 here'
    mount -o loop image shared 2>/dev/null || skip 'nothing can be mounted here'
    fsfreeze --freeze shared
    save --deadline 2s --seed "$MARK"
    # whoever writes is still there, and waited for by who will clear up: nobody has to look on
    for _ in {1..200}; do
        ps -o ppid= -p "$(pgrep -d, -f -- "--seed $MARK")" | grep -qvx ' *1' || break
        sleep 0.05
    done
    pgrep -f -- "--seed $MARK" | xargs ps -o comm= -p | grep '^heir-'
    fsfreeze --unfreeze shared
    nobody_left
    rmdir shared/lost+found
    left
    [ "$status" -eq 1 ]
    fails checkpoint.write 'rank 0 .*\(ext4 of .*nothing moved for 2 s'
}

@test "a folder that is not there, is a file, or that nobody may write" {
    save --checkpoint nowhere
    [ "$status" -eq 1 ]
    fails checkpoint.write 'there is no folder .*/nowhere'
    [[ $output == *"-> mkdir -p "*"/nowhere"* ]]
    grep -q '^pass  train.params ' <<<"$output" # the rest is judged all the same
    # and before a long run, not after it
    run --separate-stderr timeout 20 "$BIN/ddpsmoke" --checkpoint nowhere --epochs 2000 --samples 20000 --json
    valid
    [ "$status" -eq 1 ]
    jq -e '(.data.steps | length == 64) and
        any(.findings[]; .check == "train.repeat" and .status == "pass") and
        ([.findings[] | select(.status == "fail") | .check] == ["checkpoint.write"])' <<<"$output"
    save --checkpoint "it's not/$(printf '%0120d' 0)" # one word for a shell, and all of it
    [[ $output == *"-> mkdir -p '"*"/it'\\''s not/"*"0'   # or mount it there"* ]]
    : >file
    save --checkpoint file
    [ "$status" -eq 1 ]
    fails checkpoint.write 'there is no folder .*Not a directory'
    within 'mount -t tmpfs -o ro none shared' "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint shared
    [ "$status" -eq 1 ]
    fails checkpoint.write 'tmpfs of none.*Read-only file system'
    [[ $output == *"is on a read-only file system"* ]]
}

@test "who may not write there is told who may" {
    ((EUID == 0)) || skip 'needs a user without rights'
    chmod 755 "$BATS_TEST_TMPDIR" shared
    setpriv --reuid 54321 --regid 54321 --clear-groups test -x "$BIN/ddpsmoke" || skip 'built where others may not enter'
    run -1 --separate-stderr setpriv --reuid 54321 --regid 54321 --clear-groups \
        "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint shared
    fails checkpoint.write 'Permission denied'
    [[ $output == *"-> ls -ld "*"/shared; id "* ]]
}

@test "a full one, and one without room for the filler" {
    within 'mount -t tmpfs -o size=150k none shared' "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint shared
    [ "$status" -eq 1 ]
    fails checkpoint.write 'No space left on device: .* are needed, .* were free'
    [[ $output == *"(\`df -h $PWD/shared\`)"* ]] # the one in it is gone
    within 'mount -t tmpfs -o size=2m none shared' "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint shared --pattern fsdp
    [ "$status" -eq 0 ]
    [[ $output == *"pass  checkpoint.write "*"(not 64 MiB: there is no room for it)"* ]]
    grep -q '^pass  checkpoint.resume ' <<<"$output"
}

@test "one that holds no more files, with room for all of them" {
    local n
    for n in 1 2; do # for itself; for the folder in it
        within "mount -t tmpfs -o nr_inodes=$n none shared" "$BIN/ddpsmoke" --samples 128 --expect 0 --checkpoint shared
        [ "$status" -eq 1 ]
        fails checkpoint.write 'No space left on device, with .* free: no inodes are left'
        [[ $output == *"-> df -i $PWD/shared   # none"* ]]
    done
}

@test "somebody who clears the folder meanwhile" {
    "$BIN/ddpsmoke" --samples 2048 --expect 0 --checkpoint-size 1M --checkpoint shared --fault 1:lag >out 2>&1 3>&- &
    local pid=$!
    wait_for 20 begun 0
    wait_for 20 begun 1
    rm -r shared/*
    ends_with 1 "$pid"
    output=$(<out)
    fails checkpoint.shared 'what rank . .* is not there any more'
}

@test "nothing is left when a rank dies, or after Ctrl-C" {
    local pattern pid
    for pattern in ddp fsdp; do
        save --pattern $pattern --fault 1:die:3 # two steps are an epoch
        [ "$status" -eq 1 ]
        fails rank.alive 'rank 1 .*signal 9'
        wait_for 10 is_empty || left
    done
    for signal in TERM KILL; do # in the middle of it
        "$BIN/ddpsmoke" --seed "$MARK" --samples 128 --checkpoint shared --checkpoint-size 1M --fault 0:stuck >out 2>&1 3>&- &
        pid=$!
        wait_for 20 begun 1
        kill -$signal "$pid"
        [ $signal = KILL ] || ends_with 3 "$pid"
        nobody_left
        wait_for 10 is_empty || left
    done
}

@test "the command line" {
    run -2 "$BIN/ddpsmoke" --checkpoint-size 1M
    [[ $output == *"--checkpoint-size goes with --checkpoint"* ]]
    run -2 "$BIN/ddpsmoke" --checkpoint ''
    [[ $output == *"--checkpoint: name a folder"* ]]
    # shellcheck disable=SC2034 # ranks() reads it
    local SHORT=(--init env:// --samples 128 --expect 0)
    ranks '--checkpoint shared --checkpoint-size 1M' ''
    [ "${ENDED[0]}" -eq 1 ]
    grep -q 'rank 1 .*no --checkpoint, rank 0 has --checkpoint' 0
}

@test "a relative one is rank 0's, wherever others are started" {
    local port=$((20000 + RANDOM % 10000)) pid
    mkdir -p elsewhere
    (cd elsewhere && exec env RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$BIN/ddpsmoke" \
        --init env:// --samples 128 --expect 0 --checkpoint shared --checkpoint-size 1M --pattern fsdp >../1 2>&1 3>&-) &
    pid=$!
    RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port save --init env:// --pattern fsdp
    wait "$pid"
    [ "$status" -eq 0 ] || { echo "$output"; false; }
    grep -q '^pass  checkpoint.resume ' <<<"$output"
    [[ -z $(ls -A elsewhere) ]]
    left
}
