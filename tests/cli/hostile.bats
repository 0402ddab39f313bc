#!/usr/bin/env bats
# What other hosts, logs and the environment say, where a person pastes it or a shell reads it.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

# An rsh that reaches nobody: every host answers with $1 as data.suggest.
answers() {
    cat >doc <<EOF
{"windsock": "0.1.0", "schema": 1, "command": "ifprobe", "host": "$2", "time": "2026-11-20T11:00:00Z",
 "seconds": 0, "verdict": "pass", "findings": [], "series": [], "data": {"suggest": $1}, "nodes": []}
EOF
    jq -e . doc >/dev/null
    printf '#!/bin/sh\ncat %q\n' "$PWD/doc" >rsh
    chmod +x rsh
}

EVIL='{"interface": "eth0", "address": "10.0.0.2", "why": "x\n touch pwned", "mtu": 1500, "candidates": [],
  "env": {"NCCL_SOCKET_IFNAME": "=eth0", "X; touch pwned; Y": "1", "NCCL_NET_PLUGIN": "/tmp/evil.so",
          "LD_PRELOAD": "/tmp/evil.so", "PROMPT_COMMAND": "touch pwned",
          "GLOO_SOCKET_IFNAME": "eth0\ntouch pwned", "UCX_NET_DEVICES": "$(touch${IFS}pwned)"}}'

@test "a host's answer sets only what we would set, and runs nothing in our shell" {
    local form
    answers "$EVIL" "n0'; touch pwned; '"
    run --separate-stderr ifprobe --suggest --hosts a,b --rsh ./rsh --deadline 1s
    ((status <= 1))
    [ "$output" = $'export NCCL_SOCKET_IFNAME=\'=eth0\'\nexport UCX_NET_DEVICES=\'$(touch${IFS}pwned)\'' ]
    (eval "$output"; [ "$NCCL_SOCKET_IFNAME" = =eth0 ]; [[ ! ${LD_PRELOAD-}${NCCL_NET_PLUGIN-}${PROMPT_COMMAND-} ]])
    [ ! -e pwned ]
    for form in env slurm nccl.conf docker systemd k8s; do
        run --separate-stderr ifprobe --suggest=$form --hosts a,b --rsh ./rsh --deadline 1s
        [[ $output != *evil* && $output != *PROMPT* && $output != *$'\ntouch'* ]] || { echo "$form: $output"; false; }
    done
}

@test "hosts that differ: what chooses by a host's name is quoted, too" {
    answers "$EVIL" "x) touch pwned;; *"
    sed 's/eth0/ens5/g; s/x) touch/y) touch/' doc >doc2
    printf '#!/bin/sh\n[ "$1" = a ] && cat %q || cat %q\n' "$PWD/doc" "$PWD/doc2" >rsh
    run --separate-stderr ifprobe --suggest --hosts a,b --rsh ./rsh --deadline 1s
    [ -n "$output" ]
    (eval "$output")
    [ ! -e pwned ]
}

@test "--name-only is a name, whatever a host says" {
    answers '{"interface": "eth0\n$(touch pwned)", "address": "10.0.0.2", "env": {"NCCL_SOCKET_IFNAME": "=eth0"}, "candidates": []}' n0
    run --separate-stderr ifprobe --name-only --hosts a,b --rsh ./rsh --deadline 1s
    [ -z "$output" ]
}

@test "what is set badly is quoted in the line that mends it" {
    run --separate-stderr env OMPI_MCA_btl_tcp_if_exclude='x;touch pwned' ifprobe \
        --sysroot "$BATS_FILE_TMPDIR/laptop" --check --json
    run -0 jq -r '.findings[] | select(.check == "lint.ompi.if_exclude") | .fix[]' <<<"$output"
    [ "$output" = "export OMPI_MCA_btl_tcp_if_exclude='127.0.0.0/8,x;touch pwned'" ]
}

@test "no log writes a command of ncclwhy's" {
    printf '%s\n' '$(touch${IFS}pwned): NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.' \
        'n0;reboot:1:2 [0] misc/socket.cc:1 NCCL WARN socketStartConnect: Connect to fe80::1%`id`<40001> failed : No route to host' \
        'RuntimeError: MASTER_ADDR [$(touch pwned)] x' >log
    run --separate-stderr ncclwhy log --json
    [ "$(jq '.data.causes | length' <<<"$output")" -ge 1 ]
    run -0 jq -r '.data.causes[] | .fix[]?, .confirm[]?' <<<"$output"
    run ! grep -F -e 'touch' -e '`id`' -e ';reboot' <<<"$output"
}

@test "runs of which any text may be hostile make harmless pages" {
    python3 "$ROOT/tests/cli/windsock_runs.py" 4 >four.json
    "$BIN/ncclbench" --np 3 --pairs --json >pairs.json
    "$BIN/ddpsmoke" --steps 5 --model mlp --expect 0 --json >train.json
    run -0 python3 "$ROOT/tests/cli/hostile_pages.py" "$BIN/windsock" 45 four.json pairs.json train.json
    [ "$output" = "45 pages" ]
}
