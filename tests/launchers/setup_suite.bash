# shellcheck shell=bash
# shellcheck source=tests/suite.bash
. "${BASH_SOURCE[0]%/*}/../suite.bash"
