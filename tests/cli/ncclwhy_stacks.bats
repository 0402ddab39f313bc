#!/usr/bin/env bats
# ncclwhy --stacks: where the ranks of jobs that hang stand, in real Pythons, of PyTorch and of a
# module that only looks like it; and hosts whose processes are in a namespace of their own.
bats_require_minimum_version 1.5.0
load ../wait.sh
load ../valid.bash

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    export TMPDIR=$PWD # multiprocessing leaves something there when it is killed
    mkdir -p site-packages/torch/distributed
    touch site-packages/torch/{,distributed/}__init__.py
    cat >site-packages/torch/distributed/distributed_c10d.py <<'END'
import time
def wait():
    open("at.%d" % RANK, "w").close()
    time.sleep(600)
def all_reduce(x):
    wait()
def broadcast(x):
    wait()
END
    cat >train.py <<'END'
import os, sys, time
sys.path.insert(0, "site-packages")
from torch.distributed import distributed_c10d as dist
rank = dist.RANK = int(os.environ.get("RANK", "0"))
def load():
    open("at.%d" % rank, "w").close()
    time.sleep(600)  # a slow disk
def step(x):
    if rank == 1 and sys.argv[1] == "order":
        dist.broadcast(x)
    dist.all_reduce(x)
if rank == 1 and sys.argv[1] == "astray":
    load()
step(1)
END
}

teardown() {
    local pid
    [[ -e pids ]] || return 0
    while read -r pid; do
        pkill -KILL -P "$pid" || true # a DataLoader's
        kill -KILL "$pid" 2>/dev/null || true
    done <pids
}

rank() { # RANK SIZE LOCAL PYTHON ARGS...: begins it
    RANK=$1 WORLD_SIZE=$2 LOCAL_RANK=$1 LOCAL_WORLD_SIZE=$3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
        "${@:4}" >"out.$1" 2>&1 3>&- &
    echo $! >>pids
}

job() { # SIZE WHAT [PYTHON]
    local r
    for ((r = 0; r < $1; r++)); do rank "$r" "$1" "$1" "${3-/usr/bin/python3}" train.py "$2"; done
    for ((r = 0; r < $1; r++)); do wait_for 20 test -e "at.$r"; done
}

below() { # the ranks of this test alone: others may run beside it
    run "-$1" --separate-stderr "$why" --stacks="$$" "${@:2}"
}

@test "the rank that stands elsewhere is named, with its line, and who waits for it" {
    job 3 astray
    below 1
    [[ ${lines[0]} == "fail  stack.job "*"rank 1 (pid $(sed -n 2p pids)) is in load (train.py:7: time.sleep(600)  # a slow disk) and did not move for 2 s; ranks 0 and 2 wait in all_reduce (train.py:11)" ]]
    [[ $output == *"The stack of rank 1"*$'\n'"load  "*"/train.py:7"$'\n'"<module>  "*"/train.py:13"* ]]
    below 1 --json
    jq -e '.data.causes[0].id == "STK-001" and .data.causes[0].confident
        and (.data.stacks | length == 3 and .[1].doing == "elsewhere" and .[0].call == "all_reduce"
            and .[1].at.function == "load" and .[1].at.line == 7 and .[1].moved == false
            and .[1].stack[0].function == "load" and (.[1].stack[-1].function == "<module>"))' <<<"$output"
    valid
}

@test "different collectives are told, and nothing of the job was disturbed" {
    job 3 order
    below 1
    [[ $output == *"ranks 0 and 2 in all_reduce (train.py:11); rank 1 (pid "*") in broadcast (train.py:10)"* ]]
    local pid
    while read -r pid; do
        kill -0 "$pid"
        grep -q '^TracerPid:.0$' "/proc/$pid/status"
    done <pids
}

@test "a rank that was stopped is to go on, and then does" {
    job 2 plain
    kill -STOP "$(sed -n 2p pids)"
    below 1
    [[ $output == *"rank 1 (pid "*") is stopped, in all_reduce (train.py:11); rank 0 (pid "*") waits in all_reduce"* ]]
    [[ $output == *"-> kill -CONT $(sed -n 2p pids)"* ]]
    kill -CONT "$(sed -n 2p pids)"
    below 0
    [[ $output == *"ranks 0 and 1 are in all_reduce"*"no rank is elsewhere"* ]]
}

