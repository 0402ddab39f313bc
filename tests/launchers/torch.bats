#!/usr/bin/env bats
# Ranks of the real torchrun and accelerate, on one node and on two. Needs a current
# torch: scripts/check-launchers gets one into ~/.cache/windsock/torch;
# WINDSOCK_TORCH_VENV is another one's virtual environment.
bats_require_minimum_version 1.5.0
load ../lab/launch.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    VENV=${WINDSOCK_TORCH_VENV:-$HOME/.cache/windsock/torch}/bin
    [[ -x $VENV/torchrun && -x $VENV/accelerate ]] ||
        skip "no torchrun and accelerate in ${VENV%/bin} (scripts/check-launchers gets them)"
}

# Four ranks on two nodes, whatever the order that they say it in.
are_four() { # LAUNCHER: from what is in out0 and out1
    local r
    cat out0 out1
    [ "$(cat out0 out1 | grep -c '^rank ')" = 4 ]
    for r in 0 1 2 3; do
        grep -hq "^rank $r of 4, local [01] of 2, node [01] of 2, by $1, at 10.77.0.[12], hosts node[01] node[01] node[01] node[01]$" out0 out1
    done
    [ "$(grep -c '^rank ' out0)" = 2 ]
    grep -hq "started by $1 (RANK, WORLD_SIZE, LOCAL_RANK," out0 out1
}

both() { # CMD...: on node0 and node1, K in it is the node's number
    local k pids=()
    for k in 0 1; do
        on $k timeout 90 "${@//%K/$k}" "$P" -- who >"out$k" 2>&1 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}" || { cat out0 out1; return 1; }
}

@test "torchrun --standalone: MASTER_PORT is its agent's, and nobody has to do anything" {
    run -0 --separate-stderr on 0 timeout 90 "$VENV/torchrun" --standalone --nproc-per-node 3 \
        --no-python "$P" -- gather
    [ "$(grep -c '60 right' <<<"$output")" = 3 ]
    [[ $stderr == *"started by torchrun (RANK, WORLD_SIZE, LOCAL_RANK, "*"TORCHELASTIC_RUN_ID"* ]]
    nothing_left
}

@test "torchrun on two nodes: static rendezvous, and c10d" {
    both "$VENV/torchrun" --nnodes 2 --nproc-per-node 2 --node-rank %K --master-addr node0 \
        --master-port 29500 --no-python
    are_four torchrun
    both "$VENV/torchrun" --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d \
        --rdzv-endpoint node0:29400 --rdzv-id 77 --no-python
    are_four torchrun
}

@test "torchrun starts anew after a death: the ranks meet again" {
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exec %s -- die 9 1\nexec %s -- who\n' \
        "$P" "$P" >job
    chmod +x job
    run -0 --separate-stderr on 0 timeout 90 "$VENV/torchrun" --standalone --nproc-per-node 2 \
        --max-restarts 1 --no-python "$PWD/job"
    [ "$(grep -c '^rank [01] of 2, .*by torchrun' <<<"$output")" = 2 ]
    [[ $stderr == *'"exitcode": -9'* || $stderr == *"SIGKILL"* || $stderr == *"exitcode: -9"* ]]
}

@test "accelerate launch: one node, two nodes, and over mpirun" {
    local plain=(--mixed_precision no --dynamo_backend no --no_python)
    run -0 --separate-stderr on 0 timeout 90 "$VENV/accelerate" launch --multi_gpu \
        --num_processes 2 --num_machines 1 "${plain[@]}" "$P" -- who
    [ "$(grep -c '^rank [01] of 2, local [01] of 2, node 0 of 1, by accelerate, at 127.0.0.1' <<<"$output")" = 2 ]
    [[ $stderr == *"started by accelerate ("* ]]
    both "$VENV/accelerate" launch --multi_gpu --num_processes 4 --num_machines 2 --machine_rank %K \
        --main_process_ip node0 --main_process_port 29500 "${plain[@]}"
    are_four accelerate
    command -v mpirun.openmpi >/dev/null || skip "the last part needs openmpi-bin"
    echo node0 slots=2 >hosts
    run -0 --separate-stderr on 0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout 90 "$VENV/accelerate" launch --cpu --num_processes 2 --num_machines 1 \
        --mpirun_hostfile "$PWD/hosts" "${plain[@]}" "$P" -- who
    [ "$(grep -c '^rank [01] of 2, local [01] of 2, .*by Open MPI, at 127.0.0.1' <<<"$output")" = 2 ]
}

@test "ncclbench and ddpsmoke are ranks of torchrun, without being told" {
    local command
    for command in ncclbench ddpsmoke; do
        [[ -x $BIN/$command ]]
        local args=(--json)
        [ $command = ddpsmoke ] || args+=(-b 64K -e 64K)
        on 0 timeout 120 "$VENV/torchrun" --standalone --nproc-per-node 2 --no-python \
            "$BIN/$command" "${args[@]}" >out.json 2>err
        run -0 jq -r '.verdict, (.data.world.ranks | length)' out.json
        [[ ${lines[0]} == pass || ${lines[0]} == warn ]]
        [ "${lines[1]}" = 2 ]
    done
}
