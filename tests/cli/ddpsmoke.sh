# shellcheck shell=bash
# What the bats files about ddpsmoke share. Load it: load ddpsmoke.sh

# jq: a report with nothing wrong in it. On a processor that others use, too, one rank may be slow.
# shellcheck disable=SC2034
FINE='def fine: .verdict == "pass" or (.verdict == "warn" and
    all(.findings[]; (.status | IN("pass", "info")) or (.status == "warn" and .check == "train.pace")));'

nobody_left() { # of the processes that carry this test's mark
    local i
    for ((i = 0; i < 200; i++)); do
        pgrep -f -- "--seed $MARK" >/dev/null || return 0
        sleep 0.05
    done
    pgrep -af -- "--seed $MARK"
    return 1
}

training() { # with seed $1 there are ranks that have trained for a moment
    pgrep -f -- "--seed $1" | while read -r pid; do
        awk '{ exit $14 + $15 < 20 }' "/proc/$pid/stat" 2>/dev/null && echo yes
    done | grep -q .
}

ends_with() { # CODE PID: of a child of ours
    local code=0
    wait "$2" || code=$?
    [ "$code" -eq "$1" ]
}

# Two ranks as torchrun starts them, with the options in SHORT and their own. What they say is
# in the files 0, 0.err, 1 and 1.err of the test's folder, their exit codes in ENDED.
ranks() { # ARGUMENTS-OF-0 ARGUMENTS-OF-1 [VARIABLE-OF-1]
    local port=$((20000 + RANDOM % 10000)) r code own=(NOTHING= "${3:-NOTHING=}") args=("$1" "$2")
    ENDED=()
    for r in 0 1; do
        # shellcheck disable=SC2086
        env RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "${own[r]}" \
            "$BIN/ddpsmoke" "${SHORT[@]}" ${args[r]} \
            >"$BATS_TEST_TMPDIR/$r" 2>"$BATS_TEST_TMPDIR/$r.err" 3>&- &
    done
    for r in %1 %2; do
        code=0
        wait $r || code=$?
        ENDED+=("$code")
    done
}
