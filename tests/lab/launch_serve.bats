#!/usr/bin/env bats
# What --serve and those who join it say when it does not come to a run: nobody comes,
# no address, the port is taken, the wrong door, Ctrl-C; and a Slurm whose srun does not start
# anything. Needs root and jq.
# shellcheck disable=SC2016,SC2154 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for links"
}

mesh() { # NODES SCRIPT [LAB-OPTIONS...]: SCRIPT runs on node0, $1 is portcheck
    "$ROOT/scripts/lab" run "$1" "${@:3}" -- bash -c "$2" - "$BIN/portcheck"
}

# Starts a server with options $@ of $P, and sets LINE to the arguments of --join.
serving='
    serve() {
        exec {said}< <("$P" --serve "$@" 2>&1)
        server=$!
        while read -r -t 20 line <&$said; do
            [[ $line =~ (windsock\ join|portcheck\ --join)\ (.*) ]] && break
        done
        LINE=${BASH_REMATCH[2]}
    }
    P=$1
'

@test "--serve that nobody joins: a failure of the cluster, in the time that was given" {
    run -1 --separate-stderr mesh 1 '"$1" --serve --wait 3 --wait-time 300ms --json'
    [[ $stderr == *"paste this on each of the other machines:"*" 10.77.0.1:29499 "* ]]
    [[ $stderr == *"waiting for 3 other machines, 300 ms at most; port 29499 of this machine must be open for them"* ]]
    [ "$(grep -c "waiting for" <<<"$stderr")" = 1 ]
    jq -e '.findings | length == 1 and (.[0] | .check == "host.answer" and .status == "fail"
        and .message == "none of the 3 other machines joined within 300 ms" and .fix[0] == "portcheck 10.77.0.1:29499   # on a machine where the line was pasted: is the way free?")' <<<"$output"
    run -0 "$BIN/portcheck" --help
    [[ $output == *--wait-time*"10m"* ]]
}

@test "--serve: a line that nobody else could use, and another port than usual, are said" {
    run -1 --separate-stderr mesh 1 'ip link set eth0 down; "$1" --serve --join-time 100ms'
    [[ $stderr == *"warning: no interface here has an address that others could use"* ]]
    run -1 --separate-stderr mesh 1 "$serving"'serve; "$P" --serve --join-time 100ms; code=$?; kill $server; exit $code'
    [[ $stderr == *"warning: port 29499 is taken here"*"the others must reach port "* ]]
    [[ $stderr != *"cannot listen"* ]]
}

