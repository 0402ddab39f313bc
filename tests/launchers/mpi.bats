#!/usr/bin/env bats
# Releases of MPI that the distribution has not: Open MPI 5, a newer MPICH, Intel MPI, each
# with its own mpirun and library. scripts/check-launchers gets them into
# ~/.cache/windsock/mpi; WINDSOCK_MPIS is another folder that has them.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    MPIS=${WINDSOCK_MPIS:-$HOME/.cache/windsock/mpi}
}

has() { # PACKAGE: it comes first in PATH
    [[ -x $MPIS/$1/bin/mpirun ]] || skip "no $1 in $MPIS (scripts/check-launchers gets it)"
    export PATH=$MPIS/$1/bin:$PATH
}

measures() { # WORDS: the release's own library does
    run -0 --separate-stderr timeout 60 "$BIN/ncclbench" --backend mpi --np 2 -b 8 -e 64K -n 2
    [[ ${lines[0]} == *"$1"* && $output == *"results verified, none wrong"* ]]
}

strike() { # SIGNAL WORDS
    local pid rank code=0
    : >out
    timeout -k 1 60 "$BIN/ncclbench" --backend mpi --np 2 -b 1M -e 1M -N 0 --heartbeat 2 >out 2>&1 3>&- &
    pid=$!
    until grep -q '^ *1048576 ' out; do
        kill -0 "$pid"
        read -rt 0.05 <> <(:) || true
    done
    rank=$(awk '/Rank +1 /{ print $7 }' out)
    kill "-$1" "$rank"
    wait "$pid" || code=$?
    cat out
    [ "$code" = 1 ] # 124: it hung
    grep -q "FAIL rank.alive: rank 1 .*$2" out
}

all_of() { # PACKAGE WORDS
    has "$1"
    measures "$2"
    strike KILL 'killed by signal 9'
    strike STOP 'has been silent'
}

@test "Open MPI 5: its own library measures, a killed and a stopped rank are named" {
    all_of openmpi 'Open MPI v5'
}

@test "MPICH: the same" { all_of mpich 'MPICH '; }

@test "Intel MPI, whose mpirun is a script: the same" { all_of impi-rt 'Intel(R) MPI Library'; }

@test "Open MPI 5: --predict says what it does" {
    has openmpi
    ((EUID == 0)) || skip "not root"
    run -0 "$ROOT/tests/diff/diff-openmpi"
}

@test "WINDSOCK_MPIRUN that is nobody's is said, and nobody else's is taken" {
    run -4 env WINDSOCK_MPIRUN=/bin/true "$BIN/ncclbench" --backend mpi -b 8 -e 8
    [[ $output == *"WINDSOCK_MPIRUN=/bin/true is no mpirun"* ]]
}
