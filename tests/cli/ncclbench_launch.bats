#!/usr/bin/env bats
# ncclbench's ranks however they are started: by hand, a file, a pasted line, the
# variables of torchrun and srun, a real mpirun.
# shellcheck disable=SC2154,SC2030,SC2031
bats_require_minimum_version 1.5.0

setup() {
    PORT=$((20000 + (BATS_ROOT_PID * 8 + BATS_TEST_NUMBER * 32) % 10000))
    cd "$BATS_TEST_TMPDIR" || exit
}

verified() { # FILE RANKS
    grep -q "PASS coll.data: 2 results verified" "$1"
    [ "$(grep -c '^#  Rank ' "$1")" -eq "$2" ]
}

@test "PyTorch's variables: rank 0 reports, the others are silent" {
    export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT
    local r
    for r in 1 2; do
        RANK=$r timeout 30 "$BIN/ncclbench" -b 8 -e 8 --json >"out$r" 2>"err$r" 3>&- &
    done
    RANK=0 timeout 30 "$BIN/ncclbench" -b 8 -e 8 >out0 2>err0
    wait
    verified out0 3
    [ ! -s out1 ] && [ ! -s out2 ]
}

@test "who judges reads the baseline: the others' hosts need not have it" {
    export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT
    "$BIN/ncclbench" -b 1M -e 1M -n 1 --save-baseline base.json >/dev/null
    mkdir elsewhere
    (cd elsewhere && RANK=1 exec timeout 30 "$BIN/ncclbench" -b 1M -e 1M -n 1 --baseline base.json >out 2>err 3>&-) &
    RANK=0 run -0 timeout 30 "$BIN/ncclbench" -b 1M -e 1M -n 1 --baseline base.json --warn-below 2 --fail-below 1
    wait $!
    [[ $output == *"# PASS coll.baseline: "* && ! -s elsewhere/out ]]
}

@test "hosts come through a pipe, of which whoever reads later knows" {
    run -0 --separate-stderr "$BIN/ncclbench" --hosts - -b 8 -e 8 -n 1 --json <<<'localhost slots=2'
    [ "$(jq '.data.world.ranks | length' <<<"$output")" = 2 ]
    run -0 --separate-stderr "$BIN/ncclbench" --hosts <(echo localhost:3) -b 8 -e 8 -n 1 --json
    [ "$(jq '.data.world.ranks | length' <<<"$output")" = 3 ]
    run -0 "$BIN/windsock" on /dev/stdin 'echo here' <<<localhost
    run -0 "$BIN/ifprobe" --hosts - <<<localhost
    # and what they have there can be typed
    printf '#!/bin/sh\necho "sh: 1: exec: $2: not found" >&2; exit 127\n' >"$BATS_TEST_TMPDIR/none"
    chmod +x "$BATS_TEST_TMPDIR/none"
    local command
    for command in ifprobe 'portcheck --free'; do
        # shellcheck disable=SC2086
        run -1 "$BIN/"$command --hosts - --rsh "$BATS_TEST_TMPDIR/none" <<<$'me@[fd00::1]:8\nme@fd00::2\n[fd00::3]:2'
        [[ $output == *"$command --rsh $BATS_TEST_TMPDIR/none --hosts 'me@[fd00::1]:8,me@fd00::2,[fd00::3]:2' --copy-self"* ]]
    done
    run -2 --separate-stderr "$BIN/windsock" --hosts - <<<'a b=1'
    [[ $stderr == *"stdin:1: unknown setting"* ]]
}

@test "a rank of our own agent that no agent started says so, and waits for no token" {
    mkfifo pipe
    exec {token}<>pipe # a writer that says nothing
    WINDSOCK_RANK=0 WINDSOCK_WORLD_SIZE=2 WINDSOCK_LOCAL_RANK=0 WINDSOCK_LOCAL_SIZE=1 WINDSOCK_MASTER_ADDR=127.0.0.1 \
        WINDSOCK_MASTER_PORT=$PORT WINDSOCK_TOKEN_FD=$token run -2 timeout -s KILL 20 "$BIN/ncclbench" -b 8 -e 8
    exec {token}>&-
    [[ "$output" == *"no agent of ours started this process"* ]]
}

@test "--analyze is no rank, whatever a pod's variables say: when it fails nobody is told" {
    RANK=1 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT run -2 timeout 2 "$BIN/ncclbench" --analyze nosuch.log
    [[ "$output" == *"cannot read nosuch.log"* ]]
}

