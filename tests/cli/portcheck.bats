#!/usr/bin/env bats
# portcheck's contract: what it takes, what it says and where, exit codes, JSON.
# Loopback and namespaces of its own only; python3 listens.
# shellcheck disable=SC2016,SC2154 # scripts for another shell; bats sets stderr_lines
bats_require_minimum_version 1.5.0

setup_file() {
    export SERVER_PID OPEN CLOSED
    # Two free ports: one that is listened on, one that is not.
    coproc python3 -c '
import socket, sys, time
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0)); b.bind(("127.0.0.1", 0)); a.listen(64)
print(a.getsockname()[1], b.getsockname()[1], flush=True)
while True:
    a.accept()[0].close() # a full queue would be silence' 3>&-
    SERVER_PID=$COPROC_PID
    read -r OPEN CLOSED <&"${COPROC[0]}"
}

teardown_file() {
    kill "$SERVER_PID"
}

portcheck() {
    "$BIN/portcheck" "$@"
}

alone() { # in a network namespace with nothing but lo
    unshare -rn sh -c 'ip link set lo up; exec "$@"' sh "$BIN/portcheck" "$@"
}

needs_unshare() {
    unshare -rn true 2>/dev/null || skip "no user namespaces"
}

@test "open passes, refused passes, and both are told apart" {
    run -0 --separate-stderr portcheck "127.0.0.1:$OPEN,$CLOSED"
    [ -z "$stderr" ]
    [[ $output == *"pass  port.tcp"*"127.0.0.1:$OPEN "*" open, "* ]]
    [[ $output == *"127.0.0.1:$CLOSED "*" refused: reachable, but nothing listens there now, "* ]]
    [[ ${lines[-1]} == PASS*"the way from this host to 1 target; not the way back" ]]
}

@test "--expect open: a refusal fails, with what to type" {
    run -0 portcheck "127.0.0.1:$OPEN" --expect open
    run -1 portcheck "127.0.0.1:$CLOSED" --expect open
    [[ $output == *"fail  port.tcp"*"expected open"*"ss -lnp"* ]]
}

@test "formats that compare runs have one name for ports that are drawn anew in each" {
    local format first
    for format in prometheus junit; do
        portcheck 127.0.0.1 localhost:nccl --format $format >"$BATS_TEST_TMPDIR/$format" || true
        portcheck 127.0.0.1 localhost:nccl --format $format >"$BATS_TEST_TMPDIR/again" || true
        first=$(grep -oE '(subject| name)="[^"]*[0-9:][^"]*"' "$BATS_TEST_TMPDIR/$format")
        [ "$first" = "$(grep -oE '(subject| name)="[^"]*[0-9:][^"]*"' "$BATS_TEST_TMPDIR/again")" ]
        [[ $first == *'"127.0.0.1:29500+sample"'*'"localhost:28028,29400,29500+sample"'* ]]
    done
    grep -qE 'pass: 127.0.0.1:29500,[0-9,-]+: refused' "$BATS_TEST_TMPDIR/junit"
    portcheck 127.0.0.1 --json >"$BATS_TEST_TMPDIR/doc"
    jq -e '[.findings[] | select(.check == "port.tcp").subject | test("^127.0.0.1:29500,[0-9,-]+$")] == [true]' "$BATS_TEST_TMPDIR/doc"
    run ! grep -q sample <(portcheck "127.0.0.1:$OPEN,$CLOSED" --format prometheus)
}

@test "data.targets[] has every port once, with the contract's keys" {
    portcheck "127.0.0.1:$OPEN,$CLOSED,1-3" --json >"$BATS_TEST_TMPDIR/doc"
    valid "$(<"$BATS_TEST_TMPDIR/doc")"
    # no more digits than were measured
    jq -e '[.findings[] | .value // empty] | length > 0 and all(. == (. * 1000 | round) / 1000)' "$BATS_TEST_TMPDIR/doc"
    jq -e --argjson open "$OPEN" --argjson closed "$CLOSED" '.data.targets
        | length == 5 and all(.from and .to == "127.0.0.1" and .proto == "tcp" and .ms >= 0)
        and ([.[] | select(.port == $open).state] == ["open"])
        and ([.[] | select(.port == $closed)] | .[0].state == "refused" and .[0].cause)
        and (map(.port) | contains([1, 2, 3]))' "$BATS_TEST_TMPDIR/doc"
}

