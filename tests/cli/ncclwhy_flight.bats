#!/usr/bin/env bats
# ncclwhy and the dumps of PyTorch's Flight Recorder: each situation a rank can be in, by what the
# dumps of all ranks say together, alone and beside logs.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    make_dumps=$ROOT/tests/cli/ncclwhy_flight.py
    cd "$BATS_TEST_TMPDIR" || return
}

dumps() { # SITUATION [FORM]: in a folder of that name
    python3 "$make_dumps" "$1" "$1" "${2:-torch}"
}

tells() { # SITUATION ID WORDS...: with that the best cause begins
    local code=1
    [[ $2 != FR-012 ]] || code=0
    dumps "$1"
    run -"$code" --separate-stderr "$why" "$1"/*
    echo "$output"
    grep -qE "^(fail|warn) +log.cause +$2 " <<<"${lines[0]}"
    for words in "${@:3}"; do grep -qF "$words" <<<"${lines[0]}"; done
    [[ -z $stderr ]]
}

@test "a rank that never came: who, where it was last, where the others wait" {
    tells absent FR-001 'rank 3 never entered all_reduce #31 of group "tp" (ranks 0-3)' \
        'in which ranks 0-2 wait (train.py line 88, in step)' \
        'the last it entered was broadcast #30 of the same group, completed (train.py line 41, in load)' \
        'seen in the dumps of 4 ranks'
    tells absent_untimed FR-001 'rank 3 never entered all_reduce #31'
}

@test "who waits for whom is followed to the one who waits for nobody" {
    tells absent_chain FR-001 'rank 7 never entered all_reduce #11 of group "dp"' 'in which rank 3 waits'
}

@test "one number, different operations, sizes and types" {
    tells other_op FR-002 'in #21 of the default group' 'rank 2 called barrier (train.py line 140, in save)' \
        'ranks 0, 1 and 3 all_reduce'
    tells other_size FR-003 'rank 3 gave the sizes [17, 128]' 'ranks 0-2 [64, 128]'
    tells other_type FR-004 'rank 1 gave the types BFloat16' 'rank 0 Float'
    tells uneven_split FR-003 'give 80 elements but expect 88'
}

@test "two groups that are crossed, by what was called and by what the GPUs do" {
    for how in crossing crossing_queued; do
        tells $how FR-005 'ranks wait for each other: rank 0 waits in all_reduce #1 of group "tp"' \
            'for rank 1, rank 1 waits in all_reduce #1 of group "dp"' 'for rank 0'
    done
}

@test "messages: nobody receives, both send, sizes differ, a batch alone, a collective instead" {
    tells send_alone FR-006 'rank 0 waits in a send to rank 1' 'rank 1 never called the receive'
    tells send_both FR-006 'rank 0 waits in send 0->1 #1' 'rank 1 waits in send 1->0 #1'
    tells send_sizes FR-003 'send 0->1' '[8, 512]' 'recv 1<-0 on rank 1 [8, 256]'
    tells batch_alone FR-006 'rank 1 waits in a receive from rank 0' 'rank 0 never called the send'
    tells send_meets_collective FR-006 'rank 0 waits in send 0->1' 'rank 1 waits in barrier #5'
}

@test "a batch's end is not marked as a message; a send may be complete before it is received" {
    tells batches_then_absent FR-001 'rank 3 never entered all_reduce #4 of group "pp" (ranks 0-3)'
    tells send_early FR-008 'both ranks entered recv 1<-0 #1' 'rank 1 did not complete it'
}

@test "batches of messages that old versions count among the collectives accuse nobody" {
    for torch in 2.3 2.4 2.5 2.6 2.9; do
        tells pipeline_unfinished@$torch FR-008 'all ranks entered all_reduce #17'
        tells pipeline_absent@$torch FR-001 'rank 2 never entered all_reduce #17' \
            'the last it entered was broadcast #16'
        tells pipeline_batch@$torch FR-006 'rank 2 waits in a receive from rank 1' \
            'and rank 1 never called the send'
    done
    # where the first ones fell off, their numbers cannot be told any more; else they can
    tells pipeline_small@2.6 FR-001 'rank 2 never entered all_reduce #17'
    for torch in 2.3 2.5; do
        tells pipeline_small@$torch FR-010 'whether rank 2 entered it'
        grep -q 'TORCH_NCCL_TRACE_BUFFER_SIZE=' <<<"$output"
    done
}

@test "shapes of one size are no fault; who is away beside one without a dump" {
    tells other_shape FR-001 'rank 2 never entered broadcast #6'
    tells absent_and_missing FR-001 'rank 5 never entered all_reduce #6' 'there is no dump of rank 3'
}

@test "a list that many entries share costs no time" {
    python3 - <<'END'
def text(s):
    return b"X" + len(s).to_bytes(4, "little") + s.encode()
n = 60000
sizes = b"](](" + b"K\x01" * n + b"eq\x01" + b"h\x01" * n + b"e"
entry = b"}" + text("profiling_name") + text("nccl:x") + b"s" + text("input_sizes") + sizes + b"s"
open("rank_0", "wb").write(b"\x80\x02}" + text("pg_config") + b"}s" + text("entries") +
                           b"](" + entry + b"q\x02" + b"h\x02" * n + b"es.")
END
    timeout -k 1 60 "$why" rank_0 || [[ $? -le 3 ]]
}

@test "all ranks are there: the GPU never began it, on all or on one; or nothing moves" {
    tells unbegun FR-007 'all ranks entered all_reduce #21' 'on none of them the GPU began it'
    tells unbegun_one FR-007 'on rank 2 the GPU never began it'
    tells unfinished FR-008 'their GPUs began it' 'none of them completed it'
    grep -q 'Xid' <<<"$output"
    grep -q 'ncclbench --hosts' <<<"$output"
    tells unfinished_untimed FR-008 'whether the GPUs began it is not recorded'
}

@test "a dump that is not there, or cut short" {
    tells missing FR-009 'ranks 0-2 wait in all_reduce #31' 'no dump of rank 3'
    dumps absent
    truncate -s 2000 absent/nccl_trace_rank_3
    run -1 --separate-stderr "$why" absent/*
    grep -q '^fail .*FR-009 .*no dump of rank 3 (that of rank 3 is cut short)' <<<"$output"
    grep -q 'cannot read the dump absent/nccl_trace_rank_3: it is cut short (at byte ' <<<"$stderr"
    # one alone of eight: no verdict yet, but what to collect
    run -0 --separate-stderr "$why" absent/nccl_trace_rank_0
    grep -q '^warn .*FR-009 .*no dump of ranks 1-3' <<<"$output"
    grep -q -- "-> ncclwhy --hosts ALL '/tmp/nccl_trace_rank_\*'" <<<"$output"
}

@test "a buffer that was too small says how large it must be" {
    tells small FR-010 'whether rank 1 entered it has fallen off its buffer of 100 entries'
    grep -q -- '-> export TORCH_NCCL_TRACE_BUFFER_SIZE=1000 ' <<<"$output"
}

@test "what fell off is no absence where the watchdog counted messages" {
    tells small_messages FR-010 'whether rank 1 entered it has fallen off'
}

@test "dumps of another run and of one rank twice are left out, and said" {
    dumps absent
    dumps healthy
    python3 - <<'END'

import os, sys
path = "healthy/nccl_trace_rank_3"
sys.path.insert(0, os.environ["ROOT"] + "/tests/cli")
import ncclwhy_flight as f
job = f.healthy()
for e in job.ranks[3].entries:
    for key in e:
        if key.startswith("time_") and e[key]:
            e[key] -= 86400 * f.SECOND
open(path, "wb").write(f.encode(job.dump_of(3), "torch"))
END
    run -1 --separate-stderr "$why" absent/nccl_trace_rank_[012] healthy/nccl_trace_rank_3
    grep -q '^fail .*FR-009 .*no dump of rank 3' <<<"$output"
    grep -q '^warn .*FR-011 .*that of rank 3 is of another run' <<<"$output"
    run -1 --separate-stderr "$why" absent/* healthy/nccl_trace_rank_3
    grep -q '^fail .*FR-001 .*rank 3 never entered' <<<"$output"
}

@test "a rank that comes last again and again: a warning, no failure" {
    tells straggler FR-012 'rank 2 came last to 20 of 20 collectives of group "tp"' 'waited 38 ms'
    grep -q '^pass  flight.dumps .*nothing hangs' <<<"$output"
}

@test "no false alarm: all completed, uneven splits, dumped while it ran" {
    for how in healthy uneven_healthy under_way batches_healthy batches_marked; do
        dumps $how
        run -0 --separate-stderr "$why" $how/*
        [[ $output == pass*flight.dumps*"nothing hangs"* ]]
        run ! grep -qE '^(fail|warn)' <<<"$output"
        run -0 --separate-stderr "$why" --json $how/*
        jq -e '.verdict == "pass" and .data.causes == [] and .data.flight.hangs == false' <<<"$output"
    done
}

@test "what Python writes in any protocol, JSON and old layouts say the same" {
    for form in 2 3 4 5 json; do
        for how in absent other_size crossing batch_alone; do
            dumps $how torch
            run -1 --separate-stderr "$why" --json $how/*
            said=$(jq -r '.data.causes[0].id + .data.causes[0].meaning' <<<"$output")
            rm -r $how
            dumps $how $form
            run -1 --separate-stderr "$why" --json $how/*
            rm -r $how
            # JSON's have no frames
            [[ $form != json ]] || said=$(sed -E 's/ \(train[^)]*\)//g' <<<"$said")
            [[ $(jq -r '.data.causes[0].id + .data.causes[0].meaning' <<<"$output") == "$said" ]]
        done
    done
    tells old_layout FR-001 'rank 3 never entered all_reduce #31 of group 1 (ranks 0-3)'
}

@test "what torch's own Pickler writes" {
    local python=
    for p in python3 /usr/bin/python3; do
        ! "$p" -c 'import torch' 2>/dev/null || python=$p
    done
    [[ $python ]] || skip "no torch here"
    "$python" "$ROOT/tests/cli/ncclwhy_flight_torch.py" real
    run -1 --separate-stderr "$why" real/*
    grep -qF 'rank 2 never entered all_reduce #6 of the default group (ranks 0-2), in which ranks 0 and 1 wait (train.py line 88, in step)' <<<"$output"
}

@test "JSON: the cause as others are, the groups, and how far each rank came" {
    dumps absent
    run -1 --separate-stderr "$why" --json absent/*
    valid
    jq -e '.data.causes[0] | .id == "FR-001" and .entry == "FR-001" and .confident and .ranks == [3]
        and .confidence == 0.92 and (.fix | length > 0) and has("line") == false' <<<"$output"
    jq -e '.data.flight | .hangs and (.dumps | length == 4)
        and (.dumps[3] | .rank == 3 and .entries == 50 and .version == "2.10")
        and (.groups[] | select(.description == "tp") | .ranks == [0, 1, 2, 3]
            and .members[0] == {"rank": 0, "enqueued": 31, "started": 31, "completed": 30}
            and .members[3].enqueued == 30)' <<<"$output"
    jq -e '.data.log.files == []' <<<"$output"
}

@test "beside a log: the watchdog's timeout is an echo; why a rank died stands first" {
    dumps absent
    echo '[rank0]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.' >train.log
    run -1 --separate-stderr "$why" --json train.log absent/*
    jq -e '.data.causes[0].id == "FR-001"
        and (.data.causes[] | select(.id == "PT-006") | .confident | not)' <<<"$output"
    echo '[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 3 has a total capacity of 79.10 GiB' >>train.log
    run -1 --separate-stderr "$why" --json absent/* train.log
    jq -e '.data.causes[0] | .entry != "FR-001" and .rank == 3
        and (.because | contains("rank 3 never entered"))' <<<"$output"
    jq -e '[.data.causes[].id] | index("FR-001") > 0' <<<"$output"
    # also of who does not take a message
    dumps send_alone
    sed 's/rank3/rank1/' train.log >died.log
    run -1 --separate-stderr "$why" --json send_alone/* died.log
    jq -e '.data.causes[0] | .entry != "FR-006" and .rank == 1' <<<"$output"
    # that of a rank which did come explains no other; and nothing explains a wrong call
    sed -i 's/rank3/rank1/' train.log
    dumps other_op
    run -1 --separate-stderr "$why" --json other_op/* train.log
    jq -e '.data.causes[0].id == "FR-002"' <<<"$output"
}

@test "a log alone names the dumps that PyTorch wrote, and what to type" {
    {
        echo '[rank0]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.'
        echo '[rank0]:[I1107 11:20:02.3 FlightRecorder.cpp:40] Finished writing Flight Recorder debug info to /scratch/ada/trace_0'
    } >train.log
    run -1 --separate-stderr "$why" train.log
    grep -q "ncclwhy --hosts ALL '/scratch/ada/trace_\*' /PATH/LOG " <<<"$output"
    sed -i '2s/.*/[rank0]:[E1107 11:20:02.3 ProcessGroupNCCL.cpp:1700] [PG ID 0 PG GUID 0(default_pg) Rank 0] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1/' train.log
    run -1 --separate-stderr "$why" train.log
    grep -q "ncclwhy --hosts ALL '/tmp/nccl_trace_rank_\*' /PATH/LOG " <<<"$output"
}

