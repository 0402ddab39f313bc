# shellcheck shell=bash
# What the bats files about clouds share. Load it: load cloud.sh

wait_for() { # COMMAND...: until it succeeds
    local tries=100
    until "$@" 2>/dev/null; do
        ((tries-- > 0)) || { echo "in vain: $*" >&2; return 1; }
        sleep 0.05
    done
}

# As for somebody who has no AWS settings, no proxy, and a home without profiles.
no_settings() {
    local name
    for name in $(compgen -e AWS_) MASTER_PORT http_proxy https_proxy all_proxy \
        HTTP_PROXY HTTPS_PROXY ALL_PROXY; do
        unset "$name"
    done
    mkdir -p "$BATS_TEST_TMPDIR/home"
    export HOME="$BATS_TEST_TMPDIR/home"
}

finding() { # CHECK: its statuses in the JSON of $output
    jq -r --arg c "$1" '[.findings[] | select(.check == $c) | .status] | unique | join(",")' <<<"$output"
}

# What runs a command as on a machine whose DMI says so: a /sys/class of its own, with the real net
# beside it. Behind it: FOLDER FILE=TEXT COMMAND...
# shellcheck disable=SC2016,SC2034 # the inner shell expands it; those that load this use it
AS_MACHINE=(unshare -m sh -euc '
    mkdir -p "$1/net" "$1/class"
    mount -t sysfs sysfs "$1/class"
    mount --rbind "$1/class/class/net" "$1/net"
    mount -t tmpfs tmpfs /sys/class
    mkdir -p /sys/class/dmi/id /sys/class/net
    mount --rbind "$1/net" /sys/class/net
    printf "%s\n" "${2#*=}" >"/sys/class/dmi/id/${2%%=*}"
    shift 2
    exec "$@"' sh)
