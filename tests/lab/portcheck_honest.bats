#!/usr/bin/env bats
# portcheck says what it knows and no more: a machine that is no pair with itself, a
# door of its own, a host that is down, rules at hooks of all kinds, sizes and rates
# that were measured. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for nft and routes"
    cat >"$BATS_FILE_TMPDIR/closed" <<'N'
table inet sg { chain in { type filter hook input priority 0; policy drop; ct state established,related accept; iif lo accept; }; }
N
    cat >"$BATS_FILE_TMPDIR/two" <<'N'
table inet a { chain in { type filter hook input priority 0; policy accept; tcp dport 29500 drop; }; }
table inet b { chain in { type filter hook input priority 5; policy accept; tcp dport { 29500, 29501 } drop; }; }
N
    cat >"$BATS_FILE_TMPDIR/early" <<'N'
table inet pre { chain p { type filter hook prerouting priority -300; policy accept; iifname "eth0" tcp dport 29500 drop; fib saddr . iif oif missing drop; }; }
N
    cat >"$BATS_FILE_TMPDIR/reset" <<'N'
table inet r { chain in { type filter hook input priority 0; policy accept; iifname "eth0" tcp dport 29500-65535 ct state new reject with tcp reset; }; }
N
    cat >"$BATS_FILE_TMPDIR/reject" <<'N'
table inet j { chain in { type filter hook input priority 0; policy accept; iifname "eth0" tcp dport 29500-65535 ct state new reject; }; }
N
    cat >"$BATS_FILE_TMPDIR/lo" <<'N'
table inet l { chain in { type filter hook input priority 0; policy drop; ip saddr 10.77.0.0/16 ip daddr != 127.0.0.0/8 accept; }; }
N
    cat >"$BATS_FILE_TMPDIR/all" <<'N'
table inet o { chain in { type filter hook input priority 0; policy accept; tcp dport 29500-65535 ct state new drop; }; }
N
    cat >"$BATS_FILE_TMPDIR/card" <<'N'
table netdev nd { chain i { type filter hook ingress device "eth0" priority 0; policy accept; tcp dport 29500 drop; }; }
N
}

mesh() { # NODES SCRIPT [LAB-OPTIONS...]: SCRIPT runs on node0, $1 is portcheck
    "$ROOT/scripts/lab" run "$1" "${@:3}" -- bash -c "$2" - "$BIN/portcheck"
}

# Starts a server with options $2..., and sets LINE to the arguments of --join.
serving='
    serve() {
        doc=$(mktemp)
        exec {said}< <("$P" --serve "$@" 2>&1 >"$doc")
        server=$!
        while read -r -t 20 line <&$said; do
            echo "$line" >&2
            [[ $line =~ (windsock\ join|portcheck\ --join)\ (.*) ]] && break
        done
        LINE=${BASH_REMATCH[2]}
    }
    served() { # its exit code is ours
        local code=0
        wait $server || code=$?
        cat "$doc"
        rm "$doc"
        return $code
    }
    P=$1
'

