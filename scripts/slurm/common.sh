# shellcheck shell=bash
# What windsock's Slurm scripts share: settings, a run that cannot hang, what its
# exit code means, and drains that carry our prefix. Sourced from the same folder.
#
# Slurm drains a node whose prolog fails, so nothing here may fail by accident:
# a script that sources this says `ANSWER=1` when a node is to be drained, and
# whatever else ends it, its exit code is 0.
# shellcheck disable=SC2034 # the scripts that source this read them

ANSWER=0
trap 'exit "$ANSWER"' EXIT

case ${1-} in
-h | --help) # Slurm asks for none: it is a person's
    sed -n '1d;/^#/!q;s/^# \{0,1\}//p' "$0"
    exit ;;
esac

PREFIX='windsock:'
RPC_SECONDS=2 # for one question to slurmctld; two of them make a drain
RESERVE=6     # what a drain, or ending a hung child, may take of DEADLINE
PEERS_SECONDS=2
LOOK_SECONDS=2 # for a folder whose file server may be gone
LOG_MAX=$((1 << 20)) # bytes

# Does a folder take a report? A full disk makes files, but empty or short ones; where its
# file server is gone whoever looks at it waits.
takes() { # FOLDER
    # another job's prolog may try at the same time
    bounded "$LOOK_SECONDS" /dev/null bash -c 'mkdir -p "$1" && printf "%65536s" "" >"$2" && rm -f "$2" ||
        { rm -f "$2"; exit 1; }' - "$1" "$1/.try.$NODE.$$"
    [[ $CODE == 0 ]]
}

# On a full disk the reports go where there is memory, and what hangs is looked at no more.
elsewhere() {
    local code=$CODE
    if takes /run/windsock || ((code == 124 || code == 137)); then LOGS=/run/windsock; fi
    ((DEADLINE -= SECONDS)) || :
}

number() { # SETTING DEFAULT
    [[ ${!1} =~ ^[0-9]{1,6}$ ]] && printf -v "$1" %d "$((10#${!1}))" || printf -v "$1" %d "$2"
}

# A word that is none of these would be taken for "do not", in silence.
word() { # SETTING DEFAULT OTHERS...
    [[ " ${*:2} " != *" ${!1} "* ]] || return
    note "windsock.conf: $1 is '${!1}', none of: ${*:2}; taken as $2"
    printf -v "$1" %s "$2"
}

settings() { # FOLDER
    TOOLS=/usr/local/bin:/opt/slurm/bin TEST=--quick DEADLINE=20 ON_FAIL=drain ON_ABSENT=gpu
    PEERS=0 MINUTES=30 AUTO_RESUME=no LOGS=/var/log/windsock KEEP=20
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    export PATH
    NODE=$(uname -n)
    NODE=${SLURMD_NODENAME:-${NODE%%.*}} # Slurm's own name may have dots
    # shellcheck disable=SC1091
    [[ ! -e $1/windsock.conf ]] || . "$1/windsock.conf"
    PATH=$TOOLS:$PATH
    number PEERS 0
    number KEEP 20
    number MINUTES 30
    number DEADLINE 20
    ((!PEERS)) || RESERVE=$((RESERVE + PEERS_SECONDS))
    takes "$LOGS" || elsewhere
    ((DEADLINE > RESERVE)) || DEADLINE=$((RESERVE + 1))
    word ON_FAIL drain log
    word ON_ABSENT gpu drain log
    word AUTO_RESUME no yes
}

# The log keeps its last part: where the reports go to memory it would fill it.
shorten() { # FILE
    local size part=$1.$NODE.$$
    size=$(stat -c %s "$1" 2>/dev/null) && ((size > LOG_MAX)) || return 0
    { tail -c $((LOG_MAX / 2)) "$1" | sed 1d >"$part" && mv -f "$part" "$1"; } 2>/dev/null || rm -f "$part"
}

# One line in our log and in the system's.
note() { # WORDS
    { printf '%(%FT%T%z)T %s %s\n' -1 "$ME" "$*" >>"$LOGS/slurm.log"; } 2>/dev/null
    shorten "$LOGS/slurm.log"
    { let_go; command -v logger && timeout 1 logger -t "windsock-$ME" -- "$*"; } >/dev/null 2>&1 </dev/null &
}

# What may outlive us holds nothing of ours: slurmd reads what we say to its end, and LOCK is
# the next one's.
let_go() {
    exec 2>/dev/null
    [[ ! ${LOCK-} ]] || exec {LOCK}>&-
}

# CODE: how a command ended, in at most SECONDS + 2. A child that not even SIGKILL
# ends, as in a driver that hangs, is left to the kernel: we do not wait for it.
bounded() { # SECONDS REPORT CMD...
    local limit=$1 report=$2 answer
    shift 2
    # where no report can be written nothing is known, and a shell's code for that is 1
    { : >"$report"; } 2>/dev/null || { CODE=3; return; }
    exec {answer}< <(let_go; timeout -k 1 "$limit" "$@" >"$report" 2>&1 </dev/null; echo $?)
    read -r -t $((limit + 2)) CODE <&"$answer" || CODE=124
    exec {answer}<&-
}

