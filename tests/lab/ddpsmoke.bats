#!/usr/bin/env bats
# ddpsmoke over a cluster: hosts over a remote shell, machines that join with a
# pasted line, mpirun; a node that is cut off, a rank that dies or stops there.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../cli/ddpsmoke.sh
load ddpsmoke.sh
load ../wait.sh

smoke() { run --separate-stderr on 0 "$BIN/ddpsmoke" "$@"; }

fails() { # CHECK TEXT
    grep -Eq "^fail  $1 .*$2" <<<"$output" || { echo "$output" "$stderr"; false; }
}

ended() { # CODE PID: of a child of ours
    local code=0
    wait "$2" || code=$?
    cat "$OUT" "$ERR"
    [ "$code" -eq "$1" ]
}

nobody_left() { ! pgrep -f -- "--seed $1" >/dev/null; }

@test "--hosts lab: a rank on each node, all proofs, hosts by name" {
    smoke --hosts lab --json
    valid
    [ "$status" -eq 0 ]
    jq -e "$FINE"'fine and ([.data.world.ranks[].host] == ["node0", "node1", "node2"]) and
        ([.data.world.ranks[].address] | unique | length == 3 and all(startswith("10.77.")))' <<<"$output"
    jq -e '.data.checks | .params_equal_across_ranks and .equals_single_process' <<<"$output"
    jq -e '.data.covers | test("3 ranks on 3 hosts")' <<<"$output"
}

@test "machines of one image have one name: they are two, and what is typed leads to the right one" {
    on 0 hostname ubuntu
    on 1 hostname ubuntu
    smoke --hosts 10.77.0.1,10.77.0.2,node2 --steps 2 --fault 1:build
    local odd=$output
    smoke --hosts 10.77.0.1,10.77.0.2 --fault 1:die
    local died=$output
    on 1 sh -c 'ip link set eth0 down; ip link set eth0 name ens5; ip link set ens5 up'
    smoke --hosts 10.77.0.1,10.77.0.2 --steps 2 --emit torchrun
    on 1 sh -c 'ip link set ens5 down; ip link set ens5 name eth0; ip link set eth0 up'
    on 0 hostname node0
    on 1 hostname node1
    [[ $odd == *'(ubuntu, 10.77.0.2)'*'-> '*' 10.77.0.2'[': ']*"$BIN/ddpsmoke.new"* ]] # the fix is for that one, where it runs
    [[ $died == *'(ubuntu, 10.77.0.2) died: '*'-> '*' 10.77.0.2 '*dmesg* ]]
    [[ $output == *"# on each of 10.77.0.1,10.77.0.2, with NODE=0 to 1"*"torchrun --nnodes 2 "* ]]
    [[ $output == *$'\n'"0) export NCCL_SOCKET_IFNAME='=eth0' "*$'\n'"1) export NCCL_SOCKET_IFNAME='=ens5' "* ]]
    [[ $stderr != *"2 local ranks"* ]]
}

@test "MASTER_PORT that the other hosts do not reach is no line to start by, and else a warning" {
    jq -e '.data.world | .free_port >= 29500 and .free_port_reached' < <(on 0 "$BIN/ddpsmoke" --hosts lab --steps 2 --json)
    on 0 nft 'table inet door { chain in { type filter hook input priority 0; tcp dport 29500-29600 drop; }; }'
    smoke --hosts lab --steps 2 --emit torchrun
    local said=$stderr code=$status line=$output
    smoke --hosts lab --steps 2 --quiet
    on 0 nft delete table inet door
    [[ $code == 1 && -z $line && $said == *"emit.port "*" of node0 (10.77.0.1) is not reached from node1: no answer"* ]]
    [[ $said == *"-> portcheck --rsh "*" --hosts node0,node1 --ports 29500 "* ]]
    [[ $status == 0 && $output == *"warn  emit.port "* ]]
}

@test "two ranks on each of two nodes, started from a third that has none" {
    run -0 --separate-stderr on 2 "$BIN/ddpsmoke" --hosts node0,node1 --np-per-host 2 --samples 512 --json
    jq -e '[.data.world.ranks[].host] == ["node0", "node0", "node1", "node1"]' <<<"$output"
}

