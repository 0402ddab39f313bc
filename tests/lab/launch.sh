# shellcheck shell=bash
# What the bats files about launching share: a lab of three nodes, runs of
# `rank_probe` (rank_probe.c: a command that has ranks and nothing else) and what
# is left of them, real sshd's. Load it: load launch.sh
load ../nodes.sh
load ../wait.sh

setup_file() {
    export P=$O/lab/rank_probe
    nodes_up 3
    KEYS=$(mktemp -d /tmp/launch.XXXXXX) # on a path that sshd accepts
    export KEYS
}

teardown_file() {
    nodes_down
    [ -z "${KEYS:-}" ] || rm -rf "$KEYS"
}

setup() {
    OUT=$BATS_TEST_TMPDIR/out ERR=$BATS_TEST_TMPDIR/err
    cd "$BATS_TEST_TMPDIR" || exit
}

teardown() { # whatever went wrong, the next test starts clean
    on 0 pkill -9 -x rank_probe || true
}

says() { # N TEXT FILE: so many lines have it
    [ "$(grep -c "$2" "$3")" -ge "$1" ]
}

# Every process of ours in the lab: "PID PPID ARGS".
ours() {
    on 0 ps -eo pid=,ppid=,stat=,args= | awk -v p="$P" '$4 == p && $3 !~ /Z/ { $3 = ""; print }'
}

nothing_left() {
    [ -z "$(ours)" ]
}

# The launcher: no agent, and not started by one.
launcher() {
    ours | awk '{ pid[$1] = $2; agent[$1] = $4 == "--agent" }
        END { for (p in pid) if (!agent[p] && !(pid[p] in agent)) print p }'
}

# The working half of an agent: an agent whose parent is an agent of one word.
agents() { # keeper | worker
    ours | awk -v want="$1" '$4 == "--agent" && NF < 6 { pid[$1] = $2 }
        END { for (p in pid) if (((pid[p] in pid)) == (want == "worker")) print p }'
}

# A run of hanging ranks in the background; its ranks' pids are in $OUT.
begin() { # RANKS OPTIONS...
    local n=$1
    shift
    : >"$OUT"
    on 0 "$P" --deadline 10 --heartbeat 1500ms "$@" -- "${MODE:-hang}" >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    wait_for 15 says "$n" ' pid ' "$OUT" || { cat "$OUT" "$ERR"; return 1; }
}

pid_of() { # RANK
    sed -n "s/^\[$1 .*\] pid //p" "$OUT" | head -n 1
}

ended() { # CODE SECONDS [SENTENCE]: of the run that was begun
    local rc=0 start=$SECONDS
    wait "$RUN" || rc=$?
    cat "$OUT" "$ERR"
    [ "$rc" = "$1" ]
    ((SECONDS - start <= $2))
    [ -z "${3-}" ] || grep -qF -- "$3" "$ERR"
    wait_for 15 nothing_left || { ours; return 1; }
}

sshd_up() {
    [ "$(id -u)" = 0 ] || skip "not root: sshd needs it"
    command -v sshd >/dev/null || skip "needs openssh-server"
    [ ! -e "$KEYS/id" ] || return 0
    chmod 711 "$KEYS"
    ssh-keygen -q -t ed25519 -N '' -f "$KEYS/id"
    ssh-keygen -q -t ed25519 -N '' -f "$KEYS/host"
    printf 'HostKey %s/host\nAuthorizedKeysFile %s/id.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n' \
        "$KEYS" "$KEYS" >"$KEYS/sshd.conf"
    printf 'node0,node1,node2 %s\n' "$(cut -d' ' -f1,2 "$KEYS/host.pub")" >"$KEYS/known"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec ssh -F none -i %s/id -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=%s/known -o GlobalKnownHostsFile=none "$@"\n' \
        "$KEYS" "$KEYS" >"$KEYS/ssh"
    chmod +x "$KEYS/ssh"
    for n in 0 1 2; do
        on $n sh -c "[ -d /run/sshd ] || { mount -t tmpfs none /run; mkdir /run/sshd; }; exec $(command -v sshd) -f '$KEYS/sshd.conf' -E '$KEYS/log$n'" 3>&-
    done
    wait_for 15 on 0 "$KEYS/ssh" node2 true
}
