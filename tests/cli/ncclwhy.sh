# shellcheck shell=bash
# What the tests of ncclwhy have in common.

wait_for() { # SECONDS CMD...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}
