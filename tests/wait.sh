# shellcheck shell=bash
# What happens beside a test is waited for by its sign. Load it: load ../wait.sh

wait_for() { # SECONDS CMD...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# Into WORKED_MS: processor time of all that this shell has waited for. A limit of that is one
# on a busy machine too. (Not in a subshell, which has waited for nothing.)
worked() {
    times >"$BATS_TEST_TMPDIR/times"
    # shellcheck disable=SC2034 # who calls reads it
    WORKED_MS=$(awk -F'[ms ]+' 'NR == 2 { printf "%d", (($1 + $3) * 60 + $2 + $4) * 1000 }' "$BATS_TEST_TMPDIR/times")
}

# A TCP port of this machine that nobody has.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Somebody listens on a port, takes everybody in and says nothing: into PORT and HOLDER, a process.
hold_port() {
    PORT=$(free_port)
    python3 -c "import socket, time; s = socket.create_server(('', $PORT)); time.sleep(60)" 3>&- &
    # shellcheck disable=SC2034 # who calls ends it
    HOLDER=$!
    wait_for 15 sh -c "ss -ltn | grep -q :$PORT"
}
