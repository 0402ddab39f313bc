#!/usr/bin/env bats
# Where the ranks are: ncclbench and ddpsmoke have the same options for that, and say the same
# about what does not go together, hosts that do not answer, and more ranks than there is room.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets stderr; each test has its own PATH
bats_require_minimum_version 1.5.0
load ../wait.sh

setup() {
    unset WINDSOCK_RSH
    cd "$BATS_TEST_TMPDIR" || return
}

refused() { # WHAT-IS-SAID ARGS...
    local said=$1 command
    shift
    for command in ncclbench ddpsmoke; do
        run --separate-stderr "$BIN/$command" "$@"
        [[ $status == 2 && -z $output && ${#stderr_lines[@]} == 1 && $stderr == "$command: "*"$said"* ]] ||
            { echo "$command $*: $status $output $stderr"; return 1; }
    done
}

@test "what goes with what is said in the same words" {
    local option
    for option in '--wait 2' '--wait-time 2s' '--port 3333' --no-local; do
        # shellcheck disable=SC2086
        refused "${option%% *} goes with --serve, which prints a line" $option
    done
    for option in '--wait 2' '--port 3333'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/windsock" $option
        [[ -z $output && $stderr == *"${option%% *} goes with --serve, which prints a line"* ]]
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/windsock" $option on n1 true
        [[ -z $output && $stderr == *"${option%% *} goes with --serve"* ]]
    done
    for option in '--wait 2' '--wait-time 2s' '--joiners 2' '--join-time 2s' '--port 3333'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/portcheck" $option
        [[ -z $output && $stderr == *"${option%% *} goes with --serve, which prints a line"* ]]
    done
    for option in --partial --keep --copy-self '--parallel 3'; do
        # shellcheck disable=SC2086
        refused "${option%% *} goes with --hosts or --srun" $option
    done
    for option in '--rank 1' '--world-size 2'; do
        # shellcheck disable=SC2086
        refused "${option%% *} goes with --init, as in" $option
    done
    refused "not with --np, --hosts, --serve or --srun" --init tcp://127.0.0.1:3333 --np 2
    refused "--hosts and --serve cannot be combined: the first reaches" --hosts a --serve
    refused "--srun and --serve cannot be combined" --srun --serve
    refused "2 ranks do not fit: 1 host has room for 1" --hosts a:1 --np 2
    refused "3 ranks do not fit: 1 host has room for 2; ask for --np 2, or for --np-per-host 3" --np 3 --np-per-host 2
    refused "3 ranks do not fit: 1 host has room for 2; ask for --np 2, or give more slots (node1:8)" --hosts a:2 --np 3
    refused "--srun is for an allocation of Slurm's, and this is none" --srun
}

@test "who looks like a rank and cannot be one is refused, unless it is asked to start ranks" {
    RANK=5 refused "RANK is set and WORLD_SIZE is not: set both, or unset RANK"
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST='node[1-2]' SLURM_NNODES=2 SLURM_NTASKS=2 SLURM_PROCID=0
    refused "the shell of an sbatch script, not a rank (SLURM_PROCID is set and SLURM_STEP_ID is not): srun is missing"
    run -0 "$BIN/ddpsmoke" --np 2 --device cpu --model mlp --steps 1
}

@test "--srun alone: a rank on each host of the allocation" {
    local command
    mkdir bin
    # srun as we call it: "srun OPTIONS -w HOST sh -c COMMAND"
    printf '#!/bin/bash\nwhile [ "$1" != -w ]; do shift; done\necho "$2" >>%q/asked\nshift 2\nexec "$@"\n' \
        "$PWD" >bin/srun
    chmod +x bin/srun
    export PATH=$PWD/bin:$PATH SLURM_JOB_NODELIST='node[1-2]'
    for command in 'ncclbench -b 8 -e 8 -r 1' 'ddpsmoke --device cpu --samples 128'; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr "$BIN/"$command --srun --json
        [ "$(jq '.data.world.ranks | length' <<<"$output")" = 2 ]
        [ "$(sort asked)" = $'node1\nnode2' ]
        rm asked
    done
    run -2 --separate-stderr "$BIN/ncclbench" --srun -r 2
    [[ $stderr == "ncclbench: -r: '2' is not one of 2 ranks" && ! -e asked ]]
}

@test "a root that is none of the ranks is our command line's fault, whenever their number is known" {
    printf '#!/bin/sh\n[ "$1" != node2 ] || exit 255\nshift\nexec sh -c "$*"\n' >one
    chmod +x one
    run -2 --separate-stderr "$BIN/ncclbench" --np 2 -r 2 -b 8 -e 8
    run -2 --separate-stderr "$BIN/ncclbench" --hosts node1 --rsh ./one -r 1 -b 8 -e 8
    run --separate-stderr "$BIN/ncclbench" --hosts node1,node2 --rsh ./one --partial -r 1 -b 8 -e 8
    [[ $stderr == *"-r: 1 is not one of 1 ranks"* ]] # and node2 does not answer
    [[ ! $output =~ "exit code 2"([^0-9]|$) ]] # node2's way ended with 255
    "$BIN/ncclbench" --serve --no-local --wait 1 -r 1 -b 8 -e 8 >out 2>err 3>&- &
    local run=$!
    wait_for 15 grep -q 'windsock join' err
    # shellcheck disable=SC2046
    run ! "$BIN/windsock" $(grep -o 'join .*' err) # that run fails
    local code=0
    wait "$run" || code=$?
    [ "$code" = 2 ]
    grep -q 'ncclbench: -r: 1 is not one of 1 ranks' err
}

@test "what the list of hosts is noted for is said once" {
    local command
    printf '#!/bin/sh\nexit 255\n' >deaf
    chmod +x deaf
    for command in ncclbench ddpsmoke; do
        run -1 --separate-stderr "$BIN/$command" --hosts a,b,a --rsh ./deaf
        [[ $(grep -c "1 of 3 hosts were named more than once; each is asked once, and has a slot for each time" <<<"$stderr") == 1 ]]
        run -1 --separate-stderr "$BIN/$command" --hosts - --rsh ./deaf <<<$'a\nb\na'
        [[ $(grep -c "1 of 3 hosts were named more than once; each is asked once, and has a slot for each time" <<<"$stderr") == 1 ]]
    done
}

@test "a hostfile's name that was mistyped: there is no such file, and no such host; the one that was meant" {
    local command name
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "ssh: Could not resolve hostname x: Name or service not known" >&2\nexit 255\n' >ssh
    chmod +x ssh
    printf 'localhost\n' >nodes.txt
    printf '2026-11-20 all is well\n' >node7.log
    for name in ./nodez.txt ./nodes nodez.txt; do
        for command in ncclbench ddpsmoke portcheck "ifprobe --suggest" windsock; do
            # shellcheck disable=SC2086
            run -2 --separate-stderr "$BIN"/$command --hosts $name
            [[ $stderr == *"cannot read $name: No such file or directory; did you mean "*nodes.txt"?"* ]]
        done
    done
    run -2 --separate-stderr "$BIN/ncclbench" --hosts ./node7.lo # the log is no list of hosts
    [[ $stderr != *"did you mean"* && $stderr == *"a hostfile's path"* ]]
    export PATH=$PWD:$PATH
    for name in nodes nodes.tx ndoes.tx; do
        for command in ncclbench ddpsmoke portcheck "ifprobe --suggest" windsock; do
            # shellcheck disable=SC2086
            run --separate-stderr "$BIN"/$command --hosts $name
            [[ $status == [13] && $output$stderr == *"cannot reach $name: neither a host nor a file of that name is known here; did you mean nodes.txt? else check its spelling"* ]] ||
                { echo "$command $name: $status $output $stderr"; return 1; }
            [[ $output$'\n'$stderr$'\n' == *"cat nodes.txt   # from here: are these the hosts? then name it"$'\n'* ]] # and not there
        done
    done
    run -1 --separate-stderr "$BIN/ncclbench" --hosts node7
    [[ $output == *"cannot reach node7: neither a host nor a file of that name is known here; check its spelling"* ]]
    run -1 --separate-stderr "$BIN/ncclbench" --hosts nodes,elsewhere
    [[ $output == *"cannot reach nodes: the name is not known here; check its spelling"* ]]
}

@test "a host that does not answer is waited for as long as was said" {
    local command start
    printf '#!/bin/sh\nexec sleep 60\n' >deaf
    chmod +x deaf
    for command in ncclbench ddpsmoke; do
        start=$SECONDS
        run -1 --separate-stderr "$BIN/$command" --hosts nohost --rsh ./deaf --deadline 1s
        [[ $output == *"said nothing for 1 s and was ended"* ]]
        ((SECONDS - start < 22)) # it was 30
    done
    start=$SECONDS
    run -1 --separate-stderr "$BIN/ncclbench" --hosts nohost --rsh ./deaf -T 1
    ((SECONDS - start < 22))
}

@test "the time that ssh is given follows the deadline" {
    local command
    printf '#!/bin/sh\necho "$@" >>said\nexit 255\n' >ssh
    chmod +x ssh
    for command in ncclbench ddpsmoke; do
        PATH=$PWD:$PATH run -1 "$BIN/$command" --hosts nohost --deadline 4s
        PATH=$PWD:$PATH run -1 "$BIN/$command" --hosts nohost
    done
    run grep -o 'ConnectTimeout=[0-9]*' said
    [ "$output" = "$(printf 'ConnectTimeout=%s\n' 3 10 3 10)" ]
}

@test "more ranks than there is room for: what limits them, before one is started" {
    ulimit -n 64
    for command in ncclbench ddpsmoke; do
        run -3 --separate-stderr "$BIN/$command" --np 40
        [[ $stderr == *"40 ranks on this machine need "*" files open in one process, and there are 64: enough for "*"ulimit -n "* ]]
        run -3 --separate-stderr "$BIN/$command" --np 40 --json
        jq -e '.verdict == "error" and (.findings[0].message | test("enough for [0-9]+$"))' <<<"$output"
    done
    run -3 --separate-stderr "$BIN/ncclbench" -g 8 -t 5
    [[ $stderr == *"40 ranks on this machine need "* && $stderr != *"--np"* ]] # not 40 times as many
    run -3 --separate-stderr "$BIN/ncclbench" -g 4 --np 10
    [[ $stderr == *"enough for 8"*"--np 2, or "* ]]
    run -0 "$BIN/ncclbench" -b 8 -e 8 -n 1
}

@test "where not one rank fits, none is advised" {
    ulimit -n 30
    run -3 --separate-stderr "$BIN/ncclbench"
    [[ $stderr == *"enough for 0"*"as root: ulimit -n "* && $stderr != *"--np"* ]]
}

@test "more ranks than one machine carries are only refused on one machine" {
    run -2 "$BIN/ncclbench" --np 513
    [[ $output == *"513 ranks on this machine are more than 512"* ]]
    run -1 --separate-stderr "$BIN/ncclbench" --hosts 'h[1-5]' -g 128 --rsh false
    [[ $stderr == *"h5"* ]]
    export RANK=1 WORLD_SIZE=1024 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
    run -1 --separate-stderr "$BIN/ncclbench" --deadline 1s
    [[ $stderr == *"127.0.0.1"* ]]
}

@test "-t and -g of a rank that somebody else started are refused; a lone one starts ranks" {
    local started='this is one that was started already; start 2 times as many'
    run -2 --separate-stderr "$BIN/ncclbench" --init tcp://127.0.0.1:1 --rank 1 --world-size 2 -t 2
    [[ -z $output && $stderr == *"$started"* ]]
    export RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
    run -2 --separate-stderr "$BIN/ncclbench" -g 2
    [[ -z $output && $stderr == *"$started"* ]]
    export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1
    run -0 "$BIN/ncclbench" -g 3 -b 8 -e 8 -n 1
    [[ $output == *"Rank  2 "* ]]
}

@test "one of many that a launcher started starts no others; a lone one, a shell and who insists do" {
    local started='starts ranks, and this is one of 2 that env:// started already (RANK, WORLD_SIZE, MASTER_ADDR' option
    export RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
    for option in '--np 3' '--np-per-host 1' '--hosts localhost' --serve --srun; do
        # shellcheck disable=SC2086
        refused "${option%% *} $started" $option
    done
    refused 'leave --np out: those 2 are the ranks; WINDSOCK_NO_RANK=1 before the command' --np 3
    WINDSOCK_NO_RANK=1 run -0 "$BIN/ncclbench" --np 3 -b 8 -e 8 -n 1
    WORLD_SIZE=1 run -0 "$BIN/ncclbench" --np 3 -b 8 -e 8 -n 1
    unset RANK WORLD_SIZE
    export SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0
    refused '--np starts ranks, and this is one of 2 that srun started already (SLURM_PROCID, SLURM_STEP_NUM_TASKS' --np 3
    run -0 script -qec "'$BIN/ncclbench' --np 3 -b 8 -e 8 -n 1" /dev/null # srun --pty bash
    [[ $output == *"Rank  2 "* ]]
    command -v mpirun >/dev/null || return 0
    unset "${!SLURM_@}" MASTER_ADDR MASTER_PORT
    run -2 mpirun --allow-run-as-root --oversubscribe -np 2 "$BIN/ncclbench" --find-slow --np 2
    [[ $output == *"--np starts ranks, and this is one of 2 that Open MPI started already (OMPI_COMM_WORLD_RANK"* ]]
}

@test "-r: the ranks that another launcher or --init counts" {
    local common=(--coll broadcast -b 8 -e 8 -n 1) url=file://$PWD/meet
    run -2 --separate-stderr "$BIN/ncclbench" --init "$url" --rank 0 --world-size 2 "${common[@]}" -r 2
    [[ -z $output && $stderr == *"-r: '2' is not one of 2 ranks"* ]]
    RANK=1 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 run -2 "$BIN/ncclbench" "${common[@]}" -r 3
    "$BIN/ncclbench" --init "$url" --rank 1 --world-size 2 "${common[@]}" -r 1 >second 3>&- &
    run -0 "$BIN/ncclbench" --init "$url" --rank 0 --world-size 2 "${common[@]}" -r 1
    wait $!
    [[ $output == *"2 results verified, none wrong"* ]]
    command -v mpirun >/dev/null || return 0
    run mpirun --allow-run-as-root --oversubscribe -np 2 "$BIN/ncclbench" "${common[@]}" -r 2
    [[ $status != 0 && $output == *"-r: '2' is not one of 2 ranks"* ]]
    run -0 mpirun --allow-run-as-root --oversubscribe -np 2 "$BIN/ncclbench" "${common[@]}" -r 1
    [[ $output == *"2 results verified, none wrong"* ]]
}

has_rows() { [[ -e out && $(wc -l <out) -ge 12 ]]; }

gone() { [ ! -e "/proc/$1" ] || [[ $(ps -o stat= -p "$1") == Z* ]]; }

@test "ranks here that do not end: that is said, and no way to localhost is advised" {
    local agent run code=0 rank
    "$BIN/ncclbench" --np 2 -b 8 -e 8 -n 5 -N 0 --heartbeat 1s >out 2>err 3>&- &
    run=$!
    wait_for 60 has_rows
    # ours, its launcher, the agent with who watches it, the ranks
    agent=$(pgrep -P "$(pgrep -P "$(pgrep -P $run)")")
    rank=$(pgrep -P "$agent" | tail -1)
    kill -STOP "$agent"
    kill -KILL "$rank"
    wait $run || code=$?
    wait_for 15 gone "$agent" || { kill -CONT "$agent"; false; }
    cat err
    [ "$code" -eq 1 ]
    grep -q 'host.reach localhost: .*ranks on this machine had not ended 4 s after they were told to' err
    run ! grep -E 'ssh localhost|no longer answers' out err
}

descendants() { # PID
    local child
    for child in $(pgrep -P "$1"); do
        echo "$child $(tr '\0' ' ' <"/proc/$child/cmdline")"
        descendants "$child"
    done 2>/dev/null
}

@test "an agent on this machine, by its name, that dies: how, and no way here is advised" {
    local name command agent run code
    name=$(uname -n)
    for command in 'ncclbench -b 8 -e 8 -N 0' 'ddpsmoke --device cpu --epochs 100000'; do
        code=0
        # shellcheck disable=SC2086
        "$BIN/"$command --hosts "$name:2" --np 2 >out 2>err 3>&- &
        run=$!
        # the one that works: the last of the two that watch each other; it has ranks
        wait_for 10 eval 'agent=$(descendants $run | awk "/--agent [0-9]+ \$/ { print \$1 }" | tail -n 1) && [ "$(pgrep -cP "$agent")" = 2 ]'
        kill -9 "$agent"
        wait $run || code=$?
        cat out err
        [ "$code" -eq 1 ]
        grep -q 'the agent on this machine was killed by signal 9 (SIGKILL)' out err
        [[ ! $(cat out err) =~ "ssh $name"|'connection to it'|"--hosts $name" ]]
    done
}

@test "lo without 127.0.0.1, and lo that is down: the line that is printed mends it" {
    # shellcheck disable=SC2016
    run -0 --separate-stderr unshare --user --map-root-user --net -- bash -c '
        sudo() { "$@"; }
        fails() { # SAYS
            "$BIN/ncclbench" --np 2 -b 8 -e 8 -n 1 >out 2>err
            [ $? = 3 ] && grep -q "$1" out err || { cat out err; exit 1; }
            eval "$(sed -n "s/^ *-> \(sudo ip .*\)/\1/p" out err)"
        }
        fails "the loopback interface is down"
        ip addr del 127.0.0.1/8 dev lo
        fails "lo has no address 127.0.0.1"
        "$BIN/ncclbench" --np 2 -b 8 -e 8 -n 1'
}

@test "a program under another name has ranks of its own" {
    mkdir other
    for command in ncclbench ddpsmoke; do
        cp "$BIN/$command" "other/$command-0.1"
    done
    run -0 --separate-stderr other/ncclbench-0.1 --np 2 -b 8 -e 8 -n 1
    run -0 --separate-stderr other/ddpsmoke-0.1 --np 2 --steps 1 --model mlp
}

@test "a host's name may be any bytes: in the table it is one word of one line" {
    run -0 --separate-stderr unshare --user --map-root-user --uts -- python3 -c '
import os, socket, sys
socket.sethostname(b"x\x1b[31m\n\xff y")
os.execv(sys.argv[1], sys.argv[1:])' "$BIN/ncclbench" --np 2 -b 8 -e 8 -n 1
    [ "$(grep -c '^#  Rank ' <<<"$output")" = 2 ]
    [ -z "$(tr -d '\n[:print:]\200-\377' <<<"$output")" ]
    printf '%s\n' "$output" >table
    run ! grep -avq '^\(#\| *[0-9]\)' table
}

@test "as many connections on one address as there are ports, and more" {
    local loopback_alone=(unshare --user --map-root-user --net --)
    # 48 ranks have 1,128 pairs with two connections each, and 64 listeners: 300 ports are far fewer
    # shellcheck disable=SC2016
    run -0 --separate-stderr "${loopback_alone[@]}" sh -ec '
        ip link set lo up
        echo "32768 33067" >/proc/sys/net/ipv4/ip_local_port_range
        "$BIN/ncclbench" --np 48 -b 8 -e 8 -n 1 --deadline 100s'
}

@test "ranks that share a processor have more time, and it is said" {
    run -0 --separate-stderr taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" \
        "$BIN/ncclbench" --np 17 -b 8 -e 8 -n 1
    [[ $output == *"# 17 ranks share 1 processor: what is waited for is waited for 20 s instead of 10 s (--deadline)"* ]]
    run -0 --separate-stderr taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" \
        "$BIN/ddpsmoke" --np 17 --steps 1 --samples 544 --model mlp
    [[ $stderr == *"17 ranks share 1 processor: "*"20 s instead of 10 s"* ]]
    run -0 --separate-stderr "$BIN/ddpsmoke" --steps 1 --model mlp
    [[ $stderr != *"share"* ]]
}

@test "what one backend alone reads is refused with another" {
    run -2 --separate-stderr "$BIN/ncclbench" --backend tcp --nccl /lib/libnccl.so.2
    [[ -z $output && $stderr == *"--nccl is for --backend nccl: it does nothing with tcp"* ]]
    run -2 --separate-stderr "$BIN/ncclbench" --sockets 2 --nccl /lib/libnccl.so.2 # tcp is meant
    [[ $stderr == *"--nccl is for --backend nccl"* ]]
    for option in '--sockets 2' '--bind 127.0.0.1' --wire-rate; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/ncclbench" --backend gloo $option
        [[ -z $output && $stderr == *"${option%% *} is for --backend tcp: it does nothing with gloo"* ]]
    done
    run -0 --separate-stderr "$BIN/ncclbench" -b 8 -e 8 -n 1 --nccl /lib/libnccl.so.2 # auto
    [[ $output == *"# --nccl does nothing with tcp"* || $output != *"over tcp"* ]]
    run -2 --separate-stderr "$BIN/ddpsmoke" --nccl /lib/libnccl.so.2
}

@test "--warn-below alone: not below what fails" {
    run -2 --separate-stderr "$BIN/ncclbench" --warn-below 20
    [[ -z $output && $stderr == *"--warn-below 20 is less than what fails without --fail-below, 38: nothing would warn; give both"* ]]
    run -0 "$BIN/ncclbench" -b 8 -e 8 -n 1 --warn-below 20 --fail-below 10
    run -0 "$BIN/ncclbench" -b 1M -e 1M -n 1 --warn-below 60 --save-baseline base
    run -2 --separate-stderr "$BIN/ncclbench" -b 1M -e 1M -n 1 --warn-below 60 --baseline base
    [[ $stderr == *"80 of a baseline: nothing would warn"* ]]
    run -0 "$BIN/ncclbench" -b 8 -e 8 -n 1 --fail-below 20
}

@test "--fail-below 0 and --warn-below 0 are limits, too: warn at most, and not even that" {
    run -0 "$BIN/ncclbench" -b 1M -e 1M -n 1 --warn-below 30 --fail-below 0 # both were given
    run -0 "$BIN/ncclbench" -b 1M -e 1M -n 1 --save-baseline base
    jq '.rows[].busbw *= 1e6' base >fast
    run -1 "$BIN/ncclbench" -b 1M -e 1M -n 1 --baseline fast
    run -0 "$BIN/ncclbench" -b 1M -e 1M -n 1 --baseline fast --fail-below 0
    [[ $output == *"# WARN coll.baseline: "* ]]
    run -0 "$BIN/ncclbench" -b 1M -e 1M -n 1 --baseline fast --fail-below 0 --warn-below 0
    [[ $output == *"# PASS coll.baseline: "* ]]
    run -2 --separate-stderr "$BIN/ncclbench" --warn-below 0
    [[ $stderr == *"--warn-below 0 is less than what fails without --fail-below, 38: nothing would warn; give both"* ]]
}
