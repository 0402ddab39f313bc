#!/usr/bin/env bats
# What an administrator runs, under a real Slurm: the health check between jobs, the
# campaign over idle nodes, and the undrain that touches only what windsock drained.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load prolog.sh

setup_file() {
    # shellcheck disable=SC2034 # cluster_up reads it; $D/health is the switch below
    HEALTH='HealthCheckInterval=3
HealthCheckProgram=$D/health'
    cluster_up
}
teardown_file() { cluster_down; }

setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() { health off && heal; }

drained() { [[ $(state "$1") == drain* ]]; }
resumed() { [[ $(state "$1") == idle* ]]; }

health() { # on or off: Slurm runs our health check or nothing
    printf '#!/bin/sh\n[ %s = off ] || exec %s/healthcheck\n' "$1" "$HOOKS" >"$D/.health"
    chmod +x "$D/.health"
    mv "$D/.health" "$D/health"
}

block() { # NODE: a firewall on it drops training's ports, and nothing of Slurm's
    on "$1" nft add table inet t
    on "$1" nft add chain inet t c '{ type filter hook input priority 0; policy accept; }'
    on "$1" nft add rule inet t c ip saddr 10.77.0.0/16 tcp dport 29500 drop
}

campaign() { on 0 env SLURM_CONF="$SLURM_CONF" timeout 60 "$HOOKS/campaign" "$@"; }
undrain() { on 0 env SLURM_CONF="$SLURM_CONF" timeout 60 "$HOOKS/undrain" "$@"; }

@test "health check: Slurm runs it between jobs; a sick node is drained, and resumed when it is well" {
    configure AUTO_RESUME=yes
    on 0 scontrol update NodeName=node3 State=DRAIN Reason="broken fan"
    break_shm 2
    break_shm 3
    health on
    wait_for 20 drained 2
    [[ $(reason 2) == "windsock: limits.shm"* ]]
    wait_for 10 grep -q 'node3 is .* already and keeps its reason' "$D/log/node3/slurm.log"
    [[ $(reason 3) == "broken fan"* && $(state 1) == idle ]]
    on 2 umount /dev/shm
    on 3 umount /dev/shm
    wait_for 10 resumed 2
    sleep 2
    drained 3 # not ours to resume
}

checked() { on "$1" env SLURM_CONF="$SLURM_CONF" SLURMD_NODENAME="node$1" "$HOOKS/healthcheck"; }

@test "health check: a slurmctld that was silent when the node was well again is asked once more" {
    configure AUTO_RESUME=yes
    break_shm 2
    checked 2
    drained 2
    on 2 umount /dev/shm
    stand_in scontrol 'exec sleep 60'
    checked 2
    drained 2
    rm "$D/tools/scontrol"
    checked 2
    wait_for 5 resumed 2
    # a drain that slurmctld takes, and answers too late, is ours as well
    break_shm 2
    stand_in scontrol '/usr/bin/scontrol "$@"; [ "$1" != update ] || exec sleep 60'
    checked 2
    wait_for 5 drained 2
    on 2 umount /dev/shm
    rm "$D/tools/scontrol"
    checked 2
    wait_for 5 resumed 2
}

@test "health check: one that can write nowhere says so in the system's log, and drains nobody" {
    break_shm 2
    stand_in logger 'echo "$*" >"'"$D"'/tools/log"'
    on 2 unshare --mount sh -c "mount -t tmpfs -o ro tmpfs /run && mount --bind '$D/log' '$D/log' &&
        mount -o remount,ro,bind '$D/log' && SLURM_CONF=$SLURM_CONF SLURMD_NODENAME=node2 '$HOOKS/healthcheck'"
    wait_for 5 grep -q "nothing can be written in $D/log/node2" "$D/tools/log"
    [ -z "$(reason 2)" ]
}

@test "health check: a failure of ours drains nobody" {
    stand_in windsock 'exit 3'
    health on
    wait_for 20 grep -q 'ours (code 3)' "$D/log/node1/slurm.log"
    [ -z "$(reason 1)$(reason 2)$(reason 3)" ]
}

@test "campaign: the idle nodes together; who is at fault is drained, and undrain takes it back" {
    # a reservation that begins in an hour has room for a short job, and for none without a limit
    on 0 scontrol create reservation ReservationName=later Users=root Nodes=node[1-3] StartTime=now+60minutes Duration=10
    run campaign -n 2
    on 0 scontrol delete ReservationName=later
    [[ $status == 0 && $output == *"2 of 2 idle nodes pass, 0 are at fault"* ]] || { echo "$output"; false; }
    wait_for 10 slurm_idle 3
    block 2
    run -1 campaign --dry-run
    [[ $output == *"would drain node2: "*"2 of 3 idle nodes pass, 1 is at fault"* ]]
    [ -z "$(reason 2)" ]
    run -1 campaign
    drained 2
    [[ $(reason 2) == "windsock: mesh.in node2: is not reached"* ]]
    [ -z "$(reason 1)$(reason 3)" ]
    on 0 scontrol update NodeName=node3 State=DRAIN Reason="broken fan"
    run -0 undrain --dry-run
    [[ $output == node2$'\t'"windsock: mesh.in node2"* ]]
    drained 2
    run -1 undrain node3
    [[ $output == *"node3 is left alone: "*"broken fan"* ]]
    on 2 nft delete table inet t
    run -0 undrain
    [ "$(cut -f1,2 <<<"$output")" = $'node2\tresumed' ]
    wait_for 5 resumed 2
    drained 3
    run -0 undrain
    [ -z "$output" ]
}

