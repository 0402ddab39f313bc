#!/usr/bin/env bats
# ifprobe's contract: every mode, what it says and where, exit codes, and what it
# does with bad input. No network and no root needed.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

@test "every mode's JSON holds against the schema on every machine, with its data" {
    for name in $MACHINES; do
        for mode in "" --suggest --predict --check; do
            on "$name" $mode --json >doc
            valid "$(<doc)"
            case $mode in
            "") jq -e '.data.interfaces[0].usable and .data.suggest.env.NCCL_SOCKET_IFNAME
                    and .data.predict.nccl.outcome' doc ;;
            --suggest) jq -e '.data.suggest | .interface and .address and .why
                    and (.proven == false) and .env.NCCL_SOCKET_IFNAME == "=" + .interface' doc ;;
            --predict) jq -e '.data.predict | .nccl.rule and .gloo.outcome' doc ;;
            --check) jq -e '.data.lint | type == "array"' doc ;;
            esac >/dev/null
        done
    done
}

@test "junit and prometheus hold against their schemas" {
    for mode in "" --suggest --predict --check; do
        on laptop $mode --format junit | "$ROOT/scripts/validate" junit -
        on laptop $mode --format prometheus | "$ROOT/scripts/validate" prometheus -
    done
}

@test "bare: a table of all there is, findings, a verdict that says what it covers" {
    run -0 --separate-stderr on dgx-roce
    [ -z "$stderr" ]
    [[ ${lines[0]} == interface*kind*state*mtu*speed*driver*numa*pci*addresses ]]
    [[ ${lines[1]} == enp17s0np0*physical*up*9000*"200 Gb/s"*mlx5_core*"192.168.40.3/24 private"* ]]
    [[ $output == *"rdma port"*"mlx5_0:1"*RoCE*ACTIVE*enp17s0np0* ]]
    [[ ${lines[-1]} == PASS*"warning"*"this host only; nothing between hosts was tested" ]]
    run -1 --separate-stderr on dgx-roce --strict
}

@test "bare: a machine with one NIC is calm" {
    machine calm "${NIC[@]}"
    run -0 --separate-stderr on calm
    [ -z "$stderr" ]
    [ "${lines[-1]}" = "PASS  3 checks: this host only; nothing between hosts was tested" ]
    run ! grep -E '^(warn|fail|info|  *->)' <<<"$output"
}

@test "bare: on a narrow terminal no line is too long, and no address is cut" {
    for width in 80 120; do
        for name in $MACHINES; do
            on "$name" --json | jq -r '.data.interfaces[].addresses[] | "\(.address | sub("%.*"; ""))/\(.prefix)"' >addresses
            COLUMNS=$width TERM=dumb script -qec "'$BIN/ifprobe' --sysroot '$BATS_FILE_TMPDIR/$name'" /dev/null </dev/null |
                tr -d '\r' | sed '/^$/,$d' >shown # the first table
            run ! grep -E ".{$((width + 1))}" shown
            [ -s addresses ]
            run -1 grep -vxFf <(grep -oE '[0-9a-f.:]+/[0-9]+' shown) addresses
        done
    done
    # the head of a finding whose words begin below it is no longer than it is
    COLUMNS=40 TERM=dumb script -qec "'$BIN/ifprobe' --sysroot '$BATS_FILE_TMPDIR/$name'" /dev/null </dev/null | tr -d '\r' >shown
    grep -E '^(pass|warn|info) +[a-z.]+ +[^ ]+$' shown
    run ! grep ' $' shown
}

@test "hosts: where nobody answers there is no table of them" {
    run -1 --separate-stderr ifprobe --hosts a,b --rsh false
    [[ $output == *"host.answer"*"false a echo works "*"; for a, the others alike"* ]]
    run ! grep -E '^(host|a|b) *$' <<<"$output"
}

@test "verbose says why each interface is where it is" {
    run -0 --separate-stderr on laptop --verbose
    [[ ${lines[0]} == *because* ]]
    [[ $output == *docker0*"no carrier"*container* ]]
}

@test "suggest: lines on stdout, the reason on stderr, and that it is not proven" {
    run -0 --separate-stderr on laptop --suggest
    [ "${lines[0]}" = "export NCCL_SOCKET_IFNAME='=wlp0s20f3'" ]
    [[ $stderr == *"chosen by rank, no peer tested: add --peer HOST"* ]]
    run -0 --separate-stderr on laptop --suggest --quiet
    [ "${lines[0]}" = "export NCCL_SOCKET_IFNAME='=wlp0s20f3'" ]
    [ -z "$stderr" ]
    run -0 --separate-stderr on laptop --name-only
    [ "$output" = wlp0s20f3 ]
    run -0 --separate-stderr on laptop --suggest --name-only --json
    [ "$(jq -r .data.suggest.interface <<<"$output")" = wlp0s20f3 ]
}

