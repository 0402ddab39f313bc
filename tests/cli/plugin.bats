#!/usr/bin/env bats
# Backends beside tcp: Gloo and both MPIs for real, NCCL against stand-ins whose
# only purpose is to fail. What was not built here is skipped.
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
}

pid_of_rank() { sed -n "s/^#  Rank  $1 .*Pid *\([0-9]*\) .*/\1/p" out; }
has_row() { grep -qE '^ +1048576' out; }
ended_with() { # CODE PID
    local code=0
    wait "$2" || code=$?
    [[ $code == "$1" ]] || { cat out; echo "exit code $code"; return 1; }
}
until_row() { # a crowded machine may need a second for one collective
    for _ in {1..600}; do ! has_row || return 0; sleep 0.1; done
    cat out
    return 1
}

verified() { # BACKEND RANKS TYPES OPS COLLS...: every one verified, the table is the usual one
    local b=$1 np=$2 types=$3 ops=$4 coll
    shift 4
    for coll; do
        run --separate-stderr "$B" --backend "$b" --np "$np" --coll "$coll" -b 1000 -e 40000 \
            -f 40 -d "$types" -o "$ops" -n 1 -w 0 --json
        { ((status == 0)) && jq -e --arg b "${b%%-*}" '.verdict == "pass" and .data.backend == $b and
            (.data.results | length > 0) and all(.data.results[]; .wrong == 0 or .wrong == null)' \
            <<<"$output" >/dev/null; } || { echo "$coll: exit code $status: $output $stderr"; false; }
    done
}

@test "gloo: its collectives, every type and reduction, 2 and 4 ranks" {
    built gloo
    verified gloo 2 all all all_reduce reduce
    verified gloo 2 float sum all_gather broadcast alltoall gather scatter sendrecv
    verified gloo 4 bfloat16 all all_reduce
    run -0 "$B" --backend gloo --coll alltoall -b 1K -e 1K -n 2 # in place is N/A
    [[ $output == *"PASS coll.data: 1 result verified, none wrong"* ]]
    run -4 "$B" --backend gloo --coll reduce_scatter -b 8 -e 8
    [[ $output == *"gloo has no reduce_scatter"* ]]
}

@test "gloo and mpi have no mulsum: a sentence, exit 4; -o all goes without" {
    local b
    for b in gloo mpi-openmpi; do
        [[ -e $O/lib/windsock/$b.so ]] || continue
        run -4 --separate-stderr "$B" --backend $b --np 2 -b 8 -e 8 -o mulsum
        [[ $stderr == *"${b%-*} does not know the reduction mulsum"*"--backend tcp and --backend nccl do"* ]]
        run -0 --separate-stderr "$B" --backend $b --np 2 -b 8 -e 8 -n 1 -o all
        [[ $output == *"# Without mulsum: ${b%-*} does not know it"* && $output != *" mulsum "* ]]
        run -0 --separate-stderr "$B" --backend $b --np 2 -b 1K -e 1K -n 1 -o mulsum --coll all_gather
        [[ $output != *mulsum* ]]
    done
}

@test "gloo: the table has nccl-tests' columns and says what was measured" {
    built gloo
    run -0 --separate-stderr "$B" --backend gloo -b 8 -e 1K -n 2 --json
    jq -e '.data.covers == "2 local ranks, host memory over Gloo; neither NCCL nor a network was measured"' <<<"$output"
    run -0 --separate-stderr "$B" --backend gloo -b 8 -e 1K -n 2
    [[ ${lines[0]} == *"gloo, Gloo "*"its TCP transport"* ]]
    grep -qE '^ +1024 +256 +float +sum +-1( +[0-9.]+){3} +0( +[0-9.]+){3} +0' <<<"$output"
}

@test "gloo: a killed rank is named" {
    built gloo
    "$B" --backend gloo -b 1M -e 1M -N 0 >out 2>&1 3>&- &
    until_row
    kill -9 "$(pid_of_rank 1)"
    ended_with 1 $!
    grep -q 'FAIL rank.alive.*rank 1 ' out
}

@test "mpi: re-executed under Open MPI's mpirun, everything verified, 2 and 4 ranks" {
    built mpi-openmpi
    verified mpi-openmpi 2 all all all_reduce reduce_scatter
    verified mpi-openmpi 4 float sum all_gather broadcast reduce alltoall gather scatter sendrecv
    run -0 --separate-stderr "$B" --backend mpi-openmpi -b 8 -e 8 -n 1
    [[ $output == *"Open MPI v"* && $output == *"started by Open MPI (OMPI_COMM_WORLD_RANK"* ]]
}

@test "mpi: started by mpirun, rank 0 reports for all" {
    built mpi-openmpi
    root=()
    ((EUID)) || root=(--allow-run-as-root)
    run -0 --separate-stderr mpirun.openmpi "${root[@]}" --oversubscribe -np 2 "$B" --backend mpi -b 8 -e 1K --json
    jq -e '.data.backend == "mpi" and (.data.world.ranks | length == 2)' <<<"$output"
}

@test "mpi: re-executed under MPICH's mpirun, 2 ranks" {
    built mpi-mpich
    verified mpi-mpich 2 float all all_reduce reduce reduce_scatter
    verified mpi-mpich 2 int64 sum all_gather broadcast alltoall gather scatter sendrecv
}

strike_rank() { # BACKEND SIGNAL RANKS RANK
    : >out # in the background it may be emptied after the first look
    "$B" --backend "$1" --np "$3" -b 1M -e 1M -N 0 --heartbeat 4 >out 2>&1 3>&- &
    until_row
    kill "-$2" "$(pid_of_rank "$4")"
    ended_with 1 $!
}

# MPICH's mpiexec now and then fails an assertion of its own when a rank is struck; that
# tells nothing of ours.
named_when() { # BACKEND SIGNAL RANKS RANK WORDS
    for _ in 1 2 3; do
        strike_rank "$1" "$2" "$3" "$4"
        ! grep -q "FAIL rank.alive: rank $4 .*$5" out || return 0
        grep -q 'HYD_.*assert (!closed) failed' out || break
    done
    cat out
    return 1
}

all_gone() { # FOLDER PID PID: the folder's files, and these processes
    for _ in {1..300}; do
        # dead is gone: whose parents are gone, too, init may leave for a while
        [[ -n $(ls "$1") ]] || ps -o stat= -p "$2,$3" | grep -q '^[^Z]' || return 0
        sleep 0.1
    done
    ls "$1" && ps -fp "$2" "$3"
    return 1
}

@test "mpi: mpirun and its ranks go with a launcher that is killed, and leave no memory behind" {
    local how mpirun
    built mpi-openmpi
    mkdir shm
    export OMPI_MCA_btl_vader_backing_directory=$PWD/shm
    for how in CONT STOP; do # a stopped mpirun hears of nothing, and nor does who watches over it
        : >out
        "$B" --backend mpi-openmpi --np 2 -b 1M -e 1M -N 0 >out 2>&1 3>&- &
        until_row
        [ -n "$(ls shm)" ]
        mpirun=$(pgrep -P $! mpirun)
        # in a session of ours it would get a SIGHUP, too, if it is stopped: seldom seen in time
        [ "$(ps -o sid= -p "$mpirun")" -eq "$mpirun" ]
        pgrep -P $! | xargs kill "-$how"
        kill -9 $!
        all_gone shm "$(pid_of_rank 0)" "$(pid_of_rank 1)"
    done
}

@test "mpi: a killed and a stopped rank are named, and mpirun ends" {
    built mpi-openmpi
    named_when mpi-openmpi KILL 2 1 'died: killed by signal 9 (SIGKILL)'
    named_when mpi-openmpi STOP 2 1 'has been silent'
}

@test "mpi: the same under MPICH, also when it is rank 0 or one of several" {
    built mpi-mpich
    # MPICH spins without a call of libc's, and there alone ThreadSanitizer lets a signal through.
    [[ ${WINDSOCK_SANITIZED-} != thread ]] || skip "sanitizer build"
    named_when mpi-mpich KILL 2 1 'died: killed by signal 9 (SIGKILL)'
    named_when mpi-mpich KILL 2 0 'died: killed by signal 9 (SIGKILL)'
    named_when mpi-mpich KILL 3 2 'died: killed by signal 9 (SIGKILL)'
    named_when mpi-mpich STOP 2 1 'has been silent'
}

@test "a plug-in that is not there, and one of another version: exit 4 and what to do" {
    run -4 env WINDSOCK_PLUGINS=/nonexistent "$B" --backend gloo
    [[ $output == *"gloo.so is not there"*"libgloo-dev"* ]]
    mkdir old
    echo 'const unsigned windsock_comm[] = {999};' | ${CC:-cc} -shared -fPIC -x c -o old/gloo.so -
    run -4 env WINDSOCK_PLUGINS="$PWD/old" "$B" --backend gloo
    [[ $output == *"another version: it speaks 999"* ]]
    run -4 env PATH=/nonexistent WINDSOCK_MPIRUN= "$B" --backend mpi
    [[ $output == *"no mpirun of Open MPI or MPICH"* ]]
}

@test "nccl without a driver: exit 4, and which NCCL was found" {
    built nccl
    [[ ! -e /dev/nvidiactl ]] || skip "there is a driver"
    run -4 "$B" --backend nccl --nccl /nonexistent/libnccl.so.2
    [[ $output == *"cannot load NCCL: /nonexistent/libnccl.so.2"* ]]
    run -4 env WINDSOCK_NCCL="$O/fake/libnccl.so.2" "$B" --backend nccl
    [[ $output == *"no NVIDIA driver here"*"NCCL itself is: "*"/fake/libnccl.so.2 (2.28.9)"* ]]
    ! nm -u "$O/lib/windsock/nccl.so" | grep -q __asan || return 0 # binds in its own way
    run -4 env LD_BIND_NOW=1 "$B" --backend nccl
    [[ $output == *"nccl.so: undefined symbol: "*"-> unset LD_BIND_NOW "* ]] || { echo "$output"; return 1; }
}

@test "nccl stand-in: all is well, and every result is verified by the kernels" {
    fake
    verified nccl 2 all all all_reduce reduce reduce_scatter
    verified nccl 3 float sum all_gather broadcast alltoall gather scatter sendrecv
}

@test "nccl stand-in: each way to fail is its own finding" {
    fake
    check() { # MODE CHECK WORDS
        WINDSOCK_FAKE_NCCL=$1 "$B" --backend nccl -b 1M -e 1M -n 2 --deadline 2 --json >out.json 2>err && return 1
        [[ $? == 1 ]]
        jq -e --arg c "$2" --arg w "$3" '.findings[] | select(.status == "fail") |
            .check == $c and (.message | contains($w)) and (.fix | length > 0)' out.json >/dev/null ||
            { cat out.json; return 1; }
    }
    check init-hang nccl.init "ncclCommInitRank did not finish within 2.0 s"
    jq -e 'any(.findings[]; .message | endswith("of 2, which meets the others by docker0:172.17.0.1"))' out.json
    jq -e 'any(.findings[]; .fix[0] | contains("portcheck"))' out.json # they share a GPU: as two hosts do
    WINDSOCK_FAKE_CUDA=own-gpu check init-hang nccl.init "did not finish"
    jq -e 'any(.findings[]; .fix[0] | contains("NCCL_P2P_DISABLE=1"))' out.json
    check async-error nccl.async "remote process exited"
    check wrong-sum coll.data "results had wrong elements"
    check duplicate nccl.gpu "Duplicate GPU detected"
    WINDSOCK_FAKE_CUDA=own-gpu check one-sided nccl.gdr "goes by NET/IB with GPUDirect at the sending end only"
    WINDSOCK_FAKE_CUDA=own-gpu check receives nccl.gdr "goes by NET/IB with GPUDirect at the receiving end only"
    # that is how GPUs before Ampere do it
    WINDSOCK_FAKE_CUDA=own-old-gpu WINDSOCK_FAKE_NCCL=receives run -0 "$B" --backend nccl -b 1M -e 1M -n 2
    WINDSOCK_FAKE_COUNT=$PWD/asked check ok comm.version "has NCCL 2.2"
    WINDSOCK_FAKE_CUDA=lost check ok gpu.work "an illegal memory access was encountered"
    WINDSOCK_FAKE_CUDA=watched check ok gpu.watchdog "a screen is at this GPU"
    jq -e 'all(.findings[] | select(.status == "fail"); .fix[0] | startswith("use another GPU"))' out.json
}

@test "an error counter that grows during the run names the port" {
    port=root/sys/class/infiniband/mlx5_3/ports/1/counters
    mkdir -p $port
    echo 5 >$port/symbol_error
    "$B" --sysroot "$PWD/root" -b 1M -e 1M -n 10 -N 150 >out 2>&1 3>&- & # a row soon, and many
    until_row
    echo 9 >$port/symbol_error
    ended_with 1 $!
    grep -q 'FAIL rdma.counter: symbol_error of mlx5_3/1 grew by 4 during the run' out
}

@test "nccl stand-in: too old, too new, damaged, no GPU: exit 4" {
    fake
    WINDSOCK_FAKE_CUDA=old-driver WINDSOCK_FAKE_NCCL=too-new run -4 "$B" --backend nccl
    [[ $output == *"$O/fake/libnccl.so.2 is made for a newer CUDA than this driver knows, which is 12.4"*"pip install nvidia-nccl-cu12 "* ]]
    run -4 env WINDSOCK_FAKE_NCCL=old "$B" --backend nccl
    [[ $output == *"NCCL 2.13.4: too old"* ]]
    run -4 "$B" --backend nccl --nccl "$O/fake/libnccl-damaged.so.2"
    [[ $output == *"has no ncclCommAbort"* ]]
    run -4 env WINDSOCK_FAKE_CUDA=no-gpu "$B" --backend nccl
    [[ $output == *"the NVIDIA driver shows no GPU"* ]]
}

@test "nccl stand-in: a GPU that never finishes meets the deadline" {
    fake
    run -1 env WINDSOCK_FAKE_CUDA=busy "$B" --backend nccl --deadline 2
    [[ $output == *"FAIL comm.progress: all_reduce did not finish within 6.0 s"* ]] # the first one: NCCL may connect in it
}
