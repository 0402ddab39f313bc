#!/usr/bin/env bats
# Real launchers start a small program of ours: does every rank know who it is,
# and do they find each other? Open MPI and MPICH here, srun where a Slurm is;
# an environment as torchrun's with its MASTER_PORT already held.
# Needs openmpi-bin and mpich for those tests.
# shellcheck disable=SC2154 # bats assigns stderr
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    P=$O/lab/rdzv_rank
}

teardown() {
    [ -z "${HELD:-}" ] || kill "$HELD" 2>/dev/null || true
}

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || skip "needs $2"
}

# A clean environment, so that what started bats is not taken for a launcher.
alone() {
    env -i PATH="$PATH" HOME="${HOME:-/}" "$@"
}

openmpi() { # N CMD...
    local n=$1
    shift
    alone timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe -np "$n" "$@"
}

@test "no launcher: nothing is made up" {
    run -0 --separate-stderr alone "$P" world
    [ "${lines[0]}" = "none rank=-1 size=-1 local=-1/-1 node=-1/-1 master=- port=no run=-" ]
    [ "${lines[1]}" = "from -" ]
    [ "${#lines[@]}" = 2 ]
}

@test "Open MPI's mpirun: rank, size, local rank, master" {
    need mpirun.openmpi openmpi-bin
    run -0 --separate-stderr openmpi 4 "$P" world
    local r
    for r in 0 1 2 3; do
        grep -qx "Open MPI rank=$r size=4 local=$r/4 node=-1/-1 master=127.0.0.1 port=yes run=\([0-9][0-9]*\|prterun-[^ ]*@[0-9]*\)" <<<"$output"
    done
    [ "$(grep -c '^Open MPI' <<<"$output")" = 4 ]
    [ "$(grep -o 'run=.*' <<<"$output" | sort -u | wc -l)" = 1 ]
    run -1 grep 'note\|trouble' <<<"$output"
}

@test "MPICH's mpiexec: rank, size, local rank, master" {
    need mpiexec.hydra mpich
    # ranks that end at once, /bin/echo too, end a busy machine's mpiexec with SIGPIPE
    run -0 --separate-stderr alone MASTER_PORT=29555 timeout 60 mpiexec.hydra -n 3 sh -c '"$0" world; exec sleep 0.1' "$P"
    local r
    for r in 0 1 2; do
        grep -qx "MPICH rank=$r size=3 local=$r/3 node=-1/-1 master=127.0.0.1 port=yes run=.*" <<<"$output"
    done
    [ "$(grep -c '^MPICH' <<<"$output")" = 3 ]
}

@test "ranks of Open MPI meet, and no process stays" {
    need mpirun.openmpi openmpi-bin
    run -0 --separate-stderr openmpi 4 "$P" host
    [ "$(grep -c "^$(hostname):0 $(hostname):1 $(hostname):2 $(hostname):3 seen by [0-3] under Open MPI\$" <<<"$output")" = 4 ]
    run -1 pgrep -f "^$P host"
}

@test "two jobs of Open MPI side by side do not mix" {
    need mpirun.openmpi openmpi-bin
    openmpi 2 "$P" host >"$BATS_TEST_TMPDIR/a" 2>&1 &
    local other=$!
    run -0 --separate-stderr openmpi 3 "$P" host
    [ "$(grep -c 'seen by [0-2] under' <<<"$output")" = 3 ]
    wait "$other"
    [ "$(grep -c 'seen by [01] under' "$BATS_TEST_TMPDIR/a")" = 2 ]
}

@test "ranks of MPICH meet" {
    need mpiexec.hydra mpich
    run -0 --separate-stderr alone MASTER_PORT="$(free_port)" timeout 60 mpiexec.hydra -n 3 "$P" host
    [ "$(grep -c 'seen by [0-2] under MPICH' <<<"$output")" = 3 ]
}

@test "torchrun's MASTER_PORT is held by its agent: the port beside it is used" {
    python3 -c '
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)' \
        >"$BATS_TEST_TMPDIR/port" &
    HELD=$!
    for _ in $(seq 100); do
        [ -s "$BATS_TEST_TMPDIR/port" ] && break
        sleep 0.05
    done
    local port r
    port=$(cat "$BATS_TEST_TMPDIR/port")
    for r in 1 0; do
        alone RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r LOCAL_WORLD_SIZE=2 GROUP_RANK=0 \
            GROUP_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" TORCHELASTIC_RUN_ID=none \
            TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_USE_AGENT_STORE=True \
            timeout 30 "$P" host >"$BATS_TEST_TMPDIR/rank$r" 2>&1 &
    done
    wait %2 %3
    grep -q "seen by 0 under torchrun" "$BATS_TEST_TMPDIR/rank0"
    grep -q "seen by 1 under torchrun" "$BATS_TEST_TMPDIR/rank1"
}

@test "a second rank 0: said at once, and the first goes on" {
    local port
    port=$(free_port)
    rank() { # RANK
        alone RANK="$1" WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" timeout 30 "$P" host
    }
    rank 0 >"$BATS_TEST_TMPDIR/zero" 2>&1 &
    local zero=$!
    # shellcheck disable=SC2016 # sh expands
    wait_for 20 sh -c 'ss -Htn state established "sport = :$1" | grep -q .' - "$port"
    run --separate-stderr rank 0
    [ "$status" -ne 0 ]
    [[ $stderr == *"rank 0 on "*" comes when rank 0 ("*") has joined already: give every process a rank of its own"* ]]
    run -0 --separate-stderr rank 1
    [[ $output == *"seen by 1 under env://" ]]
    wait "$zero"
}

@test "128 processes meet" {
    run -0 --separate-stderr "$P" start 128
    [[ $output == 128$'\t'* ]]
}
