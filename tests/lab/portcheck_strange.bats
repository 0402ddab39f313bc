#!/usr/bin/env bats
# portcheck between nodes where something is odd that looks like a firewall's doing: an address of
# another network, or that another machine has, too; something else that answers; a link that comes
# and goes; a shaper with a large burst. It is named, once, and what it says to type mends it.
# Needs root, nft, jq, python3.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

ask() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$WINDSOCK_RSH" "$BIN/portcheck" \
        --hosts "$WINDSOCK_HOSTS" --wait 1s --json
}

switch() { # CMD...: where the nodes' cables end
    nsenter -t "${LAB_NAME#lab}" -n "$@"
}

failed() { # its only failure, as "CHECK SUBJECT"
    jq -r '[.findings[] | select(.status == "fail") | "\(.check) \(.subject)"] | join(", ")' <<<"$output"
}

message() { # CHECK
    jq -r --arg c "$1" '.findings[] | select(.check == $c).message' <<<"$output"
}

follow() { # NODE [CHANGE]: types what it says
    local fix
    fix=$(jq -r '[.findings[] | select(.status == "fail")][0].fix[0]' <<<"$output")
    [[ $fix == *"# on node$1"* ]]
    on "$1" sh -c "sudo() { \"\$@\"; }; ${fix//${2:-#}/${3:-#}}" >&2
    on all ip neigh flush all
    ask
    [ "$status" = 0 ]
}

@test "strange: an address of another network; the command that moves it" {
    on 2 sh -c 'ip address add 10.78.0.3/16 dev eth0; ip address del 10.77.0.3/16 dev eth0'
    ask
    [ "$(failed)" = "mesh.subnet node2" ]
    [[ $(message mesh.subnet) == "its network is 10.78.0.0/16 and that of all others 10.77.0.0/16, and nothing gets through"* ]]
    follow 2
    [ "$(on 2 ip -4 -o address show dev eth0 | grep -c 'inet 10.77.0.3/16 ')" = 1 ]
}

# Another machine at the switch, until teardown.
rival() {
    ip link add x type veth peer name xp
    ip link set x master br0
    ip link set x up
    unshare -n sleep 60 >/dev/null 2>&1 &
    echo $! >rival
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
    ip link set xp netns $!
    nsenter -t $! -n sh -c 'ip address add 10.77.0.3/16 dev xp; ip link set xp up
        for n in 1 2 4; do ping -c 1 -W 1 10.77.0.$n; done; ip -br link show dev xp >rival_card'
}

teardown() {
    local pid
    touch stop
    [ ! -s rival ] || kill "$(<rival)"
    for pid in $(jobs -p); do
        kill "$pid" || true
        wait "$pid" || true
    done
}

@test "strange: an address that another machine has, too, which refuses what is meant for ours" {
    switch bash -c "$(declare -f rival); rival"
    read -r _ _ mac _ <rival_card
    ask
    [ "$(failed)" = "mesh.twice node2" ]
    [[ $(message mesh.twice) == "its address 10.77.0.3 is another machine's, too, one with the hardware address $mac:"* ]]
    follow 2 ADDRESS 10.77.0.99
    on 2 sh -c 'ip address add 10.77.0.3/16 dev eth0; ip address del 10.77.0.99/16 dev eth0'
}

# Something else on node2: it accepts at PORT, and says WORDS to each, if there are any.
impostor() { # PORT [WORDS]
    local i
    on 2 timeout 60 python3 -c 'import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(sys.argv[1])))
s.listen(50)
print("listens", flush=True)
kept = []
while True:
    kept.append(s.accept()[0])
    if sys.argv[2]:
        kept[-1].send(sys.argv[2].encode())
        kept.pop().close()' "$1" "${2-}" >listens 3>&- &
    for ((i = 0; i < 100; i++)); do
        [[ ! -s listens ]] || return 0
        sleep 0.1
    done
    return 1
}

@test "strange: something else that accepts connections where portcheck listens; the rule of nat" {
    on 2 nft "table ip n { chain c { type nat hook prerouting priority -100; tcp dport 1024-65535 redirect to :999; }; }"
    impostor 999
    # one host alone sees that too much is open, unless somebody named the ports
    run -0 --separate-stderr on 0 "$BIN/portcheck" node2 --json
    [[ $(jq -r '.findings[0] | "\(.status) \(.message)"' <<<"$output") == "warn all 4 are open, and most of them were drawn by lot: something answers for that host whatever is asked"* ]]
    [[ $(jq -r '.findings[0].fix[0]' <<<"$output") == "portcheck --hosts node0,node2 "* ]]
    run -0 --separate-stderr on 0 "$BIN/portcheck" node2:29500,30000-30002
    [[ $output != *lot* ]]
    ask
    [ "$(failed)" = "mesh.in node2" ]
    [[ $(message mesh.in) == *"something accepts connections at a port where portcheck itself listens, and is not portcheck: "*": ip n c, handle 2: tcp dport 1024-65535 redirect" ]]
    follow 2
    on 2 nft delete table ip n
}