@test "all ranks on one other host are not local: which it is, also in what is to be typed" {
    smoke --hosts node1 --np 2 --steps 2 --emit torchrun
    [ "$output" = "# on node1
torchrun --standalone --nproc_per_node 2 train.py" ] || { echo "$output"; false; }
    smoke --hosts node1 --np 2 --steps 2 --json
    jq -e '.data.covers == "2 ranks on node1, on the CPU, gradients over TCP; neither a GPU nor a network was tested"' <<<"$output"
    smoke --hosts node1 --np 1 --steps 2 --json
    jq -e '.data.covers | startswith("1 rank on node1, on the CPU; no exchange")' <<<"$output"
    smoke --hosts node0 --np 2 --steps 2 --json
    jq -e '.data.covers | startswith("2 local ranks on the CPU")' <<<"$output"
}

@test "--partial: a host that cannot be reached is named, the others train" {
    smoke --hosts node0,node7,node1 --partial --samples 512 --json
    valid
    [ "$status" -eq 1 ]
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0] |
        .check == "rank.joined" and .subject == "node7" and (.fix[0] | test("rsh.* node7 true$")))' <<<"$output"
    jq -e '([.data.world.ranks[].host] == ["node0", "node1"]) and
        .data.checks.params_equal_across_ranks' <<<"$output"
    smoke --hosts node0,node7,node1 --partial --steps 4 --emit torchrun
    [[ $status == 1 && -z $output && $stderr == *"no line for torchrun: 1 check failed"* ]]
}

@test "a rank on another node with another data set, or one that computes wrongly" {
    smoke --hosts lab --samples 512 --fault 2:data
    [ "$status" -eq 1 ]
    fails rank.alike 'rank 2 \(node2, 10.77.0.3\) has another data set'
    smoke --hosts lab --samples 512 --fault 1:flip
    [ "$status" -eq 1 ]
    fails train.reference 'rank 1 \(node1, 10.77.0.2\) computed another gradient'
    [[ $output == *"-> ddpsmoke --rsh "*" --hosts node1 --np 1 --samples 512 --epochs 20"* ]]
    smoke --hosts lab --samples 512 --fault 1:wire
    fails train.params 'rank 1 \(node1, '
    [[ $output == *"-> ncclbench --rsh "*" --hosts lab --backend tcp -b 1M"* ]]
    smoke --hosts node0,node1 --np 4 --samples 512 --fault 1:wire # on one host: a line with that host twice has one rank
    fails train.params 'rank 1 \(node0, '
    [[ $output == *"-> ncclbench --rsh "*" --hosts node0,node1 --np 4 --backend tcp -b 1M"* ]]
}

@test "rank 0's host alone has other files: it is the one, and gets those of the others" {
    local odd of_two uneven
    "$ROOT/tests/cli/ddpsmoke_data.py" mnist set
    cp -r set odd
    printf x | dd of=odd/t10k-images-idx3-ubyte bs=1 seek=500 conv=notrunc status=none
    on 0 mount --bind odd set
    smoke --hosts lab --data mnist:set --steps 2
    odd=$output
    smoke --hosts node0,node1 --data mnist:set --steps 2
    of_two=$output
    smoke --hosts node0,node1 --np 3 --data mnist:set --steps 2
    uneven=$output # one has two ranks: that is no majority
    on 0 umount set
    grep -E '^fail  rank.alike  *rank 0  *rank 0 \(node0, 10.77.0.1\) has another data set \(t10k-images-idx3-ubyte differs\) than rank 1 \(node1, 10.77.0.2\) and 1 more' <<<"$odd"
    # from a good host, by the way that leads there, to that folder
    grep -E -- "-> .* node1 \"rsync -ac -e '.*' $PWD/set/ node0:$PWD/set/\"\$" <<<"$odd"
    for odd in "$of_two" "$uneven"; do
        grep -E '^fail  rank.alike  *cnn  *rank [12] \(node1, 10.77.0.2\) has another data set .* than rank 0 \(node0, 10.77.0.1\); which of them is right cannot be told' <<<"$odd" || { echo "$odd"; false; }
        [[ $odd == *" node0 ls -lL $PWD/set"*" node1 ls -lL $PWD/set"* && $odd != *rsync* ]]
    done
}

@test "what unpacks a file on another host does all of it there" {
    local line
    "$ROOT/tests/cli/ddpsmoke_data.py" mnist set
    cp -r set packed
    gzip -c set/t10k-labels-idx1-ubyte >packed/t10k-labels-idx1-ubyte
    on 1 mount --bind packed set
    smoke --hosts node0,node1 --data mnist:set --steps 2
    on 1 umount set
    fails rank.alike 'rank 1 \(node1, .*still packed by gzip'
    line=$(grep -o -- "-> .* node1 'mv .* && gunzip .*'\$" <<<"$output")
    [[ $line == *" node1 'mv set/"*" && gunzip set/"*.gz"'" ]]
}

