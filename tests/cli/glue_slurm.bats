#!/usr/bin/env bats
# The files of scripts/slurm with stand-ins of Slurm's commands; with a real Slurm:
# tests/launchers/prolog.bats and prolog_admin.bats.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load glue.sh

@test "Slurm prolog: logs that cannot be written never drain; a verdict does, from memory" {
    [ "$(id -u)" = 0 ] || skip "not root: a full disk is a mount"
    cp -r "$S/slurm" hooks
    mkdir full
    stand_in scontrol 'echo "$*" >>"'"$PWD"'/calls"; echo "NodeName=n State=IDLE Reason="'
    # PROLOG: on a disk that is full, or too full for a report, and where /run is as well
    cat >prolog <<'X'
        mount -t tmpfs tmpfs /run && mount -t tmpfs -o size=4k tmpfs full || exit 77
        [ "$1" = nearly ] || head -c 64k /dev/zero >full/x 2>/dev/null
        [ "$1" != nowhere ] || mount -t tmpfs -o size=4k,nr_inodes=1 tmpfs /run
        echo "TOOLS=$PWD/tools LOGS=$2" >hooks/windsock.conf
        env -i SLURM_JOB_ID=1 hooks/prolog
X
    prolog() { # WHERE LOGS CODE
        rm -f calls
        run "-$3" unshare --mount bash prolog "$1" "$2"
    }
    fine='echo "TAP version 13"; echo "ok 1 - a.b"; echo 1..1'
    bad='printf "not ok 1 - a.b x\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n"; exit 1'
    for logs in "$PWD/full" "$PWD/full/below" /proc/none "$PWD/prolog"; do
        stand_in windsock "$fine"
        prolog memory "$logs" 0
        [ ! -e calls ]
        prolog nowhere "$logs" 0
        [ ! -e calls ]
        stand_in windsock "$bad"
        prolog memory "$logs" 1
        grep -q 'State=DRAIN Reason=windsock: a.b x: is bad' calls
        prolog nowhere "$logs" 0
        [ ! -e calls ]
    done
    stand_in windsock "printf 'ok %s - a\n' {1..2000}; $bad"
    prolog nearly "$PWD/full" 1
    grep -q State=DRAIN calls
}

@test "Slurm: logs on a file server that is gone hold nothing up; a verdict drains" {
    [ "$(id -u)" = 0 ] || skip "not root: /run is its own"
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o hung.so "$ROOT/tests/fake/libhung.c"
    cp -r "$S/slurm" hooks
    mkdir hung
    echo "TOOLS=$PWD/tools LOGS=$PWD/hung/logs" >hooks/windsock.conf
    stand_in scontrol 'echo "$*" >>"'"$PWD"'/calls"; echo "NodeName=n State=IDLE Reason="'
    stand_in windsock 'printf "not ok 1 - a.b x\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n"; exit 1'
    for hook in prolog healthcheck; do
        rm -f calls
        begin=$SECONDS
        code=0 # Slurm looks at no healthcheck's
        [[ $hook != prolog ]] || code=1
        run "-$code" timeout -s KILL 25 unshare --mount bash -c \
            'mount -t tmpfs tmpfs /run; env -i LD_PRELOAD="$PWD/hung.so" SLURM_JOB_ID=1 "hooks/$1"; code=$?; cat /run/windsock/slurm.log; exit $code' - "$hook"
        ((SECONDS - begin <= 20)) # DEADLINE
        [[ $output == *" $hook "*" drained: a.b x: is bad"* ]]
        grep -q 'Reason=windsock: a.b x: is bad' calls
    done
}

