#!/usr/bin/env bats
# ifprobe and names: interface names with every sign the kernel allows, host names
# that nobody answers for, and words on the command line that lost their dashes.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load ifprobe.sh

@test "a comma in a name: a prefix where one means it alone, and NCCL's rules agree" {
    machine comma "link 2 'a,b'" "addr 'a,b' 10.0.0.1/24"
    run -0 --separate-stderr on comma --suggest
    [ "${lines[0]}" = "export NCCL_SOCKET_IFNAME=a," ]
    [[ $output == *"# the exact form =a,b would name something else"* ]]
    [[ $output != *GLOO_SOCKET_IFNAME=* && $output == *"# GLOO_SOCKET_IFNAME: Gloo cuts its list at commas"* ]]
    NCCL_SOCKET_IFNAME=a, run -0 on comma --predict --json
    [ "$(jq -r .data.predict.nccl.interface <<<"$output")" = a,b ]
}

@test "a comma in a name: where no value means it, the next one is taken and that is said" {
    machine two "link 2 'eth,0' pci=0000:01:00.0" "addr 'eth,0' 10.0.0.1/24" \
        "link 3 eth1 pci=0000:02:00.0 mtu=1400" "addr eth1 10.1.0.1/24"
    run -0 --separate-stderr on two --suggest
    [ "${lines[0]}" = "export NCCL_SOCKET_IFNAME='=eth1'" ]
    [[ $stderr == *"suggest.name eth,0: "*"ip link set dev eth,0 name NEW"* ]]
    machine label "link 2 eth0" "addr eth0 10.0.0.1/24 label=eth0:1" "link 3 eth01" "addr eth01 10.1.0.1/24"
    run -0 --separate-stderr on label --suggest
    [[ ${lines[0]} == *"'=eth01'" && $stderr == *"suggest.name eth0: "*"labels of their own"* ]]
    machine lost "link 2 ',x'" "addr ',x' 10.0.0.1/24"
    for mode in --suggest --name-only --suggest=docker; do
        run -1 --separate-stderr on lost $mode
        [ -z "$output" ]
        [[ $stderr == *"suggest.name ,x"*"no interface is suitable"* ]]
    done
    run -1 on lost --json
    valid
    [ "$(found suggest.name)" = warn ]
}

@test "a name of one letter: Gloo ignores such a value, so it gets a list" {
    machine letter "link 2 e" "addr e 10.0.0.1/24"
    run -0 --separate-stderr on letter --suggest
    [ "${lines[0]},${lines[1]}" = "export NCCL_SOCKET_IFNAME='=e',export GLOO_SOCKET_IFNAME=e," ]
    GLOO_SOCKET_IFNAME=e, NCCL_SOCKET_IFNAME="=e" run -0 on letter --predict --json
    [ "$(jq -r '.data.predict | .gloo.interface, .nccl.interface' <<<"$output")" = $'e\ne' ]
}

@test "signs of a shell, quotes, bytes: the kernel's own interfaces, in every form" {
    can_unshare
    local name names=("it's\"b\\c" '$(>x)`;&|' '-n*?[a]' '#h!!' '~' '=^{x}' $'\e[31mé' $'\xff\xfe' '{x,y}')
    for name in "${names[@]}"; do
        run --separate-stderr namespace env name="$name" bash -euc '
            ip link add dev "$name" type veth peer name p
            ip addr add 10.0.0.1/24 dev "$name"; ip link set dev "$name" up; ip link set p up
            # the kernel tells of a carrier up to a second later
            for i in $(seq 100); do ! ip -o link show dev "$name" | grep -q "state UP" || break; sleep 0.05; done
            ifprobe --json >doc; valid "$(<doc)"
            rm -f x
            for shell in bash dash zsh; do
                command -v $shell >/dev/null || continue
                $shell -euc '\''eval "$(ifprobe --suggest --quiet)"
                    ifprobe --predict --json'\'' | jq -e ".data.predict.nccl.interfaces == [.data.predict.nccl.interface]
                        and .data.predict.nccl.address == \"10.0.0.1\"" >/dev/null
            done
            [ "$(ifprobe --name-only --quiet)" = "$name" ]
            rm -f rc; ifprobe --bashrc=fixed --to rc >/dev/null
            bash -euc ". ./rc; ifprobe --predict --json" | jq -e ".data.predict.nccl.address == \"10.0.0.1\"" >/dev/null
            ifprobe --write nccl.conf --to conf >/dev/null
            NCCL_CONF_FILE=$PWD/conf ifprobe --predict --json | jq -e ".data.predict.nccl.rule == \"NCCL_SOCKET_IFNAME\"
                and .data.predict.nccl.address == \"10.0.0.1\"" >/dev/null
            rm -f conf; ! [ -e x ]
            for form in systemd k8s docker; do
                ifprobe --suggest=$form --quiet >text 2>said || { grep -q "printable UTF-8 only" said; [ ! -s text ]; continue; }
                iconv -f utf-8 -t utf-8 text >/dev/null
                case $form in k8s) python3 -c "import os,sys,yaml