@test "data that no host has is no rank's fault" {
    smoke --hosts lab --data "mnist:$BATS_TEST_TMPDIR/nowhere"
    [ "$status" -eq 3 ]
    [[ $stderr == *"on all hosts: cannot open $BATS_TEST_TMPDIR/nowhere/"*" - unpack the data set"* ]]
}

@test "a finding about a rank has its host and its number, whoever reports it" {
    local args
    for args in '--fault 1:flip' '--fault 1:seed' '--fault 1:die' "--checkpoint $BATS_TEST_TMPDIR --fault 1:forget"; do
        # shellcheck disable=SC2086
        smoke --hosts lab --samples 512 --json $args
        valid
        jq -e --arg args "$args" '[.findings[] | select(.status == "fail")] | length > 0 and
            all(.rank == 1 and .host == "node1" and .subject == "rank 1")' <<<"$output"
        jq -e '.host == "node0" and all(.findings[] | select(.status == "pass"); .host == "node0" and .rank == null)' <<<"$output"
    done
    smoke --hosts lab --samples 512 --fault 1:flip --format prometheus
    grep -F 'host="node1",check="train.reference",subject="rank 1",rank="1",status="fail"' <<<"$output"
    smoke --hosts lab --samples 512 --fault 1:flip --format junit
    grep -F 'classname="train.reference" name="rank 1" ' <<<"$output" # its words have the host
    run --separate-stderr on 2 "$BIN/ddpsmoke" --hosts node0,node1 --samples 512 --json --fault 0:flip
    jq -e '.host == "node2" and any(.findings[]; .check == "train.reference" and .host == "node0" and .rank == 0)' <<<"$output"
}

@test "a rank that dies or stops on another node" {
    smoke --hosts lab --fault 2:die
    [ "$status" -eq 1 ]
    fails rank.alive 'rank 2 \(node2, 10.77.0.3\) died: killed by signal 9'
    smoke --hosts lab --fault 1:stop --deadline 700ms
    [ "$status" -eq 1 ]
    fails rank.alive 'rank 1 \(node1, 10.77.0.2\) did nothing for 700 ms'
}

@test "a node is cut off while it trains: its rank is named, in time" {
    local seed=$((BASHPID * 7 + 1)) start
    on 0 "$BIN/ddpsmoke" --hosts lab --epochs 1000000 --deadline 1s --seed $seed >"$OUT" 2>"$ERR" 3>&- &
    wait_for 15 training $seed
    on 2 ip link set eth0 down
    start=$SECONDS
    ended 1 $!
    on 2 ip link set eth0 up
    ((SECONDS - start < 25)) # TCP itself takes a quarter of an hour
    grep -Eq '^fail  rank.alive .*rank 2 \(node2, 10.77.0.3\)' "$OUT"
    wait_for 15 nobody_left $seed
}

@test "no port is open between two nodes: who cannot be reached" {
    on 1 nft add table inet cut
    on 1 nft 'add chain inet cut in { type filter hook input priority 0; }'
    on 1 nft add rule inet cut in ip saddr 10.77.0.0/16 drop
    smoke --hosts lab --deadline 1s
    on 1 nft delete table inet cut
    [ "$status" -eq 1 ]
    fails rank.alive 'rank [01] \(node[01]'
    [[ $output == *"-> portcheck --rsh '"*"' --hosts "* ]] # from here, by the names that were given
}

@test "a host that does not exist is a finding, exit 1" {
    smoke --hosts node0,node7 --deadline 2s
    [ "$status" -eq 1 ]
    fails rank.joined node7
}

@test "--serve, and the line typed on another node" {
    local line
    on 0 "$BIN/ddpsmoke" --serve --samples 512 --json >"$OUT" 2>"$ERR" 3>&- &
    wait_for 10 grep -q ' join ' "$ERR"
    line=$(sed -n 's/^ *-> windsock join //p' "$ERR")
    # shellcheck disable=SC2086 # an address and a code
    on 1 "$BIN/ddpsmoke" --join $line </dev/null
    ended 0 $!
    jq -e '[.data.world.ranks[].host] == ["node0", "node1"]' "$OUT"
}

@test "under mpirun: rank 0 alone speaks, and says who started it" {
    command -v mpirun >/dev/null || skip "no mpirun"
    run -0 --separate-stderr on 0 mpirun --allow-run-as-root --oversubscribe --bind-to none -np 3 \
        "$BIN/ddpsmoke" --samples 512 --json
    jq -es "$FINE"'length == 1 and (.[0] | fine and (.data.world.ranks | length == 3))' <<<"$output"
    [[ $stderr == *"started by Open MPI"* ]]
}