@test "suggest: RDMA ports that must be left out, and no UCX_NET_DEVICES beside RDMA" {
    run -0 --separate-stderr on dgx-roce --suggest
    [[ $output == *"export NCCL_IB_HCA='=mlx5_0:1,mlx5_2:1'"* ]]
    run ! grep '^export UCX_NET_DEVICES' <<<"$output"
    run ! grep '^export NCCL_IB_GID_INDEX' <<<"$output"
}

@test "suggest: every shell gets the right value, quoted or not" {
    for shell in bash dash zsh; do
        command -v "$shell" >/dev/null || continue
        for line in 'eval "$(ifprobe --sysroot "$0" --suggest --quiet)"' \
            'eval $(ifprobe --sysroot "$0" --suggest --quiet)'; do
            run -0 "$shell" -c "$line; echo \"\$NCCL_SOCKET_IFNAME,\$TP_SOCKET_IFNAME\"" \
                "$BATS_FILE_TMPDIR/laptop"
            [ "$output" = "=wlp0s20f3,wlp0s20f3" ]
        done
    done
}

@test "suggest: a name with a shell's signs in it is data everywhere" {
    machine wild "link 2 'a;\$(touch x)\`'" "addr 'a;\$(touch x)\`' 10.0.0.1/24" \
        "link 3 'q\"b%\\\\c' mtu=1400" "addr 'q\"b%\\\\c' 10.1.0.1/24"
    for shell in bash dash zsh; do
        command -v "$shell" >/dev/null || continue
        run -0 "$shell" -c 'eval "$(ifprobe --sysroot "$0" --suggest --quiet)"; echo "$NCCL_SOCKET_IFNAME"' \
            "$BATS_FILE_TMPDIR/wild"
        [ "$output" = '=a;$(touch x)`' ]
    done
    on wild --json >doc
    on wild --suggest=systemd --quiet | grep -F 'NCCL_SOCKET_IFNAME==a;$(touch x)`"'
    run ! test -e x
    valid "$(<doc)"
    run -0 bash -c 'jq -r ".findings[].fix[]?" doc | grep "^ip " | while read -r _ _ _ rest; do
        eval "set -- $rest"; done'
    run ! test -e x
}

