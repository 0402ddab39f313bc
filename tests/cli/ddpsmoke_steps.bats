#!/usr/bin/env bats
# Steps that are larger, smaller or fewer than ddpsmoke's own: what is judged of such a run, who
# is to blame, and what there is to type.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh

smoke() { run --separate-stderr "$BIN/ddpsmoke" "$@"; }

said() { # STATUS CHECK TEXT: that finding has the text
    grep -Eq "^$1  $2 .*$3" <<<"$output" || { echo "$output" "$stderr"; false; }
}

@test "with a large --lr sums in another order are no fault, and a wrong gradient or sum still is" {
    local args
    for args in '--np 5 --lr 10' '--np 6 --lr 1 --seed 1' '--np 3 --pattern fsdp --lr 10'; do
        # shellcheck disable=SC2086
        smoke --steps 10 --samples 2048 --expect 0 $args
        said pass train.reference 'those of one process that runs all [356] shards'
    done
    smoke --np 3 --lr 10 --steps 10 --fault 2:flip
    said fail train.reference 'rank 2 \(.*\) computed another gradient in step 2'
    smoke --np 3 --lr 1 --steps 10 --fault 1:wire
    said fail train.reference 'rank 1 \(.*went wrong on their way'
}

@test "a short run of a small batch, or a small --lr, is too little to see the loss fall" {
    local args n skipped=0
    for args in '--batch 1 --steps 20' '--batch 2 --steps 12' '--np 1 --batch 16 --steps 10' \
        '--lr 1e-5' '--lr 1e-50' '--momentum 0 --steps 10'; do
        for n in 1 2 3 4 5; do
            # shellcheck disable=SC2086
            smoke --seed $n $args
            [ "$status" -eq 0 ] || { echo "$args: $output"; false; }
            [[ $output != *"steps as small as these are too few to see the loss fall"* ]] || skipped=$((skipped + 1))
        done
    done
    ((skipped > 5))
    smoke --batch 8 --steps 40 # worth ten of ours
    said pass train.loss 'fell from'
}

@test "a loss that does not fall: back to the defaults, one option at a time" {
    smoke --np 3 --weight-decay 100
    said fail train.loss 'did not fall'
    [[ $output == *"-> ddpsmoke --np 3 --weight-decay 0.0001"* ]]
    smoke --batch 1 --lr 0.02 --steps 320 # of one sample each
    said fail train.loss 'did not fall'
    [[ $output == *"-> ddpsmoke --batch 1 --lr 0.000625 --steps 320"* ]]
    smoke --weight-decay 1e39
    said fail train.finite 'cnn .*the steps before it were too large'
    [[ $output == *"-> ddpsmoke --weight-decay 0.0001"* ]]
    smoke --lr 100 --weight-decay 1 --seed 1 --np 4 --steps 10
    [[ $output == *"-> ddpsmoke --lr 0.02 --weight-decay 1 --seed 1"* ]]
}

@test "what one process comes to as well is by the steps, and no rank's fault" {
    local args
    for args in '--np 1 --lr 1e4' '--np 1 --lr 100' '--np 4 --lr 100 --seed 1'; do
        # shellcheck disable=SC2086
        smoke $args
        [ "$status" -eq 1 ]
        said fail train.finite 'cnn .*finite number.* the steps before it were too large'
        [[ $output =~ "-> ddpsmoke --np "[14]" --lr 0.02" ]]
    done
    smoke --np 1 --fault 0:nan # the steps are as usual: it is the processor
    said fail train.finite 'rank 0 \(.*\) had a gradient that is no finite number in step 2'
    smoke --np 3 --fault 1:nan --lr 0.1 # one process alone has none
    said fail train.finite 'rank 1 \(.*\) had a gradient that is no finite number in step 2'
}

@test "--steps alone goes through the data as often as that takes" {
    smoke --samples 512 --steps 50 --json --seed 1
    valid
    jq -e '.data | (.steps | length == 50) and (.epochs | length == 7)' <<<"$output"
    smoke --np 1 --model mlp --device cpu --steps 18446744073709551615 # so many samples are no number
    [[ $status == 2 && $stderr == *"'18446744073709551615' is not a whole number from 1 to "* ]]
    smoke --samples 512 --steps 50 --epochs 2 --json
    jq -e '.data | (.steps | length == 16) and (.epochs | length == 2)' <<<"$output"
}

@test "which samples were seen: of whole epochs, of one that was cut short, and where some are dropped" {
    smoke --np 3 --samples 100 --batch 8 --steps 8
    said pass train.samples 'every whole epoch saw each of 100 samples once; 2 twice as padding, 0 dropped; in the one after it none was seen twice'
    smoke --np 3 --samples 100 --batch 8 --steps 3
    said pass train.samples 'no sample was seen twice before the run ended'
    smoke --np 3 --samples 100 --drop-last
    said pass train.samples 'every epoch saw 99 of 100 samples once; 0 twice as padding, 1 dropped'
}

@test "a rank that stood still once is told from a slow one by its longest step" {
    smoke --samples 4096 --fault 1:pause:20 --json
    valid
    jq -e '.data.throughput.ranks[1] | .longest_step == 20 and .longest_seconds > 0.8' <<<"$output"
    jq -e '.data.throughput.ranks[0].longest_seconds < 0.8 or .data.throughput.ranks[0].longest_step != 20' <<<"$output"
    (($(nproc) > 1)) || skip "ranks that share a processor are not judged"
    # beside other work it may be slow as well
    jq -e 'any(.findings[]; .check == "train.pace" and .status == "warn" and .rank == 1 and (.message |
        test("stood still for .* in step 20, and was as fast as the others otherwise$|x slower than")))' <<<"$output"
}

@test "accuracy is not expected of a learning rate that drops, and no more epochs of one that has" {
    smoke --lr-every 1 --samples 256 --epochs 20
    [ "$status" -eq 0 ]
    said info train.accuracy '\(not judged\)'
    smoke --lr-every 1 --samples 256 --epochs 20 --expect 90
    said fail train.accuracy '>= 90 %'
    [[ $output == *"-> ddpsmoke --lr-every 20 --samples 256 --epochs 20 --expect 90"* ]]
}