@test "ports that fared alike are one finding with ranges, not thousands of lines" {
    needs_unshare # what others on this machine listen with may be full
    ports() {
        unshare -rn bash -c 'ip link set lo up
            exec {there}< <(exec python3 -c "
import socket
a = socket.create_server((\"127.0.0.1\", 29500))
print(flush=True)
while True:
    a.accept()[0].close()" 3>&-)
            server=$!
            read -r _ <&$there
            "$@"
            code=$?
            kill $server
            exit $code' - "$BIN/portcheck" 127.0.0.1:1-65535 --deadline 60s "$@"
    }
    run -0 --separate-stderr ports --json
    jq -e '(.findings | map(select(.check == "port.tcp")) | length) <= 2
        and (.data.targets | length) == 65535 and ([.data.targets[] | select(.state == "open").port] == [29500])' <<<"$output"
    run -0 ports
    [ "${#lines[@]}" -lt 12 ]
}

@test "no port of this host is open because a connection met itself" {
    needs_unshare
    alone 127.0.0.1:32768-60999 --json >"$BATS_TEST_TMPDIR/doc"
    jq -e '[.data.targets[].state] | unique == ["refused"]' "$BATS_TEST_TMPDIR/doc"
}

@test "ports by name, from the environment, and a sample of the right size" {
    run -0 --separate-stderr env MASTER_PORT=2345 "$BIN/portcheck" 127.0.0.1 --json
    jq -e '[.data.targets[].port] | length == 4 and .[0] == 2345 and all(.[1:][]; . >= 1024)' <<<"$output"
    run -0 --separate-stderr portcheck 127.0.0.1 --sample 0 --json
    jq -e '[.data.targets[].port] == [29500]' <<<"$output"
    run -0 --separate-stderr portcheck 127.0.0.1 --ports nccl,ssh --sample 2 --json
    jq -e '[.data.targets[].port] | length == 6 and contains([29500, 29400, 28028, 22])' <<<"$output"
    run -0 --separate-stderr portcheck 127.0.0.1:slurm --sample 1 --json
    jq -e '[.data.targets[].port] | length == 4 and contains([6817, 6818, 6819])' <<<"$output"
}

@test "--sample where no port is drawn is refused, and taken where one is" {
    local args
    for args in '127.0.0.1 --ports 29500' '127.0.0.1:29500' '127.0.0.1:ssh 127.0.0.2:22' '--hosts a,b --ports 22,80-82' \
        '127.0.0.1:22 127.0.0.2 --ports 80' '127.0.0.1 --ports ssh'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr portcheck $args --sample 7
        [ -z "$output" ]
        [[ $stderr == *"--sample: all ports are named, none is drawn"*"nccl, ray or slurm"* ]]
    done
    needs_unshare
    run -0 alone 127.0.0.1 --ports 22 --sample 0 # none of them is what is asked for
    run -0 alone 127.0.0.1:22 127.0.0.2 --sample 1 --json
    jq -e '[.data.targets[].port] | length == 3' <<<"$output"
    run -0 alone 127.0.0.1:nccl 127.0.0.2 --ports 22 --sample 1 --json
    jq -e '[.data.targets[].port] | length == 6 or length == 5' <<<"$output"
}

@test "--count gives a median; --silence and --deadline are kept" {
    run -0 --separate-stderr portcheck "127.0.0.1:$OPEN" --count 50 --json
    jq -e '.data.targets[0].ms < 1000' <<<"$output"
    needs_unshare
    # A route that swallows everything: silence for as long as we are ready to wait.
    start=$EPOCHREALTIME
    run -1 unshare -rn sh -c 'ip link set lo up; ip addr add 10.9.9.1/24 dev lo
        ip link add a0 type veth peer name a1; ip link set a0 up; ip link set a1 up
        ip addr add 10.8.8.1/24 dev a0; ip neigh add 10.8.8.2 lladdr 02:00:00:00:00:01 dev a0
        "$0" 10.8.8.2:1,2 --silence 300ms' "$BIN/portcheck"
    [[ $output == *filtered* ]]
    ((${EPOCHREALTIME/./} - ${start/./} < 3000000))
}

silent() { # ARGS...: to an address that never answers; seconds that it took into TOOK
    local start=$EPOCHREALTIME
    run -1 --separate-stderr unshare -rn sh -c 'ip link add a0 type veth peer name a1
        ip link set a0 up; ip link set a1 up; ip addr add 10.8.8.1/24 dev a0
        ip neigh add 10.8.8.2 lladdr 02:00:00:00:00:01 dev a0; exec "$0" 10.8.8.2:1 "$@"' "$BIN/portcheck" "$@"
    TOOK=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
    [[ $output == *filtered* ]]
}

@test "--wait means machines, as in ncclbench; by its older meaning, silence, it is still taken" {
    run -0 portcheck --help
    [[ $output == *"--silence TIME"* && $output == *"--wait N "*"machines will join"* && $output == *"--wait-time TIME"* ]]
    [[ $output != *--join-time* && $output != *--joiners* ]]
    needs_unshare
    # the usual four seconds are not what it takes
    for option in '--silence 200ms' '--wait 200ms' '--wait 0.2'; do
        # shellcheck disable=SC2086
        silent $option
        ((TOOK >= 200 && TOOK < 3500))
    done
    for options in '--wait 3 --wait-time 50ms' '--joiners 3 --join-time 50ms' '--wait 3 --join-time 50ms'; do
        # shellcheck disable=SC2086
        run -1 --separate-stderr alone --serve $options
        [[ $stderr == *"waiting for 3 other machines, 50 ms at most"* ]]
        [[ $output == *"portcheck --serve --wait 3   # again; --wait-time gives people longer"* ]]
    done
    # a time is no number of machines, with --serve either
    run -1 --separate-stderr alone --serve --wait 200ms --wait-time 50ms
    [[ $stderr == *"waiting for 1 other machine, 50 ms at most"* ]]
    run -2 --separate-stderr portcheck --serve --wait 10001
    [[ $stderr == *"'10001' is not a number of machines from 1 to 10000"* ]]
    run -2 --separate-stderr portcheck 127.0.0.1:1 --wait soon
    [[ $stderr == *"--wait goes with --serve"*"how long a port may be silent is --silence TIME" ]]
}

@test "a name that does not resolve, digits, loopback names, public addresses" {
    needs_unshare
    run -1 --separate-stderr alone no-such-host.invalid:1 --json
    jq -e '.data.targets[0] | .state == "dns" and .cause and (has("address") | not)' <<<"$output"
    jq -e '[.findings[] | select(.status == "fail")] | length == 1' <<<"$output"
    run -2 --separate-stderr alone 10.0.0.300:22
    [[ $stderr == *"'10.0.0.300' is no IPv4 address: its four numbers go from 0 to 255"* ]]
    [[ $stderr != *"/etc/hosts"* ]]
    for number in 05:1 16909060; do # resolvers take them for 0.0.0.5 and 1.2.3.4
        run -2 --separate-stderr alone "$number"
        [[ $stderr == *"is a number, not a host"* ]]
    done
    run -0 alone 0.0.0.0:1
    [[ $output == *"warn  port.address"*0.0.0.0*"is no host's address"*"loopback"* ]]
    run alone localhost:1
    [[ $output =~ "warn  port.name".*(127\.0\.0\.1|::1)" here".*"no other node" ]] # as /etc/hosts has it
    run -0 alone 127.0.0.1:1
    [[ $output == *"info  port.address"*loopback* ]]
    run -1 unshare -rn sh -c 'ip link set lo up; ip link add a0 type veth peer name a1
        ip link set a0 up; ip link set a1 up; ip addr add 10.8.8.1/24 dev a0
        ip route add prohibit 203.0.113.0/24; ip route add prohibit 8.8.8.8
        "$0" 8.8.8.8:1 --silence 100ms' "$BIN/portcheck"
    [[ $output == *"warn  port.address"*"public address"*"private one"* ]]
}

@test "--from: an address, an interface, and neither" {
    run -0 portcheck "127.0.0.1:$OPEN" --from 127.0.0.1
    run -0 portcheck "127.0.0.1:$OPEN" --from lo
    run -2 --separate-stderr portcheck "127.0.0.1:$OPEN" --from 203.0.113.9
    [ -z "$output" ]
    [[ $stderr == *"--from"*"203.0.113.9"* ]]
}

@test "wrong command lines: one line, exit 2, nothing on stdout" {
    for args in 'node1:99999' 'node1:' ':5' 'node1:5-3' '--ports http' '--expect maybe' '--count 0' \
        '--hosts a,b node1' '--hosts a,b --udp' '--hosts a,b --serve' \
        '::1:22' 'fd00::1:22' 'fe80::1:22' 'fe80::1' '--ports nccl' '--bandwidth 2' '--udp' \
        '--joiners 3' '--join-time 3s' '--port 29500' '--hosts a,b --joiners 1' '--copy-self' '--keep' \
        '--serve --cloud' '--serve 10.0.0.1' '--bandwidth 1 10.0.0.1' '--joiners 0' '--wait 0' '--silence 0' '--wait 3' \
        '--serve --wait 0' '--serve --wait x' '--serve --wait 10001' '--serve --wait 2 --joiners 2' \
        '--idle 6m' '--idle 6m 10.0.0.1' '--idle 500ms --hosts a,b' '--idle 6m --hosts a,b --expect open' \
        '--wait 1s --silence 1s' '10.0.0.1:22 --ports ray' '10.0.0.1:22 10.0.0.2:1-9 --ports 22' 'a=' '-x'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr portcheck $args
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    done
    run -2 --separate-stderr env MASTER_PORT=x "$BIN/portcheck" 127.0.0.1
    [[ $stderr == *MASTER_PORT* ]]
}

@test "an IPv6 address with a port needs its brackets, and is told so" {
    run -2 --separate-stderr portcheck ::1:22
    [[ $stderr == *"[::1]:22 with the port, [::1:22] without"* ]]
    run -2 --separate-stderr portcheck fe80::1:22
    [[ $stderr == *"[fe80::1%INTERFACE]:22"* ]]
    needs_unshare
    run -0 alone '[::1]:22' # and whole addresses are taken as they are
    [[ $output == *"[::1]:22"* ]]
    run -1 alone fd00::5054:ff:fe12:3456 --silence 100ms
    [[ $output == *fd00::5054:ff:fe12:3456* ]]
}

@test "a pasted line that lost its beginning: the code is not printed and nobody is asked for it" {
    code=PWRV-BTLT-VPJL-X7VC-Y73W-SV85-J6R2
    for args in "join 127.0.0.1:29499 $code" "127.0.0.1:29499 $code" "$code" "--join $code" "--join" \
        "--join $code 127.0.0.1:29499" "--join --help"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr portcheck $args
        [[ $stderr == *"join"* && $stderr != *PWRV* && $stderr != *J6R2* && -z $output ]]
    done
    for args in "" "$code" "$code 127.0.0.1:29499"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr "$BIN/windsock" join $args
        [[ $stderr == *"HOST:PORT and then the code"* && $stderr != *PWRV* ]]
    done
    run -0 "$BIN/windsock" join --help
    [[ $output == *"join HOST:PORT CODE"* ]]
    # whichever command it was pasted behind, and whatever else stands there
    for command in windsock ifprobe portcheck ncclbench ddpsmoke ncclwhy; do
        for args in "$code" "127.0.0.1:29499 $code" "--verbose join 127.0.0.1:29499 $code" "diff $code b" "--nonsense $code"; do
            # shellcheck disable=SC2086
            run -2 --separate-stderr "$BIN/$command" $args
            [[ $stderr == *"begins with \`windsock join\`"* && ${#stderr_lines[@]} == 1 ]]
            [[ $stderr != *PWRV* && $stderr != *J6R2* && -z $output ]]
        done
    done
    # what another program is given is its own business
    run -0 "$BIN/ncclwhy" -- echo "$code"
    [[ $output == *"$code"* ]]
}

@test "bare: this host's part, and the line for the peer" {
    needs_unshare
    run -0 --separate-stderr unshare -rn sh -c 'ip link set lo up; ip link add eth0 type veth peer name e1
        ip link set eth0 up; ip link set e1 up; ip addr add 10.8.8.1/24 dev eth0; exec "$0" "$@"' \
        "$BIN/portcheck"
    [[ $output == *"On every other node type:  portcheck 10.8.8.1:29500,"* ]]
    [[ $output == *local.master_port*"is free"* && $output == *local.port_range* ]]
    [[ ${lines[-1]} == *"this host only; nothing between hosts was tested" ]]
}

@test "bare: who holds MASTER_PORT is named" {
    run -0 --separate-stderr env MASTER_PORT="$OPEN" "$BIN/portcheck"
    [[ $output == *"warn  local.master_port"*"is taken: python3 (pid $SERVER_PID)"*"127.0.0.1:$OPEN"* ]]
    [[ $output == *"kill $SERVER_PID"* ]]
}

@test "bare: a MASTER_PORT that the kernel hands out; what mends it keeps what others reserved" {
    needs_unshare
    cat >"$BATS_TEST_TMPDIR/in" <<'X'
        ip link set lo up; ip link add eth0 type veth peer name e1
        ip link set eth0 up; ip link set e1 up; ip addr add 10.8.8.1/24 dev eth0
        echo 9000,9100-9110 >/proc/sys/net/ipv4/ip_local_reserved_ports
        export MASTER_PORT=40000
        "$1" --json | jq -r '.findings[] | select(.check == "local.master_port" and .status == "warn").fix[0]'
        echo 9000,39990-40010 >/proc/sys/net/ipv4/ip_local_reserved_ports
        "$1" --json | jq -r '.findings[] | select(.check == "local.master_port").status'
X
    run -0 --separate-stderr unshare -rn sh "$BATS_TEST_TMPDIR/in" "$BIN/portcheck"
    [[ ${lines[0]} == *"sysctl -w net.ipv4.ip_local_reserved_ports=9000,9100-9110,40000" ]]
    [ "${lines[1]}" = pass ]
    [ "${#lines[@]}" = 2 ]
}

@test "bare: the peer that the rules are asked about is a host, also in the smallest network" {
    needs_unshare
    command -v nft >/dev/null || skip "no nft"
    for own in 1 2; do
        run -0 --separate-stderr unshare -rn sh -c 'ip link set lo up; ip link add eth0 type veth peer name e1
            ip link set eth0 up; ip link set e1 up; ip addr add "10.8.8.$1/30" dev eth0
            nft "add table ip f; add chain ip f i { type filter hook input priority 0; }
                add rule ip f i ip saddr { 10.8.8.0, 10.8.8.3 } drop" && exec "$2" --json' - "$own" "$BIN/portcheck"
        [ "$(jq -r '.findings[] | select(.check == "local.firewall").status' <<<"$output")" = pass ]
    done
}

@test "bare without root: says that it could not look at the rules" {
    [ "$(id -u)" = 0 ] || skip "is the ordinary case then"
    cp "$BIN/portcheck" "$BATS_TEST_TMPDIR/" && chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$BATS_TEST_TMPDIR/portcheck"
    [[ $output == *local.firewall*"not looked at"*root* || $output == *"not installed"* ]]
}

@test "UDP: refused and silent, and silence concludes nothing" {
    needs_unshare
    run -0 --separate-stderr alone --udp 127.0.0.1:9 --json
    jq -e '.data.targets[0] | .state == "refused" and .proto == "udp"' <<<"$output"
    run -3 --separate-stderr unshare -rn sh -c 'ip link set lo up; ip link add a0 type veth peer name a1
        ip link set a0 up; ip link set a1 up; ip addr add 10.8.8.1/24 dev a0
        ip neigh add 10.8.8.2 lladdr 02:00:00:00:00:01 dev a0
        "$0" --udp 10.8.8.2:9 --silence 200ms --json' "$BIN/portcheck"
    jq -e '.data.targets[0].state == "silent"' <<<"$output"
}

@test "a fix for this host has no sudo where root reads it and there is none" {
    needs_unshare
    mkdir "$BATS_TEST_TMPDIR/none"
    without() { unshare -rn env "PATH=$BATS_TEST_TMPDIR/none" "$BIN/$1" "${@:2}"; }
    # lo is down there, and nobody meets anybody
    run -1 --separate-stderr without portcheck --serve --json
    valid
    jq -e '.findings | length == 1 and .[0].fix == ["ip link set lo up"] and .[0].as_root == [0]' <<<"$output"
    run -1 --separate-stderr without portcheck --serve
    [[ $output == *"-> ip link set lo up"* ]]
    run -3 --separate-stderr without ncclbench -b 8 -e 8
    [[ $stderr == *"-> ip link set lo up"* ]]
    run -1 --separate-stderr unshare -rn "$BIN/portcheck" --serve --json # with one on the PATH
    jq -e '.findings[0] | .fix == ["sudo ip link set lo up"] and (has("as_root") | not)' <<<"$output"
}

@test "hidden helpers of other commands are in no help, and --mesh-rank is nobody's to type" {
    run -0 portcheck --help
    [[ $output == *--serve* && $output == *--bandwidth* && $output == *--cloud* ]]
    [[ $output != *--mesh-rank* && $output != *--why* && $output != *--seed* ]]
    run -2 --separate-stderr portcheck --mesh-rank
    [[ $stderr == *"our own launcher"* ]]
}

@test "an address on an interface that is not here is a slip of the command line, not of the cluster" {
    for where in '[fe80::1%LO]:1,5-7' 'fe80::1%LO'; do
        run -2 --separate-stderr "$BIN/portcheck" "$where"
        meant=${where/LO/lo}
        [[ -z $output && $stderr == *"there is no interface LO here"*"did you mean ${meant/#fe80::1%lo/[fe80::1%lo]}?"* ]]
    done
    run -2 --separate-stderr "$BIN/portcheck" '[fe80::1%nothingasthis]:1'
    [[ $stderr == *"ip -br link"* ]]
}

@test "where memory ends the command says so by its own name" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build"
    run -3 --separate-stderr bash -c "ulimit -v 40000; '$BIN/portcheck' --rsh false --hosts 'n[1-262144]'"
    [[ $stderr == "portcheck: out of memory; with fewer hosts"* ]]
}
