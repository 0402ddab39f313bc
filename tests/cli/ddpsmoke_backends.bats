#!/usr/bin/env bats
# ddpsmoke with its gradients over Gloo and both MPIs: the same proofs, and the same
# names for ranks that die, stop or compute wrongly; what is missing or cannot be.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh

smoke() { run --separate-stderr "$BIN/ddpsmoke" --seed "$MARK" "$@"; }

small() { smoke --samples 512 "$@"; }

fails() { # CHECK TEXT: exit 1, and that finding, failed, has the text
    [ "$status" -eq 1 ] && grep -Eq "^fail  $1 .*$2" <<<"$output" && return
    echo "exit code $status" "$output" "$stderr"
    false
}

needs() { # BACKEND...: what was not built here is skipped
    local b
    for b in "$@"; do
        [ -e "${BIN%/bin}/lib/windsock/$b.so" ] || skip "$b.so was not built"
        [[ $b != mpi-* ]] || export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 # MPI's libraries leak
        case $b in
        mpi-openmpi) command -v mpirun.openmpi >/dev/null || skip "no mpirun of Open MPI's" ;;
        mpi-mpich) command -v mpirun.mpich >/dev/null || skip "no mpirun of MPICH's" ;;
        esac
    done
}

proven() { # ARGS...: all proofs hold, in a short run
    small "$@" --json
    valid
    [ "$status" -eq 0 ] || { echo "$output" "$stderr"; false; }
    jq -e "$FINE"'fine and (.data.checks | .params_equal_across_ranks and
        .equals_single_process and .repeats_to_the_bit)' <<<"$output"
}

MEET=$((3 * ${WINDSOCK_SLOW:-1})) # seconds

setup() { MARK=$((BASHPID * 100 + BATS_TEST_NUMBER)) SHORT=(--samples 512); }

@test "gloo: every proof holds, and the report says who carried the gradients" {
    needs gloo
    local n
    for n in 1 2 3; do
        proven --backend gloo --np $n
        jq -e --argjson n $n '.data.backend == "gloo" and (.data.transport | startswith("Gloo ")) and
            (.data.covers | test(if $n == 1 then "no exchange" else "gradients over Gloo" end))' <<<"$output"
        jq -e '.findings[] | select(.check == "train.backend") |
            .status == "info" and .subject == "gloo"' <<<"$output"
    done
}

@test "gloo has no reduce_scatter: fsdp does without, and says so" {
    needs gloo
    proven --backend gloo --np 3 --pattern fsdp
    jq -e '.findings[] | select(.check == "train.backend") |
        .message | test("no reduce_scatter, so all_reduce was used")' <<<"$output"
}

@test "mpi: under Open MPI's mpirun and under MPICH's, both patterns" {
    needs mpi-openmpi mpi-mpich
    local b
    for b in mpi-openmpi mpi-mpich; do
        proven --backend $b
        jq -e '.data.backend == "mpi" and (.data.world.ranks | length == 2)' <<<"$output"
        [ $b = mpi-mpich ] || jq -e '.data.transport | startswith("Open MPI v")' <<<"$output"
        [ $b = mpi-openmpi ] || jq -e '.data.transport | startswith("MPICH ")' <<<"$output"
        proven --backend $b --pattern fsdp
        run ! grep -q 'no reduce_scatter' <<<"$output"
    done
}

@test "wrong gradients, wrong averages, other data: named as over tcp" {
    needs gloo
    small --backend gloo --np 3 --fault 2:flip
    fails train.reference 'rank 2 \(.*\) computed another gradient in step 2'
    small --backend gloo --np 3 --fault 1:wire
    fails train.params 'rank 1 \(.*\) has other parameters'
    [[ $output == *"-> ncclbench --np 3 --backend gloo "* ]]
    small --backend gloo --fault 1:nan
    fails train.finite 'rank 1 '
    small --backend gloo --fault 1:data
    fails rank.alike 'rank 1 \(.*\) has another data set'
}

