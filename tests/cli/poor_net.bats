#!/usr/bin/env bats
# The commands on machines whose network is poor or odd, and on terminals and outputs that are.
bats_require_minimum_version 1.5.0
load poor.sh
load ../wait.sh

LINKS='ip link set lo up
    ip link add d0 type veth peer name d1
    ip link set d0 up; ip link set d1 up'

setup_file() { poor_setup_file; }
setup() { poor_setup; }
teardown() { poor_teardown; }

one_of() { # FIELD JQ-FILTER: what NAME's document says
    jq -e "$1" "$DIR/out" >/dev/null || { cat "$DIR/out"; false; }
}

@test "no network at all, and loopback alone" {
    alone -n true
    endures ifprobe=1 suggest=1 predict=0 port=0 to=1 bench=3 smoke=3 -- "${IN[@]}"
    one_of '.findings[] | select(.message | contains("loopback interface is down"))'
    alone -n 'ip link set lo up'
    endures ifprobe=1 suggest=1 predict=0 port=0 to=0 -- "${IN[@]}"
}

@test "a kernel without IPv6, by sysctl and altogether" {
    alone -n "$LINKS; sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip addr add 10.9.8.7/24 dev d0"
    endures ifprobe=0 suggest=0 predict=0 port=0 to=0 -- "${IN[@]}"
    ONLY=suggest endures suggest=0 -- "${IN[@]}"
    one_of '.data.suggest.interface == "d0"'
    endures ifprobe=0 suggest=0 predict=0 port=0 to=0 -- "${IN[@]}" "$POOR" deny=inet6:EAFNOSUPPORT --
}

@test "IPv6 alone" {
    alone -n "$LINKS; ip addr add fd00::7/64 dev d0 nodad; ip addr del 127.0.0.1/8 dev lo"
    endures ifprobe=0 suggest=0 predict=0 port=0 to=1 bench=3 smoke=3 -- "${IN[@]}"
    ONLY=suggest endures suggest=0 -- "${IN[@]}"
    one_of '.data.suggest.address == "fd00::7"'
}

@test "interfaces with every character that the kernel allows" {
    alone -n "$LINKS"'
        ip link add "a;b\"&|" type bridge; ip link set "a;b\"&|" up; ip addr add 10.1.1.1/24 dev "a;b\"&|"
        ip link add "\$(id>hit)" type bridge; ip link set "\$(id>hit)" up
        ip link add "$(printf "kn\\303\\266\\033[1m")" type bridge
        ip link add "x,=^!*" type bridge; ip link set "x,=^!*" up; ip addr add 10.3.3.3/24 dev "x,=^!*"
        ip addr add 10.9.8.7/24 dev d0'
    endures ifprobe=0 suggest=0 predict=0 port=0 to=0 -- "${IN[@]}"
    # what is to be pasted is words to a shell, whatever it is called
    run -0 "${IN[@]}" sh -c 'ip link del d0; eval "$("$1" --suggest 2>/dev/null)"; echo "$NCCL_SOCKET_IFNAME"' sh "$BIN/ifprobe"
    [ ! -e hit ]
}

@test "two thousand interfaces" {
    alone -n 'ip link set lo up; for i in $(seq 1000); do
        echo "link add v$i type veth peer name w$i"; echo "link set v$i up"; echo "link set w$i up"
        echo "addr add 10.$((i / 256)).$((i % 256)).1/24 dev v$i"; done | ip -batch -'
    local before
    worked
    before=$WORKED_MS
    "${IN[@]}" sh -c 'for line; do timeout 60 sh -c "$line" >>out || exit; done' sh \
        "$BIN/ifprobe --json" "$BIN/ifprobe --suggest --json" "$BIN/ifprobe --predict --json" \
        "$BIN/portcheck --json" "$BIN/ncclbench -b 8 -e 8 --json" "$BIN/ddpsmoke --steps 1 --model mlp --json"
    run -0 jq -cs '[.[].verdict] | map(. == "pass" or . == "warn") | all, length' out
    [ "$output" = $'true\n6' ]
    worked
    echo "$((WORKED_MS - before)) ms of processor time"
    ((WORKED_MS - before < 20000))
    rm out
}

@test "terminals of one column and of a thousand, dumb ones, none: whole words, no colour where none is" {
    local line columns
    for line in ifprobe portcheck "ncclwhy $DIR/train.log" 'ncclbench -b 8 -e 64 -n 1' 'ddpsmoke --steps 1 --model mlp' \
        'ifprobe --help' 'ncclbench --no-such'; do
        for columns in 1 20 1000; do
            COLUMNS=$columns timeout 30 script -qec "$BIN/$line" /dev/null </dev/null >shown 2>&1 || (($? < 4))
            [ "$(wc -l <shown)" -ge 1 ]
            COLUMNS=$columns TERM=dumb timeout 30 script -qec "$BIN/$line" /dev/null </dev/null >shown 2>&1 || (($? < 4))
            ! grep -q $'\e' shown || { echo "$line: $columns"; cat -v shown; false; }
        done
    done
    rm -f shown
}

@test "an output that is full, gone, or slow" {
    local name line code
    for name in ifprobe suggest predict port to why bench smoke; do
        line=$(command_line "$name") code=0
        # shellcheck disable=SC2086
        "$BIN/"$line >/dev/full 2>"$DIR/err" 3>&- || code=$?
        [[ $code == 3 ]] || sick "$name" "$code" 3 /dev/full
        grep -q 'No space left on device' "$DIR/err"
        # shellcheck disable=SC2086
        "$BIN/"$line 2>"$DIR/err" 3>&- | (exec <&-) || true
        [[ ${PIPESTATUS[0]} == @(0|1|141) ]] || sick "$name" "${PIPESTATUS[0]}" 141 'a closed pipe'
        # shellcheck disable=SC2086
        "$BIN/"$line 2>"$DIR/err" 3>&- | { sleep 0.3; dd bs=100 status=none; } >"$DIR/out" || true
        cp "$DIR/out" "$DIR/out.$name"
        are_in_order "$name=$(<"$DIR/$name.code")"
    done
}
