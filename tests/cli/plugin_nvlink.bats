#!/usr/bin/env bats
# Error counters of NVLinks around a run, from a stand-in of NVIDIA's management library:
# it says what a file says. No GPU is needed, and none is measured.
bats_require_minimum_version 1.5.0

setup() {
    O=$(realpath "${O:-build}")
    B=$(realpath "${BIN:-$O/bin}")/ncclbench
    export TMPDIR=$BATS_TEST_TMPDIR
    export WINDSOCK_NVML=$O/fake/nvml/libnvidia-ml.so.1 WINDSOCK_FAKE_NVML=$BATS_TEST_TMPDIR/nvml
    [[ -e $WINDSOCK_NVML ]] || skip "the stand-in was not built: make unit"
    cd "$BATS_TEST_TMPDIR" || return
}

@test "an NVLink whose errors grow during the run is named" {
    printf '%s\n' 'gpus 2' '* links 101' '* link.errors 5 0 2 0' >nvml
    "$B" --np 2 -b 1M -e 1M -n 200 -N 15 >out 2>&1 3>&- &
    for _ in {1..300}; do
        ! grep -qE '^ +1048576' out || break
        sleep 0.1
    done
    echo '1 link.errors 5 0 2 3' >>nvml
    wait $! && false
    grep -q 'FAIL nvlink.counter: crc_data of GPU 1 NVLink 0 grew by 3 during the run' out
    grep -q 'FAIL nvlink.counter: crc_data of GPU 1 NVLink 2 grew by 3' out
    [ "$(grep -c nvlink.counter out)" -lt 5 ]
}

@test "newer GPUs count by fields; of links whose driver tells nothing it is said" {
    printf '%s\n' 'gpus 2' '* name NVIDIA B200' '* links 11' '* field.211 0' '0 field.215 4' >nvml
    run -0 "$B" --np 2 -b 8 -e 8 -n 1
    [[ $output == *'PASS nvlink.counter: 6 error counters, none grew during the run'* ]]
    sed -i /field/d nvml
    run -0 "$B" --np 2 -b 8 -e 8 -n 1
    [[ $output == *'SKIP nvlink.counter: not compared: 4 are up, and the driver tells no errors of them'* && $output != *'PASS nvlink'* ]]
}

@test "a library that hangs costs seconds, and no result" {
    printf '%s\n' 'gpus 2' '* links 101' '* link.errors 5 0 2 0' 'hang 1' >nvml
    run -0 timeout 60 "$B" --np 2 -b 8 -e 8 -n 1
}

@test "counters that cannot be read again are not compared" {
    printf '%s\n' 'gpus 2' '* links 101' '* link.errors 5 0 2 0' >nvml
    "$B" --np 2 -b 1M -e 1M -n 200 -N 15 >out 2>&1 3>&- &
    for _ in {1..300}; do
        ! grep -qE '^ +1048576' out || break
        sleep 0.1
    done
    echo 'init 15' >>nvml
    wait $!
    grep -q 'SKIP nvlink.counter: not compared: of 16 error counters none could be read again' out
}
