#!/usr/bin/env bats
# ddpsmoke on this machine: what a run proves, what it says, and which rank it
# names when one computes, gets or does something wrong.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh
load ../wait.sh

smoke() { run --separate-stderr "$BIN/ddpsmoke" "$@"; }

small() { smoke --samples 512 "$@"; } # 8 steps on two ranks and an epoch

fails() { # CHECK TEXT: that finding, failed, has the text
    grep -Eq "^fail  $1 .*$2" <<<"$output" || { echo "$output"; false; }
}

setup() { MARK=$((BASHPID * 100 + BATS_TEST_NUMBER)); }

@test "a bare run: two ranks, every proof, a verdict in time" {
    local start=$SECONDS before said
    worked
    before=$WORKED_MS
    smoke
    [ "$status" -eq 0 ] || { echo "$output" "$stderr"; false; }
    worked
    [[ ${WINDSOCK_SANITIZED-} ]] || ((WORKED_MS - before < 4000 && SECONDS - start < 20)) # on an idle machine half a second
    for check in rank.joined rank.alike train.samples train.finite train.params \
        train.reference train.repeat train.loss train.accuracy; do
        grep -q "^pass  $check " <<<"$output" || { echo "$check: $output"; false; }
    done
    said='9 checks'
    # others may have one rank's processor
    ! grep -q '^warn  train.pace .*: compute, not network' <<<"$output" || said='10 checks, 1 warning'
    [[ $said == 10* ]] || grep -q '^info  train.pace .* samples/s on 2 ranks; forward ' <<<"$output"
    [[ $output == *"PASS  $said: 2 local ranks on the CPU, gradients over TCP; neither a GPU nor a network was tested"* ]]
}

@test "JSON has what the design says" {
    smoke --json --np 3 --samples 600
    valid
    [ "$status" -eq 0 ]
    jq -e "$FINE"'.command == "ddpsmoke" and fine' <<<"$output"
    jq -e '.data.world.ranks | length == 3 and all(.host and .address and .device == "cpu") and
        map(.rank) == [0, 1, 2]' <<<"$output"
    jq -e '.data.model | .name == "cnn" and .parameters == 21840 and .global_batch == 96' <<<"$output"
    jq -e '.data.steps | length == 14 and .[0].step == 0 and .[13].step == 13 and
        all(.loss > 0 and .lr == 0.02 and .top1 <= 1 and .seconds > 0)' <<<"$output"
    jq -e '.data | .steps_every == 1 and .epochs_every == 1 and (.epochs | map([.epoch, .step])) == [[0, 6], [1, 13]]' <<<"$output"
    jq -e '.data.checks | .params_equal_across_ranks and .equals_single_process and
        .repeats_to_the_bit and .loss_last < .loss_first and .accuracy > 0' <<<"$output"
    jq -e '.data.throughput | .samples_per_s > 0 and (.ranks | length == 3 and
        all(.seconds | .data and .forward and .backward and .exchange and .update))' <<<"$output"
}

@test "cnn learns the digits: 97 % and more" {
    smoke --json --expect 97
    [ "$status" -eq 0 ]
    jq -e '.data.checks.accuracy >= 0.97' <<<"$output"
}

@test "mlp, and 1 to 5 ranks: the parameters of one process" {
    local n
    for n in 1 2 3 4 5; do
        small --model mlp --np "$n"
        [ "$status" -eq 0 ]
        if ((n == 1)); then
            grep -q "^pass  train.reference .* one process that runs the same samples" <<<"$output"
        else
            grep -q "^pass  train.reference .* all $n shards" <<<"$output"
        fi
    done
}

@test "as many steps for any number of ranks, and any batch: accuracy is judged" {
    local how
    for how in '--np 6' '--np 2 --batch 128' '--np 8 --model mlp'; do
        # shellcheck disable=SC2086
        smoke $how --json
        [ "$status" -eq 0 ]
        jq -e --arg how "$how" '(.data.steps | length == 64) and
            any(.findings[]; .check == "train.accuracy" and .status == "pass")' <<<"$output"
    done
    smoke --batch 1 --epochs 1 --steps 3 --json # small ones do not mean few samples
    jq -e '.data.model.samples == 2048' <<<"$output"
}