@test "--serve: the others say how long they wait, and for which port, in the same words" {
    run -1 --separate-stderr mesh 1 '${1%/*}/ncclbench --serve --wait 2 --wait-time 100ms
        ${1%/*}/ddpsmoke --serve --port 3333 --wait-time 100ms
        timeout 20 ${1%/*}/windsock --serve --wait 3 --wait-time 100ms --port 3334'
    [[ $stderr == *"waiting for 3 other machines, 100 ms at most; port 3334 of this machine must be open for them"* ]]
    [[ $output == *"none of the 3 other machines joined within 100 ms"* ]]
    # and the same is to be done
    way='   # on a machine where the line was pasted: is the way free?'
    for port in 29499 3333 3334; do
        [[ $output$stderr == *"-> portcheck 10.77.0.1:$port$way"* ]]
    done
    [[ $output != *wchan* ]]
    [[ $stderr == *"waiting for 2 other machines, 100 ms at most; port 29499 of this machine must be open for them"* ]]
    [[ $stderr == *"waiting for 1 other machine, 100 ms at most; port 3333 of this machine must be open for it"* ]]
}

@test "--serve --quiet: the line to paste is there all the same, and no more" {
    run -1 --separate-stderr mesh 1 'for command in portcheck ncclbench ddpsmoke windsock; do
        timeout 20 ${1%/*}/$command --serve --quiet --wait-time 100ms
    done'
    [ "$(grep -c ": paste this on each of the other machines:" <<<"$stderr")" = 4 ]
    [ "$(grep -c -- "-> .*join 10.77.0.1:29499 " <<<"$stderr")" = 4 ]
    [[ $stderr != *"waiting for"* ]]
}

@test "portcheck --serve --port: where the one open port is another" {
    run -1 --separate-stderr mesh 1 '"$1" --serve --port 29500 --join-time 100ms --json'
    [[ $stderr == *" 10.77.0.1:29500 "* ]]
    [[ $stderr == *"waiting for 1 other machine, 100 ms at most; port 29500 of this machine must be open for it"* ]]
    jq -e '.findings[0] | (.fix[0] | startswith("portcheck 10.77.0.1:29500 ")) and
        (.fix[1] | startswith("portcheck --serve --port 29500   # again"))' <<<"$output"
    run -0 --separate-stderr mesh 2 "$serving"'serve --port 29500; $WINDSOCK_RSH node1 "$P --join $LINE"; wait $server'
}

@test "--serve: a machine that joins and dies is to join again, not to be reached with ssh" {
    run -1 --separate-stderr mesh 2 '
        P=$1 doc=$(mktemp)
        exec {said}< <("$P" --serve --bandwidth 30 --json 2>&1 >"$doc")
        server=$!
        while read -r -t 20 line <&$said; do
            [[ $line =~ (windsock\ join|portcheck\ --join)\ (.*) ]] && break
        done
        $WINDSOCK_RSH node1 "echo \$\$ >$doc.pid; exec $P --join ${BASH_REMATCH[2]}" &
        until (($(pgrep -xc portcheck) > 5)) || [ ! -e /proc/$server ]; do :; done
        kill -9 "$(<"$doc.pid")"
        wait $server; code=$?
        cat "$doc"; rm "$doc"*; exit $code'
    jq -e '[.findings[] | select(.status == "fail")] | length >= 1 and (map(.fix[]) | all(startswith("ssh") | not))' <<<"$output"
}

@test "join: nobody waits there any more, no way there, and the wrong code: each with what to do" {
    run -0 mesh 2 "$serving"'
        serve --join-time 60s
        $WINDSOCK_RSH node1 "$P --join 10.77.0.1:29477 ${LINE#* }"
        $WINDSOCK_RSH node1 "$P --join 10.77.0.99:29499 ${LINE#* }"
        old=${LINE#* }
        kill $server; wait $server
        serve --join-time 60s
        $WINDSOCK_RSH node1 "$P --join ${LINE% *} $old"
        kill $server; wait $server; :'
    [[ $output == *"cannot join 10.77.0.1:29477"*"Connection refused"*"nobody waits there: "*"--wait N"* ]]
    [[ $output == *"cannot join 10.77.0.99:29499"*"-> portcheck 10.77.0.99:29499 "* ]]
    [[ $output == *"cannot join 10.77.0.1:29499"*"paste the line of this run"* ]]
}

# A run is begun on node0 and joined on node1: both end with CODE, and node1 says what it means.
same_end() { # CODE WORDS [LAB-OPTIONS...] -- COMMAND ARGS...
    local code=$1 words=$2 lab=()
    shift 2
    while [ "$1" != -- ]; do
        lab+=("$1")
        shift
    done
    run -0 --separate-stderr "$ROOT/scripts/lab" run 2 "${lab[@]}" -- bash -c '
        exec {said}< <("$@" --serve 2>&1 >/dev/null; echo "served $?")
        while read -r -t 20 line <&$said; do
            [[ $line =~ (windsock\ join|portcheck\ --join)\ (.*) ]] && break
        done
        $WINDSOCK_RSH node1 "$1 --join ${BASH_REMATCH[2]}"
        echo "joined $?"
        grep ^served <&$said' - "$BIN/$2" "${@:3}"
    [[ $output == "joined $code"$'\n'"served $code" ]]
    [[ $stderr == *"the run is over: $words (exit code $code); its report stands where it was begun, at 10.77.0.1"* ]]
}

@test "join: portcheck's code and a sentence are those of the whole run, as the one that serves judges it" {
    for port in 1 29500; do
        echo "table inet sg { chain c { type filter hook input priority 0; ct state established accept; tcp dport $port drop; }; }" >"$BATS_TEST_TMPDIR/$port"
    done
    same_end 0 "nothing failed" --firewall "1=$BATS_TEST_TMPDIR/1" -- portcheck --silence 1s
    same_end 1 "it failed" --firewall "1=$BATS_TEST_TMPDIR/29500" -- portcheck --silence 1s
    same_end 0 "nothing failed" --mtu node1=1400 -- portcheck
    same_end 1 "it failed" --mtu node1=1400 -- portcheck --strict
}

@test "join: ddpsmoke's, where no rank can train" {
    same_end 3 "it was interrupted, or could not go on" -- ddpsmoke --data mnist:/nonexistent
    "$ROOT/tests/cli/ddpsmoke_data.py" mnist "$BATS_TEST_TMPDIR"
    same_end 2 "its command line is wrong" -- ddpsmoke --data "mnist:$BATS_TEST_TMPDIR" --samples 641
    same_end 0 "nothing failed" -- ddpsmoke --samples 512
    [ -e /dev/nvidiactl ] || same_end 4 "something that it needs is not there" -- ddpsmoke --backend nccl
}

@test "join: ncclbench's, whose ranks only measure" {
    sizes=(--coll all_reduce -b 8 -e 1K)
    same_end 0 "nothing failed" -- ncclbench "${sizes[@]}"
    same_end 1 "it failed" -- ncclbench "${sizes[@]}" --expect 9999
    same_end 1 "it failed" -- ncclbench --pairs --expect 9999
}

@test "join: an interrupt that one of its two halves gets ends both" {
    run -0 mesh 1 "$serving"'
        serve --joiners 2 --join-time 60s
        exec {told}< <(exec "$P" --join $LINE 2>&1)
        joiner=$!
        while read -r -t 20 line <&$told; do [[ $line != *waiting* ]] || break; done
        kill -INT $joiner
        wait $joiner; code=$?
        cat <&$told; kill $server; wait $server
        [ $code = 3 ] && ! pgrep -x portcheck'
    [[ $output == *"interrupted"* ]]
}

@test "an allocation whose srun is absent or broken is no verdict on its hosts" {
    allocated='export SLURM_JOB_NODELIST=node0,node1 SLURM_JOB_NUM_NODES=2 SLURM_JOB_ID=1; unset WINDSOCK_RSH'
    run -3 --separate-stderr mesh 2 "$allocated"'; PATH=/nowhere "$1"'
    [[ $stderr == *"there is no srun on the PATH"* && $output != *host.answer* ]]
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    says() {
        printf '#!/bin/sh\necho "srun: error: %s" >&2\nexit 1\n' "$1" >"$BATS_TEST_TMPDIR/bin/srun"
        chmod +x "$BATS_TEST_TMPDIR/bin/srun"
    }
    says "Unable to confirm allocation for job 1: Invalid job id specified"
    run -3 --separate-stderr mesh 2 "$allocated; PATH=$BATS_TEST_TMPDIR/bin:\$PATH"' "$1"'
    [[ $stderr == *"srun starts nothing here: node1: srun ended"*"Invalid job id"* && $output != *host.answer* ]]
    # but what it says of a node counts
    says "Unable to create step for job 1: Required node not available (down, drained or reserved)"
    run -1 --separate-stderr mesh 2 "$allocated; PATH=$BATS_TEST_TMPDIR/bin:\$PATH"' "$1"'
    [[ $output == *"fail  host.answer"*node1*"-> SLURM_OVERLAP=1 srun "* ]]
}

@test "an empty --rsh is ssh, in what is to be typed too" {
    run -1 --separate-stderr mesh 1 'PATH=/usr/bin:/bin; "$1" --hosts node0,node9 --rsh "" --deadline 3s'
    [[ $output == *"fail  host.answer"*"-> "@(ssh|getent\ hosts)" node9 "* ]] # by what it was, a lookup that hangs or fails
}
