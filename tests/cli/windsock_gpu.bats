#!/usr/bin/env bats
# What windsock says about GPUs, their links, the kernel's log and the EFA stack, on
# composed machines, with stand-ins of NVIDIA's management library (it says what a file
# says) and of its driver (it only moves a clock). No GPU is needed, and nothing measured.
bats_require_minimum_version 1.5.0

setup() {
    O=${O:-build} BIN=$(realpath "${BIN:-${O:-build}/bin}")
    O=$(realpath "$O") ROOT=$(realpath "$BATS_TEST_DIRNAME/../..")
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" "${!FI_@}" "${!SLURM_@}" LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX
    mkdir own
    cp "$BIN/windsock" own/
    for name in ifprobe portcheck; do
        printf '#!/bin/sh\necho '\''{"windsock":"0.1.0","schema":1,"command":"%s","host":"%s","time":"2026-11-20T11:00:00Z","seconds":0,"verdict":"pass","findings":[{"check":"%s.test","status":"pass","message":"fine"}],"series":[],"data":{},"nodes":[]}'\''\n' \
            "$name" "$(uname -n)" "$name" >"own/$name"
        chmod +x "own/$name"
    done
}

machine() { # NAME: a composed machine
    "$ROOT/tests/sysroot/compose" "$1" tree
}

# Eight healthy GPUs, then what each test adds: the last line that fits wins.
says() { # LINE...
    local pci=(18 2A 3A 5D 9A AB BA DB) i
    {
        printf '%s\n' 'driver 550.54.15' 'cuda 12040' 'gpus 8' '* name NVIDIA H100 80GB HBM3' \
            '* memory 85520809984 600000000' '* persistence 1' '* mode 0' '* ecc 1' '* ecc.uncorrected 0' \
            '* rows 0 0 0 0' '* reasons 1' '* clock.max 1980' '* limit 700000' '* limit.default 700000' \
            '* temperature 31' '* temperature.slow 87' '* mig 0 0' '* links 111111111111111111' '* remote 2' \
            '* fabric 3 0 00000000000000000000000000000000 0 aa'
        for i in "${!pci[@]}"; do echo "$i pci 00000000:${pci[i]}:00.0"; done
        printf '%s\n' "$@"
    } >nvml
    export WINDSOCK_NVML=$O/fake/nvml/libnvidia-ml.so.1 WINDSOCK_FAKE_NVML=$PWD/nvml
}

look() { # EXIT OPTION...: into $output
    run "-$1" --separate-stderr own/windsock --quick --sysroot tree --json "${@:2}"
    valid
}

state() { # CHECK [SUBJECT]: its states
    jq -r --arg c "$1" --arg s "${2-}" \
        '.findings[] | select(.check == $c and ((.subject // "") | contains($s))) | .status' <<<"$output" | sort -u | paste -sd,
}

said() { # CHECK: its messages
    jq -r --arg c "$1" '.findings[] | select(.check == $c) | .message' <<<"$output"
}

@test "healthy GPUs: every check passes, and data.host says what they are" {
    machine hgx-h100
    says
    look 0
    for check in gpu.nvml gpu.count gpu.busy gpu.persistence gpu.mode gpu.mig gpu.ecc gpu.rows gpu.throttle \
        gpu.temperature gpu.power gpu.clocks nvlink.link nvlink.fabric; do
        [ "$(state "$check")" = pass ] || { echo "$check: $(state "$check") $(said "$check")"; false; }
    done
    [ "$(jq -r '.data.host.gpus | length' <<<"$output")" = 8 ]
    [ "$(jq -r '.data.host.gpus[3] | "\(.pci) \(.nvlinks_up) \(.fabric.state) \(.memory_bytes)"' <<<"$output")" = \
        '0000:5d:00.0 18 completed 85520809984' ]
    [ "$(jq -r '.data.host.facts | "\(.cuda) \(.nvlinks) \(.ecc)"' <<<"$output")" = '12.4 144 on' ]
}

