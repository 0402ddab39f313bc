#!/usr/bin/env bats
# scripts/nhc/windsock.nhc, in what nhc's driver is to a check: the files of a folder are sourced,
# without globbing and with an odd IFS, and each line of nhc.conf for this host is evaluated.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load glue.sh

nhc() { # LINE OF NHC.CONF
    cat >nhc <<'X'
        function die() {
            local RET=$1
            shift
            echo "ERROR:  nhc:  Health check failed:  $*"
            CHECK_DIED=1
            exit "$RET"
        }
        function log() { echo "log $*"; }
        HOSTNAME=n1 TIMEOUT=${TIMEOUT-30} CHECK_DIED=0
        load() {
            local IFS=''
            set -f
            for SCRIPT in "$1/windsock.nhc"; do . $SCRIPT; done
        }
        load "$1"
        while read -r MASK BARS CHECK; do
            [[ $HOSTNAME == $MASK && $BARS == '||' ]] || continue
            eval $CHECK
            RET=$?
            ((!RET)) || { echo "returned $RET without die"; exit "$RET"; }
        done <nhc.conf
        echo passed
X
    echo "$1" >nhc.conf
    run /usr/bin/timeout 40 bash nhc "$S/nhc"
}

is() { # CODE OUTPUT
    [[ $status == "$1" && $output == "$2" ]] || { echo "$status: $output"; return 1; }
}

fails() { # WORDS: of its reason
    [[ $status == 1 && $output == *"check_windsock:  $1"* ]] || { echo "$status: $output"; return 1; }
}

@test "nhc: a sick node fails the check with our first cause; what is absent, and our failures, only where asked" {
    local bad='printf "TAP version 14\nok 1 - x\nnot ok 2 - c.d y\n  ---\n  severity: \"error\"\n  message: \"broke\"\n  ...\n"'
    bad+='; printf "not ok 3 - a.b /dev/shm on n1\n  ---\n  severity: \"fail\"\n  message: \"has \\\\\"none\\\\\" left\"\n  ...\nnot ok 4 - e.f\n  ---\n  severity: \"fail\"\n  message: \"late\"\n1..4\n"'
    stand_in windsock 'echo "$*" >>calls; echo 1..0'
    nhc ' * || check_windsock'
    is 0 passed
    nhc ' * || check_windsock -t 60 --full --peers "a b"'
    is 0 passed
    [ "$(cat calls)" = "--here --quick --budget 15s --format tap
--here --full --peers a b --budget 25s --format tap" ]
    stand_in windsock "$bad; exit 1"
    nhc ' * || check_windsock'
    is 1 'ERROR:  nhc:  Health check failed:  check_windsock:  a.b /dev/shm on n1: has none left'
    nhc ' m* || check_windsock'
    is 0 passed
    stand_in windsock "$bad; exit 4"
    nhc ' * || check_windsock -u'
    is 0 'log check_windsock:  not judged, something is not on this node: a.b /dev/shm on n1: has none left'$'\n'passed
    nhc ' * || check_windsock -a'
    fails 'a.b '
    # a 1 without a whole report is no verdict
    for kind in 'echo 1..0; exit 3' 'exit 1'; do
        stand_in windsock "$kind"
        nhc ' * || check_windsock -a'
        is 0 'log check_windsock:  not judged: windsock failed (exit code 3)'$'\n'passed
        nhc ' * || check_windsock -u'
        fails 'windsock failed (exit code 3)'
    done
    nhc ' * || check_windsock -t soon'
    fails '-t wants seconds'
}

@test "nhc: a windsock that is not there, or that no signal ends, is over before nhc's own time" {
    nhc ' * || WINDSOCK=/nowhere/windsock; check_windsock'
    is 0 'log check_windsock:  not judged: there is no /nowhere/windsock'$'\n'passed
    stand_in windsock 'trap "" TERM; sleep 30'
    TIMEOUT=6 nhc ' * || check_windsock'
    is 0 'log check_windsock:  not judged: windsock did not end within 1 s'$'\n'passed
    stand_in timeout 'trap "" TERM; echo $BASHPID >left; exec sleep 30' # as where a driver holds it
    SECONDS=0
    nhc ' * || check_windsock -t 1 -u'
    ((SECONDS < 15))
    kill -KILL "$(cat left)"
    fails 'windsock did not end within 1 s'
}

@test "nhc: the real windsock's verdict" {
    nhc ' * || check_windsock -t 25'
    "$BIN/windsock" --here --quick >/dev/null || [ "$status" = 1 ]
    [[ $output == passed || $output == *"Health check failed:  check_windsock:  "*": "* ]]
}
