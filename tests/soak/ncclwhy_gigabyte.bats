#!/usr/bin/env bats
# A gigabyte of log takes less than six seconds of one core and 50 MB; one that is made of every
# line that any entry of the catalogue knows, no more memory.
# The text comes through a pipe: what makes it is not counted, and no disk has to hold it.
bats_require_minimum_version 1.5.0

LEAST=1000000000 # bytes of each log

setup() { cd "$BATS_TEST_TMPDIR" || return; }

again() { # a gigabyte of what stands on stdin
    cat >once
    for ((n = 0; n < 20000000; n += $(stat -c %s once))); do cat once; done >block
    for ((n = 0; n < LEAST; n += $(stat -c %s block))); do cat block; done
}

cost() { # PROGRAM...: the seconds and the kilobytes that it took; its exit code
    python3 -c '
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss}")
sys.exit(code)' "$@"
}

reads() { # SECONDS MAKER: the log that it makes
    local most=$1 seconds kilobytes rc=0
    "$2" | again | cost "$BIN/ncclwhy" >took || rc=$?
    [ "$rc" -le 1 ]
    read -r seconds kilobytes <took
    echo "# $BATS_TEST_DESCRIPTION: $seconds s, $((kilobytes / 1000)) MB" >&3
    awk -v s="$seconds" -v most="$most" 'BEGIN { exit !(s > 0 && s < most) }'
    ((kilobytes < 50000))
}

healthy() {
    "$ROOT/tests/logs/make-clean" clean 300 7
    cat clean/*
}

failures() { cat "$ROOT"/tests/logs/real/*.log "$ROOT"/tests/logs/made/*.log; }

each_line_known() { cut -f 3 "$ROOT/tests/logs/lines.tsv"; }

words_of_failures() { # no line of which is one
    python3 -c '
import random
pick = random.Random(1)
words = ("the of to is and in training step rank node file error failed with loss batch gpu "
         "memory network connection timeout for on retry attempt exit code").split()
for _ in range(100000):
    print(" ".join(pick.choice(words) for _ in range(pick.randrange(5, 25))))'
}

collectives() { # NCCL_DEBUG_SUBSYS=COLL of 64 ranks
    python3 -c '
import random
pick = random.Random(1)
for _ in range(100000):
    rank, pid = pick.randrange(64), pick.randrange(1000, 99999)
    at = [f"0x7f{pick.randrange(1 << 36):x}" for _ in range(4)]
    print(f"ip-10-0-0-{rank // 8}:{pid}:{pid + 9} [{rank % 8}] NCCL INFO AllReduce: opCount "
          f"{pick.randrange(1 << 20):x} sendbuff {at[0]} recvbuff {at[1]} count "
          f"{pick.randrange(1 << 26)} datatype 7 op 0 root 0 comm {at[2]} [nranks=64] stream {at[3]}")'
}

@test "healthy jobs" { reads 6 healthy; }
@test "failures only" { reads 6 failures; }
@test "each line that the catalogue was tested with" { reads 30 each_line_known; }
@test "words of failures, and none" { reads 6 words_of_failures; }
@test "every collective of 64 ranks" { reads 6 collectives; }
