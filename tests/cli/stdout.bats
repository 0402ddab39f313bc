#!/usr/bin/env bats
# A standard output that nobody reads, that is full or that is closed: ncclbench and ddpsmoke
# end, say what was lost, and leave nobody behind, whatever they were to write.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

MARK=$((RANDOM + 40000)) # a heartbeat in ms, by which our processes are known

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

nobody_left() {
    local i
    for ((i = 0; i < 200; i++)); do
        pgrep -f -- "--heartbeat ${MARK}ms" >/dev/null || return 0
        sleep 0.05
    done
    pgrep -af -- "--heartbeat ${MARK}ms"
    return 1
}

modes() { # each way to write, a line each
    local common="--heartbeat ${MARK}ms" format
    for format in table json junit prometheus github tap markdown; do
        echo "ncclbench -b 8 -e 1K -n 2 --format $format $common"
        echo "ddpsmoke --steps 2 --model mlp --format $format $common"
    done
    echo "ncclbench -b 8 -e 1K -n 2 --plot - $common"
    echo "ncclbench --pairs --np 2 $common"
    echo "ddpsmoke --steps 2 --model mlp --expect 0 --emit torchrun $common"
}

@test "a reader that has seen enough is no error, and nothing is said about it" {
    local line
    modes >lines
    echo "ncclbench -b 8 -e 8 -n 2 -N 0 --heartbeat ${MARK}ms" >>lines # until nobody listens
    while read -r line; do
        # shellcheck disable=SC2086
        timeout 60 "$BIN/"$line 2>err 3>&- | head -1 >first || true
        code=${PIPESTATUS[0]}
        [[ $code == 0 || $code == 141 ]] || { echo "$line: $code"; cat err; false; }
        ! grep -iE 'pipe|cannot write|interrupted' err || { echo "$line"; false; }
        nobody_left
    done <lines
}

@test "files that were asked for outlive the reader of stdout" {
    local file
    for file in '-J out.json' '-J out.csv' '--save-baseline out.base' '--plot out.svg'; do
        # shellcheck disable=SC2086
        timeout 60 "$BIN/ncclbench" -b 512 -e 1M -f 2048 -n 2 --heartbeat ${MARK}ms $file 2>err 3>&- | :
        [ "${PIPESTATUS[0]}" -eq 0 ] || { cat err; false; }
        [ -s "${file#* }" ] || { echo "$file"; false; }
        nobody_left
    done
}

@test "a full or a closed output is an error with a sentence" {
    local line
    modes >lines
    echo "ncclbench -b 8 -e 8 -n 2 -N 0 --heartbeat ${MARK}ms" >>lines # else until stopped
    while read -r line; do
        code=0
        # shellcheck disable=SC2086
        timeout 60 "$BIN/"$line >/dev/full 2>err 3>&- || code=$?
        [ "$code" -eq 3 ] || { echo "$line: $code"; false; }
        grep -q 'cannot write to stdout: No space left on device' err
        code=0
        # shellcheck disable=SC2086
        timeout 60 "$BIN/"$line >&- 2>err 3>&- || code=$?
        [ "$code" -eq 3 ] || { echo "$line: $code"; false; }
        grep -q 'cannot write to stdout: Bad file descriptor' err
        nobody_left
    done <lines
}

@test "a pipe that somebody else has not blocking: a slow reader gets all of it, and the flag stays" {
    local line
    cat >slow.py <<'EOF'
import fcntl, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, 1031, 4096)  # F_SETPIPE_SZ
fcntl.fcntl(w, fcntl.F_SETFL, os.O_WRONLY | os.O_NONBLOCK)
p = subprocess.Popen(sys.argv[2:], **{sys.argv[1]: w})
time.sleep(0.3)
assert fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK
os.close(w)
while data := os.read(r, 1024):
    os.write(3, data)
    time.sleep(0.002)
sys.exit(p.wait())
EOF
    for line in 'portcheck --help' 'ncclbench --generate man' 'windsock --generate bash'; do
        # shellcheck disable=SC2086
        timeout 60 "$BIN/"$line >want
        # shellcheck disable=SC2086
        COLUMNS=80 timeout 60 python3 slow.py stdout "$BIN/"$line 3>got
        cmp want got
    done
    # nobody reads any more: nothing is waited for
    timeout 60 python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.set_blocking(w, False)
os.close(r)
sys.exit(subprocess.run([sys.argv[1], "--help"], stdout=w).returncode not in (3, -13))' "$BIN/portcheck"
}

@test "what failed is said once where stdout and stderr are read together, and its fix stands below it" {
    local bench=("$BIN/ncclbench" -b 1M -e 1M -n 2 --expect 9999)
    script -qec "${bench[*]}" terminal </dev/null >/dev/null || [ $? -eq 1 ]
    "${bench[@]}" >file 2>&1 3>&- || [ $? -eq 1 ]
    for shown in terminal file; do
        [ "$(grep -c 'expected 9999' $shown)" -eq 1 ] || { cat -v $shown; false; }
        grep -A1 '^# FAIL coll.bandwidth: ' $shown | grep -q ' ncclbench -b 64M -e 1G' || { cat -v $shown; false; }
    done
    # apart, each of them is whole
    run -1 --separate-stderr "${bench[@]}"
    [[ $output == *"# FAIL coll.bandwidth: "* && $stderr == *"fail: coll.bandwidth all_reduce: "*" -> ncclbench -b 64M"* ]]
}