@test "what is expected unasked is of steps as they are by default; what is asked for is judged" {
    smoke --batch 1 # of one sample each, and so smaller, but 2048 of them
    [ "$status" -eq 0 ] || { echo "$output"; false; }
    grep -q '^pass  train.accuracy ' <<<"$output"
    local few
    # as small and few as these, or of so few samples, are no rank's fault
    for few in '--batch 4 --steps 80' '--batch 16 --steps 64' '--samples 16 --epochs 60' '--steps 50' \
        '--global-batch 8 --steps 100' '--batch 2 --samples 256'; do
        # shellcheck disable=SC2086
        smoke $few
        [ "$status" -eq 0 ] || { echo "$few: $output"; false; }
        grep -q '^info  train.accuracy .*(not judged)' <<<"$output"
    done
    smoke --batch 4 --steps 80 --expect 99.9
    fails train.accuracy '>= 99.9 %'
    smoke --momentum 0
    [ "$status" -eq 0 ]
    grep -q '^info  train.accuracy .*(not judged)' <<<"$output"
    smoke --momentum 0 --expect 99.9
    [ "$status" -eq 1 ]
    fails train.accuracy '>= 99.9 %'
    [[ $output == *"-> ddpsmoke --momentum 0 --expect 99.9 --epochs 4"* ]]
    smoke --expect 100 --steps 3
    [ "$status" -eq 1 ]
    fails train.accuracy '>= 100 %'
    [[ $output == *"-> ddpsmoke --expect 100 --steps 6"* ]]
}

@test "--pattern fsdp: sharded parameters, the same proofs" {
    local n model
    for n in 1 2 3; do
        for model in cnn mlp; do
            small --pattern fsdp --np "$n" --model $model --json
            [ "$status" -eq 0 ] || { echo "$output"; false; }
            jq -e '.data.model.pattern == "fsdp" and (.data.checks | .params_equal_across_ranks and
                .equals_single_process and .repeats_to_the_bit)' <<<"$output"
        done
    done
    smoke --pattern fsdp --expect 97
    [ "$status" -eq 0 ]
    small --pattern fsdp --np 3 --validation 97 # of unlike numbers of batches
    [ "$status" -eq 0 ]
    small --pattern fsdp --np 3 --fault 2:flip
    fails train.reference 'rank 2 \(.*\) computed another gradient in step 2'
    small --pattern fsdp --np 3 --fault 1:nan
    fails train.finite 'rank 1 '
    small --pattern fsdp --np 3 --fault 1:die
    fails rank.alive 'rank 1 \(.*\) died: killed by signal 9'
    small --pattern fsdp --np 3 --fault 1:wire # everybody gets that part of the parameters
    [ "$status" -eq 1 ]
    fails train.reference 'rank 1 .*went wrong on their way'
}

@test "ranks of unlike processors train with the same bits" {
    small --np 3 --fault 1:old --json
    [ "$status" -eq 0 ]
    jq -e '.data.model.engine == "plain" and .data.checks.params_equal_across_ranks' <<<"$output"
}

@test "the same seed, the same parameters; another seed, others" {
    hash_of() { "$BIN/ddpsmoke" --samples 256 --json --seed "$1" | jq -r '.data.epochs[-1].params_hash'; }
    local a b c
    a=$(hash_of 7) b=$(hash_of 7) c=$(hash_of 8)
    [ "$a" = "$b" ]
    [ "$a" != "$c" ]
}

@test "padding and dropped samples are counted" {
    smoke --np 3 --samples 1000
    [ "$status" -eq 0 ]
    [[ $output == *"each of 1000 samples once; 2 twice as padding, 0 dropped"* ]]
    smoke --np 3 --samples 1000 --drop-last
    [ "$status" -eq 0 ]
    [[ $output == *"0 twice as padding, 1 dropped"* ]]
}

@test "--steps ends early and judges what it can" {
    smoke --steps 5
    [ "$status" -eq 0 ]
    grep -q '^skip  train.loss ' <<<"$output"
    grep -q '^pass  train.reference .*after 5 steps' <<<"$output"
}

