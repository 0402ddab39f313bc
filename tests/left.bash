# shellcheck shell=bash
# What a suite leaves behind is a failure: files, processes, networks that have a name. For all
# suites of scripts/check (check.d/suites), and for those of bats also where one is run by hand
# (setup_suite.bash):
#
#   left_mark FOLDER     from here on TMPDIR is FOLDER, and what is started carries its name
#   left_behind FOLDER   says what is left of it and ends that; fails when there is anything
#
# A process is known by its environment, also where it has another parent or session by now.
# One that was started with an empty environment is not; in a lab it ends with that.

# Files that others' programs never remove: torchrun's logs of its workers, torch's cache of
# compiled code, the folder in which Open MPI's daemons and those of other jobs meet (of 5 where
# its mpirun was killed), and what its ranks share where one was killed (else that is in
# /dev/shm), the ends of valgrind's pipes to a debugger where what it ran was killed.
LEFT_BY_OTHERS='torchelastic_*|torchinductor_*|ompi.*|prterun.*|vader_segment.*|vgdb-pipe-*'

left_mark() { # FOLDER
    export TMPDIR=$1 SUITE_MARK=$1
}

# Named as tests name theirs (wsnet1234-a), of a test that is over.
left_nets() {
    local net name all=()
    for net in /run/netns/ws*-*; do
        name=${net##*/}
        [[ $name =~ ^ws[a-z]+([0-9]+)- && ! -e /proc/${BASH_REMATCH[1]} ]] || continue
        [[ ${LEFT_NETS-} == *" $name "* ]] || all+=("$name")
    done
    echo "${all[*]}"
}
[[ ${LEFT_NETS-} ]] || LEFT_NETS=" $(left_nets) " # before all suites
export LEFT_NETS

left_processes() { # FOLDER: their ids
    local -x SUITE_MARK='' # of those that look for them
    { grep -slzF "SUITE_MARK=$1" /proc/[0-9]*/environ || true; } | grep -oE '[0-9]+'
}

left_files() { # FOLDER
    local path name
    for path in "$1"/* "$1"/.[!.]*; do
        name=${path##*/}
        # shellcheck disable=SC2053 # a pattern
        [[ ! -e $path && ! -L $path || $name == @($LEFT_BY_OTHERS) ]] || echo "$name"
    done
}

left_behind() { # FOLDER
    local end=$((SECONDS + ${LEFT_PATIENCE:-5})) pids files net pid bad=0
    # Who was told to end may be on the way.
    while pids=$(left_processes "$1") && ((SECONDS < end)); do sleep 0.1; done
    for pid in $pids; do
        echo "left behind: process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        kill -9 "$pid" || true
        bad=1
    done 2>/dev/null
    files=$(left_files "$1")
    [[ ! $files ]] || { echo "left behind in TMPDIR: ${files//$'\n'/ }"; bad=1; }
    for net in $(left_nets); do
        echo "left behind: network namespace $net"
        ip netns del "$net" || true
        bad=1
    done
    rm -rf "${1:?}"
    ((!bad))
}
