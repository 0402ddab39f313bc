#!/usr/bin/env bats
# TCP probes under a real firewall and real routes, and metadata services at their
# true address, in network namespaces of this test. Needs root, ip, nft, python3.
# The unit tests' programs are the probes: they take arguments for this.
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
    export NS="wsnet$$" PIDS="$BATS_FILE_TMPDIR/pids"
    : >"$PIDS"
    local n
    for n in a b imds c; do
        ip netns add "$NS-$n"
        ip -n "$NS-$n" link set lo up
    done
    # a --eth0-- b  and  a --eth1-- b: two subnets; a --imds0-- imds; c --eth0-- a (a container)
    pair a eth0 b eth0 10.77.0.1/24 10.77.0.2/24
    pair a eth1 b eth1 10.78.0.1/24 10.78.0.2/24
    pair a imds0 imds host 10.79.0.1/24 10.79.0.2/24
    ip -n "$NS-imds" addr add 169.254.169.254/32 dev host
    ip -n "$NS-a" route add 169.254.169.254/32 via 10.79.0.2
    pair a docker0 c eth0 172.17.0.1/16 172.17.0.2/16
    ip -n "$NS-c" route add default via 172.17.0.1
    at a sysctl -qw net.ipv4.ip_forward=1
    at a nft -f - <<'N'
table ip nat { chain p { type nat hook postrouting priority 100; oifname "imds0" ip saddr 172.17.0.0/16 masquerade; }; }
N
    at b nft -f - <<'N'
table inet fw { chain in { type filter hook input priority 0; policy accept;
 tcp dport 29502 drop;
 tcp dport 29503 reject with tcp reset;
 tcp dport 29504 reject with icmpx type port-unreachable;
 tcp dport 29505 reject with icmpx type host-unreachable;
 tcp dport 29506 reject with icmpx type admin-prohibited;
 tcp dport 29507 meta nfproto ipv4 reject with icmp type host-prohibited;
 tcp dport 29508 meta nfproto ipv4 reject with icmp type net-prohibited; }; }
N
    at a nft -f - <<'N'
table inet own { chain out { type filter hook output priority 0; policy accept; tcp dport 29509 drop; }; }
N
    serve b python3 -m http.server 29500 --bind ::
    wait_open b 127.0.0.1 29500
}

teardown_file() {
    local pid n
    while read -r pid; do
        kill "$pid" 2>/dev/null || :
    done <"$PIDS"
    for n in a b imds c; do
        ip netns del "$NS-$n" 2>/dev/null || :
    done
}

pair() { # NS1 IF1 NS2 IF2 ADDR1 ADDR2; no duplicate address detection: it takes a second
    ip link add "$2" netns "$NS-$1" type veth peer name "$4" netns "$NS-$3"
    nsenter --net="/run/netns/$NS-$1" sysctl -qw "net.ipv6.conf.$2.accept_dad=0"
    nsenter --net="/run/netns/$NS-$3" sysctl -qw "net.ipv6.conf.$4.accept_dad=0"
    ip -n "$NS-$1" addr add "$5" dev "$2"
    ip -n "$NS-$3" addr add "$6" dev "$4"
    ip -n "$NS-$1" link set "$2" up
    ip -n "$NS-$3" link set "$4" up
}

at() { # NS COMMAND...
    nsenter --net="/run/netns/$NS-$1" "${@:2}"
}

serve() { # NS COMMAND...: in the background until the file's teardown
    nsenter --net="/run/netns/$NS-$1" "${@:2}" >/dev/null 2>&1 3>&- </dev/null &
    SERVER=$!
    echo "$SERVER" >>"$PIDS"
}

wait_open() { # NS ADDRESS PORT
    local tries=100
    until at "$1" "$O/unit/t_scan" "$2" "$3" - - 500 | grep -q '^open'; do
        ((tries-- > 0)) || { echo "nobody answers at $2:$3" >&2; return 1; }
        sleep 0.05
    done
}

probe() { # NS ADDRESS PORT [DEVICE [SOURCE [MS]]]
    run -0 --separate-stderr at "$1" "$O/unit/t_scan" "$2" "$3" "${4:--}" "${5:--}" "${6:-400}"
}

expect() { # the words the line begins with
    [[ $output == "$1 "* ]] || {
        echo "wanted: $1; got: $output" >&2
        return 1
    }
}

