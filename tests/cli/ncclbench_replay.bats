#!/usr/bin/env bats
# ncclbench --replay: the collectives of a recorded training again, verified, and whether it was the
# network. The recordings are made up (replay_dumps.py, inspector_dump.py).
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load plugins.sh

setup() { plugin_test ncclbench; }

dumps() { "$BATS_TEST_DIRNAME/replay_dumps.py" "$@"; } # SITUATION FOLDER [STEPS]
replay() { # CODE ARGS...
    local code=$1
    shift
    run --separate-stderr "$B" --json --within 60s --replay "$@"
    ((status == code)) || { echo "exit code $status"; echo "$output$stderr"; return 1; }
}
is() { jq -e "$1" <<<"$output" >/dev/null || { echo "$output"; return 1; }; }
finds() { # CHECK STATUS TEXT
    jq -e --arg c "$1" --arg s "$2" --arg t "$3" \
        'any(.findings[]; .check == $c and .status == $s and (.message | contains($t)))' \
        <<<"$output" >/dev/null || { echo "$output"; return 1; }
}

@test "a data-parallel training: its step, each kind of it, verified, then and now" {
    dumps ddp d
    replay 0 d
    is '.data.replay | .source == "PyTorch'"'"'s Flight Recorder" and .files == 2 and .ranks == 2
        and .steps == 6 and .step_s > 2 and .collectives == 4 and .missing == [] and .left_out == []'
    is '.data.replay.kinds | length == 3 and (.[0] | .coll == "all_reduce" and .times == 2
        and .size == 1048576 and .count == 262144 and .dtype == "float" and .wrong == 0
        and .time_us > 0 and .busbw > 0 and .then_us == 400000 and .ratio > 1
        and .between == "all 2 ranks")'
    is '[.data.replay.kinds[] | .coll] == ["all_reduce", "all_reduce", "barrier"]'
    is '.data.replay | .now_s > 0 and .in_order_s > 0 and .passes >= 1 and .then_s > 1.2 and .then_s < 1.21'
    is '(.data.world.ranks | length) == 2'
    finds coll.data pass '3 kinds of collectives verified, none wrong'
    finds replay.time pass "in the recording its collectives took 1.2 s: what links these ranks is not what is slow (all are on one host: nothing between hosts was tested)"
    finds replay.recording info 'a step is 4 of the recording'
    finds replay.costly info 'all_reduce of'
}

@test "as people read it; files as a shell names them, and a folder" {
    dumps ddp d
    run -0 --separate-stderr "$B" --within 20s --replay d/nccl_trace_rank_*
    [[ $output == *"#     times  collective"*"all_reduce"*"1 MiB"*"all 2 ranks"* ]]
    [[ $output == *"# PASS replay.time: a step's communication takes "*" here (host memory over tcp"* ]]
    run -0 --separate-stderr "$B" --within 20s --replay d --quiet
    [[ $output != *"collective "* ]]
    ln -s "$B" all_gather_perf # its name asks for nothing
    run -0 --separate-stderr ./all_gather_perf --within 20s --replay d
    [[ $output == *" all_reduce "*"# PASS replay.time: "* ]]
    run -2 --separate-stderr "$B" --replay 'd/nccl_tarce_rank_*' # a pattern that fits nothing
    [[ $stderr == *"no file here is called so; dumps lie on the host of each rank, in /tmp or where its "*TORCH_NCCL_TRACE_BUFFER_SIZE=* ]]
    run -2 --separate-stderr ./all_gather_perf --replay d --coll broadcast
    [[ $stderr == *"--coll does not go with --replay"* ]]
    replay 0 d/nccl_trace_rank_0 d/nccl_trace_rank_1 --np 2
    is '.data.replay.files == 2'
    replay 2 d/nccl_trace_rank_0 --np 3 # only the groups say that there are two
    [[ $stderr == *"the recording is of 2 ranks, and here are 3"*"--np 2"* ]]
}

