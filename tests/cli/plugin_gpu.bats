#!/usr/bin/env bats
# scripts/gpu-check as far as it goes without a GPU: it says so, and its steps
# work on the stand-ins of the driver and NCCL.
# shellcheck disable=SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
}

teardown() { local p; for p in ${standin:-} ${checks:-}; do kill "$p" 2>/dev/null || true; done; }

# Programs in place of ours: what they print, and how they end.
stub() { mkdir -p stubs && printf '#!/bin/bash\n%s\n' "$2" >"stubs/$1" && chmod +x "stubs/$1"; }
# One of ours, where that is to be seen; whatever else it is asked passes at once.
only() { # PROGRAM OPTIONS
    stub "$1" "[[ \"\$*\" != *'$2'* ]] || exec '$(dirname "$B")/$1' \"\$@\"; echo '{\"verdict\": \"pass\"}'"
}
check() { "$ROOT/scripts/gpu-check" --bin "$(dirname "$B")" "$@"; }
# What runs with MARK of this test.
marked() { grep -slzxF "MARK=$PWD" /proc/[0-9]*/environ; }
asking() { local f; for f in $(marked); do ! grep -qsx ncclwhy "${f%environ}comm" || return 0; done; return 1; }
gone() { [[ -z $(marked) ]]; }
in_time() { for _ in {1..600}; do ! "$@" || return 0; sleep 0.1; done; return 1; }

@test "gpu-check: no GPU is exit 4 and one JSON document that says why" {
    built nccl
    [[ ! -e /dev/nvidiactl ]] || skip "there is a driver"
    run -4 --separate-stderr check --output result.json
    jq -e '.verdict == "absent" and all(.steps[]; .verdict == "skip") and
        any(.steps[]; .message | contains("no NVIDIA driver here"))' result.json
    jq -e --arg kernel "$(uname -r)" '.machine | .kernel == $kernel and (.glibc | test("^2[.]")) and
        (.processors | test("^[0-9]+ ")) and .windsock and (has("gpu") | not)' result.json
    run -2 check --nonsense
    run -2 check --parts all
    run -2 check --time soon
    [[ $output == *"'soon' is no number of seconds"* ]]
    run -4 check --time 090 --parts nccl --output - # seconds, no number to the base 8
    run -2 check --parts ,
    run -2 "$ROOT/scripts/gpu-check" --bin /nowhere # and not those of somewhere else
    run -2 check --output /nowhere/result.json
    [[ $output == *"/nowhere/result.json cannot be written"* && -z $(find . -name 'tmp.*') ]]
    run -2 check --logs /proc/nowhere
    [[ $output == *"--logs: /proc/nowhere cannot be written"* ]]
}

@test "gpu-check: NCCL is found in the packages of the Python that was named, whatever that is" {
    fake
    mkdir -p driver torch/lib/python3.12/site-packages/nvidia/nccl/lib
    cp "$O/fake/libcuda.so.1" driver
    : >driver/libnccl.so.2 # the loader's path ends here
    cp "$O/fake/libnccl.so.2" torch/lib/python3.12/site-packages/nvidia/nccl/lib
    printf '#!/bin/sh\necho "%s"\n' "$PWD/torch" >python
    chmod +x python
    export VIRTUAL_ENV=$PWD # another one that is active
    only ncclbench '-b 8 -e 8'
    LD_LIBRARY_PATH=$PWD/driver run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --python "$PWD/python" --ranks '' --time 40 --output -
    jq -e --arg at "($PWD/torch/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2)" \
        '.steps[0] | .name == "GPU and NCCL" and .verdict == "pass" and (.detail | tojson | contains($at))' <<<"$output"
}