v = yaml.safe_load(open(\"text\"))[\"data\"][\"NCCL_SOCKET_IFNAME\"]
sys.exit(v not in (\"=\" + os.environ[\"name\"], os.environ[\"name\"].split(\",\")[0]))" ;; esac
            done'
        [ "$status" = 0 ] || { printf '%q: %s %s\n' "$name" "$output" "$stderr"; return 1; }
    done
}

@test "a word without dashes: what it was meant to be" {
    local args hint
    while IFS='|' read -r args hint; do
        # shellcheck disable=SC2086 # several words
        run -2 --separate-stderr ifprobe $args
        [[ -z $output && $stderr == *"$hint" ]] || { echo "$args: $stderr"; return 1; }
    done <<'A'
--suggest shell|did you mean --suggest=shell?
--suggest k8s|did you mean --suggest=k8s?
--bashrc fixed|did you mean --bashrc=fixed?
suggest|did you mean --suggest?
--suggest quiet|did you mean --quiet?
profile.d|did you mean --write=profile.d?
10.0.0.5|an address goes with --ip, another host with --peer or --hosts
--suggest 10.0.0.5|an address goes with --ip, another host with --peer or --hosts
A
}

@test "a name server that is dead: each name is asked for once, with a deadline, and that is said" {
    can_unshare
    printf 'hosts: files dns\n' >nsswitch
    printf 'nameserver 127.0.0.1\noptions timeout:30\n' >resolv
    printf '127.0.0.1 localhost\n' >hosts
    # takes every question, answers none
    cat >silent.py <<'S'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    q = s.recv(4096)[12:]
    print(q[1:1 + q[0]].decode(), int.from_bytes(q[q.index(0) + 1:q.index(0) + 3], "big"), flush=True)
S
    run -0 --separate-stderr unshare --user --map-root-user --net --mount --uts -- bash -euc '
        hostname nobody; ip link set lo up
        ip link add e0 type veth peer name e1; ip addr add 10.0.0.1/24 dev e0; ip link set e0 up; ip link set e1 up
        for f in nsswitch:nsswitch.conf resolv:resolv.conf hosts:hosts; do mount --bind ${f%%:*} /etc/${f#*:}; done
        mkfifo ready; python3 silent.py >asked & server=$!
        trap "kill $server" EXIT
        until grep -q ready asked; do :; done
        ifprobe --predict --deadline 1s --json'
    valid
    [ "$(found host.name)" = warn ]
    [[ $(jq -r '.findings[] | select(.check == "host.name") | .message, .fix[]' <<<"$output") == \
        *"no answer from the resolver within 1 s"*"echo '10.0.0.1 nobody' | sudo tee -a /etc/hosts" ]]
    [ "$(jq -r '.data.predict.gloo.rule' <<<"$output")" = hostname:loopback ]
    [ "$(sort asked | uniq -d)" = "" ]
    [ "$(grep -c '^nobody 1$' asked)" = 1 ]
}
