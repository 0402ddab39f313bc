# shellcheck shell=bash
# Every command in an environment, for poor*.bats: what it made of it must be what it makes of a
# good one, but for what the test's table says, and whatever that is must be in order.
MARK=$((RANDOM + 40000)) # a heartbeat in ms, by which our processes are known

names='ifprobe suggest predict port to why wrap bench smoke'

command_line() { # NAME
    case $1 in
    ifprobe) echo ifprobe --json ;;
    suggest) echo ifprobe --suggest --json ;;
    predict) echo ifprobe --predict --json ;;
    port) echo portcheck --json ;;
    to) echo portcheck 127.0.0.1:9 --json ;;
    why) echo ncclwhy --json "$DIR/train.log" ;;
    wrap) echo "ncclwhy -- $BIN/ifprobe --version" ;;
    bench) echo ncclbench -b 8 -e 1K -n 2 --json --heartbeat "${MARK}ms" ;;
    smoke) echo ddpsmoke --steps 2 --model mlp --json --heartbeat "${MARK}ms" ;;
    suite) echo windsock --json --budget 30s ;;
    esac
}

poor_setup_file() {
    export MARK DIR=$BATS_FILE_TMPDIR/all POOR=$O/lab/poor
    mkdir -p "$DIR/empty"
    : >"$DIR/nothing"
    chmod 755 "$DIR"
    echo 'NCCL WARN Bootstrap : no socket interface found' >"$DIR/train.log"
    for name in $names suite; do # what a good environment makes of it
        code=0
        try "$name" || code=$?
        echo "$code" >"$DIR/$name.code"
    done
}

poor_setup() {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip 'sanitizer build: it wants what is not there'
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir -p "$BATS_TEST_TMPDIR/here" "$TMPDIR"
    cd "$BATS_TEST_TMPDIR/here" || return
}

# Nothing is left: no process of ours, no file.
poor_teardown() {
    local i
    [[ ${TMPDIR-} == "$BATS_TEST_TMPDIR/tmp" ]] || return 0 # skipped
    for ((i = 0; i < 100; i++)); do
        pgrep -f -- "--heartbeat ${MARK}ms" >/dev/null || break
        sleep 0.05
    done
    ! pgrep -af -- "--heartbeat ${MARK}ms" || return 1
    [ -z "$(find "$TMPDIR" "$BATS_TEST_TMPDIR/here" -mindepth 1)" ]
}

try() { # NAME [PREFIX...]: its exit code
    local name=$1 line code=0
    shift
    # shellcheck disable=SC2207 # words are words
    line=($(command_line "$name"))
    timeout -k 5 30 "$@" "$BIN/${line[0]}" "${line[@]:1}" </dev/null >"$DIR/out" 2>"$DIR/err" 3>&- ||
        code=$?
    return "$code"
}

# Documents that agree with their exit codes; what is not a verdict has a reason in words. All of
# them in one go: to start jq takes longer than to read one.
are_in_order() { # NAME=CODE...: of $DIR/out.NAME
    local each codes='' files=()
    for each; do
        codes+="${codes:+,}\"$DIR/out.${each%=*}\":${each#*=}" files+=("$DIR/out.${each%=*}")
    done
    jq -en --argjson codes "{$codes}" '[inputs | $codes[input_filename] as $code | .schema == 1 and
        (if $code == 0 then .verdict == "pass" or .verdict == "warn"
         elif $code == 1 then .verdict == "fail"
         else .verdict == "error" and any(.findings[]; .status == "error" and (.message | length > 20)) end)] |
        all and length == ($codes | length)' "${files[@]}" >/dev/null
}

sick() { # NAME CODE EXPECTED PREFIX...
    echo "$1: $2, expected $3, under: ${*:4}"
    tail -n 3 "$DIR/err" # of the last one
    head -c 1000 "$DIR/out.$1"
    return 1
}

# endures [NAME=CODE...] -- PREFIX...: NAME=CODE is where it may not go as in a good environment;
# all=CODE for every command, ONLY=NAMES to ask some of them.
endures() {
    local name code expected each documents=()
    declare -A other=()
    for (( ; $# && ${#1}; )); do
        [[ $1 != -- ]] || { shift; break; }
        other[${1%%=*}]=${1#*=}
        shift
    done
    for name in ${ONLY:-$names}; do
        expected=${other[$name]:-${other[all]:-$(<"$DIR/$name.code")}} code=0
        try "$name" "$@" || code=$?
        cp "$DIR/out" "$DIR/out.$name"
        [[ $code == "$expected" ]] || sick "$name" "$code" "$expected" "$@" || return
        [[ $name == wrap ]] || documents+=("$name=$code")
    done
    ((!${#documents[@]})) || are_in_order "${documents[@]}" || for each in "${documents[@]}"; do
        are_in_order "$each" || sick "${each%=*}" "${each#*=}" "a sound document" "$@" || return
    done
}

# A namespace: the user's own where we are not root. CODE runs in it, then what follows.
alone() { # FLAGS CODE: sets the array IN
    local flags
    read -ra flags <<<"$1"
    ((EUID == 0)) || flags+=(-Ur)
    IN=(unshare "${flags[@]}" sh -c "set -e; $2"'; exec "$@"' sh)
    "${IN[@]}" true 2>/dev/null || skip "no namespace of this kind can be made here: $2"
}