@test "suggest: each form in its own syntax" {
    machine plain "${NIC[@]}" "link 3 docker0 kind=bridge" "addr docker0 172.17.0.1/16"
    run -0 --separate-stderr on plain --suggest=env
    [[ $output == $'NCCL_SOCKET_IFNAME==eth0\n'* ]]
    for form in docker slurm nccl.conf; do
        run -0 --separate-stderr on plain --suggest=$form
        [[ ${lines[0]#export } == NCCL_SOCKET_IFNAME==eth0 ]]
    done
    run -0 --separate-stderr on plain --suggest=csh
    [ "${lines[0]}" = "setenv NCCL_SOCKET_IFNAME '=eth0';" ] # csh joins them, and has no comments there
    [ "$(grep -cv "^setenv [A-Za-z_]* '.*';\$" <<<"$output")" = 0 ]
    run -0 --separate-stderr on plain --suggest=fish
    [ "${lines[0]}" = "set -gx NCCL_SOCKET_IFNAME '=eth0'" ]
    machine signs "link 2 \"a'b\\\\!\"" "addr \"a'b\\\\!\" 10.0.0.5/24"
    [ "$(on signs --suggest=csh --quiet | head -1)" = "setenv NCCL_SOCKET_IFNAME '=a'\\''b\\\\!';" ]
    [ "$(on signs --suggest=fish --quiet | head -1)" = "set -gx NCCL_SOCKET_IFNAME '=a\\'b\\\\!'" ]
    run -0 --separate-stderr on plain --suggest=systemd
    [ "${lines[0]},${lines[1]}" = '[Service],Environment="NCCL_SOCKET_IFNAME==eth0"' ]
    run -0 --separate-stderr on plain --suggest=k8s
    [[ $output == *"kind: ConfigMap"*"  NCCL_SOCKET_IFNAME: '=eth0'"* ]]
}

@test "predict: a row per stack, and what no peer could reach" {
    run -0 --separate-stderr on laptop --predict
    [[ $output == *NCCL*wlp0s20f3*Gloo*"Open MPI"*torchrun*UCX* ]]
    run -0 on laptop --predict --json
    [ "$(found predict.nccl)" = warn ]
    [ "$(jq -r '.data.predict.nccl | .outcome, .interface, (.interfaces | length)' <<<"$output")" = $'ok\nwlp0s20f3\n4' ]
    machine virbr "link 2 virbr0 kind=bridge" "addr virbr0 10.9.0.1/24" \
        "link 3 eth0 pci=0000:01:00.0" "addr eth0 10.0.0.1/24"
    run -0 on virbr --predict --json --nccl-version 2.27.7
    [ "$(jq -r .data.predict.nccl.interface <<<"$output")" = virbr0 ]
    run -0 on virbr --predict --json --nccl-version 22809
    [ "$(jq -r .data.predict.nccl.interface <<<"$output")" = eth0 ]
}

@test "check: what is set is listed with its origin and judged" {
    run -0 --separate-stderr on container --check
    [[ ${lines[-1]} == "PASS  1 check: the settings of this host and this environment" ]]
    NCCL_SOCKET_IFNAME="=eth0" run -0 on container --check --json
    [ "$(found lint.settings)" = pass ]
    [ "$(jq -r '.data.lint[] | "\(.name) \(.value) \(.origin)"' <<<"$output")" = "NCCL_SOCKET_IFNAME =eth0 environment" ]
    NCCL_SOCKET_IFNAME="=eth9" run -1 on container --check --json
    [ "$(jq -r .verdict <<<"$output")" = fail ]
    GLOO_SOCKET_IFNAME="=eth0" run -1 on container --check
    [[ $output == *"-> export GLOO_SOCKET_IFNAME=eth0"* ]]
}

@test "check: conf files that are unreadable, a folder, junk, or huge" {
    mkdir conf.d
    NCCL_CONF_FILE=$PWD/conf.d run -0 ifprobe --check --json
    [[ $(jq -r '.findings[] | select(.check == "lint.conf.unreadable") | .message, .fix[]' <<<"$output") == \
        "$PWD/conf.d is a folder; NCCL goes on without it and says nothing"$'\n'"unset NCCL_CONF_FILE" ]]
    mkfifo pipe
    NCCL_CONF_FILE=$PWD/pipe run -1 ifprobe --check
    [[ $output == *"fail  lint.conf.unreadable"*"/pipe is a pipe: NCCL waits for ever"*"-> unset NCCL_CONF_FILE"* ]]
    head -c 65536 /dev/urandom >junk
    NCCL_CONF_FILE=$PWD/junk run on container --check --json
    [ "$status" -le 1 ]
    valid
    { head -c 200000 "$BIN/ifprobe"; printf '\nNCCL_SOCKET_IFNAME=eth9\n'; } >program
    NCCL_CONF_FILE=$PWD/program run -1 ifprobe --check --json
    [ "$(jq -r '.findings[] | select(.check | startswith("lint.conf")) | "\(.check) \(.status) \(.message)", .fix[]' <<<"$output")" = \
        "lint.conf.unreadable warn $PWD/program is not text: NCCL takes the lines in it that set something and passes over all else without a word"$'\n'"unset NCCL_CONF_FILE" ]
    jq -e 'any(.findings[]; .check == "lint.ifname.nomatch")' <<<"$output"
    printf 'NCCL_DEBUG=INFO\nNCCL_IB_DISABLE=1\n' | iconv -t UTF-16 >wide
    NCCL_CONF_FILE=$PWD/wide run ifprobe --check --json
    [ "$(jq -r '.findings[] | select(.check | startswith("lint.conf")) | .message' <<<"$output")" = \
        "$PWD/wide is UTF-16, not plain text: NCCL finds nothing in it that it knows and says nothing" ]
    yes "NCCL_SOCKET_IFNAME==eth0" | head -c 10000000 >huge
    NCCL_CONF_FILE=$PWD/huge run ifprobe --check --json
    [ "$status" -le 1 ]
    valid
    [[ $output == *"/huge is larger than 1 MiB"* && $output != *"goes on without"* ]]
    printf 'NCCL_SOCKET_IFNAME = eth9\n= x\n\0\xff\n' >odd
    NCCL_CONF_FILE=$PWD/odd run ifprobe --check --json
    [ "$status" -le 1 ]
    valid
    if [ "$(id -u)" != 0 ]; then
        echo NCCL_DEBUG=INFO >closed
        chmod 0 closed
        NCCL_CONF_FILE=$PWD/closed run ifprobe --check
        [[ $output == *closed*"ermission denied"* ]]
    fi
}

@test "ip: which interface has the address" {
    run -0 --separate-stderr on laptop --ip 192.168.1.42
    [ "$output" = "wlp0s20f3 192.168.1.42" ]
    run -0 --separate-stderr on laptop --ip 2001:db8:1::42 --name-only
    [ "$output" = wlp0s20f3 ]
    run -1 --separate-stderr on laptop --ip 10.99.0.1
    [ -z "$output" ]
    [[ $stderr == *"not an address of this host"*wlp0s20f3* ]]
    run -0 --separate-stderr on laptop --ip 8.8.8.8
    [ "$output" = "wlp0s20f3 192.168.1.42" ]
    [[ $stderr == *"public address"*"by route"* ]]
    run -0 on laptop --ip 8.8.8.8 --json
    [ "$(jq -r '.data.ip | .class, .how, .address' <<<"$output")" = $'public\nroute\n192.168.1.42' ]
}

# --- bad input ------------------------------------------------------------------------

@test "a wrong command line: exit 2, one line, nothing on stdout" {
    local args
    while read -r args; do
        eval "run -2 --separate-stderr ifprobe $args"
        [[ -z $output && ${#stderr_lines[@]} == 1 ]] || { echo "$args: $output $stderr"; return 1; }
    done <<'A'
--sugest
--suggest=bash
--suggest --predict
--bashrc --write docker
--bashrc=always
--write
--write hosts
--ip
--ip foo
--ip 10.0.0.300
--ip ''
--peer ''
--peer 10.0.0.1:99999
--peer host:0x
--peer 'a b'
--check --peer 10.0.0.1
--ip 10.0.0.1 --hosts a
--hosts a --peer b
--hosts 'n[1-'
--hosts ''
--nccl-version new
--nccl-version ''
--dry-run
--undo
--fixed
--to x
--predict --name-only
--write docker --unit x
--write systemd
--write systemd --fixed
--deadline 0
--deadline -1
--deadline 1e999
--budget soon
--format yaml
extra
A
    run -2 --separate-stderr ifprobe --sugest
    [[ $stderr == *"--suggest"* ]]
}

@test "no interface but loopback: exit 1, nothing on stdout, a reason per interface" {
    can_unshare
    run -1 --separate-stderr namespace ifprobe --suggest
    [ -z "$output" ]
    [[ $stderr == *"lo: loopback"*"no interface is suitable"* ]]
    run -1 --separate-stderr namespace ifprobe --suggest --json
    valid
    run -1 --separate-stderr namespace ifprobe
    [[ ${lines[-1]} == FAIL* ]]
    run -0 --separate-stderr namespace ifprobe --predict
    [[ $output == *"-> ifprobe"* ]]
    run -1 --separate-stderr namespace ifprobe --bashrc --fixed
    [ ! -e "$HOME/.bashrc" ]
}

@test "no /sys and no /proc/sys: it still chooses" {
    can_unshare
    local look='ip link add e0 type veth peer name e1; ip addr add 10.0.0.1/24 dev e0
        ip link set e0 up; ip link set e1 up
        # the kernel tells of a carrier up to a second later
        for i in $(seq 100); do ! ip -o link show dev e0 | grep -q "state UP" || break; sleep 0.05; done
        mount -t tmpfs none /sys; mount -t tmpfs none /proc/sys
        "$@"'
    run -0 --separate-stderr namespace bash -c "$look" - ifprobe --name-only
    [ "$output" = e0 ]
    run --separate-stderr namespace bash -c "$look" - ifprobe --json
    valid
    [ "$(jq -r .data.suggest.interface <<<"$output")" = e0 ]
}

@test "README's picture is what it says today" {
    "$ROOT/scripts/picture" picture.svg ifprobe -- ifprobe --sysroot "$BATS_FILE_TMPDIR/laptop"
    diff "$ROOT/docs/ifprobe.svg" picture.svg
}

@test "a sysroot that is not one: exit 3" {
    run -3 --separate-stderr ifprobe --sysroot "$BATS_TEST_TMPDIR/nowhere"
    [[ $stderr == *nowhere* ]]
    run -2 --separate-stderr on laptop --bashrc
    [[ $stderr == *sysroot* ]]
}

@test "a full disk is exit 3 in every mode" {
    for mode in --verbose --suggest --predict --check --ip=192.168.1.42 --json; do
        run -3 --separate-stderr bash -c '"$@" >/dev/full' - \
            ifprobe --sysroot "$BATS_FILE_TMPDIR/laptop" "$mode"
        [ -n "$stderr" ]
    done
}
