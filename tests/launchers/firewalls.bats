#!/usr/bin/env bats
# The real firewalld (node1) and the real ufw (node2): portcheck quotes the rule that
# stops it, in whoever's words, and what it says to type mends it. Their packages
# are unpacked in a folder (scripts/check-launchers) and lie over /usr and /etc of
# these nodes alone. Needs root, nft, dbus-daemon, jq.
# shellcheck disable=SC2016 # single quotes: the other side expands
bats_require_minimum_version 1.5.0

setup_file() {
    [ "$(id -u)" = 0 ] || skip "not root: firewalls need it"
    command -v dbus-daemon >/dev/null || skip "needs dbus-daemon"
    export FW=${WINDSOCK_FIREWALLS:-$HOME/.cache/windsock/firewalls}
    [[ -x $FW/usr/sbin/firewalld && -x $FW/usr/sbin/ufw ]] || skip "firewalld and ufw cannot be had here"
    LAB_NAME=$("$ROOT/scripts/lab" up 3)
    export LAB_NAME
    on 1 bash -c "$install; $firewalld" >/dev/null 2>&1 3>&-
    on 2 bash -c "$install; $ufw" >/dev/null 2>&1
    local i
    for ((i = 0; i < 300; i++)); do
        ! on 1 firewall-cmd --state >/dev/null 2>&1 || break
        sleep 0.2
    done
    on 1 firewall-cmd --state
}

teardown_file() {
    [ -z "${LAB_NAME:-}" ] || "$ROOT/scripts/lab" down "$LAB_NAME"
}

install='
    cp /etc/hosts /mnt/hosts 2>/dev/null || { mount -t tmpfs none /mnt; cp /etc/hosts /mnt/hosts; }
    mount -t tmpfs none /run
    for d in usr etc; do
        mkdir -p /run/over/$d /run/over/$d.work
        mount -t overlay overlay -o "lowerdir=$FW/$d:/$d,upperdir=/run/over/$d,workdir=/run/over/$d.work" /$d
    done
    mount --bind /mnt/hosts /etc/hosts'
# A bus of its own: what that carries is nobody else'"'"'s.
firewalld='
    mkdir -p /run/dbus
    cat >/run/bus.conf <<X
<busconfig><type>session</type><listen>unix:path=/run/dbus/system_bus_socket</listen>
<policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
X
    dbus-daemon --config-file=/run/bus.conf --fork --nopidfile
    setsid firewalld --nofork --nopid --log-file /run/firewalld.log </dev/null >/dev/null 2>&1 3>&- &'
ufw='
    cp /usr/share/ufw/*.rules /usr/share/ufw/ufw.conf /etc/ufw
    sed -i "s/^IPT_SYSCTL=.*/IPT_SYSCTL=/" /etc/default/ufw'

on() { # NODE CMD...
    "$ROOT/scripts/lab" on "$LAB_NAME" "node$1" -- "${@:2}"
}

mesh() {
    run --separate-stderr on 0 env WINDSOCK_RSH="$ROOT/scripts/lab rsh $LAB_NAME" \
        "$BIN/portcheck" --hosts node0,node1,node2 --wait 2s --json
}

finding() { # CHECK FILTER
    jq -r --arg c "$1" "[.findings[] | select(.check == \$c and .status != \"pass\")][0] | $2" <<<"$output"
}

# NODE CHECK RULE FIX: found between hosts, and mended by what it says.
mends() {
    local fix
    mesh
    echo "$output"
    [ "$status" = 1 ]
    [ "$(finding "$2" .subject)" = "node$1" ]
    [[ $(finding "$2" .message) == *"$3"* ]]
    while read -r fix; do
        echo "types: $fix"
        [[ $fix == *"$4"* ]]
        on "$1" sh -c "sudo() { \"\$@\"; }; $fix"
    done < <(finding "$2" '.fix[]')
    mesh
    [ "$status" = 0 ] || echo "$output"
    [ "$status" = 0 ]
}

fw() { # ARGUMENTS, in what lasts; then it counts
    on 1 sh -c "firewall-cmd --permanent $* && firewall-cmd --reload"
}

# Each begins with a firewalld that lets all in, and no ufw.
setup() {
    on 1 sh -c 'rm -f /etc/firewalld/zones/* /etc/firewalld/policies/*; nft delete table inet other 2>/dev/null
        firewall-cmd --reload && firewall-cmd --permanent --zone=public --set-target=ACCEPT && firewall-cmd --reload'
    on 2 sh -c 'ufw --force reset; iptables-legacy -F; rm -f /etc/ufw/*.rules.*_*' >/dev/null 2>&1
}

