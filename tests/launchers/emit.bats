#!/usr/bin/env bats
# What ddpsmoke --emit prints starts one's own script on as many ranks: with the real
# torchrun and accelerate, where scripts/check-launchers has brought a current torch.
# Of srun: tests/cli/ddpsmoke_emit.bats.
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
    # its interpreter may be gone since
    if ! [[ -x $VENV/$1 ]] || ! "$VENV/python3" -c 'import torch' 2>/dev/null; then
        skip "no $1 in ${VENV%/bin} (scripts/check-launchers gets it)"
    fi
    PATH=$VENV:$PATH OMP_NUM_THREADS=1 run timeout 120 bash how
    [ "$(sort ranks | uniq -c | tr -s ' ')" = " $2 $2" ] || { cat how ranks; echo "$output"; false; }
}

@test "torchrun" { started torchrun 2; }

@test "accelerate, which has to be told how to start several on a CPU" { started accelerate 2; }
