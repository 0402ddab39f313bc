#!/usr/bin/env bats
# How the NCCL plug-in goes about the driver and NCCL, on stand-ins that are strict where
# the real ones would hang, race or refuse.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    fake
}
PRELOAD='' # for our programs alone
ours() { env LD_PRELOAD="$PRELOAD" "$@"; }
bench() { ours "$B" --backend nccl --np 2 -b 1K -e 64K -f 64 -n 3 --deadline 5 "$@"; }
pairs() { ours "$B" --backend nccl --np 2 --deadline 5 --pairs "$@"; }

@test "what is copied and set keeps its place on the stream, and a driver may take its time" {
    WINDSOCK_FAKE_CUDA=lazy run -0 --separate-stderr bench --coll all_reduce -d all -o all --json
    jq -e '.verdict == "pass" and all(.data.results[]; .wrong == 0)' <<<"$output"
}

# A stand-in that says, and in which can be read, that it is 2.28.N.
put_nccl() { # FILE N
    mkdir -p "$(dirname "$1")"
    sed "s/NCCL version 2\\.28\\.9/NCCL version 2.28.$2/" "$O/fake/libnccl.so.2" >"$1"
}
# ncclbench loads this file, and windsock, which reads it alone, means the same.
both_mean() { # FILE N
    run -0 --separate-stderr bench
    [[ ${lines[0]} == *" over nccl, NCCL 2.28.$2 ($1), "* ]] || { echo "not $1: $output"; return 1; }
    [[ $(ours "${B%/*}/windsock" --quick --json | jq -r .data.facts.nccl) == "2.28.$2" ]] || { echo "windsock: not $1"; return 1; }
}

