#!/usr/bin/env bats
# windsock over the nodes of a lab with the real commands beside it: no false alarm
# on a healthy cluster, the lists of nodes, hosts that are lost, budgets.
# Needs root, nft, jq.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

load ../wait.sh
load windsock.sh

wrong() { # findings that fail or are errors of ours
    jq -c '.findings[] | select(.status == "fail" or .status == "error")' <<<"$output"
}

# A soak asks for hundreds of what takes milliseconds; this takes seconds.
times=${REPEAT:-3}
((times <= 30)) || times=30

@test "four healthy nodes: no failure, in under 20 seconds, three times (REPEAT)" {
    for turn in $(seq "$times"); do
        begin=$SECONDS
        echo "turn $turn"
        run -0 --separate-stderr windsock --hosts lab --json
        ((SECONDS - begin < 20))
        valid
        [ -z "$(wrong)" ]
        [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node2,node3 ]
        [ "$(jq -r '.data.failing_nodes | length' <<<"$output")" = 0 ]
        [ "$(jq '.nodes | length' <<<"$output")" = 4 ]
    done
    run -0 --separate-stderr windsock --hosts lab
    [[ ${lines[-1]} == PASS*"4 of 4 hosts and the ways between them"* ]]
    [[ $output != *"What to do"* ]]
}

@test "quick: every node and the ways between them, nothing is moved" {
    run -0 --separate-stderr windsock --hosts lab --quick --json
    valid
    [ "$(jq -r '.data.stages[].name' <<<"$output" | paste -sd,)" = hosts,interface,settings,limits,gpus,ports,drift,reach,paths ]
    [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts and the ways between them; no data was moved" ]]
}

@test "lists of nodes: who passed, who did not, and the line for srun" {
    on 2 nft add table inet t
    on 2 nft add chain inet t c '{ type filter hook input priority 0; policy accept; }'
    on 2 nft add rule inet t c iifname != lo ip saddr 10.77.0.0/16 tcp dport 29500-65535 drop
    run -1 --separate-stderr windsock --hosts lab --quick --nodes out
    on 2 nft delete table inet t
    [ "$(cat out/failing_nodes.txt)" = node2 ]
    [ "$(paste -sd, out/passing_nodes.txt)" = node0,node1,node3 ]
    [[ $output == *"srun --exclude=node2 ..."* ]]
    run -0 --separate-stderr windsock --hosts lab --quick --nodes out
    [ ! -s out/failing_nodes.txt ]
    [ "$(wc -l <out/passing_nodes.txt)" = 4 ]
}

@test "what passed between hosts ends with what to type for one's own job; nothing else does, nor for programs" {
    export WINDSOCK_HOSTS=node0,node1
    next="Next, for your own job:  ddpsmoke --rsh '$WINDSOCK_RSH' --hosts node0,node1 --emit torchrun   #"
    run -0 --separate-stderr windsock --hosts node0,node1 --quick
    [[ $output == *$'\n\n'"$next"*$'\n'"Its interface alone:  "*$'\n\nPASS'* ]]
    # they are what they say they are
    while read -r line; do
        run -0 --separate-stderr on 0 env -C "$PWD" PATH="$BIN:$PATH" sh -c "${line#*:  }"$'\n''echo "$NCCL_SOCKET_IFNAME"'
        [[ $output == *=eth0* ]]
    done < <(grep -E '^(Next|Its interface)' <<<"$output")
    for more in --quiet --strict --json --format=markdown --format=tap; do
        run --separate-stderr windsock --hosts node0,node1 --quick "$more"
        [[ $output != *"--emit torchrun"* ]]
    done
    run -0 --separate-stderr windsock --quick # this host alone
    [[ $output != *"--emit torchrun"* ]]
    on 1 nft 'add table inet t; add chain inet t c { type filter hook input priority 0; policy accept; }; add rule inet t c iifname != lo tcp dport 29500-65535 drop'
    run -1 --separate-stderr windsock --hosts node0,node1 --quick
    on 1 nft delete table inet t
    [[ $output != *"--emit torchrun"* ]]
}

@test "a host that does not answer is named; the others are tested" {
    run -1 --separate-stderr windsock --hosts node0,node1,nowhere --quick --json
    valid
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = nowhere ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1 ]
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.check) \(.hosts[0])"' <<<"$output")" = "hosts host.answer nowhere" ]
}

