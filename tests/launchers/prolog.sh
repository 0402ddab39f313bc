# shellcheck shell=bash
# A real Slurm for the tests of its hooks: slurmctld on node0, a slurmd each on
# node1 to node3 (and what HEALTH adds to slurm.conf, $D in it for the folder), with scripts/slurm installed as an administrator would, in a folder
# of the test's. Load it: load prolog.sh. Needs root; slurmd, slurmctld, munge.
load ../wait.sh

on() { # NODE CMD...
    "$ROOT/scripts/lab" on "$LAB_NAME" "node$1" -- "${@:2}"
}

slurm_conf() {
    cat <<C
ClusterName=lab
SlurmctldHost=node0(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock,cred_expire=5
StateSaveLocation=$D/state
SlurmctldPidFile=$D/ctld.pid
SlurmdPidFile=$D/slurmd.%n.pid
SlurmdSpoolDir=$D/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=15
SlurmdParameters=config_overrides
SchedulerParameters=nohold_on_prolog_fail,sched_interval=1,bf_interval=1
GresTypes=gpu
PrologFlags=Alloc
Prolog=$D/prolog.d/*
TaskProlog=$HOOKS/taskprolog
${HEALTH//\$D/$D}
NodeName=node1 NodeAddr=10.77.0.2 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=100 Gres=gpu:1
NodeName=node2 NodeAddr=10.77.0.3 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=100 Gres=gpu:1
NodeName=node3 NodeAddr=10.77.0.4 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=100 Gres=gpu:1
PartitionName=gpu Nodes=node[1-3] Default=YES MaxTime=INFINITE State=UP
C
}

cluster_up() {
    local tool n
    [ "$(id -u)" = 0 ] || skip "not root: slurmd needs it"
    for tool in slurmd slurmctld munged srun; do
        command -v $tool >/dev/null || skip "needs $tool: scripts/setup launchers"
    done
    LAB_NAME=$("$ROOT/scripts/lab" up 4) || skip "no network namespaces can be made here"
    D=$(mktemp -d /tmp/prolog.XXXXXX) # on a path that munge accepts
    HOOKS=$D/hooks
    export LAB_NAME D HOOKS SLURM_CONF=$D/slurm.conf
    mkdir -p "$D/state" "$D/munge" "$D"/spool.node{1,2,3} "$D/tools" "$D/log"
    chmod 711 "$D" "$D/munge"
    head -c 1024 /dev/urandom >"$D/munge/key"
    chmod 600 "$D/munge/key"
    cp -r "$ROOT/scripts/slurm" "$HOOKS"
    mkdir "$D/prolog.d" # through a link, as in AWS ParallelCluster's prolog.d
    ln -s "$HOOKS/prolog" "$D/prolog.d/95_windsock"
    cp "$BIN"/{windsock,ifprobe,portcheck} "$D/tools/"
    : >"$D/health"
    chmod +x "$D/health"
    # shellcheck disable=SC2119
    configure
    slurm_conf >"$SLURM_CONF"
    mknod "$D/nvidia0" c 195 0 # Slurm wants a device's name; nobody opens it
    echo "NodeName=node[1-3] Name=gpu File=$D/nvidia0" >"$D/gres.conf"
    printf 'CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n' >"$D/cgroup.conf"
    on 0 munged --force --key-file="$D/munge/key" --socket="$D/munge/sock" \
        --pid-file="$D/munge/pid" --log-file="$D/munge/log" --seed-file="$D/munge/seed" 3>&-
    on 0 slurmctld -D -i -f "$SLURM_CONF" >"$D/ctld.log" 2>&1 3>&- &
    for n in 1 2 3; do
        on $n slurmd -D -f "$SLURM_CONF" >"$D/slurmd$n.log" 2>&1 3>&- &
    done
    wait_for 30 all_idle || { tail -n 5 "$D"/*.log; return 1; }
}

cluster_down() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
    [ -z "${D:-}" ] || rm -rf "$D"
}

# windsock.conf; the logs of each node in a folder of its own
# shellcheck disable=SC2120
configure() { # SETTING...
    # shellcheck disable=SC2016
    printf '%s\n' "TOOLS=$D/tools" "LOGS=$D/log/\$(uname -n)" "export SLURM_CONF=$SLURM_CONF" "$@" >"$HOOKS/windsock.conf"
}

all_idle() { [ "$(on 0 timeout 5 sinfo -h -N -o %T 2>/dev/null | grep -c '^idle$')" = 3 ]; }

state() { on 0 timeout 5 sinfo -h -n "node$1" -o %T; }
reason() { on 0 timeout 5 scontrol show node "node$1" | sed -n 's/^ *Reason=//p'; }

heal() { # whatever was done to the nodes is undone
    local n
    # shellcheck disable=SC2119
    configure
    rm -rf "$D/tools" "$D/log"
    mkdir -p "$D/tools" "$D/log"
    cp "$BIN"/{windsock,ifprobe,portcheck} "$D/tools/"
    on 0 timeout 5 scancel -u root
    for n in 1 2 3; do
        on $n umount /dev/shm 2>/dev/null || true
        [[ $(state $n) != drain* ]] || on 0 timeout 5 scontrol update NodeName=node$n State=RESUME
    done
    wait_for 20 all_idle
}

# A node whose /dev/shm a dead job has filled, so to say.
break_shm() { on "$1" mount -t tmpfs -o size=512k tmpfs /dev/shm; }

stand_in() { # TOOL SCRIPT: what the nodes find under that name
    printf '#!/bin/bash\n%s\n' "$2" >"$D/tools/.$1"
    chmod +x "$D/tools/.$1"
    mv -f "$D/tools/.$1" "$D/tools/$1"
}
