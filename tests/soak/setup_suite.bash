# shellcheck shell=bash
# shellcheck source=tests/jq.bash
. "${BASH_SOURCE[0]%/*}/../jq.bash"
# shellcheck source=tests/left.bash
. "${BASH_SOURCE[0]%/*}/../left.bash"
# shellcheck source=tests/sudo.bash
. "${BASH_SOURCE[0]%/*}/../sudo.bash"

setup_suite() {
    left_mark "$BATS_SUITE_TMPDIR"
    sudo_at_hand
}
teardown_suite() { left_behind "$BATS_SUITE_TMPDIR"; }