@test "a node that vanishes in the middle is the first cause, and excluded; what stands on it says why" {
    mkdir own
    cp "$BIN"/{windsock,ifprobe,portcheck,ddpsmoke} own/
    # when the collectives begin, node2 goes; the ranks are the real ones
    printf '#!/bin/sh\n[ "$1" = --help ] || "%s" on "%s" node2 -- ip link set eth0 down\nexec "%s" "$@"\n' \
        "$ROOT/scripts/lab" "$LAB_NAME" "$BIN/ncclbench" >own/ncclbench
    chmod +x own/ncclbench
    run --separate-stderr on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" "$PWD/own/windsock" \
        --hosts node0,node1,node2,node3 --deadline 4s --json
    on 2 ip link set eth0 up
    [ "$status" = 1 ]
    valid
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.subject)"' <<<"$output")" = "reach node2" ]
    [[ $(jq -r '.data.causes[0].message' <<<"$output") == *"after the collectives failed; before them it was well"* ]]
    [ "$(jq -r '.data.exclude' <<<"$output")" = node2 ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node3 ]
    [[ $(jq -r '.findings[] | select(.check == "stage.training").message' <<<"$output") == "not reached because reach failed: node2 "* ]]
}

@test "two nodes of one name: said first, whatever else their names do" {
    on 2 hostname node1
    run -0 --separate-stderr windsock --hosts lab --quick --json
    on 2 hostname node2
    valid
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.check) \(.hosts[0])"' <<<"$output")" = "hosts drift.hostname node2" ]
    # the nodes of a lab have one kernel
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == "windsock --rsh '$WINDSOCK_RSH' --hosts 'node[0-1,3]' "* ]]
}

@test "a budget is kept, and what was left out is said" {
    begin=${EPOCHREALTIME/./}
    run -0 --separate-stderr windsock --hosts lab --budget 3s --json
    ((${EPOCHREALTIME/./} - begin < 12000000)) # a busy machine is slow to begin and to end
    valid
    [[ $(jq -r '.findings[] | select(.check == "stage.training").message' <<<"$output") == "left out: it takes about"* ]]
    # what takes less and comes first is not left out for what comes later
    jq -e '.data.left_out | index("reach", "paths") == null or index("collectives")' <<<"$output"
}

@test "no way was tested and data was moved: that is what the verdict says" {
    mkdir own
    cp "$BIN"/{windsock,ncclbench,ddpsmoke} own/
    for name in ifprobe portcheck; do # between hosts they come to nothing
        printf '#!/bin/sh\ncase "$*" in *--hosts*) exit 3 ;; esac\nexec "%s" "$@"\n' "$BIN/$name" >"own/$name"
        chmod +x "own/$name"
    done
    run --separate-stderr on 0 env -C "$PWD" WINDSOCK_RSH="$WINDSOCK_RSH" "$PWD/own/windsock" --hosts lab --json
    [[ $(jq -r .data.covers <<<"$output") == "4 of 4 hosts, with collectives and training; who reaches whom was not tested" ]]
}

@test "from a machine that is no node: a laptop with a way to them" {
    run -0 --separate-stderr "$BIN/windsock" --hosts lab --quick --json
    valid
    [ -z "$(wrong)" ]
}

