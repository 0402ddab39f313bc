# shellcheck shell=bash
# A real Slurm on the nodes of a lab: slurmctld on node0, a slurmd each on others, in a folder.
# Load it: load slurm.sh, beside something that has on() and wait_for().

slurm_needs() {
    local tool
    [ "$(id -u)" = 0 ] || skip "not root: slurmd needs it"
    for tool in slurmd slurmctld munged srun; do
        command -v $tool >/dev/null || skip "needs $tool: scripts/setup launchers"
    done
}

slurm_folder() { # FOLDER NODE...: on a path that munge accepts
    local d=$1
    shift
    mkdir -p "$d/state" "$d/munge" "${@/#/$d/spool.node}"
    chmod 711 "$d" "$d/munge"
    head -c 1024 /dev/urandom >"$d/munge/key"
    chmod 600 "$d/munge/key"
    printf 'CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n' >"$d/cgroup.conf"
}

slurm_base() { # FOLDER: what slurm.conf has in any case
    cat <<C
ClusterName=lab
SlurmctldHost=node0(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$1/munge/sock,cred_expire=5
StateSaveLocation=$1/state
SlurmctldPidFile=$1/ctld.pid
SlurmdPidFile=$1/slurmd.%n.pid
SlurmdSpoolDir=$1/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
C
}

slurm_node() { # NODE [MORE]: its line, of eight processors
    echo "NodeName=node$1 NodeAddr=10.77.0.$(($1 + 1)) CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=100${2:+ $2}"
}

slurm_start() { # FOLDER NODE...: with its slurm.conf, until they are idle
    local d=$1 n
    shift
    on 0 munged --force --key-file="$d/munge/key" --socket="$d/munge/sock" \
        --pid-file="$d/munge/pid" --log-file="$d/munge/log" --seed-file="$d/munge/seed" 3>&-
    on 0 slurmctld -D -i -f "$d/slurm.conf" >"$d/ctld.log" 2>&1 3>&- &
    for n in "$@"; do
        on "$n" slurmd -D -f "$d/slurm.conf" >"$d/slurmd$n.log" 2>&1 3>&- &
    done
    wait_for 30 slurm_idle $# || { tail -n 5 "$d"/*.log; return 1; }
}

slurm_idle() { # HOW MANY
    [ "$(on 0 timeout 5 sinfo -h -N -o %T 2>/dev/null | grep -c '^idle$')" = "$1" ]
}