@test "each sick GPU is named, with the command that helps" {
    machine hgx-h100
    says '3 ecc.uncorrected 2' '1 links 111111111111111011' '4 reasons 0x88' '0 mode 2' '2 rows 0 3 1 0' \
        '5 fabric 1 0 00000000000000000000000000000000 0 aa' '7 limit 500000'
    look 1
    [ "$(state gpu.ecc 'GPU 3 (0000:5d:00.0)')" = fail ]
    [ "$(state nvlink.link 'GPU 1 ')" = fail ]
    [ "$(state gpu.throttle 'GPU 4 ')" = fail ]
    [ "$(state gpu.mode 'GPU 0 ')" = fail ]
    [ "$(state gpu.rows 'GPU 2 ')" = warn ]
    [ "$(state nvlink.fabric 'GPU 5 ')" = fail ]
    [ "$(state gpu.power 'GPU 7 ')" = warn ]
    jq -e '[.findings[] | select(.status == "fail") | has("expected") and (.fix | length > 0)] | all' <<<"$output"
    run -1 --separate-stderr own/windsock --quick --sysroot tree
    [[ $output == *"What to do, the first cause first"*"GPU 0 (0000:18:00.0) lets no process compute"*"-> sudo nvidia-smi -i 0 -c DEFAULT"* ]]
}

@test "a library that hangs, crashes or refuses is a finding, and the run goes on" {
    machine hgx-h100
    says 'hang 2'
    look 1 --deadline 3s
    [[ $(said gpu.nvml) == 'gave no answer about GPU 2 for 3'* ]]
    [ "$(state portcheck.test)" = pass ]
    says 'crash init'
    look 1
    [[ $(said gpu.nvml) == 'crashed at its start' ]]
    says 'init 18'
    look 1
    [[ $(said gpu.nvml) == 'is of another version than the driver'* ]]
    WINDSOCK_NVML=/nonexistent look 0
    [ "$(state gpu.nvml)" = '' ]
    [ "$(state gpu.driver)" = pass ]
}

@test "GPUs that nothing drives: a warning; exit 4 where the host alone was asked about, as a prolog does" {
    machine hgx-h100
    says 'init 9'
    look 0
    look 0 --here --asked # who compares hosts decides
    look 4 --here
    [ "$(state gpu.nvml),$(jq -r .data.absent <<<"$output")" = warn,true ]
    unset WINDSOCK_NVML
    rm tree/sys/bus/pci/devices/*/driver
    look 0
    [ "$(state gpu.driver)" = warn ]
    look 4 --here
    [ "$(state gpu.driver)" = warn ]
    [[ $stderr == *'8 NVIDIA GPUs have no driver'* ]]
    touch tree/.dockerenv # who was given none there needs none
    look 0 --here
}

@test "no GPU is information, and exit 4 where Slurm gave the job some of this host" {
    machine laptop
    look 0 --here
    [ "$(state gpu.driver)" = info ]
    SLURM_JOB_GPUS=0,1 look 4 --here
    [ "$(state gpu.driver)" = warn ]
    [[ $stderr == *'Slurm gave the job GPUs 0,1'* ]]
    SLURM_JOB_GPUS=0,1 look 0
}

@test "the kernel's log: an Xid is explained, an old one is no failure, a clean log passes" {
    machine hgx-h100
    says
    look 0
    [ "$(state xid.log)" = skip ]
    mkdir -p tree/dev
    echo '100000.0 1.0' >tree/proc/uptime
    echo '6,1,1000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15' >tree/dev/kmsg
    look 0
    [ "$(state xid.log)" = pass ]
    echo '4,2,99990000000,-;NVRM: Xid (PCI:0000:5d:00): 79, pid=1, name=python, GPU has fallen off the bus.' >>tree/dev/kmsg
    look 1
    [ "$(state xid.gpu 'GPU 3 ')" = fail ]
    [[ $(said xid.gpu) == 'reported Xid 79, 10 s ago: it fell off the PCIe bus' ]]
    [ "$(jq -r '.data.host.kernel_log[0] | "\(.code) \(.cause)"' <<<"$output")" = '79 GPU-011' ]
    sed -i 's/;NVRM: Xid.*/;NVRM: Xid (PCI:0000:5d:00): 31, pid=1, name=python, MMU Fault/' tree/dev/kmsg
    look 0
    [ "$(state xid.program)" = info ]
}

