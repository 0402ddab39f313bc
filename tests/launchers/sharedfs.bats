#!/usr/bin/env bats
# --init file:// on a real network file system whose locks are for show: sshfs, one
# mount on each node. Needs root, sshfs, openssh-server and /dev/fuse.
bats_require_minimum_version 1.5.0
load ../lab/launch.sh

@test "--init file:// on sshfs: the ranks meet, and it is said that locks do not work there" {
    command -v sshfs >/dev/null || skip "needs sshfs: scripts/setup launchers"
    [ -c /dev/fuse ] || skip "needs /dev/fuse"
    sshd_up
    mkdir served shared
    for r in 0 1; do
        on $r sshfs -o ssh_command="$KEYS/ssh",dir_cache=no "root@node2:$PWD/served" "$PWD/shared"
    done
    for r in 0 1; do
        on $r "$P" --init "file://$PWD/shared/meet" --rank $r --world-size 2 -- who >"out$r" 2>&1 3>&- &
    done
    wait
    for r in 0 1; do on $r umount "$PWD/shared"; done
    cat out0 out1
    for r in 0 1; do
        grep -q "rank $r of 2, .* at 10.77.0.$((r + 1)), hosts node0 node1" "out$r"
    done
    grep -q "locks on the file system of $PWD/shared/meet do not work between hosts: PyTorch's own" out1
    [ ! -e served/meet ]
}