@test "gpu-check: NCCL on the stand-ins: every step passes" {
    fake
    run -0 --separate-stderr check --parts nccl --max 64K --ranks 2 --logs kept/here --output -
    jq -e '.verdict == "pass" and (.steps | length >= 21) and all(.steps[]; .verdict != "fail") and
        ([.steps[] | select(.verdict == "pass") | .name] | contains(["a stopped rank is named", "a stopped rank is named, where calls block", "one rank, small sizes, calls that block", "the iterations as a CUDA graph (-G 3)"]))' <<<"$output"
    jq -e --arg file "$O/fake/libnccl.so.2" \
        '.machine | .nccl == "2.28.9" and .nccl_file == $file and .cuda == "13.0" and .gpu == "no GPU at all"' <<<"$output"
    # all that each step wrote, and of what another one wrote nothing
    grep -q 'FAIL rank.alive.*rank 1' kept/here/*-nccl-a-stopped-rank-is-named.ranks
    jq -e '.data.results | length > 0' kept/here/01-nccl-GPU-and-NCCL.out
    [[ -s kept/here/02-nccl-a-corrupted-buffer-is-noticed.out ]]
    [[ $(find kept/here -name '*.ranks' | wc -l) -eq 3 && ! -e kept/here/01-nccl-GPU-and-NCCL.err ]]
    # one rank carries nothing, whatever links the GPU has
    only ncclbench '--np 1 -b 8 -e 64M'
    WINDSOCK_FAKE_CUDA=hopper run -1 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --max 64M --ranks 1 --output -
    jq -e 'any(.steps[]; .name == "all_reduce, 1 ranks, 8 B to 64M" and .verdict == "pass")' <<<"$output"
}

@test "gpu-check: a CUDA graph that could not be made is no pass" {
    fake
    only ncclbench '-G 3'
    WINDSOCK_FAKE_CUDA=no-graph run -1 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks '' --time 60 --output -
    jq -e 'any(.steps[]; .name == "the iterations as a CUDA graph (-G 3)" and .verdict == "fail" and (.detail | tojson | contains("cuGraphInstantiateWithFlags: CUDA says: out of memory")))' <<<"$output"
}

@test "gpu-check: a part that hangs has its share of the time, and the next one is done" {
    stub ncclbench 'exec sleep 600'
    stub ddpsmoke 'echo "{}"'
    run -1 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl,training --models '' --time 16 --output some.json
    jq -e '(.steps[0] | .part == "nccl" and .verdict == "skip" and .message == "left out: no time was left" and .seconds < 12) and
        (.steps[1] | .part == "training" and .name == "GPU and cuDNN" and .verdict == "pass")' some.json
    [[ -z $(find . -name 'some.json.*' -o -name 'tmp.*') ]]
    [[ $("$ROOT/scripts/gpu-check" --help) == *"450 for each part"*"--parts training --logs logs --output training.json"* ]]
}

@test "gpu-check: a part has what it takes of the time, and what is lost is not begun where there is no time for it" {
    stub ncclbench 'echo "{}"'
    stub ddpsmoke 'exec sleep 600'
    # 200 of 400 seconds' worth are for training, and what those before it left
    run -0 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts live,training --time 26 --output some.json
    jq -e 'any(.steps[]; .name == "ncclwhy --live names what a stopped rank holds up" and .verdict == "skip" and .seconds < 2) and
        any(.steps[]; .name == "GPU and cuDNN" and .verdict == "skip" and .seconds > 18)' some.json
}

@test "gpu-check: what is here and does not start has failed, and why; whatever the locale" {
    stub ncclbench 'echo "ncclbench: the NVIDIA driver does not start: système pas prêt" >&2; exit 4'
    stub ddpsmoke 'echo "ddpsmoke: cuDNN (/opt/libcudnn.so.9) does not start: CUDNN_STATUS_NOT_INITIALIZED" >&2; exit 3'
    LC_ALL=C run -1 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl,training --output some.json
    jq -e '[.steps[] | select(.verdict == "fail") | .message | contains("does not start: ")] == [true, true]' some.json
    [[ $stderr == *"does not start: syst??me pas pr??t"* ]]
    run ! env LC_ALL=C grep -q '[^ -~]' <<<"$stderr"
}

@test "gpu-check: a rank that takes no signal is said at once" {
    stub ncclbench 'row="     1048576"
        [[ "$*" == *"-N 0"* ]] || { echo "{}"; exit; }
        echo "#  Rank  1 Group  0 Pid 99999999 on here"; echo "$row"; exec sleep 600'
    run -1 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks '' --output some.json
    jq -e '[.steps[] | select(.message | startswith("rank 1 takes no signal: ")) | .name] ==
        ["a killed rank is named", "a stopped rank is named", "a stopped rank is named, where calls block"] and all(.steps[]; .seconds < 30)' some.json
}

@test "gpu-check: a job that hangs is explained by NCCL's own service; a failing step is not hidden" {
    fake
    "$ROOT/tests/logs/ras-standin" behind port 3>&- &
    standin=$!
    in_time test -s port
    NCCL_RAS_ADDR=127.0.0.1:$(cat port) run -0 --separate-stderr check --parts live --output -
    jq -e 'any(.steps[]; .verdict == "pass" and (.message | contains("called AllGather 639 times")))' <<<"$output"
    NCCL_RAS_ADDR=127.0.0.1:1 run -1 --separate-stderr check --parts live --output -
    jq -e '.verdict == "fail" and any(.steps[]; .verdict == "fail" and (.message | contains("127.0.0.1:1")))' <<<"$output"
}

@test "gpu-check: ended from outside while a job hangs, nothing of it is left" {
    fake
    "$ROOT/tests/logs/ras-standin" silent port 3>&- &
    standin=$!
    in_time test -s port
    MARK=$PWD NCCL_RAS_ADDR=127.0.0.1:$(cat port) "$ROOT/scripts/gpu-check" --bin "$(dirname "$B")" \
        --parts live --output live.json >/dev/null 2>&1 3>&- &
    checks=$!
    in_time asking
    kill $checks
    wait $checks && false
    in_time gone
    jq -e '.verdict == "incomplete"' live.json
}

@test "gpu-check: what a machine's GPUs say and do, by windsock" {
    [[ -e $O/lib/windsock/burst.so ]] || skip "burst.so was not built: no CUDA toolkit, as on machines without a GPU"
    printf '%s\n' 'gpus 1' '* name NVIDIA H200' '0 pci 00000000:18:00.0' '* ecc 1' '* rows 0 0 0 0' >nvml
    export WINDSOCK_NVML=$O/fake/nvml/libnvidia-ml.so.1 WINDSOCK_FAKE_NVML=$PWD/nvml
    export WINDSOCK_CUBLAS=none LD_LIBRARY_PATH=$O/fake/burst
    WINDSOCK_FAKE_BURST='gpus=1' run -0 --separate-stderr check --parts gpu --output -
    jq -e '[.steps[] | .verdict] == ["pass", "pass"]' <<<"$output"
    WINDSOCK_FAKE_BURST='gpus=1 wrong=0' run -1 --separate-stderr check --parts gpu --output -
    jq -e '.steps[1] | .verdict == "fail" and (.detail | tojson | contains("gpu.result"))' <<<"$output"
}

@test "gpu-check: what is the machine's own, and no fault of what is checked, is no failure" {
    stub windsock 'echo "{\"findings\":[{\"check\":\"gpu.nvml\",\"status\":\"pass\"},$(cat said)}"; exit 3'
    said() { # STATUS SAID
        echo "$2" >said
        run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts gpu --output -
        jq -e --arg is "$1" '.steps[1] | .name == "windsock: gpu.burst" and .verdict == $is' <<<"$output" || { echo "$2: $output"; return 1; }
    }
    stub ncclbench 'echo "NCCL_NET=$NCCL_NET" >&2; echo "$*" >>asked; echo "{ \"verdict\": \"warn\" }"'
    said pass '{"check":"pcie.speed","status":"warn"}],"data":{"burst": [ {"how":"cuBLAS"}]}'
    said skip '{"check":"gpu.burst","status":"skip","message":"not measured: it is in use"}],"data":{}'
    said fail '{"check":"gpu.burst","status":"error"}],"data":{}'
    said fail '{"check":"gpu.result","status":"fail"}],"data":{"burst":[{"wrong":1}]}'
    said fail '{"check":"gpu.nvml","status":"pass"}],"data":{}'
    # cards of a network are not needed for ranks of one GPU, and may not work here
    run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks 1,4 --output -
    jq -e 'any(.steps[]; .name == "GPU and NCCL" and (.message | contains("NCCL_NET=Socket"))) and
        ([.steps[] | select(.name | startswith("all_reduce")) | .verdict] == ["pass", "pass", "pass", "pass"])' <<<"$output"
    # who shares a GPU has to wait for it at each message: nothing twice, and those of one rank first
    grep -qE -- '--np 4 .* -b 1M -e 1M -n 1 -w 0 ' asked
    ! sed -n '/--np 4/,$p' asked | grep -v -- '--np 4' || false
}

@test "gpu-check: who is to share a GPU sees one, and all of them are used once" {
    stub windsock 'echo "{\"data\": {\"host\": {\"gpus\": [{\"uuid\": \"GPU-0\"}, {\"uuid\": \"GPU-1\"}]}}}"'
    stub ncclbench 'echo "${CUDA_VISIBLE_DEVICES-all} $*" >>asked; echo "{ \"verdict\": \"pass\" }"'
    stub ddpsmoke 'echo "${CUDA_VISIBLE_DEVICES-all} $*" >>asked; echo "{\"equals_single_process\": true}"'
    run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl,training --ranks 2 --models mlp --output -
    [[ $(grep -c '^all .*--np 2' asked) -eq 3 && $(grep -c '^0 .*--np 2' asked) -gt 10 ]]
    ! grep -v '^all\|^0 ' asked || false
    jq -e '[.steps[] | select(.name | contains("all 2 GPUs")) | .verdict] == ["pass", "pass", "pass"]' <<<"$output"
    rm asked
    CUDA_VISIBLE_DEVICES=5,3,1 run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks 2 --output -
    [[ $(grep -c '^5,3,1 .*--np 3 ' asked) -eq 2 && $(grep -c '^5 ' asked) -gt 10 ]]
    ! grep -v '^5' asked || false
}

@test "gpu-check: a part of a GPU, and one that takes a single process, are not shared" {
    stub ncclbench 'echo "{\"device\": \"NVIDIA H100 80GB HBM3 MIG 1g.10gb\", \"verdict\": \"pass\" }"'
    run -0 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks 1,2 --output -
    jq -e '[.steps[] | select(.verdict == "skip" and .message == "a part of a GPU (MIG) is not shared by ranks")] | length == 19' <<<"$output"
    jq -e '[.steps[] | select(.verdict == "pass")] | length == 13' <<<"$output"
    stub ncclbench '[[ $* != *"--np 1 "* ]] || { echo "{\"verdict\": \"pass\"}"; exit; }; echo "sudo nvidia-smi -c DEFAULT" >&2; exit 4'
    run -0 --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts nccl --ranks 1 --output -
    jq -e '([.steps[] | select(.verdict == "skip" and (.message | contains("-c DEFAULT")))] | length == 9)' <<<"$output"
}

@test "gpu-check: where nothing comes up there is one failure, and it says why" {
    fake
    WINDSOCK_FAKE_NCCL=duplicate run -1 --separate-stderr check --parts nccl --output -
    jq -e '(.steps | length) == 1 and (.steps[0] | .name == "GPU and NCCL" and .verdict == "fail" and
        (.message | contains("nccl.gpu: ncclCommInitRank failed: ") and contains("nothing else of this part was tried")))' <<<"$output"
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr check --parts nccl --ranks '' --output - # something did
    jq -e '.steps[0].verdict == "pass" and any(.steps[]; .verdict == "fail" and (.message | contains("coll.data: ")))' <<<"$output"
}

@test "gpu-check: compute-sanitizer finds something, nothing, or cannot work here" {
    stub ncclbench 'echo "{}"'
    stub ddpsmoke 'echo "{}"'
    stub compute-sanitizer 'cat said; exit "$(cat code)"'
    are() { # VERDICT CODE SAID
        echo "$2" >code && echo "========= $3" >said
        PATH=$PWD/stubs:$PATH run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts sanitize --models mlp --output -
        jq -e --arg is "$1" '[.steps[1:][] | .verdict] == [$is, $is]' <<<"$output" || { echo "$3: $output"; return 1; }
    }
    are pass 0 "ERROR SUMMARY: 0 errors"
    are fail 77 "ERROR SUMMARY: 2 errors"
    # each process has a sum of its own, and the last one's exit code is what is left
    are fail 0 $'Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: 0 errors'
    are fail 124 "Invalid __global__ read of size 4 bytes"
    are fail 0 "COMPUTE-SANITIZER"
    are fail 1 "ERROR SUMMARY: 0 errors" # a program of ours did not do its work
    are skip 124 "COMPUTE-SANITIZER"      # it was ended: too slow is no finding
    are skip 255 "Error: Target application terminated before first instrumented API call"
    are skip 1 "Error: Sanitizer is unable to initialize its connection to the CUDA driver"
}

@test "gpu-check: losses are compared for as long as they are not chaotic, and as closely" {
    stub ncclbench 'exit 4'
    # by device and step; the third of resnet18 is what two runs on one CPU differ by, and more
    stub ddpsmoke 'echo "$*" >>asked; while (($#)); do case $1 in --device) on=$2 ;; --model) model=$2 ;; --steps) n=$2 ;; esac; shift; done
        echo "{\"steps\": [$(head -n "${n:-1}" "$model.$on" | sed "s/.*/{\"loss\": &},/" | tr -d "\n" | sed "s/,\$//")]}"'
    are() { # MODEL VERDICT CPU GPU
        tr ' ' '\n' <<<"$3" >"$1.cpu" && tr ' ' '\n' <<<"$4" >"$1.cuda"
        run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --parts training --models "$1" --output -
        jq -e --arg is "$2" --arg name "$1: the losses are the CPU's" 'any(.steps[]; .name == $name and .verdict == $is)' <<<"$output" ||
            { echo "$1 $4: $output"; return 1; }
    }
    are resnet18 pass "2.3485 2.5168 2.2323 2.5508 2.9570 2.8545 3.7725 1.9609" "2.3485 2.5168 2.2326 2.5453 2.9730 2.8180 3.6641 1.9704"
    are resnet18 fail "2.3485 2.5168 2.2323" "2.3485 2.2556 2.7207" # nothing was learned
    are cnn pass "2.3 2.2 2.1 2.0 1.9 1.8 1.7 1.6" "2.3 2.2 2.1 2.0 1.9 1.8 1.7 1.6001"
    are cnn fail "2.3 2.2 2.1 2.0 1.9 1.8 1.7 1.6" "2.3 2.2 2.1 2.0 1.9 1.8 1.7 1.61"
    are cnn fail "2.3 2.2" "2.3"
    grep -q -- '--np 2 --model cnn --backend tcp ' asked # once by NCCL, once by way of the host
    [[ $(grep -c -- '--np 2 --backend nccl --model cnn --json' asked) -eq $(grep -c -- '--np 2 --model cnn --backend tcp' asked) &&
        $(grep -c -- '--np 2 --model cnn --json' asked) -eq 0 ]]
}

