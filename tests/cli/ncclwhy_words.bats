#!/usr/bin/env bats
# ncclwhy: how its answer is worded.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
}

@test "one line is a line, two are lines" {
    echo 'cuInit err: 802' >one.log
    run -1 --separate-stderr "$why" one.log
    [[ $output == *": 1 line of 1 log"* && $output != *"1 lines"* ]]
    echo 'and more' | cat one.log - >two.log
    run -1 --separate-stderr "$why" one.log two.log
    [[ $output == *": 3 lines of 2 logs"* ]]
}

@test "a collective that timed out: the first thing to do is a command" {
    echo '[rank1]:[E1015 13:30:53.1 ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600083 milliseconds before timing out.' >timeout.log
    run -1 --separate-stderr "$why" --json timeout.log
    jq -e '.data.causes[0] | .id == "PT-006" and (.fix[0] | startswith("ncclwhy --stacks "))' <<<"$output"
}

@test "a cause with more than one reason names what mends each: who is rank 0, and what TensorFlow reads" {
    echo 'RuntimeError: The client socket has failed to connect to any network address of (node0, 29500). The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection refused).' >store.log
    run -1 --separate-stderr "$why" --json store.log
    jq -e '.data.causes[0] | .id == "PT-004" and any(.fix[]; startswith("start rank 0: torchrun --node-rank 0 "))' <<<"$output"
    echo 'tensorflow.python.framework.errors_impl.InternalError: Device /job:worker/replica:0/task:0/device:GPU:0 is joining a group with incompatible device typeCPU (group_key=3)' >tf.log
    run -1 --separate-stderr "$why" --json tf.log
    jq -e '.data.causes[0] | .entry == "PT-014" and any(.fix[]; contains("TF_CONFIG"))' <<<"$output"
}

@test "what two lines show together is said with both: an interface, two networks, two CUDAs, late tasks" {
    printf '%s\n' 'h1:7:7 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond4' \
        'h1:7:7 [0] misc/socket.cc:561 NCCL WARN ncclSocketInit: connecting to address  with family 21845 is neither AF_INET(2) nor AF_INET6(10)' >ifname.log
    run -1 --separate-stderr "$why" ifname.log
    [[ $output == *"names an interface (bond4) that h1 does not have"*"is bond4 there"* ]]
    printf '%s\n' 'INFO scripts.py:1128 -- Local node IP: 192.168.31.5' 'ray start --address=10.60.0.2:6379' \
        'Exception: The current node timed out during startup.' >ray.log
    run -1 --separate-stderr "$why" ray.log
    [[ $output == *"this node goes by 192.168.31.5, and the head is at 10.60.0.2"* ]]
    printf '%s\n' 'h1:7:7 [0] NCCL INFO cudaDriverVersion 12020' 'h1:7:7 [0] NCCL INFO NCCL version 2.26.2+cuda12.6' \
        "h1:7:9 [0] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'" >nvls.log
    run -1 --separate-stderr "$why" nvls.log
    [[ $output == *"built with CUDA 12.6, and the driver is of CUDA 12.2"* ]]
    printf '%s\n' 'XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Timed out task names:' \
        '/job:jax_worker/replica:0/task:7' '/job:jax_worker/replica:0/task:2' >late.log
    run -1 --separate-stderr "$why" late.log
    [[ $output == *"tasks 2 and 7 of the job did not come"* ]]
}

@test "a timeout during a save quotes the line that says so, and one with a short limit names it" {
    printf '%s\n' 'INFO Saving optimizer state to /lustre/run7/step_800' \
        '[rank5]: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=BARRIER, NumelIn=1, NumelOut=1, Timeout(ms)=60000) ran for 60040 milliseconds before timing out.' >save.log
    run -1 --separate-stderr "$why" save.log
    [[ $output == *"Saving optimizer state to /lustre/run7/step_800' was said before the wait, in line 1"* ]]
    sed 1d save.log >short.log
    run -1 --separate-stderr "$why" --json short.log
    jq -e '.data.causes[0] | .id == "PT-006" and .entry == "PT-101" and (.because // .meaning | contains("60 s only"))' <<<"$output"
}

