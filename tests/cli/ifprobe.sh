# shellcheck shell=bash
# What the bats files about ifprobe share: recorded machines (tests/sysroot), a
# home of their own, no settings from outside. Load it: load ifprobe.sh

MACHINES="aws-p4d azure bond-vlan container dgx-roce digits hgx-h100 laptop wsl2 wsl2-mirrored"

setup_file() {
    local name
    for name in $MACHINES; do
        "$ROOT/tests/sysroot/compose" "$name" "$BATS_FILE_TMPDIR/$name"
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$BATS_TEST_TMPDIR/home PATH=$BIN:$PATH
    mkdir -p "$HOME"
    echo '. ~/.bashrc' >"$HOME/.profile" # as a new user's
    unset "${!NCCL_@}" "${!GLOO_@}" "${!TP_@}" "${!OMPI_@}" "${!UCX_@}" "${!MASTER_@}" "${!WINDSOCK_@}"
}

on() { # MACHINE ARGUMENTS...
    local machine=$1
    shift
    ifprobe --sysroot "$BATS_FILE_TMPDIR/$machine" "$@"
}

machine() { # NAME LINES...: composes a machine of our own
    printf '%s\n' "host n0" "link 1 lo type=loopback mtu=65536" "addr lo 127.0.0.1/8" \
        "${@:2}" >"$BATS_TEST_TMPDIR/$1.host"
    "$ROOT/tests/sysroot/compose" "$BATS_TEST_TMPDIR/$1.host" "$BATS_FILE_TMPDIR/$1"
}

# shellcheck disable=SC2034 # used by those who load this
NIC=("link 2 eth0 pci=0000:01:00.0 driver=ixgbe" "addr eth0 10.0.0.1/24"
    "file /etc/hosts '10.0.0.1 n0'")

found() { # CHECK [SUBJECT]: its status in $output, or nothing
    jq -r --arg c "$1" --arg s "${2:-}" \
        '.findings[] | select(.check == $c and ($s == "" or .subject == $s)) | .status' <<<"$output"
}

namespace() { # COMMAND...: with a network of its own, empty
    unshare --user --map-root-user --net --mount -- "$@"
}

can_unshare() { namespace true 2>/dev/null || skip "no namespaces can be made here"; }