@test "honest: the port that a rank itself listens on is not taken" {
    run -0 --separate-stderr mesh 2 '"$1" --hosts lab --ports nccl'
    [[ $output != *"is taken"* && $output == *"2 of 2 ordered pairs"* ]]
    run -0 --separate-stderr mesh 2 '"$1" --hosts lab --ports 29500 --json'
    jq -e '[.findings[] | select(.check == "local.master_port")] == []' <<<"$output"
    # somebody else's is
    run -0 --separate-stderr mesh 2 '
        exec {ready}< <(python3 -c "
import socket, time
s = socket.socket(); s.bind((\"0.0.0.0\", 29500)); s.listen()
print(1, flush=True)
time.sleep(60)")
        other=$!
        read -r -u $ready _
        "$1" --hosts lab --ports 29500,29501; code=$?
        kill $other; exit $code'
    [[ $output == *"warn  local.master_port"*"node0: is taken: python3"* ]]
}

@test "honest: a host under two names is no pair, in a list and by a pasted line" {
    run -3 --separate-stderr mesh 2 '"$1" --hosts node0,10.77.0.1 --json'
    jq -e '.findings[] | select(.check == "mesh.same") | .status == "error" and .subject == "10.77.0.1"
        and (.message | startswith("is the same machine as node0"))' <<<"$output"
    jq -e '.data.matrix.cells == [["self", "self"], ["self", "self"]] and .data.targets == []' <<<"$output"
    # the others are still asked
    run -3 --separate-stderr mesh 2 '"$1" --hosts node0,node1,10.77.0.2'
    [[ $output == *"0 node0      . + ?"*"1 node1      + . ="* && $output == *"2 of 6 ordered pairs"* ]]
    run -3 --separate-stderr mesh 2 "$serving"'serve; "$P" --join $LINE; served'
    [[ $output == *"error mesh.same"*"paste the line of --serve on each other machine, once"* ]]
    run -3 --separate-stderr mesh 2 "$serving"'serve --joiners 2
        $WINDSOCK_RSH node1 "$P --join $LINE" & $WINDSOCK_RSH node1 "$P --join $LINE"; served'
    [[ $output == *"error mesh.same"*"is the same machine as another one here"* ]]
}

@test "honest: one host is no pair" {
    for host in node0 127.0.0.1; do
        # a warning of its own changes nothing
        run -3 --separate-stderr mesh 1 'export MASTER_PORT=40000; "$1" --hosts '$host
        [[ $output == *"error mesh.reach"*"nothing between hosts was tested"*"0 of 0 ordered pairs of 1 host,"* ]]
    done
}

# FIREWALL OF NODE1 -> what the mesh says; then node1 types the first advice of $CHECK, and all is well.
mends='
    doc=$("$1" --hosts lab --wait 1s --json)
    printf "%s\n" "$doc"
    fix=$(jq -r --arg c "$CHECK" "[.findings[] | select(.check == \$c)][0].fix[0]" <<<"$doc")
    [[ $fix == *"# on node1" ]] || exit 9
    $WINDSOCK_RSH node1 "${fix//sudo /}" >&2
    "$1" --hosts lab --wait 1s >&2'

@test "honest: rules before the input hook count, those at the card too" {
    run -0 --separate-stderr mesh 1 '"$1"' --firewall "$BATS_FILE_TMPDIR/early"
    [[ $output == *"warn  local.firewall"*"inet pre p, handle 2: iifname eth0 tcp dport 29500 drop"* ]]
    [[ $output == *"-> sudo nft insert rule inet pre p ip saddr 10.77.0.0/16 accept"* ]]
    run -0 --separate-stderr mesh 1 '"$1"' --firewall "$BATS_FILE_TMPDIR/card"
    [[ $output == *"warn  local.firewall"*"netdev nd i, handle 2: tcp dport 29500 drop"* ]]
    [[ $output != *"pass  local.firewall"* ]]
    # between hosts too: named, and what is to be typed mends it
    for hook in early card; do
        CHECK=mesh.in run -0 --separate-stderr mesh 2 "$mends" --firewall "1=$BATS_FILE_TMPDIR/$hook"
        jq -e '.findings[] | select(.check == "mesh.in") | .message | contains("handle 2: ")
            and (contains("let it through") | not)' <<<"$output"
        [[ $stderr == *"2 of 2 ordered pairs"* ]]
    done
}

@test "honest: a firewall that answers with a reset is no closed port" {
    CHECK=mesh.in run -0 --separate-stderr mesh 3 "$mends" --firewall "1=$BATS_FILE_TMPDIR/reset"
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0].message | contains("any other node")
        and contains("rejects with a reset") and contains("inet r in, handle 2: "))' <<<"$output"
    [[ $stderr == *"6 of 6 ordered pairs"* ]]
}

@test "honest: a host whose firewall drops its own loopback is named, with the rule; the others are asked" {
    CHECK=host.answer run -0 --separate-stderr mesh 3 "$mends" --firewall "1=$BATS_FILE_TMPDIR/lo"
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and .[0].subject == "node1"
        and (.[0].message | contains("its own firewall drops what it sends to itself over lo") and contains("policy drop of inet l in"))
        and .[0].fix == ["sudo nft insert rule inet l in iif lo accept   # on node1"]' <<<"$output"
    jq -e '.data.matrix.cells[0] == ["self", "unknown", "ok"]' <<<"$output"
    [[ $stderr == *"6 of 6 ordered pairs"* ]]
    # where the command is typed
    run -1 --separate-stderr mesh 2 '"$1" --hosts lab' --firewall "0=$BATS_FILE_TMPDIR/lo"
    [[ $output == *"fail  host.answer"*node0*"over lo"*"-> sudo nft insert rule inet l in iif lo accept"* ]]
    # and by itself
    run -0 --separate-stderr mesh 1 '"$1"' --firewall "0=$BATS_FILE_TMPDIR/lo"
    [[ $output == *"warn  local.firewall     lo"*"policy drop of inet l in"*"-> sudo nft insert rule inet l in iif lo accept"* ]]
    # who joins is told there
    run --separate-stderr mesh 2 "$serving"'serve --join-time 3s
        $WINDSOCK_RSH node1 "$P --join $LINE" && exit 9; served' --firewall "1=$BATS_FILE_TMPDIR/lo"
    [ "$status" = 1 ]
    [[ $stderr == *"cannot join"*"over lo"*"policy drop of inet l in; sudo nft insert rule inet l in iif lo accept"* ]]
    [[ $output == *"the other machine did not join within 3 s"* ]]
}

@test "honest: a rule that keeps its own host out keeps out the others, too: one line mends both" {
    CHECK=host.answer run -0 --separate-stderr mesh 3 "$mends" --firewall "1=$BATS_FILE_TMPDIR/all"
    [ "$(jq -r '.findings[] | select(.status == "fail").fix[]' <<<"$output")" = \
        "sudo nft insert rule inet o in iif lo accept && sudo nft insert rule inet o in ip saddr 10.77.0.0/16 accept   # on node1" ]
    [[ $stderr == *"6 of 6 ordered pairs"* ]]
}

# nft is late on node1 once, or always.
slow='
    $WINDSOCK_RSH node1 "mount -t tmpfs none /mnt; cp $(command -v nft || echo /usr/sbin/nft) /mnt/nft
        printf \"#!/bin/sh\n[ -e /mnt/once ] && $again || { touch /mnt/once; exec sleep 60; }\nexec /mnt/nft \\\"\\\$@\\\"\n\" >/mnt/late
        chmod +x /mnt/late; mount --bind /mnt/late /usr/sbin/nft"
    "$1" --hosts lab --wait 1s --deadline 1s --json'

@test "honest: rules that are not read in time are asked for again; then that is said, and what to type" {
    run -1 --separate-stderr mesh 2 "again=true; $slow" --firewall "1=$BATS_FILE_TMPDIR/reject"
    jq -e '.findings[] | select(.check == "mesh.in") | .message | contains("firewall rejects it: inet j in, handle 2: ")' <<<"$output"
    run -1 --separate-stderr mesh 2 "again=false; $slow" --firewall "1=$BATS_FILE_TMPDIR/reject"
    jq -e '.findings[] | select(.check == "mesh.in") | (.message | contains("firewall rejects it; the firewall of node1 was not looked at: nft did not answer in time"))
        and .fix[0] == "sudo \(env.BIN)/portcheck   # on node1: names the rule"' <<<"$output"
}

@test "honest: a loopback interface that was taken down is no firewall's" {
    run -1 --separate-stderr mesh 2 'ip link set lo down; "$1" --hosts lab'
    [[ $output == *"host.answer"*"the loopback interface is down"*"-> sudo ip link set lo up"* ]]
}

@test "honest: an iptables-save that reads the old tables says nothing of the new ones" {
    ! ls /usr/sbin/*tables*-save /sbin/*tables*-save /usr/bin/*tables*-save 2>/dev/null || skip "iptables is installed here"
    cd "$BATS_TEST_TMPDIR" || return
    cat >nft <<'END'
#!/bin/sh
echo '{"nftables":[{"chain":{"family":"ip","table":"filter","name":"INPUT","type":"filter","hook":"input","prio":0,"policy":"accept"}},
{"rule":{"family":"ip","table":"filter","chain":"INPUT","handle":2,"expr":[{"xt":null},{"drop":null}]}}]}'
END
    printf '#!/bin/sh\necho "*filter"; echo ":INPUT ACCEPT [0:0]"; echo "-A INPUT -p tcp -m tcp --dport 1:65535 -j REJECT"\n' >save
    chmod +x nft save
    for kind in legacy nft; do
        run -0 --separate-stderr mesh 2 "\$WINDSOCK_RSH node1 \"cd $PWD; mount --bind nft /usr/sbin/nft; mount -t tmpfs none /usr/local/sbin
            cp save /usr/local/sbin/xtables-$kind-multi; ln -s xtables-$kind-multi /usr/local/sbin/iptables-save
            \$1 --json\""
        jq -r '.findings[] | select(.check == "local.firewall").message' <<<"$output" >"$kind"
    done
    [[ $(cat legacy) == *"perhaps drops "*"ip filter INPUT, handle 2: (an iptables match) drop"* ]]
    [[ $(cat nft) == *"firewall rejects "*": iptables: -A INPUT -p tcp -m tcp --dport 1:65535 -j REJECT"* ]]
}

@test "honest: where nft fails the old tables are read, by a program that is on PATH alone, and what was not is said" {
    ! ls /usr/sbin/*tables*-save /sbin/*tables*-save /usr/bin/*tables*-save 2>/dev/null || skip "iptables is installed here"
    cd "$BATS_TEST_TMPDIR" || return
    printf '#!/bin/sh\necho "Error: cache initialization failed" >&2\nexit 1\n' >nft
    for policy in DROP ACCEPT; do
        printf '#!/bin/sh\necho "*filter"; echo ":INPUT %s [0:0]"; echo "-A INPUT -i lo -j ACCEPT"\n' $policy >iptables-save
        chmod +x nft iptables-save
        run -0 --separate-stderr mesh 2 "\$WINDSOCK_RSH node1 \"cd $PWD; mount --bind nft /usr/sbin/nft; PATH=$PWD:\\\$PATH \$1 --json\""
        jq -r '.findings[] | select(.check == "local.firewall").message' <<<"$output" >$policy
    done
    [[ $(cat DROP) == *"drops what comes from 10.77.0.0/16: iptables: -P INPUT DROP"* ]]
    [[ $(cat ACCEPT) == *"lets peers in as far as it was read: nft: Error: cache initialization failed"* ]]
}

@test "honest: two chains that drop different ports are both named, and both fixes mend it" {
    run -0 --separate-stderr mesh 3 '
        doc=$("$1" --hosts lab --ports 29500-29502 --wait 1s --json)
        printf "%s\n" "$doc" >&2
        while read -r fix; do
            $WINDSOCK_RSH node1 "${fix#sudo }" >&2
        done < <(jq -r ".findings[] | select(.check == \"mesh.in\").fix[]" <<<"$doc")
        "$1" --hosts lab --ports 29500-29502 --wait 1s' --firewall "1=$BATS_FILE_TMPDIR/two"
    jq -e '[.findings[] | select(.status == "fail")] | length == 1 and (.[0].fix | length == 2)
        and (.[0].message | contains("inet a in") and contains("inet b in"))' <<<"$stderr"
    [[ $output == *"6 of 6 ordered pairs"* ]]
}

@test "honest: silence of a host that is down is not called a security group alone" {
    run -0 --separate-stderr mesh 2 '
        "$1" node1:22 >&2
        $WINDSOCK_RSH node1 "ip link set eth0 down"
        "$1" node1:22 --wait 300ms >&2 # the kernel counts in hundredths: not just now
        "$1" node1:22 --wait 1s; "$1" 10.77.0.99:22 --wait 500ms; :'
    [[ $output == *"node1:22"*"or the host is down"*"ip neigh show 10.77.0.2"* ]]
    [[ $output == *"10.77.0.99:22"*"nobody on this network has "* ]] # answered for it; or, after 3 s, that address
    # one whose card has answered since we asked is up
    run -1 --separate-stderr mesh 2 '"$1" node1:22 --wait 1s' --firewall "1=$BATS_FILE_TMPDIR/closed"
    [[ $output == *"a firewall that drops ("* && $output != *"is down"* ]]
}

@test "honest: the others are not to blame for a host without an address" {
    run -1 --separate-stderr mesh 3 '$WINDSOCK_RSH node2 "ip link set eth0 down"; "$1" --hosts lab --wait 1s --json'
    [ "$(jq -c '[.findings[] | select(.status == "fail") | [.check, .subject]]' <<<"$output")" = '[["mesh.address","node2"]]' ]
    jq -e '.data.matrix.cells[0] == ["self", "ok", "unknown"]' <<<"$output"
    [ "$(jq -r '.findings[] | select(.check == "mesh.address").fix[0]' <<<"$output")" = "sudo ip link set eth0 up   # on node2" ]
}

# node1 takes no packets of more than $limit bytes, and says nothing.
narrow='
    for n in 0 1; do $WINDSOCK_RSH node$n "ip link set dev eth0 gso_max_segs 1"; done
    $WINDSOCK_RSH node1 "nft \"add table ip x; add chain ip x in { type filter hook prerouting priority -300; }
        add rule ip x in iifname eth0 meta length > $limit drop\""
    "$1" --hosts lab --json'

@test "honest: an MTU to set is one that was seen to pass, or there is none" {
    run -1 --separate-stderr mesh 2 "limit=1000; $narrow"
    [ "$(jq -r '.findings[] | select(.check == "mesh.bulk").fix[0]' <<<"$output")" = \
        "sudo ip link set dev eth0 mtu 1000   # on node1" ]
    run -1 --separate-stderr mesh 2 "limit=500; $narrow"
    jq -e '.findings[] | select(.check == "mesh.bulk")
        | (.fix | map(contains("mtu")) | any | not) and (.message | contains("however small its packets"))' <<<"$output"
}

@test "honest: one slow host of three, which has most of the pairs" {
    run -0 --separate-stderr mesh 3 '"$1" --hosts lab --bandwidth 0.3 --json' --rate node2=50mbit
    jq -e '[.findings[] | select(.check == "mesh.bandwidth" and .subject == "node2" and .status == "warn")] | length == 2' <<<"$output"
}

@test "honest: interrupted is not the same as not sent" {
    run -3 --separate-stderr mesh 2 '
        "$1" 10.77.0.2:29500-29600 --wait 60s & p=$!
        until grep -q 02004D0A /proc/net/tcp || [ ! -e /proc/$p ]; do :; done # a question is under way
        kill -INT $p; wait $p' --firewall "1=$BATS_FILE_TMPDIR/closed"
    [[ $output == *"not known: interrupted before an answer came"* && $output != *Success* ]]
}

@test "honest: an IPv4-mapped address is asked as what it stands for" {
    run -0 --separate-stderr mesh 2 '"$1" "[::ffff:10.77.0.2]:22"; "${1%/*}/ifprobe" --peer "[::ffff:10.77.0.2]:22"'
    [[ $output == *"pass  port.tcp"*"refused: reachable"*"pass  peer.reach"*"answers through eth0"* ]]
}