@test "a rank whose process has ended is missed" {
    job 3 plain
    kill -KILL "$(sed -n 3p pids)"
    wait_for 10 test ! -e "/proc/$(sed -n 3p pids)/exe"
    below 1
    [[ $output == *"of 3 ranks only 2 are there, ranks 0 and 1; rank 2 has ended, or not begun; ranks 0 and 1 wait in"* ]]
    [[ $output != *" together "* && $output != *--hosts* ]] # no other host has one, and why they stand is said
}

@test "one rank's process alone: the others are counted, and not said to have ended" {
    job 3 plain
    run -0 --separate-stderr "$why" --stacks="$(sed -n 2p pids)"
    [[ $output == *"rank 1 (pid $(sed -n 2p pids)) is in all_reduce"* && $output != *"have ended"* ]]
}

@test "a rank's wrapper is none, its busy thread no life, and 300 threads hide it not" {
    cat >wrap.py <<'END'
import subprocess, sys
subprocess.run([sys.executable, "threads.py", "astray"])
END
    cat >threads.py <<'END'
import os, threading, time
def count():
    n = 0
    while True:
        n += 1
def idle():
    time.sleep(600)
if os.environ["RANK"] == "1":
    for i in range(300):
        threading.Thread(target=idle, daemon=True).start()
    threading.Thread(target=count, daemon=True).start()
exec(compile(open("train.py").read(), "train.py", "exec"))
END
    rank 0 2 2 /usr/bin/python3 wrap.py
    rank 1 2 2 /usr/bin/python3 wrap.py
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    below 1
    [[ $output == *"rank 1 (pid "*") is in load (train.py:7"*" and did not move for 2 s; rank 0 (pid "*") waits in all_reduce (train.py:11)"* ]]
}

@test "of every Python that is here" {
    local python n=0
    for python in $(compgen -c python3 | grep -xE 'python3(\.[0-9]+)?' | sort -u); do
        "$python" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' 2>/dev/null || continue
        rm -f pids at.*
        job 2 astray "$python"
        below 1
        [[ $output == *"rank 1 (pid "*" is in load (train.py:7: "*"rank 0 (pid "*") waits in all_reduce (train.py:11)"* ]]
        teardown
        n=$((n + 1))
    done
    ((n))
}