@test "firewalld: the default zone rejects; the subnet becomes trusted" {
    fw --zone=public --set-target=default
    run -0 --separate-stderr on 1 "$BIN/portcheck" --json
    jq -e '.findings[] | select(.check == "local.firewall") | .status == "warn" and (.message
        | contains("rejects what comes from 10.77.0.0/16: inet firewalld filter_IN_public"))' <<<"$output"
    mends 1 mesh.in 'firewall rejects it: inet firewalld filter_IN_public, handle' \
        'sudo firewall-cmd --permanent --zone=trusted --add-source=10.77.0.0/16 && sudo firewall-cmd --reload'
    run -0 --separate-stderr on 1 "$BIN/portcheck"
    [[ $output == *"pass  local.firewall "*" firewalld"* ]]
}

@test "firewalld: a rich rule drops one peer in a zone that lets all others in" {
    fw "--zone=public --add-rich-rule='rule family=ipv4 source address=10.77.0.1 drop'"
    mends 1 mesh.in 'is not reached from node0: no answer at all: a security group, or a firewall that drops: inet firewalld filter_IN_public_deny, handle' \
        '--zone=trusted --add-source=10.77.0.1 &&'
}

@test "firewalld: the subnet is bound to the zone drop, which another zone cannot have" {
    fw --zone=drop --add-source=10.77.0.0/16
    mends 1 mesh.in ': inet firewalld filter_IN_drop, handle' '--zone=drop --add-rich-rule='
}

@test "firewalld: a policy lets nothing out" {
    fw --new-policy=mute
    fw --policy=mute --set-target=DROP
    fw --policy=mute --add-ingress-zone=HOST
    fw --policy=mute --add-egress-zone=ANY
    mends 1 mesh.out 'filter_OUT_policy_mute' '--policy=mute --add-rich-rule='
}

@test "firewalld: a rule of somebody else's beside it is not firewalld's to mend" {
    on 1 nft 'add table inet other; add chain inet other in { type filter hook input priority 20; }; add rule inet other in iifname eth0 tcp dport 29500-65535 ct state new drop'
    mends 1 mesh.in 'inet other in, handle' 'sudo nft insert rule inet other in ip saddr'
}

@test "ufw: what it denies by itself, and one host that it denies" {
    on 2 ufw --force enable
    run -0 --separate-stderr on 2 "$BIN/portcheck" --json
    jq -e '.findings[] | select(.check == "local.firewall") | .status == "warn" and (.message
        | contains("this host'"'"'s firewall drops what comes from 10.77.0.0/16: iptables: -P INPUT DROP"))' <<<"$output"
    mends 2 mesh.in ': iptables: -P INPUT DROP' 'sudo ufw prepend allow from 10.77.0.0/16'
    run -0 --separate-stderr on 2 "$BIN/portcheck"
    [[ $output == *"pass  local.firewall "*" ufw"* ]]
    on 2 ufw prepend deny from 10.77.0.2
    mends 2 mesh.in 'from node1: no answer at all: a security group, or a firewall that drops: iptables: -A ufw-user-input -s 10.77.0.2/32 -j DROP' \
        'sudo ufw allow from 10.77.0.2'
}

@test "ufw: what it rejects, and what it lets not out" {
    on 2 ufw default allow
    on 2 ufw --force enable
    on 2 ufw prepend reject proto tcp from 10.77.0.0/16 to any port 29500:65535
    mends 2 mesh.in 'a firewall that rejects with a reset, as ufw'"'"'s reject does: iptables: -A ufw-user-input' 'sudo ufw prepend allow from 10.77.0.0/16'
    on 2 ufw default deny outgoing
    mends 2 mesh.out 'firewall does not let it out: iptables: -P OUTPUT DROP' 'sudo ufw prepend allow out to 10.77.0.0/16'
}

@test "the old kernel tables of iptables, which nft does not see" {
    on 2 sh -c 'iptables-legacy -A INPUT -i eth0 -p tcp -m tcp --dport 29500:65535 -m conntrack --ctstate NEW -j DROP' ||
        skip "this kernel has none"
    mends 2 mesh.in 'iptables-legacy: -A INPUT -i eth0 -p tcp' 'sudo iptables-legacy -I INPUT -s 10.77.0.0/16 -j ACCEPT'
}