@test "no times of collectives: the step's own" {
    dumps untimed d
    replay 0 d
    finds replay.time pass 'a step in the recording took 10 s'
    finds replay.time pass 'so what links these ranks is not what is slow (all are on one host'
    is '(.data.replay | has("then_s") | not) and .data.replay.steps == 6'
}

@test "who waited for a late rank did not wait for the network" {
    dumps waiting d
    replay 0 d/
    finds replay.time pass 'took 900.3 ms, by the ranks that came last 600 us'
    finds replay.time pass 'ranks waited for those that came late'
    is '.findings[] | select(.check == "replay.time") | .fix == ["ncclwhy d/nccl_trace_rank_*  # who came late"]'
    mv d "it's mine"
    replay 0 "it's mine" # what is to be typed is typed
    is '.findings[] | select(.check == "replay.time") | .fix | length == 1 and (.[0] | startswith("ncclwhy"))'
    PATH=${B%/*}:$PATH run bash -c "$(jq -r '.findings[] | select(.check == "replay.time") | .fix[0] | sub("#.*"; "--json")' <<<"$output")"
    is '.command == "ncclwhy" and (.findings | length > 0)'
    "$BATS_TEST_DIRNAME/inspector_dump.py" "in spector" --hosts 1 --gpus 4 --steps 3 --busbw 1 --late 0:1 --small
    replay 0 "in spector" --within 20s
    is '.findings[] | select(.check == "replay.time") | .fix == ["ncclbench --analyze='"'in spector'"'  # who came late"]'
}

@test "slower here than then: told, and no verdict of NCCL by TCP" {
    dumps quick d
    replay 0 d
    finds replay.time info 'times as long as then'
    is '[.findings[] | select(.status == "warn" or .status == "fail")] == []'
}

@test "a grid: groups side by side at once, each rank the ones that it is in" {
    dumps grid d
    replay 0 d
    is '.data.replay.collectives == 7 and .data.replay.steps == 6'
    is '[.data.replay.kinds[] | [.coll, .group, .ranks, .groups, .times, .size, .dtype, .wrong]] | sort == ([
        ["all_reduce", "tp", 2, 2, 4, 32768, "bfloat16", 0],
        ["reduce_scatter", "dp", 2, 2, 1, 262144, "float", 0],
        ["all_gather", "dp", 2, 2, 1, 262144, "float", 0],
        ["all_reduce", "", 4, 1, 1, 4, "float", 0]] | sort)'
    is 'any(.data.replay.kinds[]; .between == "tp (ranks 0 and 1, and 1 group more)")'
    is 'any(.data.replay.kinds[]; .between == "dp (ranks 0 and 2, and 1 group more)")'
    is '.data.replay.passes >= 1'
}

@test "groups of one rank each have nothing to send" {
    dumps singles d
    replay 0 d
    is '.data.replay | .ranks == 2 and .collectives == 1 and (.kinds | length) == 1 and all(.kinds[]; .wrong == 0)'
}

@test "a pipeline: sends between neighbours, in batches and one by one" {
    dumps pipeline d
    replay 0 d
    is '[.data.replay.kinds[] | select(.coll == "send")] | length == 2 and all(.[];
        .ranks == 2 and .groups == 2 and .times == 1 and .wrong == 0 and .dtype == "bfloat16")'
    is '.data.replay.collectives == 5' # of the rank in the middle
}

@test "what cannot be done again is counted and named; uneven parts are said" {
    dumps strange d
    replay 0 d
    is '.data.replay.left_out | sort_by(.what) == [
        {what: "all_reduce of QInt32", times: 12}, {what: "fancy_exchange", times: 12}]'
    finds replay.recording warn 'left out: 12 fancy_exchange, 12 all_reduce of QInt32'
    finds replay.recording warn '2 kinds had uneven parts'
    is '[.data.replay.kinds[] | .coll] | sort == ["all_gather", "alltoall", "gather", "reduce", "reduce_scatter", "scatter"]'
    is 'all(.data.replay.kinds[]; .wrong == 0)'
    dumps unknown u
    replay 2 u
    [[ $stderr == *"hold no collective that could be done again: fancy_exchange"* ]]
}

@test "a rank without a dump, a dump that was cut, an older one beside it" {
    dumps missing d
    replay 0 d
    finds replay.recording warn 'of 1 of the 4 ranks there is no recording (the first is rank 3)'
    is '.data.replay.missing == [3] and .data.replay.ranks == 4'
    dumps grid c
    head -c 3000 c/nccl_trace_rank_2 >short && mv short c/nccl_trace_rank_2
    replay 0 c
    [[ $stderr == *"cannot read the dump c/nccl_trace_rank_2"* ]]
    is '.data.replay.missing == [2]'
    dumps ddp e
    mkdir old && cp e/nccl_trace_rank_0 old && touch -d '2020-01-01' old/nccl_trace_rank_0
    replay 0 e old
    is '.data.replay.ranks == 2 and .data.replay.collectives == 4'
    finds replay.recording info 'older than another of the same rank and left out: '
}

@test "an older job's dumps in the same folder: the newest that is whole, the others named" {
    AGO=9000 dumps pipeline d && AGO=9000 dumps grid d # of four ranks, hours ago
    dumps ddp d                                        # of two
    replay 0 d
    is '.data.replay | .ranks == 2 and .files == 2 and .missing == [] and .collectives == 4'
    is '.findings[] | select(.check == "replay.recording") | .status == "warn" and (.message |
        test("2 files of another job, which ended [0-9.]+ min earlier and had 4 ranks, were left out: d/nccl_trace_rank_"))'
    is '[.findings[] | select(.check == "replay.recording") | .message | contains("d/nccl_trace_rank_2") and contains("d/nccl_trace_rank_3")] == [true]'
    is 'any(.findings[]; .check == "replay.recording" and any(.fix[]; contains("its files alone")))'
}

@test "a job started again: no file of the run before, and of the new one not all" {
    AGO=1000 dumps ddp old
    AGO=300 dumps ddp new
    replay 0 new old
    is '.data.replay | .ranks == 2 and .files == 2'
    finds replay.recording warn '2 files of another job, which ended 11.7 min earlier, were left out: old/nccl_trace_rank_0, old/nccl_trace_rank_1'
    rm new/nccl_trace_rank_1 # the old one is whole
    replay 0 new old
    is '.data.replay | .files == 2 and .missing == []'
    finds replay.recording warn '1 file of another job, which ended 11.7 min later and has no dump of 1 of its ranks, was left out: new/nccl_trace_rank_0'
}

@test "a job started again, whose numbers are lower than those that are left of the run before" {
    AGO=1000 dumps ring old 20 # of the 33rd to the 40th collective
    AGO=300 dumps ring new 4   # the first to the eighth
    rm old/nccl_trace_rank_0 new/nccl_trace_rank_1
    replay 0 old new
    is '.data.replay | .files == 1 and .missing == [1]'
    finds replay.recording warn '1 file of another job, which ended 11.4 min earlier, was left out: old/nccl_trace_rank_1'
}

@test "another PyTorch's dumps are of another job" {
    AGO=301 dumps ddp d
    sed -i 's/2\.10/2.11/' d/nccl_trace_rank_1 # as many bytes
    replay 0 d
    is '.data.replay.missing | length == 1'
    finds replay.recording warn 'of another PyTorch (dumps of version 2.1'
}

@test "nothing to read is a word on the command line" {
    mkdir none && echo hello >text
    replay 2 none
    [[ $stderr == *"there is no recording of a training in none"*"TORCH_FR_BUFFER_SIZE"* ]]
    replay 2 text
    [[ $stderr == *"text is no recording of a training"* ]]
    replay 2 nowhere
    [[ $stderr == *"cannot read nowhere"* ]]
    dumps ddp d
    head -c 3000 d/nccl_trace_rank_0 >nccl_trace_rank_0
    replay 2 nccl_trace_rank_0
    [[ $stderr == *"no dump could be read whole"* ]]
    for other in '-b 8' --pairs '--for 10s' '--analyze x' '-d half' '--coll reduce' '--baseline x' \
        '-n 7' '-w 7' '-m 4' '-z 1' '-a 0' '-C 1' '-u 1' '-I 1' '-K 1' '-S 1' '--wire-rate' '--fail-below 10'; do
        # shellcheck disable=SC2086
        run -2 "$B" --replay d $other
        [[ $output == *"does not go with --replay"* ]]
    done
    run -2 "$B" --replay
    [[ $output == *"--replay needs a value"* ]]
    run -2 "$B" word # only behind --replay words are files
    [[ $output == *"unexpected operand 'word'"* ]]
}

@test "what is larger than memory is done smaller, and reckoned up" {
    local s
    dumps huge d
    for s in 10 40 160; do # others may have the processors while it gets its memory
        run --separate-stderr "$B" --json --replay d --within ${s}s
        [[ $status == 3 && $output == *"no collective had room within $s s"* ]] || break
    done
    ((status == 0)) || { echo "exit code $status"; echo "$output$stderr"; false; }
    is '.data.replay.kinds[0] | .size == 274877906944 and .cut_by > 1 and .wrong == 0 and .time_us > 0'
    finds replay.recording info 'was done smaller'
    is '.data.replay.passes == 0'
}

@test "tens of thousands of calls are read, and a step of them is done" {
    dumps long d 700
    replay 0 d
    is '.data.replay.steps == 700 and .data.replay.collectives == 49 and (.data.replay.kinds | length) == 49'
}

@test "what NCCL's Inspector recorded: each size by itself" {
    "$BATS_TEST_DIRNAME/inspector_dump.py" i --hosts 1 --gpus 2 --steps 20 --busbw 480 --largest $((32 << 20))
    replay 0 i
    is '.data.replay | .source == "NCCL'"'"'s Inspector" and .ranks == 2 and .steps == 0 and .passes == 0
        and (.kinds | length) == 2 and .collectives == 40 and .then_s > 0'
    is 'all(.data.replay.kinds[]; .coll == "all_reduce" and .times == 20 and .wrong == 0 and .then_us > 0)'
    "$BATS_TEST_DIRNAME/inspector_dump.py" g --hosts 2 --gpus 2 --steps 10 --tensor --alone --largest $((32 << 20))
    replay 0 g --within 20s
    is '.data.replay.ranks == 4 and ([.data.replay.kinds[] | [.coll, .ranks, .groups]] | sort ==
        [["all_gather", 2, 2], ["all_reduce", 2, 2]])'
    finds replay.recording info 'they are numbered by host and process'
    dumps ddp d
    replay 2 i d
    [[ $stderr == *"these are two recordings"* ]]
}

@test "two jobs in one folder of the Inspector's: the newest is done again" {
    "$BATS_TEST_DIRNAME/inspector_dump.py" i --hosts 1 --gpus 2 --steps 10 --busbw 480 --small
    "$BATS_TEST_DIRNAME/inspector_dump.py" old --hosts 1 --gpus 4 --steps 10 --busbw 480 --small
    local f
    for f in old/*; do # an hour earlier
        sed 's/0x7f8c496ae9f661/0x1111/; s/"pid":4/"pid":3/; s/"dump_timestamp_us":1780000/"dump_timestamp_us":1779996/' "$f" >"i/old-${f#old/}"
    done
    replay 0 i
    is '.data.replay | .ranks == 2 and (.kinds | length) == 1 and .collectives == 10'
    finds replay.recording warn '4 processes of another job, which ended 66.5 min before this one began, were left out'
}

@test "over other backends: what one has not is left out and said" {
    local b
    for b in gloo mpi; do
        [[ $b != mpi ]] || export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 # its libraries leak
        "$B" --backend "$b" --np 2 -b 8 -e 8 >/dev/null 2>&1 || continue
        dumps grid d
        run --separate-stderr "$B" --json --within 20s --backend "$b" --replay d
        ((status == 0)) || { echo "$b: $status"; echo "$output$stderr"; return 1; }
        is '.data.replay.kinds | all(.[]; .wrong == 0 or has("left_out"))'
        is 'any(.data.replay.kinds[]; .coll == "all_reduce" and .time_us > 0)'
    done
}

@test "over NCCL (stand-ins): microseconds more than then are no warning; wrong data and a hang are failures" {
    fake
    dumps grid d
    run -0 --separate-stderr "$B" --json --within 20s --backend nccl --replay d
    is 'all(.data.replay.kinds[]; .wrong == 0) and .data.replay.passes >= 1 and .data.backend == "nccl"'
    dumps quick q
    run -0 --separate-stderr "$B" --json --within 20s --backend nccl --replay q
    finds replay.time info 'times as long as then' # by less than it costs to begin
    is '[.findings[] | select(.status == "warn" or .status == "fail")] == []'
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr "$B" --json --within 20s --backend nccl --replay q
    finds coll.data fail 'had wrong elements'
    WINDSOCK_FAKE_NCCL=split-hang run -1 --separate-stderr "$B" --backend nccl --replay d --deadline 1
    [[ $output == *"FAIL nccl.init: ncclCommSplit did not finish within 1.0 s on rank "* ]]
}

@test "ranks that somebody else started: rank 0 has the recording" {
    local port=$((20000 + RANDOM % 10000))
    dumps ddp d
    mkdir elsewhere
    (cd elsewhere && exec "$B" --init "tcp://127.0.0.1:$port" --rank 1 --world-size 2 --within 10s \
        --replay d >/dev/null 2>other) &
    run -0 --separate-stderr "$B" --init "tcp://127.0.0.1:$port" --rank 0 --world-size 2 --json \
        --within 10s --replay d
    wait $!
    is '.data.replay.collectives == 4 and all(.data.replay.kinds[]; .wrong == 0)'
}

@test "a rank that is killed is named" {
    local folder=killed-$$ pid='' code=0
    dumps huge "$folder"
    "$B" --np 2 --replay "$folder" --within 5m >out 2>err 3>&- &
    for _ in {1..600}; do
        pid=$(pgrep -n -P "$(pgrep -d, -f -- "ncclbench --agent")" -f -- "--replay $folder") || true # of ranks
        [[ $pid ]] && grep -q 'host memory over tcp' out && break
        sleep 0.1
    done
    kill -9 "$pid"
    wait $! || code=$?
    ((code == 1)) || { echo "exit code $code"; cat out err; return 1; }
    grep 'FAIL rank.alive: rank [01] (.*) died: killed by signal 9' out || { cat out err; return 1; }
}

typed() { PATH=$BIN:$PATH bash -c "$(sed -n 's/.*-> //p' <<<"$stderr") --json --within 60s"; }

@test "what is compressed is refused with what to type, which works" {
    dumps ddp 'd 1'
    tar -cf run.tar -C 'd 1' .
    gzip 'd 1'/*
    replay 3 'd 1/nccl_trace_rank_0.gz'
    [[ $stderr == *"nccl_trace_rank_0.gz is compressed"*"zcat 'd 1/nccl_trace_rank_0.gz' > 'd 1/nccl_trace_rank_0' && ncclbench --replay 'd 1/nccl_trace_rank_0'"* ]]
    replay 3 'd 1'
    [[ $stderr == *"the files in d 1 are compressed"* ]]
    run -0 --separate-stderr typed
    is '.verdict == "pass"'
    replay 3 run.tar
    [[ $stderr == *"run.tar is an archive"*"mkdir run && tar -xf run.tar -C run && ncclbench --replay run/*"* ]]
    run -0 --separate-stderr typed
    is '.verdict == "pass"'
}
