# shellcheck shell=bash
# Fixes are told with sudo where there is one, and a container's root has none: all suites see the
# same lines, and can type them.
sudo_at_hand() {
    PATH=$PATH:$(cd "${BASH_SOURCE[0]%/*}/sudo" && pwd)
    export PATH
}