@test "a batch that the ranks cannot share: the two nearest that work" {
    smoke --np 3 --global-batch 100
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ $stderr == *"3 ranks cannot share 100 samples evenly; 99 and 102 work"* ]]
    smoke --np 3 --global-batch 99 --samples 600
    [ "$status" -eq 0 ]
    smoke --np 7 --global-batch 28675 # beyond what the ranks take, none works
    [ "$status" -eq 2 ]
    [[ $stderr == *"evenly; 28672 works" ]]
}

@test "what cannot be is exit 2 with one line" {
    local args
    for args in '--model cmn' '--np 0' '--np 5000' '--batch 0' '--lr 0' '--momentum 1' '--expect 101' \
        '--samples 1' '--global-batch 1' '--steps 0' '--wait 2' '--init nowhere' '--rank 1' \
        '--hosts a --serve' '--init env:// --np 2' '--batch 8 --global-batch 16' '--partial' \
        '--wait-time 2s' '--keep' '--plot=' '--seed 9007199254740993'; do
        # shellcheck disable=SC2086
        smoke $args
        [ "$status" -eq 2 ] || { echo "$args: $status"; false; }
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    done
}

@test "a wrong gradient: whose, in which step, and that it is the computing" {
    small --np 3 --fault 2:flip
    [ "$status" -eq 1 ]
    fails train.reference 'rank 2 \(.*\) computed another gradient in step 2 .*its computing is wrong'
    [[ $output == *"-> ddpsmoke --np 1"* ]]
}

@test "an average that arrives wrong: at whom, and that it is the exchange" {
    local np
    for np in 2 3; do
        small --np "$np" --fault 1:wire
        [ "$status" -eq 1 ]
        fails train.params 'rank 1 \(.*\) has other parameters'
        fails train.reference 'rank 1 .*went wrong on their way'
        [[ $output == *"-> ncclbench --np $np"* ]]
    done
}

@test "a sum that comes out otherwise the second time" {
    small --np 3 --fault 1:wire:9 # total 12 steps; repeated ones count on from there
    [ "$status" -eq 1 ]
    small --np 3 --fault 2:flip:14
    [ "$status" -eq 1 ]
    fails train.repeat 'rank 2 \(.*\) computed another gradient when step 2 was done again'
}

@test "NaN: whose, and training ends" {
    small --fault 1:nan
    [ "$status" -eq 1 ]
    fails train.finite 'rank 1 \(.*\) had a gradient that is no finite number in step 2'
    smoke --fault 1:nan:12
    fails train.finite 'rank 1 \(.*\) had a gradient that is no finite number in step 12'
    [[ $(grep -c '^fail' <<<"$output") -eq 1 && $output == *"-> ddpsmoke --np 1"* ]] # smaller steps are no advice
    grep -q '^skip  train.loss ' <<<"$output"
    smoke --fault 1:nan:12 --lr 0.1 # larger ones than ours may be too large for one rank's samples first
    fails train.finite 'rank 1 \(.*\) had a gradient that is no finite number in step 12'
    [[ $output == *"-> ddpsmoke --fault 1:nan:12 --lr 0.02"* ]]
}

@test "parameters that are NaN are seen, whichever they are of and whoever has them" {
    local all="all ranks' parameters hold NaN or infinity since epoch 1"
    small --lr 1e39 --steps 1
    fails train.finite "cnn .*$all"
    [[ $output == *"-> ddpsmoke --samples 512 --lr 0.02 --steps 1"* ]]
    [ "$(grep -c '^fail' <<<"$output")" -eq 1 ]
}

