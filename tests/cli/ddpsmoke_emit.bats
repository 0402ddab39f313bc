#!/usr/bin/env bats
# What ddpsmoke --emit prints starts one's own script on as many ranks: with the real
# torchrun and accelerate, where scripts/check-launchers has brought a current torch.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
    VENV=${WINDSOCK_TORCH_VENV:-$HOME/.cache/windsock/torch}/bin
    cd "$BATS_TEST_TMPDIR" || return
    cat >train.py <<'PY'
import sys, torch, torch.distributed as dist
if sys.argv[0] and "accelerate" in open("how").read():
    from accelerate import Accelerator
    a = Accelerator()
    total = a.gather(torch.ones(1)).sum()
else:
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
with open("ranks", "a") as out:
    out.write(f"{int(total)}\n")
dist.destroy_process_group()
PY
}

started() { # LAUNCHER RANKS: what is printed for it starts so many, which reach each other
    "$BIN/ddpsmoke" --device cpu --samples 256 --np "$2" --emit "$1" >how 2>/dev/null
    [[ -x $VENV/$1 ]] || skip "no $1 in ${VENV%/bin} (scripts/check-launchers gets it)"
    PATH=$VENV:$PATH OMP_NUM_THREADS=1 run timeout 120 bash how
    [ "$(sort ranks | uniq -c | tr -s ' ')" = " $2 $2" ] || { cat how ranks; echo "$output"; false; }
}

@test "torchrun" { started torchrun 2; }

@test "accelerate, which has to be told how to start several on a CPU" { started accelerate 2; }

@test "srun: the environment that a script of PyTorch's wants" {
    printf '#!/bin/bash\n[ "$*" = "" ] && exit 1\nwhile [ "$1" != sh ]; do shift; done\nfor r in 0 1; do SLURM_PROCID=$r SLURM_NTASKS=2 SLURM_LOCALID=$r "$@"; done\n' >srun
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$* $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT"\n' >python
    chmod +x srun python
    "$BIN/ddpsmoke" --device cpu --samples 256 --emit srun >how 2>/dev/null
    PATH=$PWD:$PATH run -0 bash how
    [ "$output" = "train.py 0/2 0 127.0.0.1:29500
train.py 1/2 1 127.0.0.1:29500" ]
}
