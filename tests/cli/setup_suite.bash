# shellcheck shell=bash
# shellcheck source=tests/suite.bash
. "${BASH_SOURCE[0]%/*}/../suite.bash"

setup_suite() {
    suite_begin
    # Not where several hosts are played: their settings would differ.
    export OMPI_MCA_btl_vader_backing_directory=$BATS_SUITE_TMPDIR
}