@test "PCIe: a link that lost lanes, and peer memory that is not there" {
    machine hgx-h100
    says
    look 0
    [ "$(state pcie.width)" = '' ] # nothing is known
    for d in tree/sys/bus/pci/devices/*; do
        if [[ $(cat "$d/vendor" 2>/dev/null) == 0x10de ]]; then
            echo 16 | tee "$d/current_link_width" >"$d/max_link_width"
        fi
    done
    look 0
    [ "$(state pcie.width)" = pass ]
    echo 4 >tree/sys/bus/pci/devices/0000:9a:00.0/current_link_width
    look 1
    [ "$(state pcie.width 'GPU 4 (0000:9a:00.0)')" = fail ]
    [[ $(said pcie.width) == 'runs on 4 of 16 PCIe lanes'* ]]
    [ "$(state pcie.acs)" = skip ]
    mkdir -p tree/proc/driver/nvidia
    echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550' >tree/proc/driver/nvidia/version
    look 1
    [ "$(state pcie.peermem)" = warn ]
    mkdir -p tree/sys/module/nvidia_peermem
    look 1
    [ "$(state pcie.peermem)" = pass ]
}

@test "EFA: adapters of the instance type, the plug-in where PyTorch looks, settings" {
    machine aws-p4d
    echo p4d.24xlarge >tree/sys/class/dmi/id/product_name
    mkdir -p tree/dev/infiniband tree/opt/amazon/{efa/lib/pkgconfig,ofi-nccl/lib} tree/etc/ld.so.conf.d
    touch tree/dev/infiniband/uverbs{0..3} tree/opt/amazon/efa/lib/libfabric.so.1
    echo 'Version: 1.22.0amzn1.0' >tree/opt/amazon/efa/lib/pkgconfig/libfabric.pc
    echo 'NET/OFI Initializing aws-ofi-nccl 1.13.2-aws' >tree/opt/amazon/ofi-nccl/lib/libnccl-net.so
    printf '/opt/amazon/efa/lib\n/opt/amazon/ofi-nccl/lib\n' >tree/etc/ld.so.conf.d/efa.conf
    look 0
    [ "$(state efa.adapters),$(state efa.plugin),$(state efa.libfabric),$(state efa.pair),$(state efa.setting)" = pass,pass,pass,pass,pass ]
    [ "$(jq -r '.data.host.efa | "\(.adapters) \(.adapters_of_type) \(.plugin_version)"' <<<"$output")" = '4 4 1.13.2-aws' ]
    FI_PROVIDER=tcp look 0
    [ "$(state efa.setting FI_PROVIDER=tcp)" = warn ]
    FI_PROVIDER=tcp look 0 --here # a job here may bring its own: its container, its environment
    [ "$(state efa.setting FI_PROVIDER=tcp)" = warn ]
    FI_PROVIDER=tcp look 1 --here --asked # for a run of several hosts
    [ "$(state efa.setting FI_PROVIDER=tcp)" = fail ]
    : >tree/etc/ld.so.conf.d/efa.conf
    look 0
    [ "$(state efa.plugin)" = warn ]
    jq -e '.findings[] | select(.check == "efa.plugin") | .fix[0] | startswith("export LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib$")' <<<"$output"
    echo p5.48xlarge >tree/sys/class/dmi/id/product_name
    look 0
    [[ $(said efa.adapters) == '4 of the 32 that p5.48xlarge can have'* ]]
}

@test "limits: a control group's share of the processors" {
    machine laptop
    mkdir -p tree/proc/self tree/sys/fs/cgroup/job/step
    echo 0::/job/step >tree/proc/self/cgroup
    echo 'max 100000' >tree/sys/fs/cgroup/job/step/cpu.max
    look 0
    [[ $(said limits.cpus) != *'control group'* ]]
    echo '50000 100000' >tree/sys/fs/cgroup/job/cpu.max # the tightest of those around it
    look 0
    [[ $(said limits.cpus) == 'a control group allows the time of 0.5 of '* ]]
    echo '3:cpu,cpuacct:/job' >tree/proc/self/cgroup
    mkdir -p tree/sys/fs/cgroup/cpu,cpuacct/job
    echo 25000 >tree/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us
    echo 100000 >tree/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us
    look 0
    [[ $(said limits.cpus) == 'a control group allows the time of 0.25 of '* ]]
}

burst() { # WORDS EXIT [DEADLINE]: a burst on stand-ins
    [[ -e $O/lib/windsock/burst.so ]] || skip "burst.so was not built: no CUDA toolkit, as on machines without a GPU"
    export WINDSOCK_PLUGINS=$O/lib/windsock WINDSOCK_CUBLAS=${CUBLAS:-none}
    WINDSOCK_FAKE_BURST="gpus=4 $1" LD_LIBRARY_PATH=$O/fake/burst look "$2" --burst --deadline "${3:-60s}"
}

@test "burst: alike GPUs pass, with what was measured; without --burst nothing runs" {
    local at
    machine hgx-h100
    says
    look 0
    [ "$(state gpu.burst)" = '' ]
    burst '' 0
    [ "$(state gpu.burst)" = pass ]
    [[ $(said gpu.burst) == 'compute right: 50 TFLOP/s (fp32), memory 1000 GB/s, PCIe 25 GB/s, all alike' ]]
    [ "$(jq '.data.host.burst | length' <<<"$output")" = 4 ]
    [ "$(jq -r '.data.host.burst[2] | "\(.wrong) \(.pci)"' <<<"$output")" = '0 0000:3a:00.0' ]
    CUBLAS=$O/fake/burst/libcuda.so.1 burst '' 0
    [[ $(said gpu.burst) == 'compute right: 700 TFLOP/s (cuBLAS bf16)'* ]]
    for at in old late; do # its driver does not know the code, says so at once or later, and reads the text
        burst "$at=2" 0
        jq -e '.data.host.burst[2].matmul_tflops | . > 49 and . < 51' <<<"$output"
    done
}

@test "burst: who is slow, computes wrong, fails, crashes or hangs is named; the others are measured" {
    machine hgx-h100
    says '1 processes 4000000:5000'
    burst 'slow=3 wrong=2' 1
    [ "$(state gpu.matmul 'GPU 3 ')" = fail ]
    [[ $(said gpu.matmul) == 'multiplies matrices at 25 TFLOP/s, 50 % of the 50 of the others' ]]
    [ "$(state gpu.result 'GPU 2 ')" = fail ]
    [ "$(state gpu.burst 'GPU 1 ')" = skip ] # somebody works there
    [ "$(jq -c '[.data.host.burst[].index]' <<<"$output")" = '[0,2,3]' ]
    says
    burst 'pci=1 lost=2' 1
    [ "$(state gpu.copy_in 'GPU 1 '),$(state gpu.copy_out 'GPU 1 ')" = fail,fail ]
    [[ $(said gpu.burst) == *'failed at its work: retain: some error (999)'* ]]
    # in a slot of 8 lanes, as boards for workstations have: that is said once
    for d in tree/sys/bus/pci/devices/*; do echo 16 | tee "$d/current_link_width" >"$d/max_link_width"; done
    mkdir tree/sys/bus/pci/devices/0000:29:00.0
    echo 8 | tee tree/sys/bus/pci/devices/{0000:2a:00.0/current_link_width,0000:29:00.0/max_link_width}
    burst 'pci=1' 0
    [ "$(state pcie.width 'GPU 1 '),$(state gpu.copy_in),$(state gpu.copy_out)" = warn,, ]
    [[ $(said gpu.burst) == *'PCIe 25 GB/s, each like others of its kind and link' ]]
    burst 'hang=1 crash=2' 1 10s
    [[ $(said gpu.burst) == *'did not finish its work'*'ended the process that used it'* ]]
    [ "$(jq -c '[.data.host.burst[] | select(.error == null) | .index]' <<<"$output")" = '[0,3]' ]
}

@test "burst: elements at a wrong place, or of before, and what copies lose, are seen" {
    machine hgx-h100
    says
    burst 'swap=0 stale=1 damage=2' 1
    [[ $(state gpu.result 'GPU 0 '),$(state gpu.result 'GPU 1 '),$(state gpu.result 'GPU 2 '),$(state gpu.result 'GPU 3 ') == fail,fail,fail, ]]
    [[ $(jq -c '[.data.host.burst[] | [.wrong, .copied_wrong]]' <<<"$output") =~ ^'[['[0-9]+,'0],[1,0],[0,1],[0,0]]'$ ]]
    [[ $(said gpu.result) == *'copies wrong: 1 words '* ]]
}

@test "burst: memory of the host is that beside the GPU; who does not know a GPU is left out" {
    machine hgx-h100
    says
    burst 'near=2' 1
    taskset -pc $$ | sed 's/.*: //; s/[-,].*//' >tree/sys/bus/pci/devices/0000:3a:00.0/local_cpulist
    burst 'near=2' 0
    [[ $(jq -r '[.data.host.burst[].how] | join(" ")' <<<"$output") == 'fp32 fp32 fp32 fp32' ]]
    CUBLAS=$O/fake/burst/libcuda.so.1 burst 'blas=1' 0
    [[ $(jq -r '[.data.host.burst[].how] | join(" ")' <<<"$output") == 'cuBLAS bf16 fp32 cuBLAS bf16 cuBLAS bf16' ]]
    # nor does it wait for ever to be looked at, nor for memory that files fill and make room in
    says 'hang load'
    burst 'gpus=1 full=0 integrated=1' 0
    [[ $(jq -c '.data.host.burst[0] | has("sm_mhz"), .wrong' <<<"$output" | paste -sd,) == false,0 ]]
}

