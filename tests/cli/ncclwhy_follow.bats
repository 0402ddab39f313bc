#!/usr/bin/env bats
# ncclwhy --follow: a log that never pauses, one that is cut, and what cannot be followed.
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    standin=
    writer=
}

teardown() {
    for one in $writer $standin; do
        kill "$one" 2>/dev/null || true
        wait "$one" 2>/dev/null || true
    done
}

taken() { # PORT: what torch says of it
    echo "[rank0]: torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: $1, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
}

@test "a log that never pauses is told of while it grows, and once" {
    taken 29500 >grow
    while echo 'still here'; do sleep 0.1; done >>grow 3>&- &
    writer=$!
    "$why" --follow --stall 0 grow >out 2>err 3>&- &
    standin=$!
    wait_for 10 grep -q PT-001 err
    kill -0 "$writer" # it has not paused
    sleep 1.5
    (($(grep -c PT-001 err) == 1))
    echo 'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.' >>grow
    wait_for 10 grep -q GPU-011 err
}

@test "lines are those of the file as it is, after it was cut or replaced; earlier ones are said to be" {
    { seq 20; taken 29500; } >grow
    "$why" --follow --stall 0 --json grow >out 2>err 3>&- &
    standin=$!
    wait_for 10 grep -q 'PT-001.*line 21 of grow' err
    printf 'a\nNVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n' >grow
    wait_for 10 grep -q 'GPU-011.*line 2 of grow' err
    local code=0
    kill -INT "$standin"
    wait "$standin" || code=$?
    standin=
    ((code == 1))
    jq -e '[.data.causes[] | [.id, .line]] | contains([["GPU-011", 2], ["PT-001", 21]])' out
    jq -e '[.findings[] | select(.subject == "PT-001") | .message | contains("line 21 of grow, before it began anew")] | any' out
}

@test "what is read of no file is followed of none, and the advice follows" {
    cp "$why" binary
    run -3 --separate-stderr timeout 20 "$why" --follow binary
    [[ $stderr == *"binary is no text"* ]]
    run -3 --separate-stderr timeout 20 "$why" --follow /dev/zero
    [[ $stderr == *"/dev/zero is a device"* ]]
    local as=(env)
    ((EUID)) || as=(setpriv '--bounding-set=-dac_override,-dac_read_search')
    touch 'den 1.log'
    chmod 000 'den 1.log'
    run -3 --separate-stderr timeout 20 "${as[@]}" "$why" --follow 'den 1.log'
    [[ $stderr == *"-> sudo ncclwhy --follow 'den 1.log'"* ]]
}