@test "join: the line that another command's --serve prints, pasted on the other machine" {
    on 0 sh -c "exec '$BIN/ncclbench' --serve -b 8 -e 1K --json" >answer 2>said &
    serving=$!
    for ((i = 0; i < 200; i++)); do
        ! grep -q 'windsock join' said || break
        sleep 0.05
    done
    line=$(grep -o 'windsock join .*' said | head -n 1)
    [[ $line == "windsock join 10.77.0.1:"* ]]
    on 1 sh -c "PATH='$BIN':\$PATH; $line"
    wait "$serving"
    [ "$(jq -r '.data.world.ranks[].host' answer | paste -sd,)" = node0,node1 ]
    run -2 --separate-stderr on 1 "$BIN/windsock" join
    [[ $stderr == *"takes HOST:PORT and then the code"* ]]
}

@test "inside a scheduler's job: its hosts, reached its way; other tasks of a step keep silent" {
    local job

    printf 'node1\nnode1\nnode2\n' >nodes
    run -0 --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" PBS_NODEFILE="$PWD/nodes" "$BIN/windsock" --quick --json
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node1,node2 ]
    printf 'node1\nnode1\n' >nodes # a job of one host has no way to go: it is this one
    run -0 --separate-stderr on 1 env WINDSOCK_RSH=false PBS_NODEFILE="$PWD/nodes" "$BIN/windsock" --quick --json
    [[ $(jq -r .data.covers <<<"$output") == "this host only"* ]]
    mkdir bin
    # "blaunch HOST COMMAND" as ssh, "qrsh -inherit -V HOST COMMAND": both for a shell there
    printf '#!/bin/bash\necho "blaunch $1" >>%q/calls\nexec %s "$@"\n' "$PWD" "$WINDSOCK_RSH" >bin/blaunch
    printf '#!/bin/bash\necho "qrsh $1 $2 $3" >>%q/calls\nshift 2\nexec %s "$@"\n' "$PWD" "$WINDSOCK_RSH" >bin/qrsh
    chmod +x bin/blaunch bin/qrsh
    printf 'node0\nnode0\nnode1\n' >nodes
    job=(env -u WINDSOCK_RSH "PATH=$PWD/bin:$PATH" LSB_JOBID=7 LSB_DJOB_HOSTFILE="$PWD/nodes")
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/windsock" --quick --json
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1 ]
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/ncclbench" -b 8 -e 8 -n 1
    [[ $stderr == *"all ranks are on this host; this job of LSF has 2: --hosts \"\$LSB_DJOB_HOSTFILE\" --rsh 'blaunch' starts ranks on each of them"* ]]
    printf 'node%s 8 all.q@node%s UNDEFINED\n' 0 0 2 2 >nodes
    job=(env -u WINDSOCK_RSH "PATH=$PWD/bin:$PATH" JOB_ID=3 SGE_ROOT=/opt/sge PE_HOSTFILE="$PWD/nodes")
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/portcheck" --json
    [ "$(jq '.data.pairs | length' <<<"$output")" = 2 ]
    [ "$(sort -u calls)" = $'blaunch node0\nblaunch node1\nqrsh -inherit -V node2' ]
    # srun as we call it: "srun OPTIONS -w HOST sh -c COMMAND"
    printf '#!/bin/bash\necho "${SLURM_OVERLAP-} $*" >>%q/calls\nwhile [ "$1" != -w ]; do shift; done\nexec %s "$2" "$5"\n' \
        "$PWD" "$WINDSOCK_RSH" >bin/srun
    chmod +x bin/srun
    job=(env -u WINDSOCK_RSH "PATH=$PWD/bin:$PATH" SLURM_JOB_NODELIST='node[0-2]' SLURM_JOB_NUM_NODES=3)
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/windsock" --quick --json
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node2 ]
    grep -q -- '^1 -Q .*-w node1 sh -c' calls
    # a way that somebody has named is gone by both
    : >calls
    for scheduler in SLURM_JOB_NODELIST='node[0-2] SLURM_JOB_NUM_NODES=3' LSB_JOBID='7 LSB_MCPU_HOSTS=node0 8 node1 8 node2 8'; do
        IFS=' ' read -r first rest <<<"$scheduler"
        named=(env "PATH=$PWD/bin:$PATH" WINDSOCK_RSH="$WINDSOCK_RSH" "$first" "$rest")
        run -0 --separate-stderr on 0 "${named[@]}" "$BIN/windsock" --quick --json
        [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node0,node1,node2 ]
        run -0 --separate-stderr on 0 "${named[@]}" "$BIN/portcheck" --json
        [ "$(jq '.data.pairs | length' <<<"$output")" = 6 ]
    done
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/portcheck" --rsh "$WINDSOCK_RSH" --json
    [ ! -s calls ]
    run -0 --separate-stderr on 0 "${job[@]}" SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=1 "$BIN/windsock" --quick
    [ -z "$output$stderr" ]
    run -0 --separate-stderr on 0 "${job[@]}" "$BIN/windsock" --here --quick --json
    [[ $(jq -r .data.covers <<<"$output") == "this host only"* ]]
}