@test "--json says which launcher was recognised, and from which variables" {
    local rank=(env WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$PORT")
    "${rank[@]}" RANK=1 timeout 30 "$BIN/ncclbench" -b 8 -e 8 >/dev/null 2>&1 3>&- &
    "${rank[@]}" RANK=0 timeout 30 "$BIN/ncclbench" -b 8 -e 8 --json >out0
    wait
    jq -e '.data.world | .launcher == "env://" and (.launcher_from | test("RANK, WORLD_SIZE"))' out0
    timeout 30 "$BIN/ncclbench" -b 8 -e 8 --json >own
    jq -e '.data.world | has("launcher") | not' own # ours
}

@test "ranks with different command lines: which has what, on every rank" {
    local rank=(env WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$PORT")
    # shellcheck disable=SC2086
    differ() { # RANK 1's OPTIONS, WORDS
        local r pids=() code
        "${rank[@]}" RANK=1 timeout 60 "$BIN/ncclbench" $1 >out1 2>err1 3>&- &
        pids+=($!)
        for r in 0 2; do
            "${rank[@]}" RANK=$r timeout 60 "$BIN/ncclbench" -b 8 -e 1G >out$r 2>err$r 3>&- &
            pids+=($!)
        done
        for r in "${pids[@]}"; do
            code=0
            wait "$r" || code=$?
            [ "$code" -eq 1 ]
        done
        for r in 0 1 2; do
            grep -q "^# FAIL rank.alike: ranks were started with different options: $2" out$r || { cat out$r err$r; return 1; }
        done
        [ "$(grep -c 'different options' err0)" -eq 1 ]
        grep -q '^   - start every rank with the same command line' err0
    }
    differ '-b 1M -e 1G' '-b is 8 on ranks 0,2 and 1M on rank 1 ('
    differ '-b 8 -e 1G --backend tcp --sockets 2' '--backend is .*; --sockets is 0 on ranks 0,2 and 2 on rank 1 ('
    differ '-b 8 -e 64K' '-e is 1G on ranks 0,2 and 64K on rank 1 ('
    differ '-b 8 -e 1G --coll broadcast' '--coll is all_reduce on ranks 0,2 and broadcast on rank 1 ('
    differ '-b 8 -e 1G -d half -o max' '-d is float on ranks 0,2 and half on rank 1 (.*); -o is sum on ranks 0,2 and max on rank 1'
    differ --pairs '--pairs is not given on ranks 0,2 and given on rank 1'
    differ '--backend tcp -n 3 -w 2' '--backend is auto on ranks 0,2 and tcp on rank 1 (.*; and [0-9]* more'
}

@test "srun's variables are recognised, and so is a world of the wrong size" {
    export SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_JOB_ID=7 \
        SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_JOB_NODELIST=localhost SLURM_NNODES=1 \
        MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT
    SLURM_PROCID=1 SLURM_LOCALID=1 timeout 30 "$BIN/ncclbench" -b 8 -e 8 >out1 2>err1 3>&- &
    timeout 30 "$BIN/ncclbench" -b 8 -e 8 >out0 2>err0
    wait
    verified out0 2
    [ ! -s out1 ]
}

@test "--init file://: two processes that know nothing but a file" {
    timeout 30 "$BIN/ncclbench" --init "file://$PWD/meet" --rank 1 --world-size 2 -b 8 -e 8 >out1 3>&- &
    timeout 30 "$BIN/ncclbench" --init "file://$PWD/meet" --rank 0 --world-size 2 -b 8 -e 8 >out0
    wait
    verified out0 2
    [ ! -s out1 ]
}

@test "--serve: the pasted line brings a machine in" {
    timeout 30 "$BIN/ncclbench" --serve --port "$PORT" -b 8 -e 8 >out 2>err 3>&- &
    local i words pid=$! # <( ) changes it
    for ((i = 0; i < 100; i++)); do
        read -ra words < <(grep -o 'join .*' err) && break
        sleep 0.05
    done
    timeout 20 "$BIN/ncclbench" --join "127.0.0.1:${words[1]##*:}" "${words[2]}"
    wait "$pid"
    verified out 2
}

@test "mpirun: one rank each; a rank that dies is named, nobody hangs" {
    command -v mpirun.openmpi >/dev/null || skip "no mpirun.openmpi here"
    local run=(timeout 40 mpirun.openmpi --allow-run-as-root --oversubscribe -np 3)
    "${run[@]}" "$BIN/ncclbench" -b 8 -e 8 >out 2>err
    verified out 3
    : >out2 # in the background it may come after the first look
    "${run[@]}" "$BIN/ncclbench" -b 64K -e 64K -n 5 -N 0 >out2 2>err2 3>&- &
    local i code=0
    for ((i = 0; i < 200; i++)); do
        (($(grep -cv '^#' out2) < 2)) || break
        sleep 0.05
    done
    kill -9 "$(sed -n 's/^#  Rank  2 .*Pid *\([0-9]*\) on.*/\1/p' out2)"
    wait $! || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ]
}

@test "a host where not all ranks can be started names the limit, and what raises it" {
    printf '#!/bin/sh\nshift\nulimit -n 40\nexec sh -c "$*"\n' >few
    chmod +x few
    run -1 --separate-stderr timeout 60 "$BIN/ncclbench" --hosts a:12 --rsh ./few -b 8 -e 8 --json
    jq -e '.findings[0] | .check == "host.reach" and
        (.message | test("Too many open files on .*: no more files .* raise `ulimit -n`"))' <<<"$output"
}

@test "why ssh ended is read behind all that a site says to everybody" {
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\ni=0\nwhile [ $i -lt 400 ]; do echo "a line for everybody, one of many, $i"; i=$((i + 1)); done >&2\n%s\n' \
        'echo "me@there: Permission denied (publickey)." >&2; exit 255' >wordy
    chmod +x wordy
    run -1 --separate-stderr timeout 60 "$BIN/ncclbench" --hosts 'n[1-16]' --rsh ./wordy -b 8 -e 8 --json
    jq -e '[.findings[] | select(.check == "host.reach")] | length == 16 and
        all(.message | test("it does not accept our key"))' <<<"$output"
}

@test "an agent takes the folder of its copy away, and never one that it is installed in" {
    local folder
    for folder in usr windsock.Ab3456; do
        mkdir -p "$folder/bin"
        cp "$BIN/ncclbench" "$folder/bin/"
        WINDSOCK_COPY=$PWD/$folder timeout 20 "$folder/bin/ncclbench" --agent </dev/null >/dev/null || true
    done
    [ -x usr/bin/ncclbench ]
    [ ! -e windsock.Ab3456 ]
}

@test "this machine needs no way to itself: by its whole name, the short one, or its own address" {
    unshare -rnu true 2>/dev/null || skip "no namespaces can be made here"
    printf '#!/bin/sh\necho "me@$1: Permission denied (publickey)." >&2\nexit 255\n' >closed
    chmod +x closed
    local name want
    for name in n7.cluster.local:0 n7:0 192.0.2.77:0 2001:db8::77:0 localhost:0 n8:1 192.0.2.78:1 n7.other:1; do
        want=${name##*:} name=${name%:*}
        # shellcheck disable=SC2016 # for that shell
        run "-$want" timeout 60 unshare -rnu sh -c 'hostname n7.cluster.local && ip link set lo up &&
            ip address add 192.0.2.77/32 dev lo && ip address add 2001:db8::77/128 dev lo nodad &&
            exec "$@"' sh "$BIN/ncclbench" --hosts "$name" --rsh ./closed -b 8 -e 8 -n 1
        ((!want)) || [[ $output == *"cannot reach $name: it does not accept our key"* ]]
    done
}

@test "launch: a host whose sshd turned it away is tried again; one that always does is named" {
    cat >turns <<'C'
#!/bin/sh
echo "$1" >>tries
[ "$1" = n2 ] && [ "$(grep -cx n2 tries)" -gt 1 ] && { shift; exec sh -c "$*"; }
echo 'kex_exchange_identification: Connection closed by remote host' >&2
exit 255
C
    chmod +x turns
    run -0 --separate-stderr timeout 60 "$BIN/ncclbench" --hosts n2 --rsh ./turns -b 8 -e 8 -n 1
    run -1 --separate-stderr timeout 60 "$BIN/ncclbench" --hosts n1 --rsh ./turns --deadline 600ms -b 8 -e 8 -n 1
    [[ $stderr$output == *"cannot reach n1: the connection was cut while ssh logged in"* ]]
    [ "$(sort tries | uniq -c | tr -s ' ' | paste -sd,)" = ' 2 n1, 2 n2' ]
}