@test "an average that is NaN: the exchange of who got it, however soon all others have it" {
    local args step got='got an average that is no finite number in step'
    for args in '--epochs 1 --fault 1:hole:7' '--epochs 1 --fault 1:hole:7:3 --pattern fsdp' \
        '--model mlp --fault 1:hole:2:9 --pattern fsdp' '--np 3 --fault 1:hole:9' '--np 3 --fault 1:hole:9 --pattern fsdp'; do
        # shellcheck disable=SC2086
        small $args
        [ "$status" -eq 1 ]
        step=${args#*hole:} step=${step%%[!0-9]*}
        fails train.finite "rank 1 \\(.*\\) $got $step, of gradients that all were"
        [[ $output == *"-> ncclbench --np "[23]* && $output != *"--lr"* ]]
    done
}

@test "steps that are too large: no rank is to blame, and a smaller --lr is the advice" {
    small --lr=1e30 --model mlp --json # what was typed stays, but for that
    valid
    [ "$status" -eq 1 ]
    jq -e '.findings[] | select(.check == "train.finite") | .fix == ["ddpsmoke --samples 512 --lr 0.02 --model mlp"] and
        .subject == "mlp" and (.message | startswith("all ranks had gradients that are no finite numbers in step 1"))' <<<"$output"
    smoke --lr 5 --steps 40 # which jumps, and never comes down to where it began
    [ "$status" -eq 1 ]
    fails train.loss 'cnn .*did not fall'
}

@test "other data, another seed, another program: who, before anything is trained" {
    small --np 3 --fault 2:data
    [ "$status" -eq 1 ]
    fails rank.alike 'rank 2 \(.*\) has another data set'
    small --np 3 --fault 1:seed
    fails rank.alike 'rank 1 \(.*\) has another seed'
    small --np 3 --fault 1:build
    fails rank.alike 'rank 1 \(.*\) has another program than rank 0 \(.*\) and 1 more'
    run ! grep -q train. <<<"$output"
    small --np 3 --fault 0:build # most are right, also against rank 0
    fails rank.alike ' rank 0 .*rank 0 \(.*\) has another program than rank 1 \(.*\) and 1 more'
    small --np 3 --fault 0:seed
    fails rank.alike ' rank 0 .*rank 0 \(.*\) has another seed than rank 1 \('
    small --np 2 --fault 0:build # of two nobody can tell
    fails rank.alike ' cnn .*rank 1 \(.*\) has another program than rank 0 \(.*\); which of them is right cannot be told'
    [[ $output == *"-> sha256sum "* && $output != *"cat >"* ]]
}

@test "samples of another rank: whose" {
    small --fault 1:shard
    [ "$status" -eq 1 ]
    fails train.samples 'rank 1 \(.*\) took other samples than its own'
}

@test "the straggler by name, as a warning, and whether it computes or reads" {
    local compute='^warn  train.pace .*rank 1 \(.*\) is [0-9.]+x slower than the others: compute, not network'
    (($(nproc) > 1)) || skip "ranks that share a processor are not judged"
    smoke --samples 4096 --fault 1:slow
    [ "$status" -eq 0 ]
    grep -Eq "$compute" <<<"$output"
    smoke --samples 4096 --fault 1:slow --strict
    [ "$status" -eq 1 ]
    smoke --samples 4096 --fault 1:slow --pattern fsdp # who waits for it does not compute
    [ "$status" -eq 0 ]
    grep -Eq "$compute" <<<"$output"
    grep -q '^pass  train.reference ' <<<"$output"
    smoke --samples 4096 --fault 1:lag
    grep -Eq '^warn  train.pace .*rank 1 \(.*\) is [0-9.]+x slower than the others: reading its data, not network' <<<"$output"
}

@test "a rank that shares its processor is not to blame for being slow" {
    run -0 --separate-stderr taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$BIN/ddpsmoke" --samples 4096 --fault 1:slow
    grep -Eq '^info  train.pace .*rank 1 \(.*\) is [0-9.]+x slower than the others \(not judged: 2 ranks share 1 processor\)' <<<"$output"
}

@test "a killed rank, whichever: named with the signal, exit 1, nobody left" {
    local r
    for r in 0 1 2; do
        smoke --np 3 --seed "$MARK" --fault "$r:die"
        [ "$status" -eq 1 ]
        fails rank.alive "rank $r \(.*\) died: killed by signal 9 \(SIGKILL\)"
        nobody_left
    done
}

@test "a stopped rank: named when the deadline has passed, exit 1, nobody left" {
    local r
    for r in 0 1; do
        smoke --np 3 --seed "$MARK" --fault "$r:stop" --deadline 700ms
        [ "$status" -eq 1 ]
        fails rank.alive "rank $r \(.*\) did nothing for 700 ms"
        nobody_left
    done
}

@test "a rank that dies or stops in every phase: named, exit 1, nobody left" {
    local when
    for when in start join connect epoch end; do
        small --np 3 --seed "$MARK" --fault "1:die:$when" --deadline 2s
        [ "$status" -eq 1 ] || { echo "$when: $status $output $stderr"; false; }
        fails 'rank\.[a-z]*' 'rank 1 .*killed by signal 9'
        small --np 3 --seed "$MARK" --fault "1:stop:$when" --deadline 1s --heartbeat 1s
        [ "$status" -eq 1 ] || { echo "$when: $status $output $stderr"; false; }
        fails 'rank\.[a-z]*' 'rank 1 '
        nobody_left
    done
}

@test "a rank that still reads its data is waited for, and nobody calls it hung" {
    local r
    for r in 0 1; do
        small --np 3 --fault $r:read:3 --deadline 1s
        [ "$status" -eq 0 ] || { echo "$output" "$stderr"; false; }
    done
    [[ $stderr == *"waiting for rank 1 ("*") to read its data"* ]]
}

@test "a silent rank: the heartbeat finds it before the deadline" {
    smoke --np 2 --seed "$MARK" --fault 1:stop --heartbeat 500ms --deadline 8s
    [ "$status" -eq 1 ]
    fails rank.alive 'rank 1 \(.*\) has been silent for 500 ms'
    nobody_left
}

interrupted() { # SECONDS: that long after its ranks began; had they done something?
    local out=$BATS_TEST_TMPDIR/out i
    "$BIN/ddpsmoke" --np 3 --seed "$MARK" --epochs 100000 >"$out" 2>"$out.err" 3>&- &
    for ((i = 0; i < 100; i++)); do
        [ "$(pgrep -cf -- "--seed $MARK")" -lt 4 ] || break
        sleep 0.05
    done
    sleep "$1"
    kill -INT $!
    ends_with 3 $!
    cat "$out" "$out.err" # shown where one of these fails
    grep -q '^ERROR ' "$out"
    run ! grep -q '^fail' "$out"
    [ "$(grep -c 'interrupted by SIGINT' "$out.err")" -eq 1 ]
    nobody_left
    DONE=$(grep -c '^pass  train.params ' "$out") || true
}

@test "Ctrl-C: what was finished is reported, exit 3, nobody left" {
    local seconds
    for seconds in 0.5 4 16 64; do # an epoch takes a busy machine a while
        interrupted $seconds
        ((!DONE)) || return 0
    done
    false
}

@test "--budget: the same, and says so" {
    local seconds
    for seconds in 1 5 20 50; do
        smoke --epochs 100000 --budget "${seconds}s" --seed "$MARK"
        [ "$status" -eq 3 ]
        [[ $stderr == *"the budget of $seconds s passed"* ]]
        nobody_left
        [[ $output != *"pass  train.params"* ]] || return 0
    done
    false
}

@test "no rank outlives a killed command" {
    local i
    "$BIN/ddpsmoke" --np 3 --seed "$MARK" --epochs 100000 >/dev/null 2>&1 3>&- &
    for ((i = 0; i < 100; i++)); do
        [ "$(pgrep -cf -- "--seed $MARK")" -lt 4 ] || break
        sleep 0.05
    done
    kill -9 $!
    nobody_left
}

@test "as torchrun, mpirun or srun start it: environment variables" {
    local port=$((20000 + RANDOM % 10000)) r
    for r in 0 1 2; do
        RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            "$BIN/ddpsmoke" --samples 512 >"$BATS_TEST_TMPDIR/$r" 2>"$BATS_TEST_TMPDIR/$r.err" 3>&- &
    done
    ends_with 0 %1 && ends_with 0 %2 && ends_with 0 %3
    grep -Eq '^(PASS|WARN) .*3 local ranks' "$BATS_TEST_TMPDIR/0"
    grep -q 'RANK, WORLD_SIZE' "$BATS_TEST_TMPDIR/0.err"
    [ ! -s "$BATS_TEST_TMPDIR/1" ]
    [ ! -s "$BATS_TEST_TMPDIR/2" ]
}

@test "--init tcp:// and file://, as in PyTorch" {
    local url r
    for url in "tcp://127.0.0.1:$((20000 + RANDOM % 10000))" "file://$BATS_TEST_TMPDIR/meet"; do
        for r in 1 0; do
            "$BIN/ddpsmoke" --samples 512 --init "$url" --rank $r --world-size 2 --json \
                >"$BATS_TEST_TMPDIR/$r" 2>&1 3>&- &
        done
        wait
        jq -e "$FINE"'fine and (.data.world.ranks | length == 2)' "$BATS_TEST_TMPDIR/0"
    done
}

@test "ranks that nobody watches over end with the run's exit code, and say who has the report" {
    local url r fault
    for fault in 1:seed 1:flip; do
        url=tcp://127.0.0.1:$((20000 + RANDOM % 10000))
        for r in 2 1 0; do
            "$BIN/ddpsmoke" --samples 512 --init "$url" --rank $r --world-size 3 --fault $fault \
                >"$BATS_TEST_TMPDIR/$r" 2>"$BATS_TEST_TMPDIR/$r.err" 3>&- &
        done
        ends_with 1 %1 && ends_with 1 %2 && ends_with 1 %3
        grep -q '^FAIL ' "$BATS_TEST_TMPDIR/0"
        grep -q 'rank 0 (.*) has the report: [12] checks\? failed' "$BATS_TEST_TMPDIR/1.err"
    done
}

@test "--output is written by the launcher, in one step" {
    small --json --output "$BATS_TEST_TMPDIR/report.json"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    jq -e "$FINE"fine "$BATS_TEST_TMPDIR/report.json"
}

@test "a full disk is exit 3" {
    [ -w /dev/full ] || skip "no /dev/full"
    run -3 --separate-stderr bash -c '"$BIN/ddpsmoke" --samples 512 --json >/dev/full'
}

@test "--plot draws the loss; --emit prints how to go on, and nothing else" {
    smoke --plot "$BATS_TEST_TMPDIR/loss.svg" --emit torchrun
    [ "$status" -eq 0 ]
    [ "$output" = "torchrun --standalone --nproc_per_node 2 train.py" ]
    [[ $stderr == *"train.pace"* ]]
    python3 -c 'import sys, xml.dom.minidom as x
d = x.parse(sys.argv[1]).getElementsByTagName("polyline")
assert [len(p.getAttribute("points").split()) for p in d] == [64, 2]' "$BATS_TEST_TMPDIR/loss.svg"
    # ticks are whole steps, however few there are
    smoke --plot "$BATS_TEST_TMPDIR/few.svg" --steps 3
    [ "$(grep -oE 'text-anchor="middle">[^<]*' "$BATS_TEST_TMPDIR/few.svg" | sed 's/.*>//' | xargs)" = "1 2 3 step loss" ]
    # validation stands behind the last step of its epoch, one epoch's as a dot
    smoke --plot "$BATS_TEST_TMPDIR/cut.svg" --samples 1024 --epochs 9 --steps 20 # 16 of an epoch
    grep -q '<polyline class="l1" points="569.3,[0-9.]* 704.0,[0-9.]* "' "$BATS_TEST_TMPDIR/cut.svg"
    smoke --plot "$BATS_TEST_TMPDIR/one.svg" --samples 512 --epochs 1
    grep -q '<circle class="l1" cx="704.0" .*<title>validation: 8, ' "$BATS_TEST_TMPDIR/one.svg"
    [[ $(<"$BATS_TEST_TMPDIR/one.svg") == *"<title>ddpsmoke: loss of cnn on 2 ranks</title>"* ]]
    smoke --plot "$BATS_TEST_TMPDIR/budget.svg" --epochs 1000000 --budget 3s # as far as it came
    [ "$status" -eq 3 ]
    grep -q '<polyline class="l0" points="[0-9]' "$BATS_TEST_TMPDIR/budget.svg"
    smoke --emit srun --fault 1:wire
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    smoke --plot "$BATS_TEST_TMPDIR/nowhere/loss.svg" --epochs 1000000 # before the work, not after
    [ "$status" -eq 3 ]
    [[ $stderr == *"$BATS_TEST_TMPDIR/nowhere"* ]]
}

@test "efficiency and overlap are measured, against one rank alone" {
    smoke --json
    jq -e '.data.throughput | .alone_samples_per_s > 0 and .efficiency > 0 and .exchange_hidden >= 0' <<<"$output"
    smoke --json --pattern fsdp
    jq -e '.data.throughput | .efficiency > 0 and .exchange_hidden >= 0' <<<"$output"
}
