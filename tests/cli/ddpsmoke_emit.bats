#!/usr/bin/env bats
# What ddpsmoke --emit srun prints starts one's own script with what PyTorch wants to
# find. torchrun and accelerate: tests/launchers/emit.bats, where a current torch is.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "srun: the environment that a script of PyTorch's wants" {
    printf '#!/bin/bash\n[ "$*" = "" ] && exit 1\nwhile [ "$1" != sh ]; do shift; done\nfor r in 0 1; do SLURM_PROCID=$r SLURM_NTASKS=2 SLURM_LOCALID=$r "$@"; done\n' >srun
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$* $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT"\n' >python3
    chmod +x srun python3
    "$BIN/ddpsmoke" --device cpu --samples 256 --emit srun >how 2>/dev/null
    PATH=$PWD:$PATH run -0 bash how
    port=$(sed -n 's/.*MASTER_PORT=//p' how)
    ((port >= 29500))
    [ "$output" = "train.py 0/2 0 127.0.0.1:$port
train.py 1/2 1 127.0.0.1:$port" ]
}

@test "the port is one that is free on rank 0's host" {
    exec 4< <(exec python3 -c '
import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try: s.bind(("", 29500)); s.listen()
except OSError: pass # somebody else has it: as well
print(flush=True)
time.sleep(300)')
    holder=$!
    read -r -u 4
    run -0 --separate-stderr "$BIN/ddpsmoke" --device cpu --samples 256 --emit srun --json
    valid
    kill "$holder"
    exec 4<&-
    jq -e '.data.world.free_port as $p | $p > 29500 and (.data.emit | contains("MASTER_PORT=\($p)"))' <<<"$output"
    port=$(jq .data.world.free_port <<<"$output")
    [ -z "$(ss -Hltn "sport = :$port")" ]
}