@test "a wrapped command's dumps are read at its end, and only those that it wrote" {
    cat >job.sh <<'END'
python3 "$1" absent "$PWD/dumps"
for i in 0 1 2 3; do
    echo "[rank$i]:[I1107 11:20:02.3 FlightRecorder.cpp:40] Finished writing Flight Recorder debug info to $PWD/dumps/nccl_trace_rank_$i" >&2
done
exit 7
END
    run -7 --separate-stderr "$why" -- sh job.sh "$make_dumps"
    grep -q 'read 4 dumps of PyTorch.s Flight Recorder that the command wrote' <<<"$stderr"
    grep -q 'FR-001: rank 3 never entered all_reduce #31' <<<"$stderr"
    [[ -z $output ]]
    touch -d '1 hour ago' dumps/*
    sed -i 1d job.sh
    run -7 --separate-stderr "$why" -- sh job.sh
    run ! grep -q 'FR-001\|Flight Recorder that' <<<"$stderr"
    # where its log level hides where, where PyTorch writes them
    echo 'echo "[rank0]:[E1] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1" >&2; touch '"$PWD"'/dumps/*; exit 7' >job.sh
    TORCH_FR_DUMP_TEMP_FILE=$PWD/dumps/nccl_trace_rank_ run -7 --separate-stderr "$why" -- sh job.sh
    grep -q 'FR-001: rank 3 never entered' <<<"$stderr"
}

@test "a wrapped command: of dumps that one rank names, those beside it that it wrote are read" {
    cat >job.sh <<'END'
python3 "$1" "$2" "$PWD/dumps [1]"
touch -d '1 hour ago' "$PWD/dumps [1]/nccl_trace_rank_77"
echo "[rank0]:[I1107 11:20:02.3 FlightRecorder.cpp:40] Finished writing Flight Recorder debug info to $PWD/d/nccl_trace_rank_0" >&2
exit 7
END
    ln -s 'dumps [1]' d
    run -7 --separate-stderr "$why" -- sh job.sh "$make_dumps" absent
    grep -q "read 4 dumps of PyTorch.s Flight Recorder that the command wrote ($PWD/d/nccl_trace_rank_0)" <<<"$stderr"
    grep -q 'FR-001: rank 3 never entered all_reduce #31' <<<"$stderr"
    # where one is not here, the others are said to lie where these do
    sed -i 's/^touch.*/rm "$PWD"\/d\/*_3/' job.sh
    rm dumps*/*
    run -7 --separate-stderr "$why" -- sh job.sh "$make_dumps" absent
    grep -q "FR-009.*there is no dump of rank 3" <<<"$stderr"
    grep -qF -- "-> ncclwhy --hosts ALL '$PWD/d/nccl_trace_rank_*' /PATH/train.log" <<<"$stderr"
}