@test "Slurm: the lines that install the scripts upgrade them as well, and keep the settings" {
    local lines line file
    mkdir -p etc/slurm
    lines=$(grep -h 'scripts/slurm.*/etc/slurm\|/etc/slurm.* scripts/slurm' "$ROOT/docs/integrations.md")
    for line in "$(sed -n 's/.*| `\([^`]*scripts\/slurm[^`]*\)`.*/\1/p' "$ROOT/README.md")" \
        "$(grep -h '/etc/slurm.* scripts/slurm' "$S"/slurm/*[!f] | sed 's/^#  *//' | sort -u)" "$lines" "$lines"; do
        [ -n "$line" ]
        (cd "$ROOT" && bash -c "${line//\/etc\/slurm/$BATS_TEST_TMPDIR/etc/slurm}") || : # a later cp minds what is there
        for file in prolog epilog taskprolog healthcheck campaign undrain common.sh; do
            cmp "$S/slurm/$file" etc/slurm/windsock/$file
            echo old >etc/slurm/windsock/$file
        done
        [ ! -e etc/slurm/windsock/slurm ]
        [ "$(cat etc/slurm/windsock/windsock.conf 2>/dev/null)" != "$(cat "$S/slurm/windsock.conf")" ] || echo KEEP=7 >etc/slurm/windsock/windsock.conf
    done
    [ "$(cat etc/slurm/windsock/windsock.conf)" = KEEP=7 ]
}

@test "Slurm: what no signal ends holds neither slurmd, which reads to the end, nor the next check" {
    cp -r "$S/slurm" hooks
    mkdir logs
    printf 'TOOLS=%q LOGS=%q DEADLINE=7\n' "$PWD/tools" "$PWD/logs" >hooks/windsock.conf
    hangs='trap "" TERM; echo $BASHPID >>'"$PWD"'/left; exec sleep 60'
    stand_in timeout '[[ $* != *--budget* || -e '"$PWD"'/well ]] || { '"$hangs"'; }; exec /usr/bin/timeout "$@"'
    stand_in logger '[[ -e '"$PWD"'/well ]] || { '"$hangs"'; }'
    stand_in windsock 'echo 1..0; exit 3'
    stand_in scontrol 'exit 1'
    code=0
    for hook in prolog healthcheck; do
        # shellcheck disable=SC2002 # as slurmd, which has a pipe
        timeout 20 bash -c 'env -i SLURM_JOB_ID=1 SLURMD_NODENAME=n "hooks/$1" 2>&1 | cat' - $hook || code=$?
    done
    : >well
    env -i SLURMD_NODENAME=n hooks/healthcheck
    exec {lock}>logs/healthcheck.n.lock
    flock -w 10 "$lock" || code=lock # what was just forked has yet to let go of it
    env -i SLURMD_NODENAME=n hooks/healthcheck
    xargs kill -KILL <left
    [ "$code" = 0 ]
    [ "$(grep -c 'ours (code 124' logs/slurm.log)" = 2 ]
    grep -q 'healthcheck n: ours (code 3)' logs/slurm.log
    [[ $(tail -n 1 logs/slurm.log) == *"healthcheck n: not tested: the check before is still running" ]]
}

@test "Slurm undrain: what Slurm takes for no node is not done, and not passed over" {
    stand_in sinfo 'exit 1'
    stand_in scontrol '[ "$2" = hostnames ] || exit 0; [ "$3" != "n[1-" ] || { echo "Invalid hostlist: n[1-" >&2; exit 1; }; echo "$3"'
    printf 'TOOLS=%q LOGS=%q\n' "$PWD/tools" "$PWD" >windsock.conf
    cp "$S"/slurm/{undrain,common.sh} .
    run -3 ./undrain 'n[1-'
    [[ $output == *"'n[1-' names no node" ]]
}

@test "Slurm: a node that is down, failed, rebooting or on its way up is nobody's to resume" {
    stand_in sinfo 'echo "$*" >sinfo; printf "n%s\n" 1 2 3 4 5 6'
    stand_in scontrol '[ $1 != update ] || { echo "$*" >>calls; exit; }
        states=(IDLE+DRAIN DOWN*+DRAIN FAIL+DRAIN IDLE+DRAIN+REBOOT_REQUESTED IDLE+DRAIN+POWERING_UP IDLE+DRAIN+POWERED_DOWN)
        printf "NodeName=x\n   State=%s ThreadsPerCore=1\n   Reason=windsock: a.b x: is bad [root@2026]\n" "${states[${3#n} - 1]}"'
    stand_in windsock 'echo 1..0'
    stand_in logger :
    printf 'TOOLS=%q LOGS=%q AUTO_RESUME=yes\n' "$PWD/tools" "$PWD" >windsock.conf
    cp "$S"/slurm/{undrain,healthcheck,common.sh} .
    run -0 --separate-stderr ./undrain
    [ "$(cut -f1,2 <<<"$output" | paste -sd' ')" = $'n1\tresumed n6\tresumed' ]
    [[ " $(cat sinfo) " == *" -a "* ]] # a hidden partition's, too
    grep -q '^undrain: n2 is left alone: DOWN\*+DRAIN, windsock: a.b x: is bad$' <<<"$stderr"
    [ "$(grep -c '^undrain: n[2-5] is left alone: ' <<<"$stderr")" = 4 ]
    rm calls
    : >drained.n3
    SLURMD_NODENAME=n3 ./healthcheck
    [ ! -e calls ]
    grep -q 'n3 passes again, and is left alone: FAIL+DRAIN' slurm.log
    : >drained.n1
    SLURMD_NODENAME=n1 ./healthcheck
    grep -q 'NodeName=n1 State=RESUME' calls
}

