# shellcheck shell=bash
# Processors that somebody else has, and the end of them. For files of bats whose teardown is
# busy_teardown; $lab is a lab that goes with it.

# One process each: between timeout(1) and what it runs a signal may be lost.
busy() { # PROCESSES
    local i
    hogs=()
    for ((i = 0; i < $1; i++)); do
        bash -c 'while ((SECONDS < 600)); do :; done' 3>&- &
        hogs+=($!)
    done
}

busy_teardown() {
    if ((${#hogs[@]})); then
        kill "${hogs[@]}" 2>/dev/null || true
        wait "${hogs[@]}" 2>/dev/null || true # gone, not on their way
    fi
    [ -z "${lab:-}" ] || "$LAB" down "$lab"
}