# What an exit code says: sound, sick, absent or ours.
meaning() { # CODE
    case $1 in
    0) MEANING=sound ;;
    1) MEANING=sick ;;
    4) MEANING=absent ;;
    *) MEANING=ours ;; # 2 our command line, 3 our trouble, 124 and 137 our deadline, 127 not there
    esac
}

# The first failure of a TAP report, or else its first trouble, as one line that
# is safe in a reason. With a host: the first failure that names it.
cause() { # REPORT [HOST]
    awk -v host="${2-}" '
        /^not ok / {
            name = $0
            sub(/^not ok [0-9]+ - /, "", name)
            severity = 0
        }
        /^ok / { name = "" }
        /^  severity: "fail"/ { severity = 2 }
        /^  severity: "error"/ { severity = 1 }
        name != "" && /^  message: / {
            message = $0
            sub(/^  message: "/, "", message)
            sub(/"$/, "", message)
            if (severity > best && (host == "" || index(name " ", " " host " "))) {
                best = severity
                line = name ": " message
            }
        }
        END { print line }' "$1" | LC_ALL=C tr -cd ' -~' | tr -d "\"'\\\\" | cut -c 1-180
}

slurm() { # SCONTROL'S ARGUMENTS: one question, bounded
    timeout -k 1 "$RPC_SECONDS" scontrol "$@" 2>&1
}

# What Slurm knows of a node: its STATE and REASON. Without an answer, or such a node, it
# fails, and SAID has Slurm's words.
known() { # NODE
    STATE='' REASON=''
    SAID=$(slurm show node "$1") || return
    [[ ! $SAID =~ $'\n'\ *State=([^[:space:]]*) ]] || STATE=${BASH_REMATCH[1]}
    [[ ! $SAID =~ $'\n'\ *Reason=([^$'\n']*) ]] || REASON=${BASH_REMATCH[1]% \[*@*\]}
}

# State=RESUME would take back more than a drain: an administrator's DOWN or FAIL, a reboot
# that waits, a node's way up or down. (One that is POWERED_DOWN is idle otherwise.)
only_drained() { # of the node that is known
    [[ $STATE != DOWN* && ! $STATE =~ FAIL|REBOOT|POWERING ]]
}

# Drains a node, unless somebody else has: their reason is worth more than ours (2: it is kept).
# Where slurmctld does not say whether somebody has, it is left as it is.
drain() { # NODE WORDS
    local said
    if ! known "$1"; then
        note "$1 could not be drained (${SAID:-no answer from slurmctld}): $2"
        return 1
    elif [[ $STATE == *DRAIN* ]]; then
        note "$1 is $STATE already and keeps its reason; ours: $2"
        return 2
    elif said=$(slurm update "NodeName=$1" State=DRAIN "Reason=$PREFIX $2"); then
        note "$1 drained: $2"
    else
        note "$1 could not be drained (${said:-no answer from slurmctld}): $2"
        return 1
    fi
}

# Is this code a reason to drain this node, as the settings say?
condemns() { # CODE
    meaning "$1"
    case $MEANING in
    sick) [[ $ON_FAIL == drain ]] ;;
    absent) [[ $ON_ABSENT == drain || ($ON_ABSENT == gpu && ${SLURM_JOB_GPUS-}) ]] ;;
    *) false ;;
    esac
}

# Reports are kept for people: the newest ones, of nodes that did not pass.
keep() { # MEANING
    local old
    [[ $1 != sound ]] || rm -f "$REPORT"
    mapfile -t old < <(ls -1t "$LOGS"/*."$NODE".tap 2>/dev/null)
    # A fresh one may be another prolog's, which has yet to read it.
    ((${#old[@]} <= KEEP)) || find "${old[@]:KEEP}" -mmin +1 -delete 2>/dev/null
}

# Tests this node: CODE, REPORT (the file), WHY (a line).
judge() { # NAME-OF-REPORT
    local job=("${!SLURM_JOB_@}" "${!SLURM_STEP_@}")
    REPORT=$LOGS/$1.$NODE.tap # where LOGS is shared, no node may read another's
    # This node alone: nobody may take the job's nodes from Slurm's variables. But which of its
    # GPUs the job was given is news of this node.
    # shellcheck disable=SC2086 # TEST is words
    bounded $((DEADLINE - RESERVE)) "$REPORT" env "${job[@]/#/--unset=}" \
        ${SLURM_JOB_GPUS:+"SLURM_JOB_GPUS=$SLURM_JOB_GPUS"} windsock --here $TEST --budget "$((DEADLINE - RESERVE))s" --format tap
    WHY="no report can be written in $LOGS"
    [[ -e $REPORT ]] || { CODE=3; return; }
    # A verdict is a whole report: a 1 or a 4 without it is a wrapper's, some other windsock's,
    # or a shell's. What it said is said below, and nothing is drained.
    [[ $CODE != [14] ]] || grep -q '^1\.\.[0-9]' "$REPORT" || CODE=3
    WHY=''
    [[ $CODE == 0 ]] || WHY=$(cause "$REPORT")
    [[ $CODE != 124 && $CODE != 137 ]] || WHY="windsock did not end within $((DEADLINE - RESERVE)) s"
    [[ $CODE == 0 || $WHY ]] || WHY=$(grep -v '^1\.\.' "$REPORT" | tail -n 1 | LC_ALL=C tr -cd ' -~' | cut -c 1-180)
}