@test "Slurm campaign: a node that could not be drained is said to be none" {
    stand_in sinfo 'printf "all* n%s idle\n" 1 2 3'
    stand_in scontrol 'echo "slurm_update error: Access denied"; exit 1'
    stand_in salloc 'echo "$*" >asked; while [ "$1" != windsock ]; do shift; done; exec "$@"'
    stand_in windsock 'while [ "$1" != --nodes ]; do shift; done; echo n2 >"$2/failing_nodes.txt"
        printf "n1\nn3\n" >"$2/passing_nodes.txt"; printf "not ok 1 - a.b n2\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n" >"$2/report.tap"; exit 1'
    printf 'TOOLS=%q LOGS=%q\n' "$PWD/tools" "$PWD/logs" >windsock.conf
    cp "$S"/slurm/{campaign,common.sh} .
    echo MINUTES=7 >>windsock.conf
    run -1 ./campaign
    [[ $(cat asked) == *" --exclusive --mem=0 -t 7 "* ]] # whatever a partition's jobs have by default
    [[ $output == *"campaign: could not drain n2, $PWD/logs/slurm.log has why: a.b n2: is bad"* ]]
    grep -q 'n2 could not be drained (slurm_update error: Access denied)' logs/slurm.log
}

@test "Slurm campaign: a step asks for all GPUs of its node, which an exclusive job alone does not give it" {
    stand_in sinfo 'printf "all* %s\n" "n1 idle gpu:h100:8(S:0,2),shard:80" "n2 idle gpu:a100:4(S:0-1),gpu:1g.10gb:7(S:0)" "n3 idle (null)" "n4 idle gpu" "n5 mixed gpu:8"'
    stand_in salloc 'while [ "$1" != windsock ]; do shift; done; exec "$@"'
    stand_in windsock '[ "$1" != --srun ] || { echo "$2 ${SLURM_GRES-none} $3" >>steps; exit; }
        while [ "$1" != --rsh ]; do shift; done; eval "way=($2)"
        for n in 1 2 3 4; do "${way[@]}" n$n "true $n"; done
        while [ "$1" != --nodes ]; do shift; done; printf "n%s\n" 1 2 3 4 >"$2/passing_nodes.txt"
        printf "ok 1 - a.b\n1..1\n" >"$2/report.tap"'
    mkdir "in a folder"
    printf 'TOOLS=%q LOGS=%q\n' "$PWD/tools" "$PWD/in a folder/logs" >"in a folder/windsock.conf"
    cp "$S"/slurm/{campaign,common.sh} "in a folder"
    run -0 "in a folder/campaign"
    [[ $output == *"4 of 4 idle nodes pass, 0 are at fault"* ]]
    [ "$(cat steps)" = $'n1 gpu:8 true 1\nn2 gpu:11 true 2\nn3 none true 3\nn4 gpu:1 true 4' ]
}