@test "strange: another program answers there with words of its own" {
    on 2 nft "table ip n { chain c { type nat hook prerouting priority -100; tcp dport 1024-65535 redirect to :998; }; }"
    impostor 998 "HTTP/1.1 400 Bad Request"
    ask
    on 2 nft delete table ip n
    [ "$(failed)" = "mesh.in node2" ]
    [[ $(message mesh.in) == *" and is not portcheck: "* ]]
}

@test "strange: all that follows a handshake is dropped; no other program is suspected" {
    on 2 nft "table inet f { chain c { type filter hook input priority 0; iifname eth0 ct direction original tcp dport 1024-65535 tcp flags & psh == psh drop; }; }"
    ask
    on 2 nft delete table inet f
    [ "$(failed)" = "mesh.in node2" ]
    [[ $(message mesh.in) == *"no answer at all"* ]]
}

@test "strange: the same rule as iptables has it" {
    ! ls /usr/sbin/*tables*-save /sbin/*tables*-save /usr/bin/*tables*-save 2>/dev/null || skip "iptables is installed here"
    cat >nft <<'END'
#!/bin/sh
echo '{"nftables":[{"chain":{"family":"ip","table":"nat","name":"PREROUTING","type":"nat","hook":"prerouting","prio":-100,"policy":"accept"}},
{"rule":{"family":"ip","table":"nat","chain":"PREROUTING","handle":2,"expr":[{"xt":null}]}}]}'
END
    printf '#!/bin/sh\necho "*nat"; echo ":PREROUTING ACCEPT [0:0]"; echo "-A PREROUTING -p tcp -m tcp --dport 1024:65535 -j REDIRECT --to-ports 9"\n' >iptables-nft-save
    chmod +x nft iptables-nft-save
    run -1 --separate-stderr "$ROOT/scripts/lab" run 3 -- bash -c '
        $WINDSOCK_RSH node2 "nft \"table ip n { chain c { type nat hook prerouting priority -100; tcp dport 1024-65535 redirect to :9; }; }\"
            mount --bind $PWD/nft /usr/sbin/nft; mount -t tmpfs none /usr/local/sbin; cp $PWD/iptables-nft-save /usr/local/sbin"
        "$BIN/portcheck" --hosts lab --wait 1s --json'
    [ "$(failed)" = "mesh.in node2" ]
    [[ $(message mesh.in) == *": iptables -t nat: -A PREROUTING -p tcp -m tcp --dport 1024:65535 -j REDIRECT --to-ports 9" ]]
    [ "$(jq -r '.findings[] | select(.check == "mesh.in").fix[0]' <<<"$output")" = \
        "sudo iptables -t nat -I PREROUTING -s 10.77.0.0/16 -j ACCEPT   # on node2" ]
}

@test "strange: a link that comes and goes, while they ask and before" {
    switch sh -c 'n=0
        until [ -e stop ] && [ $n -gt 10 ]; do
            n=$((n + 1)); ip link set node2 down; ip link set node2 up; sleep "0.$((n % 3))5" # not in step with them
        done' 3>&- &
    for _ in {1..40}; do # it may be over before that, or come between two runs
        ask
        [ "$(failed)" != "mesh.flap node2" ] || break
    done
    [ "$(failed)" = "mesh.flap node2" ]
    [[ $(message mesh.flap) == "its link at eth0 comes and goes: lost or found "*" while the hosts asked each other" ]]
    touch stop
    wait $!
    ask
    [ "$status" = 0 ]
    [[ $(message mesh.flap) == "its link at eth0 comes and goes: lost or found "*" times since it was started" ]]
}

@test "strange: a card that has an address and no link" {
    switch ip link set node2 down
    ask
    switch ip link set node2 up
    [ "$(failed)" = "mesh.address node2" ]
    [[ $(message mesh.address) == "its card eth0 has an address and no link, which was lost or found "* ]]
}

@test "strange: a shaper that lets more pass at first than all bulk, at either end of the cable" {
    on 2 tc qdisc add dev eth0 root tbf rate 2mbit burst 256kb latency 50ms
    ask
    on 2 tc qdisc del dev eth0 root
    [ "$(failed)" = "mesh.bandwidth node2" ]
    switch tc qdisc add dev node2 root tbf rate 2mbit burst 256kb latency 50ms
    ask
    switch tc qdisc del dev node2 root
    [ "$(failed)" = "mesh.bandwidth node2" ]
}
