#!/usr/bin/env bats
# torch's own variables: values that it stops at, old names, slips. What the real one
# does with the same values: tests/diff/diff-torchenv.
bats_require_minimum_version 1.5.0

says() { # CHECK WANTED [NAME=VALUE...]: "STATUS FIX" of that finding, or nothing
    local check=$1 wanted=$2
    shift 2
    run env "$@" "$BIN/ifprobe" --check --json
    run jq -r --arg c "$check" '.findings[] | select(.check == $c) | "\(.status) \(.fix[0])"' <<<"$output"
    [ "$output" = "$wanted" ] || { echo "$* $check: $output"; false; }
}

@test "a value that torch cannot read" {
    says lint.torch.value "fail unset TORCH_NCCL_BLOCKING_WAIT" TORCH_NCCL_BLOCKING_WAIT=on
    says lint.torch.value "" TORCH_NCCL_BLOCKING_WAIT=Yes
    says lint.torch.value "fail unset TORCH_NCCL_TRACE_BUFFER_SIZE" TORCH_NCCL_TRACE_BUFFER_SIZE=all
    says lint.torch.value "" TORCH_NCCL_TRACE_BUFFER_SIZE=2000
    says lint.torch.value "fail unset TORCH_DISTRIBUTED_DEBUG" TORCH_DISTRIBUTED_DEBUG=1
    says lint.torch.value "" TORCH_DISTRIBUTED_DEBUG=detail
    says lint.torch.value "warn unset GLOO_DEVICE_TRANSPORT" GLOO_DEVICE_TRANSPORT=tcp
    says lint.torch.value "warn unset TORCH_CPP_LOG_LEVEL" TORCH_CPP_LOG_LEVEL=debug
}

@test "a variable that the torch of here is too old to read is no failure" {
    local folder=$BATS_TEST_TMPDIR/lib/python3.13/site-packages
    mkdir -p "$folder"
    for version in 1.13.1 2.6.0+debian 2.7.1+cu126; do
        touch "$folder/torch-$version.egg-info"
        says lint.torch.value "warn unset TORCH_GLOO_LAZY_INIT" TORCH_GLOO_LAZY_INIT=on PYTHONPATH="$folder"
        says lint.torch.value "fail unset TORCH_DISTRIBUTED_DEBUG" TORCH_DISTRIBUTED_DEBUG=1 PYTHONPATH="$folder"
        rm "$folder/torch-$version.egg-info"
    done
    for version in 2.8.0 2.10.0+cu130 3.0; do
        mkdir "$folder/torch-$version.dist-info"
        says lint.torch.value "fail unset TORCH_GLOO_LAZY_INIT" TORCH_GLOO_LAZY_INIT=on PYTHONPATH="$folder"
        rmdir "$folder/torch-$version.dist-info"
    done
    says lint.torch.value "" TORCH_GLOO_LAZY_INIT=yes PYTHONPATH="$folder"
}

@test "names of before torch 2.2" {
    says lint.torch.renamed "info export TORCH_NCCL_ASYNC_ERROR_HANDLING=1" NCCL_ASYNC_ERROR_HANDLING=1
    says lint.torch.renamed "warn unset NCCL_BLOCKING_WAIT" NCCL_BLOCKING_WAIT=0 TORCH_NCCL_BLOCKING_WAIT=1
    says lint.torch.renamed "" TORCH_NCCL_BLOCKING_WAIT=1
}

@test "names that no torch reads" {
    says lint.torch.name "warn unset TORCH_NCCL_BLOKING_WAIT; export TORCH_NCCL_BLOCKING_WAIT=1" TORCH_NCCL_BLOKING_WAIT=1
    says lint.torch.name "warn unset NCCL_ENABLE_MONITORING; export TORCH_NCCL_ENABLE_MONITORING=0" NCCL_ENABLE_MONITORING=0
    says lint.torch.name "" TORCH_NCCL_SOMETHING_ELSE_OF_TOMORROW=1
    # no slips: another name that begins alike gets no value of theirs
    says lint.torch.name "" GLOO_SOCKET_FAMILY=AF_INET
    says lint.torch.name "" TORCH_NCCL_DEBUG=INFO
}

@test "a place where the flight recorder can make no file" {
    local here=$BATS_TEST_TMPDIR
    for name in TORCH_NCCL_DEBUG_INFO_TEMP_FILE TORCH_FR_DUMP_TEMP_FILE; do
        says lint.torch.file "" "$name=$here/trace_"
        says lint.torch.file "warn mkdir -p $here/none" "$name=$here/none/trace_"
    done
}
