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
