#!/usr/bin/env bats
# Fourteen ways to break a node of a healthy cluster. Each time the right cause is
# the first, on the right host, with a command; that command, typed there, makes the
# next run pass. Needs root, nft, jq.
# shellcheck disable=SC2016,SC2154 # windsock.sh sets them; single quotes: the other side expands
bats_require_minimum_version 1.5.0

load windsock.sh

# NODE FAULT CODE CHECK WORDS: broken by FAULT, found, mended with its own advice.
breaks() {
    local fix
    on "$1" sh -c "$2"
    look
    [ "$code" = "$3" ]
    [ "$(first .check)" = "$4" ]
    # the host that says so, or that it is said of
    [[ $(first '"\(.hosts) \(.subject) \(.message) \(.fix[0])"') == *"node$1"* ]]
    [[ $(first .message) == *"$5"* ]]
    fix=$(first '.fix[0]')
    [ "$fix" != null ]
    on "$1" sh -c "sudo() { \"\$@\"; }; $fix" >&2
    look
    [ "$code" = 0 ]
    [ "$(jq '.data.causes | length' <<<"$output")" = 0 ]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 4 ]
}

rule() { # HOOK RULE: the command that sets it
    printf "nft 'add table inet t; add chain inet t c { type filter hook %s priority 0; policy accept; }; add rule inet t c iifname != lo oifname != lo %s'" "$1" "$2"
}

# Whatever a test left, the next finds a healthy cluster.
teardown() {
    on all sh -c 'nft delete table inet t; ip link set eth0 up mtu 1500; ! grep -qE " /dev/shm .*size=(64|262144)k" /proc/mounts || umount /dev/shm
        sysctl -qw net.ipv4.ip_local_port_range="32768 60999"
        hosts=$(grep -v ^127.0.1.1 /etc/hosts); echo "$hosts" >/etc/hosts' >/dev/null 2>&1
}

@test "a firewall that drops the ports of training" {
    breaks 2 "$(rule input "tcp dport 29500-65535 drop")" 1 mesh.in 'a firewall that drops'
}

@test "a security group with port 29500 open and nothing else" {
    breaks 3 "$(rule input "tcp dport 32768-60999 ct state new drop")" 1 mesh.in 'a firewall that drops'
}

@test "a firewall that answers with a prohibition" {
    breaks 1 "$(rule input "tcp dport 29500-65535 reject with icmpx type admin-prohibited")" 1 mesh.in 'firewall rejects'
}

@test "a host that lets nothing out to one other" {
    breaks 2 "$(rule output "ip daddr 10.77.0.2 tcp flags syn drop")" 1 mesh.out 'does not reach node1'
}

@test "an interface that is down" {
    breaks 3 'ip link set eth0 down' 1 addr.usable 'no interface is up'
}

@test "an interface with another MTU" {
    breaks 1 'ip link set eth0 mtu 1400' 0 mesh.mtu 'has MTU 1400 and node[0,2-3] has 1500'
}

@test "jumbo frames on one host alone" {
    breaks 2 'ip link set eth0 mtu 9000' 0 mesh.mtu 'has MTU 9000 and node[0-1,3] has 1500'
}

@test "MTUs that differ: two commands see it, and it is told once" {
    on 1 ip link set eth0 mtu 1400
    on 2 ip link set eth0 mtu 9000
    look
    [ "$code" = 0 ]
    [ "$(jq -r '[.data.causes[] | select(.check | endswith(".mtu")) | "\(.check) \(.subject)"] | join("; ")' <<<"$output")" = \
        "mesh.mtu node1; mesh.mtu node2" ]
    [ "$(jq '[.findings[] | select(.check == "link.mtu" and .status == "warn")] | length' <<<"$output")" = 0 ]
    # of many as of one, by the same line
    on 2 ip link set eth0 mtu 1400
    look
    [ "$(jq -r '[.findings[] | select(.check | endswith(".mtu")) | select(.status == "warn").check] | join(" ")' <<<"$output")" = mesh.mtu ]
}

@test "no shared memory to speak of" {
    breaks 2 'mount -t tmpfs -o size=64k tmpfs /dev/shm' 1 limits.shm 'No space left on device'
}

@test "shared memory that is read-only" {
    breaks 2 'mount -t tmpfs -o ro tmpfs /dev/shm' 1 limits.shm 'is mounted read-only'
}

@test "shared memory that dead jobs have filled" {
    local h # all have as little, else the difference is told, too
    for h in 0 1 2; do on $h mount -t tmpfs -o size=256m tmpfs /dev/shm; done
    breaks 3 'mount -t tmpfs -o size=256m tmpfs /dev/shm; head -c 300m /dev/zero >/dev/shm/left 2>/dev/null || :' \
        1 limits.shm 'No space left on device'
    for h in 0 1 2 3; do on $h umount /dev/shm; done
}

@test "hardly any ephemeral ports" {
    breaks 1 'sysctl -qw net.ipv4.ip_local_port_range="60000 60002"' 0 local.port_range 'only 3 ephemeral ports'
}

@test "a left-over process on the master port" {
    breaks 0 'setsid python3 -m http.server 29500 >/dev/null 2>&1 &
        until grep -q :733C /proc/net/tcp; do sleep 0.05; done' 0 local.master_port 'is taken'
}

@test "a host name that means the host itself to all others" {
    local itself='hosts=$(cat /etc/hosts); printf "127.0.1.1 node1\n%s\n" "$hosts" >/etc/hosts'
    on 1 sh -c "$itself"
    look # portcheck sees what ifprobe does: it is told once
    [ "$(jq -r '[.findings[], .data.causes[] | select(.message | contains("127.0.1.1")).check] | @csv' <<<"$output")" = \
        '"host.name","host.name"' ]
    on 0 sh -c "${itself/node1/node0}" # whoever looks speaks of itself, too
    look
    [ "$(jq -r '[.findings[] | select(.message | contains("127.0.1.1")) | .check, .subject] | @csv' <<<"$output")" = \
        '"host.name","node0","host.name","node1"' ]
    on 0 sh -c 'hosts=$(grep -v 127.0.1.1 /etc/hosts); echo "$hosts" >/etc/hosts'
    breaks 1 : 0 host.name 'resolves to 127.0.1.1'
}

congestion() { # NAME NODE...
    local n
    [[ " $(</proc/sys/net/ipv4/tcp_allowed_congestion_control) " == *" $1 "* ]] || skip "no $1"
    for n in "${@:2}"; do on "$n" sysctl -qw "net.ipv4.tcp_congestion_control=$1"; done
}

@test "one host with another congestion control" {
    congestion bbr
    congestion reno 0 1 2 3
    breaks 2 'sysctl -qw net.ipv4.tcp_congestion_control=bbr' 0 drift.congestion 'bbr here'
    congestion bbr 2
    run -0 --separate-stderr windsock --hosts lab --quick
    grep -A 1 '^warn  drift.congestion ' <<<"$output" | grep -q -- '-> sudo sysctl -w .*   # on node2$' # a warning stands here alone
}

@test "three hosts with bbr: they are named, not the one without" {
    congestion reno 0 1 2 3
    congestion bbr 0 1 3
    look
    [ "$(jq -r '[.findings[] | select(.check == "drift.congestion") | "\(.host) \(.message)"] | @csv' <<<"$output")" = \
        '"node0 bbr here, reno on 1 of 4 hosts","node1 bbr here, reno on 1 of 4 hosts","node3 bbr here, reno on 1 of 4 hosts"' ]
    for n in 0 1 3; do on "$n" sh -c "sudo() { \"\$@\"; }; $(first '.fix[0]')" >&2; done
    healthy
}
