#!/usr/bin/env bats
# Ranks that somebody else started: by hand, with --init, by a shared file.
bats_require_minimum_version 1.5.0
load launch.sh

@test "RANK and WORLD_SIZE by hand on three nodes, and --init tcp://" {
    for how in env init; do
        for r in 0 1 2; do
            if [ $how = env ]; then
                on "$r" env RANK=$r WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" -- who >"out$r" 2>&1 3>&- &
            else
                on "$r" "$P" --init tcp://node0:29501 --rank "$r" --world-size 3 -- who >"out$r" 2>&1 3>&- &
            fi
        done
        wait
        for r in 0 1 2; do
            grep -q "rank $r of 3, .* at 10.77.0.$((r + 1)), hosts node0 node1 node2" "out$r" || { cat out*; false; }
        done
    done
    wait_for 15 nothing_left
}

@test "rank 0's own name at 127.0.1.1 in its own /etc/hosts, as Debian has it, keeps nobody out" {
    printf '127.0.0.1 localhost\n127.0.1.1 node0\n' >debian
    for how in env init; do
        for r in 0 1; do
            cmd=("$P" --init tcp://node0:29501 --rank "$r" --world-size 2)
            [ $how = init ] || cmd=(env RANK="$r" WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "$P")
            # shellcheck disable=SC2016 # for that shell
            ((r)) || cmd=(unshare -m sh -c 'mount --bind debian /etc/hosts && exec "$@"' sh "${cmd[@]}")
            on "$r" "${cmd[@]}" --deadline 5 -- who >"out$r" 2>&1 3>&- &
        done
        wait
        for r in 0 1; do
            grep -q "rank $r of 2, .* at 10.77.0.$((r + 1)), hosts node0 node1" "out$r" || { cat out*; false; }
        done
    done
    # what is a loopback address in so many words is for this host alone
    on 0 env MASTER_ADDR=127.0.0.1 MASTER_PORT=29502 RANK=0 WORLD_SIZE=2 "$P" --deadline 5 -- who >out0 2>&1 3>&- &
    wait_for 15 on 0 sh -c 'ss -ltnH "sport >= :29502 and sport <= :29509" | grep -q .'
    on 0 ss -ltnH 'sport >= :29502 and sport <= :29509' >listens
    grep -qF 127.0.0.1:2950 listens
    run ! grep -qE '(\*|0\.0\.0\.0|\[::\]):2950' listens
    wait
}

@test "a name with two addresses, the first of another machine: the second is found, or both are said" {
    printf '127.0.0.1 localhost\n10.77.0.3 node0\n10.77.0.1 node0\n' >two
    on 1 unshare -m sh -c 'mount --bind two /etc/hosts && getent ahostsv4 node0' >order
    grep -q '^10.77.0.3 .*STREAM' order && [[ $(<order) == 10.77.0.3* ]] # the wrong one is first
    # shellcheck disable=SC2016 # for that shell
    as=(unshare -m sh -c 'mount --bind two /etc/hosts && exec "$@"' sh)
    on 0 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" --deadline 10 -- who >out0 2>&1 3>&- &
    on 1 "${as[@]}" env RANK=1 WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" --deadline 10 -- who >out1 2>&1
    wait
    grep -q 'rank 1 of 2, .* at 10.77.0.2, hosts node0 node1' out1 || { cat out*; false; }
    run -3 on 1 "${as[@]}" env RANK=1 WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" --deadline 1500ms -- who
    [[ $output == *"the last tries: cannot connect to 10.77.0.3:"*refused*"; cannot connect to 10.77.0.1:"*refused* ]]
}

@test "a held MASTER_PORT is gone round; WINDSOCK_TOKEN is asked for where it must be" {
    on 0 python3 -c 'import socket,time; s=socket.create_server(("",29500)); time.sleep(20)' 3>&- &
    wait_for 15 on 0 sh -c 'ss -ltn | grep -q :29500'
    for r in 0 1; do
        on "$r" env RANK=$r WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
            TORCHELASTIC_RUN_ID=x GROUP_RANK="$r" "$P" -- who >"out$r" 2>&1 3>&- &
    done
    wait -n
    wait_for 15 grep -q 'rank 0 of 2, .*by torchrun, at 10.77.0.1, hosts node0 node1' out0 || { cat out0 out1; false; }
    wait_for 15 grep -q 'rank 1 of 2' out1
    run -2 env RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29599 "$P" --require-token
    [[ $output == *"WINDSOCK_TOKEN is not set"* ]]
    on 0 pkill -f create_server
}

@test "the token that the Kubernetes job's line makes is taken by every rank, and another one is not" {
    # shellcheck disable=SC2016 # as it stands there
    make=$(sed -n 's/.*--from-literal=token="$(\(.*\))"$/\1/p' "$ROOT/scripts/kubernetes/job.yaml")
    [ -n "$make" ]
    type -t "${make%% *}" || skip "no ${make%% *} here"
    WINDSOCK_TOKEN=$(sh -c "$make") other=$(sh -c "$make")
    export WINDSOCK_TOKEN
    for r in 0 1; do
        on "$r" "$P" --init tcp://node0:29500 --rank "$r" --world-size 2 --require-token -- who >"out$r" 2>&1 3>&- &
    done
    wait
    grep -q 'rank 0 of 2' out0 && grep -q 'rank 1 of 2' out1 || { cat out0 out1; false; }
    on 0 "$P" --init tcp://node0:29500 --rank 0 --world-size 2 --deadline 3s -- who >out0 2>&1 3>&- &
    run -3 on 1 env WINDSOCK_TOKEN="$other" "$P" --init tcp://node0:29500 --rank 1 --world-size 2 --deadline 3s -- who
    wait
    run ! grep -q 'rank 0 of 2' out0
    run -2 env WINDSOCK_TOKEN="${other%?}" "$P" --init tcp://127.0.0.1:29599 --rank 0 --world-size 1 -- who
    [[ $output == *"not a code of ours"*"$make"* ]]
}

@test "--init file:// on a plain shared folder, with an old file in the way" {
    printf 'windsock 1\n10.77.0.1\n1\nAAAA\n' >meet
    for r in 1 2; do
        on "$r" "$P" --init "file://$PWD/meet" --rank "$r" --world-size 3 -- who >"out$r" 2>&1 3>&- &
    done
    sleep 0.3
    on 0 "$P" --init "file://$PWD/meet" --rank 0 --world-size 3 -- who >out0 2>&1
    wait
    for r in 0 1 2; do
        grep -q "rank $r of 3, .* at 10.77.0.$((r + 1)), hosts node0 node1 node2" "out$r" || { cat out*; false; }
        run ! grep -q 'locks on the file system' "out$r"
    done
    [ ! -e meet ]
    run -3 "$P" --init "file://$PWD/meet" --rank 1 --world-size 2 --deadline 300ms
    [[ $output == *"rank 0 has not written"* ]]
    # one of a run that was killed, at whose port somebody else listens by now
    on 0 "$P" --init "file://$PWD/meet" --rank 0 --world-size 2 --deadline 20 -- who >out0 2>&1 3>&- &
    wait_for 10 test -s meet
    on 0 pkill -9 -x rank_probe
    wait || true
    sed -i '3s/.*/29540/' meet
    on 0 python3 -c 'import socket
s = socket.create_server(("", 29540))
while True: s.accept()[0].close()' 3>&- &
    wait_for 10 on 0 sh -c 'ss -ltn | grep -q :29540'
    on 1 "$P" --init "file://$PWD/meet" --rank 1 --world-size 2 --deadline 10 -- who >out1 2>&1 3>&- &
    local one=$!
    sleep 0.4
    run -0 on 0 "$P" --init "file://$PWD/meet" --rank 0 --world-size 2 --deadline 10 -- who
    wait "$one" || { cat out1; false; }
    on 0 pkill -f create_server
    grep -q 'rank 1 of 2' out1
}

@test "runs that follow each other at one place: a quick rank waits for its own" {
    local url of
    for url in tcp://node0:29533 "file://$PWD/meet"; do
        of=(--init "$url" --world-size 2)
        on 0 "$P" "${of[@]}" --rank 0 -- hang >first 2>&1 3>&- &
        run -0 on 1 "$P" "${of[@]}" --rank 1 -- exit 0
        wait_for 10 says 1 '^pid ' first
        on 1 "$P" "${of[@]}" --rank 1 --deadline 10 -- who >out1 2>&1 3>&- &
        sleep 0.4 # it comes while the first run is not through
        on 0 kill -INT "$(sed -n 's/^pid //p' first)"
        run -0 on 0 "$P" "${of[@]}" --rank 0 --deadline 10 -- who
        wait
        grep -q 'rank 1 of 2' out1 || { cat out1; false; }
    done
    # who comes when nothing follows hears at its end what is wrong
    of[1]=tcp://node0:29534
    on 0 "$P" "${of[@]}" --rank 0 -- hang >first 2>&1 3>&- &
    run -0 on 1 "$P" "${of[@]}" --rank 1 -- exit 0
    run -3 on 1 "$P" "${of[@]}" --rank 1 --deadline 1 -- who
    on 0 pkill -9 -x rank_probe
    echo "$output"
    [[ $output == *"comes when rank 1 (node1, 10.77.0.2) was here and is gone"* ]]
}

@test "--init file:// touches nothing that may be somebody's" {
    mkfifo pipe
    mkdir folder
    ln -s /nowhere/at/all link
    echo 'import torch' >train.py
    for place in pipe folder link train.py; do
        for r in 0 1; do
            run -2 --separate-stderr timeout 20 "$P" --init "file://$PWD/$place" --rank $r --world-size 2 --deadline 10
            [[ $stderr == *"$place is there already"*"name a file that does not exist"* ]]
        done
    done
    [ -p pipe ] && [ -d folder ] && [ -L link ] && [ "$(<train.py)" = 'import torch' ]
    # what another user wrote would lead to whom that one likes
    printf 'windsock 1\n10.77.0.1\n1\nAAAA\n' >theirs
    chown 65534 theirs
    run -2 --separate-stderr timeout 20 "$P" --init "file://$PWD/theirs" --rank 1 --world-size 2 --deadline 5
    [[ $stderr == *"theirs belongs to user 65534, and this is user 0: it is not followed"* ]]
    # one that is empty, as mktemp leaves it, is meant for us
    : >empty
    "$P" --init "file://$PWD/empty" --rank 1 --world-size 2 -- who >out1 2>&1 3>&- &
    "$P" --init "file://$PWD/empty" --rank 0 --world-size 2 -- who >out0 2>&1
    wait
    grep -q 'rank 1 of 2' out1
    [ ! -e empty ]
}

@test "under a foreign launcher a killed rank 0 is named by the others" {
    for r in 0 1 2; do
        on "$r" env RANK=$r WORLD_SIZE=3 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" -- hang >"out$r" 2>&1 3>&- &
    done
    for r in 0 1 2; do wait_for 10 says 1 '^pid ' "out$r"; done
    on 0 kill -9 "$(sed -n 's/^pid //p' out0)"
    wait
    cat out1 out2
    grep -q 'rank 0 (node0, 10.77.0.1) died: connection lost' out1
    grep -q 'rank 0 (node0, 10.77.0.1) died: connection lost' out2
    wait_for 15 nothing_left || { ours; false; }
}

@test "rank 0 that was sent to another host's address says so, not that nobody is there" {
    for at in node1 10.77.0.2; do
        run -3 on 0 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=$at MASTER_PORT=29500 "$P" --deadline 1 -- who
        [[ $output == *"rank 0 is on this host, and the address given for it, $at"*", is none of this host's"*"10.77.0.1"* ]]
        [[ $output == *"-> export MASTER_ADDR=10.77.0.1"* && $output != *"no rendezvous"* ]]
    done
    run -3 on 1 env RANK=1 WORLD_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 "$P" --deadline 1 -- who
    [[ $output == *"no rendezvous at 10.77.0.1:29500"* ]]
}

@test "AWS Batch: a node each, the last of them the main one, which is not told its own address" {
    for r in 0 1 2; do
        main=(env AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.77.0.3)
        ((r < 2)) || main=(env)
        on "$r" "${main[@]}" AWS_BATCH_JOB_ID="job-1#$r" AWS_BATCH_JOB_NUM_NODES=3 AWS_BATCH_JOB_MAIN_NODE_INDEX=2 \
            AWS_BATCH_JOB_NODE_INDEX="$r" "$P" --deadline 10 -- who >"out$r" 2>&1 3>&- &
    done
    wait
    cat out*
    for r in 0 1 2; do # node2 is rank 0
        grep -q "rank $(((r + 1) % 3)) of 3, .* at 10.77.0.$((r + 1)), hosts node2 node0 node1" "out$r"
    done
}