@test "gloo: a killed and a stopped rank are named, nobody left" {
    needs gloo
    local r
    for r in 0 1; do
        small --backend gloo --np 3 --fault "$r:die"
        fails rank.alive "rank $r \(.*\) died: killed by signal 9 \(SIGKILL\)"
    done
    small --backend gloo --np 3 --fault 2:stop --deadline 2s
    fails rank.alive 'rank 2 \(.*\) did nothing for 2 s: it hangs, was stopped, or computes for longer than --deadline'
    nobody_left
}

@test "mpi: a killed rank is named with its signal, whichever, nobody left" {
    needs mpi-openmpi mpi-mpich
    local b r
    for b in mpi-openmpi mpi-mpich; do
        for r in 0 1; do
            small --backend $b --np 3 --fault "$r:die"
            fails rank.alive "rank $r \(.*\) died: killed by signal 9 \(SIGKILL\)"
        done
    done
    nobody_left
}

@test "mpi: a stopped rank is named, and mpirun made to end" {
    needs mpi-openmpi
    # they also meet within that
    small --backend mpi-openmpi --np 3 --fault 0:stop --deadline ${MEET}s --heartbeat $((MEET * 10))s
    fails rank.alive "rank 0 \(.*\) did nothing for $MEET s"
    nobody_left
}

@test "mpi: a rank that dies before it joined" {
    needs mpi-openmpi
    small --backend mpi-openmpi --np 2 --fault 1:die:start --deadline 2s
    fails rank.joined 'rank 1 ended before it joined: killed by signal 9'
    nobody_left
}

interrupted() { # SECONDS: that long into a run; is there a report of what it had done?
    local out=$BATS_TEST_TMPDIR/out since
    "$BIN/ddpsmoke" --backend mpi-openmpi --seed "$MARK" --epochs 100000 >"$out" 2>"$out.err" 3>&- &
    sleep "$1"
    kill -INT $!
    since=$SECONDS
    ends_with 3 $!
    ((SECONDS - since < 25)) # the ranks' threads kept the signal from us for up to a minute
    nobody_left
    grep -q '^ERROR ' "$out" || { cat "$out" "$out.err"; return 1; }
    run ! grep -q '^fail' "$out"
    [ "$(grep -c 'interrupted by SIGINT' "$out.err")" -eq 1 ]
    DONE=$(grep -c '^pass  train.params ' "$out") || true
}

@test "mpi: Ctrl-C: what was finished is reported, nobody left" {
    needs mpi-openmpi
    local seconds
    for seconds in 1.5 4 8 16; do # to train takes a busy machine a while
        interrupted $seconds
        ((!DONE)) || return 0
    done
    cat "$BATS_TEST_TMPDIR"/out*
    false
}

@test "mpi: no rank outlives a killed command" {
    needs mpi-openmpi
    "$BIN/ddpsmoke" --backend mpi-openmpi --np 3 --seed "$MARK" --epochs 100000 >/dev/null 2>&1 3>&- &
    for ((i = 0; i < 200; i++)); do
        [ "$(pgrep -cf -- "--seed $MARK")" -lt 8 ] || break # we, mpirun, each rank and who shelters it
        sleep 0.05
    done
    kill -9 $!
    nobody_left
}

@test "the terminal that Open MPI gives a rank is nobody's: no colours in a file" {
    command -v mpirun.openmpi >/dev/null || skip "no mpirun.openmpi here"
    TERM=xterm run -0 --separate-stderr mpirun.openmpi --allow-run-as-root --oversubscribe -np 2 \
        "$BIN/ddpsmoke" --steps 2
    [[ $output == *"PASS  "*"neither a GPU nor a network was tested"* ]] # not wrapped, either
    [[ $output != *$'\e'* ]]
}

