#!/usr/bin/env bats
# Real sshd's on the nodes: our own launcher over them, and real mpiruns. Needs root
# for sshd; openssh-server, openmpi-bin, mpich.
bats_require_minimum_version 1.5.0
load launch.sh

@test "real ssh: ranks, addresses as ssh reached them, deaths, nothing left after kill -9" {
    sshd_up
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$KEYS/ssh" --np-per-host 2 -- who
    [ "$(grep -c ' at 10.77.0.[23],' <<<"$output")" = 4 ]
    begin 3 --hosts 'node[0-2]' --rsh "$KEYS/ssh"
    on 0 kill -9 "$(pid_of 2)"
    ended 1 8 "failed: rank 2 (node2, 10.77.0.3) died: killed by signal 9 (SIGKILL)"
    begin 2 --hosts node1,node2 --rsh "$KEYS/ssh"
    on 0 kill -9 "$(launcher)"
    wait "$RUN" || true
    wait_for 15 nothing_left || { ours; false; }
    begin 2 --hosts node1,node2 --rsh "$KEYS/ssh"
    on 0 pkill -9 -n -x ssh # the way to a host is cut
    ended 1 8 "its host is lost"
}

@test "real ssh: a login that sleeps longer than we wait goes on, and nothing of ours stays there" {
    local how
    sshd_up
    # as what waits in ~/.bashrc: what it was to run comes afterwards, and nobody is at the other end
    cat >sleeper <<C
#!/bin/sh
host=\$1
shift
exec '$KEYS/ssh' "\$host" "echo \\\$\\\$ >>'$PWD/slept'; until [ -e '$PWD/given_up' ]; do sleep 0.05; done; export TMPDIR='$PWD/tmp' HOME='$PWD/tmp'; \$*"
C
    chmod +x sleeper
    mkdir tmp
    for how in '' --copy-self; do
        for _ in {1..5}; do # on a busy machine that second may be over before there is a login
            rm -f slept given_up
            run -1 --separate-stderr on 0 "$BIN/windsock" --quick --hosts node1 --rsh "$PWD/sleeper" --deadline 1 --json $how
            [ ! -e slept ] || break
        done
        [[ $(jq -r '.data.causes[0].message' <<<"$output") == *"said nothing for "*" does its login wait for something?"* ]]
        [ -e slept ]
        : >given_up
        wait_for 30 eval '[ -z "$(on 0 ps -o pid= -p "$(paste -sd, slept)")" ]'
        wait_for 15 eval '[ -z "$(on 0 pgrep -x windsock)" ]'
        wait_for 5 eval '[ -z "$(ls tmp)" ]'
        # the next one finds no program there, and is to bring it
        [ -n "$how" ] || on 1 mount -t tmpfs none "$BIN"
    done
    on 1 umount "$BIN"
}

@test "real ssh: what is in ~/.ssh/config for a person's own logins keeps no command of ours out" {
    sshd_up
    local ssh="ssh -F $PWD/config -i $KEYS/id -o UserKnownHostsFile=$KEYS/known"
    printf '%s\n' 'RequestTTY force' 'RemoteCommand tmux' 'LocalForward 22 localhost:22' \
        'ExitOnForwardFailure yes' 'ForwardX11 yes' >config
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$ssh" -- who
    run -0 --separate-stderr on 0 "$P" --hosts node1,node2 --rsh "$ssh -tt" -- who
    run -0 on 0 "$BIN/windsock" on --rsh "$ssh" node1,node2 'uname -n'
    # where no option is added it is said
    printf '#!/bin/sh\nexec %s/ssh -tt "$@"\n' "$KEYS" >forced
    printf '#!/bin/sh\nexec %s "$@"\n' "$ssh" >remote
    chmod +x forced remote
    for copy in '' --copy-self; do
        [ -z "$copy" ] || on 1 mount -t tmpfs none "$O/lab"
        run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/forced" $copy -- who
        [ -z "$copy" ] || on 1 umount "$O/lab"
        [[ $stderr == *"node1: "*"was told to make a terminal (-t; RequestTTY of ssh)"* ]]
    done
    run -1 --separate-stderr on 0 "$P" --hosts node1 --rsh "$PWD/remote" -- who
    [[ $stderr == *"cannot reach node1: RemoteCommand in ~/.ssh/config"* ]]
}

