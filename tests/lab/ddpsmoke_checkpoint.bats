#!/usr/bin/env bats
# ddpsmoke --checkpoint over nodes: a folder that all of them share; one that is another file
# system on one node, not there, or not to be written.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../cli/ddpsmoke.sh
load ddpsmoke.sh

smoke() {
    run --separate-stderr on 0 "$BIN/ddpsmoke" --hosts node0,node1 --samples 128 --expect 0 --checkpoint "$PWD/ckpt" --checkpoint-size 1M "$@"
}

fails() { # CHECK TEXT
    grep -Eq "^fail  $1 .*$2" <<<"$output" || { echo "$output" "$stderr"; false; }
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    mkdir ckpt
}

@test "a folder that all share: every host sees what the others wrote, and resumes" {
    smoke --pattern fsdp --json
    valid
    [ "$status" -eq 0 ]
    jq -e "$FINE"'fine and any(.findings[]; .check == "checkpoint.shared" and .status == "pass" and
        (.message | test("all 2 hosts see"))) and .data.checkpoint.resumes_equal' <<<"$output"
    [ -z "$(ls -A ckpt)" ]
}

@test "a folder of its own on one node: it is named, with both file systems" {
    local pattern
    on 1 mount -t tmpfs mine "$PWD/ckpt"
    for pattern in ddp fsdp; do
        smoke --pattern $pattern
        [ "$status" -eq 1 ]
        [[ $output != *'every rank read'* ]]
        fails checkpoint.shared "rank 1 \(node1, .*does not see what rank 0 \(node0, .*a folder of its own there \(tmpfs of mine, mounted at .*/ckpt; rank 0 "
        [[ $output == *"df -hT $PWD/ckpt"* ]]
        ! grep -q 'checkpoint.resume' <<<"$output" || { echo "$output"; false; }
        [ "$(grep -c '^fail' <<<"$output")" -eq 1 ]
        [ -z "$(ls -A ckpt)" ]
        on 1 sh -c "[ -z \"\$(ls -A '$PWD/ckpt')\" ]"
    done
    on 1 umount "$PWD/ckpt"
}

@test "a disk that does not answer: its host is asked for all that shows why" {
    smoke --pattern fsdp --fault 1:stuck --deadline 2s
    [ "$status" -eq 1 ]
    fails checkpoint.write 'rank 1 \(node1, .*nothing moved for 2 s'
    grep -E -- "-> .* node1 \"timeout 5 df -h $PWD/ckpt; dmesg -T \\| grep -iE '.*' \\| tail\"\$" <<<"$output"
}

@test "no such folder on one node; one where it may read alone" {
    mkdir -p up/ckpt other
    on 1 mount --bind "$PWD/other" "$PWD/up"
    smoke --checkpoint "$PWD/up/ckpt"
    on 1 umount "$PWD/up"
    [ "$status" -eq 1 ]
    fails checkpoint.shared "rank 1 \(node1, .*has no folder .*/ckpt, where rank 0 "
    on 1 sh -c "mount --bind '$PWD/ckpt' '$PWD/ckpt' && mount -o remount,bind,ro '$PWD/ckpt'"
    smoke
    [ "$status" -eq 0 ] # with ddp rank 0 alone saves
    grep -Eq '^warn  checkpoint.write .*rank 1 \(node1, .*Read-only file system' <<<"$output"
    grep -q '^pass  checkpoint.resume ' <<<"$output"
    smoke --pattern fsdp
    on 1 umount "$PWD/ckpt"
    [ "$status" -eq 1 ]
    fails checkpoint.write 'rank 1 \(node1, .*Read-only file system'
    [ -z "$(ls -A ckpt)" ]
}
