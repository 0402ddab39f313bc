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