@test "the same code everywhere: the odd host is named, with what mends it" {
    # every node has a folder of its own under one name
    on all sh -c "mkdir -p '$PWD/own' && mount -t tmpfs tmpfs '$PWD/own' && mkdir '$PWD/own/code' &&
        echo train >'$PWD/own/code/a.py' && ln -s a.py '$PWD/own/code/b.py'"
    on 1 sh -c "cd '$PWD/own' && mv code elsewhere && ln -s elsewhere code" # that is no difference
    run -0 --separate-stderr windsock --hosts lab --quick --same "$PWD/own/code" --json
    on 2 sh -c "echo 'train ' >'$PWD/own/code/a.py'"
    run -1 --separate-stderr windsock --hosts lab --quick --same "$PWD/own/code" --json
    valid
    [ "$(jq -r '.data.causes[0] | "\(.check) \(.hosts[0]) \(.subject)"' <<<"$output")" = "drift.same node2 $PWD/own/code" ]
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == "rsync -ac --delete -e "*" node0:"*"/own/code/ "*"/own/code/"* ]]
    on 2 rm -r "$PWD/own/code"
    run -1 --separate-stderr windsock --hosts lab --quick --same "$PWD/own/code" --json
    [[ $(jq -r '.data.causes[0].message' <<<"$output") == "missing here, "*" on 3 of 4 hosts" ]]
    on all umount "$PWD/own"
}

joining=(1 2)
serve() { # OPTIONS...: on node0, with node1 and node2 joining (or $joining); the answer is in `answer`
    on 0 env "PATH=$BIN:$PATH" "$BIN/windsock" --serve --wait 2 "$@" >answer 2>said &
    serving=$!
    for ((i = 0; i < 200; i++)); do
        ! grep -q 'windsock join' said || break
        sleep 0.05
    done
    line=$(grep -o 'windsock join .*' said | head -n 1)
    on "${joining[0]}" sh -c "PATH='$BIN':\$PATH; $line" >joined1 2>&1 &
    code=0 joined=0
    on "${joining[1]}" sh -c "PATH='$BIN':\$PATH; $line" >joined2 2>&1 || joined=$?
    wait "$serving" || code=$?
}
answered() { # CODE, also of who joined: what it said is in $output
    [ "$code $joined" = "$1 $1" ]
    output=$(<answer)
    valid
}

@test "serve: machines that only join are tested like all others" {
    serve --json
    answered 0
    [ -z "$(wrong)" ]
    [ "$(jq -r '.data.passing_nodes | sort | join(",")' <<<"$output")" = node0,node1,node2 ]
    [[ $(jq -r .data.covers <<<"$output") == "3 of 3 hosts and the ways between them, with collectives and training" ]]
    [ "$(jq '.nodes | length' <<<"$output")" = 3 ]
    [ "$(jq -r '.data.parts.collectives.world.ranks | length' <<<"$output")" = 3 ]
    [[ $(<joined2) == *"the run is over"* ]]
    run ! pgrep -f 'windsock --serve'
}

