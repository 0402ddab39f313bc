#!/usr/bin/env bats
# Ranks that somebody started one by one, and one of them is lost: whenever that happens and
# whichever it is, it is a failure of the cluster, with 1, on every rank that is left. Ctrl-C, and
# what takes the own rendezvous away, is not: 3.
# shellcheck disable=SC2034,SC2154 # commands are used by name; bats sets stderr
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PORT=$(free_port)
}

# What is left when a test fails.
teardown() {
    local pid
    for pid in "${PIDS[@]}"; do
        kill -9 "$pid" 2>/dev/null || true
    done
}

# shellcheck disable=SC2094 # $1 is the rank, too
start() { # RANK SIZE COMMAND ARGS...: its process in PIDS[RANK], its words in the files RANK and RANK.err
    "$BIN/$3" --init "tcp://127.0.0.1:$PORT" --rank "$1" --world-size "$2" "${@:4}" >"$1" 2>"$1.err" 3>&- &
    PIDS[$1]=$!
}

ends() { # RANK CODE [WORDS]
    local code=0
    wait "${PIDS[$1]}" || code=$?
    [ "$code" -eq "$2" ] && { [ -z "${3-}" ] || grep -qe "$3" "$1" "$1.err"; } && return
    echo "rank $1: $code, not $2${3+ with "'$3'"}"
    cat "$1" "$1.err"
    return 1
}

keeper() { pgrep -o -P "${PIDS[0]}"; } # of the rendezvous, a child of rank 0's

# Ranks that are connected with the rendezvous, which has a line of its own for each.
connected() { # HOW-MANY
    local n
    n=$(awk -v at="$(printf ':%04X$' "$PORT")" '$2 ~ at && $4 == "01"' /proc/net/tcp | wc -l)
    ((n >= $1))
}

SWEEP=(ncclbench -b 8 -e 8 -n 1)
TRAIN=(ddpsmoke --samples 512 --epochs 1)
SWEEP_ON=(ncclbench -b 8 -e 8 -n 100 -N 0) # until somebody ends it
TRAIN_ON=(ddpsmoke --epochs 100000)

# Rank 2 of 3 never comes.
@test "one is lost while others are awaited: a peer, rank 0 with its rendezvous, or that alone" {
    local command
    for command in SWEEP TRAIN; do
        local -n run=$command
        for victim in 0 1 keeper; do
            PORT=$(free_port)
            start 0 3 "${run[@]}" --deadline 8s
            start 1 3 "${run[@]}" --deadline 8s
            wait_for 20 connected 2
            case $victim in
                keeper) kill -9 "$(keeper)" ;;
                *) kill -9 "${PIDS[victim]}" ;;
            esac
            case $victim in
                0) ends 1 1 'rank 0 .* died: connection lost\|ranks 0,2 of 3 missing\|no rendezvous at\|the rendezvous at' ;;
                1) ends 0 1 'rank 1 .* died: connection lost\|ranks 1-2 of 3 missing' ;;
                *)
                    ends 0 3 'the rendezvous at .* is gone: connection lost'
                    ends 1 1 'the rendezvous at .* is gone: connection lost\|no rendezvous at'
                    ;;
            esac
        done
    done
}

# Before the join, in it, behind it: no moment makes an error of ours of it.
@test "rank 0 is killed, at any time: its peer ends with 1" {
    local command delay
    for command in SWEEP_ON TRAIN_ON; do
        local -n run=$command
        for delay in 0 0.02 0.05 0.1 0.2 0.5; do
            PORT=$(free_port)
            start 0 2 "${run[@]}" --deadline 3s
            start 1 2 "${run[@]}" --deadline 3s
            sleep "$delay"
            kill -9 "${PIDS[0]}"
            ends 1 1 || { echo "after $delay s"; return 1; }
        done
    done
}

@test "a rank hangs before it comes to the first barrier, and its heart beats" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -DHUNG='"infiniband"' -o hung.so "$ROOT/tests/fake/libhung.c"
    for size in 2 3; do
        PORT=$(free_port)
        LD_PRELOAD=$PWD/hung.so start 1 $size "${SWEEP[@]}" --deadline 3s
        ((size == 2)) || start 2 $size "${SWEEP[@]}" --deadline 3s
        start 0 $size "${SWEEP[@]}" --deadline 3s
        ends 0 1 "rank.alive: .*rank 1 of $size .* missing at a barrier"
        grep -q 'ps -C ncclbench -o .*# on ' 0.err
        ((size == 2)) || ends 2 1 'rank 1 of 3 .* missing at a barrier'
        kill -9 "${PIDS[1]}"
        wait "${PIDS[1]}" || true
    done
}

@test "a rank that we started and that never joins is there: what it waits in" {
    "${CC:-cc}" -shared -fPIC -xc -o stopped.so - <<'END'
#include <signal.h>
#include <stdlib.h>
__attribute__((constructor)) static void stop(void)
{
    const char *rank = getenv("WINDSOCK_RANK");
    if (rank && *rank == '1')
        raise(SIGSTOP);
}
END
    LD_PRELOAD=$PWD/stopped.so ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" run -1 --separate-stderr \
        timeout 60 "$BIN/ncclbench" --np 2 -b 8 -e 8 --deadline 2s
    [[ $output == *"FAIL rank.alive: rank 1 of 2 ("*") missing: nobody has joined"* ]]
    [[ $stderr == *"ps -C ncclbench -o pid,stat,wchan:20,args   # on "* && $stderr != *"start it there"* ]]
}