@test "who failed first and whom the best cause is about: where they differ, why is said" {
    oom='[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 3 has a total capacity of 79.10 GiB'
    {
        echo "$oom"
        printf '%s\n' 'train.py FAILED' 'Root Cause (first observed failure):' '[0]:' \
            '  time      : 2025-11-07_11:20:01' '  host      : node1' '  rank      : 5 (local_rank: 5)' \
            '  exitcode  : 1 (pid: 2135)'
    } >elastic.log
    run -1 --separate-stderr "$why" elastic.log
    [[ $output == *"First to fail: rank 5 on node1 (torchrun saw it fail first; the likelier reason is what rank 2 met)."* ]]
    sed -i '2i [rank5]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.0.0.3]:43211: Connection reset by peer' elastic.log
    run -1 --separate-stderr "$why" elastic.log
    [[ $output == *"(torchrun saw it fail first; that was a consequence: what rank 2 met explains it)."* ]]
    # one name is enough where they agree
    sed -i 's/: 5 (local_rank: 5)/: 2 (local_rank: 2)/' elastic.log
    run -1 --separate-stderr "$why" elastic.log
    [[ $output == *"First to fail: rank 2 on node1 (torchrun saw it fail first)."* ]]
    # dumps tell whom the rank that gave up waited for
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent dumps
    echo '[rank0]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.' >train.log
    run -1 --separate-stderr "$why" train.log dumps/*
    [[ $output == *"First to fail: rank 0 (the earliest failure in the log; the dumps show for whom it waited)."* ]]
}

@test "colours within the words hide nothing: a terminal's, and what grep found" {
    printf '\033[31mRuntimeError: No CUDA GPUs are\033[0m\033[1m avail\033[Kable\033[0m\n' >coloured.log
    run -1 --separate-stderr "$why" --json coloured.log
    jq -e '.data.causes[0].entry == "GPU-021" and .data.log.bytes == 61
        and .data.causes[0].matched == "RuntimeError: No CUDA GPUs are available"' <<<"$output"
    echo 'node1:4711:4790 [3] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found' |
        grep --color=always socket >found.log
    run -1 --separate-stderr "$why" --json found.log
    jq -e '.data.causes[0].entry == "IF-001"' <<<"$output"
}

@test "settings that change transports are what to take out first where a collective timed out" {
    late='Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=65536, NumelOut=65536, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.'
    {
        echo 'export NCCL_CROSS_NIC=1'
        echo 'n1:8:9 [0] NCCL INFO NCCL_NET_GDR_LEVEL set by environment to PHB'
        echo 'n1:8:9 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.'
        echo "[rank0]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:616] [Rank 0] $late"
        echo "[rank1]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:616] [Rank 1] $late"
    } >set.log
    run -1 --separate-stderr "$why" --json set.log
    jq -e '.data.causes[0].entry == "PT-006" and .data.causes[1].entry == "PT-104"
        and (.data.causes[0].fix[0] | startswith("unset NCCL_CROSS_NIC NCCL_NET_GDR_LEVEL   #"))' <<<"$output"
    grep -v ' set \|export' set.log >plain.log
    run -1 --separate-stderr "$why" --json plain.log
    jq -e '[.data.causes[].fix[] | select(contains("unset"))] == []' <<<"$output"
}

@test "settings that are a remark, a default or switch something off are not what to take out" {
    {
        echo '# export NCCL_ALGO=Tree'
        echo 'export NCCL_CROSS_NIC=2 NCCL_PXN_DISABLE=1 NCCL_SOCKET_IFNAME=eth0 NCCL_IB_HCA=mlx5_0 NCCL_DEBUG=INFO'
        echo 'Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=65536, NumelOut=65536, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.'
    } >set.log
    run -1 --separate-stderr "$why" --json set.log
    jq -e '.data.causes[0].entry == "PT-006" and ([.data.causes[] | select(.entry == "PT-104")] == [])
        and ([.data.causes[].fix[] | select(contains("unset"))] == [])' <<<"$output"
    { grep -v '#' set.log | sed 's/NCCL_CROSS_NIC=2/NCCL_CROSS_NIC=1/'; } >one.log
    run -1 --separate-stderr "$why" --json one.log
    jq -e '.data.causes[0].fix[0] | startswith("unset NCCL_CROSS_NIC   #")' <<<"$output"
}

@test "a launcher that waits for nodes to the end of its log is a hint, with how many are missing then" {
    for n in 4 4 3 3 3 3 3 3 3 3 3 2; do
        echo "Waiting for $n more nodes to be ready..."
        echo "Node 10.0.0.$n:8000 is not ready yet"
    done >wait.log
    run -0 --separate-stderr "$why" --json wait.log
    jq -e '.data.causes[0] | .entry == "HNG-006" and (.because | contains("12 times") and contains("for 2 more nodes"))' <<<"$output"
    { cat wait.log; seq 20; } >came.log
    run -0 --separate-stderr "$why" --json came.log
    jq -e '.data.causes == []' <<<"$output"
}

@test "numbers that are none to the end of the log are a remark, a few at its beginning nothing" {
    printf "{'loss': %s, 'grad_norm': %s, 'epoch': 0.1}\n" 2.1 0.4 2.0 0.5 0.0 nan 0.0 nan >lost.log
    run -0 --separate-stderr "$why" --json lost.log
    jq -e '.verdict == "warn" and (.data.causes[0] | .id == "PT-119" and .line == 3)' <<<"$output"
    printf "{'loss': %s, 'grad_norm': %s, 'epoch': 0.1}\n" 2.4 nan 2.3 0.5 2.2 0.5 2.1 0.4 2.0 0.4 >found.log
    run -0 --separate-stderr "$why" --json found.log
    jq -e '.data.causes == []' <<<"$output"
}

@test "a benchmark's table without a failure, and what NCCL recorded, name what judges them" {
    "$BIN/ncclbench" -b 8 -e 64 --np 2 >'my table'
    run -0 --separate-stderr "$why" 'my table'
    [[ $output == *"ncclbench --analyze 'my table'"* ]]
    run -0 --separate-stderr "$why" - <'my table'
    [[ $output == *"ncclbench --analyze FILE"* ]]
    "$BATS_TEST_DIRNAME/inspector_dump.py" insp
    run -0 --separate-stderr "$why" insp
    [[ $output == *"ncclbench --analyze insp"* && $output != *"sudo dmesg"* ]]
    run -0 --separate-stderr "$why" insp/node0-pid4000.log
    [[ $output == *"ncclbench --analyze insp/node0-pid4000.log"* ]]
    cp insp/node0-pid4000.log beside
    run -1 --separate-stderr "$why" beside "$ROOT/tests/logs/real/020.log" # a cause is a cause
    [[ $output == *CON-013* ]]
}

@test "a folder is all of its files, and those of folders in it; a compressed one is named" {
    mkdir -p logs/more
    cp "$ROOT/tests/logs/real/020.log" logs/a.log
    cp "$ROOT/tests/logs/made/nworlds.log" logs/b.log
    cp "$ROOT/tests/logs/real/033.log" logs/more
    cp "$ROOT/tests/logs/real/033.log" logs/.hidden
    mkfifo logs/pipe
    run -1 --separate-stderr "$why" --json logs/
    jq -e '.data.log.files == ["logs/a.log", "logs/b.log", "logs/more/033.log"]
        and .data.causes[0].id == "CON-013"' <<<"$output"
    gzip logs/b.log
    run -1 --separate-stderr "$why" logs
    [[ $output == *CON-013* && $stderr == *"logs/b.log.gz is compressed"* ]]
    mkdir -p 'of folders/attempt_0/3' none
    run -3 --separate-stderr "$why" 'of folders' none
    [[ $stderr == *"no file in of folders"*"no file in none"* || $stderr == *"no file in none"*"no file in of folders"* ]]
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent dumps torch
    run -1 --separate-stderr "$why" dumps
    [[ $output == *FR-0* ]]
}

@test "weights and data beside a job's logs are left out of its folder, and said" {
    mkdir job
    cp "$ROOT/tests/logs/real/020.log" job/train.log
    printf 'PK\003\004' | tee job/step100.pt job/step200.pt >job/model.safetensors
    run -1 --separate-stderr "$why" job
    [[ $output == *CON-013* && $output != *"stopped before"* ]]
    [[ $stderr == *"left out 3 files of weights or data, such as job/model.safetensors"* ]]
    run -3 --separate-stderr "$why" job/step100.pt # named alone: what it is
    rm job/train.log
    run -3 --separate-stderr "$why" job
    [[ $stderr == *"no file in job can be read as a log"* ]]
}

@test "a pod that got its node in the end did not fail for want of one" {
    cat >events <<'END'
  Warning  FailedScheduling  9m  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
  Normal   Scheduled         5m  default-scheduler  Successfully assigned train/worker-0 to gpu-node-2
RuntimeError: CUDA error: no kernel image is available for execution on the device
END
    run -1 --separate-stderr "$why" --json events
    jq -e '.data.causes[0].id == "GPU-016"' <<<"$output"
    # another pod got one; and this one is waiting again
    sed -i 's/Scheduled  /Scheduled pod\/worker-0/; s/default-scheduler  0/pod\/worker-1 0/' events
    run -1 --separate-stderr "$why" --json events
    jq -e '.data.causes[0].id == "K8S-001"' <<<"$output"
    sed -i 's/worker-1/worker-0/; 2{p;s/.*/FailedScheduling pod\/worker-0 0\/4 nodes are available: 4 Insufficient nvidia.com\/gpu./}' events
    run -1 --separate-stderr "$why" --json events
    jq -e '.data.causes[0].id == "K8S-001"' <<<"$output"
}