@test "burst: CUDA that does not start is a failure; that it takes its time is none" {
    machine hgx-h100
    says
    burst 'start=5' 0 3s
    [ "$(state gpu.burst)" = pass ]
    burst 'start=0' 1
    [[ $(state gpu.burst) == fail && $(said gpu.burst) == 'CUDA does not start: it ended the process that asked it' ]]
    burst 'init=803' 1
    jq -e '.findings[] | select(.check == "gpu.burst") | .fix[0] | contains("fake/burst/libcuda.so.1 is of another version")' <<<"$output"
}

@test "burst: a GPU on which CUDA works is not failed for what NVML says of its fabric" {
    machine hgx-h100
    says '1 fabric 2 0 00000000000000000000000000000000 0 aa' '2 fabric 1 0 00000000000000000000000000000000 0 aa'
    look 1
    [ "$(state nvlink.fabric 'GPU 1 '),$(state nvlink.fabric 'GPU 2 ')" = fail,fail ]
    burst '' 0
    [ "$(state nvlink.fabric 'GPU 1 '),$(state nvlink.fabric 'GPU 2 ')" = warn,warn ]
    [[ $(said nvlink.fabric) == *'as NVML has it, but CUDA works on it: not all of its NVLinks may be of use'* ]]
    burst 'lost=2' 1 # it failed at its work: NVML may be right
    [ "$(state nvlink.fabric 'GPU 1 '),$(state nvlink.fabric 'GPU 2 ')" = warn,fail ]
    # a start of CUDA says as much, where no time is for a burst
    export WINDSOCK_CUDA=$O/fake/burst/libcuda.so.1
    WINDSOCK_FAKE_BURST=gpus=4 look 0
    [ "$(state nvlink.fabric 'GPU 1 '),$(state nvlink.fabric 'GPU 2 ')" = warn,warn ]
    WINDSOCK_FAKE_BURST=init=802 look 1
    [ "$(state nvlink.fabric 'GPU 1 '),$(state nvlink.fabric 'GPU 2 ')" = fail,fail ]
    [[ $(said nvlink.fabric) == *'is still registering with the NVLink fabric: until it is, CUDA fails with error 802'* ]]
    # alone, as one that was lent out of a board, it needs none
    says 'gpus 1' '0 fabric 2 0 00000000000000000000000000000000 0 aa'
    WINDSOCK_FAKE_BURST=gpus=1 look 1 # seven of that board are gone
    [ "$(state nvlink.fabric)" = info ]
    WINDSOCK_FAKE_BURST=init=802 look 1
    [ "$(state nvlink.fabric)" = fail ]
    unset WINDSOCK_CUDA
    burst 'gpus=1' 1
    [ "$(state nvlink.fabric)" = info ]
}

