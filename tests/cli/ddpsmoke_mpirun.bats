#!/usr/bin/env bats
# ddpsmoke behind an mpirun that takes its time: after a Ctrl-C rank 0 has as long as it
# goes on saying that it is ending. The mpirun is a stand-in, whose ranks say what they
# are told to.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ddpsmoke.sh

setup() {
    [ -e "${BIN%/bin}/lib/windsock/mpi-openmpi.so" ] || skip "mpi-openmpi.so was not built"
    cd "$BATS_TEST_TMPDIR" || return
    "$BIN/ddpsmoke" --samples 512 --json >report
    cat >mpirun.openmpi <<'END'
#!/usr/bin/env bash
# Until the end of its input, and then for SECONDS_TO_END seconds.
trap 'echo ended >$NAME.ended; exit 143' TERM
echo >$NAME.there
cat >/dev/null
for ((i = 0; i < SECONDS_TO_END; i++)); do
    ((!BEATS)) || printf '\x1e{"ev":"ending"}\n'
    sleep 1 &
    wait $!
done
cat report
exit 3
END
    chmod +x mpirun.openmpi
}

# A Ctrl-C, once it is there.
start() { # NAME BEATS SECONDS
    NAME=$1 BEATS=$2 SECONDS_TO_END=$3 WINDSOCK_MPIRUN=$PWD/mpirun.openmpi \
        "$BIN/ddpsmoke" --backend mpi-openmpi >"$1" 2>"$1.err" 3>&- &
    until [ -e "$1.there" ]; do sleep 0.05; done
    kill -INT $!
}

@test "a rank 0 that says it is ending may take long, one that says nothing may not" {
    start alive 1 12
    start mute 0 12
    ends_with 3 %1
    ends_with 3 %2
    grep -q '^pass  train.params ' alive || { cat alive*; false; }
    [ ! -e alive.ended ]
    [ -e mute.ended ]
    run ! grep -q '^pass' mute
    grep -q 'interrupted by SIGINT' mute.err
}
