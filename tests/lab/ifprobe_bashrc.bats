#!/usr/bin/env bats
# ifprobe --bashrc and --write with --peer: what is written is what was proven.
# shellcheck disable=SC2016 # scripts for the nodes are in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

# On node0 of two.
beside_dead() { # SCRIPT
    lab 2 "$DEAD
        $1"
}

@test "a computed line asks the peer again, and falls back to the rank while it is silent" {
    for shell in bash dash zsh; do
        command -v $shell >/dev/null || continue
        rm -f rc
        run -0 --separate-stderr beside_dead '
            ifprobe --name-only --quiet
            ifprobe --bashrc --peer node1 --deadline 1s --to rc --json >said
            PATH=/usr/bin:/bin '$shell' -euc ". ./rc; echo \"\$NCCL_SOCKET_IFNAME \${windsock-unset}\""
            on 1 "nft add table t; nft add chain t c \"{ type filter hook input priority 0; policy drop; }\""
            '$shell' -euc ". ./rc; echo \"\$NCCL_SOCKET_IFNAME\""'
        [ "$output" = $'dead0\n=eth0 unset\n=dead0' ]
        grep -q -- '--peer node1' rc
        [ "$(jq -r '.findings[] | select(.check == "write.computed").status' said)" = info ]
    done
}

@test "fixed values are the proven ones, and the block says by whom" {
    run -0 --separate-stderr beside_dead '
        ifprobe --bashrc=fixed --peer node1 --deadline 1s --to rc >/dev/null
        env -i bash -c ". ./rc; echo \$NCCL_SOCKET_IFNAME"
        ifprobe --bashrc=fixed --peer node1 --deadline 1s --to rc | grep already
        ifprobe --bashrc=fixed --to rc >/dev/null; cat rc'
    [ "${lines[0]}" = "=eth0" ]
    [[ $output == *"is already as it should be"*"# dead0: chosen by rank, no peer was tested"*"'=dead0'"* ]]
    run -0 --separate-stderr beside_dead 'for kind in nccl.conf profile.d systemd slurm-taskprolog docker k8s; do
        ifprobe --write $kind --fixed --peer node1 --deadline 1s --to file >/dev/null
        grep -Fx "# eth0: node1 answered through it" file; grep -F =eth0 file
        ifprobe --write $kind --undo --to file >/dev/null; done'
    [ "${#lines[@]}" -ge 12 ]
}

@test "a peer's name cannot become a command in the file" {
    run -0 --separate-stderr beside_dead "ifprobe --bashrc=fixed --peer \$'x\\ntouch evil #=10.77.0.2' --deadline 1s --to rc >/dev/null
        . ./rc; cat rc"
    [ ! -e evil ]
    grep -Fx "# eth0: x touch evil # answered through it" rc
}

@test "a TaskProlog carries the peer, too" {
    run -0 --separate-stderr beside_dead '
        ifprobe --write slurm-taskprolog --peer node1 --deadline 1s --to prolog >/dev/null; ./prolog
        on 1 "ip link set eth0 down"
        ./prolog'
    [ "$(grep IFNAME= <<<"$output" | grep NCCL)" = $'export NCCL_SOCKET_IFNAME==eth0\nexport NCCL_SOCKET_IFNAME==dead0' ]
}

@test "what was not proven is not written" {
    run -1 --separate-stderr beside_dead 'echo mine >rc; ifprobe --bashrc --peer node1 --peer nosuch --deadline 1s --to rc'
    [ "$(cat rc)" = mine ]
    [[ $output == *"write.bashrc"*"was left as it is"* ]]
    run -1 --separate-stderr beside_dead 'ifprobe --bashrc=fixed --peer 10.99.0.1 --to other --deadline 1s'
    [ ! -e other ]
    run -0 --separate-stderr beside_dead 'ifprobe --bashrc=fixed --peer node0 --to own >/dev/null; cat own' # itself: nothing proven
    [[ $output == *"# dead0: chosen by rank, no peer was tested"* ]]
}

@test "fixed values on many hosts are proven between them" {
    run -0 --separate-stderr beside_dead 'ifprobe --bashrc=fixed --hosts lab --to there --deadline 1s --dry-run --quiet'
    [[ $output == *"# node0"*"+# eth0: node1 answered through it"*"# node1"*"+# eth0: node0 answered through it"* ]]
    run -1 --separate-stderr beside_dead 'on 1 "ip addr flush dev eth0; ip addr add 10.91.0.2/24 dev eth0"
        ifprobe --write nccl.conf --hosts lab --to there --deadline 1s'
    [ ! -e there ]
}

@test "a computed line on many hosts asks another one again, and is quick while that is gone" {
    run -0 --separate-stderr beside_dead '
        ifprobe --bashrc --hosts lab --to there --deadline 1s --dry-run --quiet | grep "^+.*--peer"
        ifprobe --bashrc --hosts lab --to $PWD/there --deadline 1s >/dev/null
        . ./there; echo "$NCCL_SOCKET_IFNAME"
        on 1 "ip link set eth0 down"
        SECONDS=0; . ./there; echo "$NCCL_SOCKET_IFNAME $((SECONDS < 3))"'
    [[ ${lines[0]} == *"--peer 'node[0-1]=10.77.0.1,10.77.0.2' "* ]]
    [ "$(tail -2 <<<"$output")" = $'=eth0\n=dead0 1' ]
}