@test "under mpirun, and as torchrun starts ranks" {
    needs gloo mpi-openmpi
    local port=$((20000 + RANDOM % 10000)) r root=()
    ((EUID)) || root=(--allow-run-as-root)
    run -0 --separate-stderr mpirun.openmpi "${root[@]}" --oversubscribe -np 2 "$BIN/ddpsmoke" \
        --backend mpi --samples 512 --json
    jq -es "$FINE"'length == 1 and (.[0] | fine and .data.backend == "mpi")' <<<"$output"
    for r in 0 1; do
        RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            "$BIN/ddpsmoke" --backend gloo --samples 512 >"$BATS_TEST_TMPDIR/$r" 2>/dev/null 3>&- &
    done
    ends_with 0 %1 && ends_with 0 %2
    grep -Eq '^(PASS|WARN) .*over Gloo' "$BATS_TEST_TMPDIR/0"
}

@test "ranks that are not alike: who lacks the plug-in, who was told of another one" {
    needs gloo
    ranks "--backend gloo" "--backend gloo" WINDSOCK_PLUGINS=/nonexistent
    [ "${ENDED[*]}" = "4 4" ]
    grep -q 'rank 1 (.*): the plug-in gloo.so is not there' "$BATS_TEST_TMPDIR/0.err"
    [ ! -s "$BATS_TEST_TMPDIR/1" ]
    ranks "--backend tcp" "--backend gloo"
    [ "${ENDED[*]}" = "1 1" ]
    grep -Eq '^fail  rank.alike .*rank 1 \(.*\) was started with --backend gloo, rank 0 with tcp' \
        "$BATS_TEST_TMPDIR/0" || { cat "$BATS_TEST_TMPDIR"/*; false; }
}

@test "MPI's ranks need its mpirun: who started them instead" {
    needs mpi-openmpi
    ranks "--backend mpi-openmpi" "--backend mpi-openmpi"
    [ "${ENDED[*]}" = "2 2" ]
    grep -q "MPI's own mpirun has to; mpirun -np 2 ddpsmoke --backend mpi-openmpi" "$BATS_TEST_TMPDIR/0.err"
    smoke --serve --backend mpi-openmpi
    [ "$status" -eq 2 ]
    [[ $stderr == *"mpirun starts the ranks, not --serve or --srun"* ]]
    smoke --hosts a,b --copy-self --backend mpi-openmpi
    [ "$status" -eq 2 ]
    [[ $stderr == *"copies nothing"* ]]
    smoke --hosts '[fd00::1],[fd00::2]' --backend mpi-openmpi
    [ "$status" -eq 2 ]
    [[ $stderr == *"takes no IPv6 address for a host: fd00::1"* ]]
}

@test "a wrong name: did you mean; what is not here: exit 4 and what to do" {
    smoke --backend glo
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ $stderr == *"'glo' is not one of auto, tcp, "*"did you mean gloo?"* ]]
    WINDSOCK_PLUGINS=$BATS_TEST_TMPDIR smoke --backend gloo
    [ "$status" -eq 4 ]
    [[ $stderr == *"gloo.so is not there (looked in $BATS_TEST_TMPDIR)"*"libgloo-dev"* ]]
    run -4 --separate-stderr env PATH=/nonexistent WINDSOCK_MPIRUN= "$BIN/ddpsmoke" --backend mpi
    [[ $stderr == *"no mpirun of Open MPI or MPICH"*"apt-get install openmpi-bin"* ]]
}

@test "nccl without a GPU: exit 4 with the reason; auto is tcp" {
    [ ! -e /proc/driver/nvidia/version ] || skip "there is a GPU here"
    smoke --backend nccl
    [ "$status" -eq 4 ]
    [[ $stderr == *"nccl.so is not there"* || $stderr == *"no NVIDIA driver here"*"--backend tcp does without"* ]]
    proven --backend auto
    jq -e '.data.backend == "tcp" and (.data.covers | test("gradients over TCP")) and
        ([.findings[].check] | index("train.backend") | not)' <<<"$output"
}
