# shellcheck shell=bash
# shellcheck source=tests/jq.bash
setup_suite() { . "$BATS_TEST_DIRNAME/../jq.bash"; }