@test "gpu-check: images/s beside PyTorch's: slower than by noise is slower" {
    stub ncclbench 'exit 4'
    # a run's 30 steps take as long as its line says, and the next run has the next line
    # shellcheck disable=SC2016 # expanded there
    stub ddpsmoke '[[ "$*" == *" 5120 "* ]] || { echo "{\"steps\": [{}]}"; exit; }
        s=$(head -n 1 ours) && sed -i 1d ours
        echo "{\"steps\": [$(for i in {1..29}; do printf "{\"seconds\": %s}," "$s"; done){\"seconds\": $s}]}"'
    # shellcheck disable=SC2016
    stub python '[[ $1 == */gpu-peer.py ]] || { echo /nowhere; exit; }
        echo "a warning"; head -n 1 theirs; sed -i 1d theirs'
    are() { # VERDICT SECONDS IMAGES/S
        for _ in 1 2 3 4; do tr ' ' '\n' <<<"$2"; done >ours
        for _ in 1 2 3 4; do tr ' ' '\n' <<<"$3"; done >theirs
        run --separate-stderr "$ROOT/scripts/gpu-check" --bin stubs --python "$PWD/stubs/python" --parts peers --models resnet18 --output -
        [[ $output ]]
        jq -e --arg is "$1" '[.steps[1:][] | .verdict] == [$is, $is, $is, $is]' <<<"$output" || { echo "$2 $3: $output"; return 1; }
    }
    are pass "0.100 0.101" "2500 2490"
    jq -e '.steps[1] | .detail == {images_per_s: 2560, pytorch_images_per_s: 2500, ratio: 1.024, noise: 0.02,
        runs: [2560, 2534.65], pytorch_runs: [2500, 2490]} and (.message | startswith("2560 images/s, PyTorch 2500: 1.024 of it"))' <<<"$output"
    are pass "0.100 0.100" "2590 2580" # 1 %: noise
    are fail "0.100 0.100" "2700 2690"
    are pass "0.100 0.104" "2650 2640" # where runs differ by so much
    are fail "0.100 0.150" "2750 2740" # and that has an end
    are fail "0.100 0.100" "out of memory"
}

@test "gpu-check: no time is said, and what is ended from outside leaves its result" {
    fake
    run --separate-stderr check --parts nccl --ranks 2 --max 64K --time 6 --output some.json
    ((status == 0 || status == 3)) # so slow a machine comes to nothing
    jq -e 'any(.steps[]; .verdict == "skip" and (.message | contains("no time was left")))' some.json
    "$ROOT/scripts/gpu-check" --bin "$(dirname "$B")" --parts nccl --ranks 2 --output other.json >/dev/null 2>&1 3>&- &
    in_time grep -qs '"verdict":"pass"' other.json
    kill $!
    wait $! && false
    jq -e '.verdict == "incomplete" and (.steps | length > 0)' other.json
}