@test "Slurm: what an administrator drained keeps its reason, also where slurmctld does not say so at once" {
    stand_in logger :
    stand_in scontrol '[ "$1" != update ] || { echo "$*" >>calls; exit; }
        [ ! -e slow ] || { rm slow; exit 124; }
        printf "NodeName=%s\n   State=IDLE+DRAIN ThreadsPerCore=1\n   Reason=new fans [root@2026]\n" "$3"'
    printf 'TOOLS=%q LOGS=%q ON_FAIL=drain\n' "$PWD/tools" "$PWD/logs" >windsock.conf
    cp "$S"/slurm/{campaign,prolog,healthcheck,common.sh} .
    bad='printf "not ok 1 - a.b n2\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n"'
    stand_in windsock "$bad; exit 1"
    for hook in prolog healthcheck; do
        rm -f logs/slurm.log
        : >slow
        SLURM_JOB_ID=1 SLURMD_NODENAME=n2 ./$hook || [ $hook = prolog ]
        grep -q 'n2 could not be drained (no answer from slurmctld): a.b n2: is bad' logs/slurm.log
        SLURM_JOB_ID=1 SLURMD_NODENAME=n2 ./$hook || [ $hook = prolog ]
        grep -q 'n2 is IDLE+DRAIN already and keeps its reason; ours: a.b n2: is bad' logs/slurm.log
    done
    stand_in sinfo 'printf "all* n%s idle\n" 1 2 3'
    stand_in salloc 'while [ "$1" != windsock ]; do shift; done; exec "$@"'
    stand_in windsock 'while [ "$1" != --nodes ]; do shift; done; echo n2 >"$2/failing_nodes.txt"
        printf "n1\nn3\n" >"$2/passing_nodes.txt"; '"$bad"' >"$2/report.tap"; exit 1'
    run -1 ./campaign
    [[ $output == *"campaign: n2 is drained already and keeps its reason (new fans); ours: a.b n2: is bad"* ]]
    [[ $output != *"campaign: drained n2"* ]]
    [ ! -e calls ]
}

@test "Slurm prolog: a scontrol that hangs when it is asked for the job's nodes holds no job up" {
    stand_in logger :
    stand_in windsock 'echo "ok 1 - a"; echo 1..1'
    stand_in scontrol 'exec sleep 60'
    printf 'TOOLS=%q LOGS=%q PEERS=2\n' "$PWD/tools" "$PWD/logs" >windsock.conf
    cp "$S"/slurm/{prolog,common.sh} .
    SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[1-3]' SLURMD_NODENAME=n2 run -0 timeout 20 ./prolog # DEADLINE
    grep -q 'job 1 on n2: sound' logs/slurm.log
}

# Of GPUs 0, 1 ... in the order of their addresses: the numbers of their devices, as the driver says them.
minors() { # NUMBER...
    local i=0 folder minor
    rm -rf proc/driver
    for minor; do
        printf -v folder 'proc/driver/nvidia/gpus/0000:%x8:00.0' $((i += 1))
        mkdir -p "$folder"
        printf 'Model: \t\t NVIDIA H100\nDevice Minor: \t %s\nGPU Excluded:\t No\n' "$minor" >"$folder/information"
    done
}

