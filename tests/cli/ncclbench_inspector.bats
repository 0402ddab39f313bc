#!/usr/bin/env bats
# ncclbench --analyze on what NCCL's Inspector plug-in recorded of a training: is it normal, who is
# late, who stopped, what sank, what stood still; and healthy runs, of which nothing is said.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

dump() { "$BATS_TEST_DIRNAME/inspector_dump.py" "$@"; } # DIR [OPTIONS]
judged() { # CODE PATH [OPTIONS]
    run --separate-stderr "$BIN/ncclbench" --analyze "$2" "${@:3}" --json
    ((status == $1)) || { echo "exit code $status"; echo "$output$stderr"; return 1; }
}
finds() { # CHECK STATUS TEXT
    jq -e --arg c "$1" --arg s "$2" --arg t "$3" \
        'any(.findings[]; .check == $c and .status == $s and
            ((.subject // "") + ": " + .message | contains($t)))' <<<"$output" ||
        { echo "$output"; return 1; }
}
quiet() { # no warning and no failure
    jq -e '[.findings[] | select((.status | IN("pass", "info", "skip")) | not)] == []' <<<"$output" ||
        { echo "$output"; return 1; }
}

@test "a healthy training: every size's bandwidth, and no alarm" {
    dump ok --busbw 480 --name 'DP Group 0'
    judged 0 ok --nic 3200
    quiet
    finds world.size pass '6400 lines of 8 processes on 2 hosts in 1 communicator, over 6.7 min'
    finds rank.alive pass 'no rank stops'
    finds coll.bandwidth pass 'all_reduce, 8 ranks on 2 hosts: median 4'
    finds coll.bandwidth pass 'at 1 GiB, 128 % of what rings do at that size'
    finds coll.drift pass 'of 2 sizes'
    finds coll.stall pass 'no collective took 20 times'
    finds rank.straggler pass 'no rank and no host'
    jq -e '.data.inspector | .files == 8 and .lines == 6400 and .broken_lines == 0 and .gpus_per_host == 4
        and .communicators == [{id: "0x7f8c496ae9f661", name: "DP Group 0", ranks: 8, hosts: 2, ranks_recorded: 8}]
        and ([.collectives[].size] | sort == [26214400, 1073741824]) and all(.collectives[];
            .coll == "all_reduce" and .of_all_ranks and .lines == 3200 and .collectives == 400 and
            .busbw_p10 < .busbw_median and .busbw_median < .busbw_p90 and .waited_share < 0.1)' <<<"$output"
    run -0 --separate-stderr "$BIN/ncclbench" --analyze ok
    [[ $output == *"8 ranks on 2 hosts "*" all_reduce "*" 25 MiB "*" 3200 "*"all_reduce"*" 1 GiB "* ]]
}

@test "the bandwidth is that of the rank that came last, and not of those that waited for it" {
    dump late --busbw 480 --late 1:2
    judged 0 late --nic 3200
    finds coll.bandwidth pass '128 % of what rings do'
    finds rank.straggler warn 'the others wait for rank 6 (node1, pid 4002)'
    jq -e '.findings[] | select(.check == "rank.straggler") | .value > 30 and (.fix | length) > 0' <<<"$output"
    judged 1 late --nic 3200 --strict
    dump host --late 1
    judged 0 host
    finds rank.straggler warn 'the others wait for host node1'
}

@test "who is late in a grid has part in few of its communicators, and is found all the same" {
    dump rank --tensor --alone --hosts 4 --steps 100 --late 2:1
    judged 0 rank
    finds rank.straggler warn 'the others wait for rank 1 (node2, pid 4001) of communicator 0xaa2'
    dump host --tensor --alone --hosts 4 --steps 100 --late 3
    judged 0 host
    finds rank.straggler warn 'the others wait for host node3'
    dump even --tensor --alone --hosts 4 --steps 100
    judged 0 even
    quiet
}

@test "older versions record the latest collective now and then, and the late one is found all the same" {
    dump sampled --sampled
    judged 0 sampled
    quiet
    dump late --sampled --late 0:3
    judged 0 late
    finds rank.straggler warn 'the others wait for rank 3 (node0, pid 4003)'
    dump slow --sampled --busbw 30 # slow, or waiting for lines that are not here: no failure
    judged 0 slow --nic 3200
    finds coll.bandwidth warn "the ranks' waiting for one another is in it"
}

@test "slow between hosts is a failure; too small sizes and unknown cards are not judged" {
    dump slow --busbw 30
    judged 1 slow --nic 3200
    finds coll.bandwidth fail '8 % of what rings do at that size'
    judged 1 slow --instance p5.48xlarge
    finds coll.bandwidth fail 'p5.48xlarge has 32 network cards'
    judged 0 slow
    finds coll.bandwidth info 'the speed of the network cards is not known'
    judged 1 slow --expect 40
    finds coll.bandwidth fail 'asked for were 40.00'
    judged 0 slow --expect 20
    finds coll.bandwidth pass 'asked for were 20.00'
    judged 2 slow --expect much
    judged 3 slow --expect 50%
    finds coll.bandwidth error 'there is nothing to take --expect PERCENT of: the speed of the network cards is not known'
    dump small --small
    judged 0 small --nic 3200
    finds coll.bandwidth info 'at 25 MiB: too small to judge by'
    dump gather --coll ReduceScatter
    judged 0 gather --nic 3200
    quiet
    finds coll.bandwidth info 'only all_reduce is'
    jq -e '[.data.inspector.collectives[].size] | max == 8589934592' <<<"$output"
}

@test "inside one host the GPU decides, which the instance type tells" {
    dump one --hosts 1 --gpus 8 --busbw 360
    judged 0 one
    finds coll.bandwidth info 'its GPU is not recorded: --instance'
    judged 0 one --instance p5.48xlarge
    quiet
    finds coll.bandwidth pass 'H100 in one host'
    dump slow --hosts 1 --gpus 8 --busbw 100
    judged 1 slow --instance p5.48xlarge
}

@test "one of a host's GPUs in each communicator has its share of the cards, not all of them" {
    dump grid --tensor --busbw 330
    judged 0 grid --nic 1600
    quiet
    finds coll.bandwidth pass "all_reduce, 2 ranks on 2 hosts: 4 of 4 communicators"
    finds coll.bandwidth pass "1 of a host's 4 GPUs: 50 GB/s"
    finds world.size pass 'in 7 communicators'
}

@test "a communicator that is slow beside those like it is named with its host" {
    dump even --tensor --hosts 5 --gpus 2
    judged 0 even
    quiet
    finds coll.peers pass 'no communicator is slow beside those of the same shape: the lowest of 5 medians'
    dump weak --tensor --hosts 5 --gpus 2 --weak 3
    judged 0 weak
    finds coll.peers warn 'communicator 0xaa3 (node3) has'
    finds coll.peers warn 'in all_gather of 64 MiB, 40 % of the median of those of 2 ranks on 1 host like it'
    finds coll.peers warn '(1 of 5 are slow)'
}

@test "a rank whose lines stop is named, with the time; one that lost its last lines is no failure" {
    dump dies --dies 1:3
    judged 0 dies # it took part in what followed, else nobody's would have ended
    finds rank.alive warn 'rank 7, node1: nothing of pid 4003 after all_reduce 401'
    finds rank.alive warn 'the others went on for 3.3 min, up to 799: none of these ends without it'
    judged 1 dies --strict
    [ "$(jq '[.findings[] | select(.check == "rank.alive")] | length' <<<"$output")" -eq 1 ]
    dump tree --coll Broadcast --dies 1:3
    judged 1 tree
    finds rank.alive fail 'up to 799: it died, hung or could not write any more'
    dump ends
    sed -i '$d' ends/node0-pid4001.log
    judged 0 ends
    quiet
    finds rank.alive info 'rank 1, node0: it lacks the last 1 of all_reduce'
    dump skewed --skew 60 # clocks that differ; and the end of a job cuts off more here, less there
    for ((i = 0; i < 4; i++)); do head -n -$((i + 1)) skewed/node0-pid400$i.log >t && mv t skewed/node0-pid400$i.log; done
    judged 0 skewed
    quiet
}

@test "no files of a rank: it is named; of one rank alone: nothing is alleged" {
    dump lost --lose 1:0 --busbw 30
    judged 0 lost --nic 3200
    finds world.size warn '7 ranks have lines here; not 4'
    finds coll.bandwidth warn 'waiting for ranks whose lines are not here is in it'
    judged 0 lost/node0-pid4000.log
    quiet
    finds world.size info '1 rank has lines here; not 1, 2, 3, 4, 5, 6, 7'
}

@test "bandwidth that sank; one that is only noisy did not" {
    dump sinks --sinks 0.4
    judged 0 sinks
    finds coll.drift warn 'all_reduce of 1 GiB sank from'
    finds coll.drift warn '(2 of 2 sizes sank)'
    jq -e '.findings[] | select(.check == "coll.drift") | .value > 30 and .value < 45' <<<"$output"
    dump noisy --sinks 0.05
    judged 0 noisy
    quiet
}

@test "a collective that stood still, when and where; waiting for a checkpoint is no alarm" {
    dump stalls --stalls
    judged 0 stalls
    finds coll.stall warn '2 times a collective stood still for all its ranks; the longest: all_reduce 400 of 1 GiB took'
    finds coll.stall warn 'shortly before 2026-05-28 20:30:00 UTC, in communicator 0x7f8c496ae9f661'
    dump saves --checkpoint
    judged 0 saves
    quiet
    finds coll.stall info 'took 30 s'
    finds coll.stall info 'the others waited for rank 0 (node0, pid 4000)'
}

@test "verbose lines, a cut end, holes, lines of others, stdin, several folders, a file beside" {
    dump a --verbose
    truncate -s -100 a/node0-pid4000.log
    { head -c 5000 /dev/zero; echo; echo 'node1:41:60 [0] NCCL INFO Bootstrap'; echo; } >>a/node0-pid4000.log
    echo '{"version": 2, "args": []}' >a/other.json
    mkdir a/folder
    judged 0 a
    jq -e '.data.inspector | .files == 8 and .lines == 6399 and .broken_lines == 2' <<<"$output"
    finds world.size pass '2 are cut off or not'
    rm a/node0-pid4000.log && dump b
    cat b/*.log >one
    run -0 --separate-stderr "$BIN/ncclbench" --analyze - --json <one
    jq -e '.data.inspector.lines == 6400' <<<"$output"
    quiet
    mkdir c && mv b/node1* c
    run -0 --separate-stderr "$BIN/ncclbench" --analyze b --analyze c --analyze c/node1-pid4000.log --json
    jq -e '.data.inspector | .lines == 6400 and .files == 8' <<<"$output"
    finds world.size pass '8 processes on 2 hosts'
    dump d --late 1:2 # a copy, and one of when the file was shorter, beside and before the whole one
    cp d/node1-pid4002.log d/node1-pid4002.log.bak
    head -n 300 d/node0-pid4001.log >d/earlier.log
    mkdir e && head -n 500 d/node0-pid4003.log >e/node0-pid4003.log
    mkdir f && cp d/node1-pid4002.log f # nothing in it is new
    run -0 --separate-stderr "$BIN/ncclbench" --analyze e --analyze d --analyze d --analyze f --json
    jq -e '.data.inspector | .lines == 6400 and .broken_lines == 0' <<<"$output"
    finds rank.straggler warn 'the others wait for rank 6 (node1, pid 4002)'
    dump g --busbw 480 --late 1:2 --verbose 64 --steps 60 # lines of many KiB
    cp g/node1-pid4002.log g/node1-pid4002.log.bak
    judged 0 g
    jq -e '.data.inspector | .files == 8 and .lines == 960' <<<"$output"
    finds rank.straggler warn 'the others wait for rank 6 (node1, pid 4002)'
}

@test "lines of the newest NCCL that say how much was lost are not broken ones" {
    dump a --stats --steps 40
    judged 0 a
    quiet
    jq -e '.data.inspector | .lines == 640 and .broken_lines == 0 and .lost_lines == 640' <<<"$output"
    finds world.size pass '640 more were lost before they could be written: a shorter NCCL_INSPECTOR_DUMP_THREAD'
}

@test "a pipe of the shell is read as stdin is, and one that nobody writes does not make it wait" {
    dump a --steps 40
    judged 0 <(cat a/*.log)
    quiet
    jq -e '.data.inspector | .lines == 640 and .files == 1' <<<"$output"
    mkfifo nobody
    judged 2 nobody
    [[ $stderr == *"nobody has no result"* ]]
}

@test "of sends alone, and of a rank alone, nothing is said to be well that nobody could see" {
    dump a --steps 40
    sed -i 's/"coll_perf":{"coll":"AllReduce"/"p2p_perf":{"p2p":"Send"/; s/"coll_/"p2p_/g' a/*.log
    judged 0 a
    quiet
    finds rank.alive skip 'who stops early cannot be told'
    finds coll.stall skip 'how long it usually takes cannot be told'
    jq -e '[.data.inspector.collectives[] | .coll == "send"] == [true, true]' <<<"$output"
    sed -i 's/"rank":[0-9]*,"n_ranks":8,"nnodes":2/"rank":0,"n_ranks":1,"nnodes":1/' a/*.log
    judged 0 a
    quiet
    finds coll.bandwidth info 'there is none among several ranks'
}

@test "of thousands of communicators --json leaves none out" {
    dump a --steps 1
    head -n 1 a/node0-pid4000.log >first
    seq -f 0x%g 5000 |
        awk 'NR == FNR { line = $0; next } { l = line; sub(/0x7f8c496ae9f661/, $0, l); print l }' first - >many
    run --separate-stderr "$BIN/ncclbench" --analyze many --json
    ((status == 3)) # one line of each: nothing is concluded
    jq -e '.data.inspector | (.communicators | length) == 5000 and (.collectives | length) == 5000' <<<"$output"
}

@test "a limit that is none is refused before gigabytes are read" {
    judged 2 nowhere --expect much
}

@test "what it cannot read is said in a sentence" {
    mkdir none prom
    judged 2 none
    [[ $stderr == *"no file in none is of NCCL's Inspector"*"NCCL_INSPECTOR_DUMP_DIR=none"* ]]
    echo 'nccl_bus_bandwidth_gbs{version="v5.1",gpu="GPU0"} 678.263' >prom/gpu0.prom
    for path in prom prom/gpu0.prom; do
        judged 2 $path
        [[ $stderr == *"for Prometheus"*"NCCL_INSPECTOR_PROM_DUMP=0"* ]]
    done
    "$BATS_TEST_DIRNAME/replay_dumps.py" ddp 'the dumps'
    for path in 'the dumps' 'the dumps/nccl_trace_rank_0'; do
        judged 2 "$path"
        [[ $stderr == *"of PyTorch's Flight Recorder, which tells what a training did"*"; ncclbench --replay '$path'  # measures its collectives; who hung says ncclwhy '$path'"* ]]
    done
    run -2 --separate-stderr "$BIN/ncclbench" --analyze - <'the dumps/nccl_trace_rank_0'
    [[ $stderr == *"stdin is a dump of PyTorch's Flight Recorder"*"; ncclbench --replay FILE  # "* ]]
    mkdir logs
    echo 'a word' >logs/a
    printf '# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n4194304             12010.42\n' >logs/b
    judged 2 logs
    [[ $stderr == *"no file in logs is of NCCL's Inspector"*"; ncclbench --analyze logs/b  # a benchmark's output is named itself; several, one behind the other"* ]]
    dump a --steps 1
    head -c 400 a/node0-pid4000.log >cut.log
    judged 2 cut.log
    [[ $stderr == *"cut.log has no whole line of NCCL's Inspector"* ]]
    judged 2 nowhere
}

@test "what is compressed is refused with what to type, which works" {
    dump a
    plain=$("$BIN/ncclbench" --analyze a --json | jq -c '[.findings[] | [.check, .status]]')
    for by in gzip:gz zstd:zst xz:xz bzip2:bz2; do
        "${by%:*}" -c a/node0-pid4000.log >"one 1.${by#*:}"
        judged 3 "one 1.${by#*:}"
        [[ $stderr == *"one 1.${by#*:} is compressed"*"-> "*"cat 'one 1.${by#*:}' | ncclbench --analyze -"* ]]
    done
    judged 3 - <"one 1.gz"
    [[ $stderr == *"what comes in is compressed"*"zcat | ncclbench --analyze -"* ]]
    tar -czf all.tar.gz a
    judged 3 all.tar.gz
    [[ $stderr == *"all.tar.gz is an archive"*"tar -xOf all.tar.gz | ncclbench --analyze -"* ]]
    mv all.tar.gz named_otherwise # by how it begins
    judged 3 named_otherwise
    gzip a/*
    judged 3 a
    [[ $stderr == *"the files in a are compressed"* ]]
    type=$(sed -n 's/.*-> //p' <<<"$stderr")
    [[ $(PATH=$BIN:$PATH bash -c "$type --json" | jq -c '[.findings[] | [.check, .status]]') == "$plain" ]]
    touch 'empty.gz'
    judged 3 empty.gz
}
