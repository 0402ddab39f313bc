# shellcheck shell=bash
# What every suite begins and ends with; a folder's setup_suite.bash loads it.
# shellcheck source=tests/jq.bash
. "${BASH_SOURCE[0]%/*}/jq.bash"
# shellcheck source=tests/valid.bash
. "${BASH_SOURCE[0]%/*}/valid.bash"
# shellcheck source=tests/left.bash
. "${BASH_SOURCE[0]%/*}/left.bash"
# shellcheck source=tests/sudo.bash
. "${BASH_SOURCE[0]%/*}/sudo.bash"

suite_begin() {
    valid_begin
    left_mark "$BATS_SUITE_TMPDIR"
    sudo_at_hand
    ulimit -c 0 # some tests end programs that dump core, into whatever folder those are in
}
setup_suite() { suite_begin; }
teardown_suite() {
    local bad=0
    valid_end || bad=1
    left_behind "$BATS_SUITE_TMPDIR" || bad=1
    return "$bad"
}