@test "PyTorch itself: a DataLoader's worker holds all ranks up" {
    cat >real.py <<'END'
import os, time, torch, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader
from torch.nn.parallel import DistributedDataParallel
rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://%s/store" % os.getcwd(), rank=rank, world_size=2)
class Set(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        if rank == 1 and i >= 32:
            return self.read(i)
        return torch.zeros(4)
    def read(self, i):
        open("at.1", "w").close()
        time.sleep(600)
model = DistributedDataParallel(torch.nn.Linear(4, 4))
for n, x in enumerate(DataLoader(Set(), batch_size=8, num_workers=1)):
    if rank == 0 and n == 3:
        open("at.0", "w").close()
    model(x).sum().backward()
END
    rank 0 2 2 /usr/bin/python3 real.py
    rank 1 2 2 /usr/bin/python3 real.py
    wait_for 60 test -e at.1
    wait_for 60 test -e at.0
    held_up() {
        below 1
        [[ $output == *"rank 1 (pid $(sed -n 2p pids)) is waiting for data (real.py:18) and did not move"* ]]
    }
    wait_for 30 held_up
    [[ $output == *"rank 0 (pid $(sed -n 1p pids)) waits in backward (real.py:21); its worker "*" is in Set.read (real.py:16)"* ]]
    [[ $output == *"its next batch does not come"* ]]
}

# An engine's workers, as it starts and titles them: WHAT is idle, or left (one has gone on).
engine() { # WHAT TITLE...: each with its rank behind it
    mkdir -p site-packages/vllm/distributed/device_communicators
    touch site-packages/vllm/{,distributed/{,device_communicators/}}__init__.py
    cat >site-packages/vllm/distributed/device_communicators/shm_broadcast.py <<'END'
import time
def acquire_read():
    open("at.%d" % RANK, "w").close()
    time.sleep(600)
def dequeue():
    acquire_read()
END
    cat >worker.py <<'END'
import sys
sys.path.insert(0, "site-packages")
from vllm.distributed.device_communicators import shm_broadcast
from torch.distributed import distributed_c10d as dist
dist.RANK = shm_broadcast.RANK = rank = int(sys.argv[1])
def step():
    dist.all_reduce(1)
if sys.argv[2] == "idle" or rank == 1:
    shm_broadcast.dequeue()
step()
END
    cat >core.py <<'END'
import subprocess, sys, time
for title in sys.argv[2:]:
    title, rank = title.split("=")
    subprocess.Popen([title, "worker.py", rank, sys.argv[1]], executable="/usr/bin/python3")
time.sleep(600)
END
    (exec -a VLLM::EngineCore /usr/bin/python3 core.py "$@" >core.out 2>&1 3>&-) &
    echo $! >>pids
    for title in "${@:2}"; do wait_for 20 test -e "at.${title#*=}"; done
}

@test "an engine's workers are found by their titles; those without work are well, and one beside a collective is not" {
    engine left VLLM::Worker_PP1_TP1=3 VLLM::Worker_PP0_TP1=1 VLLM::Worker_PP0_TP0=0 VLLM::Worker_PP1_TP0=2
    below 1
    [[ $output == *"rank 1 (pid "*") is waiting for work (worker.py:9) and did not move for 2 s; ranks 0, 2 and 3 wait in all_reduce (worker.py:7)"* ]]
    below 1 --json
    jq -e --arg job "vLLM of process $$" '.data.stacks | length == 4 and .[1].doing == "idle"
        and all(.[]; .size == 4 and .job == $job and .local_size == null)' <<<"$output"
    teardown
    rm pids at.*
    engine idle VLLM::Worker_TP1=1 VLLM::Worker_TP0=0
    below 0
    [[ $output == "pass  stack.job "*"ranks 0 and 1 wait for work (worker.py:9): nobody asks for any"* ]]
    teardown
    rm pids at.*
    engine idle sglang::scheduler_TP9=9 sglang::scheduler_TP8=8
    below 0 --json
    jq -e '[.data.stacks[] | .rank] == [8, 9] and all(.data.stacks[]; .size == 10 and .present == 2)' <<<"$output"
}

@test "ranks that torch.multiprocessing spawned have the order of their numbers; one process alone is told, too" {
    cat >spawn.py <<'END'
import multiprocessing, os, sys, time
def work(rank):
    open("at.%d" % rank, "w").close()
    time.sleep(600 + rank)
if __name__ == "__main__":
    c = multiprocessing.get_context("spawn")
    p = [c.Process(target=work, args=(r,)) for r in range(2)]
    for x in p:
        x.start()
        print(x.pid, file=open("pids", "a"), flush=True)
    time.sleep(600)
END
    /usr/bin/python3 spawn.py 3>&- &
    echo $! >>pids
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    below 0
    [[ $output == *"ranks 0 and 1 are in work (spawn.py:4"* ]]
    teardown
    rm pids at.*
    /usr/bin/python3 spawn.py 3>&- & # two jobs, and one that has variables
    echo $! >>pids
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    rm at.*
    /usr/bin/python3 spawn.py 3>&- &
    echo $! >>pids
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    rm at.*
    job 2 plain
    below 0
    [[ $output == *"ranks 0 and 1 are in work (spawn.py:4"*"ranks 0 and 1 are in work (spawn.py:4"*"6 ranks of 3 jobs"* ]]
    teardown
    rm pids at.*
    rank x x x env -u RANK -u WORLD_SIZE -u LOCAL_RANK /usr/bin/python3 train.py plain
    wait_for 20 test -e at.0
    run -0 --separate-stderr "$why" --stacks="$(cat pids)"
    [[ $output == *"rank 0 (pid $(cat pids)) is in all_reduce (train.py:11)"* ]]
}

@test "ranks whose variables were set after they began, or lie under a title, have them" {
    cat >later.py <<'END'
import os, sys
for rank in range(2):
    if os.fork() == 0:
        break
else:
    os.wait()
    sys.exit()
os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2",
                  MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
exec(compile(open("train.py").read(), "train.py", "exec"))
END
    cat >titled.py <<'END'
import ctypes, os
if os.environ["RANK"] == "0":
    for name, value in list(os.environ.items()):
        os.environ[name] = value  # a copy of its own
    begin, end = map(int, open("/proc/self/stat").read().rsplit(")", 1)[1].split()[47:49])
    ctypes.memset(begin, 0, end - begin)
exec(compile(open("train.py").read(), "train.py", "exec"))
END
    env -u RANK -u WORLD_SIZE /usr/bin/python3 later.py astray 3>&- &
    echo $! >>pids
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    below 1
    [[ $output == *"rank 1 (pid "*") is in load (train.py:7"*"; rank 0 (pid "*") waits in all_reduce (train.py:11)"* ]]
    teardown
    rm pids at.*
    rank 0 2 2 /usr/bin/python3 titled.py astray
    rank 1 2 2 /usr/bin/python3 titled.py astray
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    below 1
    [[ $output == *"rank 1 (pid "*") is in load (train.py:7"*"; rank 0 (pid $(sed -n 1p pids)) waits in all_reduce (train.py:11)"*"2 ranks of 1 job"* ]]
}

@test "torchrun's agent in a larger step of Slurm's is no rank" {
    mkdir -p site-packages/torch/distributed/elastic
    touch site-packages/torch/distributed/elastic/__init__.py
    cat >site-packages/torch/distributed/elastic/agent.py <<'END'
import os, subprocess, sys, time
def run():
    for r in "01":
        subprocess.Popen([sys.executable, "train.py", "plain"], env=dict(os.environ, RANK=r, WORLD_SIZE="2",
            LOCAL_RANK=r, LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29517"))
    time.sleep(600)
END
    cat >agent.py <<'END'
import sys
sys.path.insert(0, "site-packages")
from torch.distributed.elastic import agent
agent.run()
END
    SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_LOCALID=0 SLURM_NODEID=0 \
        SLURM_JOB_NUM_NODES=1 SLURM_NTASKS_PER_NODE=4 /usr/bin/python3 agent.py 3>&- &
    echo $! >>pids
    wait_for 20 test -e at.0
    wait_for 20 test -e at.1
    below 0
    [[ $output == *"ranks 0 and 1 are in all_reduce"*"2 ranks of 1 job"* ]]
}

@test "hosts: each is asked for its own, one that has no rank, and one that does not answer" {
    ((EUID == 0)) || skip "namespaces of processes are root's"
    cat >rsh <<'END'
#!/bin/sh
host=$1
shift
[ -e "pid.$host" ] || { echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255; }
exec nsenter -t "$(cat "pid.$host")" -p -m -u sh -c "$*"
END
    chmod +x rsh
    local h pid
    for h in 0 1 2; do
        # shellcheck disable=SC2016 # sh expands
        unshare -p -m -u -f --mount-proc sh -c 'hostname "h$0"; shift; exec "$@"' "$h" x sh -c "
            [ $h = 2 ] || for r in 0 1; do
                RANK=\$((r + 2 * $h)) WORLD_SIZE=4 LOCAL_RANK=\$r LOCAL_WORLD_SIZE=2 MASTER_ADDR=h0 \
                    MASTER_PORT=29517 /usr/bin/python3 train.py astray &
            done
            sleep 600; :" >/dev/null 2>&1 3>&- &
        echo $! >>pids
        wait_for 10 pgrep -P $! -x sh
        pid=$(pgrep -P $! -x sh)
        echo "$pid" >"pid.h$h"
        echo "$pid" >>pids # the first of its namespace: the others end with it
    done
    for h in 0 1 2 3; do wait_for 20 test -e "at.$h"; done
    export PATH=$BIN:$PATH
    run -1 --separate-stderr "$why" --rsh ./rsh --stacks --hosts h0,h1,h2
    [[ $output == *"rank 1 (h0, pid "*") is in load (train.py:7: "*" ranks 0, 2 and 3 wait in all_reduce (train.py:11)"* ]]
    [[ $output == *"4 ranks of 1 job on 3 hosts"* && $output != *host.answer* ]]
    run -1 --separate-stderr "$why" --rsh ./rsh --stacks --hosts h0,gone --json
    jq -e '([.findings[] | select(.check == "host.answer" and .status == "fail")] | length == 1)
        and (.data.stacks | length == 2 and .[0].host == "h0")
        and ([.findings[] | select(.subject == "elsewhere" and (.message | contains("2 of the job'\''s 4 ranks")))] | length == 1)' <<<"$output"
    run -4 --separate-stderr "$why" --rsh ./rsh --stacks --hosts h2
    [[ $stderr == *"no rank of a job runs on h2"* ]]
}

# Two ranks of PROGRAM as the command of ours, in the background: $mine.
wrapped() { # PROGRAM OPTION...
    cat >stall.sh <<END
for r in 0 1; do
    RANK=\$r WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 ${python-/usr/bin/python3} $1 astray &
    echo \$! >>pids
done
wait
END
    "$why" "${@:2}" -- sh stall.sh >said 2>&1 3>&- &
    mine=$!
}

@test "a command that stalls is looked at by itself" {
    wrapped train.py --stall 3s
    wait_for 40 grep -q 'rank 1 (pid .*) is in load (train.py:7.*rank 0 (pid .*) waits in all_reduce' said
    grep -q 'no output for a while' said
    teardown
    wait "$mine" || true
}

@test "a command that is silent while it is well, and hangs later, is told then" {
    cat >silent.py <<'END'
import os
n = 0
print("go", flush=True)
while not os.path.exists("hang"):
    n += 1
exec(compile(open("train.py").read(), "train.py", "exec"))
END
    wrapped silent.py --stall 2s
    wait_for 40 grep -q 'no output for a while, and nothing is wrong with where its ranks stand' said
    touch hang
    wait_for 40 grep -q 'rank 1 (pid .*) is in load (train.py:7.*rank 0 (pid .*) waits in all_reduce' said
    teardown
    wait "$mine" || true
}

@test "what a command says while its ranks are looked at is passed on at once, and ends the silence" {
    cat >tick.py <<'END'
import time
print("go", flush=True)
time.sleep(2.6)
for _ in range(15):
    print(time.time(), flush=True)
    time.sleep(0.2)
END
    cat >late.py <<'END'
import sys, time
said = [time.time() - float(line) for line in sys.stdin if line[0].isdigit()]
print(len(said), max(said))
END
    PATH=$BIN:$PATH RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
        bash -c "ncclwhy --stall 2s -- /usr/bin/python3 tick.py 2>said | /usr/bin/python3 late.py" >late
    awk '{ exit !($1 == 15 && $2 < 0.9) }' late || { cat late && false; }
    [ ! -s said ] # it was silent no more before anything was known
}

@test "a silent command whose ranks cannot be looked at is not called well" {
    # a Python as far as its name and symbols go, and older than those that are known
    echo 'char _PyRuntime[64]; unsigned sleep(unsigned); int main(void) { return (int)sleep(600); }' |
        "${CC:-cc}" -rdynamic -x c -o python3.7 -
    python=$PWD/python3.7 wrapped train.py --stall 1s
    wait_for 40 grep -q 'where its ranks stand is not known: ranks 0 and 1 were not looked at: process .* is Python 3.7, whose' said
    grep -q 'no output for a while' said
    ! grep 'nothing is wrong' said || false
    teardown
    wait "$mine" || true
}

@test "nothing to look at, and wrong words, are said" {
    sleep 600 3>&- &
    echo $! >>pids
    run -4 --separate-stderr "$why" --stacks="$(cat pids)"
    [[ $stderr == *"neither process $(cat pids) nor one that it started is a Python"* ]]
    run -2 --separate-stderr "$why" --stacks=x
    [[ $stderr == *"--stacks=x: a process has a number"* ]]
    run -2 --separate-stderr "$why" --stacks x.log
    [[ $stderr == *"--stacks reads no log"* ]]
    run -2 --separate-stderr "$why" --stacks=1 --hosts a
    [[ $stderr == *"on other hosts it is another process"* ]]
}

@test "another user's processes are not ours to see, and that is said" {
    ((EUID == 0)) || skip "only root can be another user"
    job 2 astray
    chmod 755 . && chmod o+x ..
    run -4 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$why" --stacks="$(sed -n 1p pids)"
    [[ $stderr == *"is a Python that we may look at"* ]]
    run -4 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$why" --stacks
    [[ $stderr == *"no rank of a job runs here"*" of others could not be seen: root (sudo) can"* ]]
}