@test "burst: heat under load is seen; no budget, no plug-in or no CUDA is said" {
    machine hgx-h100
    says '3 reasons 0x40'
    burst '' 1
    [ "$(state gpu.load 'GPU 3 ')" = fail ]
    says
    WINDSOCK_FAKE_BURST=gpus=0 LD_LIBRARY_PATH=$O/fake/burst look 1 --burst
    [[ $(said gpu.burst) == 'cannot be used: CUDA does not start: no CUDA-capable device is detected (100)' ]]
    # Slurm always sets it: a GPU that fell off is not one that somebody hid
    CUDA_VISIBLE_DEVICES=0,1 WINDSOCK_FAKE_BURST=gpus=0 LD_LIBRARY_PATH=$O/fake/burst look 1 --burst
    [[ $(state gpu.burst) == fail && $(said gpu.burst) == *"shows none of CUDA_VISIBLE_DEVICES='0,1'"* ]]
    # whoever hides GPUs drains no node by it
    CUDA_VISIBLE_DEVICES=-1 WINDSOCK_FAKE_BURST=gpus=0 LD_LIBRARY_PATH=$O/fake/burst look 0 --burst
    [[ $(state gpu.burst) == skip && $(said gpu.burst) == "not measured: CUDA_VISIBLE_DEVICES='-1' hides them"* ]]
    look 0 --burst --budget 5s
    [[ $(said gpu.burst) == 'left out: '*'more than the budget has left' ]]
    WINDSOCK_PLUGINS=$PWD look 0 --burst
    [[ $(said gpu.burst) == 'not measured: '* ]]
}