@test "serve: a line pasted where it was printed is no pair, and no pass" {
    same='"error \(.host) \(.fix[0])"'
    told="error node0 paste the line of --serve on each other machine, once"
    joining=(0 1) # the other one is tested
    serve --quick --json
    answered 3
    [ "$(jq -r ".findings[] | select(.check == \"drift.hostname\") | $same" <<<"$output")" = "$told" ]
    [ "$(jq -r '.findings[] | select(.check == "mesh.reach") | .status' <<<"$output")" = pass ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <<<"$output")" = node1 ]
    joining=(0 0)
    serve --json
    answered 3
    [ "$(jq -r "[.findings[] | select(.check == \"drift.hostname\") | $same] | unique[]" <<<"$output")" = "$told" ]
    [ "$(jq -r '[.findings[] | select(.status == "skip") | .check] | join(",")' <<<"$output")" = stage.reach,stage.paths,stage.collectives,stage.training ]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 0 ]
}

@test "serve: code that is not alike, and a name that one of them does not know" {
    mkdir own
    on all sh -c "mount -t tmpfs tmpfs '$PWD/own' && echo train >'$PWD/own/a.py'"
    on 1 sh -c "echo 'train ' >'$PWD/own/a.py'"
    serve --quick --json --same "$PWD/own" --master node0
    on all umount "$PWD/own"
    answered 1
    [ "$(jq -r '.findings[] | select(.check == "drift.same") | "\(.status) \(.host)"' <<<"$output")" = "fail node1" ]
    [ "$(jq -r '[.nodes[].data.facts.master[0]] | unique | join(",")' <<<"$output")" = 10.77.0.1 ]
}

@test "serve: machines that have more to say than fits into one message" {
    local deep name same=() i
    name=$(printf 'n%.0s' {1..240})
    deep=$name/$name/$name
    for i in {1..6}; do # of each so many names are told
        mkdir -p "own/$i/$deep"
        (cd "own/$i/$deep" && for k in {1..256}; do echo "$k" >"$name$k"; done)
        same+=(--same "$PWD/own/$i")
    done
    serve --quick --json "${same[@]}"
    answered 0
    [ "$(jq '[.nodes[].data.facts.same_files[] | length] | length, add' <<<"$output" | paste -sd,)" = 18,4608 ]
    [ "$(jq '.nodes[1].data | tostring | length > 1048576' <<<"$output")" = true ]
}

@test "serve: a host behind a firewall is named, with its rule" {
    on 2 nft 'add table inet t; add chain inet t c { type filter hook input priority 0; policy accept; }; add rule inet t c iifname != lo tcp dport 29500-65535 ct state new drop'
    serve --quick --json
    on 2 nft delete table inet t
    answered 1
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = node2 ]
    [ "$(jq -r '.data.causes[0] | "\(.check) \(.subject)"' <<<"$output")" = "mesh.in node2" ]
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == *"nft insert rule inet t c"* ]]
}

@test "serve: of a firewall that runs and may not be read it is said at once, whatever job it is typed in" {
    local job begin
    # SETTINGS...: by nobody, beside a firewalld, from a folder that he may enter
    serve_in() {
        run -1 --separate-stderr on 0 env "$@" unshare --mount sh -c '
            mount -t tmpfs none /run && mkdir /run/firewalld && mount -t tmpfs none /mnt && cp "$0"/windsock "$0"/portcheck /mnt &&
            cd /mnt && exec setpriv --reuid=65534 --regid=65534 --clear-groups ./windsock --serve --wait-time 1s --quick' "$BIN"
        [[ $stderr == *"warning: this host's firewall was not looked at: "*"root"*"; running: firewalld"*"-> sudo "* ]]
    }
    begin=$SECONDS
    serve_in A=B
    serve_in SLURM_JOB_NODELIST='node[0-2]' SLURM_JOB_NUM_NODES=3 WINDSOCK_RSH=false
    serve_in RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=a MASTER_ADDR=10.77.0.1 MASTER_PORT=29500
    ((SECONDS - begin < 12))
}