@test "Slurm epilog: what a job left on its GPUs, or a file server that hangs, drains; what others run does not" {
    stand_in logger :
    stand_in scontrol '[ ! -e silent ] || exit 124; [ "$1" != update ] || echo "$*" >>calls; echo "NodeName=n State=IDLE Reason="'
    stand_in dmesg 'read -r up _ </proc/uptime; up=${up%.*}
        printf "[%5d.000000] NVRM: Xid (PCI:0000:18:00): %d, pid=1\n" $((up - 99)) 79 $((up + 9)) 31'
    stand_in stat '[[ $* != */gone ]] || exec sleep 60; exec /usr/bin/stat "$@"'
    printf 'TOOLS=%q LOGS=%q MOUNTS=%q DEADLINE=12 PROC=%q\n' "$PWD/tools" "$PWD/logs" "$PWD/mounts" "$PWD/proc" >windsock.conf
    : >mounts
    mkdir -p logs proc/9
    minors 0 1 2 3
    cp "$S"/slurm/{epilog,common.sh} .
    epilog() { # CODE SETTING...
        rm -f calls
        printf '%(%FT%T%z)T prolog job 7 on n: sound (code 0, 9 ms)\n' -1 >logs/slurm.log
        run "-$1" timeout 20 env -i SLURM_JOB_ID=7 SLURMD_NODENAME=n "${@:2}" ./epilog
        [ -z "$output" ]
    }
    busy='printf "ok 1 - gpu.busy GPU 1 (0000:28:00.0)\n  ---\n  severity: \"warn\"\n  message: \"is used by process 9 (python)\"\n  ...\n1..1\n"'
    stand_in windsock "$busy"
    for given in A=B SLURM_JOB_GPUS=0,2-3; do # a job of no GPU, and one of others
        epilog 0 "$given"
        [ ! -e calls ]
        grep -q 'epilog job 7 on n: sound (code 0' logs/slurm.log
    done
    epilog 0 SLURM_JOB_GPUS=0-1
    [ "$(cat calls)" = "update NodeName=n State=DRAIN Reason=windsock: job 7 left processes: GPU 1 is used by process 9 (python), Xid 31 since it began" ]
    # it was on its way out: gone, or another one is there
    stand_in windsock "[ ! -e seen ] || { echo 1..0; exit; }; : >seen; $busy"
    epilog 0 SLURM_JOB_GPUS=1
    [ ! -e calls ]
    rm seen
    stand_in windsock "[ -e seen ] || { : >seen; $busy; exit; }; ${busy/process 9/process 8}"
    epilog 0 SLURM_JOB_GPUS=1
    [ ! -e calls ]
    stand_in windsock "$busy"
    # Slurm may number devices or addresses: only what is the job's by both is the job's
    minors 3 2 1 0
    for given in 1 2 1,3; do
        epilog 0 SLURM_JOB_GPUS=$given
        [ ! -e calls ]
    done
    epilog 0 SLURM_JOB_GPUS=1-2
    [ -e calls ]
    minors # nobody says
    epilog 0 SLURM_JOB_GPUS=1
    [ ! -e calls ]
    minors 0 1 2 3 # a part of a GPU; another job's
    mkdir -p proc/driver/nvidia/capabilities/gpu0/mig/gi1
    epilog 0 SLURM_JOB_GPUS=1
    [ ! -e calls ]
    rm -r proc/driver/nvidia/capabilities
    for given in CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 SLURM_SHARDS_ON_NODE=1; do
        epilog 0 SLURM_JOB_GPUS=1 $given
        [ ! -e calls ]
    done
    echo 0::/system.slice/slurmstepd.scope/job_71/step_0/user/task_0 >proc/9/cgroup
    epilog 0 SLURM_JOB_GPUS=1
    [ ! -e calls ]
    echo 0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0 >proc/9/cgroup
    epilog 0 SLURM_JOB_GPUS=1
    [ -e calls ]
    printf 'srv:/a %q nfs4 rw 0 0\nsrv:/b /the\\040gone nfs rw 0 0\nsrv:/c /x/gone lustre rw 0 0\n' "$PWD" >mounts
    epilog 0
    grep -q 'Reason=windsock: /x/gone does not answer: its file server is gone' calls
    : >mounts
    stand_in windsock 'printf "not ok 1 - a.b x\n  ---\n  severity: \"fail\"\n  message: \"is bad\"\n1..1\n"; exit 1'
    epilog 0
    grep -q 'State=DRAIN Reason=windsock: a.b x: is bad, Xid 31 since it began$' calls
    epilog 0 SLURM_JOB_START_TIME="$(($(date +%s) + 60))"
    grep -q 'State=DRAIN Reason=windsock: a.b x: is bad$' calls
    : >silent # then Slurm is to drain it
    epilog 1
    rm silent
    echo ON_FAIL=log >>windsock.conf
    epilog 0
    [ ! -e calls ]
    stand_in windsock 'echo 1..0; exit 3'
    epilog 0
    [ ! -e calls ]
    grep -q 'ours (code 3' logs/slurm.log
}

@test "Slurm: with --strict a warning of one node is not the cause that another one failed" {
    report() { # NODE SEVERITY MESSAGE
        printf 'not ok 1 - a.b %s\n  ---\n  severity: "%s"\n  message: "%s"\n  ...\n' "$@"
    }
    { report n1 fail 'is bad'; report n2 warn 'is odd'; report n2 error 'is gone'; } >report.tap
    # shellcheck disable=SC1091
    said=$(. "$S/slurm/common.sh"; cause report.tap n2)
    [ "$said" = "a.b n2: is gone" ]
}
