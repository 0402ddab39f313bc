# shellcheck shell=bash
# A real Slurm for the tests of its hooks: a slurmd each on node1 to node3 (and what HEALTH adds to
# slurm.conf, $D in it for the folder), with scripts/slurm installed as an administrator would, in a
# folder of the test's. Load it: load prolog.sh. Needs root; slurmd, slurmctld, munge.
load ../nodes.sh
load ../wait.sh
load slurm.sh

hooked_conf() { # with our hooks
    local n
    slurm_base "$D"
    cat <<C
SlurmdTimeout=15
SchedulerParameters=nohold_on_prolog_fail,sched_interval=1,bf_interval=1
GresTypes=gpu
PrologFlags=Alloc
Prolog=$D/prolog.d/*
TaskProlog=$HOOKS/taskprolog
${HEALTH//\$D/$D}
C
    for n in 1 2 3; do slurm_node $n Gres=gpu:1; done
    echo "PartitionName=gpu Nodes=node[1-3] Default=YES MaxTime=INFINITE State=UP"
}

cluster_up() {
    slurm_needs
    nodes_up 4
    D=$(mktemp -d /tmp/prolog.XXXXXX) # on a path that munge accepts
    HOOKS=$D/hooks
    export D HOOKS SLURM_CONF=$D/slurm.conf
    slurm_folder "$D" 1 2 3
    mkdir "$D/tools" "$D/log"
    cp -r "$ROOT/scripts/slurm" "$HOOKS"
    mkdir "$D/prolog.d" # through a link, as in AWS ParallelCluster's prolog.d
    ln -s "$HOOKS/prolog" "$D/prolog.d/95_windsock"
    cp "$BIN"/{windsock,ifprobe,portcheck} "$D/tools/"
    : >"$D/health"
    chmod +x "$D/health"
    # shellcheck disable=SC2119
    configure
    hooked_conf >"$SLURM_CONF"
    mknod "$D/nvidia0" c 195 0 # Slurm wants a device's name; nobody opens it
    echo "NodeName=node[1-3] Name=gpu File=$D/nvidia0" >"$D/gres.conf"
    slurm_start "$D" 1 2 3
}

cluster_down() {
    nodes_down
    [ -z "${D:-}" ] || rm -rf "$D"
}

# windsock.conf; the logs of each node in a folder of its own
# shellcheck disable=SC2120
configure() { # SETTING...
    # shellcheck disable=SC2016
    printf '%s\n' "TOOLS=$D/tools" "LOGS=$D/log/\$(uname -n)" "export SLURM_CONF=$SLURM_CONF" "$@" >"$HOOKS/windsock.conf"
}

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
    wait_for 20 slurm_idle 3
}

# A node whose /dev/shm a dead job has filled, so to say.
break_shm() { on "$1" mount -t tmpfs -o size=512k tmpfs /dev/shm; }

stand_in() { # TOOL SCRIPT: what the nodes find under that name
    printf '#!/bin/bash\n%s\n' "$2" >"$D/tools/.$1"
    chmod +x "$D/tools/.$1"
    mv -f "$D/tools/.$1" "$D/tools/$1"
}