# Where PyTorch would load it from: its own packages even before LD_LIBRARY_PATH, as its files
# have those folders built in; then the loader's path, other packages, CUDA's folder.
@test "NCCL is the one that PyTorch would load, the first line says which file that is, and windsock means the same" {
    local at n=0 places=("" "" conda/lib loader other/nvidia/nccl/lib cuda/lib64)
    local site=$PWD/conda/lib/python3.12/site-packages
    mkdir -p driver conda/conda-meta "$site/torch/lib"
    cp "$O/fake/libcuda.so.1" driver
    places[0]=${site#"$PWD/"}/nvidia/nccl/lib
    places[1]=${site#"$PWD/"}/torch/lib # older wheels, and those for aarch64
    for at in "${places[@]}"; do put_nccl "$at/libnccl.so.2" $((n++)); done
    put_nccl named.so 8
    export LD_LIBRARY_PATH=:$PWD/none:$PWD/loader:$PWD/driver CUDA_HOME=$PWD/cuda PYTHONPATH=$PWD/other:$site
    WINDSOCK_NCCL=$PWD/named.so both_mean "$PWD/named.so" 8
    PRELOAD=$PWD/named.so both_mean "$PWD/named.so" 8 # it is called, whatever else is here
    for n in "${!places[@]}"; do
        both_mean "$PWD/${places[n]}/libnccl.so.2" "$n"
        : >"${places[n]}/libnccl.so.2" # there, and it does not load: the next one
    done
    WINDSOCK_NCCL=$PWD/loader/libnccl.so.2 run -4 --separate-stderr bench # nowhere else then
    [[ $stderr == *"cannot load NCCL: $PWD/loader/libnccl.so.2: file too short"* ]]
}

@test "the stand-ins of these tests are what is loaded, whatever NCCL the machine's own PyTorch has" {
    mkdir -p venv/lib/python3.12/site-packages/torch/lib venv/bin
    put_nccl venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2 1
    printf '#!/bin/sh\n' >venv/bin/python3
    chmod +x venv/bin/python3
    export VIRTUAL_ENV=$PWD/venv PATH=$PWD/venv/bin:$PATH
    stand_ins
    both_mean "$O/fake/libnccl.so.2" 9
    unset PYTHONPATH # what without it would be loaded
    both_mean "$PWD/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2" 1
}

@test "a group of operations, a part and a window are waited for before the next call" {
    local ask
    for ask in "bench --coll alltoall" pairs "bench -R 1" "bench -R 2"; do
        # shellcheck disable=SC2086 # options and their values
        WINDSOCK_FAKE_CUDA=lazy run -0 --separate-stderr $ask
        [[ $stderr != *"stand-in"* ]] || { echo "$ask: $stderr"; return 1; }
    done
    WINDSOCK_FAKE_NCCL=no-window run -0 --separate-stderr bench -R 2
    [[ $stderr != *"stand-in"* && $output == *"buffers in symmetric memory where NCCL can"* ]]
}

@test "-m: so many operations are one group, as in nccl-tests; -z waits for each" {
    local coll
    for coll in all_reduce alltoall; do
        WINDSOCK_FAKE_NCCL=tells run -0 --separate-stderr bench --coll $coll -m 5 -n 2 --json
        jq -e '.verdict == "pass" and all(.data.results[]; (.wrong // 0) == 0)' <<<"$output"
        [[ $stderr == *"a group of 5"* ]]
    done
    WINDSOCK_FAKE_NCCL=tells run -0 --separate-stderr bench -m 5 -n 2 -z 1
    [[ $stderr != *"a group of 5"* ]]
    WINDSOCK_FAKE_NCCL=async-error run -1 --separate-stderr bench -m 5
    [[ $output == *"FAIL nccl.async: "* && $stderr != *"stand-in"* ]]
}

@test "alltoall, gather and scatter are NCCL's own calls where it has them, and the head says so" {
    local coll call
    while read -r coll call; do
        WINDSOCK_FAKE_NCCL=tells run -0 --separate-stderr bench --np 3 --coll "$coll" -r 1 -d f8e4m3
        [[ $stderr == *"NCCL: $call"* && $output == *"# By NCCL's own ncclAlltoAll, "* ]]
        run -0 --separate-stderr bench --np 3 --coll "$coll" -r 1 --nccl "$O/fake/libnccl-old.so.2"
        [[ $output == *"# By a group of ncclSend and ncclRecv, "* && $output == *"PASS coll.data"* ]]
    done <<<$'alltoall ncclAlltoAll\ngather ncclGather\nscatter ncclScatter'
    WINDSOCK_FAKE_NCCL=tells run -0 --separate-stderr bench --coll alltoallv
    [[ $stderr != *ncclAlltoAll* && $output != *"# By "* ]]
}

@test "kernels for drivers and GPUs that came before this nvcc, whenever they say so" {
    local says
    for says in old-driver lazy-find lazy-launch; do
        WINDSOCK_FAKE_CUDA=$says run -0 --separate-stderr bench --json
        jq -e '.verdict == "pass"' <<<"$output"
    done
    WINDSOCK_FAKE_CUDA=no-jit run -3 --separate-stderr bench
    [[ $stderr == *"cannot load the kernels"*": PTX JIT compiler library not found"*"the driver knows CUDA 12.4: "*"libnvidia-ptxjitcompiler.so.1"* ]]
}

@test "operations queue up on the stream, and its own clock tells their times" {
    WINDSOCK_FAKE_CUDA=clock run -0 --separate-stderr bench -n 1500 --json
    jq -e '.verdict == "pass" and ([.data.results[] | .p50_us, .p99_us] | unique) == [2000]' <<<"$output"
    # -z waits for each, and then the time is this processor's: any, but not all the same
    WINDSOCK_FAKE_CUDA=clock run -0 --separate-stderr bench -z 2 --json
    jq -e '[.data.results[].p50_us] | unique != [2000]' <<<"$output"
}

@test "floats of 8 bits: NCCL from 2.24 on Hopper, verified; else which rank cannot" {
    local ops
    for ops in sum avg; do
        run -0 --separate-stderr bench -d f8e4m3 -o $ops --json
        jq -e '.verdict == "pass" and all(.data.results[]; .wrong == 0 and .dtype == "f8e4m3")' <<<"$output"
    done
    run -0 --separate-stderr bench -d all -o avg --np 1 --json # NCCL cannot average these of one rank
    jq -e '.verdict == "pass" and any(.data.results[]; .dtype == "f8e5m2") and all(.data.results[]; .wrong == 0)' <<<"$output"
    run -0 --separate-stderr bench -d fp8_e5m2 -o all --np 3 --json
    jq -e '.verdict == "pass" and (.data.results | length) > 5 and all(.data.results[]; .wrong == 0)' <<<"$output"
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr bench -d f8e4m3
    WINDSOCK_FAKE_CUDA=old-gpu run -4 --separate-stderr bench -d f8e4m3
    [[ $stderr == *"nccl cannot do f8e4m3 here: the GPU of rank 0 ("*"has compute capability 7.7, and it takes 9.0 (Hopper)"* ]]
    run -4 --separate-stderr bench -d f8e5m2 --nccl "$O/fake/libnccl-old.so.2"
    [[ $stderr == *"has NCCL 2.16.2, which learned it in 2.24"* ]]
    # "all" leaves out what nobody has here
    WINDSOCK_FAKE_CUDA=old-gpu run -0 --separate-stderr bench -d all
    [[ $output == *"# Without 8-bit floats: the GPU of rank 0"* && $output != *" f8e4m3 "* ]]
}

@test "mulsum: an operation of NCCL's for each type, given back before the communicator is" {
    local ask
    for ask in "--np 3 -d all" "--np 1 -d all" "--coll reduce_scatter" "-m 3 -n 2" "-d f8e5m2"; do
        # shellcheck disable=SC2086 # options and their values
        run -0 --separate-stderr bench -o mulsum $ask --json
        jq -e '.verdict == "pass" and all(.data.results[]; .wrong == 0 and .redop == "mulsum")' <<<"$output"
        [[ $stderr != *"stand-in"* ]] || { echo "$ask: $stderr"; return 1; }
    done
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr bench -o mulsum
    [[ $output == *"FAIL coll.data: "* ]]
}

@test "only ranks that share a GPU claim to be on different hosts" {
    WINDSOCK_FAKE_CUDA=own-gpu WINDSOCK_FAKE_NCCL=one-host run -0 --separate-stderr bench
    [[ $output != *"share a GPU"* ]]
    WINDSOCK_FAKE_NCCL=one-host run -1 --separate-stderr bench
    [[ $output == *"claims to be another one"* ]]
    # NCCL goes by the address of the whole where each has a part of its own
    WINDSOCK_FAKE_CUDA=part WINDSOCK_FAKE_NCCL=one-host run -1 --separate-stderr bench
    [[ $output == *"claims to be another one"* ]]
    WINDSOCK_FAKE_CUDA=part run -0 --separate-stderr bench
    [[ $output == *"share a GPU"* ]]
}

@test "how fast ranks are that share a GPU is no word on its links" {
    WINDSOCK_FAKE_CUDA=hopper run -0 --separate-stderr "$B" --backend nccl --np 2 -b 64M -e 64M -n 1
    [[ $output == *"# INFO coll.bandwidth: "*"; not judged: ranks share a GPU"* ]]
    WINDSOCK_FAKE_CUDA=hopper run -3 --separate-stderr "$B" --backend nccl --np 2 -b 64M -e 64M -n 1 --expect 50%
    [[ $stderr == *"nothing to take --expect PERCENT of: ranks share a GPU"* ]]
}

@test "the head of the table and -J say which GPU it is, where, and which NCCL, as nccl-tests" {
    WINDSOCK_FAKE_CUDA=three run -0 --separate-stderr bench -J doc.json
    [[ $output == *" device  0 [0000:53:00] no GPU at all"*" device  1 [0000:54:00] no GPU"* ]]
    jq -e '.nccl_version == 22809 and ([.config.devices[] | .device, .device_hex] == [0, "0000:53:00", 1, "0000:54:00"])' doc.json
    run -0 "$B" --backend tcp -b 8 -e 8 -n 1 -J tcp.json
    [[ $output == *" device  0 [127.0.0.1] "* ]]
    jq -e '.nccl_version == 0 and all(.config.devices[]; .device == 0 and .device_hex == "127.0.0.1")' tcp.json
}

@test "what small sizes contain is said where there are some" {
    run -0 --separate-stderr "$B" --backend nccl --np 2 -b 8 -e 8 -n 1
    [[ $output == *"Times of small sizes contain the start of a thread"* ]]
    run -0 --separate-stderr "$B" --backend nccl --np 2 -b 1M -e 1M -n 1
    [[ $output != *"Times of small sizes"* ]]
}

@test "a GPU that takes one process only is no fault: exit 4, and how it takes more" {
    WINDSOCK_FAKE_CUDA=taken run -4 --separate-stderr "$B" --backend nccl --np 2
    [[ $stderr == *"cannot use the GPU: "*"Exclusive_Process"*"sudo nvidia-smi -c DEFAULT"* ]]
}

@test "one rank on a GPU with NVLinks carries nothing, and is not judged by them" {
    WINDSOCK_FAKE_CUDA=hopper run -0 --separate-stderr "$B" --backend nccl --np 1 -b 64M -e 64M -n 1
    [[ $output == *"# INFO coll.bandwidth: "*"; not judged: one rank: nothing is carried"* ]]
}

# RDMA cards are seen in containers that cannot use them, too.
beside_rdma() { # ARGS...
    # shellcheck disable=SC2016 # expanded there
    run --separate-stderr unshare -rm sh -ec '
        mount -t tmpfs none /sys/class
        at=/sys/class/infiniband/mlx5_0
        mkdir -p $at/ports/1 $at/ports/2 $at/device/${DRIVER:-mlx5_core}
        echo "1: DOWN" >$at/ports/1/state
        echo "4: ACTIVE" >$at/ports/2/state
        echo InfiniBand | tee $at/ports/1/link_layer >$at/ports/2/link_layer
        ln -s ${DRIVER:-mlx5_core} $at/device/driver
        exec env ${VARIABLE-} "$@"' sh "$B" --backend nccl --np 2 -b 1K -e 1K -n 1 "$@"
    [[ $stderr != *unshare* ]] || skip "no user namespaces here"
}

@test "ranks that share a GPU take sockets because they have to; others are told of it" {
    local gpu
    for gpu in shared own-gpu; do
        WINDSOCK_FAKE_CUDA=$gpu WINDSOCK_FAKE_NCCL=sockets beside_rdma
        [[ $gpu == shared || $output == *"FAIL nccl.net: rank 0 ("*"over NET/Socket although this host has an active RDMA port"* ]]
        [[ $gpu != shared || ($status == 0 && $output == *"NET/Socket (2 pairs)"* && $output != *nccl.net*) ]]
    done
}

@test "sockets beside RDMA: not NCCL's own on EFA, and no failure where somebody wanted them" {
    local how
    export WINDSOCK_FAKE_CUDA=own-gpu WINDSOCK_FAKE_NCCL=sockets
    DRIVER=efa beside_rdma
    [[ $status == 1 && $output == *"FAIL nccl.net: "*"although this host has EFA"* && $stderr == *'export NCCL_NET="AWS Libfabric"'* ]]
    for how in NCCL_IB_DISABLE=1 NCCL_NET=Socket; do
        VARIABLE=$how beside_rdma --json
        jq -e --arg by "${how%=*}" '.findings[] | select(.check == "nccl.net") |
            .status == "warn" and .fix[0] == "unset \($by)  # on all hosts, if it is not on purpose"' <<<"$output"
    done
    VARIABLE=NCCL_IB_DISABLE=0 beside_rdma # does nothing, nor does 1 on EFA
    [[ $output == *"FAIL nccl.net: "*"although"* ]]
    VARIABLE=NCCL_IB_DISABLE=1 DRIVER=efa beside_rdma
    [[ $output == *"FAIL nccl.net: "*"although"* ]]
}

@test "connections that were made since the beginning are told of, and judged" {
    WINDSOCK_FAKE_CUDA=own-gpu WINDSOCK_FAKE_NCCL=late-sockets beside_rdma --coll alltoall
    [[ $status == 1 && ${lines[0]} == *"NET/IB with GPUDirect (2 pairs)" ]]
    [[ $output == *"# in the end: NCCL 2.28.9 "*"NET/IB with GPUDirect (2 pairs), NET/Socket (2 pairs)"* ]]
    [[ $(grep -c "FAIL nccl.net: rank 0 (.*over NET/Socket" <<<"$output") == 1 ]]
    WINDSOCK_FAKE_CUDA=own-gpu WINDSOCK_FAKE_NCCL=late-sockets beside_rdma --coll alltoall --json
    jq -e '.data.transport | contains("NET/Socket")' <<<"$output"
    WINDSOCK_FAKE_CUDA=own-gpu WINDSOCK_FAKE_NCCL=sockets beside_rdma --coll alltoall
    [[ $output != *"in the end"* && $(grep -c "FAIL nccl.net" <<<"$output") == 1 ]]
}

@test "a peer that dies is named, however long its GPU takes to give back what it had" {
    WINDSOCK_FAKE_NCCL=late-death run -1 --separate-stderr "$B" --backend nccl --np 2 -b 1M -e 1M -N 0
    [[ $output == *"FAIL rank.alive: rank 1 ("*"killed by signal 9"* && $output != *nccl.async* ]]
}

@test "a rank that is stopped is named, and all ends, also where NCCL does not come back from being aborted" {
    local child victim start code=0
    WINDSOCK_FAKE_NCCL=abort-hang "$B" --backend nccl --np 2 -b 1M -e 1M -N 0 --heartbeat 3 >out 2>&1 3>&- &
    child=$!
    for _ in {1..600}; do ! grep -qE '^ +1048576' out || break; sleep 0.1; done
    victim=$(sed -n 's/^#  Rank  1 .*Pid *\([0-9]*\) .*/\1/p' out)
    start=$SECONDS
    kill -STOP "$victim"
    wait $child || code=$?
    ((code == 1))
    grep -q 'FAIL rank.alive: rank 1 (.*) has been silent for 3 s' out
    ((SECONDS - start < 60))
    run ! kill -0 "$victim"
}

@test "communicators are finalized, then destroyed; one that does not end is given up" {
    run -0 --separate-stderr pairs
    [[ $stderr != *"stand-in"* ]]
    WINDSOCK_FAKE_NCCL=end-hang run -0 --separate-stderr timeout 60 "$B" --backend nccl --np 2 -b 8 -e 8 -n 1 --deadline 2
    [[ $stderr != *"without being finalized"* ]]
}

@test "a beginning that takes long is no failure while NCCL's log shows that it goes on" {
    WINDSOCK_FAKE_NCCL=slow-init run -0 --separate-stderr "$B" --backend nccl --np 2 -b 8 -e 8 -n 1 --deadline 3
    WINDSOCK_FAKE_NCCL=slow-init NCCL_DEBUG_FILE=$PWD/none/own run -1 --separate-stderr "$B" --backend nccl --np 2 -b 8 -e 8 -n 1 --deadline 3
    [[ $output == *"FAIL nccl.init: ncclCommInitRank did not finish within 3.0 s"* ]]
}

@test "which way NCCL goes is known whatever NCCL_DEBUG a person has, and its lines still come" {
    local level
    export NCCL_DEBUG_SUBSYS=COLL
    for level in '' VERSION warn INFO; do
        [[ $level != INFO ]] || unset NCCL_DEBUG_SUBSYS
        NCCL_DEBUG=$level run -0 --separate-stderr bench
        [[ $output == *"NET/IB with GPUDirect (2 pairs)"* ]]
        echo "$level: $stderr"
        [[ $level && $stderr == *"NCCL version 2.28.9"* || ! $level && -z $stderr ]]
        [[ $level == [wI]* && $stderr == *"x.cc:1 NCCL WARN well"* || $level != [wI]* && $stderr != *WARN* ]]
        [[ $level == INFO && $stderr == *"NCCL INFO Channel 00/0 : "* || $level != INFO && $stderr != *INFO* ]]
    done
    NCCL_DEBUG_FILE=$PWD/own NCCL_DEBUG=INFO run -0 --separate-stderr bench
    [[ $output == *"; no connection was logged (NCCL_DEBUG_FILE is set)"* && -z $stderr && -s own ]]
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL run -0 --separate-stderr bench
    [[ $output == *"; no connection was logged (NCCL_DEBUG_SUBSYS is set)"* ]]
}

@test "of NCCL's log no file is left, also where a rank is killed while NCCL begins" {
    WINDSOCK_FAKE_NCCL=init-death run -1 --separate-stderr bench
    [[ $output == *"FAIL rank.alive: rank 1 ("*"killed by signal 9"* ]]
    [[ ! $(compgen -G 'windsock-nccl.*') ]]
    # where there is no file in memory, it is one
    "${CC:-cc}" -shared -fPIC -xc -o disk.so - <<<'int memfd_create(const char *n, unsigned f) { (void)n; (void)f; return -1; }'
    PRELOAD=$PWD/disk.so ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" run -0 --separate-stderr bench
    [[ $output == *"NET/IB with GPUDirect (2 pairs)"* && ! $(compgen -G 'windsock-nccl.*') ]]
}

@test "a network that stands still in the middle of it is named soon, however much was queued" {
    local start=$SECONDS
    # by the slowest plausible network, 100 times 8 MiB between two would take minutes
    WINDSOCK_FAKE_CUDA=stall run -1 --separate-stderr timeout 100 "$B" --backend nccl --np 2 -b 8M -e 8M -n 100 --deadline 2
    [[ $output =~ "FAIL comm.progress: "(all_reduce|a collective)" did not finish within "([0-9]+) ]]
    ((BASH_REMATCH[2] < 12 && SECONDS - start < 50))
}

@test "no more of a GPU's memory is asked for than is free" {
    WINDSOCK_FAKE_CUDA=small run -0 --separate-stderr "$B" --backend nccl --np 2 -b 1M -e 64M -n 1
    [[ $output == *"Reducing maxBytes to "*" due to memory limitation"* ]]
    WINDSOCK_FAKE_CUDA=small run -3 --separate-stderr "$B" --backend nccl --np 2 -b 64M -e 64M -n 1
    [[ $stderr == *"do not fit into memory"*"each rank on its GPU"* ]]
    # what files fill of a memory that both have makes room
    WINDSOCK_FAKE_CUDA=integrated run -0 --separate-stderr "$B" --backend nccl --np 2 -b 1M -e 2M -n 1
    [[ $output != *Reducing* ]]
}

@test "after a failure what the GPU is at is aborted first" {
    WINDSOCK_FAKE_NCCL=part-error run -1 --separate-stderr pairs --np 3
    [[ $output == *"FAIL nccl.async: "* && $stderr != *"stand-in"* ]]
}

# Functions are bound when they are first called: a library without one would end the
# process there, so each has to have been looked for before.
@test "every function of a vendor's that is called was looked for before" {
    local plugin names
    for plugin in nccl cudnn; do
        [[ -e $O/lib/windsock/$plugin.so ]] || continue
        names=$(cat "$ROOT"/bench/plugin/{cuda/driver,nccl/vendor,nccl/newer,nccl/graph}.c "$ROOT"/plugins/cudnn/libraries.c)
        nm -D --undefined-only "$O/lib/windsock/$plugin.so" | awk '$2 ~ /^(cu|cuda|cudnn|cublas|nccl)[A-Z]/ { print $2 }' >used
        [ "$(wc -l <used)" -gt 30 ]
        while read -r name; do
            [[ $names == *"\"$name\""* ]] || { echo "$plugin.so calls $name unseen"; false; }
        done <used
    done
}

# Their types of 16 and 8 bits were nvcc's alone, and calls that came later are not declared.
@test "headers of NCCL 2.16 will do" {
    local cuda
    cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")/include
    [[ -e $cuda/nccl.h && -e $cuda/cuda.h ]] || skip "no headers of NCCL and CUDA in $cuda"
    sed -E 's/^(#define NCCL_MINOR) .*/\1 16/; s/^(#define NCCL_VERSION_CODE) .*/\1 21605/
        /^ *nccl(Bfloat16|Float8e)/d; s/ncclNumTypes += 12/ncclNumTypes = 9/' "$cuda/nccl.h" >nccl.h
    run -1 grep -wE 'ncclBfloat16|ncclFloat8e4m3' nccl.h
    (cd "$ROOT" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -isystem "$OLDPWD" -isystem "$cuda" \
        -fsyntax-only bench/plugin/nccl/{calls,newer,float8,vendor}.c)
}

@test "the vendors' own libraries have what is looked for" {
    local home name lists
    home=$(dirname "$(dirname "$(realpath "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
    [[ -e $home/lib64/libnccl.so.2 && -e $home/lib64/libcudnn.so.9 ]] || skip "NVIDIA's libraries are not here"
    for name in libnccl.so.2 libcudnn.so.9 libcublas.so.13 stubs/libcuda.so; do
        [[ ! -e $home/lib64/$name ]] || nm -D --defined-only "$home/lib64/$name"
    done | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >theirs
    lists=$(cd "$ROOT" && grep -hoE '"(cu|nccl|cudnn|cublas)[A-Z][A-Za-z0-9_]*"' bench/plugin/{cuda/driver,nccl/{vendor,newer,graph}}.c \
        plugins/cudnn/libraries.c plugins/burst/driver.{c,h} | tr -d '"' | sort -u)
    [ "$(wc -w <<<"$lists")" -gt 80 ]
    for name in $lists; do
        grep -qx "$name" theirs || { echo "$name is in none of them"; false; }
    done
}

# What NCCL says of its end is looked up, as ncclwhy would; where that is not sure NCCL's words are all.
@test "a failure that NCCL itself names comes with what it means and what to do; another one with ncclwhy" {
    local says id fix
    export WINDSOCK_FAKE_NCCL=says
    while IFS='|' read -r says id fix; do
        WINDSOCK_FAKE_SAYS=$says run -1 --separate-stderr bench --json
        jq -e --arg q "$says" --arg i "($id)" --arg f "$fix" '[.findings[] | select(.check == "nccl.init")] | length == 1 and
            (.[0].message | contains("NCCL says: unhandled system error") and contains($q) and contains("; that is, ") and endswith($i)) and
            any(.[0].fix[]; contains($f)) and all(.[0].fix[]; contains("| ncclwhy") | not)' <<<"$output" || { echo "$says: $output"; return 1; }
    done <<'EOF'
Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes, error: No space left on device (28)|SHM-002|--shm-size
Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory|LIM-001|memlock
Bootstrap : no socket interface found|IF-001|ifprobe --suggest
Call to connect to 10.0.0.3<51234> failed : Connection timed out|CON-004|all TCP
EOF
    for says in "Call to recv from 10.0.0.3<40000> failed : Connection reset by peer" "something that nobody has seen before"; do
        WINDSOCK_FAKE_SAYS=$says run -1 --separate-stderr bench --json
        jq -e '[.findings[] | select(.check == "nccl.init")] | length == 1 and (.[0].message | contains("that is,") | not) and
            (.[0].fix | length == 1 and (.[0] | contains("| ncclwhy")))' <<<"$output" || { echo "$says: $output"; return 1; }
    done
    WINDSOCK_FAKE_SAYS="Bootstrap : no socket interface found" run -1 bench
    [[ $output == *"# FAIL nccl.init: "*"; that is, NCCL found no network interface to use"*"(IF-001)"*'-> eval "$(ifprobe --suggest)"'* ]]
}