@test "serve: a group that lets in the line's port alone is named, not who did not come" {
    on 0 nft 'add table inet t; add chain inet t c { type filter hook input priority 0; policy drop; }; add rule inet t c ct state established,related accept; add rule inet t c iif lo accept; add rule inet t c tcp dport { 22, 29499, 29500 } accept'
    serve --quick --json
    on 0 nft delete table inet t
    grep -A1 "warning: this host's firewall drops what comes from 10.77.0.0/16" said | grep -e '-> .*nft insert rule inet t c ip saddr 10.77.0.0/16 accept' # before anybody waits for it
    answered 1
    [ "$(jq -r '.data.causes[0] | "\(.check) \(.subject)"' <<<"$output")" = "port.tcp node0" ]
    [[ $(jq -r '.data.causes[0].message' <<<"$output") == "no way to 10.77.0.1:2950"*", where all meet: filtered"* ]]
    [[ $(jq -r '.data.causes[0].fix[0]' <<<"$output") == "aws ec2 authorize-security-group-ingress"* ]]
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = node0 ]
    # one that cannot get out is a pair with it: of such a pair both are left out
    on 2 nft 'add table inet t; add chain inet t c { type filter hook output priority 0; policy accept; }; add rule inet t c oif != lo tcp dport 29501-29999 drop'
    serve --quick --json
    on 2 nft delete table inet t
    [ "$code" = 1 ]
    [ "$(jq -r '.data.causes[0] | "\(.check) \(.subject)"' <answer)" = "port.tcp node2 -> node0" ]
    [ "$(jq -r '.data.failing_nodes | sort | join(",")' <answer)" = node0,node2 ]
    [ "$(jq -r '.data.passing_nodes | join(",")' <answer)" = node1 ]
}

@test "serve: the last one that joins is killed when the run has begun: it is named, and what to type" {
    local file text
    # before it has said anything of itself, and in the middle
    for file in joined1:begins answer:drift.all; do
        text=${file#*:} file=${file%:*}
        : >joined1
        on 0 "$BIN/windsock" --serve >answer 2>said &
        serving=$!
        wait_for 10 grep -q 'windsock join' said
        line=$(grep -o 'windsock join .*' said | head -n 1)
        on 1 sh -c "echo \$\$ >'$PWD/joiner'; exec '$BIN'/$line" >joined1 2>&1 &
        wait_for 10 grep -q "$text" "$file"
        on 1 kill -9 "$(<joiner)"
        code=0
        wait "$serving" || code=$?
        cat answer
        [ "$code" = 1 ]
        grep -A 1 '^fail  host.answer .*rank 1 (node1, 10.77.0.2) died: its host is lost' answer | grep -e '-> windsock --serve '
        [[ $(tail -n 1 answer) == FAIL* ]]
    done
    [[ $(<answer) == *"Without them:  srun --exclude=node1 "* ]]
}

@test "names that differ: the one list for all is there to be typed, and what passed alike is a line" {
    run -0 --separate-stderr "$ROOT/scripts/lab" run 4 -- env PATH="$BIN:$PATH" sh -c '
        $WINDSOCK_RSH node1 "ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up"
        windsock --quick --hosts lab; ifprobe --hosts lab | sed "s/^/bare: /"'
    [[ $output == *"suggest.names "*$'\n'"      -> export NCCL_SOCKET_IFNAME='=eth0,ens5'   # in the job, the same on every host"* ]]
    [[ $output == *"bare:       -> export NCCL_SOCKET_IFNAME='=eth0,ens5'   # in the job, the same on every host"* ]]
    grep -Eq '^pass +peer\.reach +3 checks +passed: node\[1-3\]$' <<<"$output"
}
