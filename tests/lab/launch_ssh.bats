#!/usr/bin/env bats
# Real sshd's on the nodes: our own launcher over them, and real mpiruns. Needs root
# for sshd; openssh-server, openmpi-bin, mpich.
bats_require_minimum_version 1.5.0
load launch.sh

@test "real ssh: ranks, addresses as ssh reached them, deaths, nothing left after kill -9" {
    sshd_up
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$KEYS/ssh" --np-per-host 2 -- who
    [ "$(grep -c ' at 10.77.0.[23],' <<<"$output")" = 4 ]
    begin 3 --hosts 'node[0-2]' --rsh "$KEYS/ssh"
    on 0 kill -9 "$(pid_of 2)"
    ended 1 3 "failed: rank 2 (node2, 10.77.0.3) died: killed by signal 9 (SIGKILL)"
    begin 2 --hosts node1,node2 --rsh "$KEYS/ssh"
    on 0 kill -9 "$(launcher)"
    wait "$RUN" || true
    wait_for 4 nothing_left || { ours; false; }
    begin 2 --hosts node1,node2 --rsh "$KEYS/ssh"
    on 0 pkill -9 -n -x ssh # the way to a host is cut
    ended 1 5 "its host is lost"
}

@test "real mpirun: one host, and two with -x MASTER_ADDR" {
    command -v mpirun >/dev/null || skip "needs openmpi-bin"
    sshd_up
    run -0 --separate-stderr on 0 timeout 30 mpirun --allow-run-as-root --oversubscribe -np 4 "$P" -- who
    [ "$(grep -c '^rank [0-3] of 4, local [0-3] of 4, .*by Open MPI, at 127.0.0.1' <<<"$output")" = 4 ]
    run -0 --separate-stderr on 0 timeout 40 mpirun --allow-run-as-root -mca plm_rsh_agent "$KEYS/ssh" \
        --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 -host node0:2,node1:2 -np 4 \
        -x MASTER_ADDR=node0 "$P" -- who
    [ "$(grep -c '^rank [0-3] of 4, local [01] of 2, .*by Open MPI, at 10.77.0.[12], hosts node0 node0 node1 node1' <<<"$output")" = 4 ]
    run --separate-stderr on 0 timeout 40 mpirun --allow-run-as-root -mca plm_rsh_agent "$KEYS/ssh" \
        --mca oob_tcp_if_include eth0 -host node0:1,node1:1 -np 2 "$P" -- who
    [ "$status" -ne 0 ]
    [[ $stderr == *"-x MASTER_ADDR=HOST"* ]]
}