@test "the rendezvous goes while data flows, and no rank is at fault" {
    start 0 2 "${SWEEP_ON[@]}"
    start 1 2 "${SWEEP_ON[@]}"
    wait_for 30 grep -qE '^ +8 ' 0
    kill -9 "$(keeper)"
    ends 0 3
    ends 1 1 'rank.alive: ' # of rank 0, or of the rendezvous, whichever it hears first
}

@test "training is over, and one is lost before all know how it went" {
    local other
    for victim in 0 1; do
        PORT=$(free_port) other=$((1 - victim))
        start 0 2 "${TRAIN[@]}" --fault $victim:die:end
        start 1 2 "${TRAIN[@]}" --fault $victim:die:end
        ends $other 1 "rank $victim .* died: connection lost"
        run ! grep -e 'ddpsmoke[.]verdict' -e 'stopped before the end' 0 0.err 1 1.err
    done
}

@test "Ctrl-C on any rank's own terminal ends it, and is nobody's fault: 3 on all" {
    local command SWEEP_LONG=(ncclbench -b 8M -e 512M -n 10000)
    for command in TRAIN_ON SWEEP_LONG; do
        local -n run=$command
        for victim in 0 1; do
            PORT=$(free_port)
            start 0 2 "${run[@]}"
            start 1 2 "${run[@]}"
            wait_for 30 connected 2
            sleep 1 # and as long as it takes to be under way
            kill -INT "${PIDS[victim]}"
            ends $victim 3 'interrupted by SIGINT'
            ends $((1 - victim)) 3 "rank $victim .*: interrupted by SIGINT"
            ! grep -e '^fail ' -e 'FAIL' 0 1 || false
        done
    done
}

@test "the name of rank 0 comes to be known later than a rank that looks for it" {
    unshare -rm true 2>/dev/null || skip "no namespaces can be made here"
    local command
    echo '127.0.0.1 localhost' >hosts
    for command in SWEEP TRAIN; do
        local -n run=$command
        # shellcheck disable=SC2016 # for that shell
        unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "$BIN/${run[0]}" "${run[@]:1}" \
            --init "tcp://rank0-of-$command.invalid:$PORT" --rank 1 --world-size 2 --deadline 30s \
            >"$PWD/1" 2>"$PWD/1.err" 3>&- &
        PIDS[1]=$!
        sleep 1
        kill -0 "${PIDS[1]}"
        echo "127.0.0.1 rank0-of-$command.invalid" >>hosts
        start 0 2 "${run[@]}" --deadline 30s
        ends 0 0
        ends 1 0
        PORT=$(free_port)
    done
}

@test "a name of rank 0 that nobody knows, and a file that it never writes: it is missing" {
    run -1 --separate-stderr "$BIN/ncclbench" --init "tcp://nobody.invalid:$PORT" --rank 1 --world-size 2 --deadline 1s
    [[ $output == *"rank.alive: cannot find rank 0: nobody.invalid does not resolve"* ]]
    [[ $stderr == *"- give MASTER_ADDR as an address"* ]]
    run -1 --separate-stderr "$BIN/ddpsmoke" --init "file://$PWD/meet" --rank 1 --world-size 2 --deadline 1s
    [[ $stderr == *"rank 0 has not written $PWD/meet"* ]]
}

# ---- behind an mpirun that we start: its ranks' words come to us ----
mpirun() { # LINES of a shell, with what is to be started in $@
    [ -e "${BIN%/bin}/lib/windsock/mpi-openmpi.so" ] || skip "mpi-openmpi.so was not built"
    printf '#!/usr/bin/env bash\nwhile [[ $1 != */ncclbench ]]; do shift; done\n%s\n' "$1" >mpirun.openmpi
    chmod +x mpirun.openmpi
    export WINDSOCK_MPIRUN=$PWD/mpirun.openmpi
}

as_rank="export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2"

@test "behind our mpirun a world that does not come together is a failure of the cluster" {
    mpirun "$as_rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT"$'\nexec "$@"'
    run -1 --separate-stderr "$BIN/ncclbench" --backend mpi-openmpi --np 2 -b 8 -e 8 --deadline 2s
    [[ $output == *"FAIL rank.alive: rank 1 of 2 missing"* ]] || { echo "$output $stderr"; false; }
}

@test "behind our mpirun a rank that dies before all have met is named" {
    mpirun 'printf "\x1e{\"ev\":\"died\",\"rank\":1,\"cause\":\"killed by signal 9 (SIGKILL)\"}\n"; exit 1'
    run -1 --separate-stderr "$BIN/ncclbench" --backend mpi-openmpi --np 2 -b 8 -e 8
    [[ $output == *"FAIL rank.alive: rank 1 died: killed by signal 9 (SIGKILL)"* ]] || { echo "$output $stderr"; false; }
}