@test "campaign: its steps have the GPUs of their node, though the job asked for none" {
    mv "$D/tools/windsock" "$D/tools/real"
    stand_in windsock '[ "$1" = --hosts ] || exec "$D/tools/real" "$@"
        while [ "$1" != --rsh ]; do shift; done; eval "way=($2)"
        for n in 1 2 3; do "${way[@]}" node$n "echo node$n \${SLURM_STEP_GPUS-none}" >>"$D/tools/steps"; done
        while [ "$1" != --nodes ]; do shift; done; printf "node%s\n" 1 2 3 >"$2/passing_nodes.txt"
        printf "ok 1 - a.b\n1..1\n" >"$2/report.tap"'
    run -0 campaign
    [ "$(cat "$D/tools/steps")" = $'node1 0\nnode2 0\nnode3 0' ] || { cat "$D/tools/steps"; false; }
}

@test "campaign: most nodes at once are a common trouble; it drains none" {
    block 2
    block 3
    run -1 campaign
    on 2 nft delete table inet t
    on 3 nft delete table inet t
    [[ $output == *"one common trouble? --force drains them all the same"* ]] || [[ $output == *"0 are at fault"* ]]
    [ -z "$(reason 1)$(reason 2)$(reason 3)" ]
}

@test "campaign: several partitions: the default one, and no silence about the others" {
    on 0 scontrol create PartitionName=other Nodes=node3 State=UP
    on 0 scontrol create PartitionName=both Nodes=node[1-3] State=UP
    on 0 scontrol update PartitionName=gpu Nodes=node[1-2]
    run -0 campaign
    first=$output
    run -0 campaign -p other
    on 0 scontrol update PartitionName=gpu Nodes=node[1-3]
    on 0 scontrol update PartitionName=gpu Default=NO
    second=$output
    run -2 campaign
    third=$output
    on 0 scontrol update PartitionName=gpu Default=YES
    on 0 scontrol delete PartitionName=other
    on 0 scontrol delete PartitionName=both
    [[ $first == *"not tested: idle nodes of other partitions: -p "*"2 of 2 idle nodes pass"* ]]
    [[ $second == *"1 of 1 idle nodes pass"* ]]
    [[ $third == *"there is no default partition: -p PARTITION"* ]]
    run -2 campaign -p nosuch
    [[ $output == *"there is no nosuch partition"* ]]
}

@test "campaign: a node that its own job's prolog drains is not passed over in silence" {
    break_shm 2
    run -0 campaign
    [[ $output == *"no longer idle when it began, as sinfo -R or squeue says: node2"*"2 of 2 idle nodes pass"* ]]
    drained 2
    break_shm 1
    run -0 campaign -n 1
    [[ $output == *"no longer idle when it began, as sinfo -R or squeue says: node1"*"1 of 1 idle nodes pass"* ]]
    break_shm 3
    run -0 campaign
    [[ $output == *"says: node3"*"no node of gpu is idle"* ]]
}

@test "slurmctld does not answer, or has no room: a campaign and an undrain say so, with 3" {
    stand_in sinfo 'exit 1'
    run -3 campaign
    [[ $output == *"no answer from slurmctld"* ]]
    rm "$D/tools/sinfo"
    stand_in salloc 'echo "salloc: error: Job violates accounting/QOS policy"; exit 1'
    run -3 campaign
    [ "$output" = "campaign: nothing was tested: salloc: error: Job violates accounting/QOS policy" ]
    stand_in scontrol '[ "$2" = hostnames ] && exec /usr/bin/scontrol "$@"; exec sleep 60'
    run -3 undrain node1
    [ "$output" = "undrain: node1: no answer from slurmctld" ]
    rm "$D/tools/scontrol"
    run -1 undrain node9
    [ "$output" = "undrain: node9: Node node9 not found" ]
}

@test "campaign: failures of ours end with 3 and drain nobody; usage ends with 2" {
    stand_in windsock 'exit 3'
    run -3 campaign
    [ -z "$(reason 1)$(reason 2)$(reason 3)" ]
    run -2 campaign --what
    run -2 campaign -n many
    run -2 undrain --what
}
