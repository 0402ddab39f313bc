#!/usr/bin/env bats
# A real Slurm: slurmctld on node0, a slurmd each on node1 and node2. Needs root;
# slurmd, slurmctld, slurm-client, munge.
bats_require_minimum_version 1.5.0
load ../lab/launch.sh
load slurm.sh

slurm_up() { # node0 has slurmctld, node1 and node2 a slurmd each
    local d=$KEYS/slurm
    export SLURM_CONF=$d/slurm.conf
    slurm_needs
    slurm_folder "$d" 1 2
    chmod 711 "$KEYS"
    {
        slurm_base "$d"
        slurm_node 1
        slurm_node 2
        echo "PartitionName=gpu Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP"
    } >"$SLURM_CONF"
    slurm_start "$d" 1 2
}

@test "real Slurm: ranks of srun; --srun inside an allocation; sbatch's shell is no rank" {
    slurm_up
    run -0 --separate-stderr on 0 timeout 30 srun -N2 --ntasks-per-node=2 "$P" -- who
    [ "$(sort <<<"$output" | sed 's/, hosts.*//')" = "rank 0 of 4, local 0 of 2, node 0 of 2, by srun, at 10.77.0.2
rank 1 of 4, local 1 of 2, node 0 of 2, by srun, at 10.77.0.2
rank 2 of 4, local 0 of 2, node 1 of 2, by srun, at 10.77.0.3
rank 3 of 4, local 1 of 2, node 1 of 2, by srun, at 10.77.0.3" ]
    # shellcheck disable=SC2016 # Slurm's own variable
    printf '#!/bin/sh\n%s -- who\n%s --hosts "$SLURM_JOB_NODELIST" --srun --np-per-host 2 -- gather\n%s --hosts "$SLURM_JOB_NODELIST" --srun -- die 9 1\n' \
        "$P" "$P" "$P" >job
    chmod +x job
    run -0 --separate-stderr on 0 timeout 30 salloc -N2 "$P" --hosts 'node[1-2]' --srun -- gather
    [ "$(grep -c '40 right' <<<"$output")" = 2 ]
    on 1 mount -t tmpfs none "$O/lab" # not installed there
    mkdir tmp
    TMPDIR=$PWD/tmp run -0 --separate-stderr on 0 timeout 30 salloc -N2 "$P" --hosts 'node[1-2]' \
        --srun --copy-self -- gather
    on 1 umount "$O/lab"
    [ "$(grep -c '40 right' <<<"$output")" = 2 ]
    [ -z "$(ls tmp)" ]
    run on 0 timeout 60 sbatch -W -N2 -n4 -o "$PWD/job.out" ./job
    cat job.out
    grep -q "the shell of an sbatch script, not a rank" job.out
    [ "$(grep -c '80 right' job.out)" = 4 ]
    grep -q 'failed: rank 1 (node2, 10.77.0.3) died: killed by signal 9 (SIGKILL)' job.out
    wait_for 3 nothing_left
}

@test "ncclbench --srun in a real Slurm: a rank on each node of the allocation, as many as -r counts" {
    slurm_up
    run -0 --separate-stderr on 0 timeout 30 salloc -Q -N2 "$BIN/ncclbench" --srun -r 1 -b 8 -e 8 --json
    [ "$(jq -r '[.data.world.ranks[].address] | sort | join(" ")' <<<"$output")" = "10.77.0.2 10.77.0.3" ]
    run -2 --separate-stderr on 0 timeout 30 salloc -Q -N2 "$BIN/ncclbench" --srun -r 2 -b 8 -e 8
    [[ $stderr == *"ncclbench: -r: '2' is not one of 2 ranks"* ]]
    # forgotten, on the login node: what was measured is said
    for command in "ncclbench -b 8 -e 8" "ddpsmoke --model mlp --steps 4"; do
        run --separate-stderr on 0 timeout 60 salloc -Q -N2 sh -c "$BIN/$command"
        [[ $stderr == *"all ranks are on this host; the allocation has 2 nodes (node[1-2]): --srun starts ranks on each of them"* ]]
    done
    run -0 --separate-stderr on 0 timeout 60 salloc -Q -N2 "$BIN/ncclbench" --np 2 -b 8 -e 8
    [[ $stderr != *"--srun starts"* ]]
}

@test "ddpsmoke --emit srun: one's own script meets, also on hosts that Slurm puts in another order" {
    slurm_up
    local order ranks
    cat >train.py <<'PY'
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    door = socket.socket()
    door.bind(at)
    door.listen()
    met = [door.accept()[0] for _ in range(size - 1)]
else:
    for _ in range(200):
        try:
            socket.create_connection(at, 1)
            break
        except OSError:
            time.sleep(0.05)
print(rank, size, socket.gethostname(), os.environ.get("NCCL_SOCKET_IFNAME"), flush=True)
PY
    for order in node2,node1 node1,node2; do
        on 0 "$BIN/ddpsmoke" --hosts $order --steps 2 --emit srun >how
        run -0 --separate-stderr on 0 env "PATH=$BIN:$PATH" timeout 40 sh how
        [ "$(sort <<<"$output")" = "0 2 node1 =eth0
1 2 node2 =eth0" ] || { cat how; echo "$output" "$stderr"; false; }
    done
    on 0 "$BIN/ddpsmoke" --hosts node2 --np 2 --steps 2 --emit srun >how
    ranks=$(on 0 timeout 40 sh how | sort)
    [ "$ranks" = "0 2 node2 None
1 2 node2 None" ] || { cat how; echo "$ranks"; false; }
}

@test "portcheck in a real Slurm: srun's ranks, an allocation, a batch script, one node" {
    slurm_up
    run -0 --separate-stderr on 0 timeout 30 srun -N2 --ntasks-per-node=2 "$BIN/portcheck" --json
    jq -e '.data.matrix.hosts == ["node1", "node2"] and .data.matrix.cells == [["self", "ok"], ["ok", "self"]]' <<<"$output"
    run -0 --separate-stderr on 0 timeout 30 salloc -N2 "$BIN/portcheck"
    [[ $output == *"2 of 2 ordered pairs of 2 hosts, TCP with bulk data"* ]]
    printf '#!/bin/sh\n%s\n' "$BIN/portcheck" >job
    run -0 on 0 timeout 30 sbatch -W -N2 -o "$PWD/job.out" ./job
    grep -q "2 of 2 ordered pairs of 2 hosts" job.out
    run -0 on 0 timeout 30 sbatch -W -N1 -o "$PWD/job.out" ./job
    grep -q "this host only; nothing between hosts was tested" job.out
    on 2 nft 'add table ip x; add chain ip x in { type filter hook input priority 0; }; add rule ip x in iif eth0 ct state new tcp dport 1024-65535 tcp dport != 6818 drop'
    run -1 --separate-stderr on 0 timeout 30 salloc -N2 "$BIN/portcheck" --wait 1s
    on 2 nft flush ruleset
    [[ $output == *"0 node1  . F"*"fail  mesh.in"*"node2"*"is not reached from node1"* ]]
}

@test "the line for every node of an allocation, typed: each does it, beside a step that has all processors" {
    slurm_up
    local node
    for node in 1 2; do
        on $node nft 'add table ip x; add chain ip x in { type filter hook input priority 0; }; add rule ip x in iif eth0 ip saddr 10.77.0.2-10.77.0.3 ct state new tcp dport 1024-65535 tcp dport != 6818 drop'
    done
    cat >job <<END
#!/bin/bash
srun -N2 --ntasks-per-node=1 sh -c 'touch "busy.\$SLURM_NODEID"; exec sleep 100' &
for ((i = 0; i < 200; i++)); do [[ -e busy.0 && -e busy.1 ]] && break; sleep 0.05; done
timeout 30 "$BIN/portcheck" --wait 1s >before
line=\$(grep -o 'SLURM_OVERLAP=1 srun --wait.*' before)
timeout 20 bash -c "\${line//sudo /}" && timeout 30 "$BIN/portcheck" >after
code=\$?
kill %1
wait
exit \$code
END
    chmod +x job
    run on 0 timeout 90 salloc -Q -N2 ./job
    for node in 1 2; do
        on $node nft list ruleset >rules.$node
        on $node nft flush ruleset
    done
    cat before after || true
    [ "$status" = 0 ]
    grep -q "SLURM_OVERLAP=1 srun --wait=60 -N2 --ntasks-per-node=1 -w 'node\[1-2\]' sh -c 'sudo nft insert rule ip x in " before
    for node in 1 2; do
        [ "$(grep -c accept rules.$node)" -ge 1 ]
    done
    grep -q "2 of 2 ordered pairs of 2 hosts" after
}