@test "no GDRDMA anywhere is a warning where NCCL says that it is off, and none where it is there" {
    head='gpu-a:71:90 [0] NCCL INFO'
    printf '%s\n' "$head NET/IB : GPU Direct RDMA Disabled for HCA 2 'mlx5_2'" \
        "$head Channel 00/0 : 5[1] -> 6[0] [send] via NET/IB/2" \
        "$head comm 0x55 rank 5 nranks 8 cudaDev 1 busId 52000 - Init COMPLETE" \
        "  33554432       8388608     float     sum      -1   9120    3.68    6.44      0" >off.log
    run -0 --separate-stderr "$BIN/ncclwhy" off.log
    [[ ${lines[0]} == warn*IB-009*"no channel over InfiniBand"* ]]
    [[ $output == *"modprobe nvidia-peermem"* ]]
    sed 's,NET/IB/2$,&/GDRDMA,' off.log >on.log
    run -0 --separate-stderr "$BIN/ncclwhy" on.log
    [[ $output != *IB-009* ]]
    sed 1d off.log >silent.log # some GPUs have none
    run -0 --separate-stderr "$BIN/ncclwhy" silent.log
    [[ $output != *IB-0* ]]
    sed '1s,HCA 2.*,GPU 1 / HCA 2 (distance 8 > 5),' off.log >far.log
    run -0 --separate-stderr "$BIN/ncclwhy" far.log
    [[ $output != *IB-009* ]]
}

@test "a terminal is told that it is waited for a paste, with - too" {
    local args
    for args in '' -; do
        run script -qec "exec '$BIN/ncclwhy' $args" /dev/null </dev/null
        [[ $output == *"reading the log from the terminal; paste it, then press Ctrl-D"* ]]
    done
}