took() { # LOW HIGH milliseconds
    local ms=${output#* ms=}
    ms=${ms%%[!0-9]*}
    ((ms >= $1 && ms <= $2)) || {
        echo "took $ms ms, wanted $1 to $2" >&2
        return 1
    }
}

# shellcheck disable=SC2031 # bats runs every test in a subshell of its own
took_ms() { # at most, by the last line of a cloud reading
    local ms=${output##*ms=}
    ((ms <= $1)) || {
        echo "took $ms ms" >&2
        return 1
    }
}

@test "open, refused, filtered" {
    probe a 10.77.0.2 29500
    expect "open -"
    probe a 10.77.0.2 29501
    expect "refused ECONNREFUSED"
    probe a 10.77.0.2 29502
    expect "filtered ETIMEDOUT"
    took 400 1400
}

@test "rejected by a firewall: a reset and a closed port are refusals, prohibitions unreachable" {
    probe a 10.77.0.2 29503
    expect "refused ECONNREFUSED"
    probe a 10.77.0.2 29504
    expect "refused ECONNREFUSED"
    probe a 10.77.0.2 29505
    expect "unreachable EHOSTUNREACH"
    took 0 900
    probe a 10.77.0.2 29506
    expect "unreachable EHOSTUNREACH"
    probe a 10.77.0.2 29507
    expect "unreachable EHOSTUNREACH"
    probe a 10.77.0.2 29508
    expect "unreachable ENETUNREACH"
}

@test "this host's own firewall is unreachable, with EPERM or after its silence" {
    at a nft add rule inet own out tcp dport 29510 reject with icmpx type admin-prohibited
    probe a 10.77.0.2 29509
    [[ $output == "unreachable EPERM "* || $output == "filtered ETIMEDOUT "* ]]
    probe a 10.77.0.2 29510
    expect "unreachable"
}

@test "IPv6: open, refused, prohibited; fe80 needs no scope when a device is named" {
    ip -n "$NS-a" addr add fd77::1/64 dev eth0 nodad
    ip -n "$NS-b" addr add fd77::2/64 dev eth0 nodad
    probe a fd77::2 29500
    expect "open -"
    probe a fd77::2 29501
    expect "refused ECONNREFUSED"
    probe a fd77::2 29506
    expect "unreachable EACCES"
    local ll
    ll=$(ip -n "$NS-b" -j addr show dev eth0 | jq -r '.[0].addr_info[] | select(.scope == "link") | .local')
    probe a "$ll" 29500 eth0
    expect "open -"
}

@test "nobody at that address, no route, routes that say no" {
    probe a 10.77.0.77 29500 - - 6000
    expect "unreachable EHOSTUNREACH"
    took 900 5000
    probe a 10.77.0.78 29500 - - 300
    expect "filtered ETIMEDOUT"
    probe a 192.0.2.1 29500
    expect "unreachable ENETUNREACH"
    took 0 900
    ip -n "$NS-a" route add prohibit 192.0.2.2
    ip -n "$NS-a" route add unreachable 192.0.2.3
    probe a 192.0.2.2 29500
    expect "unreachable EACCES"
    probe a 192.0.2.3 29500
    expect "unreachable EHOSTUNREACH"
}

@test "pinned to a device: only the interface with a way there reaches the peer" {
    probe a 10.77.0.2 29500 eth0
    expect "open -"
    probe a 10.78.0.2 29500 eth1
    expect "open -"
    # With no route over eth1 the kernel takes the peer for a neighbour there; by default
    # Linux answers for all its addresses on every interface, so it truly is reached.
    probe a 10.77.0.2 29500 eth1
    expect "open -"
    at b sysctl -qw net.ipv4.conf.all.arp_ignore=1
    ip -n "$NS-a" neigh flush dev eth1
    probe a 10.77.0.2 29500 eth1
    expect "filtered ETIMEDOUT"
    probe a 10.77.0.2 29500 nosuchif
    expect "error ENODEV"
}

@test "SO_BINDTODEVICE without root: allowed since Linux 5.7, else the source address" {
    run -0 --separate-stderr at a setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
        "$O/unit/t_scan" 10.77.0.2 29500 eth0 10.77.0.1 500
    expect "open -"
    probe a 10.77.0.2 29500 - 10.78.0.1
    expect "open -"
    probe a 10.77.0.2 29500 - 192.0.2.9
    expect "error EADDRNOTAVAIL"
}

@test "a connection that meets itself is not an open port" {
    # shellcheck disable=SC2016 # the inner shell expands
    run -0 --separate-stderr unshare -n sh -euc '
        ip link set lo up
        sysctl -qw net.ipv4.ip_local_port_range="40000 40000"
        exec "$1" 127.0.0.1 40000 - - 400' sh "$O/unit/t_scan"
    expect "refused ECONNREFUSED"
}

@test "two hundred silent probes take one deadline" {
    run -0 --separate-stderr at a "$O/unit/t_scan" 10.77.0.2 29502 - - 500 200
    [ "${#lines[@]}" = 200 ]
    [ "$(grep -c '^filtered ETIMEDOUT' <<<"$output")" = 200 ]
    took 500 3000
}

# A metadata service at 169.254.169.254 until the end of the test.
imds() { # KIND [OPTION...]
    LOG="$BATS_TEST_TMPDIR/log"
    : >"$LOG"
    serve imds "$ROOT/tests/lab/imds_server" 169.254.169.254 80 "$@" --log "$LOG"
    wait_open a 169.254.169.254 80
}

# As on a machine whose DMI says so: a /sys/class of its own, the real root.
# shellcheck disable=SC2016 # the inner shell expands
cloud() { # NS FILE TEXT [MS]
    run -0 --separate-stderr at "$1" env -u AWS_EC2_METADATA_SERVICE_ENDPOINT \
        -u AWS_EC2_METADATA_DISABLED unshare -m sh -euc '
        mount -t tmpfs tmpfs /sys/class
        mkdir -p /sys/class/dmi/id
        printf "%s\n" "$2" >"/sys/class/dmi/id/$1"
        exec "$3" read "$4"' sh "$2" "$3" "$O/unit/t_cloud" "${4:-3000}"
}

# Waits too: the next server needs the port.
stop_server() {
    [ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || :
    wait "${SERVER:-}" 2>/dev/null || :
    SERVER=
}

teardown() {
    stop_server
}

@test "aws at its true address: token, type, public to private" {
    imds aws
    cloud a sys_vendor "Amazon EC2"
    [[ $output == "provider=aws
type=p4d.24xlarge
trouble=-
198.51.100.7 -> 10.77.0.1 02:00:0a:4d:00:01
ms="* ]]
    [ "$(head -n 1 "$LOG")" = "PUT /latest/api/token 200" ]
    run -1 grep -v ' 200$' "$LOG"
}

@test "aws from a container: a hop limit of one is named with its cure, two is enough" {
    imds aws --hop 1
    cloud c sys_vendor "Amazon EC2" 2000
    [[ $output == *"trouble=IMDS hop limit too small: "*"--http-put-response-hop-limit 2"* ]]
    took_ms 3000
    stop_server
    imds aws --hop 2
    cloud c sys_vendor "Amazon EC2"
    [[ $output == *"type=p4d.24xlarge
trouble=-
198.51.100.7 -> 10.77.0.1 "* ]]
}

@test "gcp and azure: documents of the documented shape" {
    imds gcp
    cloud a product_name "Google Compute Engine"
    [[ $output == "provider=gcp
type=a3-highgpu-8g
trouble=-
203.0.113.5 -> 10.128.0.2 42:01:0a:80:00:02
ms="* ]]
    stop_server
    imds azure
    cloud a chassis_asset_tag "7783-7084-3265-9085-8269-3286-77"
    [[ $output == "provider=azure
type=Standard_ND96isr_H100_v5
trouble=-
203.0.113.9 -> 10.0.0.4 00:0d:3a:32:85:70
ms="* ]]
}

@test "the address is another service's: said, nothing believed" {
    imds aws --v1
    cloud a product_name "Google Compute Engine"
    [[ $output == "provider=gcp
type=-
trouble=the metadata service at 169.254.169.254: it answers something that is not its protocol
ms="* ]]
}

@test "in no cloud nothing is sent, though a service would answer" {
    imds aws --v1
    : >"$LOG"
    at a nft add rule inet own out ip daddr 169.254.169.254 ct state new counter
    cloud a sys_vendor "Dell Inc."
    [[ $output == "provider=-
type=-
trouble=-
ms="* ]]
    took_ms 250
    [ ! -s "$LOG" ]
    at a nft list chain inet own out | grep -q 'ct state new counter packets 0 '
}

@test "off the cloud: routed but nobody's, and no route, stay within the connect limit" {
    ip -n "$NS-imds" addr del 169.254.169.254/32 dev host
    cloud a sys_vendor "Amazon EC2"
    [[ $output == *"trouble=the metadata service at 169.254.169.254: "* ]]
    took_ms 1500
    cloud b sys_vendor "Amazon EC2"
    [[ $output == *"trouble=the metadata service at 169.254.169.254: Network is unreachable"* ]]
    took_ms 1000
    ip -n "$NS-imds" addr add 169.254.169.254/32 dev host
}
