# shellcheck shell=bash
# What the bats files about scripts/ share: no job of this machine around them, and commands
# in place of others. Load it: load glue.sh

load ../stand_in.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}" "${!SLURM_@}" "${!GITHUB_@}"
    # shellcheck disable=SC2034 # who loads this uses it
    S=$ROOT/scripts
    mkdir tools
    export PATH=$PWD/tools:$BIN:$PATH
}