@test "what is no dump, no rank's, hostile or huge is a clear error, and eats no memory" {
    printf '\x80\x02}q\x00X\x01\0\0\0aK\x01s.' >model.pkl
    run -3 --separate-stderr "$why" model.pkl
    grep -q 'cannot read the dump model.pkl: it is no dump' <<<"$stderr"
    dumps healthy
    cp healthy/nccl_trace_rank_0 nameless
    run -3 --separate-stderr "$why" nameless
    grep -q 'nameless does not say of which rank of its groups' <<<"$stderr"
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build: it wants more than any limit here"
    printf '\x80\x04]' >rank_0
    head -c 100M /dev/zero | tr '\0' '}' >>rank_0
    (ulimit -v 900000; "$why" rank_0) 2>err && false
    grep -q 'rank_0: it unfolds to too much' err
    truncate -s 1G rank_0
    (ulimit -v 300000; "$why" rank_0) 2>err && false
    grep -q 'rank_0 is larger than a dump can be' err
    head -c 300000000 rank_0 | (ulimit -v 900000; "$why" -) 2>err && false
    grep -q 'stdin is larger than a dump can be' err
}

@test "a dump does not grow: --follow says what to type instead" {
    dumps absent
    for form in nccl_trace_rank_0 trace.json; do
        [[ -e absent/$form ]] || { dumps healthy json; cp healthy/*_1.json absent/trace.json; }
        run -3 --separate-stderr timeout 20 "$why" --follow absent/$form
        grep -q "$form is a dump of PyTorch's Flight Recorder" <<<"$stderr"
        grep -q -- "-> ncclwhy absent/$form\$" <<<"$stderr"
    done
}

@test "a dump comes through a pipe, too; its rank by its messages" {
    dumps send_alone
    run -1 --separate-stderr "$why" - send_alone/nccl_trace_rank_1 <send_alone/nccl_trace_rank_0
    grep -q 'FR-006 .*rank 0 waits in a send to rank 1' <<<"$output"
    grep -q 'Flight Recorder' <<<"$("$why" --help)"
}