@test "real ssh: windsock on ends there what it gives up" {
    sshd_up
    run -1 on 0 "$BIN/windsock" on --rsh "$KEYS/ssh" node1,node2 'echo x; sleep 77.7' --deadline 300ms
    [[ $output == *"said nothing for "*"and was ended"* ]]
    wait_for 10 eval '[ -z "$(on 0 pgrep -f "sleep 77[.]7")" ]'
}

# Who started us is said by rank 0, and on which host each rank is, by all.
ranks_of() { # LAUNCHER LOCALS ADDRESSES HOSTS CMD...
    local by=$1 locals=$2 at=$3 hosts=$4
    shift 4
    run -0 --separate-stderr on 0 timeout 40 "$@" "$P" -- who
    [[ $stderr == *"started by $by ("* ]]
    run -0 sort <<<"$output"
    [ "${#lines[@]}" = 4 ]
    for r in 0 1 2 3; do
        [[ ${lines[r]} =~ ^rank\ $r\ of\ 4,\ local\ $locals,\ node\ .*,\ by\ $by,\ at\ $at,\ hosts\ $hosts$ ]] ||
            { echo "$output"; return 1; }
    done
}

@test "real mpirun of Open MPI: one host, and two with -x MASTER_ADDR" {
    command -v mpirun.openmpi >/dev/null || skip "needs openmpi-bin"
    sshd_up
    local here=(mpirun.openmpi --allow-run-as-root --oversubscribe)
    ranks_of 'Open MPI' '[0-3] of 4' '127\.0\.0\.1' 'node0 node0 node0 node0' "${here[@]}" -np 4
    # 5 fills the first host otherwise, where it may oversubscribe, and has no -mca
    here+=(--map-by slot --mca plm_rsh_agent "$KEYS/ssh" --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0)
    ranks_of 'Open MPI' '[01] of 2' '10\.77\.0\.[12]' 'node0 node0 node1 node1' \
        "${here[@]}" -host node0:2,node1:2 -np 4 -x MASTER_ADDR=node0
    run --separate-stderr on 0 timeout 40 "${here[@]}" -host node0:1,node1:1 -np 2 "$P" -- who
    [ "$status" -ne 0 ]
    [[ $stderr == *"-x MASTER_ADDR=HOST"* ]]
}

@test "real mpirun of MPICH: one host, and two with -genv MASTER_ADDR" {
    command -v mpirun.mpich >/dev/null || skip "needs mpich"
    sshd_up
    ranks_of MPICH '[0-3] of 4' '127\.0\.0\.1' 'node0 node0 node0 node0' mpirun.mpich -n 4
    local two=(mpirun.mpich -launcher ssh -launcher-exec "$KEYS/ssh" -iface eth0)
    ranks_of MPICH '[01] of 2' '10\.77\.0\.[12]' 'node0 node0 node1 node1' \
        "${two[@]}" -hosts node0:2,node1:2 -n 4 -genv MASTER_ADDR node0
    # On a busy machine this mpirun of two ranks that end at once may end by SIGPIPE itself, writing to
    # its own helpers that are gone, with all that they said.
    for _ in {1..10}; do
        run --separate-stderr on 0 timeout 40 "${two[@]}" -hosts node0:1,node1:1 -n 2 "$P" -- who
        [ "$status" = 141 ] || break
    done
    echo "$status: $stderr"
    [ "$status" -ne 0 ]
    [[ $stderr == *"-genv MASTER_ADDR"* ]]
    wait_for 15 nothing_left
}
