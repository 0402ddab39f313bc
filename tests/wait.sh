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

# A TCP port of this machine that nobody has.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
